"""What the engine did and why: the closed set of events behind `--explain`, progress and tests."""

from __future__ import annotations

from typing import NamedTuple


class Node(NamedTuple):
    """One question the engine can answer: a query (or input, or index) and its key."""

    query: str
    key: str

    def __str__(self) -> str:
        return f"{self.query}({self.key})"


class Cause(NamedTuple):
    """Why a node was computed: data, rendered by whoever shows it.

    Attributes:
        kind: "new" (never computed), "changed" (a dependency changed), "version"
            (the code that computes it changed), "lost" (its value left the store).
        node: the dependency that changed, for "changed".
        facet: the part of it that changed, "" for its whole value.
    """

    kind: str
    node: Node | None = None
    facet: str = ""


class Ran(NamedTuple):
    """A node was computed."""

    node: Node
    cause: Cause
    stage: bool  # False for projections, which run lists leave out


class Reused(NamedTuple):
    """A node that had to be looked at was not computed.

    Attributes:
        where: "verified" (every dependency still has the value it had) or
            "content" (the same content was computed before, maybe elsewhere).
    """

    node: Node
    where: str
    stage: bool


class Invalidated(NamedTuple):
    """An input, or an entry of an index, has another value than before."""

    node: Node
    facet: str


Event = Ran | Reused | Invalidated
