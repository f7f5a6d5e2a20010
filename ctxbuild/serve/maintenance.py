"""Looks at a cache, makes it smaller, and checks it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ctxbuild.errors import StoreError
from ctxbuild.serve.session import Session, cache_directory
from ctxbuild.stores import cachedir, history
from ctxbuild.stores.assembly_log import FOLDER as LOG
from ctxbuild.stores.assembly_log import AssemblyLog
from ctxbuild.stores.disk import ValueStore
from ctxbuild.stores.state import FORMAT, STATE
from ctxbuild.wiring import Workspace

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Ctxfile

VALUES = "values"
SIDE_FILES = ("", "-wal", "-shm", "-journal")
_TARGET_QUERIES = frozenset({"plan", "pack", "artifact", "saved", "config"})
_PATH_QUERIES = frozenset({"file", "facts", "resolve", "text", "body", "units"})


def is_cache(directory: Path) -> bool:
    """Whether the directory is labelled as a cache of this version."""
    try:
        return (directory / "FORMAT").read_text(encoding="utf-8") == FORMAT
    except (OSError, UnicodeDecodeError):
        return False


# --- info ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds.

    Attributes:
        exists: whether there is one.
        state_bytes, value_bytes, pack_bytes, history_bytes, log_bytes: on the disk, by part.
        values: stored results; `live` of them are in use.
        nodes: (query, how many of its answers are remembered), sorted.
        edges: remembered dependencies.
        kept: packs that were built before and that a delta can begin from.
        logged: builds that can be planned again.
        problem: why the state cannot be read, or "".
    """

    directory: str
    exists: bool
    state_bytes: int = 0
    value_bytes: int = 0
    pack_bytes: int = 0
    history_bytes: int = 0
    log_bytes: int = 0
    values: int = 0
    live: int = 0
    nodes: tuple[tuple[str, int], ...] = ()
    edges: int = 0
    kept: int = 0
    logged: int = 0
    problem: str = ""


def info(ctxfile: Ctxfile) -> CacheInfo:
    """What the cache of a project holds; makes and changes nothing."""
    cache = cache_directory(ctxfile)
    if not is_cache(cache):
        return CacheInfo(str(cache), exists=False)
    nodes, edges, live, problem = _state_counts(cache / STATE)
    keys: set[bytes] = set()
    if (cache / VALUES / "cache.db").exists():
        with closing(ValueStore(cache / VALUES, _ignored)) as store:
            keys = set(store.keys())
    return CacheInfo(
        directory=str(cache),
        exists=True,
        state_bytes=_state_bytes(cache),
        value_bytes=tree_bytes(cache / VALUES),
        pack_bytes=tree_bytes(cache / "packs"),
        history_bytes=tree_bytes(cache / history.FOLDER),
        log_bytes=tree_bytes(cache / LOG),
        values=len(keys),
        live=len(keys & live),
        nodes=nodes,
        edges=edges,
        kept=len(history.packs(cache)),
        logged=len(AssemblyLog(cache).read().builds),
        problem=problem,
    )


def _ignored(line: str) -> None:
    """Takes a warning that a look at the cache need not repeat."""


def _state_counts(path: Path) -> tuple[tuple[tuple[str, int], ...], int, set[bytes], str]:
    if not path.exists():
        return (), 0, set(), ""
    try:
        with closing(read_only(path)) as connection:
            select = connection.execute
            nodes = select("SELECT query, count(*) FROM nodes GROUP BY query ORDER BY query")
            live = select("SELECT value FROM nodes WHERE value IS NOT NULL")
            edges = select("SELECT count(*) FROM edges").fetchone()[0]
            return tuple(nodes.fetchall()), edges, {row[0] for row in live}, ""
    except sqlite3.Error as error:
        return (), 0, set(), str(error)


def read_only(path: Path) -> sqlite3.Connection:
    """A connection for reading, also where nothing can be written.

    Raises:
        sqlite3.Error: it is no database or cannot be read.
    """
    uri = path.absolute().as_uri()
    # Not mode=ro: that would leave the side files of the log behind.
    connection = sqlite3.connect(f"{uri}?mode=rw", uri=True, timeout=5)
    try:
        connection.execute("PRAGMA query_only = 1")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _state_bytes(cache: Path) -> int:
    paths = (cache / f"{STATE}{suffix}" for suffix in SIDE_FILES)
    return sum(path.stat().st_size for path in paths if path.exists())


def tree_bytes(directory: Path) -> int:
    """Bytes of all files below a directory."""
    return sum(
        (Path(above) / name).lstat().st_size
        for above, _, names in os.walk(directory)
        for name in names
    )


# --- gc -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Swept:
    """What a garbage collection dropped.

    Attributes:
        values: results that nothing remembered points to.
        nodes: remembered answers about what is no more, and that nothing depends on.
        files: files that nothing names: of large values, and of builds no longer logged.
        bytes: how much smaller the cache is on the disk.
    """

    values: int
    nodes: int
    files: int
    bytes: int


def collect(session: Session) -> Swept:
    """Drops what no pack reaches: a declared one, or one whose files still exist.

    Results for content that is no longer in the tree go too, so that a switch
    back to another branch parses it again.

    Raises:
        StoreError: the cache cannot be written.
        SourceError: the root cannot be listed.
    """
    if not cachedir.prepare(session.cache, _ignored):
        raise StoreError(f"{session.cache}: cannot be written", "change its permissions")
    before = _disk_bytes(session.cache)
    with session.asking() as workspace:
        # First of all, so that indexes no longer count what is gone.
        workspace.database.settle()
        workspace.commit()
        nodes = _forget(workspace)
        workspace.commit()
        live = workspace.database.live_values()
        dead = [key for key in workspace.values.keys() if key not in live]  # noqa: SIM118
        values = workspace.values.delete_many(dead)
        # Under the lock nobody is about to name a young file.
        files, _ = workspace.values.sweep(0.0)
        files += AssemblyLog(session.cache).sweep()[0]
        workspace.values.compact()
        workspace.connection.execute("VACUUM")
        workspace.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Swept(values, nodes, files, max(0, before - _disk_bytes(session.cache)))


def _disk_bytes(cache: Path) -> int:
    return _state_bytes(cache) + tree_bytes(cache / VALUES) + tree_bytes(cache / LOG)


def _forget(workspace: Workspace) -> int:
    """Deletes nodes without dependents that are about nothing present; how many."""
    from ctxbuild.engine.rows import Rows

    workspace.begin()
    connection = workspace.connection
    targets = _live_targets(workspace)
    for table in ("results", "outputs"):
        gone = {row[0] for row in connection.execute(f"SELECT target FROM {table}")} - targets
        connection.executemany(
            f"DELETE FROM {table} WHERE target = ?", [(name,) for name in sorted(gone)]
        )
    rows = Rows(connection)
    forgotten = 0
    while True:
        free = connection.execute(
            "SELECT id, query, key FROM nodes n "
            "WHERE NOT EXISTS (SELECT 1 FROM edges WHERE dep = n.id)"
        ).fetchall()
        dead = [row[0] for row in free if not _is_wanted(workspace, targets, row[1], row[2])]
        if not dead:
            return forgotten
        rows.forget(dead)
        forgotten += len(dead)


def _live_targets(workspace: Workspace) -> set[str]:
    declared = {target.name for target in workspace.ctxfile.targets}
    rows = workspace.connection.execute("SELECT target, path FROM outputs")
    return declared | {target for target, path in rows if os.path.exists(path)}


def _is_wanted(workspace: Workspace, targets: set[str], query: str, key: str) -> bool:
    if query in _TARGET_QUERIES:
        return key in targets
    return query in _PATH_QUERIES and workspace.snapshot.has(key.partition("\0")[0])


# --- verify -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verified:
    """What a check of the cache found; what was bad is dropped already.

    Attributes:
        values: how many were read.
        problems: one line each.
    """

    values: int
    problems: tuple[str, ...]


def verify(ctxfile: Ctxfile, on_wait: Callable[[], None] | None = None) -> Verified:
    """Reads all that is stored and drops what is damaged.

    Raises:
        StoreError: the cache cannot be written, or a build has held it too long.
    """
    cache = cache_directory(ctxfile)
    if not is_cache(cache):
        return Verified(0, ())
    warned: list[str] = []
    with cachedir.locked(cache, on_wait=on_wait) as held:
        if not held:
            raise StoreError(f"{cache}: cannot be written", "change its permissions")
        problem = _state_problem(cache / STATE)
        if problem:
            warned.append(f"{STATE}: {problem}; started anew")
            for suffix in SIDE_FILES:
                (cache / f"{STATE}{suffix}").unlink(missing_ok=True)
        if not (cache / VALUES).exists():
            return Verified(0, tuple(warned))
        with closing(ValueStore(cache / VALUES, warned.append)) as store:
            found = store.verify(repair=True)
    return Verified(found.rows, (*warned, *(f"{VALUES}/{line}" for line in found.problems)))


def _state_problem(path: Path) -> str:
    """What is wrong with the state database, or ""."""
    if not path.exists():
        return ""
    try:
        with closing(sqlite3.connect(path, timeout=5)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                return str(found)
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
            if not {"nodes", "edges"} <= tables:
                return "a table is missing" if "state" not in tables else ""
            lost = connection.execute(
                "SELECT count(*) FROM edges e WHERE NOT EXISTS "
                "(SELECT 1 FROM nodes n WHERE n.id = e.dep)"
            ).fetchone()[0]
            return f"{lost} dependencies on nothing" if lost else ""
    except sqlite3.Error as error:
        return str(error)
