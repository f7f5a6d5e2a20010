"""Tags inside other documents: the text, headings, anchors and links of a piece of HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple

from ctxbuild.facts.pieces import Found

_SILENT = frozenset(("script", "style", "template", "noscript", "svg", "head"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_OPEN = re.compile("<[^<>]*>?")
_QUOTED = re.compile("\"[^\"]*\"|'[^']*'")
_LONGEST = 200_000  # characters


class Tags(NamedTuple):
    """What stands in a piece of HTML; lines are relative to it, from 0.

    Attributes:
        text: without tags, with the line feeds of the source.
        headings: (level, title, line, identifiers).
        anchors: (identifier, line), those of headings left out.
        names: whether there is any tag.
    """

    text: str = ""
    headings: tuple[tuple[int, str, int, tuple[str, ...]], ...] = ()
    anchors: tuple[tuple[str, int], ...] = ()
    links: tuple[Found, ...] = ()
    names: bool = False


def read_tags(source: str) -> Tags:
    """What stands in a piece of HTML, however broken it is."""
    reader = _Reader()
    reader.feed(safe(source[:_LONGEST]))
    reader.close()
    return Tags(
        "".join(reader.shown),
        tuple(reader.headings),
        tuple(reader.anchors),
        tuple(reader.links),
        reader.names,
    )


def safe(source: str) -> str:
    """HTML in which every tag ends, without comments, with the lines that it had.

    The standard library's parser looks for the end of what is never closed again and
    again, and older ones raise on a marked section without a name.
    """
    return _OPEN.sub(_closed, _without_comments(source))


def _without_comments(source: str) -> str:
    parts: list[str] = []
    at = 0
    while (start := source.find("<!--", at)) >= 0 and (end := source.find("-->", start + 4)) >= 0:
        parts += [source[at:start], "\n" * source.count("\n", start, end)]
        at = end + 3
    return "".join((*parts, source[at:]))


def _closed(found: re.Match[str]) -> str:
    """A tag as it stands if it ends where it seems to, else as text."""
    tag = found[0]
    if tag[1:2] == "!" and tag.endswith(">") and tag[2:3] != "[":
        return "\n" * tag.count("\n")
    quotes = _QUOTED.sub("", tag)
    whole = tag.endswith(">") and tag[1:2] != "!" and '"' not in quotes and "'" not in quotes
    return tag if whole else tag.replace("<", "&lt;", 1)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.shown: list[str] = []
        self.headings: list[tuple[int, str, int, tuple[str, ...]]] = []
        self.anchors: list[tuple[str, int]] = []
        self.links: list[Found] = []
        self.names = False
        self._silent = 0
        self._heading: tuple[int, int, tuple[str, ...], list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names = True
        line = self.getpos()[0] - 1
        given = dict(attrs)
        identifiers = tuple(
            value for key in ("id", "name") if (value := given.get(key)) and (key, tag) != _NAMED
        )
        if tag in _HEADINGS:
            self._heading = (int(tag[1]), line, identifiers, [])
        else:
            self.anchors += [(each, line) for each in identifiers if key_is_anchor(tag, given)]
        if tag == "a" and given.get("href"):
            self.links.append(Found(given["href"] or "", "", "link", line))
        if tag == "img" and given.get("src"):
            self.links.append(Found(given["src"] or "", given.get("alt") or "", "image", line))
        if tag in _SILENT:
            self._silent += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag in _SILENT:
            self._silent -= 1

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(self._silent - 1, 0)
        if tag in _HEADINGS and self._heading:
            level, line, identifiers, words = self._heading
            title = " ".join("".join(words).split())
            self.headings.append((level, title, line, identifiers))
            self._heading = None

    def handle_data(self, data: str) -> None:
        if self._heading:
            self._heading[3].append(data)
            self.shown.append("\n" * data.count("\n"))
        elif self._silent:
            self.shown.append("\n" * data.count("\n"))
        else:
            self.shown.append(data)


_NAMED = ("name", "meta")


def key_is_anchor(tag: str, given: dict[str, str | None]) -> bool:
    """Whether a tag's identifiers lead anywhere: fields of forms have names, too."""
    return "id" in given or tag == "a"
