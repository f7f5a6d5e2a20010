"""`entry` layers: the entry in full, and of the rest of the repository what the entry uses.

Tiers: the entry itself; the definitions that it uses, as skeletons under their
class headers; the other names of files it depends on, one line each; files it
reaches indirectly, one line each. What cannot be verified is listed as open and
never guessed. Everything is decided from the entry's own closure, so that an
edit elsewhere cannot reshuffle a pack.

The order in which the budget is spent is the phase of each rung:

0 the entry, 1 bare signatures of what is used for certain, 2 names of types in
those signatures, 3 first lines of docstrings, 4 constructors and fields, open
names, other names of direct files, 5 what only its name speaks for, 6 indirect
files, 7 whole docstrings, 8 bodies (only if asked for).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ctxbuild.errors import EntryError
from ctxbuild.graph.reach import Reached, reach
from ctxbuild.graph.uses import Open, Use, Uses, types_in, uses
from ctxbuild.model import Candidate, OpenName, Outline, Reason, Rung
from ctxbuild.select import dependents
from ctxbuild.select.dependents import ON_DEMAND
from ctxbuild.select.files import ladder, matched

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Layer

Unit = tuple[str, str]

ENTRY, SIGNATURE, CLOSURE, FIRST_LINE, AROUND, GUESS, INDIRECT, DOCSTRING, BODY = range(9)
_CALLABLE = frozenset({"function", "method", "property"})
_FAR = 3  # from this distance on, an indirect file is its path alone


class EntryView(dependents.Mentions, Protocol):
    """What this layer asks, besides the graph's questions."""

    def matching(self, pattern: str) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry file, or the symbols of it that are in focus."""

    path: str
    focus: tuple[str, ...]
    pattern: str


def candidates(view: EntryView, layer: Layer) -> tuple[list[Candidate], list[OpenName]]:
    """Everything that an entry layer proposes, and the names that stay open.

    Raises:
        EntryError: a path or glob matches no file, or a file has no such symbol.
    """
    entries = find_entries(view, layer)
    found = [uses(view, entry.path, entry.focus) for entry in entries]
    picker = _Picker(view, layer, entries)
    proposed = [*picker.entries()]
    for entry, each in zip(entries, found, strict=True):
        picker.used(entry, each)
    proposed += picker.definitions()
    proposed += picker.closure()
    proposed += picker.files(found)
    open_names = [name for e, u in zip(entries, found, strict=True) for name in _open(e.path, u)]
    proposed += picker.open_lines(open_names)
    if layer.dependents or layer.tests:
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
    """The entry files in order of their paths, with the symbols in focus."""
    whole = tuple(p for p in layer.patterns if "::" not in p)
    what = f"layer {layer.name!r}"
    entries = {p: Entry(p, (), by) for p, by in matched(view, whole, what).items()}
    for pattern in layer.patterns:
        path, mark, name = pattern.partition("::")
        if not mark:
            continue
        for match in matched(view, (path,), what):
            _check_symbol(view.outline(match), match, name)
            known = entries.get(match)
            if known is None or known.focus:
                focus = (*known.focus, name) if known else (name,)
                entries[match] = Entry(match, focus, pattern)
    return [entries[path] for path in sorted(entries)]


def _check_symbol(outline: Outline, path: str, name: str) -> None:
    names = list(dict.fromkeys(n for n, _ in outline.symbols))
    if name in names:
        return
    from difflib import get_close_matches

    near = get_close_matches(name, names, 1) or [n for n in names if n.endswith(f".{name}")][:1]
    hint = f"did you mean {path}::{near[0]}?" if near else "see `ctxbuild show` for its names"
    raise EntryError(f"{path} has no symbol {name!r}", hint)


class _Picker:
    """Collects what the entries use and turns it into candidates."""

    def __init__(self, view: EntryView, layer: Layer, entries: Sequence[Entry]) -> None:
        self._view = view
        self._layer = layer
        self._entries = entries
        self._paths = {entry.path for entry in entries}
        self._whole = {entry.path for entry in entries if not entry.focus}
        self._reasons: dict[Unit, list[Reason]] = {}
        self._certain: set[Unit] = set()
        self._called: set[Unit] = set()
        self._order: dict[str, dict[str, int]] = {}
        self._modules: dict[str, list[Reason]] = {}

    # --- the entry itself ---------------------------------------------------------------

    def entries(self) -> Iterator[Candidate]:
        for entry in self._entries:
            reason = (Reason("entry", detail=entry.pattern),)
            parsed = bool(self._view.outline(entry.path).language)
            if not entry.focus:
                rungs = ladder("full", parsed=parsed, phase=ENTRY)
                yield self._whole_file(entry.path, "entry", rungs, reason)
                continue
            rungs = ladder("skeleton", parsed=parsed, phase=FIRST_LINE)
            yield self._whole_file(entry.path, "around", rungs, reason)
            for name in entry.focus:
                yield Candidate(
                    unit=f"{entry.path}::{name}",
                    path=entry.path,
                    symbol=name,
                    layer=self._layer.name,
                    section="entry",
                    order=self._position(entry.path, name),
                    ladder=(Rung("skeleton", "none", ENTRY, 1.0), Rung("full", "", ENTRY, 10.0)),
                    score=1.0,
                    reasons=reason,
                    pinned=self._layer.pin,
                )

    def _whole_file(
        self, path: str, section: str, rungs: tuple[Rung, ...], reasons: tuple[Reason, ...]
    ) -> Candidate:
        pinned = self._layer.pin and section == "entry"
        return Candidate(
            path, path, "", self._layer.name, section, 0, rungs, 1.0, reasons, (), pinned
        )

    # --- definitions --------------------------------------------------------------------

    def used(self, entry: Entry, found: Uses) -> None:
        """Notes what one entry uses outside the entries."""
        me = entry.path if not entry.focus else f"{entry.path}::{entry.focus[0]}"
        for use in found.used:
            if use.path in self._whole or (use.path in self._paths and not use.name):
                continue
            reasons = _use_reasons(me, entry.path, use)
            if not use.name:
                self._modules.setdefault(use.path, []).extend(reasons)
                continue
            unit = (use.path, use.name)
            if unit[0] in self._paths and any(
                _covers(e.focus, unit[1]) for e in self._entries if e.path == unit[0]
            ):
                continue
            self._reasons.setdefault(unit, []).extend(reasons)
            if use.certain:
                self._certain.add(unit)
            if "call" in use.kinds:
                self._called.add(unit)

    def definitions(self) -> Iterator[Candidate]:
        units = dict.fromkeys(sorted(self._reasons))
        for unit in list(units):
            for member in self._around(unit):
                if member not in units:
                    units[member] = None
                    self._reasons[member] = [Reason("member", f"{unit[0]}::{unit[1]}")]
        headers = self._headers_above(units)
        for path, name in [*units, *headers]:
            yield self._definition(path, name, header_only=(path, name) not in units)

    def _around(self, unit: Unit) -> Iterator[Unit]:
        """The fields of a used class, and its constructor where the entry calls it."""
        path, name = unit
        if unit not in self._certain or not any(
            symbol.kind == "class" for symbol in self._view.symbol(path, name)
        ):
            return
        for member, kind in self._view.outline(path).symbols:
            if member.rpartition(".")[0] != name:
                continue
            if kind == "attribute" and self._annotated(path, member):
                yield path, member
            elif unit in self._called and member == f"{name}.__init__":
                yield path, member

    def _annotated(self, path: str, name: str) -> bool:
        return any(symbol.returns for symbol in self._view.symbol(path, name))

    def _headers_above(self, units: Iterable[Unit]) -> list[Unit]:
        known = set(units)
        headers: dict[Unit, None] = {}
        for path, name in known:
            above = name.rpartition(".")[0]
            while above:
                if (path, above) not in known:
                    headers[path, above] = None
                above = above.rpartition(".")[0]
        return sorted(headers)

    def _definition(self, path: str, name: str, *, header_only: bool) -> Candidate:
        unit = (path, name)
        reasons = tuple(self._reasons.get(unit, (Reason("encloses"),)))
        above = name.rpartition(".")[0]
        return Candidate(
            unit=f"{path}::{name}",
            path=path,
            symbol=name,
            layer=self._layer.name,
            section="used",
            order=self._position(path, name),
            ladder=(Rung("skeleton", "none", ON_DEMAND),)
            if header_only
            else self._ladder(unit, reasons),
            score=self._score(unit, reasons),
            reasons=reasons,
            parent=f"{path}::{above}" if above else "",
        )

    def _ladder(self, unit: Unit, reasons: Sequence[Reason]) -> tuple[Rung, ...]:
        """Bare signature, then as much docstring as the policy allows, then the body."""
        if unit in self._certain:
            phase = SIGNATURE
        else:
            phase = AROUND if reasons[0].kind == "member" else GUESS
        uses = len(reasons)
        worth = 1.0 + min(uses, 4) / 4
        rungs = [Rung("skeleton", "none", phase, worth)]
        policy = self._layer.docstrings
        found = self._view.symbol(*unit)
        if any(symbol.docstring for symbol in found):
            if policy in ("first", "auto"):
                rungs.append(Rung("skeleton", "first", max(phase, FIRST_LINE), worth + 1))
            if policy in ("full", "auto"):
                late = FIRST_LINE if policy == "full" else DOCSTRING
                rungs.append(Rung("skeleton", "full", max(phase, late), worth + 1.5))
        if self._layer.bodies and any(s.kind in _CALLABLE for s in found):
            rungs.append(Rung("full", "", BODY, worth + 2.0 + uses))
        return tuple(rungs)

    def _score(self, unit: Unit, reasons: Sequence[Reason]) -> float:
        if unit in self._certain:
            return round(min(1.0, 0.6 + 0.1 * len(reasons)), 2)
        return 0.4 if reasons and reasons[0].kind == "member" else 0.3

    # --- names and files ----------------------------------------------------------------

    def closure(self) -> Iterator[Candidate]:
        """Repository types that a shown signature names: at least where they are."""
        named: dict[Unit, list[Reason]] = {}
        for path, name in sorted(self._certain):
            for symbol in self._view.symbol(path, name):
                for unit in types_in(self._view, path, symbol):
                    if unit not in self._reasons and unit[0] not in self._whole:
                        named.setdefault(unit, []).append(Reason("named-by", f"{path}::{name}"))
        for (path, name), reasons in sorted(named.items()):
            yield Candidate(
                unit=f"{path}::{name}",
                path=path,
                symbol=name,
                layer=self._layer.name,
                section="names",
                order=self._position(path, name),
                ladder=(Rung("name", "", CLOSURE),),
                score=0.4,
                reasons=tuple(reasons),
            )

    def files(self, found: Sequence[Uses]) -> Iterator[Candidate]:
        """One line per file: other names of direct ones, then the indirect ones."""
        holding = {path for path, _ in self._certain} - self._paths
        holding |= {path for path, _ in self._reasons if path not in self._paths}
        reached = reach(self._view, tuple(sorted(self._paths)), sorted(holding))
        for each in reached.direct:
            yield from self._other_names(each)
        for each in reached.indirect:
            form = "summary" if each.distance < _FAR else "name"
            rungs = [Rung("name", "", INDIRECT, 1.0 / each.distance)]
            if form == "summary":
                rungs.append(Rung("summary", "", INDIRECT, 1.2 / each.distance))
            yield self._line(
                each.path, each.path, "indirect", tuple(rungs), 0.2, (_reached_reason(each),)
            )
        for path in reached.dynamic:
            what = self._view.outline(path).dynamic
            reason = (Reason("dynamic", path, detail=", ".join(what)),)
            names = (f"dynamic code ({', '.join(what)}): anything may be reached",)
            rungs = (Rung("summary", "", AROUND),)
            yield self._line(f"{path}#dynamic", path, "open", rungs, 0.3, reason, names)

    def _other_names(self, each: Reached) -> Iterator[Candidate]:
        outline = self._view.outline(each.path)
        shown = {name for path, name in self._reasons if path == each.path}
        names = tuple(
            dict.fromkeys(
                name
                for name, kind in outline.symbols
                if "." not in name and kind in ("class", "function") and name not in shown
            )
        )
        reasons = (*self._modules.get(each.path, ()), _reached_reason(each))
        rungs = (Rung("name", "", AROUND, 0.5), Rung("summary", "", AROUND, 1.0))
        if names or not shown:
            yield self._line(f"{each.path}#names", each.path, "names", rungs, 0.3, reasons, names)

    def open_lines(self, open_names: Sequence[OpenName]) -> Iterator[Candidate]:
        """One line per entry that lists what is open in it."""
        for entry in self._entries:
            names = tuple(dict.fromkeys(str(n) for n in open_names if n.path == entry.path))
            if names:
                reason = (Reason("open", entry.path, detail=str(len(names))),)
                rungs = (Rung("summary", "", AROUND),)
                yield self._line(
                    f"{entry.path}#open", entry.path, "open", rungs, 0.3, reason, names
                )

    def _line(
        self,
        unit: str,
        path: str,
        section: str,
        rungs: tuple[Rung, ...],
        score: float,
        reasons: tuple[Reason, ...],
        names: tuple[str, ...] = (),
    ) -> Candidate:
        return Candidate(unit, path, "", self._layer.name, section, 0, rungs, score, reasons, names)

    def _position(self, path: str, name: str) -> int:
        if path not in self._order:
            order: dict[str, int] = {}
            for place, (symbol, _) in enumerate(self._view.outline(path).symbols):
                order.setdefault(symbol, place)
            self._order[path] = order
        return self._order[path].get(name, 0)


def _covers(focus: tuple[str, ...], name: str) -> bool:
    """Whether a symbol is shown already, as or inside a symbol in focus."""
    return any(name == each or name.startswith(f"{each}.") for each in focus)


def _use_reasons(me: str, path: str, use: Use) -> list[Reason]:
    kind = next((k for k in ("call", "base", "decorator") if k in use.kinds), use.kinds[0])
    if not use.certain:
        kind = "by-name"
    anchors = [(path, "reference", n) for n in use.references]
    anchors += [(path, "import", n) for n in use.imports]
    return [Reason(kind, me, anchor) for anchor in anchors[:4]] or [Reason(kind, me)]


def _reached_reason(each: Reached) -> Reason:
    if each.edge is None:
        return Reason("holds", each.via)
    kind = "imported" if each.edge.kind == "top" else f"imported-{each.edge.kind}"
    return Reason(kind, each.via, (each.via, "import", each.edge.import_index), str(each.distance))


def _open(path: str, found: Uses) -> Iterator[OpenName]:
    for each in found.unresolved:
        yield OpenName(path, each.name, "unresolved", 0, _anchor(path, each))
    for each in found.ambiguous:
        yield OpenName(path, each.name, "ambiguous", len(each.candidates), _anchor(path, each))
    for use in found.used:
        if not use.certain:
            name = f"{use.name.rpartition('.')[2]} = {use.path}::{use.name}"
            yield OpenName(path, name, "by-name", 1)
    for name in found.dynamic:
        yield OpenName(path, name, "dynamic")


def _anchor(path: str, each: Open) -> tuple[str, str, int] | None:
    if each.references:
        return (path, "reference", each.references[0])
    return (path, "import", each.imports[0]) if each.imports else None
