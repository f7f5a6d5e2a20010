"""Headings and pieces of a parsed document to its sections: slugs, containment, items, cues."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ctxbuild.facts.document import (
    Block,
    BlockKind,
    Cue,
    CueKind,
    Document,
    Heading,
    Item,
    Link,
    Section,
)
from ctxbuild.facts.items import Reader
from ctxbuild.facts.modality import only_capitals
from ctxbuild.facts.pieces import Head, Parsed, Piece
from ctxbuild.facts.slugs import Slugs

_CUES: tuple[tuple[CueKind, re.Pattern[str]], ...] = (
    (
        "overrides",
        re.compile(
            r"(?<!\w)(?:overrid(?:es?|den)|overrul(?:es?|ed)|takes? (?:precedence|priority) over"
            r"|prevails? over|outranks?|trumps?|wins? over)(?!\w)",
            re.IGNORECASE,
        ),
    ),
    (
        "supersedes",
        re.compile(
            r"(?<!\w)(?:supersede[sd]?|obsolete[sd]?|replace[sd])(?!\w)",
            re.IGNORECASE,
        ),
    ),
    (
        "depends-on",
        re.compile(
            r"(?<!\w)(?<!not )(?:depends? (?:up)?on|prerequisites?|builds? (?:up)?on|presupposes?"
            r"|read .{1,60} first|assumes? (?:that )?you have read)(?!\w)",
            re.IGNORECASE,
        ),
    ),
    (
        "see-also",
        re.compile(
            r"(?<!\w)(?:see(?: also)?|refer to|(?:described|defined|specified|discussed|detailed"
            r"|explained|documented) in|cf\.|for (?:more|further|details)|related)(?!\w)",
            re.IGNORECASE,
        ),
    ),
)
_TITLES: tuple[tuple[CueKind, re.Pattern[str]], ...] = (
    ("see-also", re.compile(r"(?:see also|related(?: \w+)?|further reading)\W*\Z", re.IGNORECASE)),
    ("depends-on", re.compile(r"(?:depends on|prerequisites?|dependencies)\W*\Z", re.IGNORECASE)),
    ("supersedes", re.compile(r"(?:supersedes|obsoletes|replaces)\W*\Z", re.IGNORECASE)),
    ("overrides", re.compile(r"(?:overrides|precedence)\W*\Z", re.IGNORECASE)),
)
_CUE_KINDS = frozenset(("constraint", "fact", "definition", "formatting"))


def assemble(parsed: Parsed, text: str) -> Document:
    """The document of what a parser saw.

    Args:
        parsed: headings, pieces and links in the order of the source.
        text: the whole source.
    """
    rows = text.split("\n") if parsed.rows is None else parsed.rows
    end = len(rows) - (1 if rows and not rows[-1] else 0)
    while parsed.start < end - 1 and not rows[parsed.start].strip():
        parsed.start += 1
    headings, starts = _headings(parsed)
    starts.append(end)
    capitals = only_capitals(text)
    pieces: list[list[Piece]] = [[] for _ in headings]
    links: list[list[Link]] = [[] for _ in headings]
    anchors: list[list[str]] = [list(heading.anchors) for heading in headings]
    for piece in parsed.stream:
        if isinstance(piece, Piece) and piece.kind != "skip":
            pieces[_at(starts, piece.first)].append(piece)
    for target, shown, kind, line in parsed.links:
        place = _at(starts, line)
        links[place].append(Link(target, shown, kind, line - starts[place]))
    for anchor, line in parsed.anchors:
        anchors[_at(starts, line)].append(anchor)
    sections, places = [], []
    for place, (first, after) in enumerate(pairwise(starts)):
        heading = replace(headings[place], anchors=tuple(dict.fromkeys(anchors[place])))
        own = _shown(rows[first:after], sparse=parsed.rows is not None)
        if not place and len(headings) > 1 and not pieces[0] and not heading.anchors:
            continue  # nothing stands before the first heading
        reader = Reader(heading.slug, heading.title, first, capitals=capitals)
        items = reader.read(pieces[place])
        lines = range(end + 1) if parsed.lines is None else parsed.lines
        sections.append(
            Section(
                heading,
                own,
                tuple(
                    _block(piece, rows, first, sparse=parsed.rows is not None)
                    for piece in pieces[place]
                ),
                tuple(links[place]),
                tuple(_cues(heading.title, items, links[place])),
                tuple(_placed(item, first, lines) for item in items),
            )
        )
        last = max((at for at in range(first, after) if rows[at].strip()), default=first)
        places.append((lines[first] + 1, lines[last] + 1))
    return Document(
        parsed.format,
        _title(parsed, sections),
        parsed.front,
        tuple(sections),
        tuple(places),
        tuple(parsed.problems),
    )


def _placed(item: Item, first: int, lines: Sequence[int]) -> Item:
    """An item of the section that begins at a row, with its lines in the source."""
    start, end = (lines[min(first + line, len(lines) - 1)] for line in item.lines)
    placed = (start - lines[first], end - lines[first])
    return item if placed == item.lines else replace(item, lines=placed)


def _at(starts: Sequence[int], line: int) -> int:
    """The place of the section that a line stands in."""
    return min(max(bisect_right(starts, line) - 1, 0), len(starts) - 2)


def _headings(parsed: Parsed) -> tuple[list[Heading], list[int]]:
    """Every section's heading and first line; the first is what stands before any heading."""
    slugs = Slugs()
    headings = [Heading("", "", 0, "", ())]
    starts = [parsed.start]
    above: list[Heading] = []
    for head in parsed.stream:
        if not isinstance(head, Head):
            continue
        slug = slugs.take(head.title)
        if head.inner:
            parsed.anchors.append((slug, head.first))
            continue
        while above and above[-1].level >= head.level:
            above.pop()
        titles = (*(heading.title for heading in above), head.title)
        parent = above[-1].slug if above else ""
        heading = Heading(slug, head.title, head.level, parent, titles, head.anchors)
        above.append(heading)
        headings.append(heading)
        starts.append(max(head.first, starts[-1]))
    return headings, starts


def _title(parsed: Parsed, sections: Sequence[Section]) -> str:
    given = next((values[0] for key, values in parsed.front if key == "title" and values), "")
    if given:
        return given
    levels = [section.heading.level for section in sections if section.heading.level]
    top = min(levels, default=0)
    if levels.count(top) == 1:
        return next(section.title for section in sections if section.heading.level == top)
    return ""


def _shown(rows: Sequence[str], *, sparse: bool) -> str:
    """Lines as a text; those without tags stand far apart, where the source had tags only."""
    if sparse:
        return "\n\n".join(row for row in rows if row.strip())
    return "\n".join(rows).strip("\n").rstrip()


def _block(piece: Piece, rows: Sequence[str], first: int, *, sparse: bool) -> Block:
    kind: BlockKind = "paragraph" if piece.kind in _PARTS else piece.kind  # type: ignore[assignment]
    text = _shown(rows[piece.first : piece.last + 1], sparse=sparse)
    return Block(kind, text, (piece.first - first, piece.last - first), piece.info)


_PARTS = frozenset(("item", "row", "header", "cell", "definition", "skip"))


def _cues(title: str, items: Sequence[Item], links: Sequence[Link]) -> Iterator[Cue]:
    """The sentences that relate the section to others, each with the links on its lines."""
    whole = next((kind for kind, pattern in _TITLES if pattern.match(title)), None)
    if whole:
        for link in links:
            yield Cue(whole, link.text or link.target, (link.target,), link.line)
        return
    by_line: dict[int, list[Link]] = {}
    for link in links:
        by_line.setdefault(link.line, []).append(link)
    for item in items:
        if item.kind not in _CUE_KINDS:
            continue
        kind = next((kind for kind, pattern in _CUES if pattern.search(item.text)), None)
        if kind is None:
            continue
        near = [
            link
            for line in range(item.lines[0], item.lines[1] + 1)
            for link in by_line.get(line, ())
        ]
        targets = tuple(dict.fromkeys(link.target for link in near if link.text in item.text))
        # Other sections are often named without a link where precedence is stated.
        if targets or kind in ("overrides", "supersedes"):
            yield Cue(kind, item.text, targets, item.lines[0])
