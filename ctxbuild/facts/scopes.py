"""Functions and classes as nested scopes: qualified names, spans, and who owns a byte."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxbuild.model import Param

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from ctxbuild.facts.capture import Captures, Source

DEEPEST = 12  # nested definitions; what nests deeper is no scope and no symbol


@dataclass(slots=True)
class Scope:
    """A function, a class, or (number 0) the module.

    Attributes:
        start, end: bytes from the first decorator to the end of the body.
        head, colon, body: where the header starts and ends, and where the body starts.
        parent: number of the enclosing scope.
        is_symbol: whether no function encloses it.
        hidden: names of definitions inside functions, which nobody outside can use.
        names: names bound inside (functions only), for `chains` to leave out.
    """

    kind: str
    name: str
    qualified: str
    start: int
    end: int
    parent: int = 0
    head: int = 0
    colon: int = 0
    body: int = 0
    number: int = 0
    is_symbol: bool = False
    depth: int = 0
    parameters: tuple[int, int] = (0, 0)
    returns: str = ""
    params: list[Param] = field(default_factory=list)
    decorators: list[str] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)


class Scopes:
    """All scopes of a file, outermost first, in source order.

    Args:
        captures: what the query found.
        source: the file's text.
    """

    __slots__ = ("_bounds", "_owners", "all", "too_deep")

    def __init__(self, captures: Captures, source: Source) -> None:
        self.all = [Scope("module", "", "", 0, len(source.data))]
        self.too_deep = False
        self._bounds = [0]
        self._owners = [0]
        self._nest(captures, source)
        self._attach(captures, source)

    def at(self, offset: int) -> int:
        """The number of the innermost scope that holds a byte."""
        return self._owners[bisect_right(self._bounds, offset) - 1]

    def segments(self) -> tuple[list[int], list[int]]:
        """Sorted offsets and, for each, the scope that owns the bytes from there on."""
        return self._bounds, self._owners

    def function_of(self, number: int) -> int:
        """The innermost function around a scope (itself included), or 0."""
        while number and self.all[number].kind != "function":
            number = self.all[number].parent
        return number

    def _nest(self, captures: Captures, source: Source) -> None:
        cut = source.cutter()
        outer = {
            match["definition"][0].start_byte: match["node"][0].start_byte
            for match in captures.role("decorated")
        }
        found = []
        for kind in ("function", "class"):
            for match in captures.role(kind):
                node, name = match["node"][0], match["part"][0]
                head = node.start_byte
                scope = Scope(
                    kind,
                    cut(name.start_byte, name.end_byte),
                    "",
                    outer.get(head, head),
                    _end(node, source.data),
                    head=head,
                    colon=match["colon"][0].end_byte,
                    body=match["body"][0].start_byte,
                )
                if "parameters" in match:
                    parameters = match["parameters"][0]
                    scope.parameters = (parameters.start_byte, parameters.end_byte)
                if "returns" in match:
                    scope.returns = _text(match["returns"][0], cut)
                found.append(scope)
        found.sort(key=_position)
        everything, bounds, owners = self.all, self._bounds, self._owners
        open_scopes = [0]
        for scope in found:
            while len(open_scopes) > 1 and everything[open_scopes[-1]].end <= scope.start:
                _mark(bounds, owners, everything[open_scopes.pop()].end, open_scopes[-1])
            parent = everything[open_scopes[-1]]
            if parent.depth >= DEEPEST:
                self.too_deep = True
                continue
            scope.parent = open_scopes[-1]
            scope.depth = parent.depth + 1
            scope.qualified = f"{parent.qualified}.{scope.name}" if scope.parent else scope.name
            scope.is_symbol = scope.depth == 1 or (parent.is_symbol and parent.kind == "class")
            if not scope.is_symbol:
                parent.hidden.add(scope.name)
            scope.number = len(everything)
            open_scopes.append(scope.number)
            _mark(bounds, owners, scope.start, scope.number)
            everything.append(scope)
        while len(open_scopes) > 1:
            _mark(bounds, owners, everything[open_scopes.pop()].end, open_scopes[-1])

    def _attach(self, captures: Captures, source: Source) -> None:
        """Give each scope its decorators, bases and parameters."""
        cut = source.cutter()
        for match in captures.role("decorator"):
            node = match["part"][0]
            scope = self.all[self.at(node.start_byte)]
            if node.start_byte < scope.head and node.type != "comment":
                scope.decorators.append(_text(node, cut))
        for match in captures.role("base"):
            node = match["part"][0]
            self.all[self.at(node.start_byte)].bases.append(_text(node, cut))
        for match in captures.role("parameter"):
            node = match["part"][0]
            scope = self.all[self.at(node.start_byte)]
            if scope.parameters[0] <= node.start_byte < scope.parameters[1]:
                annotation = _text(match["annotation"][0], cut) if "annotation" in match else ""
                scope.params.append(Param(_text(node, cut), annotation, "default" in match))


def _position(scope: Scope) -> tuple[int, int]:
    return scope.start, -scope.end


def _end(node: Node, data: bytes) -> int:
    """Where a definition ends, without the comments that the grammar puts at its end."""
    end = node.end_byte
    line = data.rfind(b"\n", node.start_byte, end) + 1
    if not line or data[line:end].lstrip()[:1] != b"#":
        return end
    while True:
        children = [child for child in node.children if child.type != "comment"]
        if not children:
            return node.end_byte
        node = children[-1]


def _mark(bounds: list[int], owners: list[int], offset: int, owner: int) -> None:
    """From `offset` on the bytes belong to `owner`."""
    if bounds[-1] == offset:
        owners[-1] = owner
    else:
        bounds.append(offset)
        owners.append(owner)


def _text(node: Node, cut: Callable[[int, int], str]) -> str:
    return cut(node.start_byte, node.end_byte)
