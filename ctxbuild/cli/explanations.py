"""Causes as sentences: what ran and which change made it run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ctxbuild.engine.events import Cause, Event, Node, Ran, Reused

if TYPE_CHECKING:
    from ctxbuild.serve.causes import Link

_INPUTS = {
    "file": "{key} changed",
    "config": "the declaration of target {key!r} changed",
    "directory": "{key}/ appeared or vanished",
    "home": "module {key!r} is importable from other directories",
    "glob": "{key!r} matches other files",
    "definers": "other definitions are named {key!r}",
}

_CAUSES = {
    "new": "it never ran before",
    "version": "the code that computes it changed",
    "lost": "its stored value is gone",
}


def explain_events(events: Iterable[Event], verb: str = "ran") -> str:
    """One line per stage that ran or was checked, with its cause.

    Args:
        events: what the engine did.
        verb: "ran", or "would run" after a dry run.
    """
    lines = []
    for event in events:
        if isinstance(event, Ran) and event.stage:
            lines.append(f"{shown_node(event.node)}: {cause_text(event.cause, verb)}")
        elif isinstance(event, Reused) and event.stage:
            lines.append(f"{shown_node(event.node)}: {_reuse(event)}")
    return "\n".join(dict.fromkeys(lines)) + ("\n" if lines else "")


def event_data(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """The stages that ran or were checked, as plain data."""
    for event in events:
        if isinstance(event, Ran) and event.stage:
            because = str(event.cause.node) if event.cause.node else None
            cause = {"kind": event.cause.kind, "because": because, "facet": event.cause.facet}
            yield {"node": str(event.node), "event": "ran", "cause": cause}
        elif isinstance(event, Reused) and event.stage:
            yield {"node": str(event.node), "event": "reused", "where": event.where}


def _reuse(event: Reused) -> str:
    if event.where == "content":
        return "reused, the same content was seen before"
    return "reused, nothing that it saw changed"


def cause_text(cause: Cause, verb: str = "ran") -> str:
    """Why a stage ran, or would run."""
    if cause.kind == "changed" and cause.node is not None:
        because = change_text(cause.node, cause.facet)
    else:
        because = _CAUSES.get(cause.kind, cause.kind)
    return f"{verb}, because {because}"


def change_text(node: Node, facet: str) -> str:
    """What changed, as a clause."""
    if node.query in _INPUTS:
        return input_text(node, facet)
    part = f" ({facet})" if facet else ""
    return f"{shown_node(node)}{part} changed"


def input_text(node: Node, facet: str) -> str:
    """How something that comes from outside changed."""
    if node.query == "file" and facet == "exists":
        return f"{_shown(node.key)} appeared or vanished"
    return _INPUTS.get(node.query, "{key} changed").format(key=_shown(node.key))


def shown_node(node: Node) -> str:
    """A node on one line."""
    return f"{node.query}({_shown(node.key)})"


def _shown(key: str) -> str:
    from ctxbuild.source.paths import shown

    return shown(key.replace("\0", "::"))


def chain_text(chain: Sequence[Link]) -> str:
    """A remembered chain of causes, the effect first, one indented line per step."""
    lines = []
    for depth, link in enumerate(chain):
        node = _node(link.node)
        if link.kind == "input":
            continue  # the step before has said how it changed
        text = _remembered(link)
        lines.append(f"{'  ' * depth}{shown_node(node)} {text}")
    return "\n".join(lines) + "\n"


def _remembered(link: Link) -> str:
    if link.kind == "content":
        return "took the result that equal content had before"
    if link.kind == "absent":
        return "has no content any more"
    cause = Cause(link.kind, _node(link.because) if link.because else None, link.facet)
    return cause_text(cause)


def _node(text: str) -> Node:
    query, _, key = text.partition("(")
    return Node(query, key.removesuffix(")"))
