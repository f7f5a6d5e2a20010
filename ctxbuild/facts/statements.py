"""Which lines belong together: the statements that stand on given lines, never cut in two."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ctxbuild.facts.capture import Source, parse
from ctxbuild.facts.languages import grammar

if TYPE_CHECKING:
    from tree_sitter import Node


def statements_at(text: str, language: str, lines: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """The statements on these lines, as (first, last) line, without overlaps, in order.

    A compound statement counts with its header only. Where the text is not
    parsed, a line is its own statement.

    Args:
        text: a file's text.
        language: its language's name, "" for none.
        lines: from 1.
    """
    wanted = sorted(set(lines))
    known = grammar(language) if language else None
    if known is None:
        return tuple((line, line) for line in wanted)
    source = Source(text)
    tree, _ = parse(source, known)
    if tree is None:
        return tuple((line, line) for line in wanted)
    containers = known.kinds["container"]
    found: dict[int, int] = {}
    for line in wanted:
        if line > len(source.line_starts):
            continue
        first, last = _statement(tree.root_node, source, containers, line)
        found[first] = max(last, found.get(first, last))
    return _without_overlaps(sorted(found.items()))


def _statement(
    root: Node, source: Source, containers: frozenset[int], line: int
) -> tuple[int, int]:
    start = source.line_starts[line - 1]
    row = source.data[start:].split(b"\n", 1)[0]
    column = len(row) - len(row.lstrip())
    node = root.descendant_for_point_range((line - 1, column), (line - 1, column))
    while node is not None and node.parent is not None and node.parent.kind_id not in containers:
        node = node.parent
    if node is None or node.parent is None:
        return line, line
    body = next((child for child in node.children if child.kind_id in containers), None)
    last = node.end_point[0] + 1 if body is None else _line_before(body, source)
    return node.start_point[0] + 1, max(last, node.start_point[0] + 1)


def _line_before(body: Node, source: Source) -> int:
    """The last line before a body that has text on it, which ends the header."""
    head = source.data[: body.start_byte].rstrip()
    return head.count(b"\n") + 1


def _without_overlaps(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    kept: list[tuple[int, int]] = []
    for first, last in spans:
        if kept and first <= kept[-1][1]:
            kept[-1] = (kept[-1][0], max(last, kept[-1][1]))
        else:
            kept.append((first, last))
    return tuple(kept)
