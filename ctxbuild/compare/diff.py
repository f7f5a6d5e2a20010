"""Two artifacts, block by block: what came, went, changed its form or text, or moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ctxbuild.compare.artifact import Artifact, Cause, Head, Shown

Kind = Literal["added", "removed", "form", "text", "moved", "reasons"]
"""What happened to a block, the most important first where several things did."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one unit.

    Attributes:
        kind: the most important thing that happened to it.
        before, after: the block, None where there is none.
        moved: it stands elsewhere among those that stayed.
        gained, lost: reasons, their lines left out.
    """

    kind: Kind
    before: Shown | None
    after: Shown | None
    moved: bool = False
    gained: tuple[Cause, ...] = ()
    lost: tuple[Cause, ...] = ()

    @property
    def unit(self) -> str:
        """The unit that changed."""
        shown = self.after or self.before
        assert shown is not None
        return shown.unit

    @property
    def tokens(self) -> int:
        """Tokens that the change adds to the pack, negative if it takes some."""
        return (self.after.tokens if self.after else 0) - (self.before.tokens if self.before else 0)


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that differs between two artifacts.

    Attributes:
        before, after: what they say of themselves.
        changes: in the order in which the units stand, those that went at the place
            where they stood.
        same: how many blocks are alike.
    """

    before: Head
    after: Head
    changes: tuple[Change, ...]
    same: int

    @property
    def differs(self) -> bool:
        """Whether a model would read something else."""
        return any(change.kind != "reasons" for change in self.changes)


def difference(before: Artifact, after: Artifact) -> Difference:
    """What turns one artifact into the other."""
    old = {block.unit: block for block in before.blocks}
    new = {block.unit: block for block in after.blocks}
    moved = moved_units([*old], [*new])
    changes = []
    for unit in _merged([*old], [*new]):
        change = _change(old.get(unit), new.get(unit), moved=unit in moved)
        if change is not None:
            changes.append(change)
    same = len(old.keys() & new.keys()) - sum(1 for c in changes if c.before and c.after)
    return Difference(before.head, after.head, tuple(changes), same)


def _change(before: Shown | None, after: Shown | None, *, moved: bool) -> Change | None:
    if before is None:
        return Change("added", None, after)
    if after is None:
        return Change("removed", before, None)
    moved = moved or (before.layer, before.section) != (after.layer, after.section)
    was, is_ = _plain(before.reasons), _plain(after.reasons)
    gained = tuple(cause for cause in is_ if cause not in was)
    lost = tuple(cause for cause in was if cause not in is_)
    kind: Kind | None = None
    if before.form != after.form:
        kind = "form"
    elif before.text != after.text:
        kind = "text"
    elif moved:
        kind = "moved"
    elif gained or lost:
        kind = "reasons"
    return None if kind is None else Change(kind, before, after, moved, gained, lost)


def _plain(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Without lines: that code moves is no other reason."""
    return tuple(dict.fromkeys(replace(cause, line=None) for cause in causes))


def moved_units(old: Sequence[str], new: Sequence[str]) -> frozenset[str]:
    """The fewest units that have to be moved so that those in both stand in the new order."""
    places = {unit: place for place, unit in enumerate(old)}
    common = [unit for unit in new if unit in places]
    # A longest increasing run of old places stays; patience sorting with links back.
    ends: list[int] = []
    tops: list[int] = []
    back: list[int] = []
    for at, unit in enumerate(common):
        pile = bisect_left(ends, places[unit])
        back.append(tops[pile - 1] if pile else -1)
        if pile == len(ends):
            ends.append(places[unit])
            tops.append(at)
        else:
            ends[pile], tops[pile] = places[unit], at
    staying = set()
    at = tops[-1] if tops else -1
    while at >= 0:
        staying.add(common[at])
        at = back[at]
    return frozenset(common) - staying


def _merged(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The new order, with what went behind what stood before it."""
    here = set(new)
    gone: dict[str, list[str]] = {}
    last = ""
    for unit in old:
        if unit in here:
            last = unit
        else:
            gone.setdefault(last, []).append(unit)
    merged = gone.get("", [])
    for unit in new:
        merged += [unit, *gone.get(unit, ())]
    return merged
