"""macOS, Windows and others: the system's own recursive watch, through watchdog's observer."""

from __future__ import annotations

import os
from collections.abc import Mapping

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirModifiedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from ctxbuild.serve.collector import Collector

# Without a filter an observer that looks at the tree itself hears itself, without end.
_FILTER: list[type[FileSystemEvent]] = [
    DirCreatedEvent,
    DirDeletedEvent,
    DirModifiedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
]
_CONTENT = (FileClosedEvent, FileModifiedEvent, DirModifiedEvent)


class Native(FileSystemEventHandler):
    """Watches a whole tree, and the directories of a few purposes wherever they stand.

    Args:
        root: the tree.
        collector: told of everything.
        purposes: "cookies" and "outputs" to their directories, which exist.

    Raises:
        OSError: the system gives no watch.
    """

    def __init__(self, root: str, collector: Collector, purposes: Mapping[str, str]) -> None:
        self._root = root.rstrip(os.sep) + os.sep
        self._collector = collector
        self._purposes = {purpose: os.path.realpath(path) for purpose, path in purposes.items()}
        self._observer = Observer()
        self._observer.schedule(self, root, recursive=True, event_filter=_FILTER)
        for path in self._purposes.values():
            if not (path + os.sep).startswith(self._root):
                self._observer.schedule(self, path, recursive=False, event_filter=_FILTER)
        self._observer.start()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Takes an event of watchdog."""
        for path in (event.src_path, event.dest_path):
            if path:
                self._path(os.fsdecode(path), event)

    def is_alive(self) -> bool:
        """Whether events still come."""
        emitters = self._observer.emitters
        return bool(self._observer.is_alive() and all(each.is_alive() for each in emitters))

    def close(self) -> None:
        """Ends the threads and all watches."""
        self._observer.stop()
        self._observer.join()

    def _path(self, path: str, event: FileSystemEvent) -> None:
        above, name = os.path.split(path)
        for purpose, directory in self._purposes.items():
            if purpose == "cookies" and above == directory:
                self._collector.seen(name)
                return
            if purpose == "outputs" and above == directory:
                self._collector.add(flags=["outputs"])
                return
        if path + os.sep == self._root:
            self._collector.add(entries=[""])
        elif path.startswith(self._root):
            below = path[len(self._root) :].replace(os.sep, "/")
            if isinstance(event, _CONTENT):
                self._collector.add(content=[below])
            else:
                self._collector.add(entries=[below])
