"""The SQL of the value store, run on diskcache's connection in diskcache's table.

diskcache has no bulk operations of its own: one value at a time through its
methods takes three times as long to write and five times as long to read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import sqlite3

    from diskcache import Cache

RAW: Final = 1
"""diskcache's MODE_RAW: the value stands in the row as it is."""

OURS: Final = f"raw = 1 AND mode = {RAW} AND filename IS NULL AND typeof(key) = 'blob'"
"""The rows that this store writes; a pickle is none of them."""

KEYS: Final = f"SELECT key FROM Cache WHERE {OURS} ORDER BY rowid"
OF_LENGTH: Final = f"SELECT key, value FROM Cache WHERE {OURS} AND length(value) = ?"
AFTER: Final = (
    "SELECT rowid, key, raw, mode, filename, value FROM Cache"
    " WHERE rowid > ? ORDER BY rowid LIMIT ?"
)
_PUT: Final = (
    "INSERT INTO Cache (key, raw, store_time, access_time, access_count, size, mode, value)"
    f" VALUES (?, 1, ?, ?, 0, 0, {RAW}, ?) ON CONFLICT (key, raw) DO UPDATE SET"
    f" store_time = excluded.store_time, expire_time = NULL, mode = {RAW},"
    " filename = NULL, value = excluded.value"
)


def of_keys(count: int) -> str:
    """The query for the rows (key, mode, value) of that many keys."""
    marks = ",".join("?" * count)
    return f"SELECT key, mode, value FROM Cache WHERE key IN ({marks}) AND raw = 1"


def run(cache: Cache, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
    """Run one statement."""
    return connection(cache).execute(statement, values)


def put(cache: Cache, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Write rows (key, value) in one transaction."""
    now = time.time()
    with cache.transact():
        connection(cache).executemany(_PUT, ((key, now, now, value) for key, value in rows))


def delete(cache: Cache, keys: Iterable[bytes]) -> int:
    """Delete the rows of these keys in one transaction; how many there were."""
    return _delete(cache, "DELETE FROM Cache WHERE key = ? AND raw = 1", keys)


def delete_ids(cache: Cache, ids: Iterable[int]) -> int:
    """Delete the rows with these row ids in one transaction; how many there were."""
    return _delete(cache, "DELETE FROM Cache WHERE rowid = ?", ids)


def connection(cache: Cache) -> sqlite3.Connection:
    """The connection of this process and thread."""
    found: sqlite3.Connection = cache._con  # noqa: SLF001  # it has no public name
    return found


def _delete(cache: Cache, statement: str, values: Iterable[bytes | int]) -> int:
    with cache.transact():
        return sum(run(cache, statement, (value,)).rowcount for value in values)
