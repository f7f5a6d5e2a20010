"""An import graph as lines, JSON, DOT or Mermaid: deterministic, and no name can break it."""

from __future__ import annotations

from typing import Any

from ctxbuild.serve.imports import GraphEdge, GraphNode, ImportGraph
from ctxbuild.source.paths import shown

_DOT_STYLES = {
    "file": "",
    "namespace": " [shape=folder]",
    "external": " [style=dashed]",
    "unresolved": " [style=dashed, color=red]",
}
_MERMAID_SHAPES = {
    "file": ('["', '"]'),
    "namespace": ('[["', '"]]'),
    "external": ('("', '")'),
    "unresolved": ('{{"', '"}}'),
}


def as_data(graph: ImportGraph) -> dict[str, Any]:
    """The graph as plain data; nodes and edges name each other by `name` and `kind`."""
    return {
        "nodes": [{"name": node.name, "kind": node.kind} for node in graph.nodes],
        "edges": [
            {
                "from": edge.source,
                "to": edge.target.name,
                "to_kind": edge.target.kind,
                "kind": edge.kind,
                "line": edge.line,
                "ambiguous": edge.ambiguous,
            }
            for edge in graph.edges
        ],
    }


def as_lines(graph: ImportGraph) -> str:
    """One line per edge, and one per file without any."""
    touched = {edge.source for edge in graph.edges} | {edge.target.name for edge in graph.edges}
    lines = [f"{_place(edge)} -> {shown(edge.target.name)}{_marks(edge)}" for edge in graph.edges]
    lines += [shown(node.name) for node in graph.nodes if node.name not in touched]
    return "".join(f"{line}\n" for line in lines)


def _place(edge: GraphEdge) -> str:
    return shown(edge.source) + (f":{edge.line}" if edge.line else "")


def _marks(edge: GraphEdge) -> str:
    marks = [] if edge.kind == "top" else [edge.kind]
    marks += [] if edge.target.kind == "file" else [edge.target.kind]
    marks += ["ambiguous"] if edge.ambiguous else []
    return f" [{', '.join(marks)}]" if marks else ""


def as_dot(graph: ImportGraph) -> str:
    """The graph for Graphviz."""
    lines = ["digraph imports {", "  rankdir=LR;", "  node [shape=box];"]
    lines += [f"  {_dot_id(node)}{_DOT_STYLES[node.kind]};" for node in graph.nodes]
    for edge in graph.edges:
        label = edge.kind if edge.kind != "top" else ""
        label += "?" if edge.ambiguous else ""
        style = f' [label="{label}"]' if label else ""
        lines.append(f"  {_dot_id(GraphNode(edge.source))} -> {_dot_id(edge.target)}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_id(node: GraphNode) -> str:
    name = shown(node.name).replace("\\", "\\\\").replace('"', '\\"')
    # A module may be called as a file is.
    return f'"{name}"' if node.kind == "file" else f'"{node.kind}: {name}"'


def as_mermaid(graph: ImportGraph) -> str:
    """The graph for Mermaid."""
    names = {node: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    for node, name in names.items():
        before, after = _MERMAID_SHAPES[node.kind]
        lines.append(f"  {name}{before}{_mermaid(node.name)}{after}")
    for edge in graph.edges:
        label = "" if edge.kind == "top" else f"|{edge.kind}|"
        arrow = "-.->" if edge.ambiguous or edge.target.kind != "file" else "-->"
        lines.append(f"  {names[GraphNode(edge.source)]} {arrow}{label} {names[edge.target]}")
    return "\n".join(lines) + "\n"


def _mermaid(text: str) -> str:
    return "".join(c if c.isalnum() or c in " ./_-" else f"#{ord(c)};" for c in shown(text))
