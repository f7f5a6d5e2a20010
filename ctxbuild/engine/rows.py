"""The engine's memory in SQLite: nodes, the edges between them, and postings; no decisions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from ctxbuild.engine.codec import digest, pack_facets, unpack_facets

_SCHEMA = """
CREATE TABLE IF NOT EXISTS engine(name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS nodes(
  id INTEGER PRIMARY KEY, query TEXT NOT NULL, key TEXT NOT NULL, version TEXT NOT NULL,
  dirty INTEGER NOT NULL, changed INTEGER NOT NULL, verified INTEGER NOT NULL,
  value BLOB, facets BLOB NOT NULL, cause TEXT NOT NULL, UNIQUE(query, key));
CREATE INDEX IF NOT EXISTS nodes_dirty ON nodes(query, key) WHERE dirty = 1;
CREATE TABLE IF NOT EXISTS edges(
  src INTEGER NOT NULL, ord INTEGER NOT NULL, dep INTEGER NOT NULL,
  facet TEXT NOT NULL, digest BLOB NOT NULL, PRIMARY KEY(src, ord)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS edges_by_dep ON edges(dep);
CREATE TABLE IF NOT EXISTS postings(
  idx TEXT NOT NULL, term TEXT NOT NULL, source INTEGER NOT NULL, item TEXT NOT NULL,
  PRIMARY KEY(idx, term, source, item)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS postings_by_source ON postings(source, idx);
"""


class Cell:
    """A node as it is remembered.

    Attributes:
        dirty: a dependency, near or far, may have changed since it was verified.
        changed: the revision in which a facet last got another digest.
        verified: the revision in which it was last known to be right.
        value: key of its parts in the value store, None for inputs and index terms.
        facets: digest per facet; of an input only the facets that were asked for.
        cause: why it was last computed, as text for `explain`.
    """

    __slots__ = (
        "_packed",
        "cause",
        "changed",
        "dirty",
        "facet_map",
        "id",
        "key",
        "query",
        "value",
        "verified",
        "version",
    )

    def __init__(self, row: Sequence[Any]) -> None:
        (
            self.id,
            self.query,
            self.key,
            self.version,
            self.dirty,
            self.changed,
            self.verified,
            self.value,
            self._packed,
            self.cause,
        ) = row
        self.facet_map: dict[str, bytes] | None = None

    id: int
    query: str
    key: str
    version: str
    dirty: int
    changed: int
    verified: int
    value: bytes | None
    _packed: bytes
    cause: str

    @property
    def facets(self) -> dict[str, bytes]:
        """Digest per facet, unpacked on first use."""
        if self.facet_map is None:
            self.facet_map = unpack_facets(self._packed) if self._packed else {}
        return self.facet_map

    @facets.setter
    def facets(self, facets: dict[str, bytes]) -> None:
        self.set_facets(facets)

    def set_facets(self, facets: dict[str, bytes], packed: bytes | None = None) -> None:
        """Sets the digests, with their packed form where it is known."""
        self.facet_map = facets
        self._packed = pack_facets(facets) if packed is None else packed

    @property
    def packed(self) -> bytes:
        """The digests as they are stored."""
        return self._packed or pack_facets({})


def code_number(code: str) -> int:
    """The number under which the versions of all queries together are remembered."""
    return int.from_bytes(digest(code.encode())[:7], "big")


_COLUMNS = "id, query, key, version, dirty, changed, verified, value, facets, cause"


class Rows:
    """Reads and writes cells through one connection; the caller commits.

    Args:
        connection: in autocommit mode (`isolation_level=None`).
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        present = connection.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'postings_by_source'"
        ).fetchone()
        if not present:
            connection.executescript(_SCHEMA)
        self.next_id = (connection.execute("SELECT max(id) FROM nodes").fetchone()[0] or 0) + 1

    def begin(self) -> None:
        """Opens a transaction unless one is open."""
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")

    def number(self, name: str) -> int:
        """A remembered number, 0 if there is none."""
        row = self.connection.execute("SELECT value FROM engine WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0

    def set_number(self, name: str, value: int) -> None:
        """Remembers a number."""
        self.begin()
        self.connection.execute("INSERT OR REPLACE INTO engine VALUES (?, ?)", (name, value))

    def cell(self, query: str, key: str) -> Cell | None:
        """The cell of a node, None if it was never computed."""
        row = self.connection.execute(
            f"SELECT {_COLUMNS} FROM nodes WHERE query = ? AND key = ?", (query, key)
        ).fetchone()
        return Cell(row) if row else None

    def cell_by_id(self, identity: int) -> Cell:
        """The cell of that id, which must exist."""
        return Cell(
            self.connection.execute(
                f"SELECT {_COLUMNS} FROM nodes WHERE id = ?", (identity,)
            ).fetchone()
        )

    def cells_below(self, identity: int) -> list[Cell]:
        """The cells of all recorded dependencies of a node."""
        rows = self.connection.execute(
            f"SELECT {_COLUMNS} FROM nodes WHERE id IN (SELECT dep FROM edges WHERE src = ?)",
            (identity,),
        )
        return [Cell(row) for row in rows]

    def keys(self, query: str) -> tuple[str, ...]:
        """All keys of a query, sorted."""
        rows = self.connection.execute(
            "SELECT key FROM nodes WHERE query = ? ORDER BY key", (query,)
        )
        return tuple(row[0] for row in rows)

    def stale_keys(self, query: str, version: str) -> tuple[set[str], set[str]]:
        """(all keys of a query, those that are dirty or of another version)."""
        every, stale = set(), set()
        for key, dirty, was in self.connection.execute(
            "SELECT key, dirty, version FROM nodes WHERE query = ?", (query,)
        ):
            every.add(key)
            if dirty or was != version:
                stale.add(key)
        return every, stale

    def dirty_keys(self, query: str) -> list[str]:
        """The keys of a query that are dirty, sorted."""
        rows = self.connection.execute(
            "SELECT key FROM nodes WHERE query = ? AND dirty = 1 ORDER BY key", (query,)
        )
        return [row[0] for row in rows]

    def write(self, cell: Cell) -> None:
        """Writes a cell whole."""
        self.begin()
        self.connection.execute(
            f"INSERT OR REPLACE INTO nodes({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?)",
            (
                cell.id,
                cell.query,
                cell.key,
                cell.version,
                cell.dirty,
                cell.changed,
                cell.verified,
                cell.value,
                cell.packed,
                cell.cause,
            ),
        )

    def write_verified(self, cell: Cell) -> None:
        """Writes that a cell was found to be right, nothing else."""
        self.begin()
        self.connection.execute(
            "UPDATE nodes SET dirty = 0, verified = ? WHERE id = ?", (cell.verified, cell.id)
        )

    def write_edges(
        self, src: int, edges: Iterable[tuple[int, str, bytes]], *, fresh: bool
    ) -> None:
        """Replaces the dependencies of a node: (dependency's id, facet, digest), in order asked.

        Most are what they were: reading them costs less than writing them again.
        """
        self.begin()
        edges, old = list(edges), []
        if not fresh:
            old = self.connection.execute(
                "SELECT dep, facet, digest FROM edges WHERE src = ? ORDER BY ord", (src,)
            ).fetchall()
        if len(old) > len(edges):
            self.connection.execute(
                "DELETE FROM edges WHERE src = ? AND ord >= ?", (src, len(edges))
            )
        same = zip_longest(edges, old[: len(edges)])
        self.connection.executemany(
            "INSERT OR REPLACE INTO edges VALUES (?,?,?,?,?)",
            [(src, i, *edge) for i, (edge, was) in enumerate(same) if edge != was],
        )

    def suspects(self, cell: Cell) -> list[tuple[int, str, bytes]]:
        """The recorded dependencies that may differ from what the cell saw, in order."""
        return self.connection.execute(
            "SELECT e.dep, e.facet, e.digest FROM edges e JOIN nodes n ON n.id = e.dep "
            "WHERE e.src = ? AND (n.dirty OR n.changed > ?) ORDER BY e.ord",
            (cell.id, cell.verified),
        ).fetchall()

    def dependencies(self, identity: int) -> list[tuple[str, str, str]]:
        """(query, key, facet) of every dependency, in the order they were asked for."""
        return self.connection.execute(
            "SELECT n.query, n.key, e.facet FROM edges e JOIN nodes n ON n.id = e.dep "
            "WHERE e.src = ? ORDER BY e.ord",
            (identity,),
        ).fetchall()

    def mark(self, dep: int, facets: Iterable[tuple[str, bytes]]) -> list[int]:
        """Marks all that reaches a node through facets which no longer are what it saw.

        Args:
            facets: (facet, present digest) for each facet that changed.

        Returns:
            The ids of the nodes that are dirty now and were not before.
        """
        self.begin()
        first: list[int] = []
        for facet, now in facets:
            first += [
                row[0]
                for row in self.connection.execute(
                    "SELECT DISTINCT src FROM edges WHERE dep = ? AND facet = ? AND digest != ?",
                    (dep, facet, now),
                )
            ]
        marked: list[int] = []
        todo = list(dict.fromkeys(first))
        while todo:
            node = todo.pop()
            found = self.connection.execute(
                "UPDATE nodes SET dirty = 1 WHERE id = ? AND dirty = 0", (node,)
            )
            if found.rowcount:
                marked.append(node)
                todo += [
                    row[0]
                    for row in self.connection.execute(
                        "SELECT DISTINCT src FROM edges WHERE dep = ?", (node,)
                    )
                ]
        return marked

    def postings(self, index: str, term: str) -> list[tuple[str, str]]:
        """(key, item) of every posting of a term, sorted."""
        return self.connection.execute(
            "SELECT n.key, p.item FROM postings p JOIN nodes n ON n.id = p.source "
            "WHERE p.idx = ? AND p.term = ? ORDER BY n.key, p.item",
            (index, term),
        ).fetchall()

    def replace_postings(
        self, index: str, source: int, pairs: set[tuple[str, str]], *, fresh: bool
    ) -> set[str]:
        """Sets what one source contributes to an index; gives the terms whose postings differ."""
        self.begin()
        old: set[tuple[str, str]] = set()
        if not fresh:
            old = set(
                self.connection.execute(
                    "SELECT term, item FROM postings WHERE source = ? AND idx = ?", (source, index)
                )
            )
        self.connection.executemany(
            "DELETE FROM postings WHERE idx = ? AND term = ? AND source = ? AND item = ?",
            [(index, term, source, item) for term, item in old - pairs],
        )
        self.connection.executemany(
            "INSERT OR IGNORE INTO postings VALUES (?,?,?,?)",
            [(index, term, source, item) for term, item in sorted(pairs - old)],
        )
        return {term for term, _ in old ^ pairs}

    def forget(self, identities: Iterable[int]) -> None:
        """Deletes nodes with their edges and postings; their dependents must run again."""
        self.begin()
        rows = [(identity,) for identity in identities]
        rerun = "UPDATE nodes SET dirty = 1, version = ''"
        for statement in (
            f"{rerun} WHERE id IN (SELECT src FROM edges WHERE dep = ?)",
            "DELETE FROM nodes WHERE id = ?",
            "DELETE FROM edges WHERE src = ?",
            "DELETE FROM postings WHERE source = ?",
        ):
            self.connection.executemany(statement, rows)
