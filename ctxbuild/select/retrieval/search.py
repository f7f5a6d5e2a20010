"""The search behind a question: plan, ask every way, fuse by ranks.

Each way's scores are reduced to a ranking, and the rankings are joined by weighted
reciprocal-rank fusion (Cormack, Clarke and Büttcher, 2009): a unit gets
weight * (K + 1) / (K + rank) from every list that holds it. What comes out are
ranks: neither raw scores nor statistics of the corpus reach a plan.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ctxbuild.select.conventions import is_test
from ctxbuild.select.retrieval import hinted, lexical
from ctxbuild.select.retrieval.model import Found, Hit, Kind, Method
from ctxbuild.select.retrieval.planner import decide, plan
from ctxbuild.select.retrieval.spread import spread
from ctxbuild.select.retrieval.weights import WEIGHTS, Weights

if TYPE_CHECKING:
    from ctxbuild.graph.index import Corpus, Known
    from ctxbuild.select.retrieval.model import Hints

_SUPPORT = frozenset(
    """
    doc docs example examples benchmark benchmarks asv_bench scripts migrations tutorials galleries
    build_utils tools ci
    """.split()  # noqa: SIM905  # words are read more easily than a list of them
)
_VENDORED = frozenset(
    "packages vendor vendored _vendor _vendored third_party extern externals".split()  # noqa: SIM905
)
_CODE = frozenset("py pyi pyx js jsx ts tsx go java rs c cc cpp h hpp rb php cs swift kt".split())  # noqa: SIM905
_MOST_FILES = 50
_UNITS_OF_A_FILE = 6
_LONGEST_LIST = 3_000
"""Units of a ranking that count: behind them a rank gives next to nothing."""

_DIGITS = 9
"""Decimal places to which scores are compared, so that the last bit decides nothing."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What vectors say of units.

    Attributes:
        scores: how alike the question and each unit are, by number.
        label: of the embedder.
        left_out: why there are none, "" if there are.
        warning: what went wrong, "" if nothing.
    """

    scores: Mapping[int, float] = field(default_factory=dict)
    label: str = ""
    left_out: str = ""
    warning: str = ""


_WITHOUT = Likeness(left_out="not configured")


def search(
    corpus: Corpus,
    question: str,
    most: int,
    weights: Weights = WEIGHTS,
    like: Likeness = _WITHOUT,
) -> Found:
    """The units that answer a question best.

    Args:
        corpus: the index.
        question: a question, or a whole report.
        most: hits at most.
        weights: what counts how much.
        like: what vectors say of the units.
    """
    planned = plan(question)
    decision = decide(
        planned.hints, relation=planned.relation, vectors=like.left_out, embedder=like.label
    )
    return _Search(corpus, planned.hints, weights, like).found(most, decision)


class _Search:
    """One search: its lists, fused."""

    def __init__(self, corpus: Corpus, hints: Hints, weights: Weights, like: Likeness) -> None:
        self.corpus = corpus
        self.hints = hints
        self.like = like
        self.weights = weights
        self.priors = _Priors(corpus, hints, weights)
        self.ranks: dict[Method, dict[int, int]] = {}
        self.fused: dict[int, float] = {}

    def found(self, most: int, decision: object) -> Found:
        """Runs every way and fuses them."""
        scores = lexical.score(self.corpus, self.hints, self.weights)
        in_frames, framed = hinted.frames(self.corpus, self.hints)
        w = self.weights
        self._join("lexical", self._lexical(scores), w.lexical)
        names = self._weighed(hinted.names(self.corpus, self.hints, w))
        self._join("names", names, w.names, sure=w.sure)
        self._join("frames", in_frames, w.frames)
        self._join("messages", self._weighed(hinted.messages(self.corpus, self.hints)), w.messages)
        self._join("vector", self._alike(), w.vector)
        best = self._ranked(self.fused)[: w.seeds]
        seeds = {unit: (w.k + 1) / (w.k + 1 + place) for place, unit in enumerate(best)}
        self._join("graph", self._weighed(spread(self.corpus, seeds, w)), w.graph)
        files = self._files(scores, framed)
        return self._answer(files, most, decision)

    def _join(
        self, method: Method, scores: Mapping[int, float], weight: float, sure: float = 0.0
    ) -> None:
        """Adds one list to the fused scores; `sure`: how much the scores themselves count."""
        file_of, priors = self.corpus.file_of, self.priors
        k = self.weights.k
        ranks = _places(self._ranked(scores), scores)
        self.ranks[method] = ranks
        for unit, rank in ranks.items():
            gain = weight * priors[file_of[unit]] * (k + 1) / (k + rank)
            if sure:
                gain *= min(1.0, scores[unit]) ** sure
            self.fused[unit] = self.fused.get(unit, 0.0) + gain

    def _ranked(self, scores: Mapping[int, float]) -> list[int]:
        """Units by falling score; equal ones by path and place, whatever their numbers."""
        file_of = self.corpus.file_of
        least = 0.0
        if len(scores) > _LONGEST_LIST:
            least = sorted(scores.values())[-_LONGEST_LIST]
        rounded = {u: -round(score, _DIGITS) for u, score in scores.items() if score >= least}
        return sorted(rounded, key=lambda unit: (rounded[unit], file_of[unit], unit))

    def _weighed(self, scores: Mapping[int, float]) -> dict[int, float]:
        """Scores times what the kind of file is worth."""
        file_of = self.corpus.file_of
        return {unit: score * self.priors[file_of[unit]] for unit, score in scores.items()}

    def _lexical(self, scores: lexical.Scores) -> dict[int, float]:
        """The scores of units, with what their files and paths add, by what they are."""
        weights, corpus = self.weights, self.corpus
        rough: dict[int, float] = {}
        for unit, score in scores.units.items():
            file = corpus.file_of[unit]
            around = weights.in_file * scores.files.get(file, 0.0)
            around += weights.in_path * scores.paths.get(file, 0.0)
            rough[unit] = (score + around) * self.priors[file]
        return self._by_kind(rough)

    def _alike(self) -> dict[int, float]:
        """The units that are most like the question, by what they are: all are a little."""
        scores = self._by_kind(self._weighed(self.like.scores))
        best = self._ranked(scores)[: self.weights.alike]
        return {unit: scores[unit] for unit in best if scores[unit] > 0}

    def _by_kind(self, scores: Mapping[int, float]) -> dict[int, float]:
        """Scores times what a unit of its kind is worth."""
        kinds = {"m": self.weights.module, "c": self.weights.klass}
        kind_of = self.corpus.kind_of
        return {unit: score * kinds.get(kind_of(unit), 1.0) for unit, score in scores.items()}

    def _files(self, scores: lexical.Scores, framed: Mapping[int, float]) -> list[int]:
        """The files, best first: their best units, and what speaks for the file as such."""
        weights = self.weights
        by_file: dict[int, list[float]] = {}
        for unit, score in self.fused.items():
            by_file.setdefault(self.corpus.file_of[unit], []).append(score)
        total = {
            file: sum(
                score * weights.decay**place
                for place, score in enumerate(sorted(each, reverse=True)[:_UNITS_OF_A_FILE])
            )
            for file, each in by_file.items()
        }
        words = {
            file: (score + weights.in_path * scores.paths.get(file, 0.0)) * self.priors[file]
            for file, score in scores.files.items()
        }
        paths = {
            file: score * self.priors[file]
            for file, score in hinted.paths(self.corpus, self.hints).items()
        }
        for listed, weight in (
            (words, weights.file_lexical),
            (paths, weights.file_paths),
            (framed, weights.file_frames),
            ({f: s * self.priors[f] for f, s in scores.paths.items()}, weights.file_words),
        ):
            for file, place in _places(_ranked(listed), listed).items():
                gain = weight * self.priors[file] * (weights.k + 1) / (weights.k + place)
                total[file] = total.get(file, 0.0) + gain
        self.file_scores = total
        return _ranked(total)

    def _answer(self, files: list[int], most: int, decision: object) -> Found:
        weights, corpus = self.weights, self.corpus
        top = max(self.file_scores.values(), default=1.0) or 1.0
        final = {
            unit: score + weights.file * self.file_scores.get(corpus.file_of[unit], 0.0) / top
            for unit, score in self.fused.items()
        }
        best = self._ranked(final)[:most]
        places = {file: place for place, file in enumerate(files, 1)}
        known = corpus.known(best)
        hits = tuple(
            self._hit(known[unit], rank, places[known[unit].file])
            for rank, unit in enumerate(best, 1)
        )
        paths = tuple(corpus.files[file].path for file in files[:_MOST_FILES])
        warnings = (self.like.warning,) if self.like.warning else ()
        return Found(hits, paths, self.hints, decision, warnings)  # type: ignore[arg-type]

    def _hit(self, each: Known, rank: int, file_rank: int) -> Hit:
        methods = sorted(
            (ranks[each.unit], method) for method, ranks in self.ranks.items() if each.unit in ranks
        )
        defined = each.kind in ("function", "class")
        unit = f"{each.path}::{each.name}" if defined else f"{each.path}#{each.name}"
        return Hit(
            unit=unit if each.name else each.path,
            path=each.path,
            symbol=each.name if defined else "",
            kind=cast("Kind", each.kind),
            rank=rank,
            file_rank=file_rank,
            methods=tuple((method, place) for place, method in methods[:3]),
            lines=None if defined or each.kind == "module" else each.lines,
            order=each.order,
        )


def _ranked(scores: Mapping[int, float]) -> list[int]:
    """Files by falling score; equal ones by path."""
    return sorted(scores, key=lambda number: (-round(scores[number], _DIGITS), number))


def _places(ranked: Sequence[int], scores: Mapping[int, float]) -> dict[int, int]:
    """The place of each number in its ranking, from 1; equal scores share the first one's."""
    places: dict[int, int] = {}
    before, shared = -1.0, 0
    for place, number in enumerate(ranked, 1):
        score = round(scores[number], _DIGITS)
        if score != before or place == 1:
            before, shared = score, place
        places[number] = shared
    return places


_TEST_SUPPORT = re.compile(r"(?:^|/)(?:conftest|noxfile|tasks)\.py$|(?:^|/)setup\.py$")


class _Priors(dict[int, float]):
    """What a file is worth by its kind, by its number; most files are never asked for."""

    def __init__(self, corpus: Corpus, hints: Hints, weights: Weights) -> None:
        super().__init__()
        self._corpus, self._hints, self._weights = corpus, hints, weights

    def __missing__(self, file: int) -> float:
        prior = _prior(self._corpus.files[file].path, self._hints, self._weights)
        self[file] = prior
        return prior


def _prior(path: str, hints: Hints, weights: Weights) -> float:
    """What a file is worth by its kind."""
    if path.rpartition(".")[2].lower() not in _CODE:
        return 1.0 if hints.wants_docs else weights.document
    if is_test(path):
        return 1.0 if hints.wants_tests else weights.test
    folders = path.lower().split("/")[:-1]
    if not _VENDORED.isdisjoint(folders[1:]):
        return weights.vendored
    if _TEST_SUPPORT.search(path) or not _SUPPORT.isdisjoint(folders):
        return weights.support
    return 1.0
