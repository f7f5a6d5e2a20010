"""What may be dirty: filled by a thread that hears events, emptied by the one that scans.

An event's type is never trusted: all it says is that a path may have changed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

# Beyond this, looking at everything is cheaper than looking at each.
_MANY = 5_000


class Dirt(NamedTuple):
    """What may have changed since the last time.

    Attributes:
        content: paths whose content or mode may have changed.
        entries: paths that may have come, gone or been replaced.
        directories: those of them that are, or were, directories.
        everything: no path is known to be clean.
        why: what made everything dirty, for people; "" if nothing out of the ordinary did.
        outside: something that decides about the tree from outside of it.
        outputs: something in the output directory.
        code: the installation of ctxbuild.
    """

    content: frozenset[str] = frozenset()
    entries: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()
    everything: bool = False
    why: str = ""
    outside: bool = False
    outputs: bool = False
    code: bool = False

    def __bool__(self) -> bool:
        return bool(
            self.content
            or self.entries
            or self.everything
            or self.outside
            or self.outputs
            or self.code
        )


class Collector:
    """Collects dirt, cookies and losses.

    Args:
        wake: called, from the thread that hears, when there is something new.
    """

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._content: set[str] = set()
        self._entries: set[str] = set()
        self._directories: set[str] = set()
        self._everything = False
        self._why = ""
        self._flags: set[str] = set()
        self._cookies: dict[str, threading.Event] = {}
        self.last = 0.0

    # --- from the thread that hears -------------------------------------------------------

    def add(
        self,
        content: Iterable[str] = (),
        entries: Iterable[str] = (),
        directories: Iterable[str] = (),
        flags: Iterable[str] = (),
    ) -> None:
        """Takes paths relative to the root, and flags by the names of `Dirt`'s fields."""
        with self._lock:
            self._content.update(content)
            self._entries.update(entries)
            self._directories.update(directories)
            self._flags.update(flags)
            if len(self._content) + len(self._entries) > _MANY:
                self._everything = True
                self._content.clear()
                self._entries.clear()
            self.last = time.monotonic()
        self._wake()

    def lose(self, why: str) -> None:
        """From now on no path is known to be clean.

        Args:
            why: in a few words; "" if that is nothing out of the ordinary.
        """
        with self._lock:
            self._everything = True
            self._why = self._why or why
            self.last = time.monotonic()
        self._wake()

    def seen(self, cookie: str) -> None:
        """A cookie's event has come: all events before it have."""
        waiting = self._cookies.get(cookie)
        if waiting is not None:
            waiting.set()

    # --- from the thread that scans -------------------------------------------------------

    def expect(self, cookie: str) -> threading.Event:
        """What is set when the cookie's event comes."""
        self._cookies[cookie] = waiting = threading.Event()
        return waiting

    def forget(self, cookie: str) -> None:
        """The cookie is no longer waited for."""
        self._cookies.pop(cookie, None)

    def take(self) -> Dirt:
        """All dirt so far, which is then gone from here."""
        with self._lock:
            dirt = Dirt(
                frozenset(self._content),
                frozenset(self._entries),
                frozenset(self._directories),
                self._everything,
                self._why,
                "outside" in self._flags,
                "outputs" in self._flags,
                "code" in self._flags,
            )
            self._content.clear()
            self._entries.clear()
            self._directories.clear()
            self._flags.clear()
            self._everything, self._why = False, ""
            return dirt

    def is_dirty(self) -> bool:
        """Whether there is something to take."""
        return bool(self._content or self._entries or self._everything or self._flags)
