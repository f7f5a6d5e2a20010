"""The definitions that entries use, as candidates: signatures first, each under its class header.

With a focus, the entry's own file is treated alike: what the focus needs is
bought early, the rest of the file's skeleton around it late, all in one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ctxbuild.graph.uses import Use, Uses, types_in
from ctxbuild.model import Candidate, Reason, Rung
from ctxbuild.select.conventions import is_test
from ctxbuild.select.phases import (
    AROUND,
    AROUND_CLOSURE,
    BODY,
    CLOSURE,
    DOCSTRING,
    ENTRY,
    FIRST_LINE,
    GUESS,
    ON_DEMAND,
    ONE_OF_SEVERAL,
    SIGNATURE,
)

if TYPE_CHECKING:
    from ctxbuild.graph.view import View
    from ctxbuild.source.ctxfile import Layer

Unit = tuple[str, str]

_CALLABLE = frozenset({"function", "method", "property"})
_DEFINITION = _CALLABLE | {"class"}
_MANY = 3
"""Of so many definitions of one name at most the signatures are shown."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry file, or the symbols of it that are in focus."""

    path: str
    focus: tuple[str, ...]
    pattern: str

    def covers(self, name: str) -> bool:
        """Whether a symbol of the file is shown in full already."""
        return not self.focus or any(
            name == each or name.startswith(f"{each}.") for each in self.focus
        )


class Used:
    """Collects what the entries use and turns it into candidates.

    Attributes:
        modules: why a module as such is used, by its path.
    """

    def __init__(self, view: View, layer: Layer, entries: Sequence[Entry]) -> None:
        self._view = view
        self._layer = layer
        self._entries = {entry.path: entry for entry in entries}
        self._reasons: dict[Unit, list[Reason]] = {}
        self._certain: set[Unit] = set()
        self._called: set[Unit] = set()
        self._several: dict[Unit, int] = {}
        self._shown: dict[Unit, Candidate] = {}
        self._named: dict[str, set[str]] = {}
        self._order: dict[str, dict[str, int]] = {}
        self.modules: dict[str, list[Reason]] = {}

    # --- collecting ---------------------------------------------------------------------

    def note(self, entry: Entry, found: Uses) -> None:
        """Notes what one entry uses and does not show itself."""
        me = f"{entry.path}::{entry.focus[0]}" if entry.focus else entry.path
        for use in found.used:
            if not self._covered(use.path, use.name):
                self._note_use(use, _use_reasons(me, entry.path, use))
        for each in found.ambiguous:
            # What Python's own objects have, too, is most likely none of these.
            if not each.common and len(each.candidates) <= _MANY:
                anchor = (entry.path, "reference", each.references[0])
                reason = Reason("ambiguous", me, anchor, str(len(each.candidates)))
                for unit in each.candidates:
                    if unit not in self._reasons and not self._covered(*unit):
                        self._several[unit] = len(each.candidates)
                        self._reasons[unit] = [reason]

    def _note_use(self, use: Use, reasons: list[Reason]) -> None:
        if not use.name:
            self.modules.setdefault(use.path, []).extend(reasons)
            return
        unit = (use.path, use.name)
        if self._several.pop(unit, 0):
            del self._reasons[unit]
        self._reasons.setdefault(unit, []).extend(reasons)
        if use.certain:
            self._certain.add(unit)
        if "call" in use.kinds:
            self._called.add(unit)

    def _covered(self, path: str, name: str) -> bool:
        entry = self._entries.get(path)
        return entry is not None and (not name or entry.covers(name))

    def holding(self) -> list[str]:
        """Files of which something is used, unless nobody knows whether it is."""
        found = {path for path, name in self._reasons if (path, name) not in self._several}
        return sorted(found - set(self._entries))

    def narrow(self, reached: set[str]) -> None:
        """Forgets what may be meant by a name if it stands where the entries do not reach.

        If they reach none that may be meant, all stay: they may be handed in from outside.
        """
        near = {unit for unit in self._several if unit[0] in reached | set(self._entries)}
        names = {name.rpartition(".")[2] for _, name in near}
        for unit in [unit for unit in self._several if unit not in near]:
            if unit[1].rpartition(".")[2] in names or is_test(unit[0]):
                del self._several[unit], self._reasons[unit]

    def shown(self, path: str) -> set[str]:
        """Names of a file that are proposed, as definitions or as the names of types."""
        names = {name for p, name in self._shown if p == path}
        return names | self._named.get(path, set())

    # --- definitions --------------------------------------------------------------------

    def definitions(self) -> list[Candidate]:
        """Everything that is used, what belongs to it, and the class headers above."""
        found = {unit: self._used(unit) for unit in sorted(self._reasons)}
        for unit in list(found):
            for member in self._members(unit):
                found.setdefault(member, self._member(member, unit))
        for entry in self._entries.values():
            for name in entry.focus:
                found[entry.path, name] = self._focus(entry, name)
            for unit in self._around(entry):
                found.setdefault(unit, self._beside(unit))
        for unit in list(found):
            if first := self._statement(unit):
                found.setdefault(first, self._header(first))
                found[unit] = replace(found[unit], parent="::".join(first))
        for path, name in list(found):
            above = name.rpartition(".")[0]
            while above:
                found.setdefault((path, above), self._header((path, above)))
                above = above.rpartition(".")[0]
        self._shown = found
        return list(found.values())

    def _statement(self, unit: Unit) -> Unit | None:
        """The first name that the statement of a name binds, if that is another one."""
        path, name = unit
        symbols = self._view.outline(path).symbols
        place = self._position(path, name)
        if not symbols or symbols[place][1] in _DEFINITION:
            return None
        text = self._signature(path, name)
        first = place
        while first and self._binds(path, symbols[first - 1], text):
            first -= 1
        return (path, symbols[first][0]) if symbols[first][0] != name else None

    def _binds(self, path: str, symbol: tuple[str, str], text: str) -> bool:
        name, kind = symbol
        return kind not in _DEFINITION and self._signature(path, name) == text

    def _signature(self, path: str, name: str) -> str:
        return next((symbol.signature for symbol in self._view.symbol(path, name)), "")

    def _used(self, unit: Unit) -> Candidate:
        reasons = self._reasons[unit]
        if unit in self._certain:
            score = round(min(1.0, 0.6 + 0.1 * len(reasons)), 2)
            return self._candidate(
                unit, self._ladder(unit, SIGNATURE, len(reasons)), score, reasons
            )
        if several := self._several.get(unit):
            bare = (Rung("skeleton", "none", ONE_OF_SEVERAL),)
            return self._candidate(unit, bare, 0.1, reasons, note=f"[AMBIGUOUS {several}]")
        rungs = self._ladder(unit, GUESS, len(reasons))
        return self._candidate(unit, rungs, 0.3, reasons, note="[BY-NAME]")

    def _members(self, unit: Unit) -> Iterator[Unit]:
        """The fields of a used class, and its constructor where the entry calls it."""
        path, name = unit
        found = self._view.symbol(path, name) if unit in self._certain else ()
        if not any(symbol.kind == "class" for symbol in found):
            return
        for member, kind in self._view.outline(path).symbols:
            if member.rpartition(".")[0] != name:
                continue
            constructor = unit in self._called and member == f"{name}.__init__"
            if constructor or (kind == "attribute" and self._annotated(path, member)):
                yield path, member

    def _annotated(self, path: str, name: str) -> bool:
        return any(symbol.returns for symbol in self._view.symbol(path, name))

    def _member(self, unit: Unit, owner: Unit) -> Candidate:
        reasons = [Reason("member", "::".join(owner))]
        return self._candidate(unit, self._ladder(unit, AROUND, 1), 0.4, reasons)

    def _focus(self, entry: Entry, name: str) -> Candidate:
        rungs = (Rung("skeleton", "none", ENTRY, 1.0), Rung("full", "", ENTRY, 10.0))
        reasons = [Reason("entry", detail=entry.pattern)]
        candidate = self._candidate((entry.path, name), rungs, 1.0, reasons)
        return replace(candidate, pinned=self._layer.pin)

    def _around(self, entry: Entry) -> Iterator[Unit]:
        """The rest of a focus's file."""
        for name, _ in self._view.outline(entry.path).symbols if entry.focus else ():
            if not entry.covers(name):
                yield entry.path, name

    def _beside(self, unit: Unit) -> Candidate:
        reasons = [Reason("around", unit[0])]
        return self._candidate(unit, self._ladder(unit, AROUND, 1), 0.3, reasons)

    def _header(self, unit: Unit) -> Candidate:
        rungs = (Rung("skeleton", "none", ON_DEMAND),)
        return self._candidate(unit, rungs, 0.3, [Reason("encloses")])

    def _candidate(
        self,
        unit: Unit,
        rungs: tuple[Rung, ...],
        score: float,
        reasons: Sequence[Reason],
        note: str = "",
    ) -> Candidate:
        path, name = unit
        above = name.rpartition(".")[0]
        return Candidate(
            unit=f"{path}::{name}",
            path=path,
            symbol=name,
            layer=self._layer.name,
            section="entry" if path in self._entries else "used",
            order=self._position(path, name),
            ladder=rungs,
            score=score,
            reasons=tuple(reasons),
            parent=f"{path}::{above}" if above else "",
            note=note,
        )

    def _ladder(self, unit: Unit, phase: int, uses: int) -> tuple[Rung, ...]:
        """Bare signature, then as much docstring as the policy allows, then the body."""
        found = self._view.symbol(*unit)
        worth = 1.0 + min(uses, 4) / 4
        if not any(symbol.kind in _DEFINITION for symbol in found):
            worth /= 2  # a name with its value says less than a signature
        rungs = [Rung("skeleton", "none", phase, worth)]
        policy = self._layer.docstrings
        if any(symbol.docstring for symbol in found):
            if policy in ("first", "auto"):
                rungs.append(Rung("skeleton", "first", max(phase, FIRST_LINE), worth + 1))
            if policy in ("full", "auto"):
                late = FIRST_LINE if policy == "full" else DOCSTRING
                rungs.append(Rung("skeleton", "full", max(phase, late), worth + 1.5))
        if self._layer.bodies and phase <= AROUND and any(s.kind in _CALLABLE for s in found):
            rungs.append(Rung("full", "", BODY, worth + 2.0 + uses))
        return tuple(rungs)

    def _position(self, path: str, name: str) -> int:
        if path not in self._order:
            order: dict[str, int] = {}
            for place, (symbol, _) in enumerate(self._view.outline(path).symbols):
                order.setdefault(symbol, place)
            self._order[path] = order
        return self._order[path].get(name, 0)

    # --- types in signatures ------------------------------------------------------------

    def closure(self) -> list[Candidate]:
        """Repository types that a proposed signature names: at least where they are."""
        named: dict[Unit, list[Candidate]] = {}
        for candidate in self._shown.values():
            path, name = candidate.path, candidate.symbol
            for symbol in self._view.symbol(path, name):
                for unit in types_in(self._view, path, symbol):
                    if unit not in self._shown and not self._covered(*unit):
                        named.setdefault(unit, []).append(candidate)
        for path, name in named:
            self._named.setdefault(path, set()).add(name)
        return [self._name(unit, by) for unit, by in sorted(named.items())]

    def _name(self, unit: Unit, by: Sequence[Candidate]) -> Candidate:
        early = any(each.ladder[0].phase <= SIGNATURE for each in by)
        reasons = tuple(Reason("named-by", each.unit) for each in by[:4])
        return replace(
            self._candidate(
                unit, (Rung("name", "", CLOSURE if early else AROUND_CLOSURE),), 0.4, reasons
            ),
            section="names",
            parent="",
            only_with=tuple(dict.fromkeys(each.unit for each in by)),
        )


def _use_reasons(me: str, path: str, use: Use) -> list[Reason]:
    """Why one definition is used: where a reference names it, else where it is imported."""
    strongest = ("call", "base", "decorator", "guard", "annotation", "read", "write")
    others = [kind for kind in use.kinds if kind != "import"]
    kind = next((k for k in strongest if k in others), others[0] if others else "import")
    if not use.certain:
        kind = "by-name"
    reasons = [Reason(kind, me, (path, "reference", n)) for n in use.references[:4]]
    if not reasons:
        reasons = [Reason("import", me, (path, "import", n)) for n in use.imports[:4]]
    return reasons or [Reason(kind, me)]
