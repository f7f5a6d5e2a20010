"""AsciiDoc and plain text by outline: headings, lists, code, tables and paragraphs, line by line.

There is no well-kept parser of AsciiDoc in Python. What a packet needs shows on
the surface: how lines begin, and what encloses them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ctxbuild.facts.pieces import Found, Head, Parsed, Piece, PieceKind

_TITLE = re.compile(r"(={1,6}|#{1,6})\s+(\S.{0,300}?)(?:\s+(?:=+|#+))?\s*\Z")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,}|~{3,}|\^{3,})\s*\Z")
_NUMBERED = re.compile(
    r"((?:\d{1,3}\.){1,6}|(?:\d{1,3}\.){1,5}\d{1,3}|[A-Z]\.(?:\d{1,3}\.?)*)\s+(\S.{0,90})\Z"
)
_SHOUTED = re.compile(r"[A-Z][A-Z0-9 ,&/'-]{2,70}\Z")
_ATTRIBUTE = re.compile(r":([\w-]{1,60})!?:(?:\s+(.{0,400}))?\Z")
_ANCHOR = re.compile(
    r"\[\[([\w:.-]{1,120})(?:,[^\]]{0,200})?\]\]|\[#([\w:.-]{1,120})[^\]]{0,200}\]"
)
_BLOCK = re.compile(r"\[([A-Za-z%.][\w, =\"%.*<>^+|-]{0,200})\]\s*\Z")
_CELLS = re.compile(r"\s*(?:\d{0,3}(?:\.\d{1,3})?[+*])?[<^>.]{0,4}[a-z]?\|")
_CELL_END = re.compile(r"(?<!\\)\|")
_COLUMNS = re.compile(r"cols=(?:\"([^\"]{1,150})\"|([\w*]{1,20}))")
_ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):\s+")
_FENCES = ("----", "....", "```", "~~~", "++++")
_BOXES = ("====", "****", "____", "--")
_BREAKS = ("|===", "====", "****", "____", "include::", "//")
_BULLET = re.compile(r"\s{0,8}(?:[*-]{1,5}|[•◦o])\s+(?=\S)")
_STEP = re.compile(r"\s{0,8}(?:\.{1,5}|\d{1,3}[.)]|[a-z][.)]|\(\d{1,3}\))\s+(?=\S)")
_TERM = re.compile(r"(\S.{0,120}?):{2,4}(?:\s+(.{0,2000}))?\Z")
_PAGE = re.compile(r"\f|.*\[Page \d{1,4}\]\s*\Z")
_LINKS = re.compile(
    r"""(?:link|xref):(?P<target>[^\s\[\]]{1,400})\[(?P<shown>[^\[\]]{0,200})\]
        | <<(?P<id>[^<>,\s]{1,200})(?:,(?P<words>[^<>]{1,200}))?>>
        | (?P<auto>https?://[^\s\[\]<>]{1,1000})(?:\[(?P<named>[^\[\]]{0,200})\])?
        | image:{1,2}(?P<image>[^\s\[\]]{1,400})\[
        | include::(?P<include>[^\s\[\]]{1,400})\[""",
    re.VERBOSE,
)


def parse(text: str, *, plain: bool) -> Parsed:
    """The headings, pieces and links of a document.

    Args:
        text: the source.
        plain: it is plain text: titles are also underlined, numbered or shouted, and
            nothing is a link but an address.
    """
    rows = text.split("\n")
    parsed = Parsed("text" if plain else "asciidoc")
    _Reader(parsed, rows, plain=plain).read()
    return parsed


class _Reader:
    def __init__(self, parsed: Parsed, rows: Sequence[str], *, plain: bool) -> None:
        self._parsed = parsed
        self._rows = rows
        self._plain = plain
        self._at = 0
        self._pending: list[str] = []
        self._style = ""
        # The last place of each line, so that no end is sought where there is none.
        self._lasts: dict[str, int] = {}

    def read(self) -> None:
        while self._at < len(self._rows):
            self._next()
        if not self._plain:
            self._front()

    # --- lines --------------------------------------------------------------------------

    def _next(self) -> None:
        row = self._rows[self._at]
        if not row.strip() or (self._plain and _PAGE.match(row)):
            self._at += 1
            return
        head = self._heading()
        if head is not None:
            self._parsed.stream.append(head)
            self._at = head.last + 1
            self._style = ""
            return
        if not self._plain and self._noted(row):
            self._at += 1
            return
        first = self._at
        piece = self._enclosed(row) or self._block()
        if piece is not None:
            self._parsed.stream.append(piece)
            self._parsed.anchors += [(each, first) for each in self._pending]
            self._pending = []
        self._style = ""

    def _noted(self, row: str) -> bool:
        """Whether a line says something of what follows and is no text itself."""
        anchor = _ANCHOR.match(row)
        if anchor:
            self._pending.append(anchor[1] or anchor[2])
            return True
        block = _BLOCK.match(row)
        if block:
            self._style = block[1].lower()
            return True
        include = row.startswith("include::")
        if include:
            self._links(row, self._at)
        return include or row.startswith("//") or _ATTRIBUTE.match(row) is not None

    def _heading(self) -> Head | None:
        row = self._rows[self._at]
        found = _TITLE.match(row)
        if found and (self._plain or found[1][0] == "="):
            return self._head(found[2], len(found[1]), self._at)
        following = self._rows[self._at + 1] if self._at + 1 < len(self._rows) else ""
        if not self._plain:
            return None
        alone = self._alone(following)
        if self._underlined(row, following):
            return self._head(row.strip(), 1 if following[0] == "=" else 2, self._at + 1)
        numbered = _NUMBERED.match(row)
        if numbered and alone and not numbered[2].rstrip().endswith((".", ",", ";", ":")):
            depth = len([part for part in numbered[1].split(".") if part])
            return self._head(row.strip(), depth, self._at)
        if alone and _SHOUTED.match(row) and row.upper() == row:
            return self._head(row.strip(), 1, self._at)
        return None

    @staticmethod
    def _underlined(row: str, following: str) -> bool:
        """Whether the next line is as long as this one and of punctuation."""
        near = abs(len(following.rstrip()) - len(row.rstrip())) <= 3
        return bool(row[0].strip() and near and _UNDERLINE.match(following) and len(row) < 120)

    def _alone(self, following: str) -> bool:
        """Whether a line stands between blank ones."""
        return not following.strip() and (not self._at or not self._rows[self._at - 1].strip())

    def _head(self, title: str, level: int, last: int) -> Head:
        anchors = tuple(self._pending)
        self._pending = []
        return Head(" ".join(title.split()), level, self._at, last, anchors)

    def _front(self) -> None:
        """The attributes below the title."""
        values = []
        started = False
        for row in self._rows[:200]:
            found = _ATTRIBUTE.match(row)
            if found:
                values.append((found[1].lower(), (found[2] or "",)))
            elif started and not row.strip():
                break
            started = started or bool(row.strip())
        self._parsed.front = tuple(values)

    # --- blocks -------------------------------------------------------------------------

    def _enclosed(self, row: str) -> Piece | None:
        """A block between two equal lines."""
        mark = row.strip()
        if mark.startswith("|==="):
            return self._table(mark)
        fence = next((each for each in _FENCES if mark.startswith(each)), "")
        box = next(
            (each for each in _BOXES if mark.startswith(each) and not mark.strip(each[0])), ""
        )
        if not fence and not (box and not self._plain):
            return None
        first = self._at
        if self._plain and fence not in ("```", "~~~"):
            return None
        closing = mark if not fence else mark[: len(mark) - len(mark.lstrip(mark[0]))]
        last = self._closing(first, closing)
        if last is None:
            return None
        self._at = last + 1
        if not fence:
            inside = _Reader(Parsed(""), self._rows[first + 1 : last], plain=False)
            inside.read()
            parts = tuple(
                _moved(each, first + 1) for each in inside._parsed.stream if isinstance(each, Piece)
            )
            self._parsed.links += [
                each._replace(line=each.line + first + 1) for each in inside._parsed.links
            ]
            kind = "admonition" if self._style.upper() in _KINDS else "quote"
            info = self._style if kind == "admonition" else ""
            return Piece(kind, first, last, "", info, parts)  # type: ignore[arg-type]
        code = "\n".join(self._rows[first + 1 : last])
        named = [part.strip() for part in self._style.split(",")]
        language = named[1] if len(named) > 1 and named[0] == "source" else mark[len(closing) :]
        return Piece("code", first, last, code, language.strip())

    def _closing(self, first: int, closing: str) -> int | None:
        if not self._lasts:
            self._lasts = {row.strip(): at for at, row in enumerate(self._rows)}
        if self._lasts.get(closing, first) <= first:
            return None
        return next(
            at for at in range(first + 1, len(self._rows)) if self._rows[at].strip() == closing
        )

    def _table(self, mark: str) -> Piece | None:
        first = self._at
        last = self._closing(first, mark)
        if last is None:
            return None
        self._at = last + 1
        self._links("\n".join(self._rows[first + 1 : last]), first + 1)
        lines: list[list[Piece]] = []
        for at in range(first + 1, last):
            row = self._rows[at]
            start = _CELLS.match(row)
            if start:
                cells = _CELL_END.split(row[start.end() :])
                lines.append([Piece("cell", at, at, cell.strip()) for cell in cells])
            elif row.strip() and lines:
                cell = lines[-1][-1]
                text = f"{cell.text}\n{row.strip()}"
                lines[-1][-1] = Piece("cell", cell.first, at, text)
        return Piece("table", first, last, parts=tuple(self._table_rows(lines)))

    def _table_rows(self, lines: list[list[Piece]]) -> Iterator[Piece]:
        """Cells to rows: as many in each as the table has columns, on however many lines."""
        if not lines:
            return
        columns = _columns(self._style) or self._first_row(lines)
        cells = [cell for line in lines for cell in line]
        after = cells[0].last + 1
        blank = len(lines[0]) == columns and not self._rows[after].strip()
        for at in range(0, len(cells), columns):
            row = tuple(cells[at : at + columns])
            text = f"| {' | '.join(' '.join(cell.text.split()) for cell in row)} |"
            head = not at and (blank or "header" in self._style)
            kind: PieceKind = "header" if head else "row"
            yield Piece(kind, row[0].first, row[-1].last, text, parts=row)

    def _first_row(self, lines: list[list[Piece]]) -> int:
        """How many columns a table has that does not say it: the cells down to a blank line."""
        if len(lines[0]) > 1:
            return len(lines[0])
        count, after = 0, lines[0][0].first
        for line in lines:
            if any(not row.strip() for row in self._rows[after : line[0].first]):
                break
            count, after = count + len(line), line[-1].last + 1
        return count if count < len(lines) else 1

    def _block(self) -> Piece | None:
        """The lines down to the next blank one (a list: down to where it ends)."""
        first = self._at
        row = self._rows[first]
        if self._marker(row):
            return self._list()
        term = None if self._plain else _TERM.match(row)
        last = first
        while last + 1 < len(self._rows) and self._goes_on(last + 1):
            last += 1
        self._at = last + 1
        text = "\n".join(self._rows[first : last + 1])
        self._links(text, first)
        if term:
            return self._defined(term, first, last, text)
        admonition = None if self._plain else _ADMONITION.match(row)
        if admonition:
            inner = Piece("paragraph", first, last, text[admonition.end() :])
            return Piece("admonition", first, last, "", admonition[1].lower(), (inner,))
        if self._style.upper() in _KINDS:
            part = Piece("paragraph", first, last, text)
            return Piece("admonition", first, last, "", self._style, (part,))
        return Piece("paragraph", first, last, text)

    def _goes_on(self, at: int) -> bool:
        row = self._rows[at]
        if not row.strip() or row.strip().startswith(_FENCES) or (self._plain and _PAGE.match(row)):
            return False
        if not self._plain and (row.startswith(_BREAKS) or _BLOCK.match(row) or _ANCHOR.match(row)):
            return False
        return not self._marker(row)

    @staticmethod
    def _marker(row: str) -> re.Match[str] | None:
        return _BULLET.match(row) or _STEP.match(row)

    def _list(self) -> Piece:
        """Items that follow each other, whatever stands blank between them."""
        first = self._at
        steps = _STEP.match(self._rows[first]) is not None
        starts: list[int] = []
        last = first
        at = first
        margin = _margin(self._rows[first])
        while at < len(self._rows):
            row = self._rows[at]
            if row.strip() == "+":
                last = at = self._joined(at)
            elif not row.strip():
                after = self._rows[at + 1] if at + 1 < len(self._rows) else ""
                if not after.strip() or not (
                    self._same(after, margin, steps=steps) or _margin(after) > margin
                ):
                    break
            elif self._same(row, margin, steps=steps):
                starts.append(at)
                last = at
            elif row.strip().startswith((*_FENCES, *_BREAKS)) or (
                self._marker(row) and _margin(row) <= margin
            ):
                break
            else:
                last = at
            at += 1
        self._at = last + 1
        items = [self._item(start, end - 1) for start, end in pairwise([*starts, last + 1])]
        rows = self._rows[first : last + 1]
        text = "\n".join(row[margin:] for row in rows)
        return Piece("steps" if steps else "list", first, last, text, parts=tuple(items))

    def _joined(self, at: int) -> int:
        """The last line of what a plus sign joins to an item: a paragraph."""
        while at + 1 < len(self._rows) and self._rows[at + 1].strip() and self._goes_on(at + 1):
            at += 1
        return at

    def _same(self, row: str, margin: int, *, steps: bool) -> bool:
        pattern = _STEP if steps else _BULLET
        return _margin(row) == margin and pattern.match(row) is not None

    def _item(self, first: int, last: int) -> Piece:
        marker = self._marker(self._rows[first])
        rows = [
            self._rows[first][marker.end() if marker else 0 :],
            *self._rows[first + 1 : last + 1],
        ]
        self._links("\n".join(rows), first)
        parts = tuple(_paragraphs(rows, first))
        return Piece("item", first, last, parts=parts)

    def _defined(self, term: re.Match[str], first: int, last: int, text: str) -> Piece:
        rest = text[text.find("::") :].lstrip(":")
        body = Piece("paragraph", first, last, rest.lstrip(" "))
        parts = (body,) if rest.strip() else ()
        found = Piece("definition", first, last, text, term[1].strip("*_` "), parts)
        return Piece("definitions", first, last, parts=(found,))

    def _links(self, text: str, first: int) -> None:
        for found in _LINKS.finditer(text) if "[" in text or "<<" in text or "://" in text else ():
            line = first + text.count("\n", 0, found.start())
            link = _link(found, line)
            if not self._plain or link.kind == "auto":
                self._parsed.links.append(link)


_KINDS = frozenset(("NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"))


def _columns(style: str) -> int:
    """The number of columns that an attribute such as `cols="1,3*"` states, 0 without one."""
    found = _COLUMNS.search(style)
    if not found:
        return 0
    given = [part.strip() for part in (found[1] or found[2]).split(",")]
    if len(given) == 1 and given[0].isdigit():
        return min(int(given[0]), 100)
    repeats = (part.partition("*")[0] for part in given if "*" in part)
    more = sum(min(int(each), 100) - 1 for each in repeats if each.isdigit() and int(each))
    return len(given) + more


def _link(found: re.Match[str], line: int) -> Found:
    if found["id"]:
        target = found["id"] if "#" in found["id"] else f"#{found['id']}"
        return Found(target, (found["words"] or found["id"]).strip(), "cross-reference", line)
    if found["auto"]:
        return Found(found["auto"].rstrip(".,;:)"), found["named"] or found["auto"], "auto", line)
    if found["image"]:
        return Found(found["image"], "", "image", line)
    if found["include"]:
        return Found(found["include"], "", "include", line)
    target = found["target"]
    if found[0].startswith("xref:") and "#" not in target and "." not in target:
        target = f"#{target}"
    return Found(target, found["shown"] or target, "link", line)


def _paragraphs(rows: Sequence[str], first: int) -> Iterator[Piece]:
    """The paragraphs and the list inside an item."""
    start = 0
    for at in range(len(rows) + 1):
        ends = (
            at == len(rows)
            or rows[at].strip() in ("", "+")
            or (at > start and _BULLET.match(rows[at]))
        )
        if ends:
            if at > start and "".join(rows[start:at]).strip():
                text = "\n".join(rows[start:at])
                marker = _BULLET.match(text) if start else None
                part = Piece(
                    "paragraph",
                    first + start,
                    first + at - 1,
                    text[marker.end() :] if marker else text,
                )
                yield (
                    part
                    if not marker
                    else Piece(
                        "list",
                        part.first,
                        part.last,
                        parts=(Piece("item", part.first, part.last, parts=(part,)),),
                    )
                )
            start = at if at < len(rows) and rows[at].strip() not in ("", "+") else at + 1


def _moved(piece: Piece, by: int) -> Piece:
    parts = tuple(_moved(each, by) for each in piece.parts)
    return Piece(piece.kind, piece.first + by, piece.last + by, piece.text, piece.info, parts)


def _margin(row: str) -> int:
    return len(row) - len(row.lstrip())
