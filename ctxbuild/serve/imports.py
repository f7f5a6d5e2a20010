"""The import graph: of the whole repository, or around some files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ctxbuild.serve.lookup import Desk

if TYPE_CHECKING:
    from ctxbuild.graph.view import Edge

NodeKind = Literal["file", "namespace", "external", "unresolved"]


@dataclass(frozen=True, slots=True, order=True)
class GraphNode:
    """A file, or a module that is none of ours."""

    name: str
    kind: NodeKind = "file"


@dataclass(frozen=True, slots=True, order=True)
class GraphEdge:
    """The first import of a kind by which a file needs another.

    Attributes:
        kind: as the graph's edges have it: top, lazy, type-checking, package and so on.
        line: where it stands, None if that is unknown.
        ambiguous: whether the target is one of several that it may be.
    """

    source: str
    target: GraphNode
    kind: str
    line: int | None = None
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class ImportGraph:
    """Nodes and edges, each sorted."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def import_graph(
    desk: Desk, starts: Iterable[str], depth: int | None = None, *, external: bool = False
) -> ImportGraph:
    """Who imports whom, from some files on.

    Args:
        desk: the repository.
        starts: paths; none means every file that is parsed.
        depth: most steps from a start; None for all.
        external: show what is not in the repository or was not found, too.
    """
    from ctxbuild.facts import language_of

    waiting = sorted(starts) or [p for p in desk.workspace.snapshot.paths if language_of(p)]
    nodes = {GraphNode(path) for path in waiting}
    edges: dict[tuple[str, GraphNode, str], GraphEdge] = {}
    seen = set(waiting)
    step = 0
    while waiting and (depth is None or step < depth):
        step += 1
        following: list[str] = []
        for path in waiting:
            for edge in _edges(desk, path, external=external):
                edges.setdefault((path, edge.target, edge.kind), edge)
                nodes.add(edge.target)
                name = edge.target.name
                if edge.target.kind == "file" and name not in seen:
                    seen.add(name)
                    following.append(name)
        waiting = following
    return ImportGraph(tuple(sorted(nodes)), tuple(sorted(edges.values(), key=_place)))


def _place(edge: GraphEdge) -> tuple[str, GraphNode, str]:
    return edge.source, edge.target, edge.kind


def _edges(desk: Desk, path: str, *, external: bool) -> Iterator[GraphEdge]:
    lines = desk.lines(path).imports
    for edge in desk.view.resolved(path):
        line = lines[edge.import_index] if edge.import_index < len(lines) else None
        for target in _targets(desk, path, edge):
            if target != GraphNode(path) and (external or target.kind == "file"):
                ambiguous = edge.status == "ambiguous"
                yield GraphEdge(path, target, edge.kind, line, ambiguous)


def _targets(desk: Desk, path: str, edge: Edge) -> Iterator[GraphNode]:
    if edge.status == "file":
        yield GraphNode(edge.target)
    elif edge.status == "ambiguous":
        yield from (GraphNode(each) for each in edge.alternatives)
    elif edge.status == "namespace":
        yield from (GraphNode(each, "namespace") for each in edge.alternatives)
    else:
        made = desk.view.imports(path)[edge.import_index]
        module = "." * made.level + made.module
        if edge.status == "unresolved" and made.name not in (None, "*"):
            module = f"{module.rstrip('.')}.{made.name}" if made.module else module + str(made.name)
        yield GraphNode(module, edge.status)
