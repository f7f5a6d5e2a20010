"""Calls and items of values: what a function returns, what a container holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ctxbuild.graph import outside
from ctxbuild.graph.annotations import read, returned_in
from ctxbuild.graph.knowledge import CONTEXT_MAKERS
from ctxbuild.graph.members import Members, decorated, is_enum
from ctxbuild.graph.typed import NONE
from ctxbuild.graph.values import OPEN, Type, Value, external, union

if TYPE_CHECKING:
    from ctxbuild.graph.symbols import Names
    from ctxbuild.graph.view import View
    from ctxbuild.model import Symbol


class Calls(Members):
    """What values give when they are called, subscripted, iterated or entered.

    Args:
        view: the repository.
        names: looks names up.
    """

    def __init__(self, view: View, names: Names) -> None:
        super().__init__(view, names)
        self._returns: dict[tuple[str, str, Type | None], Value | None] = {}

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
            outer = self._outer_bases(container) if not got else []
            return got or union(map(outside.item, outer)) or self.iterated((container,))
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
        return union(map(outside.element, self._outer_bases(container)))

    def _through(self, owner: Type, method: str) -> Value:
        found = self.member(owner, method)
        return union(self.call(each) for each in found.value) if found.defs else OPEN


def _is_setter(symbol: Symbol) -> bool:
    return decorated(symbol, ("setter", "deleter"))
