"""Which lines of a text changed: a diff of our own, so that no git decides what a pack says.

Lines that both texts hold exactly once are matched first, those in the longest
common order (Bram Cohen's "patience diff"); between them the shortest edit script
is sought (Myers, "An O(ND) difference algorithm and its variations", 1986), up to
a bound on the work: beyond it the whole stretch counts as replaced.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_MOST_EDITS = 300
"""Edits up to which the shortest script of a stretch without unique lines is sought."""

_MOST_PASSES = 12
"""How often every line may be looked at: texts in another order altogether count as replaced."""


class Change(NamedTuple):
    """Lines `old_start:old_end` became lines `new_start:new_end`, counted from 0, end excluded."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """The changed stretches in order; between them the lines are equal.

    Args:
        old: lines as they were.
        new: lines as they are.
    """
    matched = sorted(_matches(old, new))
    matched.append((len(old), len(new)))
    found: list[Change] = []
    at_old = at_new = 0
    for left, right in matched:
        if left > at_old or right > at_new:
            found.append(Change(at_old, left, at_new, right))
        at_old, at_new = left + 1, right + 1
    return _slid(found, old, new)


def _matches(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of equal lines, both ascending."""
    waiting = [(0, len(old), 0, len(new))]
    work = _MOST_PASSES * (len(old) + len(new))
    while waiting and work > 0:
        a, b, c, d = waiting.pop()
        work -= b - a + d - c
        while a < b and c < d and old[a] == new[c]:
            yield a, c
            a, c = a + 1, c + 1
        while a < b and c < d and old[b - 1] == new[d - 1]:
            b, d = b - 1, d - 1
            yield b, d
        if a == b or c == d:
            continue
        anchors = _anchors(old, new, a, b, c, d)
        if not anchors:
            if not set(old[a:b]).isdisjoint(new[c:d]):
                work -= _MOST_EDITS
                yield from _shortest(old, new, a, b, c, d)
            continue
        yield from anchors
        left, right = a, c
        for i, j in [*anchors, (b, d)]:
            waiting.append((left, i, right, j))
            left, right = i + 1, j + 1


def _anchors(
    old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int
) -> list[tuple[int, int]]:
    """The longest ascending run of lines that stand once in either stretch."""
    counts_old, counts_new = Counter(old[a:b]), Counter(new[c:d])
    places = {line: j for j, line in enumerate(new[c:d], c) if counts_new[line] == 1}
    pairs = [
        (i, places[line])
        for i, line in enumerate(old[a:b], a)
        if counts_old[line] == 1 and line in places
    ]
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for at, (_, j) in enumerate(pairs):
        spot = bisect_left(tails, j)
        tails[spot : spot + 1] = [j]
        ends[spot : spot + 1] = [at]
        before.append(ends[spot - 1] if spot else -1)
    found = []
    at = ends[-1] if ends else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _shortest(
    old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int
) -> list[tuple[int, int]]:
    """Pairs of a shortest edit script; none if it has too many edits."""
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    for edits in range(min(_MOST_EDITS, b - a + d - c) + 1):
        trail.append(dict(reach))
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            while a + x < b and c + x - k < d and x - k >= 0 and old[a + x] == new[c + x - k]:
                x += 1
            reach[k] = x
            if a + x >= b and c + x - k >= d:
                return _walked_back(trail, a, c, x, x - k)
    return []


def _walked_back(
    trail: list[dict[int, int]], a: int, c: int, x: int, y: int
) -> list[tuple[int, int]]:
    """The pairs of the script that ends at (x, y), its start at (a, c)."""
    pairs = []
    for edits in range(len(trail) - 1, -1, -1):
        reach, k = trail[edits], x - y
        down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
        start_x = reach[k + 1 if down else k - 1]
        start_y = start_x - (k + 1 if down else k - 1)
        middle_x = start_x if down else start_x + 1
        while x > max(middle_x, 0) and y > 0:
            x, y = x - 1, y - 1
            pairs.append((a + x, c + y))
        x, y = start_x, start_y
    return pairs[::-1]


def _slid(found: list[Change], old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Moves pure insertions and deletions to where a reader would set them."""
    placed: list[Change] = []
    for at, each in enumerate(found):
        before = placed[-1] if placed else Change(0, 0, 0, 0)
        after = found[at + 1] if at + 1 < len(found) else Change(len(old), 0, len(new), 0)
        if each.old_start == each.old_end:
            room = (each.new_start - before.new_end, after.new_start - each.new_end)
            step = _best_step(new, each.new_start, each.new_end, *room)
        elif each.new_start == each.new_end:
            room = (each.old_start - before.old_end, after.old_start - each.old_end)
            step = _best_step(old, each.old_start, each.old_end, *room)
        else:
            step = 0
        placed.append(Change(*(place + step for place in each)))
    return placed


def _best_step(lines: Sequence[str], start: int, end: int, up: int, down: int) -> int:
    """By how many lines a stretch moves so that it begins behind a gap, least indented."""
    steps = [0]
    for step in range(1, down + 1):
        if lines[start + step - 1] != lines[end + step - 1]:
            break
        steps.append(step)
    for step in range(1, up + 1):
        if lines[start - step] != lines[end - step]:
            break
        steps.append(-step)

    def badness(step: int) -> tuple[bool, int, bool, int]:
        first, last = lines[start + step], lines[end + step - 1]
        above = lines[start + step - 1] if start + step else ""
        indent = len(first) - len(first.lstrip()) if first.strip() else 1_000
        return (not first.strip(), indent, bool(above.strip()) and bool(last.strip()), -step)

    return min(steps, key=badness)
