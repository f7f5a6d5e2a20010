"""A session that stays open: snapshot, facts and graph in memory, told by a watcher what changed.

Answers do not depend on what is in memory, only their speed does: whoever else
wrote to the state database meanwhile, memory is dropped and read again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ctxbuild.errors import CtxbuildError
from ctxbuild.serve.collector import Dirt
from ctxbuild.serve.fresh import named, outputs_intact
from ctxbuild.serve.results import BuildResult, TargetResult
from ctxbuild.serve.session import Session
from ctxbuild.stores import cachedir
from ctxbuild.stores.look import Look, data_version
from ctxbuild.stores.state import STATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxbuild.engine.events import Event
    from ctxbuild.model import Pack, Plan
    from ctxbuild.serve.watch import Watcher
    from ctxbuild.source.ctxfile import Ctxfile
    from ctxbuild.source.scan import Snapshot
    from ctxbuild.wiring import Workspace

_ROUNDS = 10
_ATTEMPTS = 5
_FORGET_EVERY = (
    256  # builds; then decoded values of old versions go, and present ones are read again
)
_MANY = 500  # directories to look at again, beyond which all are


class Update(NamedTuple):
    """What bringing memory in line with the tree found.

    Attributes:
        changed: paths that came, went or have another content, sorted.
        touched: paths that an event spoke of.
        why: what made everything dirty, "" if nothing out of the ordinary did.
        code: the installation may have changed.
    """

    changed: tuple[str, ...] = ()
    touched: frozenset[str] = frozenset()
    why: str = ""
    code: bool = False


class Resident(Session):
    """A session over a watched tree.

    Args:
        ctxfile: the project.
        watcher: of its root.
        workers: processes for parsing many files; 0 means one per core.

    Attributes:
        last: what the last question had to build; failures count.
    """

    def __init__(self, ctxfile: Ctxfile, watcher: Watcher, *, workers: int = 0) -> None:
        super().__init__(ctxfile, workers=workers)
        self.watcher = watcher
        self._workspace: Workspace | None = None
        self._seen = 0
        self._state: tuple[int, ...] = ()
        self.last: tuple[TargetResult, ...] = ()
        self._results: dict[str, TargetResult] = {}
        # Targets whose outputs are known to be right, and those that were before the last changes.
        self._right: set[str] = set()
        self._maybe: set[str] = set()
        self._warmed_up = False
        self._trims = 0
        self._counted: tuple[Snapshot, int] | None = None

    # --- keeping up -----------------------------------------------------------------------

    def update(self) -> Update:
        """Brings memory in line with what the watcher has heard; builds nothing.

        Raises:
            SourceError: the root cannot be listed.
        """
        dirt = self.watcher.take()
        moved = self._workspace.moved_outside() if self._workspace is not None else ()
        if not dirt and not moved and self._workspace is not None:
            return Update()
        try:
            changed = self._keep_up(dirt, moved)
        except BaseException:
            self.watcher.put_back(dirt, everything=True)
            raise
        touched = dirt.content | dirt.entries
        return Update(tuple(sorted(changed)), touched, dirt.why, dirt.code)

    def rests_outside(self) -> bool:
        """Whether some target depends on what the watcher does not watch."""
        return self._workspace is not None and self._workspace.rests_outside

    def moved_outside(self) -> bool:
        """Whether something that the watcher does not watch has changed."""
        return self._workspace is not None and bool(self._workspace.moved_outside())

    def stale(self, names: Iterable[str] = ()) -> list[str]:
        """Targets whose outputs are not known to be right, in the order of the ctxfile."""
        return [name for name in named(self.ctxfile, names) if name not in self._right]

    def listen(self, on_event: Callable[[Event], None]) -> None:
        """Tells somebody else what the engine does from now on."""
        self._on_event = on_event

    def adopt(self, ctxfile: Ctxfile) -> bool:
        """Goes on with another state of the ctxfile; whether that is possible."""
        if ctxfile.project != self.ctxfile.project or ctxfile.root != self.ctxfile.root:
            return False
        self.ctxfile = ctxfile
        self._suspect()
        if self._workspace is not None:
            self._workspace.ctxfile = ctxfile
            self._workspace.pipeline.targets = {each.name: each for each in ctxfile.targets}
            with self._held() as workspace:
                self._retrying(workspace, workspace.apply)
        return True

    def close(self) -> None:
        """Drops all that is in memory; what is on the disk stays."""
        workspace, self._workspace = self._workspace, None
        self._right.clear()
        self._maybe.clear()
        if workspace is not None:
            workspace.close()

    def warm(self, name: str) -> None:
        """Reads into memory what a new plan of a target would need; to be called when idle."""
        if self._workspace is not None and name in self._right:
            with self._held() as workspace:
                workspace.warm(name)
                if not self._warmed_up:
                    self._warmed_up = True
                    workspace.warm_up()

    def trim(self) -> None:
        """Keeps memory bounded; to be called when there is time."""
        self.events.clear()
        self._trims += 1
        if self._trims % _FORGET_EVERY == 0:
            from ctxbuild.pack import asker

            asker.forget()
        if self._workspace is not None:
            self._workspace.database.trim()

    # --- questions ------------------------------------------------------------------------

    def build(
        self, names: Iterable[str] = (), *, dry: bool = False, seen: Look | None = None
    ) -> BuildResult:
        """As `Session.build`; with nothing to do no file is stat'ed and no database asked."""
        if dry:
            return super().build(names, dry=True, seen=seen)
        started = time.perf_counter()
        wanted = named(self.ctxfile, names)
        self._begin()
        stale = self.stale(wanted)
        built: dict[str, TargetResult] = {}
        for _ in range(_ATTEMPTS):
            if not stale:
                break
            built |= {result.name: result for result in self.rebuild(stale)}
            failed = {name for name, result in built.items() if result.status == "failed"}
            stale = [name for name in self.stale(wanted) if name not in failed]
        results = [built.get(name) or self._results[name] for name in wanted]
        seconds = time.perf_counter() - started
        ran = self._ran(0)
        return BuildResult(tuple(results), ran, seconds, self._count(), tuple(self.warnings))

    def rebuild(self, names: list[str]) -> list[TargetResult]:
        """Builds targets and writes their outputs, without looking at the tree before."""
        with self._held() as workspace:
            before = len(self.events)
            self._retrying(workspace, workspace.database.settle)
            facts = self._ran(before)
            results = [self._rebuild(workspace, name) for name in names]
            if facts and results and results[0].status != "failed":
                # As in a build of its own, where the first target finds the facts stale.
                first = results[0]
                results[0] = first._replace(status="built", ran=(*facts, *first.ran))
            # Looking again for one target may have found what another one rests on changed.
            self._retrying(workspace, workspace.database.settle)
            self._right = {name for name in self._right if self._is_fresh(workspace, name)}
        built = {result.name: result for result in results if result.status != "fresh"}
        self.last = tuple(({each.name: each for each in self.last} | built).values())
        return results

    def _rebuild(self, workspace: Workspace, name: str) -> TargetResult:
        if name in self._maybe and self._is_fresh(workspace, name):
            self._maybe.discard(name)
            self._right.add(name)
            return self._results[name]
        self._maybe.discard(name)
        self._right.discard(name)
        before = len(self.events)
        result = self._build(workspace, name, dry=False)
        for _ in range(_ATTEMPTS):
            # A file that changes in the middle of a build may leave it half of the past.
            if result.status == "failed" or self._is_fresh(workspace, name):
                break
            result = self._build(workspace, name, dry=False)
        if result.status == "failed":
            return result
        if self._is_fresh(workspace, name):
            self._right.add(name)
        self._results[name] = result._replace(status="fresh", ran=(), written=(), seconds=0.0)
        return result._replace(ran=self._ran(before))

    @staticmethod
    def _is_fresh(workspace: Workspace, name: str) -> bool:
        pipeline, database = workspace.pipeline, workspace.database
        return database.is_fresh(pipeline.artifact, name) and database.is_fresh(
            pipeline.saved, name
        )

    def _suspect(self) -> None:
        self._maybe |= self._right
        self._right.clear()

    def artifact(self, name: str) -> tuple[Pack, Plan, dict[str, bytes]]:
        """As `Session.artifact`; the outputs are up to date afterwards too."""
        named(self.ctxfile, [name])
        self._begin()
        if self.stale([name]):
            self.rebuild([name])
        return super().artifact(name)

    def _begin(self) -> None:
        """Before an answer: all that was changed before it was asked for is known."""
        self.events.clear()
        self.warnings.clear()
        self.last = ()
        self.watcher.sync()
        self.update()
        if self._workspace is not None:
            for line in self._workspace.snapshot.warnings:
                self.warn(line)

    def _count(self) -> int:
        assert self._workspace is not None
        snapshot = self._workspace.snapshot
        if self._counted is None or self._counted[0] is not snapshot:
            self._counted = (snapshot, snapshot.count)
        return self._counted[1]

    # --- memory ---------------------------------------------------------------------------

    @contextmanager
    def _locked(self, seen: Look | None = None) -> Iterator[Workspace]:
        if seen is not None:
            seen.connection.close()
        self.watcher.sync()
        self.update()
        with self._held() as workspace:
            yield workspace

    @contextmanager
    def _held(self) -> Iterator[Workspace]:
        """The workspace under the lock of the cache; read anew if somebody else wrote to it."""
        workspace = self._workspace
        if workspace is None or not self._is_mine(workspace):
            self._persistent = cachedir.prepare(self.cache, self.warn)
        with cachedir.locked(self.cache, on_wait=self._on_wait):
            workspace = self._workspace
            if workspace is None or not self._is_mine(workspace):
                workspace = self._reopen()
            try:
                yield workspace
            except CtxbuildError:
                if workspace.is_told:
                    workspace.commit()
                else:
                    self.close()
                raise
            except BaseException:
                # What memory and the open transaction hold may be half of something.
                self.close()
                raise
            if workspace.is_told:
                workspace.commit()

    def _is_mine(self, workspace: Workspace) -> bool:
        """Whether the state on the disk is the one that memory holds."""
        return (
            data_version(workspace.connection) == self._seen
            and _file(self.cache / STATE) == self._state
        )

    def _reopen(self) -> Workspace:
        from ctxbuild.wiring import Workspace

        self.close()
        seen = self._look()
        workspace = Workspace(
            self.ctxfile,
            self.cache,
            seen,
            workers=self._workers,
            warn=self.warn,
            on_event=self._note,
        )
        try:
            self._retrying(workspace, workspace.apply)
        except BaseException:
            workspace.close()
            raise
        self._workspace, self._seen = workspace, seen.seen
        self._state = _file(self.cache / STATE)
        return workspace

    def _keep_up(self, dirt: Dirt, moved: tuple[str, ...]) -> set[str]:
        changed = set(moved)
        outputs = dirt.outputs or dirt.everything
        workspace = self._workspace
        if workspace is None:
            with self._held() as workspace:
                pass
        elif dirt.everything or dirt.content or dirt.entries or dirt.outside:
            changed.update(*workspace.look(self._places(workspace.snapshot, dirt)))
        for _ in range(_ROUNDS):
            younger = self.watcher.follow(workspace.snapshot, dirt)
            if not younger:
                break
            changed.update(*workspace.look(sorted(younger) if len(younger) < _MANY else None))
            dirt = Dirt()
        if changed:
            with self._held() as held:
                if held is workspace:
                    self._retrying(held, held.apply)
                workspace = held
            self._suspect()
        if outputs:
            self._check_outputs(workspace)
        return changed

    @staticmethod
    def _places(snapshot: Snapshot, dirt: Dirt) -> list[str] | None:
        if dirt.everything:
            return None
        return [*dirt.entries, *(path for path in dirt.content if snapshot.concerns(path))]

    def _check_outputs(self, workspace: Workspace) -> None:
        """Targets whose files are no longer as they were written are not right."""
        for name in tuple(self._right | self._maybe):
            if not outputs_intact(workspace.connection, str(self.out), name):
                self._right.discard(name)
                self._maybe.discard(name)


def _file(path: Path) -> tuple[int, ...]:
    """Which file stands at a path; nothing if there is none."""
    try:
        st = os.stat(path)
    except OSError:
        return ()
    return (st.st_dev, st.st_ino)
