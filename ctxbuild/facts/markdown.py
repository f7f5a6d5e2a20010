"""Markdown to headings, pieces and links: CommonMark with what GitHub, MkDocs and others add.

markdown-it-py says what is a block and what a link. Beyond CommonMark: tables,
definition lists, admonitions (`> [!NOTE]`, `!!! note`, `:::note`), attributes and
references of kramdown (`{: #id}`, `{{id}}`), roles of MyST, wiki links, HTML, MDX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ctxbuild.facts import front
from ctxbuild.facts.markup import Tags, read_tags
from ctxbuild.facts.pieces import Found, Head, Parsed, Piece
from ctxbuild.model import Problem

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LONGEST = 20_000  # characters of a paragraph whose links are read
_MOST_BRACKETS = 1_000  # each `[` is tried as a link up to the end of its paragraph

_FENCE = re.compile(r" {0,3}(?:>[ ]?)*(`{3,}(?=[^`]*\Z)|~{3,})")
_ATTRIBUTES = re.compile(r"\s*\{:([^{}]{0,400})\}\s*\Z")
_EXTENSION = re.compile(r"\s{0,3}\{:{1,2}/?[a-z]{0,20}(?:\s[^{}]{0,200})?/?\}\s*\Z")
_PART = re.compile(r"--- (?:abstract|middle|back|note_[\w-]+)\s*\Z")
_MODULE = re.compile(r"(?:import\s.{0,400}['\"];?|export\s(?:const|default|function)\s.*)\Z")
_HEAD_ID = re.compile(r"\s*\{:?\s*#([\w:.-]+)[^{}]{0,200}\}\s*\Z")
_ID = re.compile(r"#([\w:.-]+)")
_ALERT = re.compile(r"\[!([A-Za-z]{2,20})\][ \t]*(?:\n|\Z)")
_REFERENCES = re.compile(
    r"""\{\{[?!<]{0,2}(?:Section[ ](?P<part>[\w.]{1,20})[ ]of[ ])?[?!]?(?P<name>[\w.:-]{1,120})
            (?:=[^{}]{0,120})?\}\}
        | (?<!!)\[\[(?P<page>[^\[\]|\#]{0,120})(?P<within>\#[^\[\]|]{1,120})?
            (?:\|(?P<shown>[^\[\]]{1,120}))?\]\]
        | \{(?P<role>ref|doc|numref|term)\}`(?:(?P<words>[^`<]{1,120})<)?(?P<label>[^`<>]{1,120})>?`
    """,
    re.VERBOSE,
)


# Tags of components: what stands between them is text like any other.
_COMPONENT = re.compile(
    r"(?P<code>(?P<ticks>`{1,5}).{0,500}?(?P=ticks))|</?[A-Z][\w.]{0,60}(?:\s[^<>]{0,300})?/?>"
)
_LEADS = re.compile(r"\s(?:href|to)=[\"']([^\"'<>]{1,300})[\"']")


@cache
def _parser(*, mdx: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.admon import admon_plugin
    from mdit_py_plugins.container import container_plugin
    from mdit_py_plugins.deflist import deflist_plugin

    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    parser.use(deflist_plugin).use(admon_plugin)
    parser.use(container_plugin, "box", marker=":", validate=lambda *_: True)
    if mdx:
        parser.disable("code")  # what is indented in MDX belongs to a component
    # Targets stay as they are written; nothing is rendered.
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.validateLink = lambda url: True  # type: ignore[method-assign] # noqa: ARG005
    return parser


def parse(text: str, *, mdx: bool = False) -> Parsed:
    """The headings, pieces and links of a Markdown document."""
    rows = text.split("\n")
    head = front.read(rows)
    parsed = Parsed("markdown", head.values, head.after)
    source = _prepared(rows, parsed, mdx=mdx)
    env: dict[str, Any] = {}
    tokens = _parser(mdx=mdx).parse("\n".join(source), env)
    shown = source if mdx else rows  # without the tags of components
    _Reader(parsed, shown, _parser(mdx=mdx), env).read(_tree(tokens))
    return parsed


def _prepared(rows: Sequence[str], parsed: Parsed, *, mdx: bool) -> list[str]:
    """The source with lines blanked that are no text but would be taken for it."""
    found = [""] * parsed.start
    fence = ""
    for at in range(parsed.start, len(rows)):
        row = rows[at]
        marked = _FENCE.match(row)
        if fence:
            if marked and marked[1].startswith(fence) and not row[marked.end() :].strip():
                fence = ""
        elif marked:
            fence = marked[1]
        elif "{:" in row or row.startswith("--- ") or mdx:
            attributes = _ATTRIBUTES.match(row)
            if attributes:
                parsed.anchors += [(each, at) for each in _ID.findall(attributes[1])]
                row = ""
            elif _PART.match(row) or _EXTENSION.match(row) or (mdx and _MODULE.match(row)):
                row = ""
            elif mdx and "<" in row:
                row = _without_components(row, at, parsed)
        found.append(row)
    return found


def _without_components(row: str, at: int, parsed: Parsed) -> str:
    """A line without the tags of components; where they lead is noted."""
    for found in _COMPONENT.finditer(row):
        led = None if found["code"] else _LEADS.search(found[0])
        if led:
            parsed.links.append(Found(led[1], "", "link", at))
    return _COMPONENT.sub(lambda found: found["code"] or "", row)


class _Node:
    """A token with what stands inside it."""

    __slots__ = ("parts", "token")

    def __init__(self, token: Token | None) -> None:
        self.token = token
        self.parts: list[_Node] = []

    @property
    def kind(self) -> str:
        """The token's type without `_open`."""
        return self.token.type.removesuffix("_open") if self.token else ""


def _tree(tokens: Sequence[Token]) -> _Node:
    root = _Node(None)
    above = [root]
    for token in tokens:
        if token.nesting < 0:
            above.pop()
            continue
        node = _Node(token)
        above[-1].parts.append(node)
        if token.nesting > 0:
            above.append(node)
    return root


class _Reader:
    def __init__(
        self, parsed: Parsed, rows: Sequence[str], parser: MarkdownIt, env: dict[str, Any]
    ) -> None:
        self._parsed = parsed
        self._rows = rows
        self._parser = parser
        self._env = env

    def read(self, root: _Node) -> None:
        for node in root.parts:
            self._parsed.stream += self._blocks(node, 0)

    # --- blocks -------------------------------------------------------------------------

    def _blocks(self, node: _Node, depth: int) -> Iterator[Head | Piece]:
        if node.kind == "heading":
            head = self._heading(node, depth)
            if not depth:
                yield head
            else:
                # The reader of sections numbers it; as text it stays where it is.
                self._parsed.stream.append(head)
                yield Piece("paragraph", head.first, head.last, head.title)
            return
        if node.kind == "html_block":
            yield from self._html(node, depth)
            return
        piece = self._piece(node, depth)
        if piece is not None:
            yield piece

    def _inner(self, node: _Node, depth: int) -> tuple[Piece, ...]:
        parts = [part for each in node.parts for part in self._blocks(each, depth + 1)]
        return tuple(part for part in parts if isinstance(part, Piece))

    def _piece(self, node: _Node, depth: int) -> Piece | None:
        first, last = self._lines(node)
        match node.kind:
            case "paragraph":
                return self._paragraph(node, first, last)
            case "fence" | "code_block":
                return self._code(node, first, last)
            case "bullet_list":
                return Piece("list", first, last, parts=self._items(node, depth))
            case "ordered_list":
                text = self._source(first, last)
                return Piece("steps", first, last, text, parts=self._items(node, depth))
            case "blockquote":
                return self._quote(node, first, last, depth)
            case "admonition" | "container_box":
                return Piece("admonition", first, last, "", _box(node), self._inner(node, depth))
            case "admonition_title":
                inline = node.parts[0].token if node.parts else None
                given = inline is not None and inline.content.lower() in self._rows[first].lower()
                return Piece("paragraph", first, first, self._inline(node)) if given else None
            case "table":
                return Piece("table", first, last, parts=tuple(self._table_rows(node)))
            case "dl":
                return Piece("definitions", first, last, parts=tuple(self._terms(node, depth)))
        return Piece("rule", first, last) if node.kind == "hr" else None

    def _paragraph(self, node: _Node, first: int, last: int) -> Piece:
        text = self._inline(node)
        # A comment of MDX, an instruction of a template.
        silent = text.startswith(("{/*", "{%"))
        return Piece("skip" if silent else "paragraph", first, last, text)

    def _code(self, node: _Node, first: int, last: int) -> Piece:
        assert node.token is not None
        info = node.token.info.strip().split(" ", 1)[0].strip("{}").lstrip(".")
        return Piece("code", first, last, node.token.content.rstrip("\n"), info.split(",")[0])

    def _items(self, node: _Node, depth: int) -> tuple[Piece, ...]:
        items = []
        for each in node.parts:
            first, last = self._lines(each)
            items.append(Piece("item", first, last, parts=self._inner(each, depth)))
        return tuple(items)

    def _quote(self, node: _Node, first: int, last: int, depth: int) -> Piece:
        parts = self._inner(node, depth)
        alert = _ALERT.match(parts[0].text) if parts and parts[0].kind == "paragraph" else None
        if alert is None:
            return Piece("quote", first, last, parts=parts)
        top = parts[0]
        rest = Piece("paragraph", top.first + 1, top.last, top.text[alert.end() :])
        body = (rest, *parts[1:]) if rest.text.strip() else parts[1:]
        return Piece("admonition", first, last, "", alert[1].lower(), body)

    def _table_rows(self, node: _Node) -> Iterator[Piece]:
        for part in node.parts:
            for row in part.parts:
                first, _ = self._lines(row)
                cells = tuple(Piece("cell", first, first, self._inline(cell)) for cell in row.parts)
                kind = "header" if part.kind == "thead" else "row"
                text = self._rows[first].strip().lstrip("> ") if first < len(self._rows) else ""
                yield Piece(kind, first, first, text, parts=cells)  # type: ignore[arg-type]

    def _terms(self, node: _Node, depth: int) -> Iterator[Piece]:
        terms: list[tuple[str, int]] = []
        said = False
        for part in node.parts:
            first, last = self._lines(part)
            if part.kind == "dt":
                above = [] if said else terms
                terms = [*above, (" ".join(self._inline(part).split()), first)]
                said = False
                continue
            said = True
            start = terms[0][1] if terms else first
            term = ", ".join(term.rstrip(":").strip("*_`") for term, _ in terms)
            text = self._source(start, last)
            yield Piece("definition", start, last, text, term, self._inner(part, depth))

    def _lines(self, node: _Node) -> tuple[int, int]:
        """First and last line of a block, blank lines at its end left out."""
        token = node.token
        if token is None or token.map is None:
            return 0, 0
        first, after = token.map
        last = min(max(after, first + 1), len(self._rows)) - 1
        while last > first and not self._rows[last].strip():
            last -= 1
        return first, last

    def _source(self, first: int, last: int) -> str:
        """Lines as they stand, moved to the margin of the first."""
        rows = self._rows[first : last + 1]
        margin = len(rows[0]) - len(rows[0].lstrip()) if rows else 0
        return "\n".join(
            row[margin:] if not row[:margin].strip() else row.lstrip() for row in rows
        ).rstrip()

    # --- text ---------------------------------------------------------------------------

    def _heading(self, node: _Node, depth: int) -> Head:
        assert node.token is not None
        first, last = self._lines(node)
        content = node.parts[0].token.content if node.parts and node.parts[0].token else ""
        given = _HEAD_ID.search(content[-600:])
        if given:
            content = content[: content.rindex("{")].rstrip()
        title = " ".join(self._links(content, first).split())
        anchors = (given[1],) if given else ()
        return Head(title, int(node.token.tag[1:]), first, last, anchors, inner=depth > 0)

    def _inline(self, node: _Node) -> str:
        """The source of a block's text; its links and anchors are noted."""
        texts = []
        for part in node.parts:
            if part.token is not None and part.token.type == "inline":
                first = part.token.map[0] if part.token.map else self._lines(node)[0]
                self._links(part.token.content, first)
                texts.append(part.token.content)
        return "\n".join(texts)

    def _links(self, content: str, first: int) -> str:
        """Notes the links of a text; returns it without markup."""
        if not any(mark in content for mark in "[<{`*_\\&"):
            return content
        if len(content) > _LONGEST or content.count("[") > _MOST_BRACKETS:
            problem = Problem("too-large", f"line {first + 1}: its links are not read")
            self._parsed.problems.append(problem)
            return content
        for found in _REFERENCES.finditer(content):
            line = first + content.count("\n", 0, found.start())
            self._parsed.links.append(_reference(found, line))
        tokens: list[Token] = []
        self._parser.inline.parse(content, self._parser, self._env, tokens)
        return self._walk(tokens, first)

    def _walk(self, tokens: Sequence[Token], line: int) -> str:
        shown: list[str] = []
        opened: tuple[str, int, int, bool] | None = None
        for token in tokens:
            match token.type:
                case "softbreak" | "hardbreak":
                    line += 1
                    shown.append(" ")
                case "link_open":
                    target = str(token.attrs.get("href", ""))
                    opened = (target, len(shown), line, token.info == "auto")
                case "link_close" if opened:
                    target, start, at, auto = opened
                    text = "".join(shown[start:])
                    kind = "auto" if auto else "link"
                    self._parsed.links.append(Found(target, text, kind, at))  # type: ignore[arg-type]
                    opened = None
                case "image":
                    target = str(token.attrs.get("src", ""))
                    self._parsed.links.append(Found(target, token.content, "image", line))
                case "html_inline":
                    tags = read_tags(token.content)
                    self._parsed.anchors += [(anchor, line) for anchor, _ in tags.anchors]
                    self._parsed.links += [each._replace(line=line) for each in tags.links]
                case "text" | "code_inline" | "text_special":
                    shown.append(token.content)
        return "".join(shown)

    # --- HTML ---------------------------------------------------------------------------

    def _html(self, node: _Node, depth: int) -> Iterator[Head | Piece]:
        """A block of HTML: its headings are headings, its text is text."""
        first, last = self._lines(node)
        tags = read_tags("\n".join(self._rows[first : last + 1]))
        self._note(tags, first)
        if tags.headings and not depth:
            for level, title, at, anchors in tags.headings:
                yield Head(title, level, first + at, first + at, anchors)
        text = tags.text.strip("\n")
        if not text.strip():
            if not tags.headings:
                yield Piece("html" if tags.names else "skip", first, last)
        else:
            yield Piece("html", first, last, text)

    def _note(self, tags: Tags, first: int) -> None:
        self._parsed.anchors += [(anchor, first + at) for anchor, at in tags.anchors]
        self._parsed.links += [each._replace(line=first + each.line) for each in tags.links]


def _box(node: _Node) -> str:
    """What kind of admonition it is: the first word behind its marker."""
    assert node.token is not None
    words = node.token.info.strip().replace("{", " ").replace("}", " ").split()
    return words[0].lower() if words else ""


def _reference(found: re.Match[str], line: int) -> Found:
    """A cross-reference of kramdown, a wiki or MyST as a link."""
    if found["name"]:
        name, part = found["name"], found["part"]
        if part:
            return Found(f"{name}#section-{part}", name, "cross-reference", line)
        # What is written in capitals is a work in the list of references.
        target = name if name == name.upper() else f"#{name}"
        return Found(target, name, "cross-reference", line)
    if found["label"]:
        label = found["label"].strip()
        target = label if found["role"] == "doc" else f"#{label}"
        return Found(target, (found["words"] or label).strip(), "cross-reference", line)
    target = (found["page"] or "").strip() + (found["within"] or "").strip()
    return Found(target, (found["shown"] or target).strip(), "cross-reference", line)
