"""Why a unit is in a pack or is not, at which cost, and how the entry leads to it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from ctxbuild.model import FormName, Plan, Reason, Verdict
from ctxbuild.pack.artifact import anchor_line, place
from ctxbuild.serve.lookup import Desk

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Target


@dataclass(frozen=True, slots=True)
class Because:
    """A reason with the place that says so.

    Attributes:
        kind: as in `Reason`.
        unit: the unit at the other end, or "".
        path, line: where it says so, or "" and None.
    """

    kind: str
    unit: str = ""
    path: str = ""
    line: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one candidate.

    Attributes:
        lines: first and last line of the unit, None where it has none.
        costs: (form, tokens) of every form, cheapest first.
        why: why it is trimmed or dropped, or "".
    """

    unit: str
    layer: str
    verdict: Literal["kept", "trimmed", "dropped"]
    form: FormName | None
    tokens: int
    costs: tuple[tuple[FormName, int], ...]
    lines: tuple[int, int] | None
    score: float
    why: str
    reasons: tuple[Because, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One step from an entry to a unit: what stands in `path` at `line` leads to `unit`."""

    path: str
    line: int | None
    kind: Literal["import", "reference"]
    unit: str


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a unit is no candidate.

    Attributes:
        kind: "left-out" (of the sources), "no-file", "no-symbol", "inside" (of a file
            that is a candidate as a whole), "not-used" (its file is reached, the entry
            does not use it), "not-reached" or "not-listed" (no layer names it).
        detail: the rule that leaves it out, or the unit it is inside.
        near: names that may be meant.
    """

    kind: str
    detail: str = ""
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be said about a target or about one unit of it.

    Attributes:
        unit: the unit that was asked about; "" for all.
        findings: the verdict on it and on its parts, in the plan's order.
        chain: how the entry leads to it.
        absence: why it is no candidate, None if it is one.
    """

    target: str
    budget: int
    reserve: int
    tokens: int
    unit: str
    findings: tuple[Finding, ...]
    chain: tuple[Step, ...] = ()
    absence: Absence | None = None


def why(desk: Desk, target: Target, unit: str = "", directory: str = "") -> Answer:
    """The verdict on a unit, or on all.

    Args:
        desk: the repository.
        target: one of its targets.
        unit: `path`, `path::symbol` or what a plan calls a line; "" for all.
        directory: where the user stands: a path may be relative to it, too.

    Raises:
        CtxbuildError: the target cannot be built.
    """
    plan = desk.workspace.database.get(desk.workspace.pipeline.plan_value, target.name)
    if not unit:
        return _answer(desk, plan, "", plan.verdicts)
    unit = _located(desk, unit, directory)
    chosen = _about(plan, unit)
    absence = None if chosen else _absence(desk, target, plan, unit)
    known = absence is None or absence.kind in ("inside", "not-used")
    chain = _chain(desk, target, unit) if known else ()
    return _answer(desk, plan, unit, chosen, chain, absence)


def _answer(
    desk: Desk,
    plan: Plan,
    unit: str,
    chosen: Iterable[Verdict],
    chain: tuple[Step, ...] = (),
    absence: Absence | None = None,
) -> Answer:
    findings = tuple(_finding(desk, verdict) for verdict in chosen)
    return Answer(
        plan.target, plan.budget, plan.reserve, plan.tokens, unit, findings, chain, absence
    )


def _located(desk: Desk, unit: str, directory: str) -> str:
    """The unit with its path relative to the root, however the user wrote it."""
    path, mark, symbol = unit.partition("::")
    tail = mark + symbol
    if not mark:
        path, mark, part = unit.partition("#")
        tail = mark + part
    plain = os.path.normpath(path).replace(os.sep, "/") if path else path
    snapshot = desk.workspace.snapshot
    if snapshot.has(plain):
        return plain + tail
    inside = os.path.relpath(os.path.join(os.path.realpath(directory or "."), path), snapshot.root)
    below = inside.replace(os.sep, "/")
    return (below if snapshot.has(below) else plain) + tail


def _about(plan: Plan, unit: str) -> list[Verdict]:
    """The verdicts on a unit; on a file also those on its parts."""
    exact = [verdict for verdict in plan.verdicts if verdict.unit == unit]
    if "::" in unit or "#" in unit:
        return exact
    parts = (f"{unit}::", f"{unit}#")
    return exact + [verdict for verdict in plan.verdicts if verdict.unit.startswith(parts)]


def _finding(desk: Desk, verdict: Verdict) -> Finding:
    path, _, symbol = verdict.unit.partition("::")
    lines = place(desk.lines_of, path, symbol) if desk.workspace.snapshot.has(path) else None
    return Finding(
        unit=verdict.unit,
        layer=verdict.layer,
        verdict=verdict.verdict,
        form=verdict.form,
        tokens=verdict.tokens,
        costs=verdict.costs,
        lines=(lines[0], lines[1]) if lines else None,
        score=verdict.score,
        why=verdict.why,
        reasons=tuple(_because(desk, reason) for reason in verdict.reasons),
    )


def _because(desk: Desk, reason: Reason) -> Because:
    path = reason.anchor[0] if reason.anchor else ""
    line = anchor_line(desk.lines_of, reason.anchor)
    return Because(reason.kind, reason.unit, path, line, reason.detail)


# --- the way from the entry ---------------------------------------------------------------


def _entries(desk: Desk, target: Target) -> tuple[str, ...]:
    from ctxbuild.select.entry import find_entries

    layers = [layer for layer in target.layers if layer.source == "entry"]
    found = [entry.path for layer in layers for entry in find_entries(desk.view, layer)]
    return tuple(dict.fromkeys(found))


def _chain(desk: Desk, target: Target, unit: str) -> tuple[Step, ...]:
    from ctxbuild.graph.reach import chain

    path, _, symbol = unit.partition("::")
    path = path.partition("#")[0] if not desk.workspace.snapshot.has(path) else path
    entries = _entries(desk, target)
    if not entries or path in entries or not desk.workspace.snapshot.has(path):
        return ()
    steps = []
    for link in chain(desk.view, entries, path, symbol):
        line = anchor_line(desk.lines_of, (link.path, link.kind, link.ordinal))
        to = f"{link.target}::{link.name}" if link.name else link.target
        steps.append(Step(link.path, line, link.kind, to))
    return tuple(steps)


# --- what is no candidate -----------------------------------------------------------------


def _absence(desk: Desk, target: Target, plan: Plan, unit: str) -> Absence:
    path, mark, symbol = unit.partition("::")
    snapshot = desk.workspace.snapshot
    if not snapshot.has(path):
        return _no_source(desk, path)
    if mark:
        names = list(dict.fromkeys(name for name, _ in desk.view.outline(path).symbols))
        if symbol not in names:
            return Absence("no-symbol", path, tuple(_near_symbols(path, symbol, names)))
        if any(verdict.unit == path for verdict in plan.verdicts):
            return Absence("inside", path)
    entries = _entries(desk, target)
    if not entries:
        return Absence("not-listed")
    if path in entries:
        return Absence("inside", path)
    reached = any(v.unit.partition("::")[0].partition("#")[0] == path for v in plan.verdicts)
    return Absence("not-used" if mark and reached else "not-reached", ", ".join(entries))


def _no_source(desk: Desk, path: str) -> Absence:
    snapshot = desk.workspace.snapshot
    if path and os.path.lexists(os.path.join(snapshot.root, path)):
        for left in snapshot.left_out():
            if path == left.path or path.startswith(f"{left.path}/"):
                about = f"{left.reason} ({left.detail})" if left.detail else left.reason
                return Absence("left-out", about)
    return Absence("no-file", path, near_paths(path, snapshot.paths))


def _near_symbols(path: str, symbol: str, names: list[str]) -> list[str]:
    last = symbol.rpartition(".")[2]
    near = [name for name in names if name.rpartition(".")[2] == last]
    return [f"{path}::{name}" for name in (near or get_close_matches(symbol, names, 3))[:3]]


def near_paths(path: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Up to three paths that may be meant: files of that name first, then similar ones."""
    name = path.rstrip("/").rpartition("/")[2]
    same = [known for known in paths if known.rpartition("/")[2] == name]
    if not same:
        same = [known for known in paths if known.startswith(f"{path.rstrip('/')}/")]
    if not same:
        names = {known.rpartition("/")[2]: known for known in reversed(paths)}
        same = [names[each] for each in get_close_matches(name, names, 3, 0.75)]
    return tuple(same[:3])
