"""Attributes, calls and items of values: from a class to what its members give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ctxbuild.graph import outside
from ctxbuild.graph.annotations import read, returned_in
from ctxbuild.graph.knowledge import (
    CONTEXT_MAKERS,
    ENUMS,
    INERT_BASES,
    OBJECT_ATTRIBUTES,
    PROPERTY_MAKERS,
)
from ctxbuild.graph.symbols import VALUE_KINDS, Target, Targets
from ctxbuild.graph.typed import NONE, Typed
from ctxbuild.graph.types import OPEN, Type, Value, external, last, union

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxbuild.graph.symbols import Names
    from ctxbuild.graph.view import View
    from ctxbuild.model import Flow, Symbol

Outcome = Literal["found", "external", "open", "dynamic", "local"]


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
    """What values have, give and hold. A subclass evaluates chains.

    Args:
        view: the repository.
        names: looks names up.
    """

    def __init__(self, view: View, names: Names) -> None:
        super().__init__(view, names)
        self._returns: dict[tuple[str, str, Type | None], Value | None] = {}
        self._variables: dict[tuple[str, str], Value | None] = {}
        self._members: dict[tuple[Type, str], Step] = {}
        self._flows: dict[tuple[str, str], Flow] = {}
        self.cuts = 0  # answers that a cycle or a bound cut short

    def chain(self, path: str, scope: str, chain: str, me: Type | None = None) -> Value:
        """What a chain may be, in a scope of a file; `me` is what its `self` is."""
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
        outside_base = unknown_base = ""
        receiver = owner
        if owner.kind == "super":
            line, receiver = line[1:], owner.owner or owner
        for path, cls in line:
            if not path:
                if cls == "?":
                    unknown_base = cls
                elif last(cls) not in INERT_BASES:
                    outside_base = outside_base or cls
                continue
            symbols = self.names.symbol(path, f"{cls}.{name}")
            noted = [each for each in self.flow(path, cls).attributes if each[0] == name]
            if symbols:
                value = self._held(receiver, path, f"{cls}.{name}", symbols, line)
                if symbols[0].kind in VALUE_KINDS and not (value and symbols[0].returns):
                    value = union((value, self._noted(path, noted, receiver)))
                return Step(((path, f"{cls}.{name}"),), value, "found")
            if noted:
                return Step((), self._noted(path, noted, receiver), "local")
        if name == "__class__" and receiver.kind == "instance":
            return Step((), (Type("class", receiver.path, receiver.name, receiver.args),), "local")
        if name in OBJECT_ATTRIBUTES:
            return Step((), (external(f"object.{name}"),), "external")
        if outside_base:
            return Step((), (external(f"{outside_base}.{name}"),), "external")
        if unknown_base:
            return NOTHING
        getters = [
            each
            for each in line
            if each[0] and self.names.symbol(each[0], f"{each[1]}.__getattr__")
        ]
        return Step((), OPEN, "dynamic") if getters else NOTHING

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

    def _noted(
        self, path: str, noted: list[tuple[str, tuple[str, ...], str, str]], receiver: Type
    ) -> Value:
        """What methods assign to `self.name`."""
        values = []
        for _name, chains, method, annotation in noted:
            value = self.annotated(path, method, annotation, receiver) if annotation else OPEN
            if not value:
                value = union(self.chain(path, method, each, receiver) for each in chains)
            values.append(value)
        value = union(values)
        return tuple(each for each in value if each != NONE)

    # --- calls and items ---

    def call(self, callee: Type) -> Value:
        """What calling one type gives."""
        if callee.kind == "class":
            return (Type("instance", callee.path, callee.name, callee.args),)
        if callee.kind == "function":
            return self.returned(callee.path, callee.name, callee.owner)
        if callee.kind == "external":
            return outside.call(callee)
        if callee.kind == "instance":
            return self._through(callee, "__call__")
        return OPEN

    def returned(self, path: str, name: str, receiver: Type | None) -> Value:
        """What a function returns: annotated, else what its body returns."""
        key = (path, name, receiver)
        if key in self._returns:
            known = self._returns[key]
            if known is None:
                self.cuts += 1
            return known or OPEN
        self._returns[key] = None
        cuts = self.cuts
        scope = name.rpartition(".")[0]
        symbols = [each for each in self.names.symbol(path, name) if not _is_setter(each)]
        value = union(
            self._annotated_return(path, scope, each, receiver) for each in symbols if each.returns
        )
        if not value:
            value = union(
                self._body_return(path, name, each, receiver)
                for each in self.flow(path, name).returns
            )
        if not value:
            sources = [returned_in(each.docstring) for each in symbols]
            value = union(self.written(path, scope, each, receiver) for each in sources if each)
        if any(decorated(each, CONTEXT_MAKERS) for each in symbols):
            value = (external("contextmanager", self.iterated(value)),)
        if value or cuts == self.cuts:
            self._returns[key] = value
        else:
            del self._returns[key]
        return value

    def _annotated_return(
        self, path: str, scope: str, symbol: Symbol, receiver: Type | None
    ) -> Value:
        form = read(symbol.returns)
        if receiver is not None and form.kind == "name" and symbol.params:
            first = symbol.params[0].annotation
            if first and form.name in read(first).names():
                return self._self(path, scope, receiver)
        return self.annotated(path, scope, symbol.returns, receiver)

    def _body_return(self, path: str, name: str, chain: str, receiver: Type | None) -> Value:
        if chain.startswith("*"):
            return (external("Generator", self.chain(path, name, chain[1:], receiver)),)
        return self.chain(path, name, chain, receiver)

    def item(self, container: Type) -> Value:
        """`container[...]`, and one name of an unpacked tuple."""
        if container.kind == "external":
            return outside.item(container)
        if container.kind == "class":
            enum = is_enum(self.names.line(container.path, container.name))
            kind: Literal["class", "instance"] = "instance" if enum else "class"
            return (Type(kind, container.path, container.name, container.args),)
        if container.kind == "instance":
            got = self._through(container, "__getitem__")
            return got or self.iterated((container,))
        return OPEN

    def iterated(self, value: Value) -> Value:
        """What iterating over a value gives."""
        return union(self._element(each) for each in value if each != NONE)

    def entered(self, manager: Type) -> Value:
        """What `with manager as x` binds."""
        if manager.kind == "external":
            return outside.entered(manager)
        if manager.kind != "instance":
            return OPEN
        return self._through(manager, "__enter__") or self._through(manager, "__aenter__")

    def _element(self, container: Type) -> Value:
        if container.kind == "external":
            return outside.element(container)
        if container.kind == "class" and is_enum(self.names.line(container.path, container.name)):
            return (Type("instance", container.path, container.name),)
        if container.kind != "instance":
            return OPEN
        for name in ("__iter__", "__aiter__"):
            values = []
            for each in self._through(container, name):
                if each.kind == "instance":
                    values.append(
                        self._through(each, "__next__") or self._through(each, "__anext__")
                    )
                elif each.kind == "external":
                    values.append(outside.element(each))
            if values:
                return union(values)
        return OPEN

    def _through(self, owner: Type, method: str) -> Value:
        found = self.member(owner, method)
        return union(self.call(each) for each in found.value) if found.defs else OPEN


def decorated(symbol: Symbol, names: Iterable[str]) -> bool:
    """Whether one of the decorators has one of the names as its last part."""
    wanted = frozenset(names)
    return any(
        last(each.partition("(")[0].lstrip("@").strip()) in wanted for each in symbol.decorators
    )


def is_enum(line: Iterable[tuple[str, str]]) -> bool:
    """Whether a class with these bases is an enumeration."""
    return any(not path and last(name) in ENUMS for path, name in line)


def _is_setter(symbol: Symbol) -> bool:
    return decorated(symbol, ("setter", "deleter"))
