"""A session: one project opened in this process, and what can be asked of it.

A build first looks without the lock whether there is anything to do. Only if
there is, it takes the lock and builds, one writer at a time, going on from that
look unless somebody wrote in between; what it computed is committed target by
target, so that an interrupt costs work and never correctness.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ctxbuild.errors import CtxbuildError, SourceChanged, SourceError, StoreError, UsageError
from ctxbuild.serve.fresh import (
    fresh_build,
    fresh_results,
    named,
    outputs_intact,
    stat_line,
    stored_result,
)
from ctxbuild.serve.results import BuildResult, TargetResult
from ctxbuild.stores import cachedir
from ctxbuild.stores.atomic import cannot_write
from ctxbuild.stores.look import Look, data_version, look
from ctxbuild.stores.state import STATE, STATE_FAILURES, is_busy, is_damage, remove_state

if TYPE_CHECKING:
    from ctxbuild.engine.database import Database
    from ctxbuild.engine.events import Event
    from ctxbuild.model import Pack, Plan
    from ctxbuild.source.ctxfile import Ctxfile
    from ctxbuild.wiring import Workspace

_RESCANS = 5
T = TypeVar("T")

OnEvent = Callable[["Event"], None]


class Session:
    """Builds and answers for one project.

    Args:
        ctxfile: the project.
        workers: processes for parsing; 0 means one per core.
        on_event: told what the engine does, as it happens.
        on_wait: called once if another process builds and has to be waited for.

    Attributes:
        warnings: what is wrong with the cache or the selection, one line each.
        logs: whether what it builds is logged.
    """

    logs = True

    def __init__(
        self,
        ctxfile: Ctxfile,
        *,
        workers: int = 0,
        on_event: OnEvent | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        _refuse_odd_root(ctxfile.root)
        self.ctxfile = ctxfile
        self.cache = cache_directory(ctxfile)
        self.out = Path(ctxfile.root, ctxfile.project.out)
        self.warnings: list[str] = []
        self.events: list[Event] = []
        self._workers = workers
        self._on_event = on_event
        self._on_wait = on_wait
        self._persistent = cachedir.prepare(self.cache, self.warn)

    # --- questions ------------------------------------------------------------------------

    def build(
        self, names: Iterable[str] = (), *, dry: bool = False, seen: Look | None = None
    ) -> BuildResult:
        """Brings targets up to date.

        Args:
            names: targets; none means all.
            seen: a look taken before, to go on from.
            dry: compute everything, keep and write nothing: what it ran is exactly
                what a build would run.

        Raises:
            UnknownTarget: a name that the ctxfile does not have.
            SourceError: the root cannot be listed.
        """
        wanted = named(self.ctxfile, names)
        return self._recovering(lambda seen: self._build_once(wanted, seen, dry=dry), seen)

    def _build_once(self, wanted: list[str], seen: Look | None, *, dry: bool) -> BuildResult:
        started = time.perf_counter()
        self.events.clear()
        seen = seen or self._look()
        try:
            fresh = fresh_results(seen, self.ctxfile, wanted)
        except BaseException:
            seen.connection.close()
            raise
        if fresh is not None:
            self._keep(seen)
            return fresh_build(seen, fresh, time.perf_counter() - started, self.warnings)
        with self._locked(seen) as workspace:
            results = self._build_all(workspace, wanted, dry=dry)
            return self._report(workspace, results, started)

    def artifact(self, name: str) -> tuple[Pack, Plan, dict[str, bytes]]:
        """A target's pack, plan and output files, brought up to date first.

        Raises:
            UnknownTarget, BudgetError, EntryError: the target cannot be built.
        """
        named(self.ctxfile, [name])
        return self._recovering(lambda _: self._artifact(name))

    def _artifact(self, name: str) -> tuple[Pack, Plan, dict[str, bytes]]:
        with self._locked() as workspace:
            pipeline, database = workspace.pipeline, workspace.database
            files = self._retrying(workspace, lambda: _settled(database).get(pipeline.files, name))
            pack = database.get(pipeline.pack_value, name)
            plan = database.get(pipeline.plan_value, name)
            self._log(workspace, name, files)
            self._keep_originals(workspace, name, files)
            self._commit(workspace)
            self._keep_pack(pack, files)
            return pack, plan, files

    @contextmanager
    def asking(self) -> Iterator[Workspace]:
        """The scanned workspace, for look-ups; what they compute is kept.

        Raises:
            StoreError: the state database failed; another attempt does without it.
        """
        try:
            with self._locked() as workspace:
                self._retrying(workspace, workspace.database.settle)
                yield workspace
                self._commit(workspace)
        except STATE_FAILURES as error:
            self._give_up_state(error)
            raise StoreError(self.warnings[-1], "run the command again") from error

    def warn(self, line: str) -> None:
        """Keeps a warning, each once."""
        if line not in self.warnings:
            self.warnings.append(line)

    # --- a state database that fails --------------------------------------------------------

    def _recovering(self, ask: Callable[[Look | None], T], seen: Look | None = None) -> T:
        """Asks once more when the state database turns out to be damaged or out of reach."""
        try:
            return ask(seen)
        except STATE_FAILURES as error:
            self._give_up_state(error)
        return ask(None)

    def _give_up_state(self, error: Exception) -> None:
        """Starts a damaged state database anew; does without one that cannot be written.

        Raises:
            StoreError: another process holds it.
        """
        path = self.cache / STATE
        if is_busy(error):
            raise StoreError(
                f"{path}: another process keeps it locked", "wait for it to end, or stop it"
            ) from error
        if is_damage(error) and self._persistent:
            with cachedir.locked(self.cache, on_wait=self._on_wait):
                try:
                    remove_state(self.cache)
                    self.warn(f"{path}: was damaged ({error}) and has been started anew")
                    return
                except OSError as refusal:
                    self.warn(str(cannot_write(path, refusal)))
        self._persistent = False
        self.warn(f"{path}: cannot be used ({error}); this run keeps its state in memory")

    # --- opening --------------------------------------------------------------------------

    def _look(self) -> Look:
        seen = look(self.ctxfile, self.cache, self.warn, persistent=self._persistent)
        for line in seen.snapshot.warnings:
            self.warn(line)
        return seen

    def _keep(self, seen: Look) -> None:
        """Saves what a look alone learnt (files stat'ed in the tick they were written in)."""
        try:
            if seen.snapshot.unsaved and self._persistent:
                with cachedir.locked(self.cache):
                    if data_version(seen.connection) == seen.seen:
                        seen.connection.execute("BEGIN IMMEDIATE")
                        seen.snapshot.save()
                        seen.connection.execute("COMMIT")
        finally:
            seen.connection.close()

    @contextmanager
    def _locked(self, seen: Look | None = None) -> Iterator[Workspace]:
        import gc

        from ctxbuild.wiring import Workspace

        gc.enable()
        gc.set_threshold(50_000, 20, 20)  # facts are many small objects and hold no cycles
        with cachedir.locked(self.cache, on_wait=self._on_wait):
            seen = self._still_true(seen) or self._look()
            workspace = Workspace(
                self.ctxfile,
                self.cache,
                seen,
                persistent=self._persistent,
                workers=self._workers,
                warn=self.warn,
                on_event=self._note,
            )
            try:
                self._retrying(workspace, workspace.apply)
                yield workspace
            except KeyboardInterrupt:
                workspace.commit()
                raise
            finally:
                workspace.close()
                if self._persistent:
                    cachedir.mend(self.cache)

    def _still_true(self, seen: Look | None) -> Look | None:
        """A look from before the lock, unless another process has written since."""
        if seen is None or data_version(seen.connection) == seen.seen:
            return seen
        seen.connection.close()
        return None

    def _note(self, event: Event) -> None:
        self.events.append(event)
        if self._on_event is not None:
            self._on_event(event)

    def _commit(self, workspace: Workspace) -> None:
        workspace.begin()
        workspace.commit()

    # --- building -------------------------------------------------------------------------

    def _build_all(
        self, workspace: Workspace, names: list[str], *, dry: bool
    ) -> list[TargetResult]:
        results = []
        if dry:
            workspace.database.rehearse()
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
        database, artifact = workspace.database, workspace.pipeline.artifact
        try:
            value = self._retrying(
                workspace, lambda: _settled(database).fresh_cell(artifact, name, "").value
            )
            assert value is not None  # every query has a value once it is fresh
            kept = self._kept(workspace, name, value.hex())
            if kept is not None:
                ran = self._ran(before)
                seconds = time.perf_counter() - started
                return kept._replace(status="built" if ran else "fresh", ran=ran, seconds=seconds)
            return self._publish(workspace, name, value.hex(), before, started, dry=dry)
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

    def _kept(self, workspace: Workspace, name: str, value: str) -> TargetResult | None:
        """The report of a target whose outputs already hold this artifact."""
        known = stored_result(workspace.connection, name)
        if known is None or known[0] != value:
            return None
        return known[1] if outputs_intact(workspace.connection, str(self.out), name) else None

    def _publish(
        self,
        workspace: Workspace,
        name: str,
        value: str,
        before: int,
        started: float,
        *,
        dry: bool,
    ) -> TargetResult:
        """Writes an artifact's files and remembers the report."""
        from ctxbuild.pack.artifact import rot_data

        pipeline, database = workspace.pipeline, workspace.database
        files, pack = database.get(pipeline.files, name), database.get(pipeline.pack_value, name)
        known = stored_result(workspace.connection, name)
        written = [] if dry else self._write(workspace, name, files)
        if not dry:
            self._keep_pack(pack, files)
            self._keep_originals(workspace, name, files)
            self._log(workspace, name, files)
        ran = self._ran(before)
        if known is not None and f"plan({name})" not in ran:
            # What it draws from was counted when it was last planned; counting again would
            # cost more than the rest of such a build.
            full = known[1].full_tokens
        else:
            full = self._retrying(workspace, lambda: database.get(pipeline.full_tokens, name))
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
            rot=tuple(rot_data(rot) for rot in pack.rot),
        )
        if not dry:
            self._remember(workspace, result, value)
        return result

    def _retrying(self, workspace: Workspace, ask: Callable[[], T]) -> T:
        """Asks again after a new scan when a file changed under our hands."""
        path = ""
        for _ in range(_RESCANS):
            try:
                if path:
                    workspace.scan()
                return ask()
            except SourceChanged as changed:
                path = changed.path
        raise SourceError(
            f"{path}: changes faster than it can be read", "build again when it is quiet"
        )

    def _ran(self, since: int) -> tuple[str, ...]:
        return run_list(self.events[since:])

    def _report(
        self, workspace: Workspace, results: list[TargetResult], started: float
    ) -> BuildResult:
        return BuildResult(
            tuple(results),
            run_list(self.events),
            time.perf_counter() - started,
            workspace.snapshot.count,
            tuple(self.warnings),
        )

    # --- outputs --------------------------------------------------------------------------

    def _keep_pack(self, pack: Pack, files: dict[str, bytes]) -> None:
        """Keeps what somebody may read now, so that a later delta can begin with it."""
        from ctxbuild.stores.history import keep

        if self._persistent:
            keep(self.cache, pack.target, pack.digest, files[f"{pack.target}.pack.json"])

    def _log(self, workspace: Workspace, name: str, files: dict[str, bytes]) -> None:
        """Logs what was made of what, so that it can be marked and planned again."""
        if self._persistent and self.logs:
            from ctxbuild.serve.journal import log_build

            log_build(workspace, self.cache, name, files, self.warn)

    def _keep_originals(self, workspace: Workspace, name: str, files: dict[str, bytes]) -> None:
        """Keeps what compacted sessions left out, so that their hashes can be recalled."""
        target = self.ctxfile.target(name)
        if self._persistent and any(layer.source == "transcript" for layer in target.layers):
            from ctxbuild.serve.recall import keep_of

            try:
                keep_of(workspace, self.cache, target, files[f"{name}.plan.json"])
            except StoreError as error:
                self.warn(str(error))
            except SourceChanged:
                return  # the session goes on; the next build keeps them

    def _write(self, workspace: Workspace, name: str, files: dict[str, bytes]) -> list[str]:
        from ctxbuild.stores.atomic import sweep_temporary, write_if_changed

        written = []
        execute = workspace.connection.execute
        workspace.begin()
        # Until all is written there is no report: what stands there may be of two builds.
        execute("DELETE FROM results WHERE target = ?", (name,))
        for file, data in files.items():
            path = self.out / file
            if write_if_changed(path, data):
                written.append(str(path))
            execute("REPLACE INTO outputs VALUES (?, ?, ?)", (str(path), name, stat_line(path)))
        if written:
            sweep_temporary(self.out)
        known = execute("SELECT path, stat FROM outputs WHERE target = ?", (name,)).fetchall()
        for path, stat in known:
            # A format that is no longer asked for, deleted or changed by the user since.
            if os.path.basename(path) not in files and stat_line(path) != stat:
                execute("DELETE FROM outputs WHERE path = ?", (path,))
        return written

    def _remember(self, workspace: Workspace, result: TargetResult, value: str) -> None:
        workspace.begin()
        summary = json.dumps({**result.data(), "value": value})
        workspace.connection.execute("REPLACE INTO results VALUES (?, ?)", (result.name, summary))


def _refuse_odd_root(root: str) -> None:
    try:
        root.encode()
    except UnicodeEncodeError as error:
        shown = root.encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"{shown}: the path is not UTF-8", "rename the directory") from error


def _settled(database: Database) -> Database:
    database.settle()
    return database


def cache_directory(ctxfile: Ctxfile) -> Path:
    """Where the cache of a project stands."""
    return Path(ctxfile.root, ctxfile.project.cache)


def run_list(events: Iterable[Event]) -> tuple[str, ...]:
    """The stages that ran, each once, in order; projections are left out."""
    from ctxbuild.engine.events import Ran

    ran = [str(event.node) for event in events if isinstance(event, Ran) and event.stage]
    return tuple(dict.fromkeys(ran))
