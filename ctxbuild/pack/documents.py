"""The engine's queries about documents: one document's facts, and what a set of them says.

A document's facts are stored by content. Each section is a facet of its own, the
headings another, so that an edit inside one section leaves alone who read the others.
How the sections of a set of documents lead into each other is a projection: who uses it
is left alone while that is equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxbuild.engine.codec import digest
from ctxbuild.engine.query import ContentQuery, Facet, Prepared, Query, Result
from ctxbuild.pack.codec import decode, encode, part

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context
    from ctxbuild.facts.document import Document, Heading, Section
    from ctxbuild.graph.documents import Navigation, Related
    from ctxbuild.model import Problem
    from ctxbuild.pack.questions import Questions

_UNREADABLE = b"unreadable"
_BREAK = "\0\0"


class Outlined(NamedTuple):
    """A document without its text."""

    format: str
    title: str
    front: tuple[tuple[str, tuple[str, ...]], ...]
    headings: tuple[Heading, ...]
    problems: tuple[Problem, ...]

    def meta(self, key: str) -> tuple[str, ...]:
        """The values of a key of the front matter, () without it."""
        return next((values for name, values in self.front if name == key), ())


Places = tuple[tuple[str, int, int], ...]
"""Slug, first and last line of every section."""


def work(task: tuple[str, bytes]) -> Result:
    """Format and bytes of a document to the parts of its facts; in any process."""
    from ctxbuild.facts.documents import extract
    from ctxbuild.graph.documents import related

    document = extract(*task)
    sections = document.sections
    outlined = (
        document.format,
        document.title,
        document.front,
        tuple(section.heading for section in sections),
        document.problems,
    )
    places = tuple(
        (section.slug, *lines) for section, lines in zip(sections, document.places, strict=True)
    )
    parts = {
        "outline": encode(outlined),
        "sections": encode(sections),
        "places": encode(places),
        "related": encode(related(document)),
    }
    return Result(parts, {f"section/{each.slug}": digest(encode(each)) for each in sections})


class DocumentQueries:
    """The queries behind `docs` layers.

    Args:
        questions: what else may be asked.
        versions: version per stage: "documents", "navigation".
    """

    def __init__(self, questions: Questions, versions: Mapping[str, str]) -> None:
        self._q = questions
        self.document = ContentQuery("document", versions["documents"], self._prepare, work)
        self.navigation = Query("navigation", versions["navigation"], self._navigation, stage=False)
        self.outline: Facet[Outlined] = Facet(self.document, "outline", _outline)
        self.sections: Facet[tuple[Section, ...]] = Facet(self.document, "sections", _sections)
        self.places: Facet[Places] = Facet(self.document, "places", part("places", Places, ()))
        self.related: Facet[tuple[Related, ...]] = Facet(self.document, "related", _related)
        self.navigated: Facet[Navigation] = Facet(self.navigation, "", _navigated)

    @property
    def declared(self) -> tuple[Any, ...]:
        """Everything that the engine has to know of."""
        return (self.document, self.navigation)

    def _prepare(self, ctx: Context, path: str) -> Prepared | None:
        from ctxbuild.facts.documents import format_of

        content = ctx.get(self._q.content, path)
        if content in (b"", _UNREADABLE):
            return None
        form = format_of(path)
        return Prepared(content + form.encode(), lambda: (form, self._q.sources.read(path)))

    def _navigation(self, ctx: Context, key: str) -> Result:
        from ctxbuild.graph.documents import Outline, navigate

        patterns, stated = _split(key)
        paths = self._paths(ctx, patterns)
        outlines = {}
        for path in paths:
            outline = ctx.get(self.outline, path)
            outlines[path] = Outline(outline.title, outline.front, outline.headings)
        related = {path: ctx.get(self.related, path) for path in paths}
        exists = lambda path: ctx.get(self._q.exists, path)  # noqa: E731
        precedence = tuple(filter(None, stated.split("\0")))
        order = [self._paths(ctx, (pattern,)) for pattern in precedence]
        return Result({"": encode(navigate(outlines, related, order, exists))})

    def _paths(self, ctx: Context, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """The documents of a layer, in the order of its patterns."""
        found: dict[str, None] = {}
        for pattern in patterns:
            paths = ctx.get(self._q.matches, pattern.removeprefix("!"))
            if pattern.startswith("!"):
                for path in paths:
                    found.pop(path, None)
            else:
                found.update(dict.fromkeys(paths))
        return tuple(found)


class Documents:
    """Puts questions about documents to the context of a running query."""

    def __init__(self, queries: DocumentQueries, ctx: Context) -> None:
        self._queries = queries
        self._ctx = ctx

    def document(self, path: str) -> Document:
        """Everything that a document says, where it stands included."""
        from ctxbuild.facts.document import Document

        outline = self.outline(path)
        places = tuple((first, last) for _, first, last in self.places(path))
        sections = self._ctx.get(self._queries.sections, path)
        return Document(
            outline.format, outline.title, outline.front, sections, places, outline.problems
        )

    def outline(self, path: str) -> Outlined:
        """The headings and the front matter of a document; empty if it does not exist."""
        return self._ctx.get(self._queries.outline, path)

    def section(self, path: str, slug: str) -> Section | None:
        """One section. That there is none is recorded like anything else."""

        def read(parts: Mapping[str, bytes]) -> Section | None:
            data = parts.get("sections")
            return _by_slug(data).get(slug) if data is not None else None

        return self._ctx.get(Facet(self._queries.document, f"section/{slug}", read), path)

    def places(self, path: str) -> Places:
        """Slug, first and last line of every section of a document."""
        return self._ctx.get(self._queries.places, path)

    def navigation(self, patterns: tuple[str, ...], precedence: tuple[str, ...] = ()) -> Navigation:
        """How the sections of the matching documents lead into each other, and who outranks whom.

        Args:
            patterns: the layer's.
            precedence: patterns, the highest first; () where the ctxfile states none.
        """
        return self._ctx.get(self._queries.navigated, _joined(patterns, "\0".join(precedence)))


def _joined(patterns: tuple[str, ...], rest: str) -> str:
    return "\0".join(patterns) + _BREAK + rest


def _split(key: str) -> tuple[tuple[str, ...], str]:
    patterns, _, rest = key.partition(_BREAK)
    return tuple(patterns.split("\0")), rest


def _outline(parts: Mapping[str, bytes]) -> Outlined:
    data = parts.get("outline")
    return Outlined("", "", (), (), ()) if data is None else _read_outline(data)


@lru_cache(maxsize=1024)
def _read_outline(data: bytes) -> Outlined:
    from ctxbuild.facts.document import Heading
    from ctxbuild.model import Problem

    kind = tuple[
        str,
        str,
        tuple[tuple[str, tuple[str, ...]], ...],
        tuple[Heading, ...],
        tuple[Problem, ...],
    ]
    return Outlined(*decode(data, kind))


def _sections(parts: Mapping[str, bytes]) -> tuple[Section, ...]:
    data = parts.get("sections")
    return () if data is None else tuple(_by_slug(data).values())


@lru_cache(maxsize=256)
def _by_slug(data: bytes) -> dict[str, Section]:
    from ctxbuild.facts.document import Section

    sections: tuple[Section, ...] = decode(data, tuple[Section, ...])
    return {section.slug: section for section in sections}


def _related(parts: Mapping[str, bytes]) -> tuple[Related, ...]:
    from ctxbuild.graph.documents import Related

    data = parts.get("related")
    found: tuple[Related, ...] = () if data is None else decode(data, tuple[Related, ...])
    return found


def _navigated(parts: Mapping[str, bytes]) -> Navigation:
    return _read_navigation(parts[""])


@lru_cache(maxsize=64)
def _read_navigation(data: bytes) -> Navigation:
    from ctxbuild.graph.documents import Navigation

    found: Navigation = decode(data, Navigation)
    return found


def forget() -> None:
    """Drops what was decoded so far, as `pack/asker.py`'s does."""
    for remembered in (_read_outline, _by_slug, _read_navigation):
        remembered.cache_clear()
