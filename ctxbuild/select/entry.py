"""`entry` layers: the entry in full, and of the rest of the repository what the entry uses.

Tiers: the entry itself; the definitions that it uses, as skeletons under their
class headers; the other names of files it depends on, one line each; files it
reaches indirectly, one line each. What cannot be verified is listed as open and
never guessed. Everything is decided from the entry's own closure, so that an
edit elsewhere cannot reshuffle a pack. The order in which the budget is spent
stands in `phases.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ctxbuild.errors import EntryError
from ctxbuild.graph.reach import reach
from ctxbuild.graph.uses import Open, Uses, uses
from ctxbuild.model import Candidate, OpenName, Outline, Reason, Rung
from ctxbuild.select import reached
from ctxbuild.select.files import ladder, matched
from ctxbuild.select.phases import AROUND, ENTRY, FIRST_LINE
from ctxbuild.select.used import Entry, Used

if TYPE_CHECKING:
    from ctxbuild.select.view import EntryView
    from ctxbuild.source.ctxfile import Layer


def candidates(view: EntryView, layer: Layer) -> tuple[list[Candidate], list[OpenName]]:
    """Everything that an entry layer proposes, and the names that stay open.

    Raises:
        EntryError: a path or glob matches no file, or a file has no such symbol.
    """
    entries = find_entries(view, layer)
    found = [uses(view, entry.path, entry.focus) for entry in entries]
    used = Used(view, layer, entries)
    for entry, each in zip(entries, found, strict=True):
        used.note(entry, each)
    around = reach(view, tuple(entry.path for entry in entries), used.holding())
    used.narrow({each.path for each in (*around.direct, *around.indirect)})
    proposed = [_whole(view, layer, entry) for entry in entries if not entry.focus]
    proposed += used.definitions()
    proposed += used.closure()
    proposed += reached.files(view, layer.name, around, used)
    open_names = [name for e, u in zip(entries, found, strict=True) for name in _open(e.path, u)]
    proposed += _open_lines(layer, entries, open_names)
    if layer.dependents or layer.tests:
        from ctxbuild.select import dependents

        proposed += dependents.candidates(
            view,
            layer.name,
            [(e.path, focus) for e in entries for focus in e.focus or ("",)],
            steps=layer.dependents,
            tests=layer.tests,
            phase=FIRST_LINE,
        )
    return proposed, open_names


def find_entries(view: EntryView, layer: Layer) -> list[Entry]:
    """The entry files in order of their paths, with the symbols in focus.

    Raises:
        EntryError: a path or glob matches no file, or a file has no such symbol.
    """
    whole = tuple(p for p in layer.patterns if "::" not in p)
    what = f"layer {layer.name!r}"
    entries = {p: Entry(p, (), by) for p, by in matched(view, whole, what).items()}
    for pattern in layer.patterns:
        path, mark, name = pattern.partition("::")
        if not mark:
            continue
        matches = list(matched(view, (path,), what))
        holding = [match for match in matches if _has_symbol(view.outline(match), name)]
        if not holding:
            raise _no_symbol(view.outline(matches[0]), matches[0], name)
        for match in holding:
            known = entries.get(match)
            if known is None or known.focus:
                focus = (*known.focus, name) if known else (name,)
                entries[match] = Entry(match, _outermost(focus), pattern)
    return [entries[path] for path in sorted(entries)]


def _outermost(focus: tuple[str, ...]) -> tuple[str, ...]:
    """Without repeats, and without what stands inside another symbol in focus."""
    return tuple(
        name
        for name in dict.fromkeys(focus)
        if not any(name.startswith(f"{other}.") for other in focus)
    )


def _has_symbol(outline: Outline, name: str) -> bool:
    return any(symbol == name for symbol, _ in outline.symbols)


def _no_symbol(outline: Outline, path: str, name: str) -> EntryError:
    from difflib import get_close_matches

    names = list(dict.fromkeys(n for n, _ in outline.symbols))
    near = get_close_matches(name, names, 1) or [n for n in names if n.endswith(f".{name}")][:1]
    hint = f"did you mean {path}::{near[0]}?" if near else "see `ctxbuild show` for its names"
    return EntryError(f"{path} has no symbol {name!r}", hint)


def _whole(view: EntryView, layer: Layer, entry: Entry) -> Candidate:
    """The candidate of an entry file without a focus."""
    return Candidate(
        unit=entry.path,
        path=entry.path,
        symbol="",
        layer=layer.name,
        section="entry",
        order=0,
        ladder=ladder("full", parsed=bool(view.outline(entry.path).language), phase=ENTRY),
        score=1.0,
        reasons=(Reason("entry", detail=entry.pattern),),
        pinned=layer.pin,
    )


# --- what stays open --------------------------------------------------------------------


def _open(path: str, found: Uses) -> Iterator[OpenName]:
    for each in found.unresolved:
        yield OpenName(path, each.name, "unresolved", 0, _anchor(path, each))
    for each in found.ambiguous:
        count = len(each.candidates) + each.common
        yield OpenName(path, each.name, "ambiguous", count, _anchor(path, each))
    for use in found.used:
        if not use.certain:
            name = f"{use.name.rpartition('.')[2]} = {use.path}::{use.name}"
            anchor = (path, "reference", use.references[0]) if use.references else None
            yield OpenName(path, name, "by-name", 1, anchor)
    for name in found.dynamic:
        yield OpenName(path, name, "dynamic")


def _anchor(path: str, each: Open) -> tuple[str, str, int] | None:
    if each.references:
        return (path, "reference", each.references[0])
    return (path, "import", each.imports[0]) if each.imports else None


def _open_lines(
    layer: Layer, entries: list[Entry], open_names: list[OpenName]
) -> Iterator[Candidate]:
    """One line per entry that lists what is open in it."""
    for entry in entries:
        names = tuple(dict.fromkeys(str(n) for n in open_names if n.path == entry.path))
        if names:
            yield Candidate(
                unit=f"{entry.path}#open",
                path=entry.path,
                symbol="",
                layer=layer.name,
                section="open",
                order=0,
                ladder=(Rung("summary", "", AROUND),),
                score=0.3,
                reasons=(Reason("open", entry.path, detail=str(len(names))),),
                names=names,
            )
