"""The daemon: one per root, keeps its targets fresh while files change, and answers clients.

One thread does all work: it waits for changes and requests, brings memory in
line with the tree, builds what is stale. Before each answer it waits for a
cookie (see `watch.py`), so that no answer is older than its question.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxbuild.errors import CtxbuildError, StoreError
from ctxbuild.serve import launch, protocol
from ctxbuild.serve.reports import Report, TargetState
from ctxbuild.serve.resident import Resident
from ctxbuild.serve.server import Command, Request, Server
from ctxbuild.serve.watch import Watcher
from ctxbuild.source import ctxfile as ctxfiles
from ctxbuild.source import rows
from ctxbuild.stores import versions

if TYPE_CHECKING:
    from ctxbuild.serve.resident import Update
    from ctxbuild.source.ctxfile import Ctxfile

SETTLE_SECONDS = 0.01
"""Quiet after the last event before a build begins: an atomic save is several events."""
LONGEST_SETTLE_SECONDS = 0.25
IDLE_SECONDS = 3 * 3600.0
"""After which a daemon that nobody asks and no change wakes goes, if it is detached."""
_OUTSIDE_SECONDS = 1.0  # between looks at what no event speaks of: transcripts, revisions
_GONE_SECONDS = 0.5  # between two looks whether a root is back
_HEARTBEAT_SECONDS = 30.0
_BUGS = 5  # in a row, after which it is better to end

Runner = Callable[[Command, Resident], bytes]
"""Carries out a client's command: the frames to send, or b"" to have the client do it."""
OnReport = Callable[[Report], None]


def _unheard(report: Report) -> None:
    """Takes a report that nobody shows."""


class Daemon:
    """Watches one project until it is told to stop.

    Args:
        path: the ctxfile, absolute.
        runner: carries out commands of clients.
        on_report: told what happens, in the thread that works.
        detached: it runs for no terminal, and ends when nobody needs it.
        options: of `ctxbuild watch`, for its successor.
        poll: watch by scanning.
        idle: seconds without anything to do after which a detached one ends.
        workers: processes for parsing many files; 0 means one per core.

    Attributes:
        targets: as they stand, by name, in the order of the ctxfile.
        outdated: it ended because its own code on the disk is another now.

    Raises:
        CtxbuildError: there is a daemon already, or the ctxfile is wrong from the start.
    """

    def __init__(
        self,
        path: str,
        runner: Runner,
        on_report: OnReport = _unheard,
        *,
        detached: bool = False,
        options: tuple[str, ...] = (),
        poll: bool = False,
        idle: float = IDLE_SECONDS,
        workers: int = 0,
    ) -> None:
        self.path = path
        self.root = os.path.realpath(os.path.dirname(path))
        self.targets: dict[str, TargetState] = {}
        self._runner = runner
        self._on_report = on_report
        self._detached = detached
        self._options = options
        self._poll = poll
        self._idle = idle
        self._workers = workers
        self._condition = threading.Condition()
        self._requests: deque[Request] = deque()
        self._stopping = False
        self._problem = ""
        self._answered = 0
        self._builds = 0
        self._bugs = 0
        self.outdated = False
        self._cold: list[str] = []
        self._scanned = (0.0, 0.0)  # when, and how long it took
        self._started = time.time()
        self._stamp = versions.installation_stamp()
        self._ctxfile_stat: tuple[int, ...] | None = None
        self._linked = os.path.islink(path)  # what it leads to may stand outside the tree
        lock = launch.take_lock(self.root)
        if lock is None:
            raise StoreError(
                f"{self.root}: is being watched already",
                "`ctxbuild watch status` tells by whom, `ctxbuild watch stop` ends it",
            )
        self._lock = lock
        self._server: Server | None = None
        try:
            self._watcher, self._resident = self._open(ctxfiles.load(path))
            self._server = Server(
                self.root,
                submit=self.submit,
                status=self.status,
                stop=self.stop,
                detached=detached,
            )
        except BaseException:
            lock.release()
            raise

    @property
    def mode(self) -> str:
        """How it watches: "events" or "scanning"."""
        return self._watcher.mode

    # --- from other threads ---------------------------------------------------------------

    def submit(self, request: Request) -> None:
        """Takes a request; it is answered in turn."""
        with self._condition:
            self._requests.append(request)
            self._condition.notify()

    def stop(self) -> None:
        """Ends `run` soon."""
        with self._condition:
            self._stopping = True
            self._condition.notify()

    def wake(self) -> None:
        """Something may be dirty."""
        with self._condition:
            self._condition.notify()

    def status(self) -> dict[str, Any]:
        """What it is and does, as plain data."""
        return {
            "pid": os.getpid(),
            "version": protocol.version(),
            "root": self.root,
            "ctxfile": self.path,
            "options": list(self._options),
            "detached": self._detached,
            "mode": self._watcher.mode,
            "seconds": round(time.time() - self._started, 3),
            "answered": self._answered,
            "builds": self._builds,
            "problem": self._problem,
            "targets": [state.data() for state in tuple(self.targets.values())],
        }

    # --- the thread that works ------------------------------------------------------------

    def run(self) -> int:
        """Watches until told to stop, or until nobody needs it; the exit code."""
        gc.enable()
        gc.set_threshold(50_000, 20, 20)  # facts are many small objects and hold no cycles
        try:
            self._guarded(self._refresh)
            quiet = time.monotonic()
            while not self._stopping:
                if self._turn(quiet):
                    quiet = time.monotonic()
                elif self._detached and time.monotonic() - quiet >= self._idle:
                    break
            return 0
        finally:
            self.close()

    def close(self) -> None:
        """Lets go of everything; requests that wait are sent away."""
        if self._server is not None:
            self._server.close()
        while self._requests:
            self._requests.popleft().answer(protocol.frame(protocol.DECLINE))
        self._watcher.close()
        self._resident.close()
        self._lock.release()

    def _turn(self, quiet: float) -> bool:
        """Waits for something to do and does it; whether there was something."""
        request = self._wait(quiet)
        if self._stopping:
            return True
        if request is not None:
            self._guarded(lambda: self._answer(request))
            if not request.done.is_set():
                request.answer(protocol.frame(protocol.DECLINE))
            return True
        if self._due():
            self._guarded(self._refresh)
            return not self._problem  # what came to nothing keeps no detached daemon alive
        if self._cold:
            self._warm()
            return True
        return False

    def _due(self) -> bool:
        when, took = self._scanned
        if self._watcher.mode == "scanning":
            return time.monotonic() >= when + max(1.0, 20 * took)
        if self._watcher.is_dirty() or not self._watcher.is_alive() or self._problem:
            return True
        return not self._detached and self._resident.moved_outside()

    def _wait(self, quiet: float) -> Request | None:
        with self._condition:
            # What is dirty and cannot be looked at, in a root that is gone, stays dirty.
            idle = not self._watcher.is_dirty() or bool(self._problem)
            if not self._requests and not self._stopping and idle:
                self._condition.wait(self._patience(quiet))
            first = time.monotonic()
            while self._watcher.is_dirty() and not self._requests and not self._stopping:
                # Let a burst come to its end, but do not wait for ever.
                now = time.monotonic()
                left = self._watcher.quiet_since() + SETTLE_SECONDS - now
                if left <= 0 or now - first >= LONGEST_SETTLE_SECONDS:
                    break
                self._condition.wait(left)
            return self._requests.popleft() if self._requests else None

    def _patience(self, quiet: float) -> float | None:
        """Seconds to wait for something to do, None for as long as it takes."""
        if self._cold:
            return 0.05
        if self._problem:
            return _GONE_SECONDS
        if self._watcher.mode == "scanning":
            when, took = self._scanned
            return max(0.0, when + max(1.0, 20 * took) - time.monotonic())
        if not self._detached and self._resident.rests_outside():
            return _OUTSIDE_SECONDS
        if self._detached:
            return max(0.0, quiet + self._idle - time.monotonic())
        return None

    def _guarded(self, work: Callable[[], None]) -> None:
        """Does work; what goes wrong is told, and watching goes on."""
        try:
            work()
            self._bugs = 0
        except CtxbuildError as error:
            self._trouble(str(error))
        except Exception as error:  # noqa: BLE001  # a daemon outlives its mistakes
            self._bugs += 1
            traceback.print_exc(file=sys.stderr)
            self._trouble(f"internal error: {type(error).__name__}: {error}")
            self._resident.close()
            self._watcher.restart()
            if self._bugs >= _BUGS:
                self.stop()

    # --- keeping fresh --------------------------------------------------------------------

    def _refresh(self) -> None:
        """Brings memory and outputs in line with the tree."""
        dirty = self._watcher.is_dirty() and self._watcher.quiet_since()
        started = dirty or time.monotonic()
        if self._watcher.mode == "scanning":
            self._watcher.sync()
        try:
            update = self._update()
        finally:
            now = time.monotonic()
            self._scanned = (now, now - started)
        stale = self._resident.stale()
        retry = [name for name in stale if self.targets[name].state != "failed"]
        if update.changed or retry:
            self._build(stale, update.changed, started)

    def _update(self) -> Update:
        """Brings memory in line with the tree and the ctxfile, starting anew where it must."""
        if not os.path.isdir(self.root):
            raise CtxbuildError(f"{self.root}: is gone", "waiting for it to come back")
        if not self._watcher.is_alive() or not self._same_root():
            self._watcher.restart()
            self._resident.close()
            self._root_stat = _identity(self.root)
        self._reload()
        self._resident.events.clear()
        update = self._resident.update()
        if update.why:
            self._tell(Report("note", f"looked at everything: {update.why}"))
        if update.code and versions.installation_stamp() != self._stamp:
            self._tell(Report("note", "ctxbuild itself has changed: starting again"))
            self.outdated = True
            self.stop()
        if self._problem:
            self._problem = ""
            self._tell(Report("well"))
        return update

    def _build(self, names: list[str], changed: tuple[str, ...], started: float) -> None:
        for name in names:
            self.targets[name] = self.targets[name]._replace(state="building")
        if names:
            self._tell(Report("building", changed=changed, targets=tuple(names)))
        results = tuple(self._resident.rebuild(names)) if names else ()
        self._builds += 1
        self._note_results(results)
        seconds = time.monotonic() - started
        told = Report("built", changed=changed, results=results, targets=tuple(names))
        self._tell(told._replace(seconds=seconds))
        self._resident.trim()
        if any(result.ran for result in results):
            self._cold = []

    def _note_results(self, results: tuple[Any, ...]) -> None:
        for result in results:
            state = self.targets[result.name]
            if result.status == "failed":
                self.targets[result.name] = state._replace(state="failed", error=result.error)
            else:
                self.targets[result.name] = state._replace(state="fresh", result=result, error="")

    def _warm(self) -> None:
        """Uses idle time after the start for what the first edits will need."""
        name = self._cold.pop()
        try:
            self._resident.warm(name)
        except CtxbuildError:
            return
        if not self._cold:
            # What is in memory now stays there: no collection has to look at it again.
            gc.collect()
            gc.freeze()

    def _trouble(self, text: str) -> None:
        if text != self._problem:
            self._problem = text
            self._tell(Report("problem", text))

    def _tell(self, report: Report) -> None:
        if self._server is not None:
            self._server.publish(report.data())
        self._on_report(report)

    # --- the ctxfile ----------------------------------------------------------------------

    def _open(self, ctxfile: Ctxfile) -> tuple[Watcher, Resident]:
        cache = Path(ctxfile.root, ctxfile.project.cache)
        from ctxbuild.stores import cachedir

        cachedir.prepare(cache, lambda line: self._tell(Report("note", line)))
        watcher = Watcher(
            self.root,
            cache,
            Path(ctxfile.root, ctxfile.project.out),
            code=versions.code_directories(),
            poll=self._poll,
            wake=self.wake,
            say=lambda line: self._tell(Report("note", line)),
        )
        self._root_stat = _identity(self.root)
        self._declare(ctxfile)
        return watcher, Resident(ctxfile, watcher, workers=self._workers)

    def _declare(self, ctxfile: Ctxfile) -> None:
        before = self.targets
        self.targets = {
            target.name: before.get(target.name, TargetState(target.name, 0, 0))._replace(
                budget=target.budget, reserve=target.reserve
            )
            for target in ctxfile.targets
        }
        self._cold = [target.name for target in ctxfile.targets]

    def _same_root(self) -> bool:
        return _identity(self.root)[:2] == self._root_stat[:2]

    def _reload(self) -> None:
        """Reads the ctxfile again if it has changed.

        Raises:
            CtxfileError: it is wrong now; what was declared before stays in force.
        """
        now = _identity(self.path)
        if now and now == self._ctxfile_stat and not self._problem:
            return
        ctxfile = ctxfiles.load(self.path)
        now = now or (0,) * 5
        # A change within the same tick of the clock would leave the same stat.
        self._ctxfile_stat = None if rows.is_racy(now[3], now[4], time.time_ns()) else now
        if ctxfile == self._resident.ctxfile:
            return
        if not self._resident.adopt(ctxfile):
            self._resident.close()
            self._watcher.close()
            self._watcher, self._resident = self._open(ctxfile)
        self._declare(ctxfile)
        self._tell(Report("note", f"{os.path.basename(self.path)} was read again"))

    # --- answering ------------------------------------------------------------------------

    def _answer(self, request: Request) -> None:
        """Answers a client, who does the work alone if anything is out of the ordinary."""
        command = request.command
        self._answered += 1
        if command.ctxfile != self._resident.ctxfile.path:
            request.answer(protocol.frame(protocol.DECLINE))
            return
        started = time.monotonic()
        self._watcher.sync()
        if self._is_doubtful():
            update = self._update()
            if self._stopping:
                return
            changed = update.changed
        else:
            changed = ()
        frames = self._runner(command, self._resident)
        request.answer(frames or protocol.frame(protocol.DECLINE))
        built = self._resident.last
        if built or changed:
            self._builds += 1
            self._note_results(built)
            names = tuple(result.name for result in built)
            seconds = time.monotonic() - started
            self._tell(Report("built", "", changed, built, names, seconds))
            self._resident.trim()

    def _is_doubtful(self) -> bool:
        """Whether anything may be other than memory has it."""
        return (
            self._watcher.is_dirty()
            or not self._watcher.is_alive()
            or bool(self._problem)
            or self._linked
        )


def _identity(path: str) -> tuple[int, ...]:
    """What tells whether a path still is the same thing, unchanged."""
    try:
        st = os.stat(path)
    except OSError:
        return ()
    return (st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
