"""A first look at a project: its state database, open, and the tree compared with it.

It imports no engine, parser, tokenizer or value store: a build with nothing to
do needs no more than this.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ctxbuild.source import scan as scanning
from ctxbuild.stores.state import open_state
from ctxbuild.stores.versions import stage_versions

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Ctxfile
    from ctxbuild.source.scan import Changes, Snapshot


class Look(NamedTuple):
    """An open state database and the tree compared with it.

    Attributes:
        seen: SQLite's data version at the time; another one means that somebody wrote since.
    """

    connection: sqlite3.Connection
    versions: dict[str, str]
    snapshot: Snapshot
    changes: Changes
    seen: int


def look(
    ctxfile: Ctxfile,
    cache: str | os.PathLike[str],
    warn: Callable[[str], None],
    *,
    persistent: bool,
) -> Look:
    """Opens the state and compares the tree with it; writes nothing.

    Args:
        ctxfile: the project.
        cache: its cache directory, prepared.
        warn: told what is wrong with the state database.
        persistent: False where the cache directory cannot be written.

    Raises:
        SourceError: the root cannot be listed.
    """
    connection = open_state(cache, warn, persistent=persistent)
    try:
        versions = stage_versions(connection)
        seen = data_version(connection)
        snapshot, changes = scanning.scan(ctxfile.root, ctxfile.project.scope(), connection)
    except BaseException:
        connection.close()
        raise
    return Look(connection, versions, snapshot, changes, seen)


def data_version(connection: sqlite3.Connection) -> int:
    """A number that changes when another connection commits."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])
