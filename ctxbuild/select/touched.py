"""What the definitions that a change touches concern: what they use, who uses them, which tests.

Everything is decided from the changed file's names and the graph; not a line of the
change itself is asked for, so that another hunk in the same definition finds the answer
it found before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ctxbuild.graph.uses import uses
from ctxbuild.model import Candidate, Reason, Rung
from ctxbuild.select import dependents
from ctxbuild.select.phases import FIRST_LINE, ON_DEMAND
from ctxbuild.select.used import Entry, Used
from ctxbuild.source.ctxfile import Layer

if TYPE_CHECKING:
    from ctxbuild.facts.change import Changed
    from ctxbuild.select.view import EntryView

USEFUL = 40
"""Phases of what is useful begin here, behind those of the hunks."""

_MOST_SITES = 40
"""Call sites, and tests, per changed file; those nearest to it come first."""

_MOST_NAMES = 60
"""Touched definitions of a file that are followed; a file that changes more is rewritten."""


def candidates(view: EntryView, path: str, changed: Changed) -> Iterator[Candidate]:
    """Used definitions as skeletons, call sites and tests as slices.

    Args:
        view: the repository.
        path: the changed file.
        changed: which of its definitions are touched, and what they were.
    """
    known = {name for name, _ in view.outline(path).symbols}
    focus = tuple(name for name in changed.touched if name in known)[:_MOST_NAMES]
    if focus:
        yield from _used(view, path, focus)
        yield from _sites(view, path, focus, changed)
    yield from _orphans(view, path, changed.gone)


def _used(view: EntryView, path: str, focus: tuple[str, ...]) -> Iterator[Candidate]:
    """What the touched definitions use, without what nobody is certain of."""
    layer = Layer("", "entry", (), docstrings="first")
    entry = Entry(path, focus, path)
    used = Used(view, layer, [entry])
    used.note(entry, uses(view, path, focus))
    for each in used.definitions():
        kinds = {reason.kind for reason in each.reasons}
        if kinds & {"entry", "around", "ambiguous", "by-name"} or entry_covers(entry, each):
            continue
        yield replace(each, section="used", ladder=_later(each.ladder))


def entry_covers(entry: Entry, each: Candidate) -> bool:
    """Whether a candidate stands inside a touched definition."""
    return each.path == entry.path and entry.covers(each.symbol)


def _later(ladder: tuple[Rung, ...]) -> tuple[Rung, ...]:
    return tuple(
        rung if rung.phase >= ON_DEMAND else replace(rung, phase=USEFUL + rung.phase)
        for rung in ladder
    )


def _sites(
    view: EntryView, path: str, focus: Sequence[str], changed: Changed
) -> Iterator[Candidate]:
    """Call sites and tests; of what looks different from outside first."""
    found = dependents.candidates(
        view, "", [(path, name) for name in focus], steps=1, tests=True, phase=FIRST_LINE
    )
    counts = {"dependents": 0, "tests": 0}
    for each in found:
        if each.ladder[0].phase < ON_DEMAND:
            counts[each.section] += 1
            if counts[each.section] > _MOST_SITES:
                continue
        early = any(r.unit.partition("::")[2] in changed.reshaped for r in each.reasons)
        ladder = _later(each.ladder)
        if early:
            ladder = tuple(r if r.phase >= ON_DEMAND else replace(r, phase=USEFUL) for r in ladder)
        yield replace(each, ladder=ladder, score=0.8 if early else each.score)


def _orphans(view: EntryView, path: str, gone: Sequence[str]) -> Iterator[Candidate]:
    """Who still names what the change took away: one line each."""
    folder, _, file = path.rpartition("/")
    module = file.partition(".")[0]
    if module == "__init__":
        module = folder.rpartition("/")[2]
    for name in [name for name in gone if "." not in name][:_MOST_NAMES]:
        mentioned = set(view.mentions(name))
        for user in sorted(mentioned | set(view.mentions(module))):
            if user == path or not _still_uses(view, user, name):
                continue
            yield Candidate(
                unit=f"{user}#gone-{name}",
                path=user,
                symbol="",
                layer="",
                section="changes",
                order=0,
                ladder=(Rung("summary", "", USEFUL),),
                score=0.9,
                reasons=(Reason("uses-gone", f"{path}::{name}"),),
                names=(f"still uses {name}, which {path} no longer defines",),
            )


def _still_uses(view: EntryView, user: str, name: str) -> bool:
    """Whether an import of a file that nothing explains ends in a name."""
    return any(
        each.name == name or each.name.endswith(f".{name}") for each in view.uses(user).unresolved
    )
