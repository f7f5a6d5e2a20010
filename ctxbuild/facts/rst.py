"""reStructuredText to headings, pieces and links, by docutils with nothing that reaches outside.

Files are not included, raw parts not taken over, nothing is fetched or reported.
Directives and roles that docutils does not know (Sphinx has hundreds) are containers of
their content and plain words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from ctxbuild.facts.pieces import Found, Head, Parsed, Piece
from ctxbuild.model import Problem

_LOCK = Lock()
"""docutils looks directives and roles up in modules, of which there is one per process."""

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": None,
    "line_length_limit": 1_000_000,
    "syntax_highlight": "none",
    "pep_references": None,
    "rfc_references": None,
}
_MOST_TOIL = 30_000_000  # characters looked at; about two seconds
_MOST_NESTED = 200  # lines that open three or more lists
_MOST_RULES = 6_000  # lines of punctuation
_NESTED = re.compile(r"\s*(?:(?:[*+-]|\w{1,3}[.)])\s+){3}")
_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1*\s*\Z")
_CROSS = re.compile(r"\A(.{0,200}?)\s*<([^<>]{1,200})>\Z", re.DOTALL)
_AHEAD = 400  # lines that are searched for where a node stands
_CODE = frozenset(("code-block", "sourcecode", "highlight", "parsed-literal", "prompt", "ipython"))
_SILENT = frozenset(("toctree", "index", "only", "contents", "currentmodule", "module", "image"))
_NO_TEXT = frozenset(
    ("comment", "system_message", "substitution_definition", "raw", "pending", "image")
)
_ADMONITIONS = frozenset(
    [
        "note",
        "warning",
        "tip",
        "caution",
        "danger",
        "important",
        "hint",
        "attention",
        "error",
        "admonition",
        "seealso",
    ]
)


def parse(text: str) -> Parsed | None:
    """The headings, pieces and links of a document; None if that would take too long."""
    if _toilsome(text):
        return None
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)
    for name, value in _SETTINGS.items():
        setattr(settings, name, value)
    document = new_document("", settings)
    with _LOCK, _lenient():
        Parser().parse(text, document)
    parsed = Parsed("rst")
    _Reader(parsed, text.split("\n"), document).read()
    return parsed


def _toilsome(text: str) -> bool:
    """Whether docutils would take much longer than its few seconds per megabyte.

    It looks for the end of each piece of markup through the rest of the paragraph,
    and parses each level of nested items on its own.
    """
    toil = sum(len(part) * sum(part.count(mark) for mark in "*`|_[") for part in text.split("\n\n"))
    nested = sum(1 for row in text.split("\n") if _NESTED.match(row))
    rules = sum(1 for row in text.split("\n") if _UNDERLINE.match(row))
    return toil > _MOST_TOIL or nested > _MOST_NESTED or rules > _MOST_RULES


@contextmanager
def _lenient() -> Iterator[None]:
    """Whatever directive or role is not known to docutils is understood as what it holds."""
    from docutils.parsers.rst import directives, roles

    known_directive, known_role = directives.directive, roles.role

    def directive(name: str, language: Any, document: Any) -> Any:
        if name.lower() in _CODE | _SILENT | {"seealso"}:
            return _container(), []
        found, messages = known_directive(name, language, document)
        return (found, messages) if found is not None else (_container(), [])

    def role(name: str, language: Any, line: int, reporter: Any) -> Any:
        found, messages = known_role(name, language, line, reporter)
        return (found, messages) if found is not None else (_spoken, [])

    directives.directive, roles.role = directive, role
    try:
        yield
    finally:
        directives.directive, roles.role = known_directive, known_role


_METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))


@cache
def _container() -> Any:
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class Container(Directive):  # type: ignore[misc] # docutils ships no types
        """A directive of unknown meaning: its content, parsed, or kept where it is code."""

        has_content = True
        optional_arguments = 1
        final_argument_whitespace = True
        option_spec = _Anything()

        def run(self) -> list[Any]:
            name = self.name.lower()
            if name in _SILENT:
                return []
            raw = "\n".join(self.content)
            if name in _CODE:
                block = nodes.literal_block(raw, raw, language=" ".join(self.arguments[:1]))
                block.line = self.content_offset + 1
                return [block]
            holder = nodes.container(raw, kind=name)
            holder.line = self.lineno
            if self.arguments:
                title = self.arguments[0]
                method = name.removeprefix("http:").upper()
                if name.startswith("http:") and method in _METHODS:
                    title = f"{method} {title}"  # of sphinxcontrib-httpdomain
                words, _ = self.state.inline_text(title, self.lineno)
                above = nodes.paragraph(title, "", *words)
                above.line = self.lineno
                holder += above
            self.state.nested_parse(self.content, self.content_offset, holder)
            return [holder]

    return Container


class _Anything(dict[str, Any]):
    """Options of any name and value."""

    def __getitem__(self, key: str) -> Any:
        return lambda value: value or ""

    def __bool__(self) -> bool:
        return True


def _spoken(
    name: str,
    rawtext: str,
    text: str,
    lineno: int,
    inliner: Any,
    options: Any = None,
    content: Any = None,
) -> tuple[list[Any], list[Any]]:
    """A role of unknown meaning: its words, and a reference where it points somewhere."""
    del lineno, inliner, options, content
    from docutils import nodes

    found = _CROSS.match(text)
    shown, label = (found[1], found[2]) if found else (text, text)
    kind = name.rpartition(":")[2].lower()
    if kind in ("ref", "doc", "numref", "any"):
        target = label if kind == "doc" else f"#{label.lower()}"
        return [nodes.reference(rawtext, shown, refuri=target, cross=True)], []
    return [nodes.literal(rawtext, shown.lstrip("~!"))], []


class _Reader:
    def __init__(self, parsed: Parsed, rows: Sequence[str], document: Any) -> None:
        self._parsed = parsed
        self._rows = rows
        self._document = document
        self._at = 0
        self._uris: dict[str, str] = {}

    def read(self) -> None:
        from docutils import nodes

        for target in self._document.findall(nodes.target):
            if target.get("refuri"):
                self._uris.update((name, target["refuri"]) for name in target.get("names", ()))
        broken = next(iter(self._document.findall(nodes.system_message)), None)
        if broken is not None and broken.get("level", 0) >= 3:
            line = broken.get("line", 1)
            self._parsed.problems.append(Problem("syntax", f"line {line}: does not parse"))
        self._children(self._document, 0)

    def _children(self, parent: Any, depth: int) -> None:
        pending: list[str] = []
        for place, node in enumerate(parent.children):
            name = node.tagname
            if name == "target":
                pending += [each for each in node.get("names", ()) if not node.get("refuri")]
                continue
            if name == "field_list" and depth == 0 and place == 0:
                self._parsed.front = tuple(_fields(node))
                self._parsed.start = self._find(node.children[-1].children[0]) + 1
                self._at = self._parsed.start
            elif name == "section":
                self._section(node, depth + 1, (*pending, *_given(node)))
            else:
                piece = self._piece(node)
                if piece is not None:
                    self._parsed.anchors += [(each, piece.first) for each in pending]
                    self._parsed.stream.append(piece)
            pending = []
        self._parsed.anchors += [(each, self._at) for each in pending]

    def _section(self, node: Any, level: int, anchors: tuple[str, ...]) -> None:
        title = node.children[0] if node.children else None
        if title is None or title.tagname != "title":
            self._children(node, level)
            return
        first, last = self._heading(title)
        words = " ".join(title.astext().split())
        self._parsed.stream.append(Head(words, level, first, last, anchors))
        self._links(title, first)
        self._at = last + 1
        node.children = node.children[1:]
        self._children(node, level)

    def _heading(self, title: Any) -> tuple[int, int]:
        """First and last line of a heading: its lines of punctuation belong to it."""
        wanted = title.rawsource.strip()
        for at in range(self._at, len(self._rows) - 1):
            if self._rows[at].strip() == wanted and _UNDERLINE.match(self._rows[at + 1]):
                line = self._rows[at + 1].strip()
                return (at - 1 if at and self._rows[at - 1].strip() == line else at), at + 1
        return self._at, self._at

    # --- blocks -------------------------------------------------------------------------

    def _parts(self, node: Any) -> tuple[Piece, ...]:
        found = (self._piece(each) for each in node.children)
        return tuple(each for each in found if each is not None)

    def _piece(self, node: Any) -> Piece | None:
        name = node.tagname
        match name:
            case "paragraph" | "rubric" | "attribution" | "line" | "term" | "caption":
                return self._paragraph(node)
            case "literal_block" | "doctest_block" | "math_block":
                return self._code(node)
            case "bullet_list":
                return self._around("list", node, self._items(node))
            case "enumerated_list":
                return self._around("steps", node, self._items(node), whole=True)
            case "definition_list" | "field_list" | "option_list":
                terms = tuple(self._definition(each) for each in node.children)
                return self._around("definitions", node, terms)
            case "table":
                return self._around("table", node, tuple(self._table(node)))
            case "transition":
                return Piece("rule", self._at, self._at)
            case "image":
                link = Found(node.get("uri", ""), node.get("alt", ""), "image", self._at)
                self._parsed.links.append(link)
        if name in _NO_TEXT:
            return None
        return self._other(node, name)

    def _other(self, node: Any, name: str) -> Piece | None:
        """Whatever else holds blocks."""
        if name in _ADMONITIONS or name == "container":
            info = node.get("kind", name)
            kind = "admonition" if info in _ADMONITIONS else "quote"
            return self._around(kind, node, self._parts(node), info=info if kind != "quote" else "")
        if getattr(node, "children", None):
            return self._around("quote", node, self._parts(node))
        return None

    def _around(
        self, kind: Any, node: Any, parts: tuple[Piece, ...], *, info: str = "", whole: bool = False
    ) -> Piece | None:
        if not parts:
            return None
        first, last = parts[0].first, max(part.last for part in parts)
        if whole:
            rows = self._rows[first : last + 1]
            margin = min((len(row) - len(row.lstrip()) for row in rows if row.strip()), default=0)
            text = "\n".join(row[margin:] for row in rows)
        else:
            text = node.rawsource if kind == "table" else ""
        return Piece(kind, first, last, text, info, parts)

    def _items(self, node: Any) -> tuple[Piece, ...]:
        items = (self._around("item", each, self._parts(each)) for each in node.children)
        return tuple(item for item in items if item is not None)

    def _definition(self, node: Any) -> Piece:
        heads = [each for each in node.children if _is_term(each)]
        body = [each for each in node.children if not _is_term(each)]
        first = self._find(heads[0] if heads else node)
        term = ", ".join(" ".join(each.astext().split()) for each in heads[:1])
        for each in heads:
            self._links(each, first)
        parts = tuple(part for each in body for part in self._parts(each))
        last = max((part.last for part in parts), default=first)
        text = "\n".join(self._rows[first : last + 1]).strip()
        return Piece("definition", first, last, text, term, parts)

    def _table(self, node: Any) -> Iterator[Piece]:
        from docutils import nodes

        for row in node.findall(nodes.row):
            kind = "header" if row.parent.tagname == "thead" else "row"
            cells = []
            for entry in row.children:
                parts = self._parts(entry)
                text = "\n".join(part.text for part in parts)
                first = parts[0].first if parts else self._at
                cells.append(Piece("cell", first, parts[-1].last if parts else first, text))
            first = min((cell.first for cell in cells), default=self._at)
            shown = " | ".join(" ".join(cell.text.split()) for cell in cells)
            last = max((cell.last for cell in cells), default=first)
            yield Piece(kind, first, last, f"| {shown} |", parts=tuple(cells))  # type: ignore[arg-type]

    def _code(self, node: Any) -> Piece:
        text = node.astext().rstrip("\n")
        first = self._find(node)
        last = first + text.count("\n")
        self._at = last
        classes = [each for each in node.get("classes", ()) if each != "code"]
        language = node.get("language") or (classes[0] if classes else "")
        if node.tagname == "doctest_block":
            language = "pycon"
        return Piece("code", first, last, text, language)

    def _paragraph(self, node: Any) -> Piece:
        first = self._find(node)
        text = (node.rawsource or node.astext()).strip("\n")
        last = min(first + text.count("\n"), len(self._rows) - 1)
        self._at = last
        self._links(node, first)
        return Piece("paragraph", first, max(first, last), text)

    def _find(self, node: Any) -> int:
        """The line on which a node begins, sought from where the last one was."""
        wanted = (node.rawsource or node.astext()).strip().split("\n", 1)[0].strip()
        if wanted:
            for at in range(self._at, min(self._at + _AHEAD, len(self._rows))):
                if wanted in self._rows[at]:
                    self._at = at
                    return at
        return min(self._at, max(len(self._rows) - 1, 0))

    def _links(self, node: Any, first: int) -> None:
        from docutils import nodes

        for each in node.findall(nodes.reference):
            shown = " ".join(each.astext().split())
            name = each.get("refname", "")
            target = each.get("refuri") or self._uris.get(name) or (f"#{name}" if name else "")
            kind = "cross-reference" if each.get("cross") or not each.get("refuri") else "link"
            at = node.rawsource.find(each.rawsource) if each.rawsource else -1
            line = first + (node.rawsource.count("\n", 0, at) if at > 0 else 0)
            if target:
                self._parsed.links.append(Found(target, shown, kind, line))  # type: ignore[arg-type]


def _is_term(node: Any) -> bool:
    return node.tagname in ("term", "field_name", "option_group", "classifier")


def _given(node: Any) -> tuple[str, ...]:
    """The identifiers that docutils gives a section: its title's name."""
    return tuple(node.get("names", ()))


def _fields(node: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    for field in node.children:
        if len(field.children) == 2:
            name, body = field.children
            yield name.astext().lower(), (" ".join(body.astext().split()),)
