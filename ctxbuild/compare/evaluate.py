"""What an answer's evidence is worth: questions with gold, measures against it, rows and summaries.

Everything here is a pure function; `serve/evaluation.py` runs the questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ctxbuild.compare.questionset import Gold, Question

TIERS = {
    1: "fixed-size chunks + lexical",
    2: "syntax-aware chunks + lexical",
    3: "hybrid: lexical + graph",
    4: "compiled",
}
BUDGETS = (2_000, 4_000, 8_000)
_NAMED_ONLY = frozenset({"summary", "name"})


class Piece(NamedTuple):
    """A piece of evidence as an answer shows it.

    Attributes:
        lines: first and last line of the unit, None if that is not known.
        form: how much of the unit is shown.
    """

    path: str
    text: str
    lines: tuple[int, int] | None = None
    form: str = "full"
    symbol: str = ""
    score: float = 0.0
    tokens: int = 0


class Measures(NamedTuple):
    """Shares from 0 to 1; None where the gold says nothing of the kind.

    Attributes:
        symbol_recall: gold symbols of which something is shown.
        whole: gold symbols that are shown in full, every line of them.
        symbol_precision: pieces that show something of a gold symbol.
    """

    file_recall: float
    file_precision: float
    symbol_recall: float | None = None
    symbol_precision: float | None = None
    whole: float | None = None
    line_recall: float | None = None
    line_precision: float | None = None


class Row(NamedTuple):
    """One question answered by one tier within one budget."""

    question: Question
    tier: int
    budget: int
    tokens: int
    files: tuple[str, ...]
    measures: Measures
    rot: tuple[str, ...]
    seconds: float
    answer: str = ""
    correct: bool | None = None


# --- measures ---------------------------------------------------------------------------


class Wanted(NamedTuple):
    """Gold with its place in the repository.

    Attributes:
        lines: the lines of it that are not blank; none for a file as such.
    """

    gold: Gold
    lines: frozenset[int] = frozenset()


def shown_lines(piece: Piece, rows: Sequence[str]) -> frozenset[int]:
    """Which lines of a file a piece shows, by its text: indentation does not count.

    Args:
        piece: the evidence; of a skeleton the signatures count.
        rows: the lines of its file.
    """
    first, last = piece.lines or (1, len(rows))
    place = first - 1
    end = min(last, len(rows))
    found = []
    stripped = [row.strip() for row in rows[place:end]]
    at = 0
    for row in piece.text.split("\n"):
        for wanted in (row.strip(), row.strip().removesuffix(" ...")):
            if not wanted or wanted == "...":
                continue
            try:
                at = stripped.index(wanted, at) + 1
            except ValueError:
                continue
            found.append(place + at)
            break
    return frozenset(found)


def measure(
    pieces: Iterable[Piece], wanted: Sequence[Wanted], sources: Mapping[str, Sequence[str]]
) -> Measures:
    """Evidence against gold.

    Args:
        pieces: what is shown; what is only named counts for nothing.
        wanted: the gold, at least one item.
        sources: path to the lines of the file, of every path that a piece shows.
    """
    pieces = [piece for piece in pieces if piece.form not in _NAMED_ONLY]
    shown = [(piece.path, shown_lines(piece, sources.get(piece.path, ()))) for piece in pieces]
    lines = {(path, line) for path, found in shown for line in found}
    files = dict.fromkeys(piece.path for piece in pieces)
    gold_files = dict.fromkeys(each.gold.path for each in wanted)
    both = sum(path in files for path in gold_files)
    known = Measures(both / len(gold_files), both / len(files) if files else 0.0)
    gold_lines = {(each.gold.path, line) for each in wanted for line in each.lines}
    if gold_lines:
        hit = len(gold_lines & lines)
        known = known._replace(
            line_recall=hit / len(gold_lines), line_precision=hit / len(lines) if lines else 0.0
        )
    symbols = [
        {(each.gold.path, line) for line in each.lines} for each in wanted if each.gold.symbol
    ]
    if not symbols:
        return known
    of_symbols = set().union(*symbols)
    touching = sum(any((path, line) in of_symbols for line in found) for path, found in shown)
    return known._replace(
        symbol_recall=sum(bool(each & lines) for each in symbols) / len(symbols),
        whole=sum(bool(each) and each <= lines for each in symbols) / len(symbols),
        symbol_precision=touching / len(shown) if shown else 0.0,
    )


# --- rows and summaries -----------------------------------------------------------------


def row_data(row: Row, run: str, commit: str) -> dict[str, Any]:
    """One row of the results as plain data, with room for what a reader of the answer thinks.

    Args:
        row: the row.
        run: id of the run.
        commit: of the repository, "" outside one.
    """
    shares = {
        key: None if value is None else round(value, 4)
        for key, value in row.measures._asdict().items()
    }
    return {
        "run_id": run,
        "question_id": row.question.id,
        "question": row.question.question,
        "category": row.question.category,
        "method": f"tier {row.tier}: {TIERS[row.tier]}",
        "tier": row.tier,
        "budget": row.budget,
        "tokens": row.tokens,
        "evidence_files": list(row.files),
        "rot_issues": list(row.rot),
        "repository_commit": commit,
        **shares,
        "seconds": round(row.seconds, 4),
        "answer": row.answer,
        "correct": row.correct,
        "grade": "",
        "failure_label": "",
        "notes": "",
    }


class Summary(NamedTuple):
    """Means over the questions of a category ("" for all) for a tier and a budget."""

    category: str
    tier: int
    budget: int
    questions: int
    tokens: float
    measures: Measures
    rot: float
    seconds: float
    correct: float | None = None


def summarise(rows: Sequence[Row]) -> tuple[Summary, ...]:
    """Means per category, tier and budget; then over all categories."""
    categories = dict.fromkeys(row.question.category for row in rows)
    found = []
    for category in (*(c for c in categories if c and len(categories) > 1), ""):
        some = [row for row in rows if not category or row.question.category == category]
        for tier, budget in sorted({(row.tier, row.budget) for row in some}):
            same = [row for row in some if (row.tier, row.budget) == (tier, budget)]
            found.append(_summary(category, tier, budget, same))
    return tuple(found)


def _summary(category: str, tier: int, budget: int, rows: Sequence[Row]) -> Summary:
    columns = zip(*(row.measures for row in rows), strict=True)
    means = [_mean(value for value in column if value is not None) for column in columns]
    return Summary(
        category,
        tier,
        budget,
        len(rows),
        sum(row.tokens for row in rows) / len(rows),
        Measures(means[0] or 0.0, means[1] or 0.0, *means[2:]),
        sum(len(row.rot) for row in rows) / len(rows),
        sum(row.seconds for row in rows) / len(rows),
        _mean(float(row.correct) for row in rows if row.correct is not None),
    )


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None


def recall_of(measures: Measures) -> float:
    """The recall that counts most of those that the gold allows: whole symbols, lines, files."""
    for value in (measures.whole, measures.line_recall):
        if value is not None:
            return value
    return measures.file_recall


class Claim(NamedTuple):
    """How few tokens the compiled tier needs for what another finds.

    Attributes:
        tokens, recall: of the other tier, within the budget.
        needed: tokens with which the compiled one has that recall, between two of its
            budgets on the straight line between them.
    """

    tier: int
    budget: int
    tokens: float
    recall: float
    needed: float

    @property
    def ratio(self) -> float:
        """Tokens of the compiled tier by those of the other."""
        return self.needed / self.tokens if self.tokens else 0.0


def claims(summaries: Iterable[Summary], tier: int = 3) -> tuple[Claim, ...]:
    """Per budget of a tier: the tokens with which the compiled one finds as much, if it does."""
    overall = [each for each in summaries if not each.category]
    points = sorted((s.tokens, recall_of(s.measures)) for s in overall if s.tier == 4)
    found = []
    for other in (s for s in overall if s.tier == tier):
        recall = recall_of(other.measures)
        needed = _tokens_for(recall, points)
        if needed is not None:
            found.append(Claim(tier, other.budget, other.tokens, recall, needed))
    return tuple(found)


def _tokens_for(recall: float, points: Sequence[tuple[float, float]]) -> float | None:
    """Where the line through the points reaches a recall; nothing is said of what is before it."""
    before = None
    for tokens, reached in points:
        if reached >= recall:
            if before is None:
                return tokens
            share = (recall - before[1]) / (reached - before[1])
            return before[0] + share * (tokens - before[0])
        before = tokens, reached
    return None


def plateau(summaries: Iterable[Summary], tier: int = 4, step: float = 0.02) -> int:
    """The smallest budget after which a larger one adds less recall than a step; 0 for no rows."""
    mine = sorted((s for s in summaries if not s.category and s.tier == tier), key=lambda s: s[2])
    if not mine:
        return 0
    top = max(recall_of(each.measures) for each in mine)
    return next(s.budget for s in mine if recall_of(s.measures) >= top - step)


def is_correct(answer: str, expect: Sequence[str]) -> bool | None:
    """Whether an answer contains all that is expected of it, None if nothing is."""
    if not expect:
        return None
    said = " ".join(answer.casefold().split())
    return all(" ".join(each.casefold().split()) in said for each in expect)
