"""Deletes the packs that were written and, if asked to, the contents of the cache."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ctxbuild.errors import StoreError
from ctxbuild.serve.fresh import stat_line
from ctxbuild.serve.glance import NAME as GLANCE
from ctxbuild.serve.loops import SESSIONS
from ctxbuild.serve.maintenance import SIDE_FILES, VALUES, is_cache, read_only, tree_bytes
from ctxbuild.serve.recall import FOLDER as ORIGINALS
from ctxbuild.serve.session import cache_directory
from ctxbuild.stores import cachedir
from ctxbuild.stores.assembly_log import FOLDER as LOG
from ctxbuild.stores.history import FOLDER
from ctxbuild.stores.parsed import NAME
from ctxbuild.stores.state import STATE
from ctxbuild.stores.vectors import NAME as VECTORS

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Ctxfile


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What was deleted, or would be.

    Attributes:
        paths: files and directories.
        bytes: their size.
        kept: outputs that somebody changed since they were written.
    """

    paths: tuple[str, ...]
    bytes: int
    kept: tuple[str, ...] = ()


# Labels, the lock, corpora and whatever else stands there are left alone.
_OURS = (
    *(VALUES, FOLDER, ORIGINALS, LOG, SESSIONS, NAME, GLANCE, "packs", "CACHEDIR.TAG", "FORMAT"),
    *(STATE + suffix for suffix in SIDE_FILES),
    *(VECTORS + suffix for suffix in SIDE_FILES),
)


def clean(ctxfile: Ctxfile, *, everything: bool = False, dry: bool = False) -> Cleaned:
    """Deletes the packs that were written, and the cache if asked to.

    Args:
        ctxfile: the project.
        everything: the cache's contents too.
        dry: only say what would be deleted.

    Raises:
        StoreError: the cache directory is none of ours, or something cannot be deleted.
    """
    cache = cache_directory(ctxfile)
    if not is_cache(cache):
        if cache.is_dir() and any(cache.iterdir()):
            raise StoreError(
                f"{cache}: not a cache of this version of ctxbuild", "nothing was deleted"
            )
        return Cleaned((), 0)
    with cachedir.locked(cache):
        return _clean(ctxfile, cache, everything=everything, dry=dry)


def _clean(ctxfile: Ctxfile, cache: Path, *, everything: bool, dry: bool) -> Cleaned:
    outputs, kept = _outputs(ctxfile, cache)
    doomed = sorted(outputs)
    if everything:
        inside = [cache / name for name in _OURS if os.path.lexists(cache / name)]
        doomed = [path for path in doomed if not _is_below(path, cache)] + inside
        kept = [path for path in kept if not _is_below(path, cache)]
    size = sum(_size(path) for path in doomed)
    if not dry:
        for path in doomed:
            _delete(path)
        for folder in {path.parent for path in doomed if _COMMIT.fullmatch(path.parent.name)}:
            with suppress(OSError):
                folder.rmdir()  # unless something of somebody else stands in it
    return Cleaned(tuple(map(str, doomed)), size, tuple(map(str, kept)))


def _outputs(ctxfile: Ctxfile, cache: Path) -> tuple[set[Path], list[Path]]:
    """(files that are as we wrote them, files that somebody changed since)."""
    ours: set[Path] = set()
    changed: list[Path] = []
    packs, out = cache / "packs", Path(ctxfile.root, ctxfile.project.out)
    for path, stat in _recorded(cache / STATE):
        # A cache may have been copied from elsewhere, with the places of that time.
        here = _is_below(path, Path(ctxfile.root)) or path.parent == out
        if not here or not os.path.lexists(path):
            continue
        if stat == stat_line(path) or _is_below(path, packs):
            ours.add(path)
        else:
            changed.append(path)
    if packs.is_dir():
        for target in ctxfile.targets:
            names = (f"{target.name}{ending}" for ending in _ENDINGS)
            ours.update(packs / name for name in names if (packs / name).is_file())
    for directory in {packs, out}:
        ours.update(_of_commits(ctxfile, directory))
    return ours, sorted(changed)


def _of_commits(ctxfile: Ctxfile, directory: Path) -> Iterator[Path]:
    """What was built from commits, which no state records: known by its place and its names."""
    declared = {target.name for target in ctxfile.targets}
    for folder in directory.glob("@*"):
        if not _COMMIT.fullmatch(folder.name) or folder.is_symlink():
            continue
        built = {path.name.removesuffix(_ARTIFACT) for path in folder.glob(f"*{_ARTIFACT}")}
        for name in declared | built:
            paths = (folder / f"{name}{ending}" for ending in _ENDINGS)
            yield from (path for path in paths if path.is_file())


_COMMIT = re.compile("@[0-9a-f]{12}")
_ARTIFACT = ".pack.json"
_ENDINGS = (".md", ".xml", ".json", _ARTIFACT, ".plan.json")


def _recorded(state: Path) -> Iterator[tuple[Path, str]]:
    if not state.exists():
        return
    try:
        with closing(read_only(state)) as connection:
            rows = connection.execute("SELECT path, stat FROM outputs ORDER BY path").fetchall()
    except sqlite3.Error:
        return
    for path, stat in rows:
        yield Path(path), stat


def _is_below(path: Path, directory: Path) -> bool:
    return Path(os.path.normpath(path)).is_relative_to(os.path.normpath(directory))


def _size(path: Path) -> int:
    if path.is_dir() and not path.is_symlink():
        return tree_bytes(path)
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _delete(path: Path) -> None:
    from ctxbuild.stores.atomic import cannot_write

    try:
        if path.is_dir() and not path.is_symlink():
            from shutil import rmtree

            rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
