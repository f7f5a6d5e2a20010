"""One stored value: named parts with their digests in one byte string, split without copying."""

from __future__ import annotations

import struct

import xxhash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxbuild.engine.query import Result

_HEAD = struct.Struct("<4sIIII")
_MAGIC = b"cxb1"


def digest(data: bytes) -> bytes:
    """The 16-byte xxh3 digest that the engine compares values by."""
    return xxhash.xxh3_128_digest(data)


def short(value: bytes) -> bytes:
    """The digest of an input's value; a short value stands for itself."""
    return value if len(value) <= 16 else digest(value)


def facets_of(result: Result) -> dict[str, bytes]:
    """Digest per facet: one per part, and the finer ones that the query gave itself."""
    facets = {name: digest(part) for name, part in result.parts.items()}
    facets.update(result.digests)
    return facets


def pack_facets(facets: Mapping[str, bytes]) -> bytes:
    """Facet digests as bytes: names joined by NUL, then 16 bytes each (fewer are padded apart)."""
    names = "\0".join(facets).encode()
    lengths = bytes(len(d) for d in facets.values())
    return struct.pack("<II", len(facets), len(names)) + names + lengths + b"".join(facets.values())


def unpack_facets(data: bytes) -> dict[str, bytes]:
    """The inverse of `pack_facets`."""
    count, size = struct.unpack_from("<II", data)
    if not count:
        return {}
    names = data[8 : 8 + size].decode().split("\0")
    at = 8 + size + count
    lengths = data[8 + size : at]
    if lengths == b"\x10" * count and len(names) == count and len(data) >= at + 16 * count:
        digests = [data[place : place + 16] for place in range(at, at + 16 * count, 16)]
        return dict(zip(names, digests, strict=True))
    facets = {}
    for name, length in zip(names, lengths, strict=True):
        facets[name] = data[at : at + length]
        at += length
    return facets


def pack(parts: Mapping[str, bytes], facets: Mapping[str, bytes]) -> bytes:
    """A result and its facet digests as one byte string, the same for the same content."""
    return pack_with(parts, pack_facets(facets))


def pack_with(parts: Mapping[str, bytes], head: bytes) -> bytes:
    """`pack`, where the facets are packed already."""
    names = "\0".join(parts).encode()
    lengths = struct.pack(f"<{len(parts)}I", *map(len, parts.values()))
    start = _HEAD.pack(_MAGIC, len(parts), len(names), len(head), 0)
    return b"".join((start, names, lengths, head, *parts.values()))


def unpack(data: bytes) -> tuple[dict[str, bytes], dict[str, bytes]] | None:
    """(parts, facet digests), or None where the bytes are not what `pack` wrote."""
    split = _split(data)
    if split is None:
        return None
    try:
        return split[0], unpack_facets(split[1])
    except (struct.error, ValueError, UnicodeDecodeError):
        return None


def unpack_parts(data: bytes) -> dict[str, bytes] | None:
    """The parts alone, or None where the bytes are not what `pack` wrote."""
    split = _split(data)
    return split and split[0]


def _split(data: bytes) -> tuple[dict[str, bytes], bytes] | None:
    """Parts and packed facets."""
    try:
        magic, count, size, head, _ = _HEAD.unpack_from(data)
        if magic != _MAGIC:
            return None
        at = _HEAD.size
        names = data[at : at + size].decode().split("\0") if count else []
        at += size
        lengths = struct.unpack_from(f"<{count}I", data, at)
        at += 4 * count
        facets = data[at : at + head]
        at += head
        parts = {}
        for name, length in zip(names, lengths, strict=True):
            parts[name] = data[at : at + length]
            at += length
        return (parts, facets) if at == len(data) else None
    except (struct.error, ValueError, UnicodeDecodeError):
        return None
