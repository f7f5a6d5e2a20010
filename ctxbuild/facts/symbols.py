"""Definitions as symbols: signature, docstring and body text, in source order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxbuild.facts.bindings import Assigned
from ctxbuild.facts.scopes import Scope
from ctxbuild.model import Symbol, SymbolKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from ctxbuild.facts.bindings import Bound
    from ctxbuild.facts.capture import Captures, Source
    from ctxbuild.facts.chains import Chains
    from ctxbuild.facts.languages import Grammar
    from ctxbuild.facts.scopes import Scopes

    Cut = Callable[[int, int], str]

_LONGEST = 100  # characters of a statement that a skeleton shows whole
_NO_DOCSTRING = frozenset("fFbBtT")


@dataclass(frozen=True, slots=True)
class Entry:
    """One symbol with its place and its whole text."""

    symbol: Symbol
    span: tuple[int, int, int, int]
    body: str


class SymbolReader:
    """Makes the symbols of one file.

    Args:
        captures: what the query found.
        source: the file's text.
        scopes: its functions and classes.
        chains: its chains.
        grammar: for the words of the language, and to test signatures.
    """

    def __init__(
        self, captures: Captures, source: Source, scopes: Scopes, chains: Chains, grammar: Grammar
    ) -> None:
        self._captures = captures
        self._source = source
        self._cut: Cut = source.cutter()
        self._scopes = scopes
        self._chains = chains
        self._grammar = grammar
        language = grammar.language
        self._properties = language.words("names", "properties")
        self._property_parts = language.words("names", "property_parts")
        self._docstrings = {
            match["body"][0].start_byte: match["docstring"][0]
            for match in captures.role("docstring")
        }

    def read(self, bound: Bound, broken: bool) -> list[Entry]:
        """All symbols in source order.

        Args:
            bound: the file's binding statements.
            broken: whether the tree has errors: then symbols whose signature does not
                parse are left out, and their members with them.
        """
        items: list[Scope | Assigned] = [scope for scope in self._scopes.all if scope.is_symbol]
        items.extend(bound.assigned)
        items.extend(self._aliases())
        items.sort(key=_start)
        lost: set[int] = set()
        out: list[Entry] = []
        for item in items:
            start, end = item.start, item.end
            if isinstance(item, Scope):
                symbol, tail = self._definition(item), " ...\n"
            else:
                symbol, tail = self._statement(item), "\n"
            parent = item.parent if isinstance(item, Scope) else item.scope
            if broken and (parent in lost or not self._parses(symbol.signature + tail)):
                if isinstance(item, Scope):
                    lost.add(item.number)
                continue
            span = (self._source.line(start), self._source.line(end - 1), start, end)
            out.append(Entry(symbol, span, self._dedented(start, end)))
        return out

    def module_docstring(self) -> str:
        """The literal of the module's docstring, or ""."""
        for match in self._captures.role("summary"):
            return self._docstring(match["docstring"][0])
        return ""

    def _definition(self, scope: Scope) -> Symbol:
        node = self._docstrings.get(scope.body)
        parent = self._scopes.all[scope.parent]
        kind: SymbolKind = "class" if scope.kind == "class" else "function"
        if kind == "function" and parent.kind == "class":
            kind = "property" if self._is_property(scope.decorators) else "method"
        return Symbol(
            scope.qualified,
            kind,
            self._dedented(scope.start, scope.colon),
            self._docstring(node) if node is not None else "",
            tuple(scope.decorators),
            tuple(scope.bases),
            tuple(scope.params),
            scope.returns,
        )

    def _is_property(self, decorators: list[str]) -> bool:
        for decorator in decorators:
            head, dot, last = decorator.rpartition(".")
            if last in self._properties or (dot and head and last in self._property_parts):
                return True
        return False

    def _docstring(self, node: Node) -> str:
        start, end = node.start_byte, node.end_byte
        text = self._cut(start, end)
        prefix = text[: min(text.find(quote) % (len(text) + 1) for quote in "\"'")]
        if not _NO_DOCSTRING.isdisjoint(prefix) or node.has_error:
            return ""
        return self._dedented(start, end) if "\n" in text else text

    def _statement(self, item: Assigned) -> Symbol:
        scope = self._scopes.all[item.scope]
        name = f"{scope.qualified}.{item.name}" if item.scope else item.name
        kind: SymbolKind = "variable"
        if item.scope:
            kind = "attribute"
        elif item.name.isupper():
            kind = "constant"
        signature = self._cut(item.start, item.end)
        if len(signature) > _LONGEST or "\n" in signature:
            signature = self._shortened(item)
        return Symbol(name, kind, signature, returns=item.annotation)

    def _shortened(self, item: Assigned) -> str:
        """The statement with `...` for its value, or for the arguments of a call."""
        value = item.value_start
        if value < 0:
            return self._dedented(item.start, item.end)
        head = self._dedented(item.start, value)
        end, chain = self._chains.at.get(value, (0, ""))
        callee = chain[:-2]
        if end == item.end and chain.endswith("()") and callee.replace(".", "a").isidentifier():
            return f"{head}{callee}(...)"
        return head + "..."

    def _aliases(self) -> list[Assigned]:
        """Statements that name a type."""
        found = []
        for match in self._captures.role("alias"):
            name, node, value = match["part"][0], match["node"][0], match["value"][0]
            number = self._scopes.at(node.start_byte)
            scope = self._scopes.all[number]
            if number and not (scope.is_symbol and scope.kind == "class"):
                continue
            text = self._cut(name.start_byte, name.end_byte)
            found.append(
                Assigned(text, number, node.start_byte, node.end_byte, "", value, value.start_byte)
            )
        return found

    def _parses(self, text: str) -> bool:
        import tree_sitter

        return not tree_sitter.Parser(self._grammar.parser).parse(text.encode()).root_node.has_error

    def _dedented(self, start: int, end: int) -> str:
        """A piece of the text, without the indentation of its first line in all lines."""
        text = self._cut(start, end)
        if "\n" not in text:
            return text
        indent = self._source.indent(start)
        return text.replace("\n" + indent.decode(), "\n") if indent else text


def _start(item: Scope | Assigned) -> int:
    return item.start
