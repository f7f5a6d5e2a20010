"""One file to its units and the words of each: what the index of questions is made of.

The units of a parsed file are disjoint: each function and method with all that is
nested in it, each class without them, and the module with the rest. A text that
is not parsed is split at its headings, and where it has none (or a part is long)
into windows at empty lines. Words come in fields, see `FIELDS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ctxbuild.facts.words import words
from ctxbuild.model import Lines, Outline, Reference, Symbol

FIELDS = ("name", "signature", "docstring", "body")
"""The fields of a unit, in the order of `Unit.fields`."""

_CALLABLE = frozenset({"function", "method", "property"})
_NESTED = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}[ \t]+(\S.*)")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}[ \t]*")
_WINDOW = 60
"""Lines of a window at most."""
_PARTS = re.compile(r"\w+")


class Unit(NamedTuple):
    """One unit of a file.

    Attributes:
        name: qualified name; of a heading its text; of a window its number; "" for a module.
        kind: "function", "class", "module", "heading" or "window".
        order: place in the file.
        lines: (first, last) of all that it holds.
        size: characters of it.
        fields: the words of each of `FIELDS`, joined by spaces.
        uses: names that it uses, each once, sorted.
    """

    name: str
    kind: str
    order: int
    lines: tuple[int, int]
    size: int
    fields: tuple[str, str, str, str]
    uses: tuple[str, ...] = ()


def units_of(
    text: str,
    outline: Outline,
    lines: Lines,
    definitions: Sequence[Symbol],
    references: Sequence[Reference],
) -> list[Unit]:
    """The units of one file, from its text and facts."""
    if not outline.language or not (outline.symbols or lines.references):
        return list(_parts(text)) if not outline.language else [*_module_only(text)]
    return _Parsed(text, outline, lines, definitions, references).units()


def rest_of(text: str, outline: Outline, lines: Lines) -> str:
    """What stands at a file's top level outside functions and classes, without empty lines."""
    held = [
        spot[:2]
        for (name, kind), spot in zip(outline.symbols, lines.symbols, strict=True)
        if "." not in name and (kind in _CALLABLE or kind == "class")
    ]
    rows: list[str] = []
    ends = iter(sorted(held))
    first, last = next(ends, (0, 0))
    for number, row in enumerate(text.split("\n"), 1):
        while first and number > last:
            first, last = next(ends, (0, 0))
        if row.strip() and not (first and first <= number <= last):
            rows.append(row)
    return "".join(f"{row}\n" for row in rows)


class _Parsed:
    """The units of a parsed file."""

    def __init__(
        self,
        text: str,
        outline: Outline,
        lines: Lines,
        definitions: Sequence[Symbol],
        references: Sequence[Reference],
    ) -> None:
        self.data = text.encode()
        self.outline = outline
        self.lines = lines
        self.definitions = definitions
        self.uses: dict[str, set[str]] = {}
        for each in references:
            self.uses.setdefault(each.scope, set()).update(_PARTS.findall(each.chain))

    def units(self) -> list[Unit]:
        """The module first, then classes and functions in source order."""
        found: dict[str, Unit] = {}
        taken: list[tuple[int, int]] = []
        for order, (name, kind) in enumerate(self.outline.symbols):
            if kind in _CALLABLE:
                unit = self._function(name, order)
            elif kind == "class":
                unit = self._class(name, order)
            else:
                continue
            start, end = self.lines.symbols[order][2:]
            taken.append((start, end))
            known = found.get(name)
            found[name] = unit if known is None else _joined(known, unit)
        rest = _without(self.data, 0, len(self.data), taken)
        fields = ("", "", "", _words(rest))
        whole = (1, max(1, self.lines.total))
        module = Unit("", "module", 0, whole, len(rest), fields, self._used(""))
        return [module, *found.values()]

    def _function(self, name: str, order: int) -> Unit:
        symbol = self.definitions[order]
        first, last, start, end = self.lines.symbols[order]
        body = self.data[start:end].decode(errors="replace")
        rest = body.replace(symbol.docstring, " ", 1) if symbol.docstring else body
        nested = " ".join(_NESTED.findall(body)[1:])
        fields = (
            _words(f"{name} {nested}"),
            _words(symbol.signature),
            _words(symbol.docstring),
            _words(rest[len(symbol.signature) :]),
        )
        uses = self._used(name)
        return Unit(name, "function", order, (first, last), end - start, fields, uses)

    def _class(self, name: str, order: int) -> Unit:
        symbol = self.definitions[order]
        first, last, start, end = self.lines.symbols[order]
        inner = [
            spot[2:]
            for (other, kind), spot in zip(self.outline.symbols, self.lines.symbols, strict=True)
            if (kind in _CALLABLE or kind == "class") and start < spot[2] < end
        ]
        rest = _without(self.data, start, end, inner)
        if symbol.docstring:
            rest = rest.replace(symbol.docstring, " ", 1)
        fields = (
            _words(name),
            _words(symbol.signature),
            _words(symbol.docstring),
            _words(rest[len(symbol.signature) :]),
        )
        uses = self._used(name)
        return Unit(name, "class", order, (first, last), end - start, fields, uses)

    def _used(self, scope: str) -> tuple[str, ...]:
        names = self.uses.get(scope, set())
        inside = f"{scope}."
        known = {name for name, _ in self.outline.symbols}
        for other, used in self.uses.items():
            # A function nested in this one is a scope of its own and no unit.
            if scope and other.startswith(inside) and other not in known:
                names = names | used
        return tuple(sorted(names))


def _joined(one: Unit, other: Unit) -> Unit:
    """Several definitions of one name (overloads, a property's setter) are one unit."""
    both = [f"{a} {b}".strip() for a, b in zip(one.fields, other.fields, strict=True)]
    fields = (both[0], both[1], both[2], both[3])
    lines = (min(one.lines[0], other.lines[0]), max(one.lines[1], other.lines[1]))
    uses = tuple(sorted({*one.uses, *other.uses}))
    return one._replace(lines=lines, size=one.size + other.size, fields=fields, uses=uses)


def _without(data: bytes, start: int, end: int, holes: Sequence[tuple[int, int]]) -> str:
    pieces = []
    for first, last in sorted(holes):
        if first >= start:
            pieces.append(data[start:first])
            start = max(start, last)
    pieces.append(data[start:end])
    return b"\n".join(pieces).decode(errors="replace")


def _words(text: str) -> str:
    return " ".join(words(text))


# --- texts that are not parsed ----------------------------------------------------------


def _module_only(text: str) -> Iterator[Unit]:
    if text.strip():
        lines = (1, text.count("\n") + 1)
        yield Unit("", "module", 0, lines, len(text), ("", "", "", _words(text)))


def _parts(text: str) -> Iterator[Unit]:
    """Headings with what stands below them; long parts as windows."""
    rows = text.split("\n")
    order = 0
    titles: dict[str, int] = {}
    for first, last, title in _sections(rows):
        for start, end in _windows(rows, first, last):
            body = "\n".join(rows[start:end])
            if not body.strip():
                continue
            named = title and start == first
            name = title if named else f"lines-{order}"
            titles[name] = titles.get(name, 0) + 1
            if titles[name] > 1:
                name += f"-{titles[name]}"
            kind = "heading" if named else "window"
            fields = (_words(title), "", "", _words(body))
            yield Unit(name, kind, order, (start + 1, end), len(body), fields)
            order += 1


def _sections(rows: list[str]) -> Iterator[tuple[int, int, str]]:
    """(first row, row after the last, heading or "")."""
    first, title = 0, ""
    for place, row in enumerate(rows):
        found = _heading(rows, place, row)
        if found:
            if place > first:
                yield first, place, title
            first, title = place, found
    yield first, len(rows), title


def _heading(rows: list[str], place: int, row: str) -> str:
    if row.startswith("#"):
        marked = _HEADING.fullmatch(row.rstrip())
        return marked[1].strip("# \t") if marked else ""
    if not row[:1].strip() or len(row) > 200 or place + 1 == len(rows):
        return ""
    below = rows[place + 1]
    if _UNDERLINE.fullmatch(below) and len(below.rstrip()) >= len(row.rstrip()):
        return "" if _UNDERLINE.fullmatch(row) else row.strip()
    return ""


def _windows(rows: list[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Parts of at most `_WINDOW` rows, cut at an empty row where there is one."""
    while last - first > _WINDOW:
        cut = first + _WINDOW
        for place in range(cut, first + _WINDOW // 2, -1):
            if not rows[place].strip():
                cut = place
                break
        yield first, cut
        first = cut
    yield first, last
