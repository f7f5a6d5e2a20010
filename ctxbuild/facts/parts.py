"""The parts of a definition along its syntax: statements that are shown whole or not at all.

A compound statement (a loop, a class, a callback with a body) is a header with the
parts of its bodies below it, and what closes it. So a long definition can be shown
in part without a cut inside a statement, each part under the headers it stands in.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ctxbuild.facts.capture import Source, parse
from ctxbuild.facts.languages import grammar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Tree

_DEEPEST = 30
"""Levels of blocks inside blocks that are told apart; what is deeper stays whole."""


class Part(NamedTuple):
    """Lines that belong together.

    Attributes:
        first, last: its lines, from 1, both included.
        above: places (in the list of parts) of the headers it stands below, outermost first.
        kind: "leaf"; "header" of what follows; "closer" of the header that ends `above`.
    """

    first: int
    last: int
    above: tuple[int, ...] = ()
    kind: str = "leaf"


def parts_of(text: str, language: str, first: int, last: int) -> tuple[Part, ...]:
    """The parts of some lines of a file, in source order, without overlaps.

    Headers of what encloses the lines come first. Where the text is not parsed, each
    line that is not blank is a part of its own.

    Args:
        text: the file's text.
        language: its language's name, "" for none.
        first: first line, from 1.
        last: last line.
    """
    known = grammar(language) if language else None
    tree = _tree(text, language) if known else None
    if known is None or tree is None:
        rows = text.split("\n")[first - 1 : last]
        return tuple(Part(line, line) for line, row in enumerate(rows, first) if row.strip())
    parts: list[Part] = []
    _Walk(known.kinds["container"], first, last, parts).statements(tree.root_node, (), 0)
    return tuple(parts)


@lru_cache(maxsize=2)
def _tree(text: str, language: str) -> Tree | None:
    """The syntax tree of a text; one file is often asked for several of its definitions."""
    known = grammar(language)
    return parse(Source(text), known)[0] if known else None


class _Walk:
    """Collects parts of a range of lines."""

    def __init__(
        self, containers: frozenset[int], first: int, last: int, parts: list[Part]
    ) -> None:
        self.containers = containers
        self.first = first
        self.last = last
        self.parts = parts

    def statements(self, container: Node, above: tuple[int, ...], depth: int) -> None:
        """Adds the parts of the statements of a container."""
        for start, end, nodes in _rows(container):
            if end < self.first or start > self.last:
                continue
            bodies = self._bodies(nodes) if depth < _DEEPEST and end > start else []
            if bodies and bodies[0][0] > start:
                self._compound(start, end, bodies, above, depth)
            elif start >= self.first and end <= self.last:
                self.parts.append(Part(start, end, above))

    def _compound(
        self,
        start: int,
        end: int,
        bodies: list[tuple[int, int, Node]],
        above: tuple[int, ...],
        depth: int,
    ) -> None:
        head = len(self.parts)
        self.parts.append(Part(start, bodies[0][0] - 1, above, "header"))
        below = (*above, head)
        self.statements(bodies[0][2], below, depth + 1)
        done = bodies[0][1]
        for begin, stop, body in bodies[1:]:
            between = below
            if begin - 1 > done:
                between = (*below, len(self.parts))
                self.parts.append(Part(done + 1, begin - 1, below, "header"))
            self.statements(body, between, depth + 1)
            done = stop
        if end > done:
            self.parts.append(Part(done + 1, end, below, "closer"))

    def _bodies(self, nodes: list[Node]) -> list[tuple[int, int, Node]]:
        """Outermost containers below some nodes: (first line, last line, container)."""
        found: list[tuple[int, int, Node]] = []
        waiting = list(reversed(nodes))
        while waiting:
            node = waiting.pop()
            if node.start_point[0] == node.end_point[0]:
                continue
            if node.kind_id in self.containers:
                inner = list(_rows(node))
                if inner and (not found or inner[0][0] > found[-1][1]):
                    found.append((inner[0][0], inner[-1][1], node))
                continue
            waiting += reversed(node.children)
        return found


def _rows(container: Node) -> Iterator[tuple[int, int, list[Node]]]:
    """What stands below one another in a container: (first line, last line, nodes on them)."""
    start = end = 0
    nodes: list[Node] = []
    for child in container.named_children:
        first, last = child.start_point[0] + 1, _last_line(child)
        if nodes and first <= end:
            nodes.append(child)
            end = max(end, last)
            continue
        if nodes:
            yield start, end, nodes
        start, end, nodes = first, last, [child]
    if nodes:
        yield start, end, nodes


def _last_line(node: Node) -> int:
    """The last line that has something of a node on it."""
    row, column = node.end_point
    return row if column == 0 and row > node.start_point[0] else row + 1
