"""The state database: what the last builds saw and did, in plain SQLite tables read in bulk.

Snapshot rows, engine cells, outputs and results share one database, so that they
become durable together. It holds nothing that cannot be computed again.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable

from ctxbuild.source import rows

Warn = Callable[[str], None]

FORMAT = "ctxbuild-cache 1\n"
"""What the file FORMAT of a cache directory holds: another line means another version."""

STATE = "state.db"
_FORMAT = "2"
_TABLES = """
CREATE TABLE IF NOT EXISTS outputs(path TEXT PRIMARY KEY, target TEXT, stat TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS results(target TEXT PRIMARY KEY, summary TEXT) WITHOUT ROWID;
"""


class _OtherFormat(sqlite3.DatabaseError):
    """Made by another version of ctxbuild."""


def open_state(cache: str | os.PathLike[str], warn: Warn, *, persistent: bool) -> sqlite3.Connection:
    """The state database; one that is damaged or of another format is started anew.

    Where nothing can be written it lives in memory, begun with what the disk holds.

    Args:
        cache: the cache directory.
        warn: told in one line when the database had to be started anew.
        persistent: False where the cache directory cannot be written.

    Raises:
        sqlite3.OperationalError: another process has held it for a minute.
    """
    path = os.path.join(cache, STATE)
    if not persistent:
        return _in_memory(path)
    try:
        return _prepared(_connect(path))
    except _OtherFormat:
        warn(f"{path}: was made by another version and has been started anew")
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise
        if isinstance(error, sqlite3.OperationalError) and "readonly" in str(error):
            return _in_memory(path)
        warn(f"{path}: was damaged ({error}) and has been started anew")
    for suffix in ("", "-wal", "-shm", "-journal"):
        _remove(path + suffix)
    return _prepared(_connect(path))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Creates the tables; gives up those of another format."""
    # One format for all tables: engine and snapshot must begin anew together.
    wanted = f"{_FORMAT}-{rows.VERSION}-{sys.byteorder}"
    connection.execute(
        "CREATE TABLE IF NOT EXISTS state(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"
    )
    row = connection.execute("SELECT value FROM state WHERE name = 'format'").fetchone()
    if row and row[0] != wanted:
        connection.close()
        raise _OtherFormat
    if not row:
        connection.execute("INSERT INTO state VALUES ('format', ?)", (wanted,))
        connection.executescript(_TABLES)
        rows.prepare(connection)
    return connection


def _in_memory(path: str) -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None)
    if os.path.exists(path):
        from pathlib import Path

        try:
            uri = Path(path).absolute().as_uri()
            disk = sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)
            disk.backup(memory)
            disk.close()
            return _prepared(memory)
        except sqlite3.DatabaseError:
            memory.close()
            memory = sqlite3.connect(":memory:", isolation_level=None)
    return _prepared(memory)
