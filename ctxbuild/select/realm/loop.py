"""The loop that reads documents instead of searching them: READ, ANALYZE, MONITOR.

It begins with what stands outermost and looks at one section at a time. READ picks
the next visible section; one that holds others is expanded, so that they become
visible, and its own text is judged like a leaf's. ANALYZE keeps a section or hides
it: a first strike hides, a second blocks. MONITOR is asked after every section that
was kept whether the context suffices. When nothing visible is left, hidden sections
resurface once, and get a second look in the light of what was kept.

What decides is a `Policy`. Whatever it answers, the loop ends after a bounded number
of steps, and all sets keep the order in which things came in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

_MOST_REFUSED = 3
"""Wrong picks in a row after which the first visible section is read instead."""


@dataclass(frozen=True, slots=True)
class Node:
    """A section as the loop sees it.

    Attributes:
        id: its unit, `path#slug`; the path alone for a document.
        titles: the titles around it and its own, outermost first.
        children: ids of the sections inside it, in the order of the document.
        has_text: whether there is text of its own to judge.
    """

    id: str
    path: str
    slug: str
    titles: tuple[str, ...]
    children: tuple[str, ...] = ()
    has_text: bool = True

    @property
    def title(self) -> str:
        """Its own title."""
        return self.titles[-1] if self.titles else self.path


@dataclass(frozen=True, slots=True)
class Answer:
    """What a policy says, and why in a few words."""

    yes: bool
    why: str


@dataclass(slots=True)
class State:
    """Where the loop stands; dictionaries serve as sets in order.

    Attributes:
        visible: may be read next.
        expanded: their children have become visible.
        hidden: judged and not kept, for now; to the reason.
        blocked: judged twice and not kept.
        selected: kept; to the reason.
        visited: read in this look.
        second_look: whether what was hidden has resurfaced.
    """

    nodes: Mapping[str, Node]
    visible: dict[str, None] = field(default_factory=dict)
    expanded: dict[str, None] = field(default_factory=dict)
    hidden: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)
    selected: dict[str, str] = field(default_factory=dict)
    visited: dict[str, None] = field(default_factory=dict)
    second_look: bool = False

    def unread(self) -> list[str]:
        """What READ may choose from, in the order in which it became visible."""
        return [id_ for id_ in self.visible if id_ not in self.visited]


class Policy(Protocol):
    """What decides in the loop."""

    def read(self, state: State) -> str | None:
        """The id to read next, out of `state.unread()`; None if none of them is worth it."""

    def analyze(self, state: State, node: Node, /) -> Answer:
        """Whether the text of a section belongs into the context."""

    def monitor(self, state: State, /) -> Answer:
        """Whether what was kept suffices."""


Stop = Literal["enough", "exhausted", "steps"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the loop came to.

    Attributes:
        selected: ids of what was kept, in the order in which it was kept, with the reason.
        stopped: MONITOR said so, nothing was left to read, or the steps were used up.
        trace: every step as plain data.
    """

    selected: Mapping[str, str]
    stopped: Stop
    trace: tuple[Mapping[str, Any], ...]
    state: State


class Loop:
    """One run of the loop.

    Args:
        nodes: every section by its id.
        roots: ids of what is visible at first, in order.
        policy: what decides.
        steps: most sections that are read; a section that gets a second look counts twice.
    """

    def __init__(
        self, nodes: Mapping[str, Node], roots: tuple[str, ...], policy: Policy, steps: int
    ) -> None:
        self._policy = policy
        self._steps = steps
        self._trace: list[dict[str, Any]] = []
        self.state = State(nodes, visible=dict.fromkeys(roots))

    def run(self) -> Outcome:
        """Reads until the context suffices, nothing is left, or the steps are used up."""
        stopped: Stop = "steps"
        refused = 0
        for _ in range(self._steps):
            picked = self._pick(refused)
            if picked is None:
                stopped = "exhausted"
                break
            if picked not in self.state.visible or picked in self.state.visited:
                refused += 1
                seen = "already read" if picked in self.state.visited else "not visible"
                self._trace.append({"read": picked, "refused": seen})
                continue
            refused = 0
            if self._look_at(picked):
                stopped = "enough"
                break
        self._trace.append({"stop": stopped})
        return Outcome(dict(self.state.selected), stopped, tuple(self._trace), self.state)

    def _pick(self, refused: int) -> str | None:
        """The next id; hidden ones resurface once when nothing else is worth reading."""
        while True:
            unread = self.state.unread()
            picked = None
            if unread:
                picked = unread[0] if refused >= _MOST_REFUSED else self._policy.read(self.state)
            if picked is not None or not self._resurface():
                return picked

    def _resurface(self) -> bool:
        """Makes what is hidden visible again, once; whether there was any."""
        state = self.state
        if state.second_look or not state.hidden:
            return False
        state.second_look = True
        self._trace.append({"resurface": list(state.hidden)})
        for id_ in state.hidden:
            state.visited.pop(id_, None)
            state.visible[id_] = None
        return True

    def _look_at(self, id_: str) -> bool:
        """Reads one section; whether the context suffices now."""
        state = self.state
        node = state.nodes[id_]
        step: dict[str, Any] = {"read": id_}
        self._trace.append(step)
        state.visited[id_] = None
        del state.visible[id_]
        if node.children and id_ not in state.expanded:
            state.expanded[id_] = None
            state.visible.update(dict.fromkeys(node.children))
            step["expand"] = list(node.children)
        if not node.has_text:
            return False
        answer = self._policy.analyze(state, node)
        step["analyze"] = f"{'keep' if answer.yes else self._strike(id_, answer.why)}: {answer.why}"
        if not answer.yes:
            return False
        state.hidden.pop(id_, None)
        state.selected[id_] = answer.why
        verdict = self._policy.monitor(state)
        step["monitor"] = f"{'enough' if verdict.yes else 'go on'}: {verdict.why}"
        return verdict.yes

    def _strike(self, id_: str, why: str) -> str:
        """A first strike hides, a second blocks."""
        if id_ in self.state.hidden:
            del self.state.hidden[id_]
            self.state.blocked[id_] = why
            return "block"
        self.state.hidden[id_] = why
        return "hide"
