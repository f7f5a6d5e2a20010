"""What of each unit is given to an embedder: its text, in tables beside the index of questions.

A passage stands for the unit at the same place of the file in `graph/index.py`. They
are made and kept only where vectors are asked for. A passage says nothing of its
path, so that a file which moves needs no new vectors.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from ctxbuild.graph.index import Corpus
from ctxbuild.graph.units import Unit

LONGEST = 2_000
"""Characters of a passage: about the 512 tokens that most embedding models read at most."""

_DIGEST = 16
_TABLES = """
CREATE TABLE IF NOT EXISTS passages(
  path TEXT PRIMARY KEY, digests BLOB NOT NULL, texts BLOB NOT NULL) WITHOUT ROWID
"""


class Place(NamedTuple):
    """Where a passage stands.

    Attributes:
        unit: its number in the corpus.
        digest: of its text.
        path: of its file.
        number: its place among the units of the file.
    """

    unit: int
    digest: bytes
    path: str
    number: int


def passages_of(text: str, units: Sequence[Unit]) -> list[str]:
    """A passage per unit: its name and its own lines, without those of units inside it."""
    rows = text.split("\n")
    return [_passage(rows, unit, _inside(unit, units)) for unit in units]


def _inside(unit: Unit, units: Sequence[Unit]) -> list[Unit]:
    if unit.kind == "module":
        return [other for other in units if other is not unit]
    if unit.kind == "class":
        return [other for other in units if other.name.startswith(f"{unit.name}.")]
    return []


def _passage(rows: Sequence[str], unit: Unit, inside: Sequence[Unit]) -> str:
    held = {line for other in inside for line in range(other.lines[0], other.lines[1] + 1)}
    own, length = [unit.name] if unit.kind in ("class", "function") else [], 0
    for line in range(unit.lines[0], min(unit.lines[1], len(rows)) + 1):
        row = rows[line - 1].rstrip()
        if row and line not in held:
            own.append(row)
            length += len(row) + 1
            if length > LONGEST:
                break
    return "\n".join(own)[:LONGEST] if length else ""


def digest_of(text: str) -> bytes:
    """What a passage's vector is kept under."""
    return sha256(text.encode("utf-8", "replace")).digest()[:_DIGEST]


def encode(passages: Sequence[str]) -> bytes:
    """Passages as bytes."""
    import msgspec

    return msgspec.msgpack.encode(passages)


def keep(connection: sqlite3.Connection, path: str, part: bytes | None) -> bool:
    """Replaces what is held of a file.

    Args:
        connection: to the state database, in a transaction.
        path: of the file.
        part: its passages as `encode` wrote them; None where it is gone.

    Returns:
        Whether anything differs.
    """
    import msgspec

    connection.execute(_TABLES)
    known = connection.execute("SELECT digests FROM passages WHERE path = ?", (path,)).fetchone()
    if part is None:
        connection.execute("DELETE FROM passages WHERE path = ?", (path,))
        return known is not None
    texts: list[str] = msgspec.msgpack.decode(part)
    digests = b"".join(digest_of(text) if text else bytes(_DIGEST) for text in texts)
    if known is not None and known[0] == digests:
        return False
    packed = zlib.compress(part, 1)
    connection.execute("REPLACE INTO passages VALUES (?, ?, ?)", (path, digests, packed))
    return True


def places(connection: sqlite3.Connection, corpus: Corpus) -> list[Place]:
    """Every passage that says something, by path and place."""
    connection.execute(_TABLES)
    held = dict(connection.execute("SELECT path, digests FROM passages"))
    found = []
    for file in corpus.files:
        digests = held.get(file.path, b"")
        for number in range(len(file.lengths)):
            digest = digests[number * _DIGEST : (number + 1) * _DIGEST]
            if digest.strip(b"\0"):
                found.append(Place(file.first + number, digest, file.path, number))
    return found


def texts(connection: sqlite3.Connection, wanted: Sequence[Place]) -> list[str]:
    """The texts of passages, in the order asked."""
    import msgspec

    held: dict[str, list[str]] = {}
    for path in {place.path for place in wanted}:
        row = connection.execute("SELECT texts FROM passages WHERE path = ?", (path,)).fetchone()
        held[path] = msgspec.msgpack.decode(zlib.decompress(row[0]))
    return [held[place.path][place.number] for place in wanted]
