"""What one document says: sections, blocks, links and typed items, as frozen dataclasses.

Lines inside a section are relative to it (its first line is 0), so that a section
that moves stays equal; where sections stand is kept apart, in `Document.places`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ctxbuild.model import Problem

BlockKind = Literal[
    "paragraph",
    "list",
    "steps",
    "table",
    "code",
    "quote",
    "admonition",
    "definitions",
    "html",
    "rule",
]
"""What a block is; `steps` is an ordered list."""

LinkKind = Literal["link", "image", "auto", "cross-reference", "include"]
"""How a link is written: with text (a reference link, too), as an image, bare, by an
identifier or a title, as the inclusion of a file."""

CueKind = Literal["see-also", "depends-on", "supersedes", "overrides"]
"""What a sentence says of another section."""

ItemKind = Literal["constraint", "fact", "procedure", "definition", "example", "formatting"]

Modality = Literal["MUST NOT", "MUST", "SHOULD NOT", "SHOULD", "MAY", ""]
"""How binding an item is, in the words of RFC 2119; "" where it says nothing of the kind."""

RANKS: dict[Modality, int] = {
    "MUST NOT": 0,
    "MUST": 1,
    "SHOULD NOT": 2,
    "SHOULD": 3,
    "MAY": 4,
    "": 5,
}
"""Modalities from the most binding to the least."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """One word that makes a sentence binding.

    Attributes:
        word: as the document spells it, on one line: "MUST NOT", "is required".
        at: where it begins in `Item.text`, in characters; -1 if it stands in `Item.lead`.
    """

    modality: Modality
    word: str
    at: int


@dataclass(frozen=True, slots=True)
class Item:
    """A typed statement, in the document's own words.

    A sentence with a keyword is an item of its own, whatever it stands in. What only
    makes sense whole (steps, a definition, a code block, a row of a table) is an item
    too, so that such a sentence may stand in two items of one block.

    Attributes:
        modality: the most binding of the keywords, "" without one.
        text: the source: sentences on one line with their markup, steps and code as they stand.
        section: slug of the section.
        ordinal: from 1, in the order of the section; with file and section the provenance.
        lines: first and last line, relative to the section.
        block: place of the block in `Section.blocks`.
        keywords: in the order of the text; those of the lead where the text has none.
        lead: the sentence that introduces it ("A client MUST:"), a table's header row, or "".
        term: of a definition: what is defined.
        language: of an example: its language, or "".
        topic: "formatting" if it says how something is to be written, laid out or encoded.
    """

    kind: ItemKind
    modality: Modality
    text: str
    section: str
    ordinal: int
    lines: tuple[int, int]
    block: int
    keywords: tuple[Keyword, ...] = ()
    lead: str = ""
    term: str = ""
    language: str = ""
    topic: Literal["", "formatting"] = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it is written; `graph/documents.py` says where it leads.

    Attributes:
        target: the destination with its fragment, "#id" for a cross-reference inside the file.
        text: what is shown for it.
        line: relative to the section.
    """

    target: str
    text: str
    kind: LinkKind
    line: int


@dataclass(frozen=True, slots=True)
class Cue:
    """A sentence that relates its section to others.

    Attributes:
        text: the sentence.
        targets: destinations of the links in it; without one the titles that it names count.
        line: relative to the section.
    """

    kind: CueKind
    text: str
    targets: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a section between blank lines, as it stands in the source.

    Attributes:
        lines: first and last line, relative to the section.
        info: the language of code, the kind of an admonition, or "".
    """

    kind: BlockKind
    text: str
    lines: tuple[int, int]
    info: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A section without its text: what navigation sees.

    Attributes:
        slug: unique in its document; "" for what stands before the first heading.
        title: as plain text.
        level: from 1 as in the source; 0 for what stands before the first heading.
        parent: slug of the section around it; "" at the top.
        titles: the titles from the outermost section down to its own.
        anchors: other identifiers that lead into it, in order.
    """

    slug: str
    title: str
    level: int
    parent: str
    titles: tuple[str, ...]
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its own text: down to the next heading, whatever that one's level.

    Attributes:
        text: the source, heading included, without blank lines at its end.
    """

    heading: Heading
    text: str
    blocks: tuple[Block, ...] = ()
    links: tuple[Link, ...] = ()
    cues: tuple[Cue, ...] = ()
    items: tuple[Item, ...] = ()

    @property
    def slug(self) -> str:
        """The heading's slug."""
        return self.heading.slug

    @property
    def title(self) -> str:
        """The heading's title."""
        return self.heading.title


@dataclass(frozen=True, slots=True)
class Document:
    """All facts of one document.

    Attributes:
        format: "markdown", "rst", "html", "asciidoc" or "text".
        title: of the front matter, else of the only heading at the top, else "".
        front: flat keys of the front matter, lower-case, in order; lists as several values.
        sections: in the order of the source.
        places: per section: first and last line in the file, from 1, both included.
    """

    format: str
    title: str = ""
    front: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sections: tuple[Section, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    problems: tuple[Problem, ...] = ()

    def meta(self, key: str) -> tuple[str, ...]:
        """The values of a key of the front matter, () without it."""
        return next((values for name, values in self.front if name == key), ())

    def section(self, slug: str) -> Section | None:
        """The section with a slug."""
        return next((section for section in self.sections if section.slug == slug), None)

    def lines_of(self, item: Item) -> tuple[int, int]:
        """First and last line of an item in the file, from 1."""
        for section, (first, _last) in zip(self.sections, self.places, strict=True):
            if section.slug == item.section:
                return first + item.lines[0], first + item.lines[1]
        return 0, 0
