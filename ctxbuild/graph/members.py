"""Names and attributes of values: from a class to what its members are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ctxbuild.graph import outside
from ctxbuild.graph.knowledge import (
    ENUMS,
    INERT_BASES,
    OBJECT_ATTRIBUTES,
    PROPERTY_MAKERS,
)
from ctxbuild.graph.symbols import VALUE_KINDS, Target, Targets
from ctxbuild.graph.typed import NONE, Typed
from ctxbuild.graph.values import OPEN, Type, Value, external, last, union

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxbuild.graph.symbols import Names
    from ctxbuild.graph.view import View
    from ctxbuild.model import Flow, Symbol

Outcome = Literal["found", "external", "open", "dynamic", "local"]
Line = tuple[tuple[str, str], ...]  # (path, class) in the order of look-up
Noted = list[tuple[str, tuple[str, ...], str, str]]  # (path, chains, method, annotation)


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a chain, evaluated.

    Attributes:
        defs: (path, qualified name) of the definitions it uses; a module has the name "".
        value: what it is.
        outcome: `local` and `found` are ours, `open` is not known.
    """

    defs: tuple[tuple[str, str], ...]
    value: Value
    outcome: Outcome


NOTHING = Step((), OPEN, "open")


class Members(Typed):
    """What values have and hold. Subclasses call them and evaluate chains.

    Args:
        view: the repository.
        names: looks names up.
    """

    def __init__(self, view: View, names: Names) -> None:
        super().__init__(view, names)
        self._variables: dict[tuple[str, str], Value | None] = {}
        self._members: dict[tuple[Type, str], Step] = {}
        self._flows: dict[tuple[str, str], Flow] = {}
        self.cuts = 0  # answers that a cycle or a bound cut short

    def chain(self, path: str, scope: str, chain: str, me: Type | None = None) -> Value:
        """What a chain may be, in a scope of a file; `me` is what its `self` is."""
        raise NotImplementedError

    def call(self, callee: Type) -> Value:
        """What calling one type gives."""
        raise NotImplementedError

    def returned(self, path: str, name: str, receiver: Type | None) -> Value:
        """What a function returns to a receiver."""
        raise NotImplementedError

    def flow(self, path: str, name: str) -> Flow:
        """What a definition's body says about types."""
        key = (path, name)
        if key not in self._flows:
            self._flows[key] = self.view.flow(path, name)
        return self._flows[key]

    # --- what names hold ---

    def step(self, targets: Targets) -> Step:
        """The definitions and the value of what a name was found to be."""
        defs: list[tuple[str, str]] = []
        values: list[Value] = []
        outcomes = {each.status for each in targets}
        for each in targets:
            if each.status == "module":
                defs.append((each.path, ""))
            if each.status == "symbol":
                defs.append((each.path, each.name))
                for final in self.names.followed(each) if each.kind in VALUE_KINDS else ():
                    if final.status == "symbol":
                        defs.append((final.path, final.name))
                    if final != each:
                        values.append(self._target(final))
            values.append(self._target(each))
        value = union(values)
        if defs or "namespace" in outcomes:
            return Step(tuple(dict.fromkeys(defs)), value, "found")
        if "external" in outcomes:
            return Step((), value, "external")
        return Step((), value, "dynamic" if "dynamic" in outcomes else "open")

    def variable(self, path: str, name: str) -> Value:
        """What a variable of a module or a class holds."""
        key = (path, name)
        if key in self._variables:
            return self._variables[key] or OPEN
        self._variables[key] = None
        scope = name.rpartition(".")[0]
        symbols = self.names.symbol(path, name)
        value = union(self.annotated(path, scope, each.returns) for each in symbols if each.returns)
        if not value:
            value = union(self.chain(path, scope, each) for each in self.flow(path, name).values)
        self._variables[key] = value
        return value

    def _target(self, target: Target) -> Value:
        if target.status == "module":
            return (Type("module", target.path),)
        if target.status == "namespace":
            return (Type("namespace", target.path, target.name),)
        if target.status == "external":
            return (external(target.name),)
        if target.status != "symbol" or target.kind == "property":
            return OPEN
        if target.kind in VALUE_KINDS:
            return self.variable(target.path, target.name)
        kind: Literal["class", "function"] = "class" if target.kind == "class" else "function"
        return (Type(kind, target.path, target.name),)

    # --- attributes ---

    def attribute(self, value: Value, name: str) -> Step:
        """The attribute of a value: of those of its types that have it."""
        found = [self.member(each, name) for each in value if each != NONE]
        ours = [each for each in found if each.defs or each.outcome in ("found", "local")]
        if ours:
            defs = dict.fromkeys(pair for each in ours for pair in each.defs)
            return Step(tuple(defs), union(each.value for each in ours), "found")
        for outcome in ("dynamic", "external"):
            some = [each for each in found if each.outcome == outcome]
            if some:
                return Step((), union(each.value for each in some), some[0].outcome)
        return NOTHING

    def member(self, owner: Type, name: str) -> Step:
        """The attribute of one type."""
        key = (owner, name)
        known = self._members.get(key)
        if known is None:
            cuts = self.cuts
            known = self._member(owner, name)
            if cuts == self.cuts or known.value:
                self._members[key] = known
        return known

    def _member(self, owner: Type, name: str) -> Step:
        if owner.kind == "module":
            return self.step(self.names.attribute(owner.path, name))
        if owner.kind == "namespace":
            return self.step(self.names.module_named(owner.path, f"{owner.name}.{name}"))
        if owner.kind == "external":
            return Step((), outside.attribute(owner, name), "external")
        if owner.kind == "function":
            return Step((), (external(f"function.{name}"),), "external")
        return self._class_member(owner, name)

    def _class_member(self, owner: Type, name: str) -> Step:
        line = self.names.line(owner.path, owner.name)
        receiver = owner
        if owner.kind == "super":
            line, receiver = line[1:], owner.owner or owner
        noted = self._assigned(line, name)
        for path, cls in line:
            if path and (symbols := self.names.symbol(path, f"{cls}.{name}")):
                value = self._held(receiver, path, f"{cls}.{name}", symbols, line)
                if symbols[0].kind in VALUE_KINDS and not (value and symbols[0].returns):
                    value = union((value, self._noted(noted, receiver)))
                return Step(((path, f"{cls}.{name}"),), value, "found")
        if noted:
            return Step((), self._noted(noted, receiver), "local")
        if name == "__class__" and receiver.kind == "instance":
            return Step((), (Type("class", receiver.path, receiver.name, receiver.args),), "local")
        if name in OBJECT_ATTRIBUTES:
            return Step((), (external(f"object.{name}"),), "external")
        return self._from_outside(receiver, line, name)

    def _assigned(self, line: Line, name: str) -> Noted:
        """The assignments to `self.name` in the first class of the line that has any."""
        for path, cls in line:
            if path:
                found = [each for each in self.flow(path, cls).attributes if each[0] == name]
                if found:
                    return [(path, *each[1:]) for each in found]
        return []

    def _from_outside(self, receiver: Type, line: Line, name: str) -> Step:
        """An attribute that no class of ours has: a base elsewhere, or `__getattr__`, may."""
        outer = [cls for path, cls in line if not path and last(cls) not in INERT_BASES]
        known = [cls for cls in outer if cls != "?"]
        if known:
            typed = [each for each in self._outer_bases(receiver) if each.args]
            owners = typed or [external(known[0])]
            return Step((), union(outside.attribute(each, name) for each in owners), "external")
        if not outer and any(
            path and self.names.symbol(path, f"{cls}.__getattr__") for path, cls in line
        ):
            return Step((), OPEN, "dynamic")
        return NOTHING

    def _outer_bases(self, owner: Type) -> list[Type]:
        """The external bases of a class with their type arguments: `class A(dict[str, B])`."""
        found: list[Type] = []
        for path, cls in self.names.line(owner.path, owner.name):
            for symbol in self.names.symbol(path, cls) if path else ():
                for source in symbol.bases:
                    if "[" in source:
                        scope = cls.rpartition(".")[0]
                        found += self.annotated(path, scope, source, owner)
        return [each for each in found if each.kind == "external"]

    def _held(
        self,
        receiver: Type,
        path: str,
        name: str,
        symbols: tuple[Symbol, ...],
        line: Iterable[tuple[str, str]],
    ) -> Value:
        kind = symbols[0].kind
        if kind == "class":
            return (Type("class", path, name),)
        if kind == "property" or decorated(symbols[0], PROPERTY_MAKERS):
            return self.returned(path, name, receiver) if receiver.kind != "class" else OPEN
        if kind in VALUE_KINDS:
            if receiver.kind == "class" and is_enum(line):
                return (Type("instance", receiver.path, receiver.name),)
            return self._got(self.variable(path, name), receiver)
        return (Type("function", path, name, (), receiver),)

    def _got(self, value: Value, receiver: Type) -> Value:
        """A class attribute read through an instance: a descriptor's `__get__` decides."""
        values: list[Value] = []
        for each in value:
            getter = self.member(each, "__get__") if each.kind == "instance" else NOTHING
            if getter.defs:
                got = union(self.call(one) for one in getter.value)
                values.append(tuple(one for one in got if one != each) or got)
            elif each.kind == "function" and each.owner is None:
                values.append((Type("function", each.path, each.name, (), receiver),))
            else:
                values.append((each,))
        return union(values)

    def _noted(self, noted: Noted, receiver: Type) -> Value:
        """What methods assign to `self.name`."""
        values = []
        for path, chains, method, annotation in noted:
            value = self.annotated(path, method, annotation, receiver) if annotation else OPEN
            if not value:
                value = union(self.chain(path, method, each, receiver) for each in chains)
            values.append(value)
        return tuple(each for each in union(values) if each != NONE)


def decorated(symbol: Symbol, names: Iterable[str]) -> bool:
    """Whether one of the decorators has one of the names as its last part."""
    wanted = frozenset(names)
    return any(
        last(each.partition("(")[0].lstrip("@").strip()) in wanted for each in symbol.decorators
    )


def is_enum(line: Iterable[tuple[str, str]]) -> bool:
    """Whether a class with these bases is an enumeration."""
    return any(not path and last(name) in ENUMS for path, name in line)
