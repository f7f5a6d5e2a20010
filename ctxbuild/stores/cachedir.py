"""The cache directory itself: made on first use, ignored by git, labelled, locked.

It may be deleted at any time. What stands in it: `FORMAT`, `lock`, the value
store, the engine's state, and by default the packs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ctxbuild.errors import StoreError
from ctxbuild.stores.atomic import cannot_write, is_temporary, write_if_changed
from ctxbuild.stores.lock import FileLock
from ctxbuild.stores.state import FORMAT

Warn = Callable[[str], None]

_TAG: Final = """\
Signature: 8a477f597d28d172789f06886806bc55
# This file marks a cache directory of ctxbuild, so that backup programs skip it.
# See https://bford.info/cachedir/
"""
_README: Final = """\
# The cache of ctxbuild

Everything in this directory was computed from other files and is computed again
when it is missing, so deleting the directory is safe: it costs one slower build.

- `packs/` holds the packs, unless the ctxfile names another place for them.
- Everything else holds intermediate steps, named by content.

Nothing in here belongs into version control, and none of it is read by hand:
`ctxbuild cache info` says what it holds, `ctxbuild cache gc` makes it smaller,
`ctxbuild cache verify` checks it.
"""
# What may stand in a directory that becomes a cache: a tracked one comes with the
# first two; outputs may have been written before.
_WELCOME: Final = frozenset({".gitignore", "README.md", "packs", "corpora", "lock", "cookies"})
# What a change of format leaves alone: labels, the lock, and what is not ours to delete.
_KEPT: Final = _WELCOME | {"CACHEDIR.TAG", "FORMAT", "originals", "log"}


def prepare(directory: Path, warn: Warn) -> bool:
    """Make the directory a cache directory of this format, emptied if it was of another.

    Args:
        directory: where the cache stands or shall stand.
        warn: takes one line when the cache cannot be used or was emptied.

    Returns:
        Whether it can be written. If not, the build goes on without a cache.

    Raises:
        StoreError: it holds files of somebody else, which we must not mix with ours.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _read(directory / "FORMAT") == FORMAT:
            return os.access(directory, os.W_OK | os.X_OK) or _unwritable(directory, warn)
        _refuse_foreign(directory)
        with locked(directory):
            # Another process may have adopted it meanwhile, and be at work in it.
            if _read(directory / "FORMAT") != FORMAT:
                _adopt(directory, warn)
    except (OSError, StoreError) as error:
        if isinstance(error, StoreError) and error.__cause__ is None:
            raise
        reason = cannot_write(directory, error) if isinstance(error, OSError) else error
        warn(f"{reason.message}; building without a cache")
        return False
    return True


def mend(directory: Path) -> None:
    """Label the directory again if it was deleted and a build has written in it since."""
    try:
        names = os.listdir(directory)
        if names and "CACHEDIR.TAG" not in names:
            _label(directory, names)
    except (OSError, StoreError):
        return


@contextmanager
def locked(
    directory: Path, wait: float = 600.0, on_wait: Callable[[], None] | None = None
) -> Iterator[bool]:
    """Hold the cache directory's lock: one writer at a time.

    Args:
        directory: a cache directory.
        wait: seconds to wait while another process holds the lock.
        on_wait: called once before waiting, to tell the user.

    Yields:
        Whether the lock is held; False where the directory cannot be written,
        and then nothing in it may be written.

    Raises:
        StoreError: the lock stayed taken for the whole time.
    """
    lock = FileLock(directory / "lock")
    try:
        held = lock.acquire()
    except OSError:
        yield False
        return
    if not held:
        if on_wait is not None:
            on_wait()
        _await(lock, wait)
    try:
        yield True
    finally:
        lock.release()


def _await(lock: FileLock, wait: float) -> None:
    end = time.monotonic() + wait
    pause = 0.01
    while not lock.acquire():
        if time.monotonic() >= end:
            raise StoreError(
                f"{lock.path}: another build has held the cache for {wait:g} seconds",
                "wait for it to end, or stop it",
            )
        time.sleep(pause)
        pause = min(pause * 2, 0.25)


def _refuse_foreign(directory: Path) -> None:
    # Another process writes the tag before anything that is not welcome.
    if _strange(directory) and _read(directory / "CACHEDIR.TAG") != _TAG:
        raise StoreError(
            f"{directory}: not a cache of ctxbuild, and not empty",
            "name an empty or new directory as `cache` in [project]",
        )


def _strange(directory: Path) -> list[str]:
    """Names that a directory which becomes a cache should not hold."""
    names = (entry.name for entry in directory.iterdir())
    return sorted(name for name in names if name not in _KEPT and not is_temporary(name))


def _adopt(directory: Path, warn: Warn) -> None:
    names = {entry.name for entry in directory.iterdir()}
    strange = _strange(directory)
    if strange:
        warn(f"{directory}: the cache is of another version of ctxbuild; starting a new one")
        for name in strange:
            _delete(directory / name)
    _label(directory, names)


def _label(directory: Path, names: Collection[str]) -> None:
    for name, text in ((".gitignore", "*\n"), ("README.md", _README)):
        if name not in names:
            write_if_changed(directory / name, text.encode())
    write_if_changed(directory / "CACHEDIR.TAG", _TAG.encode())
    # Last, so that a half-made directory is made again.
    write_if_changed(directory / "FORMAT", FORMAT.encode())


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes()[:1000].decode("utf-8", "replace")
    except FileNotFoundError:
        return None


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        from shutil import rmtree

        rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _unwritable(directory: Path, warn: Warn) -> bool:
    warn(f"{directory}: cannot be written: permission denied; building without a cache")
    return False
