"""Why a target was last rebuilt: the chain of causes that the engine remembers."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxbuild.serve.maintenance import read_only
from ctxbuild.serve.session import cache_directory
from ctxbuild.stores.state import STATE

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Ctxfile

_STAGES = ("plan", "pack")
_MOST_STEPS = 50


@dataclass(frozen=True, slots=True)
class Link:
    """A node and why it was last computed.

    Attributes:
        node: `plan(core)` and so on.
        kind: the kind of its cause, see `engine.events.Cause`; "content" if its result
            was taken from equal content; "input" for what comes from outside.
        because: the node that changed, or "".
        facet: the part of it that changed, or "".
    """

    node: str
    kind: str
    because: str = ""
    facet: str = ""


def last_causes(ctxfile: Ctxfile, target: str) -> tuple[tuple[Link, ...], ...]:
    """One chain of causes per stage of a target, from the stage to what came from outside.

    Reads what is remembered and looks at no source: () if nothing is remembered.

    Raises:
        UnknownTarget: the ctxfile has no such target.
    """
    ctxfile.target(target)
    path = cache_directory(ctxfile) / STATE
    if not path.exists():
        return ()
    try:
        with closing(read_only(path)) as connection:
            chains = [_chain(connection, f"{stage}({target})") for stage in _STAGES]
    except sqlite3.Error:
        return ()
    return tuple(chain for chain in chains if chain)


def _chain(connection: sqlite3.Connection, start: str) -> tuple[Link, ...]:
    links: list[Link] = []
    node = start
    while node and len(links) < _MOST_STEPS and all(link.node != node for link in links):
        query, _, key = node[:-1].partition("(")
        row = connection.execute(
            "SELECT cause, value FROM nodes WHERE query = ? AND key = ?", (query, key)
        ).fetchone()
        if row is None:
            break
        if row[1] is None:
            links.append(Link(node, "input", facet=links[-1].facet if links else ""))
            break
        # A key may hold a NUL itself, so the ends are cut off first.
        kind, _, rest = row[0].partition("\0")
        because, _, facet = rest.rpartition("\0")
        if kind == "content":
            because = f"file({key})"
        links.append(Link(node, kind, because, facet))
        node = because
    return tuple(links)
