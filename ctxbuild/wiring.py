"""The only place where stores, executor, counter and stage versions are chosen.

Everything else receives them. A `Workspace` is one project opened for one run:
its state database, its value store, its engine and its pipeline over a snapshot.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ctxbuild.engine.database import Database
from ctxbuild.engine.events import Event
from ctxbuild.engine.executor import Fanout
from ctxbuild.pack.pipeline import Pipeline
from ctxbuild.pack.questions import Questions
from ctxbuild.source import rows
from ctxbuild.source import scan as scanning
from ctxbuild.stores.disk import ValueStore

if TYPE_CHECKING:
    from ctxbuild.engine.query import Input
    from ctxbuild.source.ctxfile import Ctxfile
    from ctxbuild.source.scan import Changes, Snapshot

Warn = Callable[[str], None]

STATE = "state.db"
_STATE_FORMAT = "1"
# What the answers of a stage depend on, as folders and files of this package.
_STAGE_SOURCES = {
    "facts": ("model.py", "facts", "pack/questions.py", "pack/codec.py", "pack/tokens.py"),
    "resolve": ("model.py", "graph", "pack/questions.py", "pack/codec.py"),
    "plan": ("model.py", "graph", "select", "pack", "source/ctxfile.py"),
}
_PARSERS = ("tree_sitter", "tree_sitter_python", "toktok", "tiktoken", "msgspec")


class Workspace:
    """One project, opened: scan it, then ask the database.

    Args:
        ctxfile: the project.
        cache: its cache directory, which must have been prepared.
        persistent: False where the cache directory cannot be written.
        workers: processes for parsing; 0 means one per core.
        warn: told, one line each, what is wrong with the cache.
        on_event: told what the engine does, as it happens.
    """

    def __init__(
        self,
        ctxfile: Ctxfile,
        cache: Path,
        *,
        persistent: bool = True,
        workers: int = 0,
        warn: Warn = lambda line: None,
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self.ctxfile = ctxfile
        self.cache = cache
        self.connection = open_state(cache, warn, persistent=persistent)
        self.persistent = persistent
        self.values = ValueStore(cache / "values", warn)
        self.fanout = Fanout(workers)
        self._on_event = on_event
        self._versions = stage_versions(self.connection)
        self.snapshot: Snapshot
        self.database: Database
        self.pipeline: Pipeline

    def scan(self, dirty: list[str] | None = None) -> None:
        """Looks at the tree and tells the engine which inputs may have other values.

        Args:
            dirty: paths that may have changed; None to look at everything.

        Raises:
            SourceError: the root cannot be listed.
        """
        changes = self._look(dirty)
        if changes:
            self.begin()
        self.database.apply(self._touched(changes))

    def is_current(self) -> bool:
        """Whether tree and ctxfile are as they were at the last build; writes nothing.

        Raises:
            SourceError: the root cannot be listed.
        """
        changes = self._look(None)
        return not changes and self.database.is_current(self._touched(changes))

    def _look(self, dirty: list[str] | None) -> Changes:
        scope = self.ctxfile.project.scope()
        self.snapshot, changes = scanning.scan(
            self.ctxfile.root, scope, self.connection, dirty=dirty
        )
        self._connect()
        return changes

    def _touched(self, changes: Changes) -> list[tuple[Input, str]]:
        questions = self.pipeline.questions
        moved = [*changes.added, *changes.removed]
        touched = [(questions.file, path) for path in (*moved, *changes.modified)]
        touched += [(self.pipeline.config, target.name) for target in self.ctxfile.targets]
        if moved:
            for source in questions.membership:
                touched += [(source, key) for key in self.database.recorded(source)]
        return touched

    def begin(self) -> None:
        """Opens a transaction unless one is open."""
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Makes durable what was computed, together with the digests it rests on."""
        if self.connection.in_transaction:
            self.snapshot.save()
        self.database.commit()

    def rollback(self) -> None:
        """Undoes everything since the last commit; the workspace must be closed then."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Ends worker processes and closes the databases; uncommitted work is lost."""
        self.fanout.close()
        self.values.close()
        self.connection.close()

    def _connect(self) -> None:
        """Makes engine and pipeline on the first scan; later ones only get the snapshot."""
        if hasattr(self, "pipeline"):
            self.pipeline.questions.sources = self.snapshot
            return
        from ctxbuild.facts import language_of

        tokenizer = self.ctxfile.project.tokenizer
        questions = Questions(self.snapshot, self._versions, language_of, tokenizer)
        targets = {target.name: target for target in self.ctxfile.targets}
        self.pipeline = Pipeline(questions, targets, tokenizer, self._versions, _counter)
        self.database = Database(
            self.connection,
            self.values,
            self.pipeline.declared,
            self.fanout,
            lambda event: self._on_event(event),
        )


def _counter(tokenizer: str) -> Callable[..., list[int]]:
    from ctxbuild.pack.tokens import counter

    return counter(tokenizer)


def output_directory(ctxfile: Ctxfile) -> Path:
    """Where the packs are written."""
    return Path(ctxfile.root, ctxfile.project.out)


# --- the state database -------------------------------------------------------------------


def open_state(cache: Path, warn: Warn, *, persistent: bool) -> sqlite3.Connection:
    """The state database; one that is damaged or of another format is started anew.

    Where nothing can be written it lives in memory, begun with what the disk holds.
    """
    path = cache / STATE
    if not persistent:
        return _in_memory(path)
    try:
        return _prepared(_connect(path))
    except sqlite3.DatabaseError as error:
        if _is_busy(error):
            raise
        if isinstance(error, sqlite3.OperationalError) and "readonly" in str(error):
            return _in_memory(path)
        warn(f"{path}: was damaged ({error}) and has been started anew")
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        return _prepared(_connect(path))


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Creates the tables; gives up those of another format."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS state(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"
    )
    row = connection.execute("SELECT value FROM state WHERE name = 'format'").fetchone()
    # One format for all tables: engine and snapshot must begin anew together.
    wanted = f"{_STATE_FORMAT}-{rows.VERSION}-{sys.byteorder}"
    if row and row[0] != wanted:
        connection.close()
        raise sqlite3.DatabaseError("made by another version")
    if not row:
        connection.execute("INSERT INTO state VALUES ('format', ?)", (wanted,))
        connection.execute(
            "CREATE TABLE IF NOT EXISTS outputs(path TEXT PRIMARY KEY, target TEXT, stat TEXT) "
            "WITHOUT ROWID"
        )
        connection.execute(
            "CREATE TABLE IF NOT EXISTS results(target TEXT PRIMARY KEY, summary TEXT) WITHOUT ROWID"
        )
        scanning.prepare(connection)
    return connection


def _in_memory(path: Path) -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None)
    if path.exists():
        try:
            disk = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
            disk.backup(memory)
            disk.close()
            return _prepared(memory)
        except sqlite3.DatabaseError:
            memory.close()
            memory = sqlite3.connect(":memory:", isolation_level=None)
    return _prepared(memory)


# --- versions of the stages ---------------------------------------------------------------


def stage_versions(connection: sqlite3.Connection) -> dict[str, str]:
    """Version per stage: the digest of the code that computes it and of its parsers' versions.

    Nobody has to remember to raise a number. The digests are taken only when a
    file of this package, or what is installed, looks different from last time.
    """
    stamp = _installation_stamp()
    stored = dict(connection.execute("SELECT name, value FROM state WHERE name LIKE 'version%'"))
    if stored.get("version-stamp") == stamp and len(stored) == len(_STAGE_SOURCES) + 1:
        return {name: stored[f"version:{name}"] for name in _STAGE_SOURCES}
    versions = {name: _digest_of(sources) for name, sources in _STAGE_SOURCES.items()}
    for name, version in versions.items():
        connection.execute("REPLACE INTO state VALUES (?, ?)", (f"version:{name}", version))
    connection.execute("REPLACE INTO state VALUES ('version-stamp', ?)", (stamp,))
    return versions


def _package_files() -> list[str]:
    found = []
    base = os.path.dirname(__file__)
    for folder in ("", "engine", "facts", "facts/languages", "graph", "pack", "select", "source"):
        with os.scandir(os.path.join(base, folder)) as entries:
            found += [
                f"{folder}/{entry.name}".lstrip("/")
                for entry in entries
                if entry.name.endswith((".py", ".toml", ".scm"))
            ]
    return sorted(found)


def _installation_stamp() -> str:
    """Stats of this package's files and of the directories that packages are installed into."""
    base = os.path.dirname(__file__)
    stats = [os.stat(os.path.join(base, name)) for name in _package_files()]
    stats += [os.stat(path) for path in sys.path if path.endswith("-packages") and os.path.isdir(path)]
    seen = [base, sys.version, *(f"{st.st_size} {st.st_mtime_ns}" for st in stats)]
    return str(hash_text("\n".join(seen)))


def hash_text(text: str) -> str:
    """A short digest of a text, for keys that stay on this machine."""
    import xxhash

    return xxhash.xxh3_128_hexdigest(text.encode())


def _digest_of(sources: tuple[str, ...]) -> str:
    from importlib.metadata import PackageNotFoundError, version

    base = os.path.dirname(__file__)
    parts = []
    for name in _package_files():
        if any(name == source or name.startswith(f"{source}/") for source in sources):
            with open(os.path.join(base, name), "rb") as file:
                parts.append(f"{name}\0{file.read().decode()}")
    for module in _PARSERS:
        try:
            parts.append(f"{module} {version(_DISTRIBUTIONS.get(module, module))}")
        except PackageNotFoundError:
            parts.append(f"{module} none")
    return hash_text("\0".join(parts))


_DISTRIBUTIONS = {"toktok": "toktok-rs"}
