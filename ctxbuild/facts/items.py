"""Pieces of a section to typed items: constraints, facts, procedures, definitions, examples.

A sentence is one item, and a sentence with a keyword is a constraint of its own,
wherever it stands. What makes sense only as a whole (numbered steps, a definition,
a row of a table) is an item besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ctxbuild.facts.document import Item, ItemKind, Keyword
from ctxbuild.facts.modality import keywords, strongest
from ctxbuild.facts.pieces import Piece
from ctxbuild.facts.sentences import MARK, OPAQUE, SPACE, Joined, join, mask, split

_WORD = re.compile(r"\w")
_TERM = re.compile(
    rf"""[\s\-\u2013]{{0,3}}(?:
        (?P<marked>{MARK}+[^{MARK}]{{1,80}}{MARK}+|{OPAQUE}{{3,80}}|["\u201c][^"\u201c\u201d]{{1,80}}["\u201d])
        (?:\s?\([^()]{{0,60}}\))?
        (?:\s?{MARK}*[:\u2014\u2013]|\s-\s
            |{SPACE}(?:is|are|means?|refers{SPACE}to|denotes?|describes)(?!\w))
      | (?P<bare>[Tt]he{SPACE}term{SPACE}[^.,;:]{{1,60}}?|[A-Z][\w -]{{0,60}}?)
        {SPACE}(?:is{SPACE}defined{SPACE}as|are{SPACE}defined{SPACE}as|means?|refers{SPACE}to
            |denotes?|stands{SPACE}for)(?!\w)
    )""",
    re.VERBOSE,
)
_ENTRY = re.compile(r"[A-Z0-9`*$/].{0,90}[^\s.,;:!?\\(-]")
_AROUND = '*_`~"\u201c\u201d :'
_FORMATTING = re.compile(
    r"""(?<![\w-])(?:
        format(?:s|ted|ting)?|encoded|encoding|utf-?8|iso[ -]?8601|rfc[ ]?3339|base64
        |(?:in|as|valid)[ ](?:json|xml|yaml|csv|markdown)|camelcase|snake_case|kebab-case
        |pascalcase|title[ ]case|sentence[ ]case
        |lower-?case|upper-?case|capitali[sz]ed?|indent(?:ed|ation)?|spelled|spelling|italics?
        |in[ ]bold|punctuation|hyphenated|quotation[ ]marks|line[ ]length
        |characters[ ]long|(?:maximum|minimum)[ ]length|double-spaced
    )(?![\w-])""",
    re.VERBOSE | re.IGNORECASE,
)
_LAYOUT_TITLE = re.compile(
    r"(?<!\w)(?:formats?|formatting|styles?|conventions?|naming|layout|typography|spellings?)(?!\w)",
    re.IGNORECASE,
)
_RULES_TITLE = re.compile(
    r"(?<!\w)(?:rules?|styles?|conventions?|guidelines?|formatting|polic(?:y|ies)|don['\u2019]?ts?"
    r"|do not|prohibited|forbidden|voice|tone|requirements?|constraints?)(?!\w)",
    re.IGNORECASE,
)
_NONE_OF = re.compile(
    rf"[^\w]{{0,8}}(?P<word>No)(?:{SPACE}(?!(?:is|are|was|were|has|have|had|longer|one|matter|doubt"
    rf"|but|content|results?|response|answer|data|change)(?![\w-]))[\w{OPAQUE}'\u2019,/-]{{1,40}})"
    rf"{{1,8}}{MARK}*[.!]?{MARK}*",
)


class _Lead(NamedTuple):
    """The sentence that introduces what follows, with its keywords."""

    text: str = ""
    keywords: tuple[Keyword, ...] = ()

    @property
    def carried(self) -> tuple[Keyword, ...]:
        return tuple(replace(each, at=-1) for each in self.keywords)


_NO_LEAD = _Lead()


class _Sentence(NamedTuple):
    text: str
    masked: str
    line: int
    last: int
    keywords: tuple[Keyword, ...]


class Reader:
    """Reads the items of one section.

    Args:
        slug: the section's.
        title: its title, which says whether it is about formatting.
        first: its first line in the file, from 0.
        capitals: keywords count in capitals only.
    """

    def __init__(self, slug: str, title: str, first: int, *, capitals: bool) -> None:
        self._slug = slug
        self._title = title.casefold()
        self._first = first
        self._capitals = capitals
        self._layout = _LAYOUT_TITLE.search(title) is not None
        self._rules = _RULES_TITLE.search(title) is not None
        self._items: list[Item] = []
        self._block = 0

    def read(self, pieces: Sequence[Piece]) -> tuple[Item, ...]:
        """The items of the section's blocks, in order."""
        lead = _NO_LEAD
        for place, piece in enumerate(pieces):
            self._block = place
            lead = self._piece(piece, lead)
        return tuple(self._items)

    def _piece(self, piece: Piece, lead: _Lead) -> _Lead:
        """Adds a block's items; returns what it says of the next one."""
        match piece.kind:
            case "paragraph" | "cell" | "html":
                return self._paragraph(piece, lead)
            case "list":
                for item in piece.parts:
                    self._list_item(item, lead)
            case "steps":
                self._steps(piece, lead)
            case "table":
                self._table(piece)
            case "code":
                self._add("example", piece, piece.text, lead=lead.text, language=piece.info)
            case "definitions":
                for part in piece.parts:
                    self._definition(part)
            case _:
                return self._blocks(piece.parts, _NO_LEAD)
        return _NO_LEAD

    def _blocks(self, pieces: Sequence[Piece], lead: _Lead) -> _Lead:
        for piece in pieces:
            lead = self._piece(piece, lead)
        return lead

    # --- prose --------------------------------------------------------------------------

    def _sentences(self, piece: Piece) -> list[_Sentence]:
        joined = join(piece.text)
        masked = mask(joined.text)
        found = []
        for start, end in _entries(joined) if _is_list(piece) else split(masked):
            text, covered = joined.text[start:end], masked[start:end]
            if not _WORD.search(text):
                continue
            words = keywords(text, covered, capitals=self._capitals)
            line, last = joined.line(start), joined.line(end - 1)
            found.append(_Sentence(text, covered, piece.first + line, piece.first + last, words))
        return found

    def _paragraph(self, piece: Piece, lead: _Lead) -> _Lead:
        sentences = self._sentences(piece)
        # Entries are a list without markers: each stands under what introduces them.
        listed = len(sentences) > 1 and _is_list(piece)
        for place, sentence in enumerate(sentences):
            above = _NO_LEAD if place else _Lead(lead.text)
            self._sentence(sentence, lead if listed else above, place == 0)
        return _opening(sentences[-1]) if sentences else lead

    def _sentence(self, sentence: _Sentence, lead: _Lead, first: bool) -> None:
        words = sentence.keywords or lead.carried or self._ruled_out(sentence)
        term = self._term(sentence, first)
        kind: ItemKind = "fact"
        if words:
            kind = "constraint"
        elif term:
            kind = "definition"
        elif self._topic(sentence.text) and (self._layout or _FORMATTING.search(sentence.text)):
            kind = "formatting"
        self._append(
            kind, sentence.text, (sentence.line, sentence.last), words, lead=lead.text, term=term
        )

    def _ruled_out(self, sentence: _Sentence) -> tuple[Keyword, ...]:
        """What a short "No emojis." says where a section's title promises rules."""
        if self._capitals or not self._rules:
            return ()
        found = _NONE_OF.fullmatch(sentence.masked)
        return (Keyword("MUST NOT", found["word"], found.start("word")),) if found else ()

    def _term(self, sentence: _Sentence, first: bool) -> str:
        """What a sentence defines, "" if it defines nothing."""
        found = _TERM.match(sentence.masked)
        group = "marked" if found and found["marked"] else "bare"
        words = sentence.text[found.start(group) : found.end(group)] if found else ""
        # What a mask hides may also be an address or a tag.
        if found and (found[group][0] != OPAQUE or words[0] == "`"):
            bare = words.strip(_AROUND).removeprefix("The term ").removeprefix("the term ")
            return bare.strip(_AROUND)
        title = self._title
        if first and title and sentence.text[: len(title)].casefold() == title:
            following = sentence.text[len(title) :].split(" ", 2)[1:2]
            return sentence.text[: len(title)] if following in (["is"], ["are"]) else ""
        return ""

    def _topic(self, text: str) -> str:
        return "formatting" if self._layout or _FORMATTING.search(text) else ""

    # --- what consists of parts ---------------------------------------------------------

    def _list_item(self, item: Piece, lead: _Lead) -> None:
        below = lead
        for place, piece in enumerate(item.parts):
            if piece.kind != "paragraph":
                self._piece(piece, below)
                below = lead
                continue
            sentences = self._sentences(piece)
            for number, sentence in enumerate(sentences):
                # What a list is introduced by holds for what its items begin with;
                # what they add is said by themselves.
                above = lead if place == 0 and number == 0 else _NO_LEAD
                self._sentence(sentence, above, above is lead)
            if sentences:
                last = sentences[-1]
                below = _Lead(last.text, last.keywords or lead.keywords) if _opens(last) else lead

    def _steps(self, piece: Piece, lead: _Lead) -> None:
        words = lead.carried
        inner = [sentence for part in _prose(piece) for sentence in self._sentences(part)]
        if len(piece.parts) < 2:
            for item in piece.parts:
                self._list_item(item, lead)
            return
        self._add("procedure", piece, piece.text, words, lead=lead.text)
        for sentence in inner:
            self._constraint(sentence, lead.text)

    def _table(self, piece: Piece) -> None:
        header = next((part.text for part in piece.parts if part.kind == "header"), "")
        for row in piece.parts:
            if row.kind != "row":
                continue
            self._add("fact", row, row.text, lead=header)
            for place, cell in enumerate(row.parts):
                above = row.parts[0].text if place else header
                for sentence in self._sentences(cell):
                    self._constraint(sentence, " ".join(above.split()))

    def _definition(self, piece: Piece) -> None:
        self._add("definition", piece, piece.text, term=piece.info)
        for part in _prose(piece):
            for sentence in self._sentences(part):
                self._constraint(sentence, piece.info)
        for part in piece.parts:
            if part.kind == "code":
                self._add("example", part, part.text, lead=piece.info, language=part.info)

    def _constraint(self, sentence: _Sentence, lead: str) -> None:
        if sentence.keywords:
            lines = (sentence.line, sentence.last)
            self._append("constraint", sentence.text, lines, sentence.keywords, lead=lead)

    # --- items --------------------------------------------------------------------------

    def _add(
        self,
        kind: ItemKind,
        piece: Piece,
        text: str,
        words: tuple[Keyword, ...] = (),
        *,
        lead: str = "",
        term: str = "",
        language: str = "",
    ) -> None:
        if text.strip():
            lines = (piece.first, piece.last)
            self._append(kind, text, lines, words, lead=lead, term=term, language=language)

    def _append(
        self,
        kind: ItemKind,
        text: str,
        lines: tuple[int, int],
        words: tuple[Keyword, ...],
        *,
        lead: str = "",
        term: str = "",
        language: str = "",
    ) -> None:
        prose = kind in ("constraint", "fact", "formatting")
        self._items.append(
            Item(
                kind=kind,
                modality=strongest(words),
                text=text,
                section=self._slug,
                ordinal=len(self._items) + 1,
                lines=(lines[0] - self._first, lines[1] - self._first),
                block=self._block,
                keywords=words,
                lead=lead,
                term=term,
                language=language,
                topic="formatting" if prose and self._topic(text) else "",
            )
        )


def _is_list(piece: Piece) -> bool:
    """Whether the lines of a paragraph are entries: "GET /users - List users" is one.

    It begins like a sentence, and nothing at any line's end says that a sentence ends
    or goes on there.
    """
    rows = piece.text.split("\n")
    return len(rows) > 1 and all(_ENTRY.fullmatch(row.strip()) for row in rows)


def _entries(joined: Joined) -> list[tuple[int, int]]:
    """The lines of a text as spans."""
    ends = (*(at - 1 for at in joined.starts[1:]), len(joined.text))
    return list(zip(joined.starts, ends, strict=True))


def _opens(sentence: _Sentence) -> bool:
    return sentence.text.rstrip("*_ ").endswith((":", "\uff1a"))


def _opening(sentence: _Sentence) -> _Lead:
    """What a sentence says of the block after it: nothing, unless it ends with a colon."""
    return _Lead(sentence.text, sentence.keywords) if _opens(sentence) else _NO_LEAD


def _prose(piece: Piece) -> Iterator[Piece]:
    """The paragraphs and cells of a piece, at any depth."""
    if piece.kind in ("paragraph", "cell", "html"):
        yield piece
    for part in piece.parts:
        yield from _prose(part)
