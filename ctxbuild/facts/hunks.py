"""Hunks: the changed lines of a file with their surroundings, as a unified diff writes them.

What a large change adds is parted at definitions, so that each can be shown, or
left out and named, for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ctxbuild.facts.linediff import Change

CONTEXT = 3
"""Unchanged lines around a change, as many as git shows."""

_LARGE = 60
"""A change that adds or removes more lines is parted at definitions."""

_PART = 24
"""Parts of it have at least so many lines, if there are any more."""

_ROW = 100
"""Characters that count as one row: a longer line counts as several."""

NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk.

    Attributes:
        old_start, old_count, new_start, new_count: lines, counted from 1, as in its header.
        rows: its lines without line feeds, each with its mark in front; a backslash marks
            what is said about lines.
        heading: the signature of the definition that encloses it, "" if there is none or
            the hunk shows it.
        symbol: qualified name of the innermost definition around its first change, or "".
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    rows: tuple[str, ...]
    heading: str = ""
    symbol: str = ""

    @property
    def added(self) -> int:
        """Lines that it adds."""
        return sum(row.startswith("+") for row in self.rows)

    @property
    def removed(self) -> int:
        """Lines that it removes."""
        return sum(row.startswith("-") for row in self.rows)

    @property
    def size(self) -> int:
        """Rows of about a hundred characters."""
        return sum(1 + len(row) // _ROW for row in self.rows)

    @property
    def text(self) -> str:
        """As it stands in a unified diff."""
        head = f"@@ -{self.old_start},{self.old_count} +{self.new_start},{self.new_count} @@"
        if self.heading:
            head = f"{head} {self.heading}"
        return "".join(f"{row}\n" for row in (head, *self.rows))


def lines_of(text: str) -> list[str]:
    """The lines of a text with their line feeds, so that a missing last one is a difference."""
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def hunks_of(
    old: Sequence[str],
    new: Sequence[str],
    changed: Sequence[Change],
    old_cuts: Sequence[int] = (),
    new_cuts: Sequence[int] = (),
) -> list[Hunk]:
    """The hunks of changed stretches.

    Args:
        old, new: lines with their line feeds.
        changed: what `linediff.changes` found.
        old_cuts, new_cuts: lines, counted from 0 and ascending, at which definitions begin.
    """
    groups: list[list[Change]] = []
    for each in changed:
        first, *rest = _parted(each, old_cuts, new_cuts)
        near = groups and first.old_start - groups[-1][-1].old_end <= 2 * CONTEXT
        if near and not rest and not _is_large(groups[-1][-1]):
            groups[-1].append(first)
        else:
            groups.append([first])
        groups += [[part] for part in rest]
    found = []
    shown = 0
    for at, group in enumerate(groups):
        limit = groups[at + 1][0].old_start if at + 1 < len(groups) else len(old)
        hunk, shown = _hunk(old, new, group, shown, limit)
        found.append(hunk)
    return found


def _is_large(change: Change) -> bool:
    return max(change.old_end - change.old_start, change.new_end - change.new_start) > _LARGE


def _parted(change: Change, old_cuts: Sequence[int], new_cuts: Sequence[int]) -> list[Change]:
    """A large change in parts that begin with definitions; what it removes goes first."""
    if not _is_large(change):
        return [change]
    old_start, old_end, new_start, new_end = change
    if new_end == new_start:
        edges = _edges(old_start, old_end, old_cuts)
        return [Change(a, b, new_start, new_start) for a, b in edges]
    edges = _edges(new_start, new_end, new_cuts)
    return [
        Change(old_start if at == 0 else old_end, old_end, a, b) for at, (a, b) in enumerate(edges)
    ]


def _edges(start: int, end: int, cuts: Sequence[int]) -> list[tuple[int, int]]:
    found = [start]
    found += [cut for cut in cuts if start < cut < end]
    kept = [start]
    for cut in found[1:]:
        if cut - kept[-1] >= _PART:
            kept.append(cut)
    return list(zip(kept, [*kept[1:], end], strict=True))


def _hunk(
    old: Sequence[str], new: Sequence[str], group: Sequence[Change], shown: int, limit: int
) -> tuple[Hunk, int]:
    """A hunk, and up to which old line is shown with it.

    Args:
        shown: up to which old line the hunk before shows the file.
        limit: the old line with which the next change begins.
    """
    first, last = group[0], group[-1]
    above = min(CONTEXT, first.old_start - shown)
    below = min(CONTEXT, limit - last.old_end)
    start, end = first.old_start - above, last.old_end + below
    rows: list[str] = []
    at = start
    for each in group:
        rows += _rows(" ", old[at : each.old_start])
        rows += _rows("-", old[each.old_start : each.old_end])
        rows += _rows("+", new[each.new_start : each.new_end])
        at = each.old_end
    rows += _rows(" ", old[at:end])
    new_start, new_end = first.new_start - above, last.new_end + below
    hunk = Hunk(
        old_start + 1 if (old_start := start) < end else start,
        end - start,
        new_start + 1 if new_start < new_end else new_start,
        new_end - new_start,
        tuple(rows),
    )
    return hunk, end


def _rows(mark: str, lines: Sequence[str]) -> list[str]:
    rows = []
    for line in lines:
        rows.append(mark + line.removesuffix("\n"))
        if not line.endswith("\n"):
            rows.append(NO_NEWLINE)
    return rows


def cut(hunk: Hunk, size: int) -> Hunk:
    """The first rows of a hunk, with a line that says what is left out.

    Args:
        hunk: a hunk.
        size: the most rows of about a hundred characters; one row at least is kept.
    """
    kept: list[str] = []
    for row in hunk.rows:
        size -= 1 + len(row) // _ROW
        if size < 0 and kept:
            break
        kept.append(row)
    rest = hunk.rows[len(kept) :]
    if not rest:
        return hunk
    added = sum(row.startswith("+") for row in rest)
    removed = sum(row.startswith("-") for row in rest)
    old = sum(row[0] in " -" for row in kept)
    new = sum(row[0] in " +" for row in kept)
    said = f"\\ {len(rest)} more lines of this hunk are left out (+{added} -{removed})"
    return replace(hunk, old_count=old, new_count=new, rows=(*kept, said))
