"""How one value stands in the store: a header that proves it is whole, then its bytes.

    flags (1 byte) | xxh3-64 over flags, key and body (8 bytes) | body

The key is part of the checksum, so a row that a damaged index finds under
another key is damaged too. Values up to `INLINE` bytes are stored as they are:
on Django's sources zlib level 1 took five times as long as it saved in writing.
Larger ones are compressed and, if still large, stand in a file of their own; the
body then is that file's name.
"""

from __future__ import annotations

import zlib
from typing import Final

INLINE: Final = 32 * 1024
"""Largest body, in bytes, that stands in the database itself."""

HEADER: Final = 9
# The high bits number the format: a value of another format reads as damaged.
_FORMAT: Final = 0x10
_PACKED: Final = 1
_FILED: Final = 2


def pack(value: bytes) -> tuple[int, bytes]:
    """The flags and the body of a value, compressed when it is large and that helps."""
    if len(value) > INLINE:
        smaller = zlib.compress(value, 1)
        if len(smaller) < len(value):
            return _FORMAT | _PACKED, smaller
    return _FORMAT, value


def filed(flags: int) -> int:
    """The flags of a value whose body is the name of a file."""
    return flags | _FILED


def is_filed(flags: int) -> bool:
    """Whether the body is the name of a file."""
    return bool(flags & _FILED)


def seal(key: bytes, flags: int, body: bytes) -> bytes:
    """The row of a value."""
    head = bytes((flags,))
    return head + _checksum(head, key, body) + body


def open_row(key: bytes, row: bytes) -> tuple[int, bytes] | None:
    """The flags and the body of a row, or None when it is damaged or of another format."""
    head, body = row[:1], row[HEADER:]
    if len(row) < HEADER or head[0] & ~(_PACKED | _FILED) != _FORMAT:
        return None
    return (head[0], body) if row[1:HEADER] == _checksum(head, key, body) else None


def unpack(flags: int, body: bytes) -> bytes | None:
    """The value of a body that stands in the row or was read from its file."""
    if not flags & _PACKED:
        return body
    try:
        return zlib.decompress(body)
    except zlib.error:
        return None


def _checksum(head: bytes, key: bytes, body: bytes) -> bytes:
    from xxhash import xxh3_64_digest

    # The length keeps a byte from wandering between key and body unseen.
    return xxh3_64_digest(b"".join((head, len(key).to_bytes(4, "big"), key, body)))
