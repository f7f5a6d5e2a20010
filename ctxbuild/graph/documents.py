"""How the sections of a set of documents lead into each other, and which outranks which.

Containment comes from the headings, links and cross-references from the text, "see
also", "depends on", "supersedes" and "overrides" from sentences, from sections with
such a title and from front matter. A link that leads to nothing is kept as missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ctxbuild.facts.document import Cue, CueKind, Document, Heading, LinkKind
from ctxbuild.graph.documents_links import Led, Node, Resolver

EdgeKind = Literal["contains", "link", "see-also", "depends-on", "supersedes", "overrides"]

_FRONT: tuple[tuple[str, CueKind], ...] = (
    ("see_also", "see-also"),
    ("see-also", "see-also"),
    ("related", "see-also"),
    ("depends_on", "depends-on"),
    ("depends-on", "depends-on"),
    ("requires", "depends-on"),
    ("supersedes", "supersedes"),
    ("obsoletes", "supersedes"),
    ("replaces", "supersedes"),
    ("overrides", "overrides"),
)
_WORDED_LEVELS = {"highest": 100, "high": 50, "normal": 0, "low": -50, "lowest": -100}
_PASSIVE = re.compile(
    r"(?:overrid(?:e|den)|overruled?|superseded|obsoleted|replaced|outranked)\s+by(?!\w)",
    re.IGNORECASE,
)
_VERBS: dict[CueKind, re.Pattern[str]] = {
    "overrides": re.compile(
        r"overrid(?:es?|den)|overrul(?:es?|ed)|tak(?:es?|ing) (?:precedence|priority)|prevails?"
        r"|outranks?|trumps?|wins? over",
        re.IGNORECASE,
    ),
    "supersedes": re.compile(r"supersede[sd]?|obsolete[sd]?|replace[sd]", re.IGNORECASE),
}
_KINDS = "section|chapter|page|document|guide|policy|file|appendix|part|rules?|manual|specification"
_THIS = re.compile(
    rf"(?<!\w)(?:(?:this|these) (?:{_KINDS})|it|(?:what|the rules?) (?:here|below|above))(?!\w)",
    re.IGNORECASE,
)
_SECTION_BEFORE = re.compile(rf"(?<!\w)(?:{_KINDS}) [\"\u201c*_]?\Z", re.IGNORECASE)
_SECTION_BEHIND = re.compile(rf"[\"\u201d*_]? (?:{_KINDS})(?!\w)", re.IGNORECASE)
_QUOTES = frozenset("\"\u201c\u201d*_'\u2018\u2019`")
_WORD = re.compile(r"\w+")
_SHORTEST = 4  # characters of a title that is recognised in a sentence without a link


@dataclass(frozen=True, slots=True)
class Related:
    """What a section says of others, without where it says so.

    Attributes:
        links: (target, kind) of its links.
    """

    slug: str
    links: tuple[tuple[str, LinkKind], ...] = ()
    cues: tuple[tuple[CueKind, str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """What navigation needs of a document besides its links."""

    title: str
    front: tuple[tuple[str, tuple[str, ...]], ...]
    headings: tuple[Heading, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """One way from a section to another.

    Attributes:
        words: the sentence or the key of the front matter that puts one above the other,
            "" for every other kind.
    """

    kind: EdgeKind
    source: Node
    target: Node
    words: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """A link that leads to nothing now.

    Attributes:
        target: as it is written.
        path: the file it would lead into.
        slug: the identifier it asks for there, "" for the file.
    """

    source: Node
    target: str
    path: str
    slug: str


@dataclass(frozen=True, slots=True)
class Navigation:
    """How a set of documents hangs together.

    Attributes:
        edges: containment first, then in the order of the documents; without repeats.
        order: per document that has a place in the ctxfile's `precedence`: that place,
            the smallest is the highest.
        levels: per document whose front matter has a `precedence`: its number, the
            largest is the highest.
    """

    edges: tuple[Edge, ...] = ()
    missing: tuple[Missing, ...] = ()
    order: tuple[tuple[str, int], ...] = ()
    levels: tuple[tuple[str, int], ...] = ()


def related(document: Document) -> tuple[Related, ...]:
    """What the sections of a document say of others, sections that say nothing left out."""
    found = []
    for section in document.sections:
        links = tuple(dict.fromkeys((each.target, each.kind) for each in section.links))
        cues = tuple(dict.fromkeys((cue.kind, cue.text, cue.targets) for cue in section.cues))
        if links or cues:
            found.append(Related(section.slug, links, cues))
    return tuple(found)


def navigate(
    outlines: Mapping[str, Outline],
    said: Mapping[str, tuple[Related, ...]],
    precedence: Sequence[Sequence[str]],
    exists: Callable[[str], bool],
) -> Navigation:
    """The graph of a set of documents.

    Args:
        outlines: path to headings, in the order of the layer.
        said: path to what its sections say.
        precedence: documents by rank, the highest first.
        exists: whether a path is a file; the answer is a dependency.
    """
    resolver = Resolver(
        {path: outline.headings for path, outline in outlines.items()},
        {path: outline.title for path, outline in outlines.items()},
        exists,
    )
    builder = _Builder(outlines, resolver)
    for path, outline in outlines.items():
        builder.contain(path, outline)
    for path, outline in outlines.items():
        builder.front(path, outline)
        for each in said.get(path, ()):
            builder.relate(path, each)
    order: dict[str, int] = {}
    for place, paths in enumerate(precedence):
        for path in paths:
            order.setdefault(path, place)
    levels = tuple(
        (path, level)
        for path, outline in outlines.items()
        if (level := _level(outline)) is not None
    )
    return Navigation(
        tuple(dict.fromkeys(builder.edges)),
        tuple(dict.fromkeys(builder.missing)),
        tuple((path, order[path]) for path in outlines if path in order),
        levels,
    )


def _level(outline: Outline) -> int | None:
    given = next((values for key, values in outline.front if key == "precedence"), ())
    if not given:
        return None
    try:
        return int(given[0])
    except ValueError:
        return _WORDED_LEVELS.get(given[0].lower())


class _Builder:
    def __init__(self, outlines: Mapping[str, Outline], resolver: Resolver) -> None:
        self.edges: list[Edge] = []
        self.missing: list[Missing] = []
        self._resolver = resolver
        self._sections = _sections(outlines)
        # First word of a title to the titles that begin with it.
        self._titled: dict[str, list[str]] = {}
        for title in self._sections:
            if first := _WORD.search(title):
                self._titled.setdefault(first[0], []).append(title)

    def contain(self, path: str, outline: Outline) -> None:
        """Adds what is inside what."""
        for heading in outline.headings:
            if heading.slug:
                self._edge("contains", (path, heading.parent), (path, heading.slug))

    def front(self, path: str, outline: Outline) -> None:
        """Adds what the front matter says."""
        stated = dict(outline.front)
        for key, kind in _FRONT:
            for target in stated.get(key, ()):
                node = self._lead((path, ""), target, named=True)
                if node:
                    ranks = kind in ("supersedes", "overrides")
                    self._edge(kind, (path, ""), node, key if ranks else "")

    def relate(self, path: str, said: Related) -> None:
        """Adds what one section says."""
        source = (path, said.slug)
        for target, kind in said.links:
            if kind in ("image", "auto"):
                continue
            node = self._lead(source, target, named=kind == "cross-reference")
            if node:
                self._edge("link", source, node)
        for cue, text, targets in said.cues:
            self._cue(source, Cue(cue, text, targets, 0))

    def _cue(self, source: Node, cue: Cue) -> None:
        named = [
            (cue.text.find(target), node)
            for target in cue.targets
            if (node := self._lead(source, target, named=True))
        ]
        verb = _VERBS.get(cue.kind)
        if verb is None:
            for _, node in named:
                self._edge(cue.kind, source, node)
            return
        named += list(self._named(source, cue.text))
        at = found.start() if (found := verb.search(cue.text)) else 0
        # What stands before the verb is above what stands behind it: "A overrides B".
        before = [node for place, node in named if 0 <= place < at]
        behind = [node for place, node in named if place >= at or place < 0]
        if not before and _THIS.search(cue.text[:at]):
            before = [source]
        if not behind and _THIS.search(cue.text[at:]):
            behind = [source]
        if _PASSIVE.search(cue.text):
            before, behind = behind, before
        for above in before:
            for below in behind:
                self._edge(cue.kind, above, below, cue.text)

    def _named(self, source: Node, text: str) -> Iterator[tuple[int, Node]]:
        """Sections whose titles stand in a sentence, with where; a longer title hides a shorter.

        A title of one word is a name only in quotes or beside the word "section".
        """
        taken = bytearray(len(text))
        begun = {found for word in _WORD.findall(text) for found in self._titled.get(word, ())}
        for title in sorted(begun, key=lambda title: (-len(title), title)):
            nodes = self._sections[title]
            at = text.find(title)
            if at < 0 or any(taken[at : at + len(title)]) or not _is_name(text, at, title):
                continue
            taken[at : at + len(title)] = b"\1" * len(title)
            if source[0] not in nodes and len(nodes) > 1:
                continue
            near = nodes.get(source[0]) or next(iter(nodes.values()))
            if len(near) == 1:
                yield at, near[0]

    def _lead(self, source: Node, target: str, *, named: bool) -> Node | None:
        led: Led = self._resolver.lead(source[0], target, named=named)
        if led.missing:
            self.missing.append(Missing(source, target, *led.missing))
        return led.node

    def _edge(self, kind: EdgeKind, source: Node, target: Node, words: str = "") -> None:
        if source != target:
            self.edges.append(Edge(kind, source, target, words))


def _sections(outlines: Mapping[str, Outline]) -> dict[str, dict[str, list[Node]]]:
    """Title to the sections that have it, per document."""
    found: dict[str, dict[str, list[Node]]] = {}
    for path, outline in outlines.items():
        if len(outline.title) >= _SHORTEST:
            found.setdefault(outline.title, {})[path] = [(path, "")]
        for heading in outline.headings:
            # A document is meant where its only heading at the top has its title, too.
            if heading.slug and len(heading.title) >= _SHORTEST and heading.title != outline.title:
                within = found.setdefault(heading.title, {})
                within.setdefault(path, []).append((path, heading.slug))
    return found


def _is_name(text: str, at: int, title: str) -> bool:
    """Whether a title that stands in a sentence names its section there."""
    end = at + len(title)
    if text[at - 1 : at].isalnum() or text[end : end + 1].isalnum():
        return False
    if " " in title and any(word[:1].isupper() for word in title.split()[1:]):
        return True
    marked = text[at - 1 : at] in _QUOTES and text[end : end + 1] in _QUOTES
    beside = _SECTION_BEFORE.search(text[max(0, at - 12) : at]) or _SECTION_BEHIND.match(text, end)
    return marked or beside is not None
