"""The text of a unit in a form: whole files, skeletons of single symbols, one-liners.

Texts are lines, each ending in a line feed, ready to stand below one another
under a header. A symbol's skeleton is indented to its depth in its class.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable
from typing import Protocol

from ctxbuild.model import Candidate, Lines, Outline, Rung, Symbol
from ctxbuild.source.paths import shown

_LISTED_NAMES = 40
_CALLABLE = frozenset({"function", "method", "property"})


class Texts(Protocol):
    """Where the texts come from; each question is recorded as a dependency."""

    def text(self, path: str) -> str: ...

    def skeleton(self, path: str) -> str: ...

    def outline(self, path: str) -> Outline: ...

    def symbol(self, path: str, name: str) -> tuple[Symbol, ...]: ...

    def lines(self, path: str) -> Lines: ...

    def body(self, path: str, name: str) -> str: ...


def text_of(texts: Texts, candidate: Candidate, rung: Rung, *, hollow: bool = False) -> str:
    """The lines that a candidate adds to a pack in a form.

    Args:
        hollow: the candidate is a class of which no member is shown below its header.
    """
    if rung.form in ("summary", "name"):
        return line(texts, candidate, rung.form)
    if rung.form == "slice":
        return statements(texts, candidate)
    if not candidate.symbol:
        whole = (
            texts.text(candidate.path) if rung.form == "full" else texts.skeleton(candidate.path)
        )
        return whole if whole.endswith("\n") or not whole else whole + "\n"
    depth = depth_of(texts, candidate.path, candidate.symbol)
    if rung.form == "full":
        return indent(texts.body(candidate.path, candidate.symbol), depth)
    found = texts.symbol(candidate.path, candidate.symbol)
    return "".join(indent(skeleton(each, rung.docstring, hollow=hollow), depth) for each in found)


def statements(texts: Texts, candidate: Candidate) -> str:
    """A slice: the header of a definition and the statements that hold its references.

    What is left out between them is `...`, at the margin of what follows.
    """
    from ctxbuild.facts.statements import statements_at

    path = candidate.path
    outline, lines = texts.outline(path), texts.lines(path)
    wanted = [lines.references[n] for n in candidate.references]
    start = 0
    for (name, _), spot in zip(outline.symbols, lines.symbols, strict=True):
        if name == candidate.symbol:
            start = spot[0]
            break
    text = texts.text(path)
    rows = text.split("\n")
    head = [start] if start else []
    shown_rows: list[str] = []
    above = 0
    for first, last in statements_at(text, outline.language, [*head, *wanted]):
        if above and first > above + 1:
            margin = rows[first - 1][: len(rows[first - 1]) - len(rows[first - 1].lstrip())]
            shown_rows.append(f"{margin}...")
        shown_rows += rows[first - 1 : last]
        above = last
    return "".join(f"{row}\n" for row in shown_rows)


def line(texts: Texts, candidate: Candidate, form: str) -> str:
    """A one-liner: the path, then for a summary what the file is for and its names."""
    head = f"- {shown(candidate.path)}"
    if candidate.symbol:
        return f"{head}::{candidate.symbol}\n"
    if form == "name":
        return head + "\n"
    outline = texts.outline(candidate.path)
    names = candidate.names or top_names(outline)
    parts = [
        part for part in (outline.summary if not candidate.names else "", listed(names)) if part
    ]
    return f"{head}: {' | '.join(parts)}\n" if parts else head + "\n"


def listed(names: Iterable[str]) -> str:
    """Names with commas between, a long list cut with the number of the rest."""
    names = list(names)
    rest = len(names) - _LISTED_NAMES
    return ", ".join(names[:_LISTED_NAMES]) + (f", +{rest} more" if rest > 0 else "")


def top_names(outline: Outline) -> tuple[str, ...]:
    """What a file defines at its top level: classes and functions, without repeats."""
    found = dict.fromkeys(
        name for name, kind in outline.symbols if "." not in name and kind in ("class", "function")
    )
    return tuple(name for name in found if not (name.startswith("_") and len(found) > 3))


def depth_of(texts: Texts, path: str, symbol: str) -> int:
    """How many classes enclose a symbol."""
    return symbol.count(".")


def skeleton(symbol: Symbol, docstring: str, *, hollow: bool = True) -> str:
    """A definition without its body, at depth 0.

    Args:
        docstring: "none", "first" (its first sentence line) or "full".
        hollow: close a class header with `...`, since no member follows.
    """
    if symbol.kind not in _CALLABLE and symbol.kind != "class":
        return symbol.signature.rstrip("\n") + "\n"
    head = symbol.signature.rstrip()
    doc = docstring_text(symbol.docstring, docstring)
    if doc:
        return f"{head}\n{textwrap.indent(doc, '    ')}\n"
    if symbol.kind == "class" and not hollow:
        return head + "\n"
    return (
        f"{head}\n    ...\n" if head.endswith("\\") or _ends_in_comment(head) else f"{head} ...\n"
    )


def _ends_in_comment(head: str) -> bool:
    return not head.endswith(":")


def docstring_text(literal: str, part: str) -> str:
    """The docstring as a literal, whole or cut to its first line; "" if there is none."""
    if not literal or part in ("", "none"):
        return ""
    if part == "full":
        return literal
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    if not isinstance(value, str):
        return ""
    first = next((row.strip() for row in value.splitlines() if row.strip()), "")
    if not first:
        return ""
    quoted = first.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{quoted[:-1]}\\""""' if quoted.endswith('"') else f'"""{quoted}"""'


def indent(text: str, depth: int) -> str:
    """Text moved in by four spaces per level, blank lines left empty, ending in a line feed."""
    if text and not text.endswith("\n"):
        text += "\n"
    return textwrap.indent(text, "    " * depth) if depth else text
