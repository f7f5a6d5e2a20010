"""Outputs that are always whole: a temporary file in the same directory, then a rename."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path
from typing import Final

from ctxbuild.errors import StoreError

_PREFIX: Final = ".ctxbuild-"
_SUFFIX: Final = ".tmp"
_HINTS: Final = {
    errno.ENOSPC: ("no space left on the disk", "free some space and build again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and build again"),
    errno.EACCES: ("permission denied", "change its permissions or write somewhere else"),
    errno.EPERM: ("permission denied", "change its permissions or write somewhere else"),
    errno.EROFS: ("the file system is read-only", "write somewhere else"),
    errno.EISDIR: ("it is a directory", "move it away or choose another name"),
    errno.ENOTDIR: ("a parent of it is a file", "move that file away or choose another name"),
    errno.EEXIST: ("a parent of it is a file", "move that file away or choose another name"),
    errno.ENAMETOOLONG: ("its name is too long", "choose a shorter name"),
}


def write_if_changed(path: Path, data: bytes) -> bool:
    """Make the file hold exactly the data; leave it untouched when it already does.

    Missing parent directories are made. A reader sees the old bytes or the new
    ones, never a part. A symbolic link is replaced, not followed.

    Args:
        path: the file.
        data: what it must hold.

    Returns:
        Whether it was written.

    Raises:
        StoreError: it cannot be written; no temporary file is left behind.
    """
    try:
        if _holds(path, data):
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as error:
        raise cannot_write(path, error) from error
    return True


def is_temporary(name: str) -> bool:
    """Whether it is the name of a file that a killed writer left behind."""
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


def sweep_temporary(directory: Path, age: float = 60.0) -> None:
    """Delete what killed writers left in a directory.

    Args:
        directory: where files were written.
        age: seconds that such a file must be old: a younger one may be of a writer at work.
    """
    try:
        with os.scandir(directory) as entries:
            oldest = time.time() - age
            for entry in entries:
                if is_temporary(entry.name) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry.path)
    except OSError:
        return


def cannot_write(path: Path, error: OSError) -> StoreError:
    """The StoreError that says why a path cannot be written."""
    what, hint = _HINTS.get(error.errno or 0, (error.strerror or str(error), "write elsewhere"))
    return StoreError(f"{path}: cannot be written: {what}", hint)


def _holds(path: Path, data: bytes) -> bool:
    """Whether it is a regular file with these bytes; nothing else is opened."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode) or found.st_size != len(data):
        return False
    try:
        return path.read_bytes() == data
    except PermissionError:
        return False


def _replace(path: Path, data: bytes) -> None:
    # Not tempfile: its files have mode 0600, and here the umask shall decide.
    temp = path.parent / f"{_PREFIX}{os.getpid()}-{os.urandom(6).hex()}{_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temp, flags, 0o666), "wb") as file:
            file.write(data)
        os.replace(temp, path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
