"""Definitions rendered without bodies: a whole file's skeleton, or only what is used of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ctxbuild.model import Symbol

Docstrings = Literal["full", "first", "none"]

_INDENT = "    "
_DEFINITIONS = frozenset(("class", "function", "method", "property"))
_LITERAL = re.compile(r"([rRuU]?)(\"{3}|'{3}|[\"'])(.*)\2\Z", re.DOTALL)
_LINE_START = re.compile(r"\n(?=[^\n])")


def render_symbols(
    definitions: Sequence[Symbol], keep: Collection[str], docstrings: Docstrings = "first"
) -> str:
    """Definitions as source text that parses: signatures whole, `...` for bodies.

    Args:
        definitions: the symbols of one file, in source order.
        keep: qualified names to show; the headers of the classes around them
            come by themselves. All definitions of a name are shown.
        docstrings: "full", only the "first" line, or "none".

    Returns:
        The text, members under their class, in source order, ending with a newline,
        or "" when nothing is kept.
    """
    page = _Page(docstrings)
    needed = _with_classes(keep)
    for symbol in definitions:
        if symbol.name in needed:
            page.add(symbol)
    return page.text()


def _with_classes(names: Collection[str]) -> set[str]:
    """Qualified names with those of the classes around them."""
    needed: set[str] = set()
    for name in names:
        around = name
        while around and around not in needed:
            needed.add(around)
            around = around.rpartition(".")[0]
    return needed


class _Page:
    """A skeleton under construction: pieces, and the classes that are open at its end."""

    def __init__(self, docstrings: Docstrings) -> None:
        self._docstrings = docstrings
        self._pieces: list[str] = []
        self._open: list[str] = []
        self._unfilled = False  # the last piece is a class header without anything under it
        self._last = ""  # the last statement, or a line feed after a definition

    def add(self, symbol: Symbol) -> None:
        """Put a symbol under its class; without its class there is no place for it."""
        around = symbol.name.rpartition(".")[0]
        while self._open and self._open[-1] != around:
            self._open.pop()
            self._fill()
        if around and not self._open:
            return
        if symbol.kind in _DEFINITIONS:
            self._definition(symbol, len(self._open))
        elif symbol.signature != self._last:  # `A, B = 1, 2` is two symbols
            self._piece(_indented(symbol.signature, len(self._open)), gap=self._last == "\n")
            self._last = symbol.signature
            self._unfilled = False

    def text(self) -> str:
        self._fill()
        return "\n".join(self._pieces) + "\n" if self._pieces else ""

    def _definition(self, symbol: Symbol, depth: int) -> None:
        docstring = shown_docstring(symbol.docstring, self._docstrings)
        self._piece(_indented(symbol.signature, depth), gap=True)
        self._last = "\n"
        if docstring:
            self._pieces.append(_indented(docstring, depth + 1))
        if symbol.kind == "class":
            self._open.append(symbol.name)
            self._unfilled = not docstring
            return
        self._unfilled = False
        if docstring:
            self._pieces.append(_INDENT * (depth + 1) + "...")
        else:
            self._pieces[-1] += " ..."

    def _piece(self, text: str, *, gap: bool) -> None:
        """Add lines, at module level after an empty one."""
        self._pieces.append("\n" + text if gap and self._pieces and not self._open else text)

    def _fill(self) -> None:
        if self._unfilled:
            self._pieces[-1] += " ..."
            self._unfilled = False


def render_file(docstring: str, definitions: Sequence[Symbol]) -> str:
    """The skeleton of a whole file: every definition, docstrings cut to their first line.

    Args:
        docstring: the literal of the module's docstring, or "".
        definitions: the symbols of the file, in source order.
    """
    body = render_symbols(definitions, frozenset(symbol.name for symbol in definitions))
    first = shown_docstring(docstring, "first")
    return f"{first}\n{body}" if first else body


def shown_docstring(literal: str, docstrings: Docstrings) -> str:
    """A docstring's literal as a policy shows it; still one valid literal, or ""."""
    if docstrings == "none" or not literal:
        return ""
    if docstrings == "full" or "\n" not in literal:
        return literal
    found = _LITERAL.match(literal)
    if found is None:
        return literal
    prefix, quotes, content = found[1], found[2], found[3]
    if quotes in content.replace("\\\\", "").replace(f"\\{quotes[0]}", ""):
        return literal  # several literals side by side
    line = first_line(content).rstrip("\\")
    if not line:
        return ""
    if line.endswith(quotes[0]):
        line += " "
    return f"{prefix}{quotes}{line}{quotes}"


def first_line(content: str) -> str:
    """The first line of a docstring's content that says something, without white space."""
    for line in content.split("\n"):
        stripped = line.strip()
        if stripped and stripped != "\\":
            return stripped
    return ""


def literal_content(literal: str) -> str:
    """What stands between the quotes of a string literal; escapes stay as written."""
    found = _LITERAL.match(literal)
    return found[3] if found else literal.strip("\"'")


def _indented(text: str, depth: int) -> str:
    if not depth:
        return text
    indent = _INDENT * depth
    return indent + (_LINE_START.sub("\n" + indent, text) if "\n" in text else text)
