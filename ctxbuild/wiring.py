"""The only place where stores, executor, counter and stage versions are chosen.

Everything else receives them. A `Workspace` is one project opened for one run:
its state database, its value store, its engine and its pipeline over a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ctxbuild.engine.database import Context, Database
from ctxbuild.engine.events import Event
from ctxbuild.engine.executor import Fanout
from ctxbuild.facts import language_of
from ctxbuild.pack.pipeline import Pipeline
from ctxbuild.pack.questions import Questions
from ctxbuild.source import outside
from ctxbuild.source import scan as scanning
from ctxbuild.source.previous import previous
from ctxbuild.source.scan import Changes
from ctxbuild.stores.answers import FileAnswers
from ctxbuild.stores.counts import RememberedCounts
from ctxbuild.stores.disk import ValueStore
from ctxbuild.stores.vectors import NAME as VECTORS
from ctxbuild.stores.vectors import VectorSource
from ctxbuild.stores.versions import code_of

if TYPE_CHECKING:
    from ctxbuild.pack.tokens import Counter
    from ctxbuild.source.ctxfile import Ctxfile
    from ctxbuild.source.scan import Snapshot
    from ctxbuild.stores.look import Look

Warn = Callable[[str], None]
_EMBEDDER = outside.key_of("embedder", "")


class Workspace:
    """One project, opened: scan it, then ask the database.

    Args:
        ctxfile: the project.
        cache: its cache directory, which must have been prepared.
        seen: the first look at it, which this object takes over.
        persistent: False where the cache directory cannot be written.
        workers: processes for parsing; 0 means one per core.
        warn: told, one line each, what is wrong with the cache.
        on_event: told what the engine does, as it happens.
    """

    def __init__(
        self,
        ctxfile: Ctxfile,
        cache: Path,
        seen: Look,
        *,
        persistent: bool = True,
        workers: int = 0,
        warn: Warn,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.ctxfile = ctxfile
        self.cache = cache
        self.connection = seen.connection
        self._outside: dict[str, bytes] = {}
        self.snapshot = seen.snapshot
        self.fanout = Fanout(workers)
        self.values = ValueStore(cache / "values", warn, writable=persistent)
        tokenizer = ctxfile.project.tokenizer
        root = ctxfile.root
        questions = Questions(
            self.snapshot,
            seen.versions,
            language_of,
            tokenizer,
            self._outside_state,
            partial(outside.read_file, root),
            partial(outside.read_objects, root),
            partial(outside.open_file, root),
        )
        questions.answers = FileAnswers(cache / "models") if persistent else None
        self._vectors = VectorSource(root, cache / VECTORS if persistent else None)
        questions.vectors = self._vectors
        targets = {target.name: target for target in ctxfile.targets}
        self.pipeline = Pipeline(
            questions,
            targets,
            tokenizer,
            seen.versions,
            self._counter,
            partial(previous, root),
        )
        self.database = Database(
            self.connection,
            self.values,
            self.pipeline.declared,
            code_of(seen.versions),
            self.fanout,
            on_event,
        )
        self._untold = seen.changes

    def scan(self, dirty: list[str] | None = None) -> Changes:
        """Looks at the tree again and tells the engine which inputs may have other values.

        Args:
            dirty: paths that may have changed; None to look at everything.

        Raises:
            SourceError: the root cannot be listed.
        """
        changes = self.look(dirty)
        self.apply()
        return changes

    def look(self, dirty: list[str] | None = None) -> Changes:
        """Looks at the tree again; the engine does not know of it until `apply`.

        Raises:
            SourceError: the root cannot be listed.
        """
        scope = self.ctxfile.project.scope()
        self.snapshot, changes = scanning.scan(
            self.ctxfile.root, scope, self.connection, dirty=dirty, previous=self.snapshot
        )
        self.pipeline.questions.sources = self.snapshot
        self._untold = Changes(*map(_union, self._untold, changes))
        return changes

    def turn_to(self, snapshot: Snapshot, changes: Changes) -> None:
        """Goes on from other sources, as if the tree had become them.

        Args:
            snapshot: the other sources.
            changes: how they differ from those of now.
        """
        self.snapshot = self.pipeline.questions.sources = snapshot
        self._untold = changes
        self.apply()

    def apply(self) -> None:
        """Tells the engine which inputs may have other values after the looks so far.

        Raises:
            SourceChanged: one of them changed again; look again.
        """
        questions, changes = self.pipeline.questions, self._untold
        moved = [*changes.added, *changes.removed]
        touched = [(questions.file, path) for path in (*moved, *changes.modified)]
        targets = self.ctxfile.targets
        touched += [(self.pipeline.config, target.name) for target in targets]
        touched += [(self.pipeline.previous, target.name) for target in targets if target.prefer]
        recorded = self.database.recorded
        touched += [(questions.outside, key) for key in recorded(questions.outside)]
        if moved:
            for source in questions.membership:
                touched += [(source, key) for key in recorded(source)]
        if any(changes):
            self.begin()
        self.database.apply(touched, moved=bool(moved))
        self._untold = Changes()

    @property
    def rests_outside(self) -> bool:
        """Whether some target depends on more than the sources."""
        return bool(self._outside)

    def moved_outside(self) -> tuple[str, ...]:
        """What is no source and is not as the engine saw it last, by name, sorted."""
        root = self.ctxfile.root
        moved = (key for key, seen in self._outside.items() if outside.state(root, key) != seen)
        return tuple(sorted(outside.name_of(key) for key in moved))

    def _outside_state(self, key: str) -> bytes:
        value = outside.state(self.ctxfile.root, key)
        if value or key != _EMBEDDER:  # where none is named, none comes while the process runs
            self._outside[key] = value
        return value

    @property
    def is_told(self) -> bool:
        """Whether the engine knows of all that the looks have found."""
        return not any(self._untold)

    def warm(self, target: str) -> None:
        """Reads into memory what the next plan of a target would need."""
        self.pipeline.plan.compute(Context(self.database), target)

    def warm_up(self) -> None:
        """Loads what the next parse and count would load: grammars and vocabulary."""
        from ctxbuild.facts import extract
        from ctxbuild.pack.tokens import counter

        counter(self.ctxfile.project.tokenizer)([""])
        for language in {language_of(path) for path in self.snapshot.paths}:
            extract(b"", language)

    def begin(self) -> None:
        """Opens a transaction unless one is open."""
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Makes durable what was computed, together with the digests it rests on.

        What the engine was not told of must not become the state that the next
        look compares with: then all since the last commit is undone.
        """
        if any(self._untold):
            self.rollback()
            return
        if self.connection.in_transaction:
            self.snapshot.save()
        self.database.commit()

    def rollback(self) -> None:
        """Undoes everything since the last commit; the workspace must be closed then."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def _counter(self, tokenizer: str) -> Counter:
        from ctxbuild.pack.tokens import counter

        return RememberedCounts(self.connection, tokenizer, counter)

    def close(self) -> None:
        """Ends worker processes and closes the databases; uncommitted work is lost."""
        self.fanout.close()
        self.values.close()
        self._vectors.close()
        self.connection.close()


def _union(some: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*some, *more)))
