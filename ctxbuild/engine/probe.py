"""Whether a node is known to be right, read from the tables alone, without an engine.

For the build that finds nothing to do: it costs a look-up per root and imports
none of what computing would need. What it says is what `Database` would say.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from ctxbuild.engine.codec import short, unpack_facets
from ctxbuild.engine.rows import code_number


def has_tables(connection: sqlite3.Connection) -> bool:
    """Whether an engine ever kept anything here."""
    row = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'nodes'").fetchone()
    return row is not None


def is_clean(connection: sqlite3.Connection, query: str, key: str, version: str) -> bool:
    """Whether a node was computed by this version of its query and nothing it saw changed."""
    row = connection.execute(
        "SELECT dirty, version FROM nodes WHERE query = ? AND key = ?", (query, key)
    ).fetchone()
    return row is not None and row == (0, version)


def value_of(connection: sqlite3.Connection, query: str, key: str) -> bytes:
    """The key of a node's value, b"" if it has none."""
    row = connection.execute(
        "SELECT value FROM nodes WHERE query = ? AND key = ?", (query, key)
    ).fetchone()
    return (row[0] or b"") if row else b""


def input_is(connection: sqlite3.Connection, name: str, key: str, value: bytes) -> bool:
    """Whether an input was asked for and still has the value that was seen then."""
    row = connection.execute(
        "SELECT facets FROM nodes WHERE query = ? AND key = ?", (name, key)
    ).fetchone()
    return row is not None and unpack_facets(row[0]).get("") == short(value)


def inputs_are(connection: sqlite3.Connection, name: str, read: Callable[[str], bytes]) -> bool:
    """Whether everything that was asked of an input still has the value that was seen then."""
    rows = connection.execute(
        # What nobody rests on any more, of a target that is gone say, is not asked again.
        "SELECT key, facets FROM nodes WHERE query = ? "
        "AND EXISTS (SELECT 1 FROM edges WHERE dep = nodes.id)",
        (name,),
    ).fetchall()
    return all(unpack_facets(facets).get("") == short(read(key)) for key, facets in rows)


def is_settled(connection: sqlite3.Connection) -> bool:
    """Whether every index was brought up to date since inputs last changed."""
    row = connection.execute("SELECT value FROM engine WHERE name = 'unsettled'").fetchone()
    return row is None or row[0] == 0


def code_is(connection: sqlite3.Connection, code: str) -> bool:
    """Whether the versions of all queries together are those of the last revision."""
    row = connection.execute("SELECT value FROM engine WHERE name = 'code'").fetchone()
    return row is not None and row[0] == code_number(code)
