"""The store's SQLite database: its settings, and what its failures mean."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from ctxbuild.stores import diskcaching

DATABASE: Final = "cache.db"

SETTINGS: Final = {
    # The default silently evicts beyond 1 GB; `sweep` and `delete_many` decide here.
    "eviction_policy": "none",
    "cull_limit": 0,
    "statistics": 0,
    "tag_index": 0,
    "sqlite_journal_mode": "wal",
    # A crash of the process loses nothing. After a power cut rows may be damaged,
    # which their checksums tell; so no build waits for the disk.
    "sqlite_synchronous": 0,
    "sqlite_auto_vacuum": 0,
    # Pages held in memory; the default of 8,192 is 32 MB of a process that lives long.
    "sqlite_cache_size": 1024,
    # A mapped file that another process truncates kills this one.
    "sqlite_mmap_size": 0,
}

# Primary SQLite result codes that say "this is no database of ours"; all others say
# that the system refuses: read-only, full, locked, cannot open.
_MALFORMED: Final = frozenset(
    {
        sqlite3.SQLITE_ERROR,  # a table or column is missing
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_SCHEMA,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_NOTADB,
    }
)
_COLUMNS: Final = {
    *("rowid", "key", "raw", "store_time", "expire_time", "access_time"),
    *("access_count", "tag", "size", "mode", "filename", "value"),
}


def refuse_foreign(directory: Path) -> None:
    """Look at an existing database before diskcache does.

    diskcache takes every setting it finds as an attribute of its own, so a planted
    or later one could replace a method.

    Raises:
        sqlite3.DatabaseError: it is not a database that this version made.
    """
    path = directory / DATABASE
    if not path.exists():
        return
    with closing(sqlite3.connect(path, timeout=5.0)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        columns = {row[1] for row in database.execute("PRAGMA table_info(Cache)")}
        keys = set()
        if "Settings" in tables:
            keys = {key for (key,) in database.execute("SELECT key FROM Settings")}
    if not keys <= _known_settings() or columns not in (set(), _COLUMNS):
        raise _ForeignDatabase("made by another version")


def _known_settings() -> set[str]:
    diskcaching.load()
    from diskcache.core import DEFAULT_SETTINGS, METADATA

    return {*DEFAULT_SETTINGS, *METADATA, *SETTINGS}


class _ForeignDatabase(sqlite3.DatabaseError):
    """A database, but not of this version."""


def failures() -> tuple[type[Exception], ...]:
    """What using the database may raise."""
    diskcaching.load()
    from diskcache import Timeout

    return (sqlite3.Error, OSError, Timeout)


def cause_of(error: BaseException) -> BaseException:
    """The first failure of the database or system behind an error.

    diskcache rolls back after an error, which may fail in turn, and names every
    failure to begin a transaction a timeout.
    """
    cause = error
    while error.__context__ is not None:
        error = error.__context__
        if isinstance(error, sqlite3.Error | OSError):
            cause = error
    return cause


def is_malformed(cause: BaseException) -> bool:
    """Whether the cause says that the database is no good, rather than out of reach."""
    if isinstance(cause, _ForeignDatabase):
        return True
    code: int | None = getattr(cause, "sqlite_errorcode", None)
    if code is None or not isinstance(cause, sqlite3.Error):
        # Text that is no UTF-8 and the like have no code.
        return isinstance(cause, sqlite3.Error)
    return code & 0xFF in _MALFORMED or code == sqlite3.SQLITE_IOERR_SHORT_READ


def reason_of(cause: BaseException) -> str:
    """A few words for a warning."""
    if isinstance(cause, OSError):
        return (cause.strerror or str(cause)).lower()
    return str(cause) or "another process keeps it locked"


def database_files(directory: Path) -> list[Path]:
    """The database and its side files, the log last."""
    return [directory / f"{DATABASE}{suffix}" for suffix in ("", "-shm", "-wal")]
