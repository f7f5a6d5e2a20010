"""The text of a unit in a form: whole files, skeletons of single symbols, one-liners.

Texts are lines, each ending in a line feed, ready to stand below one another
under a header. A symbol's skeleton is indented to its depth in its class.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable
from itertools import takewhile
from typing import Protocol

from ctxbuild.model import Candidate, Lines, Outline, Rung, Symbol
from ctxbuild.pack.render import comment
from ctxbuild.source.paths import shown

_LISTED_NAMES = 40
_LONG_SENTENCE = 160
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z])")
_CALLABLE = frozenset({"function", "method", "property"})


class Texts(Protocol):
    """Where the texts come from; each question is recorded as a dependency."""

    def text(self, path: str) -> str:
        """A file as text."""

    def skeleton(self, path: str) -> str:
        """A whole file without bodies."""

    def outline(self, path: str) -> Outline:
        """The names of a file in source order."""

    def symbol(self, path: str, name: str) -> tuple[Symbol, ...]:
        """All definitions of a qualified name in a file."""

    def lines(self, path: str) -> Lines:
        """Where the symbols, imports and references of a file stand."""

    def body(self, path: str, name: str) -> str:
        """The whole source of a definition, moved to the margin."""


def text_of(texts: Texts, candidate: Candidate, rung: Rung, *, hollow: bool = False) -> str:
    """The lines that a candidate adds to a pack in a form.

    Args:
        hollow: the candidate is a class of which no member is shown below its header.
    """
    if hollow and rung.hollow is not None:
        return rung.hollow
    if rung.text is not None:
        return rung.text if rung.text.endswith("\n") or not rung.text else rung.text + "\n"
    if rung.form in ("summary", "name"):
        return line(texts, candidate, rung.form)
    if rung.form == "slice":
        return statements(texts, candidate)
    if not candidate.symbol:
        whole = (
            texts.text(candidate.path) if rung.form == "full" else texts.skeleton(candidate.path)
        )
        return whole if whole.endswith("\n") or not whole else whole + "\n"
    if candidate.parent and not candidate.unit.startswith(f"{candidate.parent}."):
        return ""  # bound by the same statement as its parent
    depth = candidate.symbol.count(".")
    if rung.form == "full":
        return indent(texts.body(candidate.path, candidate.symbol), depth)
    found = texts.symbol(candidate.path, candidate.symbol)
    parts = [skeleton(each, rung.docstring, hollow=hollow) for each in found]
    if candidate.note:
        parts.insert(0, f"{comment(texts.outline(candidate.path).language)} {candidate.note}\n")
    return "".join(indent(part, depth) for part in parts)


def statements(texts: Texts, candidate: Candidate) -> str:
    """A slice: the header of a definition and the statements that hold its references.

    Headers of the blocks that enclose them come along. What is left out is `...`,
    at the margin of what follows.
    """
    from ctxbuild.facts.statements import statements_at

    path = candidate.path
    outline, lines = texts.outline(path), texts.lines(path)
    rows = texts.text(path).split("\n")
    start = next(
        (
            spot[0]
            for (name, _), spot in zip(outline.symbols, lines.symbols, strict=True)
            if name == candidate.symbol
        ),
        0,
    )
    wanted = {start} if start else set()
    for ordinal in candidate.references:
        wanted |= {lines.references[ordinal], *_enclosing(rows, lines.references[ordinal], start)}
    shown_rows: list[str] = []
    above = 0
    for first, last in statements_at("\n".join(rows), outline.language, wanted):
        if above and first > above + 1:
            shown_rows.append(f"{' ' * _margin(rows[first - 1])}...")
        shown_rows += rows[first - 1 : last]
        above = last
    return "".join(f"{row}\n" for row in shown_rows)


def _enclosing(rows: list[str], line: int, start: int) -> list[int]:
    """Lines above a line, down to a definition's, that open the blocks it stands in."""
    found = []
    margin = _margin(rows[line - 1])
    for above in range(line - 1, start, -1):
        row = rows[above - 1]
        if row.strip() and _margin(row) < margin:
            margin = _margin(row)
            if start and margin <= _margin(rows[start - 1]):
                break
            found.append(above)
    return found


def _margin(row: str) -> int:
    return len(row) - len(row.lstrip())


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


def skeleton(symbol: Symbol, docstring: str, *, hollow: bool = True) -> str:
    """A definition without its body, at depth 0.

    Args:
        docstring: "none", "first" (its first sentence) or "full".
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
    """The docstring as a literal, whole or cut to its first sentence; "" if there is none."""
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
    first = first_sentence(value)
    if not first:
        return ""
    quoted = shown(first.replace("\\", "\\\\"))
    if '"""' in quoted or quoted.endswith('"'):
        quoted = quoted.replace('"', '\\"')
    return f'"""{quoted}"""'


def first_sentence(docstring: str) -> str:
    """What a docstring begins with: its first sentence if that is short, else its first line."""
    rows = [row.strip() for row in docstring.strip().splitlines()]
    paragraph = " ".join(takewhile(bool, rows))
    sentence = _SENTENCE_END.split(paragraph, maxsplit=1)[0]
    return sentence if len(sentence) <= _LONG_SENTENCE else rows[0]


def indent(text: str, depth: int) -> str:
    """Text moved in by four spaces per level, blank lines left empty, ending in a line feed."""
    if text and not text.endswith("\n"):
        text += "\n"
    return textwrap.indent(text, "    " * depth) if depth else text
