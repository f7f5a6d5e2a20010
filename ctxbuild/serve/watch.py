"""The watcher: which paths of a tree may be dirty, and that nothing was missed.

By events, with one watch per directory that is not ignored (Linux) or the
system's recursive watch (elsewhere); or by scanning, where the system tells
nothing or gives no watches. Whoever answers asks `sync` first: it leaves a
cookie in a watched directory, and when the cookie's event has come, all events
before it have.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ctxbuild.serve.collector import Collector, Dirt
from ctxbuild.serve.mounts import silent_file_system

if TYPE_CHECKING:
    from ctxbuild.serve.inotify import Inotify
    from ctxbuild.serve.native import Native
    from ctxbuild.source.scan import Snapshot

Mode = Literal["events", "scanning"]

SYNC_SECONDS = 2.0
"""How long a cookie's event may take before events count as lost."""
_FAILURES = 3  # lost cookies in a row after which events are given up


def _unheard(line: str) -> None:
    """Takes a line that nobody reads."""


class Watcher:
    """Watches one tree.

    Args:
        root: the tree, a real path.
        cache: the cache directory; cookies are laid into it.
        out: the output directory.
        code: directories of the installation, watched where that is cheap.
        poll: never use events.
        wake: called from another thread when something may be dirty.
        say: told, one line each, when the way of watching changes.
    """

    def __init__(
        self,
        root: str,
        cache: Path,
        out: Path,
        *,
        code: Iterable[str] = (),
        poll: bool = False,
        wake: Callable[[], None] = lambda: None,
        say: Callable[[str], None] = _unheard,
    ) -> None:
        self.root = root
        self.mode: Mode = "events"
        self._cookies = cache / "cookies"
        self._out = out
        self._code = tuple(code)
        self._say = say
        self._collector = Collector(wake)
        self._number = 0
        self._failures = 0
        self._blind: set[str] = set()
        self._inotify: Inotify | None = None
        self._native: Native | None = None
        if poll:
            self._scan_only("as asked for")
        elif kind := silent_file_system(root):
            self._scan_only(f"{kind} does not tell of changes")
        else:
            self._start()

    # --- what is dirty --------------------------------------------------------------------

    def take(self) -> Dirt:
        """All that may have changed since the last time."""
        return self._collector.take()

    def is_dirty(self) -> bool:
        """Whether there is something to take."""
        return self._collector.is_dirty()

    def quiet_since(self) -> float:
        """When something last became dirty, by `time.monotonic`."""
        return self._collector.last

    def put_back(self, dirt: Dirt, *, everything: bool = False) -> None:
        """Gives back dirt that could not be dealt with."""
        flags = [name for name in ("outside", "outputs", "code") if getattr(dirt, name)]
        self._collector.add(dirt.content, dirt.entries, dirt.directories, flags)
        if dirt.everything or everything:
            self._collector.lose("")

    def sync(self) -> None:
        """Returns when every change before this call is known, or everything counts as dirty."""
        if self.mode == "scanning" or not self._is_alive():
            self._collector.lose("")
            return
        if self._native is not None:
            # What stands outside the tree is not watched; a handful of stats tells.
            self._collector.add(flags=["outside", "code"])
        if self._blind:
            self._collector.add(entries=self._blind)
        self._number += 1
        cookie = f"{os.getpid()}-{self._number}"
        heard = self._collector.expect(cookie)
        try:
            if self._lay(cookie) and heard.wait(SYNC_SECONDS):
                self._failures = 0
                return
        finally:
            self._collector.forget(cookie)
        self._failures += 1
        self._collector.lose("file events are late")
        if self._failures >= _FAILURES:
            self._scan_only("file events do not come")

    def _lay(self, cookie: str) -> bool:
        path = self._cookies / cookie
        for _ in range(2):
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                os.unlink(path)
                return True
            except FileNotFoundError:
                # Somebody deleted the cache, and the watch with it.
                if not self._watch_purposes():
                    return False
            except OSError:
                return False
        return False

    # --- what is watched ------------------------------------------------------------------

    def follow(self, snapshot: Snapshot, dirt: Dirt) -> set[str]:
        """Watches the directories of a snapshot and no others.

        Args:
            snapshot: as the tree was seen.
            dirt: what led to it; directories that moved are watched anew.

        Returns:
            The directories whose watch is younger than the snapshot's look at them:
            they have to be looked at again.
        """
        watches = self._inotify
        if watches is None:
            return set()
        wanted = snapshot.directories
        watched = watches.watched()
        for path in watched - wanted:
            watches.unwatch(path)
        for moved in dirt.directories:
            for path in [p for p in watched if p == moved or p.startswith(moved + "/")]:
                watches.unwatch(path)
        if not watches.watched_for("outputs") and not self._watch_purposes():
            return set()
        fresh = set(wanted - watches.watched())
        self._blind &= fresh
        try:
            for path in sorted(fresh):
                self._watch(watches, path)
            self._watch_outside(watches, snapshot.outside)
        except OSError as error:
            self._give_up(error)
        return fresh - self._blind

    def _watch(self, watches: Inotify, path: str) -> None:
        from ctxbuild.serve.inotify import LIMITS

        try:
            watches.watch(path)
            self._blind.discard(path)
        except OSError as error:
            if error.errno in LIMITS:
                raise
            if error.errno not in (2, 20):
                self._blind.add(path)  # it cannot be watched: it is looked at for each answer

    def _watch_outside(self, watches: Inotify, files: Iterable[str]) -> None:
        """Watches for what decides about the tree from outside, also where it is not there yet."""
        wanted: dict[str, set[str]] = {}
        for file in files:
            directory, name = os.path.split(file)
            while not os.path.isdir(directory) and directory != os.path.dirname(directory):
                directory, name = os.path.split(directory)
            wanted.setdefault(os.path.realpath(directory), set()).add(name)
        for directory in watches.watched_for("outside") - wanted.keys():
            watches.unwatch_for("outside", directory)
        for directory, names in wanted.items():
            try:
                watches.watch_for("outside", directory, frozenset(names))
            except PermissionError:
                continue  # what may not be seen changes nothing

    def _watch_purposes(self) -> bool:
        """Watches cookies, outputs and the installation; whether cookies can be laid."""
        try:
            self._cookies.mkdir(parents=True, exist_ok=True)
            self._out.mkdir(parents=True, exist_ok=True)
            if self._inotify is not None:
                self._inotify.watch_for("cookies", os.path.realpath(self._cookies))
                self._inotify.watch_for("outputs", os.path.realpath(self._out))
        except OSError as error:
            self._give_up(error)
            return False
        return True

    # --- how it is watched ----------------------------------------------------------------

    def restart(self) -> None:
        """Begins anew, after the root or the thread that hears is gone."""
        self._stop()
        self._collector.lose("")
        if self.mode == "events":
            self._start()

    def close(self) -> None:
        """Ends all watches."""
        self._stop()

    def is_alive(self) -> bool:
        """Whether changes are heard of, or nobody waits for them."""
        return self.mode == "scanning" or self._is_alive()

    def _is_alive(self) -> bool:
        backend = self._inotify or self._native
        return backend is not None and backend.is_alive()

    def _start(self) -> None:
        self._collector.lose("")
        self._blind = set()
        try:
            if sys.platform == "linux":
                from ctxbuild.serve.inotify import Inotify

                self._inotify = Inotify(self.root, self._collector)
                if self._watch_purposes():
                    for directory in self._code:
                        self._inotify.watch_for("code", directory)
            elif self._watch_purposes():
                from ctxbuild.serve.native import Native

                places = {"cookies": str(self._cookies), "outputs": str(self._out)}
                self._native = Native(self.root, self._collector, places)
        except OSError as error:
            self._give_up(error)
        except ImportError as error:
            self._scan_only(f"no file events here: {error}")

    def _stop(self) -> None:
        for backend in (self._inotify, self._native):
            if backend is not None:
                backend.close()
        self._inotify = self._native = None

    def _give_up(self, error: OSError) -> None:
        import errno

        if error.errno == errno.ENOSPC:
            reason = "the system's limit of watches is reached (fs.inotify.max_user_watches)"
        elif error.errno in (errno.EMFILE, errno.ENFILE):
            reason = "the system's limit of watchers is reached (fs.inotify.max_user_instances)"
        else:
            reason = f"files cannot be watched: {error.strerror or error}"
        self._scan_only(reason)

    def _scan_only(self, reason: str) -> None:
        self._stop()
        self.mode = "scanning"
        self._collector.lose("")
        self._say(f"watching by scanning: {reason}")
