"""What every document parser answers with: headings and pieces in the order of the source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ctxbuild.facts.document import BlockKind, LinkKind
from ctxbuild.model import Problem

PieceKind = BlockKind | Literal["item", "row", "header", "cell", "definition", "skip"]


class Head(NamedTuple):
    """A heading.

    Attributes:
        title: as plain text.
        first: its line in the file, from 0.
        last: its last line (an underline).
        anchors: identifiers that the source gives it, in order.
        inner: it stands inside a list or a quotation: it has a slug, but is no section.
    """

    title: str
    level: int
    first: int
    last: int
    anchors: tuple[str, ...] = ()
    inner: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """A block, or a part of one.

    Attributes:
        first: its first line in the file, from 0.
        last: its last line.
        text: paragraphs, cells and headers: the source of the inline text; code: the code.
        info: language of code, kind of an admonition, term of a definition.
        parts: items of lists, rows of tables, cells of rows, blocks of items and quotations.
    """

    kind: PieceKind
    first: int
    last: int
    text: str = ""
    info: str = ""
    parts: tuple[Piece, ...] = ()


class Found(NamedTuple):
    """A link, at a line of the file, from 0."""

    target: str
    text: str
    kind: LinkKind
    line: int


@dataclass(slots=True)
class Parsed:
    """One document as its parser saw it.

    Attributes:
        anchors: identifiers in the text, with their line in the file, from 0.
        rows: the lines that sections show where those of the source are not for
            readers (HTML); None for the source's own.
        lines: the line of the source behind each of these rows, from 0.
    """

    format: str
    front: tuple[tuple[str, tuple[str, ...]], ...] = ()
    start: int = 0
    stream: list[Head | Piece] = field(default_factory=list)
    links: list[Found] = field(default_factory=list)
    anchors: list[tuple[str, int]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    rows: list[str] | None = None
    lines: list[int] | None = None
