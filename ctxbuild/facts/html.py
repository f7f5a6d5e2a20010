"""HTML to headings, pieces and links, by the standard library's parser.

Sections of HTML show their text without tags, a heading as `## Title`: tags cost
tokens and say nothing. Lines are those of the source.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

from ctxbuild.facts.markup import safe
from ctxbuild.facts.pieces import Found, Head, Parsed, Piece, PieceKind

_SILENT = frozenset(
    ["script", "style", "template", "noscript", "svg", "nav", "head", "iframe", "object", "form"]
)
_VOID = frozenset(
    [
        "br",
        "hr",
        "img",
        "input",
        "meta",
        "link",
        "area",
        "base",
        "col",
        "embed",
        "source",
        "track",
        "wbr",
    ]
)
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_HOLDERS: dict[str, PieceKind] = {
    "ul": "list",
    "menu": "list",
    "ol": "steps",
    "li": "item",
    "blockquote": "quote",
    "aside": "admonition",
    "table": "table",
    "tr": "row",
    "dl": "definitions",
    "dt": "header",
    "dd": "definition",
}
_CELLS = frozenset(("td", "th"))
_BLOCKS = frozenset(
    [
        "p",
        "div",
        "section",
        "article",
        "main",
        "header",
        "footer",
        "figure",
        "figcaption",
        "details",
        "summary",
        "address",
        "hr",
        "br",
    ]
)
# What a tag's start closes, as long as it is the innermost.
_CLOSES = {
    "li": ("li",),
    "dt": ("dt", "dd"),
    "dd": ("dt", "dd"),
    "tr": ("td", "th", "tr"),
    "td": ("td", "th"),
    "th": ("td", "th"),
}
_MARKS = {
    "code": "`",
    "kbd": "`",
    "samp": "`",
    "tt": "`",
    "strong": "**",
    "b": "**",
    "dfn": "**",
}
_DEEPEST = 60


@dataclass(slots=True)
class _Frame:
    tag: str
    kind: PieceKind
    first: int
    info: str = ""
    parts: list[Piece] = field(default_factory=list)


def parse(text: str) -> Parsed:
    """The headings, pieces and links of an HTML document."""
    parsed = Parsed("html")
    reader = _Reader(parsed, text.count("\n") + 1)
    reader.feed(safe(text))
    reader.finish()
    parsed.rows = ["\n".join(each) for each in reader.rows]
    parsed.lines = reader.lines
    return parsed


class _Reader(HTMLParser):
    def __init__(self, parsed: Parsed, lines: int) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[str]] = [[] for _ in range(lines)]
        self.lines: list[int] = []
        self._parsed = parsed
        # Blocks that share a line of the source get rows of their own, further down.
        self._moved = 0
        self._moves: list[tuple[int, int]] = []
        self._used = -1
        self._frames: list[_Frame] = []
        self._words: list[str] = []
        self._first = 0
        self._open = False
        self._silent: list[str] = []
        self._heading: tuple[str, int, tuple[str, ...]] | None = None
        self._pre: tuple[int, str] | None = None
        self._link: tuple[str, int, int] | None = None
        self._title = False

    def finish(self) -> None:
        """Closes what is open at the end."""
        self.close()
        self._flush()
        while self._frames:
            self._close_frame()
        self._grow(self._line)
        moves = [(0, 0), *self._moves, (len(self.rows), 0)]
        for (start, by), (end, _) in pairwise(moves):
            self.lines += range(start - by, end - by)

    @property
    def _line(self) -> int:
        """The row of the place that is read."""
        return self.getpos()[0] - 1 + self._moved

    def _fresh(self, line: int) -> int:
        """The row at which something begins: below all that is complete."""
        if self._frames or line > self._used:
            return line
        self._moved += self._used + 1 - line
        self._moves.append((self._used + 1, self._moved))
        return self._used + 1

    def _grow(self, line: int) -> None:
        self.rows += ([] for _ in range(line + 1 - len(self.rows)))

    # --- tags ---------------------------------------------------------------------------

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title" and not self._parsed.front:
            self._title, self._words = True, []
            return
        if tag in _SILENT or self._silent:
            if tag not in _VOID and tag in _SILENT:
                self._silent.append(tag)
            return
        given = {key: value or "" for key, value in attrs}
        identifiers = tuple(
            filter(None, (given.get("id"), given.get("name") if tag == "a" else ""))
        )
        if tag in _HEADINGS:
            self._flush()
            self._heading = (tag, self._fresh(self._line), identifiers)
            return
        self._parsed.anchors += [(each, self._line) for each in identifiers]
        if tag in _HOLDERS or tag in _CELLS:
            self._open_frame(tag, given)
        elif tag == "pre":
            self._flush()
            self._pre = (self._fresh(self._line), _language(given))
        elif tag in _BLOCKS:
            self._flush()
        else:
            self._inline(tag, given)

    def _inline(self, tag: str, given: dict[str, str]) -> None:
        match tag:
            case "a" if given.get("href"):
                self._link = (given["href"], self._line, len(self._words))
            case "img":
                link = Found(given.get("src", ""), given.get("alt", ""), "image", self._line)
                self._parsed.links.append(link)
            case "code" if self._pre is not None:
                self._pre = (self._pre[0], self._pre[1] or _language(given))
            case _ if self._pre is None:
                self._say(_MARKS.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if self._title and tag == "title":
            self._end_title()
        elif self._silent:
            if tag in self._silent:
                del self._silent[self._silent.index(tag) :]
        elif tag in _HEADINGS:
            self._end_heading()
        elif tag == "pre":
            self._end_code()
        elif tag == "a":
            self._end_link()
        elif tag in _HOLDERS or tag in _CELLS:
            self._end_frame(tag)
        elif tag in _BLOCKS:
            self._flush()
        elif self._pre is None:
            self._say(_MARKS.get(tag, ""))

    def _end_title(self) -> None:
        title = " ".join("".join(self._words).split())
        self._parsed.front = (("title", (title,)),) if title else ()
        self._title, self._words = False, []

    def _end_link(self) -> None:
        if self._link is not None:
            target, line, start = self._link
            shown = " ".join("".join(self._words[start:]).split())
            self._parsed.links.append(Found(target, shown, "link", line))
            self._link = None

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        self._say(data)

    def _say(self, data: str) -> None:
        if not self._open:
            self._first = self._line + data[: len(data) - len(data.lstrip())].count("\n")
            self._open = bool(data.strip())
            if self._open and self._heading is None and self._pre is None:
                self._first = self._fresh(self._first)
        self._words.append(data)

    # --- what is complete ---------------------------------------------------------------

    def _take(self) -> str:
        text = "".join(self._words)
        self._words, self._link, self._open = [], None, False
        return text

    def _flush(self) -> None:
        """Ends a paragraph."""
        if self._pre is not None or self._heading is not None:
            return
        first, text = self._first, self._take().strip()
        if text.strip("`* \n"):
            last = first + text.count("\n")
            self._put(Piece("paragraph", first, last, text))
            if not any(frame.tag in _CELLS for frame in self._frames):
                self._show(first, " ".join(text.split()))

    def _end_heading(self) -> None:
        if self._heading is None:
            return
        tag, line, anchors = self._heading
        self._heading = None
        title = " ".join(self._take().replace("**", "").split()).strip("`")
        inner = bool(self._frames)
        self._used = self._used if inner else max(line, self._line)
        self._parsed.stream.append(Head(title, int(tag[1]), line, self._line, anchors, inner))
        self._show(line, f"{'#' * int(tag[1])} {title}")

    def _end_code(self) -> None:
        if self._pre is None:
            return
        line, language = self._pre
        self._pre = None
        text = self._take().strip("\n")
        if text.strip():
            self._put(Piece("code", line, self._line, text, language))
            self._show(line, f"```{language}\n{text}\n```")

    def _show(self, line: int, text: str) -> None:
        frame = next((each for each in reversed(self._frames) if each.tag == "li"), None)
        self._grow(line)
        self.rows[line].append(f"- {text}" if frame else text)

    def _put(self, piece: Piece) -> None:
        if self._frames:
            self._frames[-1].parts.append(piece)
        else:
            self._parsed.stream.append(piece)
            self._used = max(self._used, piece.last)

    def _open_frame(self, tag: str, given: dict[str, str]) -> None:
        self._flush()
        closes = _CLOSES.get(tag, ())
        while self._frames and self._frames[-1].tag in closes:
            closed = self._frames[-1].tag
            self._close_frame()
            if closed == closes[-1]:
                break
        if len(self._frames) < _DEEPEST:
            first = self._fresh(self._line)
            kind: PieceKind = _HOLDERS.get(tag, "cell")
            info = given.get("class", "").split(" ")[0] if tag == "aside" else ""
            self._frames.append(_Frame(tag, kind, first, info))

    def _end_frame(self, tag: str) -> None:
        self._flush()
        if any(frame.tag == tag for frame in self._frames):
            while self._frames and self._frames[-1].tag != tag:
                self._close_frame()
            self._close_frame()

    def _close_frame(self) -> None:
        frame = self._frames.pop()
        parts, last = tuple(frame.parts), max(self._line, frame.first)
        if not parts:
            return
        text = "\n".join(part.text for part in parts)
        match frame.kind:
            case "cell":
                piece = Piece("cell", frame.first, last, text, frame.tag)
            case "row":
                head = all(part.info == "th" for part in parts)
                shown = f"| {' | '.join(' '.join(part.text.split()) for part in parts)} |"
                kind: PieceKind = "header" if head else "row"
                piece = Piece(kind, frame.first, last, shown, parts=parts)
                self._show(frame.first, shown)
            case "steps":
                numbered = (f"{at}. {part.text}" for at, part in enumerate(parts, 1))
                piece = Piece("steps", frame.first, last, "\n".join(numbered), parts=parts)
            case "item":
                piece = Piece("item", frame.first, last, text, parts=parts)
            case "definitions":
                piece = Piece("definitions", frame.first, last, parts=tuple(_defined(parts)))
            case _:
                piece = Piece(frame.kind, frame.first, last, text, frame.info, parts)
        self._put(piece)


def _defined(parts: tuple[Piece, ...]) -> list[Piece]:
    """Terms and what is said of them."""
    found: list[Piece] = []
    terms: list[Piece] = []
    said = False
    for part in parts:
        if part.kind == "header":
            terms = [part] if said else [*terms, part]
            said = False
        else:
            said = True
            term = ", ".join(each.text.strip("*`: ") for each in terms)
            first = terms[0].first if terms else part.first
            text = f"{term}: {part.text}" if term else part.text
            found.append(Piece("definition", first, part.last, text, term, part.parts))
    return found


def _language(given: dict[str, str]) -> str:
    names = given.get("class", "").split()
    marked = (name.removeprefix("language-") for name in names if name.startswith("language-"))
    return next(marked, "")
