"""Search by vectors: how alike the question and each unit are, by an embedder.

Vectors are scaled to length 1 and kept as half-precision numbers. Such a number is a
multiple of 2^-24, so that products are multiples of 2^-48 and their sum, which is
at most about 1, is exact in double precision: the order of additions, and so machine
and library, change nothing. Only ranks reach a plan.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import mul
from typing import TYPE_CHECKING, Any, Protocol

from ctxbuild.errors import ModelError
from ctxbuild.graph.passages import LONGEST, digest_of

if TYPE_CHECKING:
    from ctxbuild.source.embeddings import Embedder

BATCH = 96
"""Texts that an embedder is given at once: some 200 kB."""

_DIGITS = 4
"""Decimal places to which likeness is compared: what differs less is equally alike."""

_KEPT = 50_000
_TIMES_KEPT = 3
"""Vectors that are kept besides those in use: of other branches, and of what was edited."""

_ROWS = 4_096


class VectorStore(Protocol):
    """Keeps vectors as bytes by embedder and digest of the text."""

    def get_many(self, embedder: str, digests: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """The vectors of those texts that have one."""

    def put_many(self, embedder: str, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Keeps vectors of texts."""

    def prune(self, most: int) -> None:
        """Drops the oldest vectors beyond a number."""


class Vectors:
    """Likeness of texts, by one embedder.

    Args:
        embedder: gives vectors.
        store: keeps them.
    """

    def __init__(self, embedder: Embedder, store: VectorStore) -> None:
        self._embedder = embedder
        self._store = store

    @property
    def label(self) -> str:
        """What the embedder is called."""
        return self._embedder.label

    def likeness(
        self,
        question: str,
        digests: Sequence[bytes],
        texts: Callable[[Sequence[int]], Sequence[str]],
    ) -> list[float]:
        """How alike a question and each text are, from -1 to 1.

        Args:
            question: its beginning counts.
            digests: of the texts.
            texts: places to the texts there; asked only for those that have no vector yet.

        Raises:
            ModelError: the embedder gives no vectors.
        """
        asked = question[:LONGEST]
        digest = digest_of(asked)
        wanted = self._vectors([digest], lambda _: [asked])[digest]
        known = self._vectors(digests, texts, len(wanted))
        return _dots(wanted, [known[digest] for digest in digests])

    def nearest(self, question: str, texts: Sequence[str]) -> list[int]:
        """The places of the texts that are most like a question, the best first.

        Raises:
            ModelError: the embedder gives no vectors.
        """
        cut = [text[:LONGEST] for text in texts]
        digests = [digest_of(text) for text in cut]
        found = self.likeness(question, digests, lambda places: [cut[place] for place in places])
        return sorted(range(len(texts)), key=lambda place: (-found[place], place))

    def _vectors(
        self,
        digests: Sequence[bytes],
        texts: Callable[[Sequence[int]], Sequence[str]],
        size: int = 0,
    ) -> dict[bytes, bytes]:
        """The vectors of texts; those that are not kept, or are of another size, are made."""
        name = self._embedder.name
        known = dict(self._store.get_many(name, digests))
        if size:
            known = {digest: each for digest, each in known.items() if len(each) == size}
        absent: dict[bytes, int] = {}
        for place, digest in enumerate(digests):
            if digest not in known:
                absent.setdefault(digest, place)
        rest = iter(absent.items())
        while some := list(islice(rest, BATCH)):
            made = self._made(texts([place for _, place in some]), size)
            size = len(made[0])
            kept = [(digest, each) for (digest, _), each in zip(some, made, strict=True)]
            self._store.put_many(name, kept)
            known.update(kept)
        if absent:
            self._store.prune(_KEPT + _TIMES_KEPT * len(digests))
        return known

    def _made(self, texts: Sequence[str], size: int) -> list[bytes]:
        vectors = self._embedder.embed(texts)
        lengths = {len(vector) for vector in vectors}
        usable = len(vectors) == len(texts) and len(lengths) == 1 and 0 not in lengths
        if not usable or not all(map(math.isfinite, (n for each in vectors for n in each))):
            message = f"{self.label} gives no usable vectors"
            raise ModelError(message, "take a model that is made for embeddings")
        made = [packed(vector) for vector in vectors]
        if size and len(made[0]) != size:
            message = f"{self.label} gives vectors of different lengths"
            raise ModelError(message, "give another model another name")
        return made


def packed(vector: Sequence[float]) -> bytes:
    """A vector scaled to length 1, as half-precision numbers; one of length 0 stays."""
    length = math.hypot(*vector) or 1.0
    return struct.pack(f"<{len(vector)}e", *(number / length for number in vector))


def _dots(one: bytes, many: Sequence[bytes]) -> list[float]:
    """The inner products of one vector with many, exact and then rounded."""
    try:
        import numpy as np
    except ImportError:
        return [round(each, _DIGITS) for each in _plain_dots(one, many)]
    return [round(each, _DIGITS) for each in _fast_dots(np.frombuffer, one, many)]


def _plain_dots(one: bytes, many: Sequence[bytes]) -> Iterator[float]:
    reader = struct.Struct(f"<{len(one) // 2}e")
    first = reader.unpack(one)
    for each in many:
        yield sum(map(mul, first, reader.unpack(each)))


def _fast_dots(read: Callable[..., Any], one: bytes, many: Sequence[bytes]) -> Iterator[float]:
    first = read(one, "<f2").astype("f8")
    for start in range(0, len(many), _ROWS):
        some = many[start : start + _ROWS]
        rows = read(b"".join(some), "<f2").reshape(len(some), -1).astype("f8")
        yield from (rows @ first).tolist()
