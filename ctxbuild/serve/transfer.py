"""A cache carried elsewhere: to the next run of a CI job, or to another checkout.

What is exported is the state, the stored results and the history that deltas begin
from, not the packs. It is imported only whole, checked, and made by the same format
of cache.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from ctxbuild.errors import StoreError, UsageError
from ctxbuild.serve.maintenance import SIDE_FILES, VALUES, is_cache
from ctxbuild.serve.session import cache_directory
from ctxbuild.stores import archive, cachedir, history
from ctxbuild.stores.atomic import cannot_write
from ctxbuild.stores.state import FORMAT, STATE

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Ctxfile

KIND, VERSION = "cache", 1
_DATABASES = (STATE, f"{VALUES}/cache.db")
_BLOBS = f"{VALUES}/blobs"
_KEPT = re.compile(rf"{history.FOLDER}/[A-Za-z0-9_][A-Za-z0-9_.-]*/[0-9a-f]{{64}}\.json\.z")


@dataclass(frozen=True, slots=True)
class Moved:
    """What was exported or imported: how many files, and their bytes."""

    path: str
    files: int
    bytes: int


def export(ctxfile: Ctxfile, path: Path, on_wait: Callable[[], None] | None = None) -> Moved:
    """Writes the cache of a project into one file.

    Args:
        ctxfile: the project.
        path: the file to write.
        on_wait: called once if another process builds and has to be waited for.

    Raises:
        UsageError: there is no cache yet.
        StoreError: the cache cannot be read, or the file not be written.
    """
    cache = cache_directory(ctxfile)
    if not is_cache(cache):
        raise UsageError(f"{cache}: no cache yet", "run `ctxbuild build` first")
    with cachedir.locked(cache, on_wait=on_wait):
        temp = Path(mkdtemp(prefix="export-", dir=_writable(cache)))
        try:
            files: dict[str, archive.Content] = {
                name: _copied(cache / name, temp / name.replace("/", "-"))
                for name in _DATABASES
                if (cache / name).is_file()
            }
            for blob in sorted((cache / _BLOBS).glob("??/*")):
                if blob.is_file() and not blob.name.startswith("tmp-"):
                    files[blob.relative_to(cache).as_posix()] = blob
            times = _kept(cache)
            files |= {name: cache / name for name in times}
            archive.write(path, KIND, VERSION, {"format": FORMAT, "kept": times}, files)
            total = sum(_size(content) for content in files.values())
        finally:
            shutil.rmtree(temp, ignore_errors=True)
    return Moved(str(path), len(files), total)


def _kept(cache: Path) -> dict[str, int]:
    """The files of the history by name, and when each pack was last built, in nanoseconds."""
    found = {}
    for path in sorted((cache / history.FOLDER).glob("*/*")):
        name = path.relative_to(cache).as_posix()
        if _KEPT.fullmatch(name) and path.is_file():
            found[name] = path.stat().st_mtime_ns
    return found


def _writable(cache: Path) -> Path | None:
    """Where temporary files may stand: in the cache if that can be written."""
    return cache if os.access(cache, os.W_OK) else None


def _size(content: archive.Content) -> int:
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _copied(database: Path, to: Path) -> Path:
    """A whole copy of a database, what stands in its log included."""
    try:
        with (
            closing(sqlite3.connect(database, timeout=60)) as source,
            closing(sqlite3.connect(to)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise StoreError(
            f"{database}: cannot be read: {error}", "run `ctxbuild cache verify`"
        ) from error
    return to


def load(ctxfile: Ctxfile, path: Path, on_wait: Callable[[], None] | None = None) -> Moved:
    """Replaces the cache of a project by an exported one; packs are left alone.

    What the history holds stays in it, beside what is imported.

    Args:
        ctxfile: the project.
        path: an exported cache.
        on_wait: called once if another process builds and has to be waited for.

    Raises:
        UsageError: it is no exported cache, or of another version.
        CheckFailed: it was damaged or tampered with; the cache is as it was.
        StoreError: the cache cannot be written.
    """
    cache = cache_directory(ctxfile)
    warned: list[str] = []
    if not cachedir.prepare(cache, warned.append):
        raise StoreError(warned[0] if warned else f"{cache}: cannot be written")
    temp = Path(mkdtemp(prefix="import-", dir=cache))
    try:
        head = archive.extract(path, KIND, VERSION, temp)
        if head.get("format") != FORMAT:
            raise UsageError(f"{path}: was made by another version of ctxbuild", "export it again")
        for each in head["files"]:
            if not _is_part(each["path"]):
                raise UsageError(f"{path}: {each['path']}: is no part of a cache")
        with cachedir.locked(cache, on_wait=on_wait):
            _replace(cache, temp)
            _remember(cache, temp, head.get("kept"))
    finally:
        shutil.rmtree(temp, ignore_errors=True)
    return Moved(str(path), len(head["files"]), sum(each["size"] for each in head["files"]))


def _is_part(name: str) -> bool:
    return name in _DATABASES or name.startswith(f"{_BLOBS}/") or _KEPT.fullmatch(name) is not None


def _replace(cache: Path, temp: Path) -> None:
    """Values before the state that names them: a state without them computes again."""
    try:
        for suffix in SIDE_FILES:
            (cache / f"{STATE}{suffix}").unlink(missing_ok=True)
        shutil.rmtree(cache / VALUES, ignore_errors=True)
        for name in (VALUES, STATE):
            if (temp / name).exists():
                os.replace(temp / name, cache / name)
    except OSError as error:
        raise cannot_write(cache, error) from error


def _remember(cache: Path, temp: Path, times: object) -> None:
    """Puts the imported packs into the history, each as old as it was."""
    now = time.time_ns()
    try:
        for name in _kept(temp):
            when = times.get(name) if isinstance(times, dict) else None
            if not (cache / name).exists():
                (cache / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(temp / name, cache / name)
                when = min(when, now) if type(when) is int and when >= 0 else 0
                os.utime(cache / name, ns=(when, when))
    except OSError as error:
        raise cannot_write(cache, error) from error
