"""Cached values by key, in diskcache's database, with every distrust a cache deserves.

A value that is missing, garbled, pickled or of another format is simply not
there: the caller computes it again. A database that is not one is deleted and
started anew. A directory or disk that takes no more turns the store into a
dictionary for the rest of the run. Each of these is said once, and none raises.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ctxbuild.stores import diskcaching, frame, rows
from ctxbuild.stores.blobs import HOUR, Blobs
from ctxbuild.stores.database import (
    DATABASE,
    SETTINGS,
    cause_of,
    database_files,
    failures,
    is_malformed,
    reason_of,
    refuse_foreign,
)

if TYPE_CHECKING:
    from diskcache import Cache

Warn = Callable[[str], None]

_PER_TRANSACTION: Final = 1_000
_PER_QUERY: Final = 500
_NAME_BYTES: Final = 32

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Verification:
    """What `ValueStore.verify` found.

    Attributes:
        rows: rows looked at.
        problems: one line per bad row or damaged database page.
        removed: how many bad rows were deleted.
    """

    rows: int
    problems: tuple[str, ...]
    removed: int


class ValueStore:
    """Values by key. No method but `close` after `close`; none raises for a bad cache.

    Args:
        directory: where `cache.db` and `blobs/` stand; made on first use, mode 0700.
        warn: takes one line when the cache was rebuilt or can no longer be written.
        timeout: seconds to wait for another process that writes.
        writable: False to leave the disk as it is: new values are kept in memory.

    Attributes:
        refused: rows read so far that were no whole value of ours, pickles included.
    """

    def __init__(
        self, directory: Path, warn: Warn, timeout: float = 30.0, *, writable: bool = True
    ) -> None:
        self.directory = directory
        self.refused = 0
        self._blobs = Blobs(directory / "blobs")
        self._warn = warn
        self._timeout = timeout
        self._cache: Cache | None = None
        self._rebuilt = False
        # None while the disk takes values; after that, what it no longer took.
        self._memory: dict[bytes, bytes] | None = None if writable else {}
        self._readable = writable or (directory / DATABASE).exists()

    @property
    def persistent(self) -> bool:
        """Whether what is stored now outlives this run."""
        return self._memory is None

    # --- values -------------------------------------------------------------------

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        return self.get_many((key,)).get(key)

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that have one."""
        found: dict[bytes, bytes] = {}
        wanted = list(keys)
        if self._memory is not None:
            found = {key: self._memory[key] for key in wanted if key in self._memory}
            wanted = [key for key in wanted if key not in found]
        for some in _batches(wanted, _PER_QUERY):
            for key, mode, row in self._select(rows.of_keys(len(some)), some):
                value = self._decode(key, row if mode == rows.RAW else None)
                if value is not None:
                    found[key] = value
        return found

    def put_many(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Store values, about a thousand per transaction.

        What the disk refuses is kept in memory for the rest of the run.
        """
        for some in _batches(items, _PER_TRANSACTION):
            if self._memory is None:
                self._attempt(partial(self._put, items=some), None)
            if self._memory is not None:
                self._memory.update(some)

    def delete_many(self, keys: Iterable[bytes]) -> int:
        """Delete the values of these keys; how many there were."""
        deleted = 0
        for some in _batches(keys, _PER_TRANSACTION):
            if self._memory is not None:
                deleted += sum(self._memory.pop(key, None) is not None for key in some)
            deleted += self._attempt(partial(rows.delete, keys=some), 0)
        return deleted

    def keys(self) -> Iterator[bytes]:
        """The keys of all values, oldest first."""
        yield from self._memory or ()
        for (key,) in self._select(rows.KEYS, ()):
            if key not in (self._memory or ()):
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self.keys())

    # --- housekeeping -------------------------------------------------------------

    def volume(self) -> int:
        """Bytes on the disk: the database, its log, and the large values."""
        paths = database_files(self.directory)
        return sum(path.stat().st_size for path in paths if path.exists()) + self._blobs.volume()

    def verify(self, repair: bool = False) -> Verification:
        """Read everything and report what is not a whole value of ours.

        Args:
            repair: delete the bad rows.
        """
        problems = [
            f"{DATABASE}: {line}"
            for (line,) in self._select("PRAGMA quick_check", ())
            if line != "ok"
        ]
        bad: list[int] = []
        count = 0
        for rowid, key, raw, mode, name, row in self._rows():
            count += 1
            problem = self._problem(key, raw, mode, name, row)
            if problem:
                bad.append(rowid)
                problems.append(f"row {rowid}: {problem}")
        removed = 0
        if repair and bad and self._memory is None:
            removed = self._attempt(partial(rows.delete_ids, ids=bad), 0)
        return Verification(count, tuple(problems), removed)

    def sweep(self, grace: float = HOUR) -> tuple[int, int]:
        """Delete large values that no row names and what crashed writers left.

        Args:
            grace: seconds that a file must be old to be deleted.

        Returns:
            How many files were deleted, and their bytes.
        """
        keep = set()
        for key, row in self._select(rows.OF_LENGTH, (frame.HEADER + _NAME_BYTES,)):
            opened = frame.open_row(key, row) if isinstance(row, bytes) else None
            if opened and frame.is_filed(opened[0]):
                keep.add(opened[1].hex())
        if not self._readable:
            return 0, 0
        return self._blobs.sweep(keep, grace)

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk; takes the time of a copy."""
        if self._memory is None:
            self._attempt(lambda cache: rows.run(cache, "VACUUM").fetchall(), None)

    def close(self) -> None:
        """Let go of the database."""
        cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()

    # --- rows ---------------------------------------------------------------------

    def _put(self, cache: Cache, items: list[tuple[bytes, bytes]]) -> None:
        # Files first: a row must never name a file that is not there yet.
        rows.put(cache, [(key, self._encode(key, value)) for key, value in items])

    def _encode(self, key: bytes, value: bytes) -> bytes:
        flags, body = frame.pack(value)
        if len(body) > frame.INLINE:
            flags, body = frame.filed(flags), bytes.fromhex(self._blobs.put(body))
        return frame.seal(key, flags, body)

    def _decode(self, key: bytes, row: object) -> bytes | None:
        value = None
        opened = frame.open_row(key, row) if isinstance(row, bytes) else None
        if opened is not None:
            flags, body = opened
            stored = self._blobs.get(body.hex()) if frame.is_filed(flags) else body
            value = None if stored is None else frame.unpack(flags, stored)
        if value is None:
            self.refused += 1
        return value

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """All rows, ours or not, a few at a time."""
        last = -1
        while some := self._select(rows.AFTER, (last, _PER_QUERY)):
            yield from some
            last = some[-1][0]

    def _problem(self, key: object, raw: int, mode: int, name: object, row: object) -> str:
        if not raw or mode != rows.RAW:
            return "a pickle or another kind of value that is not ours"
        if name is not None or not isinstance(key, bytes):
            return "not ours"
        if self._decode(key, row) is None:
            return f"the value of {key.hex()} is damaged"
        return ""

    # --- the database, and what can go wrong with it --------------------------------

    def _select(self, query: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
        values = tuple(values)
        return self._attempt(lambda cache: rows.run(cache, query, values).fetchall(), [])

    def _attempt(self, action: Callable[[Cache], T], otherwise: T) -> T:
        """The action's result; `otherwise` when the database does not carry it."""
        while self._readable:
            try:
                return action(self._open())
            except failures() as error:
                # After a rebuild there is something to write again, but nothing to read.
                if not self._recover(error):
                    break
        return otherwise

    def _open(self) -> Cache:
        if self._cache is None:
            diskcaching.load()
            from diskcache import Cache

            from ctxbuild.stores.bytesdisk import BytesDisk

            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            refuse_foreign(self.directory)
            self._cache = Cache(
                str(self.directory), timeout=self._timeout, disk=BytesDisk, **SETTINGS
            )
        return self._cache

    def _recover(self, error: Exception) -> bool:
        """Rebuild a malformed database (True), or else stop using the disk (False)."""
        cause = cause_of(error)
        if is_malformed(cause) and not self._rebuilt:
            self._rebuilt = True
            self._warn(f"{self.directory / DATABASE}: damaged ({cause}); starting a new cache")
            self._disconnect()
            try:
                # The log first: a new database must never meet the old one's log.
                for path in reversed(database_files(self.directory)):
                    path.unlink(missing_ok=True)
            except OSError as refusal:
                cause = refusal
            else:
                return True
        if self._cache is None or self._memory is not None or not self._roll_back():
            self._readable = False
            self._disconnect()
        if self._memory is None:
            self._memory = {}
            self._warn(
                f"{self.directory}: the cache cannot be used ({reason_of(cause)}); "
                "this run keeps its results in memory"
            )
        return False

    def _roll_back(self) -> bool:
        """End what a failed write left open; whether the connection still serves."""
        try:
            # A failed commit leaves its transaction open.
            if self._cache is not None and rows.connection(self._cache).in_transaction:
                rows.run(self._cache, "ROLLBACK")
        except sqlite3.Error:
            return False
        return True

    def _disconnect(self) -> None:
        try:
            self.close()
        except sqlite3.Error:
            return


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
