"""Causes as sentences: what ran and which change made it run."""

from __future__ import annotations

from collections.abc import Iterable

from ctxbuild.engine.events import Cause, Event, Invalidated, Ran, Reused


def explain_events(events: Iterable[Event]) -> str:
    """One line per stage that ran or was checked, with its cause."""
    lines = []
    for event in events:
        if isinstance(event, Ran) and event.stage:
            lines.append(f"{event.node}: {cause_text(event.cause)}")
        elif isinstance(event, Reused) and event.stage:
            how = "same content seen before" if event.where == "content" else "nothing it saw changed"
            lines.append(f"{event.node}: reused, {how}")
        elif isinstance(event, Invalidated) and event.node.query in ("file", "config"):
            lines.append(f"{event.node}: {_what(event)}")
    return "\n".join(dict.fromkeys(lines)) + ("\n" if lines else "")


def _what(event: Invalidated) -> str:
    if event.node.query == "config":
        return "the target's declaration changed"
    return "appeared or vanished" if event.facet == "exists" else "changed"


def cause_text(cause: Cause) -> str:
    """Why a stage ran."""
    if cause.kind == "changed" and cause.node is not None:
        part = f" ({cause.facet})" if cause.facet else ""
        return f"ran, because {cause.node}{part} changed"
    return {
        "new": "ran, because it never ran before",
        "version": "ran, because the code that computes it changed",
        "lost": "ran, because its stored value is gone",
    }.get(cause.kind, cause.kind)
