"""The vectors of texts by content, in a database of their own in the cache directory.

They are kept under the embedder's name and a digest of the text: an edit needs
vectors of the changed units alone, and another branch or checkout none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ctxbuild.stores.database import is_malformed

if TYPE_CHECKING:
    from ctxbuild.select.retrieval.vectors import Vectors

NAME = "vectors.db"
SIDE_FILES = ("", "-shm", "-wal")
_PER_QUERY = 500
_TABLE = """
CREATE TABLE IF NOT EXISTS vectors(
  id INTEGER PRIMARY KEY, embedder TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL,
  UNIQUE(embedder, digest))
"""


class FileVectors:
    """Vectors as bytes. No method raises for a bad cache: what it holds is made again.

    Args:
        path: the database, made with the first vector; None to remember for this run only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._open: sqlite3.Connection | None = None
        self._renewed = False

    def get_many(self, embedder: str, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors of those texts that have one."""
        found: dict[bytes, bytes] = {}
        try:
            for some in _batches(digests):
                marks = ",".join("?" * len(some))
                found |= self._connection.execute(
                    "SELECT digest, vector FROM vectors "
                    f"WHERE embedder = ? AND digest IN ({marks})",
                    (embedder, *some),
                )
        except sqlite3.Error as error:
            self._give_up(error)
        return found

    def put_many(self, embedder: str, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Keeps vectors of texts; what the disk refuses is remembered for this run."""
        rows = [(embedder, digest, vector) for digest, vector in items]
        insert = "REPLACE INTO vectors(embedder, digest, vector) VALUES (?, ?, ?)"
        while True:
            try:
                with self._connection as connection:
                    connection.executemany(insert, rows)
                return
            except sqlite3.Error as error:
                self._give_up(error)

    def prune(self, most: int) -> None:
        """Drops the oldest vectors beyond a number."""
        with suppress(sqlite3.Error), self._connection as connection:
            (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
            if count > most:
                connection.execute(
                    "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors ORDER BY id LIMIT ?)",
                    (count - most,),
                )

    def close(self) -> None:
        """Closes the database."""
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def _connection(self) -> sqlite3.Connection:
        while self._open is None:
            try:
                self._open = _opened(self._path)
            except sqlite3.Error as error:
                self._give_up(error)
        return self._open

    def _give_up(self, error: sqlite3.Error) -> None:
        """Starts a damaged database anew, once; goes on in memory if the disk refuses."""
        if self._path is None:
            raise error  # not even memory
        self.close()
        if is_malformed(error) and not self._renewed:
            self._renewed = True
            for suffix in SIDE_FILES:
                with suppress(OSError):
                    Path(f"{self._path}{suffix}").unlink()
        else:
            self._path = None


def _opened(path: Path | None) -> sqlite3.Connection:
    """The database; without a place one in memory."""
    place = ":memory:" if path is None else str(path)
    connection = sqlite3.connect(place, timeout=10.0, check_same_thread=False)
    try:
        if path is not None:
            connection.execute("PRAGMA journal_mode = wal")
            connection.execute("PRAGMA synchronous = off")
        connection.execute(_TABLE)
        connection.execute("SELECT id, embedder, digest, vector FROM vectors LIMIT 1")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _batches(items: Iterable[bytes]) -> Iterator[Sequence[bytes]]:
    rest = iter(items)
    while some := list(islice(rest, _PER_QUERY)):
        yield some


class VectorSource:
    """Opens what the environment names, with its vectors kept between runs.

    Args:
        root: the ctxfile's directory.
        path: of the database; None where nothing can be written.
    """

    def __init__(self, root: str, path: Path | None) -> None:
        self._root = root
        self._store = FileVectors(path)
        self._opened: tuple[bytes, Vectors | None] | None = None

    def __call__(self, state: bytes) -> Vectors | None:
        """The vectors of the present embedder; None where none is named.

        Args:
            state: the embedder's (`outside.embedder_state`): the same one is not opened again.

        Raises:
            ModelError: what the environment names is no embedder.
        """
        if self._opened is None or self._opened[0] != state:
            from ctxbuild.select.retrieval.vectors import Vectors
            from ctxbuild.source.embeddings import configured

            embedder = configured(self._root)
            self._opened = state, Vectors(embedder, self._store) if embedder else None
        return self._opened[1]

    def close(self) -> None:
        """Closes the database."""
        self._store.close()
