"""Linux: one inotify descriptor and one thread for all directories that are watched.

The system calls are watchdog's; its observers are not used here. They start a
thread per watch or descend into ignored directories, hold back moves, and say
nothing of an overflow, which here is an event like any other.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
import threading
from typing import Final

from watchdog.observers.inotify_c import (
    InotifyConstants,
    inotify_add_watch,
    inotify_init,
    inotify_rm_watch,
)

from ctxbuild.serve.collector import Collector

_HEAD: Final = struct.Struct("iIII")
_READ: Final = 1 << 20
_CONTENT: Final = (
    InotifyConstants.IN_MODIFY | InotifyConstants.IN_ATTRIB | InotifyConstants.IN_CLOSE_WRITE
)
_ENTRIES: Final = (
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVED_FROM
    | InotifyConstants.IN_MOVED_TO
)
_SELF: Final = InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF
_GONE: Final = InotifyConstants.IN_IGNORED | InotifyConstants.IN_UNMOUNT
_ONLY: Final = InotifyConstants.IN_ONLYDIR | InotifyConstants.IN_DONT_FOLLOW
_ISDIR: Final = InotifyConstants.IN_ISDIR
_OVERFLOW: Final = InotifyConstants.IN_Q_OVERFLOW
_MOVED: Final = InotifyConstants.IN_MOVED_FROM | InotifyConstants.IN_MOVED_TO

LIMITS: Final = (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Errors that say that the system gives no more watches."""


class Inotify:
    """Watches directories of a tree, and a few others by purpose.

    Args:
        root: the tree.
        collector: told of everything.

    Raises:
        OSError: the system gives no inotify descriptor.
    """

    def __init__(self, root: str, collector: Collector) -> None:
        self._root = root.rstrip("/")
        self._collector = collector
        self._lock = threading.Lock()
        self._descriptor = inotify_init()
        if self._descriptor < 0:
            raise _error("no inotify descriptor")
        os.set_inheritable(self._descriptor, False)
        os.set_blocking(self._descriptor, False)
        self._end, self._ender = os.pipe()
        self._tree: dict[str, int] = {}
        self._paths: dict[int, str] = {}
        # Directories that are watched for a purpose: "cookies", "outputs", "code", "outside".
        self._purposes: dict[tuple[str, str], int] = {}
        self._roles: dict[int, dict[str, frozenset[str]]] = {}
        self._thread = threading.Thread(target=self._run, name="ctxbuild-inotify", daemon=True)
        self._thread.start()

    # --- what is watched ------------------------------------------------------------------

    def watched(self) -> set[str]:
        """The watched directories of the tree, relative to the root."""
        return set(self._tree)

    def watch(self, path: str) -> None:
        """Watches a directory of the tree.

        Raises:
            OSError: it is gone or may not be read, or the system gives no more watches.
        """
        full = f"{self._root}/{path}" if path else self._root or "/"
        with self._lock:
            number = self._add(full)
            known = self._paths.get(number)
            if known is not None:
                # The same directory, moved here.
                self._tree.pop(known, None)
            self._paths[number] = path
            self._tree[path] = number

    def unwatch(self, path: str) -> None:
        """Stops watching a directory of the tree."""
        with self._lock:
            number = self._tree.pop(path, None)
            if number is not None:
                self._paths.pop(number, None)
                self._release(number)

    def watch_for(self, purpose: str, directory: str, names: frozenset[str] = frozenset()) -> None:
        """Watches a directory for a purpose; with names, only for entries of these names.

        Raises:
            OSError: as `watch` does.
        """
        with self._lock:
            number = self._add(directory)
            self._purposes[purpose, directory] = number
            self._roles.setdefault(number, {})[purpose] = names

    def unwatch_for(self, purpose: str, directory: str) -> None:
        """Stops watching a directory for a purpose."""
        with self._lock:
            number = self._purposes.pop((purpose, directory), None)
            if number is not None:
                self._roles.get(number, {}).pop(purpose, None)
                self._release(number)

    def watched_for(self, purpose: str) -> set[str]:
        """The directories that are watched for a purpose."""
        with self._lock:
            return {directory for what, directory in self._purposes if what == purpose}

    def is_alive(self) -> bool:
        """Whether events still come."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Ends the thread and all watches."""
        os.write(self._ender, b"!")
        if threading.current_thread() is not self._thread:
            self._thread.join()
        for descriptor in (self._descriptor, self._end, self._ender):
            os.close(descriptor)

    def _add(self, full: str) -> int:
        mask = _CONTENT | _ENTRIES | _SELF | _ONLY
        number = inotify_add_watch(self._descriptor, os.fsencode(full), mask)
        if number < 0:
            raise _error(full)
        return number

    def _release(self, number: int) -> None:
        if number not in self._paths and not self._roles.get(number):
            self._roles.pop(number, None)
            inotify_rm_watch(self._descriptor, number)  # type: ignore[arg-type]  # a NewType of int

    # --- what is heard --------------------------------------------------------------------

    def _run(self) -> None:
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        poller.register(self._end, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poller.poll()}
            if self._end in ready:
                return
            try:
                data = os.read(self._descriptor, _READ)
            except BlockingIOError:
                continue
            except OSError as error:
                self._collector.lose(f"file events cannot be read: {error.strerror}")
                return
            self._hear(data)

    def _hear(self, data: bytes) -> None:
        heard = _Heard()
        at = 0
        with self._lock:
            while at < len(data):
                number, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                name = os.fsdecode(data[at : at + length].rstrip(b"\0")) if length else ""
                at += length
                if mask & _OVERFLOW:
                    heard.lost = "more changes at once than the system could tell"
                else:
                    self._event(heard, number, mask, name)
        if heard.lost is not None:
            self._collector.lose(heard.lost)
        if heard.content or heard.entries or heard.flags:
            self._collector.add(heard.content, heard.entries, heard.directories, heard.flags)
        for cookie in heard.cookies:
            self._collector.seen(cookie)

    def _event(self, heard: _Heard, number: int, mask: int, name: str) -> None:
        for purpose, names in self._roles.get(number, {}).items():
            if purpose == "cookies":
                if mask & InotifyConstants.IN_CREATE:
                    heard.cookies.append(name)
            elif not names or name in names or mask & (_SELF | _GONE):
                heard.flags.add(purpose)
        path = self._paths.get(number)
        if path is not None:
            self._tree_event(heard, path, mask, name)
        if mask & InotifyConstants.IN_IGNORED:
            self._dropped(number)

    def _tree_event(self, heard: _Heard, path: str, mask: int, name: str) -> None:
        below = f"{path}/{name}" if path and name else path or name
        if mask & (_SELF | _GONE):
            if not path:
                heard.lost = ""
            heard.entries.add(path)
            heard.directories.add(path)
        elif mask & _ENTRIES:
            heard.entries.add(below)
            # Only a move can leave watches below that tell of another place now.
            if mask & _ISDIR and mask & _MOVED:
                heard.directories.add(below)
        elif not name:
            heard.entries.add(path)
        elif mask & _ISDIR:
            heard.entries.add(below)
        else:
            heard.content.add(below)

    def _dropped(self, number: int) -> None:
        """The system has ended a watch: its directory is gone."""
        path = self._paths.pop(number, None)
        if path is not None and self._tree.get(path) == number:
            del self._tree[path]
        for purpose in self._roles.pop(number, {}):
            for key in [k for k, v in self._purposes.items() if v == number and k[0] == purpose]:
                del self._purposes[key]


class _Heard:
    """What one read from the descriptor told."""

    __slots__ = ("content", "cookies", "directories", "entries", "flags", "lost")

    def __init__(self) -> None:
        self.content: set[str] = set()
        self.entries: set[str] = set()
        self.directories: set[str] = set()
        self.flags: set[str] = set()
        self.cookies: list[str] = []
        self.lost: str | None = None


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), what)
