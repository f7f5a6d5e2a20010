"""The packet of a scene: what its writer must know out of a story bible, as of its chapter.

Who is in the scene and in which chapter it stands is read from the task ("chapter 3:
Mara finds the ledger"). What happens later is left out of timeline and people; what
may be told only later stands among what must not be revealed yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ctxbuild.facts.document import RANKS, Item, Section
from ctxbuild.model import Candidate, Proposal, Reason, Refusal, Rung
from ctxbuild.select.files import matched
from ctxbuild.select.phases import ON_DEMAND
from ctxbuild.select.realm.bible import canon_of
from ctxbuild.select.realm.canon import Canon, Name, Secret, Told, ordinal_label
from ctxbuild.select.realm.canon_said import chapter_in
from ctxbuild.select.realm.canon_words import Category, name_parts
from ctxbuild.select.realm.packet import PROVENANCE, source_line
from ctxbuild.select.realm.query import roots
from ctxbuild.select.realm.tree import Outlined, short_ids, titles_below

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Layer

_SECTIONS: dict[Category, str] = {
    "reveals": "reveals",
    "knows": "knows",
    "promises": "promises",
    "voice": "voice",
    "watch": "watch",
    "timeline": "timeline",
    "who": "who",
    "notes": "facts",
}
"""Category to its section of a packet."""

_PHASES: dict[Category, int] = {
    "reveals": 0,
    "voice": 2,
    "knows": 3,
    "who": 3,
    "watch": 3,
    "timeline": 4,
    "promises": 4,
    "notes": 5,
}
_BINDING = 1
"""The phase of what binds and is no secret."""

_ABSENT = 6
"""The phase of people who are not in the scene."""


class SceneView(Protocol):
    """What is asked of a bible."""

    @property
    def documents(self) -> Any:
        """The documents."""

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The selected files that a pattern matches, sorted."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What the task says of the scene.

    Attributes:
        chapter: its number, 0 where the task names none: then nothing is later.
        present: names of the canon that the task names; () where it names none.
        words: roots of the task.
    """

    chapter: int
    present: tuple[str, ...]
    words: frozenset[str]


def scene_of(task: str, canon: Canon) -> Scene:
    """What a task says: the chapter, and who or what of the canon is in it."""
    chapter = chapter_in(task)
    present = [each.name for each in canon.names if _is_named(each, task)]
    if not present and chapter:
        here = " ".join(t.point.text for t in canon.told if t.chapter == chapter)
        present = [each.name for each in canon.names if _is_named(each, here)]
    return Scene(chapter, tuple(present), frozenset(roots(task)))


def _is_named(name: Name, text: str) -> bool:
    forms = (name.name, *name.aliases, *name_parts(name.name))
    return any(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text) for form in forms)


def propose(view: SceneView, layer: Layer) -> Proposal:
    """The packet's candidates; the canon that `lint` checks is in the record.

    Raises:
        EntryError: a pattern matches no file.
    """
    paths = tuple(sorted(matched(view, layer.patterns, f"layer {layer.name!r}")))
    outlined, sections = _read(view, paths)
    canon = canon_of(sections)
    task = layer.option("task") or ""
    scene = scene_of(task, canon)
    later = [told for told in canon.told if _is_later(told, scene)]
    shown = [told for told in canon.told if told not in later]
    ids = short_ids(list(dict.fromkeys((told.path, told.slug) for told in shown)), paths)
    by_unit = {(p, s.slug): s for p, each in sections.items() for s in each}
    maker = _Maker(layer, ids, by_unit, outlined, scene, canon)
    proposed = (*maker.entries(shown), *maker.sources(shown))
    refused = tuple(
        Refusal(
            told.unit,
            "later",
            0.0,
            (Reason("fact", f"{told.path}#{told.slug}"),),
            str(told.chapter),
        )
        for told in later
    )
    warnings = () if canon.told else (f"layer {layer.name!r}: its documents hold no canon",)
    return Proposal(
        candidates=proposed,
        warnings=warnings,
        refused=refused,
        record={
            "policy": "canon",
            "task": task,
            "profile": "scene",
            "chapter": scene.chapter,
            "present": list(scene.present),
            "canon": record_of(canon, scene, sections),
        },
    )


def _read(
    view: SceneView, paths: Sequence[str]
) -> tuple[dict[str, Outlined], dict[str, list[Section]]]:
    outlined, sections = {}, {}
    for path in paths:
        outline = view.documents.outline(path)
        outlined[path] = Outlined(path, outline.title, outline.headings)
        found = (view.documents.section(path, heading.slug) for heading in outline.headings)
        sections[path] = [section for section in found if section is not None]
    return outlined, sections


def _is_later(told: Told, scene: Scene) -> bool:
    """Whether a point tells only what comes after the scene's chapter."""
    return (
        bool(scene.chapter)
        and told.chapter > scene.chapter
        and told.category
        in {
            "timeline",
            "who",
        }
    )


class _Maker:
    """Makes candidates."""

    def __init__(
        self,
        layer: Layer,
        ids: Mapping[str, str],
        sections: Mapping[tuple[str, str], Section],
        outlined: Mapping[str, Outlined],
        scene: Scene,
        canon: Canon,
    ) -> None:
        self._layer = layer
        self._ids = ids
        self._items = {
            key: {item.ordinal: item for item in section.items} for key, section in sections.items()
        }
        self._outlined = outlined
        self._scene = scene
        self._canon = canon
        order = list(sections)
        self._places = {key: place for place, key in enumerate(order)}
        present = set(scene.present)
        self._present = [name for name in canon.names if name.name in present]
        self._titles = {s.unit: s for s in canon.secrets if "@" not in s.unit}

    def entries(self, shown: Iterable[Told]) -> Iterator[Candidate]:
        """One candidate per point; a secret with fields is one as a whole."""
        whole: set[str] = set()
        for told in shown:
            section_unit = f"{told.path}#{told.slug}"
            secret = self._titles.get(section_unit)
            if secret is not None and told.category == "reveals":
                if section_unit not in whole:
                    whole.add(section_unit)
                    same = [t for t in self._canon.told if f"{t.path}#{t.slug}" == section_unit]
                    ordinals = sorted({o for each in same for o in each.point.ordinals})
                    label = ordinal_label(ordinals)
                    yield self._candidate(told, _fielded(secret, same), label, ordinals)
                continue
            label = told.unit.rpartition("@")[2]
            yield self._candidate(told, told.point.text, label, told.point.ordinals)

    def _candidate(self, told: Told, text: str, label: str, ordinals: Sequence[int]) -> Candidate:
        unit = f"{told.path}#{told.slug}"
        held = self._items[told.path, told.slug]
        items = [held[ordinal] for ordinal in ordinals if ordinal in held]
        modality = min((i.modality for i in items), key=RANKS.__getitem__, default="")
        place = self._places[told.path, told.slug]
        section, phase, worth = self._placing(told, items)
        return Candidate(
            unit=f"{unit}@{label}",
            path=told.path,
            symbol=self._ids[unit],
            layer=self._layer.name,
            section=section,
            order=place * 10_000 + min(ordinals[0], 9_999),
            ladder=(Rung("full", phase=phase, worth=worth, text=f"{label}. {text}\n"),),
            score=1.0 if phase < _ABSENT else 0.3,
            reasons=(Reason(told.category, unit=unit, detail=modality),),
            pinned=self._layer.pin,
            parent=unit,
        )

    def _placing(self, told: Told, items: Sequence[Item]) -> tuple[str, int, float]:
        binding = any(RANKS[item.modality] <= RANKS["MUST"] for item in items)
        phase = _PHASES[told.category]
        if binding and told.category != "timeline":
            phase = min(phase, _BINDING)
        section = _SECTIONS[told.category]
        if told.category == "reveals" and not self._is_secret_now(told):
            return "timeline", _PHASES["timeline"], 5.0
        if told.category == "notes" and binding:
            section = "constraints"
        if told.category in {"who", "knows"} and self._present and not self._concerns(told):
            return section, _ABSENT, 2.0
        named = len(self._scene.words & set(roots(told.point.text)))
        return section, phase, 10.0 + 2 * min(named, 5)

    def _concerns(self, told: Told) -> bool:
        """Whether a point is about somebody who is in the scene, or names them."""
        names = {name.name for name in self._present}
        return told.about in names or any(_is_named(n, told.point.text) for n in self._present)

    def _is_secret_now(self, told: Told) -> bool:
        unit = f"{told.path}#{told.slug}"
        mine = [s for s in self._canon.secrets if s.unit in {told.unit, unit}]
        return not mine or any(is_withheld(each, self._scene.chapter) for each in mine)

    def sources(self, shown: Iterable[Told]) -> Iterator[Candidate]:
        """The line of provenance of every section."""
        for path, slug in dict.fromkeys((told.path, told.slug) for told in shown):
            unit = f"{path}#{slug}"
            titles = titles_below(self._outlined[path], slug)
            yield Candidate(
                unit=unit,
                path=path,
                symbol=path,
                layer=self._layer.name,
                section=PROVENANCE,
                order=self._places[path, slug],
                ladder=(Rung("full", phase=ON_DEMAND, text=source_line(self._ids[unit], titles)),),
                score=1.0,
                reasons=(),
            )


def _fielded(secret: Secret, points: Sequence[Told]) -> str:
    """A secret that is a section of its own, on one line: what it says, then its fields."""
    texts = [told.point.text.rstrip(".") for told in points]
    fields = "; ".join(texts)
    return fields if texts[:1] == [secret.statement] else f"{secret.statement}. {fields}"


def is_withheld(secret: Secret, chapter: int) -> bool:
    """Whether a secret may not be told in a chapter; 0 for a scene without one."""
    return not secret.until or not chapter or secret.until > chapter


# --- the record -------------------------------------------------------------------------

_NEAR = 2
_CAPITAL = re.compile(r"(?<![\w'’-])[A-ZÀ-Þ][\w'’-]*")
_WORD = re.compile(r"[^\W\d_]{3,40}")


def record_of(
    canon: Canon, scene: Scene, sections: Mapping[str, Sequence[Section]]
) -> dict[str, Any]:
    """The canon as plain data: what `lint` holds a text of the scene against."""
    units = {name.unit for name in canon.names}
    return {
        "chapter": scene.chapter,
        "names": [asdict(name) for name in canon.names],
        "secrets": [
            asdict(secret) for secret in canon.secrets if is_withheld(secret, scene.chapter)
        ],
        "ignorance": [
            asdict(each)
            for each in canon.knowledge
            if _is_ignorant(each.knows, each.since, each.until, scene.chapter)
        ],
        "words": _known_words(canon, sections),
        "titles": {
            unit: " > ".join(section.heading.titles)
            for path, each in sections.items()
            for section in each
            if (unit := f"{path}#{section.slug}") in units or section.items
        },
    }


def _is_ignorant(knows: bool, since: int, until: int, chapter: int) -> bool:
    """Whether somebody does not know something in a chapter."""
    if knows:
        return bool(chapter and since > chapter)
    return not until or not chapter or until > chapter


def _known_words(canon: Canon, sections: Mapping[str, Sequence[Section]]) -> list[str]:
    """Words of the bible that are spelled right though they look like a name: they are known."""
    parts = {part for n in canon.names for part in name_parts(n.name) if len(part) > 3}
    lengths = {len(part) + d for part in parts for d in range(-_NEAR, _NEAR + 1)}
    firsts = {part[0].lower() for part in parts}
    wrong = {part for n in canon.names for form in n.wrong for part in name_parts(form)}
    found: set[str] = set()
    for each in sections.values():
        for section in each:
            found.update(_CAPITAL.findall(section.text))
            found.update(
                word
                for word in _WORD.findall(section.text)
                if len(word) in lengths and word[0].lower() in firsts
            )
    return sorted(found - wrong)
