"""The diskcache serializer that only knows bytes: it neither writes nor reads a pickle.

Imported only when a store is first used, because importing diskcache is slow.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from diskcache import Disk
from diskcache.core import MODE_RAW

from ctxbuild.errors import StoreError


class BytesDisk(Disk):  # type: ignore[misc]  # diskcache ships no types
    """Bytes in, bytes out; keys are bytes or text.

    diskcache's own serializers unpickle whatever a row claims to be a pickle, so
    that who can write `cache.db` can run code. Here such a row reads as None.
    """

    # diskcache also passes its settings for pickles and files, of which there are none here.
    def __init__(self, directory: str, **_settings: Any) -> None:
        super().__init__(directory)

    def put(self, key: bytes | str) -> tuple[Any, bool]:
        """The column value of a key.

        Raises:
            TypeError: it is neither bytes nor text.
        """
        if isinstance(key, bytes):
            return sqlite3.Binary(key), True
        if isinstance(key, str):
            return key, True
        raise TypeError(f"a key must be bytes or str, not {type(key).__name__}")

    def get(self, key: Any, raw: bool) -> bytes | str:
        """The key of a row.

        Raises:
            StoreError: the row's key is a pickle or no key of ours.
        """
        if raw and isinstance(key, bytes | str):
            return key
        raise StoreError("the cache holds a key that is not ours", "run `ctxbuild cache verify`")

    def store(
        self,
        value: bytes,
        read: bool,
        key: Any = None,  # noqa: ARG002  # diskcache passes it
    ) -> tuple[int, int, str | None, memoryview]:
        """The columns (size, mode, file name, value) of a value.

        Raises:
            TypeError: it is not bytes.
        """
        if read or not isinstance(value, bytes):
            raise TypeError(f"a value must be bytes, not {type(value).__name__}")
        return 0, MODE_RAW, None, sqlite3.Binary(value)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> bytes | None:
        """The value of a row, or None when the row is not one that `store` made."""
        if mode == MODE_RAW and filename is None and not read and isinstance(value, bytes):
            return value
        return None

    def remove(self, file_path: str) -> None:
        """Delete nothing: a file name in a row is not ours to follow."""
