"""The policy of rules: term match, links and cost decide, the same way every time.

Scores are relative to the best section of each aspect: what comes near it is kept
at first sight; what comes half as near waits for the second look, and is kept if
what was kept leads to it: a link, the section around it, or the one inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxbuild.select.realm.loop import Answer, Node, State
from ctxbuild.select.realm.match import Scores

FIRST_LOOK = 0.6
"""Of the best score of an aspect: what is kept at first sight."""

SECOND_LOOK = 0.42
"""Of the best score of an aspect: what is worth reading, and kept if what was kept leads to it."""

NOTHING = 0.2
"""A best score below which an aspect is not in the documents."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How well a section does in the aspect that it does best in.

    Attributes:
        part: its score as a part of the best score of that aspect, 0 to 1.
    """

    part: float
    score: float
    aspect: int
    why: str


class Rules:
    """Decides by scores.

    Args:
        nodes: every section by id, in the order of the documents.
        scores: one table per aspect.
        links: id to the ids that its text leads to.
        needs: id to the ids that it says it depends on.
        costs: id to its tokens, roughly.
        room: tokens that the context may have.
    """

    def __init__(
        self,
        nodes: Mapping[str, Node],
        scores: Sequence[Scores],
        links: Mapping[str, Sequence[str]],
        needs: Mapping[str, Sequence[str]],
        costs: Mapping[str, int],
        room: int,
    ) -> None:
        self._nodes = nodes
        self._links = links
        self._needs = needs
        self._costs = costs
        self._room = room
        self.standings = {id_: standing(id_, scores) for id_ in nodes}
        self._parents = {child: id_ for id_, node in nodes.items() for child in node.children}
        self._promises: dict[str, float] = {}
        for id_ in reversed(list(nodes)):  # children stand behind their parents
            below = [self._promises[c] for c in nodes[id_].children]
            self._promises[id_] = max([self.standings[id_].part, *below])

    def read(self, state: State) -> str | None:
        """The unread section that promises most, itself or by what it holds."""
        best, most = None, 0.0
        for id_ in state.unread():
            promise = self._promises[id_]
            if promise > most:
                best, most = id_, promise
        return best if most >= SECOND_LOOK else None

    def analyze(self, state: State, node: Node) -> Answer:
        """Keeps what matches well; at the second look also what is led to."""
        found = self.standings[node.id]
        if found.part >= FIRST_LOOK:
            return Answer(True, f"{found.why} ({found.score:.2f})")
        if not found.part:
            return Answer(False, "none of the words")
        if state.second_look and found.part >= SECOND_LOOK:
            way = self._way(state, node)
            if way:
                return Answer(True, f"{found.why} ({found.score:.2f}), {way}")
        return Answer(False, f"{found.why} ({found.score:.2f})")

    def monitor(self, state: State) -> Answer:
        """Enough when the room is used, or nothing that is left promises anything."""
        spent = sum(self._costs.get(id_, 0) for id_ in state.selected)
        if spent >= self._room:
            return Answer(True, f"about {spent} of {self._room} tokens")
        left = [id_ for id_ in state.unread() if self._promises[id_] >= SECOND_LOOK]
        waiting = [i for i in state.hidden if self.standings[i].part >= SECOND_LOOK]
        if not left and (state.second_look or not waiting):
            return Answer(True, "nothing left promises more")
        return Answer(False, f"{len(left) + len(waiting)} left that may matter")

    def _way(self, state: State, node: Node) -> str:
        """What leads to a section from what was kept at first sight, "" if nothing does."""
        for kept in state.selected:
            if self.standings[kept].part < FIRST_LOOK:
                continue
            if node.id in self._needs.get(kept, ()):
                return f"needed by {kept}"
            if node.id in self._links.get(kept, ()):
                return f"linked from {kept}"
            if self._parents.get(kept) == node.id and node.id in self._parents:
                return f"around {kept}"
            if self._parents.get(node.id) == kept:
                return f"inside {kept}"
        return ""


def standing(id_: str, scores: Sequence[Scores]) -> Standing:
    """How well a section does in the aspect that it does best in."""
    best = Standing(0.0, 0.0, -1, "")
    for place, table in enumerate(scores):
        if table.best < NOTHING:
            continue
        part = round(table[id_] / table.best, 2)
        if part > best.part:
            words = ", ".join(table.terms_in(id_))
            best = Standing(part, table[id_], place, words)
    return best
