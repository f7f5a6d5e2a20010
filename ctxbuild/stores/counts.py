"""Token counts, remembered by text: loading a vocabulary costs more than choosing a whole pack.

A count is a function of the text and of the encoding alone, so a remembered one
is as good as a new one. A pack whose texts have all been counted before is built
without a tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

Count = Callable[[Sequence[str]], list[int]]

_MOST = 200_000
"""Rows kept, about 6 MB; beyond that all are forgotten and counted again when needed."""

_AT_ONCE = 500


class RememberedCounts:
    """Counts texts, asking the tokenizer only about those it has not seen.

    Args:
        connection: the state database; counts are kept with its next commit.
        tokenizer: name of the encoding.
        counter: gives the encoding's counter, called when it is first needed.
    """

    def __init__(
        self, connection: sqlite3.Connection, tokenizer: str, counter: Callable[[str], Count]
    ) -> None:
        self._connection = connection
        self._tokenizer = tokenizer
        self._counter = counter

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """The exact tokens of every text."""
        keys = [self._key(text) for text in texts]
        known = dict(self._remembered(list(dict.fromkeys(keys))))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            counts = self._counter(self._tokenizer)(list(missing.values()))
            fresh = list(zip(missing, counts, strict=True))
            self._remember(fresh)
            known.update(fresh)
        return [known[key] for key in keys]

    def _key(self, text: str) -> bytes:
        import xxhash

        return xxhash.xxh3_128_digest(f"{self._tokenizer}\0{text}".encode("utf-8", "surrogatepass"))

    def _remembered(self, keys: list[bytes]) -> Iterator[tuple[bytes, int]]:
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            yield from self._connection.execute(
                f"SELECT key, tokens FROM counts WHERE key IN ({marks})",
                some,
            )

    def _remember(self, counts: list[tuple[bytes, int]]) -> None:
        held = self._connection.execute("SELECT COUNT(*) FROM counts").fetchone()[0]
        if held + len(counts) > _MOST:
            self._connection.execute("DELETE FROM counts")
        self._connection.executemany("REPLACE INTO counts VALUES (?, ?)", counts)
