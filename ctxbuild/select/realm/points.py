"""A section as points: one bullet, one paragraph, one row each, with its label and its fields.

Story bibles are written in many shapes: a heading per character with bullets below,
one table for all, bold names in a list. A point is what these have in common.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from ctxbuild.facts.document import Block, Item, Section

_BULLET = re.compile(
    r"^(?P<margin>[ \t]*)(?:[-*+•]|\d{1,4}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<text>.*)$"
)
_LABEL = re.compile(
    r"\A(?:\*\*|__)(?P<bold>[^*_\n]{1,80}?)(?P<inside>:?)(?:\*\*|__)[ \t]*(?P<mark>:"
    r"|[-–—]{1,2}(?=\s)|,|\(|(?=\S)|\Z)"
    r"|\A(?P<plain>[A-Za-zÀ-ÿ][\w'’ /&.-]{0,50}?)(?P<colon>:|[ \t](?:[–—]|--?)(?=[ \t]))(?=\s|\Z)"
)


@dataclass(frozen=True, slots=True)
class Point:
    """One piece of a section.

    Attributes:
        text: without its bullet and without markup of emphasis.
        label: what stands in bold or before a colon at its beginning, or "".
        value: the text behind the label; all of it without one.
        under: the label of the bullet that it stands below, or "".
        fields: of a row: (title of the column, cell).
        ordinals: of the items that stand in it.
        block: the place of its block in the section.
    """

    text: str
    label: str
    value: str
    under: str
    ordinals: tuple[int, ...]
    block: int = 0
    fields: tuple[tuple[str, str], ...] = field(default=())


def points_of(section: Section) -> list[Point]:
    """The points of a section in order."""
    found: list[Point] = []
    held: dict[int, list[Item]] = {}
    for item in section.items:
        held.setdefault(item.block, []).append(item)
    for place, block in enumerate(section.blocks):
        if block.kind in {"code", "rule", "html"}:
            continue
        items = _Items(held.get(place, ()))
        if block.kind == "table":
            found += _rows(items, place, block)
            continue
        if block.kind in {"list", "steps"}:
            found += _bullets(items, place, block)
            continue
        found += _paragraph(items, place, block)
    return found


class _Items:
    """The items of a block, found by their lines: a block may have thousands."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.all = items
        self._sorted = sorted(items, key=lambda item: item.lines[0])
        self._firsts = [item.lines[0] for item in self._sorted]
        # The last line of an item or of one before it: rising, as a search wants it.
        self._lasts = list(accumulate((item.lines[1] for item in self._sorted), max))

    def ordinals(self, first: int, last: int) -> tuple[int, ...]:
        """The ordinals of those that share a line with a span."""
        low, high = bisect_left(self._lasts, first), bisect_right(self._firsts, last)
        return tuple(
            sorted(item.ordinal for item in self._sorted[low:high] if item.lines[1] >= first)
        )


_CHAPTERS = re.compile(r"\b(?:chapter|ch\.?|scene) ?\d", re.IGNORECASE)


def _paragraph(items: _Items, place: int, block: Block) -> Iterator[Point]:
    """One point; sentence by sentence where some bind or hold from another chapter on."""
    mixed = _CHAPTERS.search(block.text) or any(item.kind == "constraint" for item in items.all)
    if len(items.all) > 1 and block.kind == "paragraph" and mixed:
        for item in items.all:
            label, value = split_label(item.text)
            yield Point(plain(item.text), label, value, "", (item.ordinal,), place)
        return
    text = " ".join(line.strip(" >") for line in block.text.split("\n"))
    yield _point(items, place, text, "", *block.lines)


def _bullets(items: _Items, place: int, block: Block) -> Iterator[Point]:
    first = block.lines[0]
    starts: list[tuple[int, int, list[str]]] = []
    for number, row in enumerate(block.text.split("\n")):
        match = _BULLET.match(row)
        if match:
            margin = len(match["margin"].expandtabs(4))
            starts.append((number, margin, [match["text"]]))
        elif starts:
            starts[-1][2].append(row.strip())
    rows = block.text.count("\n") + 1
    above: list[tuple[int, str]] = []
    for index, (number, margin, texts) in enumerate(starts):
        end = starts[index + 1][0] - 1 if index + 1 < len(starts) else rows - 1
        while above and above[-1][0] >= margin:
            above.pop()
        under = above[-1][1] if above else ""
        point = _point(items, place, " ".join(texts), under, first + number, first + end)
        yield point
        above.append((margin, point.label or point.value.rstrip(":")))


def _rows(items: _Items, place: int, block: Block) -> Iterator[Point]:
    rows = [row for row in block.text.split("\n") if "|" in row]
    if len(rows) < 2:
        return
    titles = [plain(cell) for cell in _cells(rows[0])]
    first = block.lines[0]
    lines = block.text.split("\n")
    for number, row in enumerate(lines):
        cells = [plain(cell) for cell in _cells(row)]
        if row == rows[0] or "|" not in row or not any(cells) or set(row) <= set("|-: \t"):
            continue
        fields = tuple(zip(titles, cells, strict=False))
        ordinals = items.ordinals(first + number, first + number)
        label = cells[0] if cells else ""
        value = "; ".join(f"{title}: {cell}" for title, cell in fields[1:] if cell)
        yield Point(f"{label.rstrip('.')}: {value}", label, value, "", ordinals, place, fields)


def _cells(row: str) -> list[str]:
    bare = row.strip()
    bare = bare.removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", bare)]


def _point(items: _Items, place: int, text: str, under: str, first: int, last: int) -> Point:
    text = " ".join(text.split())
    label, value = split_label(text)
    ordinals = items.ordinals(first, last)
    return Point(plain(text), label, value, under, ordinals, place)


def split_label(text: str) -> tuple[str, str]:
    """A label in bold or before a colon or dash, and what stands behind it."""
    match = _LABEL.match(text)
    if not match:
        return "", plain(text)
    label = match["bold"] or match["plain"] or ""
    rest = text[match.end() :]
    if match["mark"] == "(":
        rest = f"({rest}"
    return plain(label).strip(" :"), plain(rest).strip(" :–—-,").strip()


def plain(text: str) -> str:
    """A text without marks of emphasis and code, links as their words."""
    text = re.sub(r"\[([^\[\]]{0,200})\]\([^()\s]{0,300}\)", r"\1", text)
    return re.sub(r"\*{1,3}|(?<!\w)_{1,2}|_{1,2}(?!\w)|`", "", text).strip()
