"""Stat rows: what is remembered of a directory tree, one SQLite row per directory.

A directory's entries are packed into a few columns: names joined by `/` (which
no name contains) and numbers as 64-bit integers. Reading 3,000 such rows is
several times faster than reading a row for each of their files.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
from array import array
from collections.abc import Iterable

# Raise it when the meaning of a column changes: older rows are then dropped.
VERSION = 1
DIGEST_BYTES = 16
UNKNOWN = bytes(DIGEST_BYTES)
FIELDS = 4  # of a file: size, mtime, ctime, inode; of a directory: mtime, ctime, inode, device

# Kernels stamp files with a clock that ticks every 1 to 10 ms; some file systems
# keep whole seconds only, FAT every second one.
_TICK_NS = 50_000_000
_COARSE_NS = 2_100_000_000
_SECOND_NS = 1_000_000_000
_WRAP = 1 << 64
_LIMIT = 1 << 63

Stat = tuple[int, int, int, int]


def signed(number: int) -> int:
    """An unsigned 64-bit number (an inode) as SQLite can hold it."""
    return number if number < _LIMIT else number - _WRAP


def file_stat(st: os.stat_result) -> Stat:
    """Size in bytes, mtime and ctime in nanoseconds, inode."""
    return (st.st_size, st.st_mtime_ns, st.st_ctime_ns, signed(st.st_ino))


def directory_stat(st: os.stat_result) -> Stat:
    """Mtime and ctime in nanoseconds, inode, device."""
    return (st.st_mtime_ns, st.st_ctime_ns, signed(st.st_ino), signed(st.st_dev))


def is_racy(mtime: int, ctime: int, taken: int) -> bool:
    """Whether a change after `taken` (ns) could have left the same times (git's racy rule)."""
    newest = max(mtime, ctime)
    slack = _TICK_NS if newest % _SECOND_NS else _COARSE_NS
    return newest >= taken - slack


class Directory:
    """What is remembered of one directory.

    Attributes:
        path: relative to the root, "" for the root itself.
        stat: of the directory (see `directory_stat`).
        taken: when all its stats were taken, nanoseconds.
        racy: some stat is too young to be trusted.
        names: the selected files, sorted, then the ignore files that stand here.
        rules: how many of `names` are ignore files.
        stats: four numbers per name (see `file_stat`).
        digests: 16 bytes per name, zeros if unknown; empty if none is known.
        dirs: the directories that are visited, sorted.
        ignored: those of `dirs` that are visited only for files that git tracks.
        links: symbolic links that are candidates.
        left: (name, reason, detail); the name "" is the directory itself. None: not loaded.
        tracked_only: this directory is visited only for files that git tracks.
    """

    __slots__ = (
        "_index",
        "digests",
        "dirs",
        "ignored",
        "left",
        "links",
        "names",
        "path",
        "racy",
        "rules",
        "stat",
        "stats",
        "taken",
        "tracked_only",
    )

    def __init__(
        self,
        path: str,
        stat: Stat,
        taken: int,
        names: list[str],
        rules: int,
        stats: array[int],
        dirs: list[str],
    ) -> None:
        self.path = path
        self.stat = stat
        self.taken = taken
        self.racy = False
        self.names = names
        self.rules = rules
        self.stats = stats
        self.digests: bytes | bytearray = b""
        self.dirs = dirs
        self.ignored: list[str] = []
        self.links: list[str] = []
        self.left: list[tuple[str, str, str]] | None = None
        self.tracked_only = False
        self._index: dict[str, int] | None = None

    @property
    def files(self) -> list[str]:
        """The names of the selected files."""
        return self.names[: len(self.names) - self.rules] if self.rules else self.names

    def find(self, name: str) -> int:
        """Position of a selected file, or -1."""
        if self._index is None:
            self._index = {known: position for position, known in enumerate(self.files)}
        return self._index.get(name, -1)

    def stat_at(self, position: int) -> Stat:
        """The stat row of the file at `position`."""
        size, mtime, ctime, inode = self.stats[position * FIELDS : position * FIELDS + FIELDS]
        return (size, mtime, ctime, inode)

    def digest_at(self, position: int) -> bytes | None:
        """The digest of the file at `position` if it is known."""
        if not self.digests:
            return None
        digest = bytes(self.digests[position * DIGEST_BYTES : (position + 1) * DIGEST_BYTES])
        return None if digest == UNKNOWN else digest

    def set_digest(self, position: int, digest: bytes) -> None:
        """Remember a digest."""
        if not isinstance(self.digests, bytearray):
            self.digests = bytearray(self.digests or UNKNOWN * len(self.names))
        self.digests[position * DIGEST_BYTES : (position + 1) * DIGEST_BYTES] = digest

    def weigh(self) -> None:
        """Compute `racy` from the stats and `taken`."""
        stats, taken = self.stats, self.taken
        self.racy = is_racy(self.stat[0], self.stat[1], taken) or any(
            is_racy(stats[i + 1], stats[i + 2], taken) for i in range(0, len(stats), FIELDS)
        )


def is_file(st: os.stat_result) -> bool:
    """Whether it is a regular file."""
    return stat.S_ISREG(st.st_mode)


def prepare(connection: sqlite3.Connection) -> None:
    """Create the tables if they are missing; tables of another version are replaced."""
    connection.execute("CREATE TABLE IF NOT EXISTS scan_state (key TEXT PRIMARY KEY, value TEXT)")
    found = connection.execute("SELECT value FROM scan_state WHERE key = 'version'").fetchone()
    if found is None or found[0] != _version():
        connection.execute("DROP TABLE IF EXISTS scan_directory")
        connection.execute("DELETE FROM scan_state")
        connection.execute("INSERT INTO scan_state VALUES ('version', ?)", (_version(),))
    connection.execute(
        "CREATE TABLE IF NOT EXISTS scan_directory (path TEXT PRIMARY KEY, head BLOB, names TEXT, "
        "stats BLOB, digests BLOB, dirs TEXT, extra TEXT, left_out TEXT)"
    )


def _version() -> str:
    import sys

    return f"{VERSION}-{sys.byteorder}"


# mtime, ctime, inode, device, taken, racy, rules: one blob, as each column costs time.
_HEAD = struct.Struct("=7q")


def load(connection: sqlite3.Connection) -> dict[str, Directory]:
    """All remembered directories by path, without what they left out.

    Raises:
        sqlite3.Error: the tables are missing or damaged.
    """
    found = {}
    unpack = _HEAD.unpack
    query = "SELECT path, head, names, stats, digests, dirs, extra FROM scan_directory"
    for path, head, names, stats, digests, dirs, extra in connection.execute(query):
        numbers = array("q", stats)
        mtime, ctime, inode, device, taken, racy, rules = unpack(head)
        found[path] = directory = Directory(
            path,
            (mtime, ctime, inode, device),
            taken,
            names.split("/") if names else [],
            rules,
            numbers,
            dirs.split("/") if dirs else [],
        )
        directory.racy = racy != 0
        directory.digests = digests
        if extra:
            ignored, links, only = extra.split("\0")
            directory.ignored = ignored.split("/") if ignored else []
            directory.links = links.split("/") if links else []
            directory.tracked_only = only != ""
    return found


def load_left(connection: sqlite3.Connection) -> dict[str, list[tuple[str, str, str]]]:
    """What each remembered directory left out."""
    import json

    query = "SELECT path, left_out FROM scan_directory WHERE left_out != ''"
    return {
        path: [(name, reason, detail) for name, reason, detail in json.loads(text)]
        for path, text in connection.execute(query)
    }


def save(connection: sqlite3.Connection, changed: Iterable[Directory], gone: Iterable[str]) -> None:
    """Write changed directories and delete those that are gone; the caller commits.

    A directory whose `left` is not loaded keeps what is stored.
    """
    import json

    connection.executemany("DELETE FROM scan_directory WHERE path = ?", ((p,) for p in gone))
    for item in changed:
        item.weigh()
        head = _HEAD.pack(*item.stat, item.taken, int(item.racy), item.rules)
        rare = ("/".join(item.ignored), "/".join(item.links), "1" if item.tracked_only else "")
        values = (
            head,
            "/".join(item.names),
            item.stats.tobytes(),
            bytes(item.digests),
            "/".join(item.dirs),
            "\0".join(rare) if any(rare) else "",
        )
        if item.left is None:
            connection.execute(
                "UPDATE scan_directory SET head=?, names=?, stats=?, digests=?, dirs=?, extra=? "
                "WHERE path=?",
                (*values, item.path),
            )
        else:
            left = json.dumps(item.left) if item.left else ""
            connection.execute(
                "REPLACE INTO scan_directory VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (item.path, *values, left),
            )
