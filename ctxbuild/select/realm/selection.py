"""What of the documents is shown: sections that were kept, and single items of others."""

from __future__ import annotations

import re

from ctxbuild.select.realm.loop import Node, Outcome
from ctxbuild.select.realm.packet import Chosen
from ctxbuild.select.realm.profiles import Profile, part_of
from ctxbuild.select.realm.reading import Reading
from ctxbuild.select.realm.rules import FIRST_LOOK, SECOND_LOOK
from ctxbuild.select.realm.signs import FORBIDS, HAS_ENDPOINT
from ctxbuild.select.realm.tree import titles_below
from ctxbuild.select.realm.view import DocsView

_SCORE = re.compile(r" \(\d\.\d\d\)")

_LONG = 7
"""Words of a long section, as a power of two: from 64 on, those without meaning not counted."""

_HALF_ASPECT = 0.5

_WHOLE_ASPECT = 0.99
"""The share of an aspect that a single item must hold to be shown without its section."""


class Selection:
    """The sections of which something is shown, and what of them.

    Args:
        view: is asked for their texts.
        profile: what is asked.
        reading: headings and scores.
        outcome: of the loop.
    """

    def __init__(
        self, view: DocsView, profile: Profile, reading: Reading, outcome: Outcome
    ) -> None:
        self._view = view
        self._profile = profile
        self._reading = reading
        self._outcome = outcome
        self._signs: dict[str, tuple[str, ...]] = {}
        if profile.wants_signs:
            self._signs = {
                f"{path}#{slug}": signs
                for path in reading.outlined
                for slug, signs in view.signs(path).items()
            }

    def chosen(self) -> list[Chosen]:
        """In the order of the documents."""
        nodes = self._reading.tree.nodes
        found = (self._of(node) for node in nodes.values() if "#" in node.id)
        return [each for each in found if each is not None]

    def _of(self, node: Node) -> Chosen | None:
        why = self._outcome.selected.get(node.id)
        if why is not None:
            return self._made(node, why, self._part_of_long(node.id))
        if HAS_ENDPOINT in self._signs.get(node.id, ()) and self._is_wanted(node.id):
            return self._made(node, "has endpoints", None)
        wanted = self._single(node.id)
        section = None
        if FORBIDS in self._signs.get(node.id, ()):
            section = self._view.documents.section(node.path, node.slug)
            items = section.items if section else ()
            wanted |= {item.ordinal for item in items if item.modality.endswith(" NOT")}
        return self._made(node, "single items that match", frozenset(wanted)) if wanted else None

    def _part_of_long(self, id_: str) -> frozenset[int] | None:
        """The items that matter of a long section whose title says nothing of the task."""
        if self._reading.words.get(id_, 0) < _LONG:
            return None
        tables = [t for t in self._reading.scores if t[id_] >= FIRST_LOOK * t.best > 0]
        if not tables or any(table.is_titled(id_) for table in tables):
            return None
        if not any(table.items(id_, _WHOLE_ASPECT) for table in tables):
            return None
        return frozenset(o for table in tables for o in table.items(id_, _HALF_ASPECT))

    def _is_wanted(self, id_: str) -> bool:
        """Whether an endpoint serves the task; all of them do where there is none."""
        if not self._profile.has_task:
            return True
        tables = [table for table in self._reading.scores if not table.aspect.name]
        return any(table.best and table[id_] >= SECOND_LOOK * table.best for table in tables)

    def _single(self, id_: str) -> set[int]:
        """Items that hold all of an aspect, in a section that as a whole was not kept."""
        ordinals: set[int] = set()
        for table in self._reading.scores:
            if table[id_] >= SECOND_LOOK * table.best and len(table.aspect.terms) > 1:
                ordinals.update(table.items(id_, _WHOLE_ASPECT))
        return ordinals

    def _made(self, node: Node, why: str, ordinals: frozenset[int] | None) -> Chosen | None:
        section = self._view.documents.section(node.path, node.slug)
        if section is None:
            return None
        reading = self._reading
        titles = titles_below(reading.outlined[node.path], node.slug)
        place, score = reading.tree.places[node.id], reading.score(node.id)
        # Scores stand in the trace: as a reason they would change with what is around.
        why = _SCORE.sub("", why)
        signs = self._signs.get(node.id, ())
        part = part_of(reading.part(node.id, titled=HAS_ENDPOINT in signs), signs)
        return Chosen(node.path, section, titles, place, score, why, part, ordinals)
