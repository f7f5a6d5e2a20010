"""The state database: what the last builds saw and did, in plain SQLite tables read in bulk.

Snapshot rows, engine cells, outputs and results share one database, so that they
become durable together. It holds nothing that cannot be computed again.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import sys
from collections.abc import Callable

from ctxbuild.source import rows

Warn = Callable[[str], None]

FORMAT = "ctxbuild-cache 1\n"
"""What the file FORMAT of a cache directory holds: another line means another version."""

STATE = "state.db"
_FORMAT = "6"
_TABLES = (
    "counts(key BLOB PRIMARY KEY, tokens INTEGER)",
    "state(name TEXT PRIMARY KEY, value TEXT)",
    "outputs(path TEXT PRIMARY KEY, target TEXT, stat TEXT)",
    "results(target TEXT PRIMARY KEY, summary TEXT)",
)


STATE_FAILURES = (sqlite3.Error, struct.error, UnicodeDecodeError, json.JSONDecodeError)
"""What using a state database may raise that is damaged or out of reach."""


class _OtherFormat(sqlite3.DatabaseError):
    """Made by another version of ctxbuild."""


def open_state(
    cache: str | os.PathLike[str], warn: Warn, *, persistent: bool
) -> sqlite3.Connection:
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
        if is_busy(error):
            raise
        if not is_damage(error) and not os.path.isdir(path):
            warn(f"{path}: cannot be used ({error}); this run keeps its state in memory")
            return _in_memory(path)
        warn(f"{path}: was damaged ({error}) and has been started anew")
    try:
        remove_state(cache)
        return _prepared(_connect(path))
    except (OSError, sqlite3.Error) as error:
        warn(f"{path}: cannot be used ({error}); this run keeps its state in memory")
        return _in_memory(path)


def is_busy(error: BaseException) -> bool:
    """Whether another process holds the database."""
    code: int = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def is_damage(error: BaseException) -> bool:
    """Whether a failure says that what the database holds is no good; else it is out of reach."""
    if not isinstance(error, sqlite3.Error):
        return True
    from ctxbuild.stores.database import is_malformed

    return is_malformed(error)


def remove_state(cache: str | os.PathLike[str]) -> None:
    """Deletes the state database, so that the next one begins anew.

    Raises:
        OSError: it cannot be deleted.
    """
    # The log first: a new database must never meet the old one's log.
    for suffix in ("-wal", "-shm", "-journal", ""):
        _remove(os.path.join(cache, STATE) + suffix)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Creates the tables; gives up those of another format."""
    # One format for all tables: engine and snapshot must begin anew together.
    wanted = f"{_FORMAT}-{rows.VERSION}-{sys.byteorder}"
    try:
        if _format(connection) is None:
            # In one transaction: another process may be looking, or doing the same.
            connection.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                connection.execute(f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID")
            rows.prepare(connection)
            connection.execute("INSERT OR IGNORE INTO state VALUES ('format', ?)", (wanted,))
            connection.execute("COMMIT")
        same = _format(connection) == wanted
    except BaseException:
        connection.close()
        raise
    if not same:
        connection.close()
        raise _OtherFormat
    return connection


def _format(connection: sqlite3.Connection) -> str | None:
    """The format that the database says it has, None if it is new."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'state'").fetchone()
    if found is None:
        return None
    row = connection.execute("SELECT value FROM state WHERE name = 'format'").fetchone()
    return row[0] if row else ""


def scratch_state() -> sqlite3.Connection:
    """A state that begins empty and leaves nothing: for sources that are no working tree."""
    return _prepared(sqlite3.connect(":memory:", isolation_level=None))


def _in_memory(path: str) -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None)
    # Read without its log, which needs a place to write, it is whole only if that is empty.
    if os.path.isfile(path) and not _has_bytes(path + "-wal"):
        from contextlib import closing
        from pathlib import Path

        uri = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as disk:
                disk.backup(memory)
            if memory.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
                return _prepared(memory)
        except sqlite3.DatabaseError:
            pass
        memory.close()
        memory = sqlite3.connect(":memory:", isolation_level=None)
    return _prepared(memory)


def _has_bytes(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except OSError:
        return False
