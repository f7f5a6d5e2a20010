"""Runs a set of questions through four tiers of retrieval and measures each answer's evidence."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxbuild.compare import baselines
from ctxbuild.compare.evaluate import Piece, Row, Wanted, is_correct, measure
from ctxbuild.compare.questionset import Gold, Question
from ctxbuild.errors import CtxbuildError, ModelError
from ctxbuild.pack.rot import Chunk, find_rot
from ctxbuild.select.retrieval.model import score_of
from ctxbuild.serve.check import Made, Rehearsal
from ctxbuild.serve.lookup import Desk, ask
from ctxbuild.serve.session import Session
from ctxbuild.source.asking import question_target
from ctxbuild.source.ctxfile import Ctxfile

if TYPE_CHECKING:
    from ctxbuild.pack.tokens import Counter
    from ctxbuild.select.retrieval.vectors import Vectors

Say = Callable[[str, str], str]
"""Question and pack to a model's answer."""

_TITLE = "# question\n"
_MOST_ALIKE = 1_000
"""Chunks of a ranking by vectors, as many as of a lexical one at most."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The outcome of a run.

    Attributes:
        commit: of the repository, "" outside one.
        run: id of the run: the same questions, tiers, budgets and commit have the same.
        warnings: gold that is not there, targets that could not be built.
        embedder: whose vectors tiers 1, 3 and 4 used, "" for none.
    """

    rows: tuple[Row, ...]
    commit: str
    run: str
    warnings: tuple[str, ...]
    embedder: str = ""


@dataclass(slots=True)
class _Corpus:
    """The texts of a project, cut into chunks.

    Attributes:
        rows: path to its lines.
        wanted: question id to its gold with lines.
        rankings: (tier, question id) to ranked chunks, and the seconds that took.
    """

    rows: dict[str, list[str]] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, list[Wanted]] = field(default_factory=dict)
    chunks: dict[int, list[baselines.Chunk]] = field(default_factory=dict)
    rankings: dict[tuple[int, str], tuple[list[int], float]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    vectors: Vectors | None = None


def evaluate(
    ctxfile: Ctxfile,
    questions: Sequence[Question],
    budgets: Sequence[int],
    tiers: Sequence[int],
    *,
    say: Say | None = None,
    vectors: str = "auto",
    options: dict[str, Any] | None = None,
) -> Evaluation:
    """Answers every question by every tier within every budget.

    Args:
        ctxfile: the project; its targets do not matter.
        questions: with their gold.
        budgets: tokens of an answer's evidence.
        tiers: of `compare.evaluate.TIERS`.
        say: asks a model, where accuracy is wanted too.
        vectors: whether they are used where an embedder is configured: "auto" or "off".
        options: as for `Session`.

    Raises:
        CtxbuildError: the project cannot be read, or a model cannot be asked.
    """
    options = options or {}
    ctxfile = _with_targets(ctxfile, questions, budgets, vectors)
    corpus = ask(Session(ctxfile, **options), lambda desk: _read(desk, questions, tiers, vectors))
    commit = _commit(ctxfile.root)
    rows = list(_baselines(ctxfile, corpus, questions, budgets, tiers, say))
    if 4 in tiers:
        rows += _compiled(ctxfile, corpus, questions, budgets, say, options)
    order = {question.id: place for place, question in enumerate(questions)}
    rows.sort(key=lambda row: (order[row.question.id], row.tier, row.budget))
    embedder = corpus.vectors.label if corpus.vectors else ""
    run = _run_id(questions, budgets, tiers, commit, ctxfile.project.tokenizer, embedder)
    return Evaluation(tuple(rows), commit, run, tuple(corpus.warnings), embedder)


def _run_id(*parts: Any) -> str:
    from hashlib import sha256

    return sha256(json.dumps(parts).encode()).hexdigest()[:12]


def _commit(root: str) -> str:
    from ctxbuild.source.commits import commit_of
    from ctxbuild.source.git import find_repository

    return commit_of(root, "HEAD")[0] if find_repository(root) else ""


# --- the corpus -------------------------------------------------------------------------


def _read(desk: Desk, questions: Sequence[Question], tiers: Sequence[int], vectors: str) -> _Corpus:
    corpus = _Corpus(chunks={tier: [] for tier in (1, 2)})
    for path in desk.workspace.snapshot.paths:
        text = desk.view.text(path)
        outline, lines = desk.lines_of(path)
        corpus.rows[path] = text.split("\n")
        corpus.languages[path] = outline.language
        corpus.chunks[1] += baselines.fixed_chunks(path, text)
        corpus.chunks[2] += baselines.syntax_chunks(path, text, outline, lines)
    corpus.chunks[3] = corpus.chunks[2]
    for question in questions:
        corpus.wanted[question.id] = [_placed(desk, corpus, gold) for gold in question.gold]
    if vectors != "off":
        corpus.vectors = _vectors(desk, corpus)
    _rank(desk, corpus, questions, tiers)
    return corpus


def _vectors(desk: Desk, corpus: _Corpus) -> Vectors | None:
    """What compares by vectors; a warning where one is named and cannot."""
    from ctxbuild.source.outside import embedder_state

    state = embedder_state(desk.workspace.ctxfile.root, "")
    try:
        found = desk.workspace.pipeline.questions.vectors(state) if state else None
        if found:
            found.nearest("question", ["text"])
    except ModelError as error:
        corpus.warnings.append(f"{error}")
        return None
    return found


def _alike(corpus: _Corpus, question: Question, tier: int) -> list[list[int]]:
    """The ranking of a tier's chunks by vectors, if there is one."""
    if corpus.vectors is None:
        return []
    try:
        texts = [f"{chunk.path}\n{chunk.text}" for chunk in corpus.chunks[tier]]
        return [corpus.vectors.nearest(question.question, texts)[:_MOST_ALIKE]]
    except ModelError as error:
        corpus.warnings.append(f"{question.id}: tier {tier} has no vectors: {error}")
        return []


def _placed(desk: Desk, corpus: _Corpus, gold: Gold) -> Wanted:
    """Gold with its lines; a warning where the project has no such thing."""
    from ctxbuild.pack.artifact import place

    rows = corpus.rows.get(gold.path)
    if rows is None:
        corpus.warnings.append(f"gold {gold}: no such source file")
        return Wanted(gold)
    lines = gold.lines
    if gold.symbol:
        spot = place(desk.lines_of, gold.path, gold.symbol)
        if spot is None:
            corpus.warnings.append(f"gold {gold}: the file has no such symbol")
            return Wanted(gold)
        lines = (spot[0], spot[1])
    if lines is None:
        return Wanted(gold)
    within = range(lines[0], min(lines[1], len(rows)) + 1)
    return Wanted(gold, frozenset(line for line in within if rows[line - 1].strip()))


def _rank(desk: Desk, corpus: _Corpus, questions: Sequence[Question], tiers: Sequence[int]) -> None:
    plain = baselines.Lexical(corpus.chunks[1], baselines.plain_words) if 1 in tiers else None
    aware = baselines.Lexical(corpus.chunks[2]) if {2, 3} & set(tiers) else None
    places = {
        (chunk.path, chunk.symbol): place
        for place, chunk in enumerate(corpus.chunks[2])
        if chunk.symbol
    }
    for question in questions:
        if plain:
            started = time.perf_counter()
            ranked = plain.rank(question.question)
            if alike := _alike(corpus, question, 1):
                ranked = baselines.fuse([ranked, *alike])
            corpus.rankings[1, question.id] = ranked, time.perf_counter() - started
        if aware:
            started = time.perf_counter()
            ranked = aware.rank(question.question)
            seconds = time.perf_counter() - started
            corpus.rankings[2, question.id] = ranked, seconds
            started = time.perf_counter()
            graph = baselines.around(desk.view, question.question, places)
            fused = baselines.fuse([ranked, graph, *_alike(corpus, question, 3)])
            corpus.rankings[3, question.id] = fused, seconds + time.perf_counter() - started


# --- tiers 1 to 3 -----------------------------------------------------------------------


def _baselines(
    ctxfile: Ctxfile,
    corpus: _Corpus,
    questions: Sequence[Question],
    budgets: Sequence[int],
    tiers: Sequence[int],
    say: Say | None,
) -> Iterator[Row]:
    from ctxbuild.pack.tokens import counter

    count = counter(ctxfile.project.tokenizer)
    for question in questions:
        for tier in (tier for tier in tiers if tier < 4):
            for budget in budgets:
                yield _baseline(corpus, question, tier, budget, count, say)


def _baseline(
    corpus: _Corpus, question: Question, tier: int, budget: int, count: Counter, say: Say | None
) -> Row:
    ranking, seconds = corpus.rankings[tier, question.id]
    started = time.perf_counter()
    taken, text = baselines.fill(
        corpus.chunks[tier], ranking, budget, count, corpus.languages, _TITLE
    )
    seconds += time.perf_counter() - started
    tokens = count([text, *(chunk.text for chunk in taken)])
    pieces = [
        Piece(c.path, c.text, (c.first, c.last), "full", c.symbol, score_of(rank), each)
        for rank, (c, each) in enumerate(zip(taken, tokens[1:], strict=True), 1)
    ]
    return _row(corpus, question, tier, budget, tokens[0], pieces, seconds, text, say)


def _row(
    corpus: _Corpus,
    question: Question,
    tier: int,
    budget: int,
    tokens: int,
    pieces: Sequence[Piece],
    seconds: float,
    text: str,
    say: Say | None,
) -> Row:
    answer = say(question.question, text) if say else ""
    return Row(
        question,
        tier,
        budget,
        tokens,
        tuple(dict.fromkeys(piece.path for piece in pieces)),
        measure(pieces, corpus.wanted[question.id], corpus.rows),
        tuple(str(rot) for rot in find_rot(_chunks(pieces), tokens, budget)),
        seconds,
        answer,
        is_correct(answer, question.expect) if say else None,
    )


def _chunks(pieces: Iterable[Piece]) -> Iterator[Chunk]:
    for number, piece in enumerate(pieces):
        unit = f"{piece.path}::{piece.symbol}" if piece.symbol else f"{piece.path}#{number}"
        yield Chunk(
            unit, piece.path, piece.symbol, piece.text, piece.tokens, piece.score, piece.form
        )


# --- tier 4 -----------------------------------------------------------------------------


def _with_targets(
    ctxfile: Ctxfile, questions: Sequence[Question], budgets: Sequence[int], vectors: str
) -> Ctxfile:
    """The project with one target per question and budget instead of its own."""
    targets = tuple(
        question_target(_name(number, budget), question.question, budget, vectors=vectors)
        for number, question in enumerate(questions)
        for budget in budgets
    )
    return ctxfile._replace(targets=targets)


def _name(number: int, budget: int) -> str:
    return f"question-{number}-{budget}"


def _compiled(
    ctxfile: Ctxfile,
    corpus: _Corpus,
    questions: Sequence[Question],
    budgets: Sequence[int],
    say: Say | None,
    options: dict[str, Any],
) -> Iterator[Row]:
    asked = {
        _name(number, budget): (question, budget)
        for number, question in enumerate(questions)
        for budget in budgets
    }
    started = time.perf_counter()
    for name, made in Rehearsal(ctxfile, **options).files(asked):
        seconds = time.perf_counter() - started
        question, budget = asked[name]
        if isinstance(made, CtxbuildError):
            corpus.warnings.append(f"{question.id} within {budget}: {made}")
            pieces, tokens, text = [], 0, ""
        else:
            pieces, tokens, text = _pieces(made, name), made.pack.tokens, made.pack.text
        yield _row(corpus, question, 4, budget, tokens, pieces, seconds, text, say)
        started = time.perf_counter()


def _pieces(made: Made, name: str) -> list[Piece]:
    blocks = json.loads(made.files[f"{name}.pack.json"])["blocks"]
    return [
        Piece(
            block["path"],
            block["text"],
            tuple(block["lines"]) if block["lines"] else None,
            block["form"],
            block["symbol"] or "",
            block["score"],
            block["tokens"],
        )
        for block in blocks
    ]
