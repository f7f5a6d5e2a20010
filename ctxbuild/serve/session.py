"""A session: one project opened in this process, and what can be asked of it.

A build first looks without the lock whether there is anything to do. Only if
there is, it takes the lock, scans again and builds, one writer at a time; what
it computed is committed target by target, so that an interrupt costs work and
never correctness.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ctxbuild.engine.events import Event, Ran
from ctxbuild.errors import CtxbuildError, SourceChanged, SourceError
from ctxbuild.serve.results import BuildResult, TargetResult
from ctxbuild.stores import cachedir
from ctxbuild.wiring import Workspace, output_directory

if TYPE_CHECKING:
    from ctxbuild.model import Pack, Plan
    from ctxbuild.source.ctxfile import Ctxfile

_RESCANS = 5
T = TypeVar("T")

OnEvent = Callable[[Event], None]


class Session:
    """Builds and answers for one project.

    Args:
        ctxfile: the project.
        workers: processes for parsing; 0 means one per core.
        on_event: told what the engine does, as it happens.
        on_wait: called once if another process builds and has to be waited for.

    Attributes:
        warnings: what is wrong with the cache or the selection, one line each.
    """

    def __init__(
        self,
        ctxfile: Ctxfile,
        *,
        workers: int = 0,
        on_event: OnEvent = lambda event: None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        self.ctxfile = ctxfile
        self.cache = cache_directory(ctxfile)
        self.out = output_directory(ctxfile)
        self.warnings: list[str] = []
        self.events: list[Event] = []
        self._workers = workers
        self._on_event = on_event
        self._on_wait = on_wait
        self._persistent = cachedir.prepare(self.cache, self.warn)

    # --- questions ------------------------------------------------------------------------

    def build(self, names: Iterable[str] = (), *, dry: bool = False) -> BuildResult:
        """Brings targets up to date.

        Args:
            names: targets; none means all.
            dry: compute everything, keep and write nothing: what it ran is exactly
                what a build would run.

        Raises:
            UnknownTarget: a name that the ctxfile does not have.
            SourceError: the root cannot be listed.
        """
        started = time.perf_counter()
        wanted = self._named(names)
        if not cachedir.is_free(self.cache):
            with self._opened() as workspace:
                if workspace.is_current() and self._is_fresh(workspace, wanted):
                    return self._fresh_report(workspace, wanted, started)
        with self._locked() as workspace:
            if self._is_fresh(workspace, wanted):
                return self._fresh_report(workspace, wanted, started)
            results = self._build_all(workspace, wanted, dry=dry)
            return self._report(workspace, results, started)

    def artifact(self, name: str) -> tuple[Pack, Plan, dict[str, bytes]]:
        """A target's pack, plan and output files, brought up to date first.

        Raises:
            UnknownTarget, BudgetError, EntryError: the target cannot be built.
        """
        self._named([name])
        with self._locked() as workspace:
            pipeline, database = workspace.pipeline, workspace.database
            files = self._retrying(workspace, lambda: database.get(pipeline.files, name))
            pack = database.get(pipeline.pack_value, name)
            plan = database.get(pipeline.plan_value, name)
            self._commit(workspace)
            return pack, plan, files

    @contextmanager
    def asking(self) -> Iterator[Workspace]:
        """The scanned workspace, for look-ups; what they compute is kept."""
        with self._locked() as workspace:
            yield workspace
            self._commit(workspace)

    def warn(self, line: str) -> None:
        """Keeps a warning, each once."""
        if line not in self.warnings:
            self.warnings.append(line)

    # --- opening --------------------------------------------------------------------------

    def _named(self, names: Iterable[str]) -> list[str]:
        wanted = {self.ctxfile.target(name).name for name in names}
        known = [target.name for target in self.ctxfile.targets]
        return [name for name in known if name in wanted or not wanted]

    @contextmanager
    def _opened(self) -> Iterator[Workspace]:
        workspace = Workspace(
            self.ctxfile,
            self.cache,
            persistent=self._persistent,
            workers=self._workers,
            warn=self.warn,
            on_event=self._note,
        )
        try:
            yield workspace
        finally:
            workspace.close()

    @contextmanager
    def _locked(self) -> Iterator[Workspace]:
        with cachedir.locked(self.cache, on_wait=self._on_wait), self._opened() as workspace:
            try:
                workspace.scan()
                for line in workspace.snapshot.warnings:
                    self.warn(line)
                yield workspace
            except KeyboardInterrupt:
                workspace.commit()
                raise

    def _note(self, event: Event) -> None:
        self.events.append(event)
        self._on_event(event)

    def _commit(self, workspace: Workspace) -> None:
        workspace.begin()
        workspace.commit()

    # --- building -------------------------------------------------------------------------

    def _is_fresh(self, workspace: Workspace, names: list[str]) -> bool:
        pipeline, database = workspace.pipeline, workspace.database
        return not workspace.connection.in_transaction and all(
            database.is_fresh(pipeline.artifact, name)
            and database.is_fresh(pipeline.saved, name)
            and self._outputs_intact(workspace, name)
            for name in names
        )

    def _build_all(
        self, workspace: Workspace, names: list[str], *, dry: bool
    ) -> list[TargetResult]:
        self.events.clear()
        results = []
        try:
            for name in names:
                results.append(self._build(workspace, name, dry=dry))
                if not dry:
                    self._commit(workspace)
        finally:
            if dry:
                workspace.rollback()
        return results

    def _build(self, workspace: Workspace, name: str, *, dry: bool) -> TargetResult:
        started, before = time.perf_counter(), len(self.events)
        target = self.ctxfile.target(name)
        pipeline, database = workspace.pipeline, workspace.database
        try:
            files = self._retrying(workspace, lambda: database.get(pipeline.files, name))
            full = database.get(pipeline.full_tokens, name)
            pack = database.get(pipeline.pack_value, name)
            written = [] if dry else self._write(workspace, name, files)
        except CtxbuildError as error:
            return TargetResult(
                name,
                "failed",
                ran=self._ran(before),
                budget=target.budget,
                reserve=target.reserve,
                seconds=time.perf_counter() - started,
                error=str(error),
            )
        ran = self._ran(before)
        result = TargetResult(
            name=name,
            status="built" if ran or written else "fresh",
            ran=ran,
            tokens=pack.tokens,
            budget=pack.budget,
            reserve=pack.reserve,
            full_tokens=full,
            digest=pack.digest,
            outputs=tuple(str(self.out / file) for file in files),
            written=tuple(written),
            seconds=time.perf_counter() - started,
            warnings=pack.warnings,
        )
        if not dry:
            self._remember(workspace, result)
        return result

    def _retrying(self, workspace: Workspace, ask: Callable[[], T]) -> T:
        """Asks again after a new scan when a file changed under our hands."""
        for _ in range(_RESCANS):
            try:
                workspace.database.settle()
                return ask()
            except SourceChanged as changed:
                last = changed
                workspace.scan()
        raise SourceError(
            f"{last.path}: changes faster than it can be read", "build again when it is quiet"
        )

    def _ran(self, since: int) -> tuple[str, ...]:
        return run_list(self.events[since:])

    def _fresh_report(
        self, workspace: Workspace, names: list[str], started: float
    ) -> BuildResult:
        results = [self._fresh_result(workspace, name) for name in names]
        return self._report(workspace, results, started)

    def _report(
        self, workspace: Workspace, results: list[TargetResult], started: float
    ) -> BuildResult:
        return BuildResult(
            tuple(results),
            run_list(self.events),
            time.perf_counter() - started,
            len(workspace.snapshot.paths),
            tuple(self.warnings),
        )

    # --- outputs --------------------------------------------------------------------------

    def _write(self, workspace: Workspace, name: str, files: dict[str, bytes]) -> list[str]:
        from ctxbuild.stores.atomic import write_if_changed

        written = []
        for file, data in files.items():
            path = self.out / file
            if write_if_changed(path, data):
                written.append(str(path))
            workspace.begin()
            workspace.connection.execute(
                "REPLACE INTO outputs VALUES (?, ?, ?)", (str(path), name, _stat(path))
            )
        return written

    def _outputs_intact(self, workspace: Workspace, name: str) -> bool:
        rows = workspace.connection.execute(
            "SELECT path, stat FROM outputs WHERE target = ?", (name,)
        ).fetchall()
        here = [(path, stat) for path, stat in rows if Path(path).parent == self.out]
        return bool(here) and all(_stat(Path(path)) == stat for path, stat in here)

    def _remember(self, workspace: Workspace, result: TargetResult) -> None:
        workspace.begin()
        workspace.connection.execute(
            "REPLACE INTO results VALUES (?, ?)", (result.name, json.dumps(result.data()))
        )

    def _fresh_result(self, workspace: Workspace, name: str) -> TargetResult:
        row = workspace.connection.execute(
            "SELECT summary FROM results WHERE target = ?", (name,)
        ).fetchone()
        data = json.loads(row[0])
        return TargetResult(
            name=name,
            status="fresh",
            tokens=data["tokens"],
            budget=data["budget"],
            reserve=data["reserve"],
            full_tokens=data["full_tokens"],
            digest=data["digest"],
            outputs=tuple(data["outputs"]),
            warnings=tuple(data["warnings"]),
        )


def cache_directory(ctxfile: Ctxfile) -> Path:
    """Where the cache of a project stands."""
    return Path(ctxfile.root, ctxfile.project.cache)


def run_list(events: Iterable[Event]) -> tuple[str, ...]:
    """The stages that ran, each once, in order; projections are left out."""
    ran = [str(event.node) for event in events if isinstance(event, Ran) and event.stage]
    return tuple(dict.fromkeys(ran))


def _stat(path: Path) -> str:
    """What tells whether an output is still as it was written."""
    try:
        st = os.stat(path)
    except OSError:
        return ""
    return f"{st.st_size} {st.st_mtime_ns} {st.st_ctime_ns} {st.st_ino}"
