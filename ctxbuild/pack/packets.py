"""The engine's queries behind packets: what of a task each document has, and how large it is.

Both are projections with coarse answers, so that an edit which leaves them equal
plans nothing anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ctxbuild.engine.query import Facet, Query, Result
from ctxbuild.pack.codec import decode, encode
from ctxbuild.pack.render import PACKET_TITLES

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context
    from ctxbuild.facts.document import Section
    from ctxbuild.model import Block, Candidate, Pack
    from ctxbuild.pack.documents import Documents
    from ctxbuild.pack.questions import Questions
    from ctxbuild.select.realm.match import Counted
    from ctxbuild.select.realm.query import Aspect

_BREAK = "\0"


class PacketQueries:
    """The queries.

    Args:
        questions: what else may be asked.
        versions: version per stage: "plan".
    """

    def __init__(self, questions: Questions, versions: Mapping[str, str]) -> None:
        self._q = questions
        version = versions.get("plan", "")
        self.matching = Query("matching", version, self._matching, stage=False)
        self.bulk = Query("bulk", version, self._bulk, stage=False)
        self.signs = Query("signs", version, self._signs, stage=False)
        self.signed: Facet[Mapping[str, tuple[str, ...]]] = Facet(
            self.signs, "", lambda parts: decode(parts[""], dict[str, tuple[str, ...]])
        )
        self.matched: Facet[tuple[Mapping[str, Counted], ...]] = Facet(self.matching, "", _matched)
        self.size: Facet[int] = Facet(self.bulk, "", lambda parts: int(parts[""]))

    @property
    def declared(self) -> tuple[Any, ...]:
        """Everything that the engine has to know of."""
        return (self.matching, self.bulk, self.signs)

    def _matching(self, ctx: Context, key: str) -> Result:
        path, _, asked = key.partition(_BREAK)
        sections = ctx.get(self._q.documents.sections, path)
        return Result({"": encode(matches(sections, _asked(asked)))})

    def _signs(self, ctx: Context, path: str) -> Result:
        from ctxbuild.select.realm.signs import signs_of

        sections = ctx.get(self._q.documents.sections, path)
        found = {section.slug: signs for section in sections if (signs := signs_of(section))}
        return Result({"": encode(found)})

    def _bulk(self, ctx: Context, path: str) -> Result:
        sections = ctx.get(self._q.documents.sections, path)
        length = sum(len(section.text) + 1 for section in sections)
        return Result({"": b"%d" % length.bit_length()})


def with_places(documents: Documents, pack: Pack) -> Pack:
    """A pack with the lines at which the entries of its packets stand in their documents."""
    if not any(block.section in PACKET_TITLES for block in pack.blocks):
        return pack
    spans = Spans(documents)
    blocks = tuple(
        replace(block, lines=spans.of(block)) if block.section in PACKET_TITLES else block
        for block in pack.blocks
    )
    return replace(pack, blocks=blocks)


class Spans:
    """Where entries of packets stand; what is asked of a document or a section is asked once.

    Args:
        documents: the documents.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._places: dict[str, dict[str, tuple[int, int]]] = {}
        self._items: dict[tuple[str, str], dict[int, tuple[int, int]]] = {}

    def of(self, entry: Block | Candidate) -> tuple[int, int] | None:
        """First and last line of a section, or of the items that a unit names in it."""
        path = entry.path
        slug, _, label = entry.unit.removeprefix(f"{path}#").partition("@")
        if path not in self._places:
            known = self._documents.places(path)
            self._places[path] = {name: (first, last) for name, first, last in known}
        place = self._places[path].get(slug)
        if place is None:
            return None
        items = self._items_of(path, slug) if label else {}
        lines = [items[number] for number in ordinals_of(label) if number in items]
        if not lines:
            return place
        first = place[0]
        return first + min(line[0] for line in lines), first + max(line[1] for line in lines)

    def _items_of(self, path: str, slug: str) -> dict[int, tuple[int, int]]:
        key = (path, slug)
        if key not in self._items:
            section = self._documents.section(path, slug)
            items = section.items if section else ()
            self._items[key] = {item.ordinal: (item.lines[0], item.lines[1]) for item in items}
        return self._items[key]


def ordinals_of(label: str) -> frozenset[int]:
    """The ordinals that a label cites: `3`, `3-5`, `1,3-5`."""
    found: set[int] = set()
    for part in label.split(","):
        # Behind a full stop stands which point of an item is meant.
        first, _, last = part.partition(".")[0].partition("-")
        if first.isdigit():
            found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def matches(
    sections: Iterable[Section], aspects: Sequence[Aspect]
) -> tuple[dict[str, Counted], ...]:
    """Per aspect: slug to what the section's text has of it, sections without any left out."""
    from ctxbuild.select.realm.match import counted, is_contents, rooted

    found: tuple[dict[str, Counted], ...] = tuple({} for _ in aspects)
    for section in sections:
        if is_contents(section):
            continue
        roots = rooted("\n".join(block.text for block in section.blocks), section.items)
        for place, aspect in enumerate(aspects):
            each = counted(roots, aspect)
            if each is not None:
                found[place][section.slug] = each
    return found


def key_of(path: str, aspects: tuple[Aspect, ...]) -> str:
    """The key of a match: a path and what is asked for."""
    import msgspec

    return path + _BREAK + msgspec.json.encode(aspects).decode()


@lru_cache(maxsize=64)
def _asked(text: str) -> tuple[Aspect, ...]:
    import msgspec

    from ctxbuild.select.realm.query import Aspect

    return msgspec.json.decode(text, type=tuple[Aspect, ...])


def _matched(parts: Mapping[str, bytes]) -> tuple[Mapping[str, Counted], ...]:
    from ctxbuild.select.realm.match import Counted

    found: tuple[Mapping[str, Counted], ...] = decode(parts[""], tuple[dict[str, Counted], ...])
    return found
