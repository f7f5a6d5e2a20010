"""Lexical search: BM25 over units and over files, with weights per field and per word.

The formula is BM25F's (Robertson and Zaragoza, "The Probabilistic Relevance
Framework: BM25 and Beyond", 2009) with one length per unit: occurrences are
weighed by field and added before they saturate. Each word of the question weighs
what the planner gave it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxbuild.graph.index import Corpus
    from ctxbuild.select.retrieval.model import Hints
    from ctxbuild.select.retrieval.weights import Weights


@dataclass(slots=True)
class Scores:
    """Raw scores by number of unit and of file; they order one list and go no further."""

    units: dict[int, float] = field(default_factory=dict)
    files: dict[int, float] = field(default_factory=dict)
    paths: dict[int, float] = field(default_factory=dict)


def score(corpus: Corpus, hints: Hints, weights: Weights) -> Scores:
    """Scores everything that holds a word of the question."""
    found = Scores()
    if not corpus.totals["units"]:
        return found
    scorer = _Scorer(corpus, weights, found)
    read = 0
    for term, weight, held in _chosen(corpus, hints, weights):
        if read + held > weights.rows and read:
            continue
        read += held
        scorer.add(term, weight, held)
    _add_paths(corpus, hints, weights, found.paths)
    return found


def idf(total: int, holding: int) -> float:
    """How much a word tells: the logarithm of how rare it is, never negative."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def _chosen(corpus: Corpus, hints: Hints, weights: Weights) -> list[tuple[str, float, int]]:
    """(word, weight, units that hold it) of the words that matter most, these first."""
    total = corpus.totals["units"]
    rated = []
    wanted = {term: weight**weights.question for term, weight in hints.terms[: 6 * weights.terms]}
    for term, strength in _with_prefixes(corpus, wanted, weights.prefix).items():
        held = corpus.held_by(term)
        if held:
            rated.append((round(strength * idf(total, held), 6), term, strength, held))
    rated.sort(key=lambda each: (-each[0], each[1]))
    return [(term, strength, held) for _, term, strength, held in rated[: weights.terms]]


def _with_prefixes(corpus: Corpus, wanted: Mapping[str, float], share: float) -> dict[str, float]:
    """The words, and those of the index with which they begin: `concat` for "concatenating"."""
    found = dict(wanted)
    for term, strength in wanted.items():
        if share and len(term) > _SHORTEST and term.isalpha():
            for end in range(_SHORTEST, len(term)):
                start = term[:end]
                if start not in wanted and corpus.held_by(start):
                    found[start] = max(found.get(start, 0.0), share * strength)
    return found


_SHORTEST = 5
"""Letters of the shortest beginning that counts."""


class _Scorer:
    """Adds up what words give to units and files."""

    def __init__(self, corpus: Corpus, weights: Weights, found: Scores) -> None:
        self._corpus = corpus
        self._weights = weights
        self._found = found
        self._files = corpus.files
        totals = corpus.totals
        self._units = totals["units"]
        self._unit_length = max(1.0, totals["words"] / max(1, totals["units"]))
        self._file_length = max(1.0, totals["words"] / max(1, totals["files"]))
        self._lengths = [sum(file.lengths) for file in self._files]

    def add(self, term: str, strength: float, held: int) -> None:
        """Adds what one word gives."""
        weights, units = self._weights, self._found.units
        gain = strength * idf(self._units, held)
        plain, sloped = weights.k1 * (1 - weights.b), weights.k1 * weights.b / self._unit_length
        in_files: dict[int, float] = {}
        owners, files = self._corpus.file_of, self._files
        for unit, often in self._corpus.weighed(term, weights.fields).items():
            number = owners[unit]
            file = files[number]
            norm = often + plain + sloped * file.lengths[unit - file.first]
            units[unit] = units.get(unit, 0.0) + gain * often / norm
            in_files[number] = in_files.get(number, 0.0) + often
        self._add_files(in_files, strength)

    def _add_files(self, in_files: dict[int, float], strength: float) -> None:
        weights, files = self._weights, self._found.files
        gain = strength * idf(len(self._files), len(in_files))
        plain = weights.file_k1 * (1 - weights.file_b)
        sloped = weights.file_k1 * weights.file_b / self._file_length
        for number, often in in_files.items():
            norm = plain + sloped * self._lengths[number]
            files[number] = files.get(number, 0.0) + gain * often / (often + norm)


def _add_paths(corpus: Corpus, hints: Hints, weights: Weights, found: dict[int, float]) -> None:
    """What words of a file's path give to it."""
    wanted = dict(hints.terms)
    holding: dict[str, list[int]] = {}
    for number, file in enumerate(corpus.files):
        for word in file.folded.split():
            if word in wanted:
                holding.setdefault(word, []).append(number)
    total = len(corpus.files)
    for word in sorted(holding):
        numbers = holding[word]
        if 2 * len(numbers) >= total > 2:
            continue
        gain = wanted[word] ** weights.question * idf(total, len(numbers))
        for number in numbers:
            found[number] = found.get(number, 0.0) + gain
