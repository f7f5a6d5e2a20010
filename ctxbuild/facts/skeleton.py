"""Definitions rendered without bodies: a whole file's skeleton, or only what is used of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ctxbuild.model import Symbol

Docstrings = Literal["full", "first", "none"]

_INDENT = "    "
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
    needed = set(keep)
    for name in keep:
        while "." in name:
            name = name.rpartition(".")[0]
            needed.add(name)
    pieces: list[str] = []
    open_classes: list[str] = []
    unfilled = False  # the last piece is a class header without anything under it
    last_statement = "\n"  # a definition: what follows at module level gets an empty line
    for symbol in definitions:
        if symbol.name not in needed:
            continue
        around = symbol.name.rpartition(".")[0]
        while open_classes and open_classes[-1] != around:
            open_classes.pop()
            if unfilled:
                pieces[-1] += " ..."
                unfilled = False
        if around and not open_classes:
            continue
        depth = len(open_classes)
        is_definition = symbol.kind in ("class", "function", "method", "property")
        if not is_definition:
            if symbol.signature != last_statement:
                gap = "\n" if depth == 0 and pieces and last_statement == "\n" else ""
                pieces.append(gap + _indented(symbol.signature, depth))
                last_statement = symbol.signature
                unfilled = False
            continue
        last_statement = "\n"
        docstring = shown_docstring(symbol.docstring, docstrings)
        header = _indented(symbol.signature, depth)
        pieces.append(f"\n{header}" if depth == 0 and pieces else header)
        if docstring:
            pieces.append(_indented(docstring, depth + 1))
        if symbol.kind == "class":
            open_classes.append(symbol.name)
            unfilled = not docstring
        else:
            unfilled = False
            if docstring:
                pieces.append(_INDENT * (depth + 1) + "...")
            else:
                pieces[-1] += " ..."
    if unfilled:
        pieces[-1] += " ..."
    return "\n".join(pieces) + "\n" if pieces else ""


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
    if found is None:  # several literals side by side
        return literal
    prefix, quotes, content = found[1], found[2], found[3]
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
