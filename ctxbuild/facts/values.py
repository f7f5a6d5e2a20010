"""What an expression may stand for, as chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from ctxbuild.facts.capture import Source
    from ctxbuild.facts.chains import Chains
    from ctxbuild.facts.languages import Grammar

MOST = 6  # chains kept of one value
STEPS = 200  # nodes looked at for one value


class Values:
    """Reads values off nodes.

    Args:
        source: the file's text.
        chains: its chains.
        grammar: which node kinds pass values on, and which are names.
    """

    __slots__ = ("_at", "_cut", "_names", "_passing", "_spread", "tested")

    def __init__(self, source: Source, chains: Chains, grammar: Grammar) -> None:
        self._cut = source.cutter()
        self._at = chains.at
        self._passing = grammar.values
        self._names = grammar.kinds.get("name", frozenset())
        self._spread = grammar.kinds.get("sequence", frozenset()) | grammar.kinds.get(
            "union", frozenset()
        )
        self.tested: set[int] = set()
        """Where the types that `types` read start."""

    def chain(self, node: Node) -> str:
        """The chain that a node is as a whole, or ""."""
        end, chain = self._at.get(node.start_byte, (0, ""))
        if end == node.end_byte:
            return chain
        return self._cut(node.start_byte, node.end_byte) if node.kind_id in self._names else ""

    def of(self, node: Node) -> tuple[str, ...]:
        """The chains an expression may stand for, without what says nothing."""
        chain = self.chain(node)
        if chain:
            return (chain,)
        if node.kind_id not in self._passing:
            return ()
        return tuple(_distinct(self._passed(node)))

    def types(self, node: Node) -> tuple[str, ...]:
        """The chains of types that a guard tests: a tuple or a union of them, or one."""
        return tuple(_distinct(self._tested(node)))

    def _passed(self, node: Node) -> Iterator[str]:
        stack = [node]
        for _step in range(STEPS):
            if not stack:
                return
            node = stack.pop()
            chain = self.chain(node)
            if chain:
                yield chain
                continue
            places = self._passing.get(node.kind_id)
            if places is not None:
                children = node.named_children
                count = len(children)
                stack.extend(
                    children[place] for place in reversed(places) if -count <= place < count
                )

    def _tested(self, node: Node) -> Iterator[str]:
        stack = [node]
        for _step in range(STEPS):
            if not stack:
                return
            node = stack.pop()
            if node.kind_id in self._spread:
                stack.extend(reversed(node.named_children))
            else:
                self.tested.add(node.start_byte)
                yield from self.of(node)


def _distinct(chains: Iterator[str]) -> list[str]:
    found: list[str] = []
    for chain in chains:
        if chain not in found:
            found.append(chain)
            if len(found) == MOST:
                break
    return found
