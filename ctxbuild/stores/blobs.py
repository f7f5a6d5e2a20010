"""Large values as files that are named by their content: `blobs/ab/cdef…`.

A file appears by `os.replace`, so it is whole or not there, and its name is the
SHA-256 of its bytes, so reading verifies it. Nothing is synced to the disk: a
file that a power cut emptied fails its name and counts as missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

_TEMP: Final = "tmp-"
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_HEX: Final = frozenset("0123456789abcdef")
_NAME_LENGTH: Final = 64
HOUR: Final = 3600.0


class Blobs:
    """A directory of content-addressed files.

    Args:
        root: the directory; made when the first file is written.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        """Where the file of that name stands."""
        return self.root / name[:2] / name[2:]

    def put(self, data: bytes) -> str:
        """Store the bytes and return their name.

        Raises:
            OSError: they cannot be written; nothing is left behind.
        """
        name = _name(data)
        path = self.path(name)
        if path.exists():
            return name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temp = path.parent / f"{_TEMP}{os.getpid()}-{os.urandom(6).hex()}"
        try:
            with open(os.open(temp, _CREATE, 0o600), "wb") as file:
                file.write(data)
            os.replace(temp, path)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        return name

    def get(self, name: str) -> bytes | None:
        """The bytes of that name; None when missing or damaged, and a damaged file goes."""
        if not is_name(name):
            return None
        path = self.path(name)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if _name(data) == name:
            return data
        # As long as it stood there, `put` would take it for the right one.
        _remove(path)
        return None

    def names(self) -> Iterator[str]:
        """The names of all files, in no order."""
        for path in self._files():
            name = path.parent.name + path.name
            if is_name(name):
                yield name

    def volume(self) -> int:
        """Bytes used by all files."""
        return sum(_size(path) for path in self._files())

    def sweep(self, keep: Collection[str], grace: float = HOUR) -> tuple[int, int]:
        """Delete what nobody keeps and what crashed writers left.

        Args:
            keep: the names that are in use.
            grace: seconds that a file must be old: a writer puts the file first and
                the row that names it after, so a young one may be about to be used.

        Returns:
            How many files were deleted, and their bytes.
        """
        oldest = time.time() - grace
        count = freed = 0
        for path in list(self._files()):
            if path.parent.name + path.name in keep:
                continue
            try:
                stat = path.stat()
                if stat.st_mtime > oldest:
                    continue
                path.unlink()
            except OSError:
                continue
            count += 1
            freed += stat.st_size
        return count, freed

    def _files(self) -> Iterator[Path]:
        """All files two levels down, temporary ones included; links are left alone."""
        try:
            folders = [entry for entry in os.scandir(self.root) if _is_folder(entry)]
        except OSError:
            return
        for folder in folders:
            try:
                entries = list(os.scandir(folder.path))
            except OSError:
                continue
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)


def is_name(text: str) -> bool:
    """Whether the text is the name of a file of ours: 64 hexadecimal digits."""
    return len(text) == _NAME_LENGTH and _HEX.issuperset(text)


def _name(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return len(entry.name) == 2 and entry.is_dir(follow_symlinks=False)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        return
