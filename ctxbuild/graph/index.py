"""The index of questions: every unit's words in SQLite FTS5, kept up file by file.

Its tables stand in the state database and are written in the engine's transaction,
so that state and index never disagree. The words come split already (see
`facts/words.py`); FTS5 only cuts at spaces. What a search reads of it is the
number of times that a term stands in each field of each unit, which the `instance`
vocabulary of FTS5 gives: the scores are computed by `select/retrieval`.
"""

from __future__ import annotations

import sqlite3
import zlib
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ctxbuild.facts.words import words
from ctxbuild.graph.units import FIELDS, Unit

_TABLES = f"""
CREATE TABLE IF NOT EXISTS index_files(
  id INTEGER PRIMARY KEY, node INTEGER NOT NULL, path TEXT NOT NULL UNIQUE, base TEXT NOT NULL,
  folded TEXT NOT NULL, first INTEGER NOT NULL, lengths BLOB NOT NULL, kinds TEXT NOT NULL,
  fields BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS index_files_base ON index_files(base);
CREATE INDEX IF NOT EXISTS index_files_first ON index_files(first);
CREATE TABLE IF NOT EXISTS index_units(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, last TEXT NOT NULL, kind TEXT NOT NULL,
  place INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL, size INTEGER NOT NULL,
  uses TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS index_units_last ON index_units(last);
CREATE TABLE IF NOT EXISTS index_totals(name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS index_words USING fts5(
  {", ".join(FIELDS)}, content='', tokenize="ascii tokenchars '_'");
CREATE VIRTUAL TABLE IF NOT EXISTS index_places USING fts5vocab('index_words', 'instance');
CREATE VIRTUAL TABLE IF NOT EXISTS index_terms USING fts5vocab('index_words', 'row');
"""
_PENDING_BYTES = 64_000_000
"""Words that FTS5 collects before it writes a segment."""

_INSERT = f"INSERT INTO index_words(rowid, {', '.join(FIELDS)}) VALUES (?, ?, ?, ?, ?)"
_DELETE = (
    f"INSERT INTO index_words(index_words, rowid, {', '.join(FIELDS)}) "
    "VALUES ('delete', ?, ?, ?, ?, ?)"
)


# --- writing ----------------------------------------------------------------------------


def keep(connection: sqlite3.Connection, node: int, path: str, part: bytes | None) -> bool:
    """Replaces what the index holds of a file.

    Args:
        connection: to the state database, in a transaction.
        node: the number under which the engine knows the file's units.
        path: of the file.
        part: its units as `encode` wrote them; None where it is gone.

    Returns:
        Whether anything differs.
    """
    known = (
        _prepared(connection)
        .execute("SELECT id, first, lengths, fields FROM index_files WHERE path = ?", (path,))
        .fetchone()
    )
    units = decode(part) if part is not None else []
    if known is None and not units:
        return False
    if known is not None:
        _drop(connection, *known)
    if units:
        _add(connection, node, path, units)
    return True


def encode(units: Sequence[Unit]) -> bytes:
    """Units as bytes."""
    import msgspec

    return msgspec.msgpack.encode(units)


def decode(part: bytes) -> list[Unit]:
    """The inverse of `encode`."""
    import msgspec

    return [
        Unit(name, kind, order, (lines[0], lines[1]), size, tuple(fields), tuple(uses))
        for name, kind, order, lines, size, fields, uses in msgspec.msgpack.decode(part)
    ]


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    present = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE name = 'index_terms'"
    ).fetchone()
    if present is None:
        for statement in _TABLES.split(";\n"):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO index_words(index_words, rank) VALUES ('hashsize', ?)", (_PENDING_BYTES,)
        )
    return connection


def _drop(
    connection: sqlite3.Connection, file: int, first: int, lengths: bytes, fields: bytes
) -> None:
    import msgspec

    held: list[list[str]] = msgspec.msgpack.decode(zlib.decompress(fields))
    connection.executemany(_DELETE, [(first + n, *each) for n, each in enumerate(held)])
    connection.execute(
        "DELETE FROM index_units WHERE id BETWEEN ? AND ?", (first, first + len(held) - 1)
    )
    connection.execute("DELETE FROM index_files WHERE id = ?", (file,))
    _count(connection, -1, -len(held), -sum(_numbers(lengths)))


def _add(connection: sqlite3.Connection, node: int, path: str, units: Sequence[Unit]) -> None:
    import msgspec

    row = connection.execute("SELECT max(id) FROM index_units").fetchone()
    first = (row[0] or 0) + 1
    fields = [each.fields for each in units]
    lengths = array("I", [sum(f.count(" ") + bool(f) for f in each) for each in fields])
    connection.executemany(_INSERT, [(first + n, *each) for n, each in enumerate(fields)])
    connection.executemany(
        "INSERT INTO index_units VALUES (?,?,?,?,?,?,?,?,?)",
        [
            (
                first + n,
                each.name,
                each.name.rpartition(".")[2].lower() if each.kind in _DEFINED else "",
                each.kind,
                each.order,
                *each.lines,
                each.size,
                " ".join(each.uses),
            )
            for n, each in enumerate(units)
        ],
    )
    packed = zlib.compress(msgspec.msgpack.encode(fields), 1)
    folded = " ".join(dict.fromkeys(words(path.rpartition(".")[0].replace("/", " "))))
    base = path.rpartition("/")[2]
    kinds = "".join(each.kind[0] for each in units)
    connection.execute(
        "INSERT INTO index_files(node, path, base, folded, first, lengths, kinds, fields) "
        "VALUES (?,?,?,?,?,?,?,?)",
        (node, path, base, folded, first, lengths.tobytes(), kinds, packed),
    )
    _count(connection, 1, len(units), sum(lengths))


def _count(connection: sqlite3.Connection, files: int, units: int, number: int) -> None:
    connection.executemany(
        "INSERT INTO index_totals VALUES (?, ?) "
        "ON CONFLICT(name) DO UPDATE SET value = value + excluded.value",
        [("files", files), ("units", units), ("words", number)],
    )


def _numbers(data: bytes) -> array[int]:
    numbers = array("I")
    numbers.frombytes(data)
    return numbers


_DEFINED = frozenset({"function", "class"})


# --- reading ----------------------------------------------------------------------------


class Known(NamedTuple):
    """What the index knows of a unit besides its words; see `graph.units.Unit`."""

    unit: int
    file: int
    path: str
    name: str
    kind: str
    order: int
    lines: tuple[int, int]
    size: int
    uses: tuple[str, ...]


class File(NamedTuple):
    """A file of the index.

    Attributes:
        first: the number of its first unit; the others follow.
        lengths: words of each unit.
        kinds: the first letter of each unit's kind.
        folded: the words of its path, joined by spaces.
    """

    path: str
    base: str
    first: int
    lengths: array[int]
    folded: str
    kinds: str


class Corpus:
    """The index as a search reads it, through one connection. Files are numbered from 0 here."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = _prepared(connection)
        self._known: dict[int, Known] = {}

    @cached_property
    def files(self) -> list[File]:
        """Every file, by path: the order of units tells how the index came about."""
        rows = self._connection.execute(
            "SELECT path, base, first, lengths, folded, kinds FROM index_files"
        )
        return [
            File(path, base, first, _numbers(lengths), folded, kinds)
            for path, base, first, lengths, folded, kinds in sorted(rows)
        ]

    @cached_property
    def file_of(self) -> array[int]:
        """The number of each unit's file, by the number of the unit."""
        last = max((file.first + len(file.lengths) for file in self.files), default=0)
        owners = array("I", bytes(4 * last))
        for number, file in enumerate(self.files):
            end = file.first + len(file.lengths)
            owners[file.first : end] = array("I", [number]) * len(file.lengths)
        return owners

    @cached_property
    def by_base(self) -> dict[str, list[int]]:
        """The last part of a path to the numbers of the files that have it."""
        found: dict[str, list[int]] = {}
        for number, file in enumerate(self.files):
            found.setdefault(file.base, []).append(number)
        return found

    @cached_property
    def totals(self) -> dict[str, int]:
        """How many "files", "units" and "words" there are."""
        found = dict(self._connection.execute("SELECT name, value FROM index_totals"))
        return {name: found.get(name, 0) for name in ("files", "units", "words")}

    def kind_of(self, unit: int) -> str:
        """The first letter of a unit's kind."""
        file = self.files[self.file_of[unit]]
        return file.kinds[unit - file.first]

    def held_by(self, term: str) -> int:
        """How many units hold a term."""
        row = self._connection.execute(
            "SELECT doc FROM index_terms WHERE term = ?", (term,)
        ).fetchone()
        return row[0] if row else 0

    def weighed(self, term: str, weights: Sequence[float]) -> dict[int, float]:
        """Every unit that holds a term: how often, each time weighed by its field; in order."""
        by_column = dict(zip(FIELDS, weights, strict=True))
        found: dict[int, float] = {}
        for unit, column in self._connection.execute(
            "SELECT doc, col FROM index_places WHERE term = ?", (term,)
        ):
            found[unit] = found.get(unit, 0.0) + by_column[column]
        return found

    def phrase(self, terms: Sequence[str], most: int) -> list[int]:
        """Units whose body holds these words one after another; none where there are more."""
        phrase = " ".join(terms).replace('"', "")
        rows = self._connection.execute(
            "SELECT rowid FROM index_words WHERE index_words MATCH ? ORDER BY rowid LIMIT ?",
            (f'body : "{phrase}"', most + 1),
        ).fetchall()
        return [row[0] for row in rows] if len(rows) <= most else []

    def named(self, last: str) -> list[Known]:
        """Definitions whose last part is this, whatever its case, by path and place."""
        rows = self._connection.execute(
            "SELECT id FROM index_units WHERE last = ? ORDER BY id", (last.lower(),)
        )
        found = self.known(row[0] for row in rows)
        return sorted(found.values(), key=lambda each: (each.file, each.unit))

    def holding(self, term: str) -> list[int]:
        """Units in whose name, or in that of a definition nested in them, a word stands."""
        rows = self._connection.execute(
            "SELECT rowid FROM index_words WHERE index_words MATCH ? ORDER BY rowid",
            (f'name : "{term}"',),
        )
        return [row[0] for row in rows]

    def known(self, units: Iterable[int]) -> dict[int, Known]:
        """What is known of units, in the order asked."""
        wanted = list(units)
        absent = [unit for unit in wanted if unit not in self._known]
        for start in range(0, len(absent), 500):
            some = absent[start : start + 500]
            marks = ",".join("?" * len(some))
            rows = self._connection.execute(
                "SELECT id, name, kind, place, start, stop, size, uses FROM index_units "
                f"WHERE id IN ({marks})",
                some,
            )
            for row in rows:
                self._known[row[0]] = self._read(*row)
        return {unit: self._known[unit] for unit in wanted}

    def _read(self, unit: int, name: str, kind: str, place: int, *rest: Any) -> Known:
        start, stop, size, uses = rest
        file = self.file_of[unit]
        path = self.files[file].path
        lines = (start, stop)
        return Known(unit, file, path, name, kind, place, lines, size, tuple(uses.split()))

    def units_in(self, file: int) -> list[Known]:
        """The units of a file in order."""
        each = self.files[file]
        return list(self.known(range(each.first, each.first + len(each.lengths))).values())
