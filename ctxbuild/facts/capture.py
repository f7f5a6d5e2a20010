"""One parse and one query run: a file's text becomes parts of chains and captures by role."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from ctxbuild.model import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node, Tree

    from ctxbuild.facts.languages import Grammar

Match: TypeAlias = "dict[str, list[Node]]"

# The parser asks every hundred steps whether to go on. Well-formed code needs about one
# question per 60 bytes; counting questions instead of seconds keeps facts deterministic.
_QUESTIONS = 2_000
_BYTES_PER_QUESTION = 4
_SMALL = 100_000  # bytes; below, even the worst input is quick

# Queries take hours, and wrongly count, where a tree is deeper than 65,535 nodes.
_DEEPEST = 10_000
_STRIDE = 5_000
_FEW = 20_000  # nodes; a smaller tree is quick to query whatever its shape
_WIDEST = 10_000  # children of an error


class Source:
    """A text with its bytes, cut by byte offsets.

    Args:
        text: the decoded text.
    """

    __slots__ = ("_ascii", "data", "line_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = text.encode("utf-8")
        self._ascii = len(self.data) == len(text)
        lengths = map(len, self.data.split(b"\n"))
        self.line_starts = list(accumulate(lengths, _next_line, initial=0))[:-1]

    def cutter(self) -> Callable[[int, int], str]:
        """A function that cuts the text between two byte offsets."""
        text, data = self.text, self.data
        if self._ascii:
            return lambda start, end: text[start:end]
        return lambda start, end: data[start:end].decode("utf-8", "replace")

    def line(self, offset: int) -> int:
        """The line of a byte offset, from 1."""
        return bisect_right(self.line_starts, offset)

    def indent(self, offset: int) -> bytes:
        """The white space that begins the line of a byte offset."""
        start = self.data.rfind(b"\n", 0, offset) + 1
        head = self.data[start:offset]
        return head[: len(head) - len(head.lstrip(b" \t\f"))]


def _next_line(start: int, length: int) -> int:
    return start + length + 1


def parse(source: Source, grammar: Grammar) -> tuple[Tree | None, Problem | None]:
    """The syntax tree, or why there is none: too many steps, or too deep a nesting."""
    import tree_sitter

    parser = tree_sitter.Parser(grammar.parser)
    data = source.data
    if len(data) < _SMALL:
        return _checked(parser.parse(data))
    left = _QUESTIONS + len(data) // _BYTES_PER_QUESTION

    def stop(_offset: int, _broken: bool) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    view = memoryview(data)
    try:
        tree = parser.parse(lambda offset, _point: view[offset:].tobytes(), progress_callback=stop)
    except ValueError:
        tree = None
    if tree is None or left < 0:
        return None, Problem("timeout", "parsing takes too many steps: kept as text")
    return _checked(tree)


def _checked(tree: Tree) -> tuple[Tree | None, Problem | None]:
    problem = _unreadable(tree.root_node)
    return (None, problem) if problem else (tree, None)


def _unreadable(root: Node) -> Problem | None:
    """What makes a tree too slow to query: its depth, or what is left of broken code.

    Between two nodes of a preorder walk that are a stride apart, no path gets more
    than a stride deeper: so every `_STRIDE`th node tells how deep a tree is. Broken
    code may become one flat node of which each child is compared with all others.
    """
    count = root.descendant_count
    if count < _FEW:
        return None
    broken = root.has_error
    cursor = root.walk()
    for index in range(_STRIDE, count, _STRIDE):
        cursor.goto_descendant(index)
        if cursor.depth > _DEEPEST:
            return Problem("too-deep", f"nests over {_DEEPEST:,} levels: kept as text")
        while broken and cursor.goto_parent():
            node = cursor.node
            if node is not None and node.is_error and node.child_count > _WIDEST:
                line = node.start_point[0] + 1
                return Problem("syntax", f"line {line}: does not parse: kept as text")
    return None


class Captures:
    """What the query found.

    Attributes:
        parts: one number per part of a chain: `start << 32 | end << 4 | code`, so that
            sorting brings together what starts together, the innermost first.
        roles: the matches of each role, in the order of their nodes.
    """

    __slots__ = ("parts", "roles")

    def __init__(self, root: Node, grammar: Grammar) -> None:
        from tree_sitter import QueryCursor

        codes = grammar.parts
        roles: dict[str, list[Match]] = {role: [] for role in grammar.roles if role}
        keep = [None if role is None else roles[role].append for role in grammar.roles]
        matches = QueryCursor(grammar.query).matches(root)
        parts = [
            (node := match["part"][0]).start_byte << 32 | node.end_byte << 4 | code
            for index, match in matches
            if (code := codes[index]) is not None
        ]
        parts.sort()
        for index, match in matches:
            role = keep[index]
            if role is not None:
                role(match)
        self.parts = parts
        self.roles = roles

    def role(self, name: str) -> list[Match]:
        """The matches of a role, none for a role that the language does not have."""
        return self.roles.get(name, [])


def first_error(root: Node) -> Node | None:
    """The first and innermost node of a tree that is wrong or missing, without recursion."""
    if not root.has_error:
        return None
    cursor = root.walk()
    found = root
    while cursor.goto_first_child():
        while (node := cursor.node) is not None and not node.has_error:
            if not cursor.goto_next_sibling():
                return found
        if node is not None:
            found = node
    return found
