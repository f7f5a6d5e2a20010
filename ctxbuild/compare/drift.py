"""Whether a pack still states what it is for, and how far a session has moved from its task.

What must be stated is looked for literally. The movement is lexical: which of the
task's words the last turns still use, against the first ones. A word weighs more the
fewer turns use it (the inverse document frequency of Sparck Jones, "A statistical
interpretation of term specificity", 1972), so that what every turn says tells nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ctxbuild.facts.words import words

Kind = Literal["task", "file", "finding"]

_PATH_CHARACTERS = frozenset("/\\-_.")
_FEWEST = 2
_TOLD = 8


@dataclass(frozen=True, slots=True)
class Wanted:
    """Something that a pack must state.

    Attributes:
        what: in one line, for people.
        origin: the layer, file or turn that wants it.
        rows: each must stand in the pack; of a file its path.
    """

    kind: Kind
    what: str
    origin: str
    rows: tuple[str, ...]


def task(text: str, origin: str) -> Wanted:
    """A task, which is stated when every line of it is."""
    rows = tuple(row.strip() for row in text.splitlines() if row.strip())
    return Wanted("task", rows[0] if rows else "", origin, rows)


def missing(text: str, wanted: Iterable[Wanted]) -> tuple[tuple[Wanted, tuple[str, ...]], ...]:
    """What a pack does not state, with the rows that are not there.

    Args:
        text: of the pack.
        wanted: what it must state.
    """
    found = []
    for each in wanted:
        stands = _names if each.kind == "file" else str.__contains__
        gone = tuple(row for row in each.rows if not stands(text, row))
        if gone:
            found.append((each, gone))
    return tuple(found)


def _names(text: str, path: str) -> bool:
    """Whether a text names a path, not only a longer one that contains it."""
    start = text.find(path)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(path) : start + len(path) + 1]
        if not _continues(before) and (after == "." or not _continues(after)):
            return True
        start = text.find(path, start + 1)
    return False


def _continues(character: str) -> bool:
    return bool(character) and (character.isalnum() or character in _PATH_CHARACTERS)


# --- movement -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Movement:
    """How far a session has moved from the words of its task.

    Attributes:
        terms: how many content words and identifiers the task has.
        turns: of the session, the task's own left out.
        window: turns at either end that are compared.
        first, last: share of the task's terms that these turns use, by weight.
        gone: the weightiest terms that the first turns use and the last ones do not.
    """

    terms: int
    turns: int
    window: int
    first: float
    last: float
    gone: tuple[str, ...]

    @property
    def moved(self) -> float:
        """0 where the last turns are as near to the task as the first, 1 where nothing is left."""
        if not self.first:
            return 0.0
        return round(max(0.0, 1 - self.last / self.first), 4)


def movement(said: str, turns: Sequence[str], window: int) -> Movement | None:
    """How far the last turns have moved from a task; None for fewer than two turns.

    A term weighs `ln(1 + n / (1 + f))` where `f` of the `n` turns use it. The windows do
    not overlap: of a short session they are its halves.

    Args:
        said: the task.
        turns: what was said and called in every turn behind it, in order; results of
            calls left out, as they hold whatever a file holds.
        window: turns that are compared at either end.
    """
    if len(turns) < _FEWEST:
        return None
    terms = dict.fromkeys(words(said))
    used = [terms.keys() & set(words(turn)) for turn in turns]
    count = len(turns)
    weights = {
        term: math.log(1 + count / (1 + sum(term in each for each in used))) for term in terms
    }
    size = max(1, min(window, count // 2))
    early = set().union(*used[:size])
    late = set().union(*used[-size:])
    total = sum(weights.values())
    gone = sorted(early - late, key=lambda term: (-weights[term], term))
    return Movement(
        terms=len(terms),
        turns=count,
        window=size,
        first=_share(early, weights, total),
        last=_share(late, weights, total),
        gone=tuple(gone[:_TOLD]),
    )


def _share(used: set[str], weights: dict[str, float], total: float) -> float:
    # Added in the order of the task, so that rounding is the same whatever the sets' order.
    part = sum(weight for term, weight in weights.items() if term in used)
    return round(part / total, 4) if total else 0.0
