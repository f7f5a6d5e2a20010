"""Where the links of documents lead: files by path or name, sections by identifier or title."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from ctxbuild.facts.document import Heading
from ctxbuild.facts.slugs import slug_of

Node = tuple[str, str]
"""Path and slug of a section; the slug "" is the document itself."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}:|//")
_CITATION = re.compile(r"[A-Z0-9][A-Z0-9.:_-]*")
"""A name in capitals refers to a list of works outside of the documents."""
_ENDINGS = (".md", ".mdx", ".markdown", ".rst", ".adoc", ".html", ".txt")
_INDEXES = ("index.md", "README.md", "_index.md", "index.mdx", "index.rst", "index.html")
_RENDERED = (".html", ".htm")


class Led(NamedTuple):
    """Where a link leads.

    Attributes:
        node: the section, None where it leads to none of the documents.
        missing: (path, slug) that it would lead to, None if it leads out of the documents.
    """

    node: Node | None
    missing: Node | None = None


class Resolver:
    """Resolves the links of a set of documents.

    Args:
        headings: path to the headings of each document.
        titles: path to the title of each document.
        exists: whether a path is a file; the answer is a dependency.
    """

    def __init__(
        self,
        headings: Mapping[str, tuple[Heading, ...]],
        titles: Mapping[str, str],
        exists: Callable[[str], bool],
    ) -> None:
        self._exists = exists
        self._sections = {path: _names(found) for path, found in headings.items()}
        self._anchors: dict[str, list[Node]] = {}
        for path, found in headings.items():
            for heading in found:
                for anchor in heading.anchors:
                    self._anchors.setdefault(anchor.lower(), []).append((path, heading.slug))
        self._pages: dict[str, list[str]] = {}
        for path in headings:
            stem = path.rpartition("/")[2].rpartition(".")[0] or path
            for name in {stem.lower(), titles.get(path, "").lower()} - {""}:
                self._pages.setdefault(name, []).append(path)

    def lead(self, path: str, target: str, *, named: bool = False) -> Led:
        """Where a link in a file leads.

        Args:
            target: as it is written.
            named: it is a cross-reference: its page may be a title, its fragment an
                identifier of any document.
        """
        page, _, fragment = target.strip().partition("#")
        if _SCHEME.match(target):
            return Led(None)
        page, fragment = unquote(page.partition("?")[0]), unquote(fragment)
        if not page:
            return self._within(path, fragment, named=named)
        found = self._page(path, page, named=named)
        if found is None and named and _CITATION.fullmatch(page):
            return Led(None)
        if found is None:
            if any(self._exists(each) for each in self._candidates(path, page)):
                return Led(None)  # a file that is no document of these
            first = next(self._candidates(path, page), None)
            return Led(None, (first, fragment) if first else None)
        return self._within(found, fragment, named=False) if fragment else Led((found, ""))

    def _page(self, path: str, page: str, *, named: bool) -> str | None:
        for each in self._candidates(path, page):
            if each in self._sections:
                return each
        if named:
            pages = self._pages.get(page.rpartition("/")[2].lower(), [])
            return pages[0] if len(pages) == 1 else None
        return None

    def _candidates(self, path: str, page: str) -> Iterator[str]:
        """The paths that a page may stand for, the likeliest first."""
        above = path.rpartition("/")[0]
        if page.startswith("/"):
            # From the root of a site, which is one of the directories above.
            bases = [above]
            while bases[-1]:
                bases.append(bases[-1].rpartition("/")[0])
            whole = [f"{base}{page}" if base else page[1:] for base in reversed(bases)]
        else:
            whole = [f"{above}/{page}" if above else page]
        for each in whole:
            plain = _normal(each)
            if plain is not None:
                yield from _spellings(plain, directory=page.endswith("/"))

    def _within(self, path: str, fragment: str, *, named: bool) -> Led:
        """The section of a document that an identifier leads to."""
        if not fragment:
            return Led((path, ""))
        names = self._sections.get(path, {})
        for name in (fragment, fragment.lower(), slug_of(fragment)):
            if name in names:
                return Led((path, names[name]))
        if named:
            everywhere = self._anchors.get(fragment.lower(), [])
            if len(everywhere) == 1:
                return Led(everywhere[0])
        return Led(None, (path, fragment))


def _names(headings: Iterable[Heading]) -> dict[str, str]:
    """Identifier to slug; what the source gives itself comes before what titles make."""
    found: dict[str, str] = {}
    for heading in headings:
        for anchor in heading.anchors:
            found.setdefault(anchor, heading.slug)
    for heading in headings:
        found.setdefault(heading.slug, heading.slug)
    for name, slug in list(found.items()):
        found.setdefault(name.lower(), slug)
    return found


def _normal(path: str) -> str | None:
    """A path without `.` and `..`, None where it leads out of the root."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _spellings(path: str, *, directory: bool) -> Iterator[str]:
    prefix = f"{path}/" if path else ""
    if not directory and path:
        yield path
        stem, dot, _ = path.rpartition(".")
        if dot and path.endswith(_RENDERED):
            yield from (stem + ending for ending in _ENDINGS)
        elif "." not in path.rpartition("/")[2]:
            yield from (path + ending for ending in _ENDINGS)
    elif path:
        yield from (path + ending for ending in _ENDINGS)
    yield from (prefix + name for name in _INDEXES)
