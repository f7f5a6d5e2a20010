"""The snapshot of a directory tree: which files are sources, and what is in them.

`scan` compares the tree with what an SQLite connection remembers of it, at the
cost of one lstat per source file and directory if nothing has changed. It writes
nothing until `Snapshot.save`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ctxbuild.errors import SourceChanged, SourceError
from ctxbuild.source import rows
from ctxbuild.source.head import Head, digest_of
from ctxbuild.source.rows import Directory
from ctxbuild.source.selection import Left, Scope, link_verdict
from ctxbuild.source.walk import Walk, open_file

if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView
    from typing import Any

_MOST_HOPS = 40  # as many as the system follows

__all__ = ["Changes", "Left", "Scope", "Snapshot", "prepare", "scan"]


class Changes(NamedTuple):
    """What differs from the state that was saved last; each sorted.

    Attributes:
        added: selected now and not before.
        removed: selected before and not now.
        modified: the digest was known and is another now, or the file cannot or
            could not be read.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.modified)


class Snapshot:
    """The selected files of a tree at one moment.

    Attributes:
        root: the tree, absolute, without symbolic links in it.
        warnings: what limits the selection, one line each.
    """

    __slots__ = (
        "_above",
        "_changed",
        "_connection",
        "_directories",
        "_gone",
        "_head",
        "_link_left",
        "_links",
        "_paths",
        "_state",
        "root",
        "warnings",
    )

    def __init__(
        self,
        root: str,
        warnings: tuple[str, ...],
        connection: sqlite3.Connection,
        directories: dict[str, Directory],
        links: dict[str, str],
        link_left: list[Left],
        changed: set[str],
        gone: list[str],
        state: str,
        head: dict[str, Any] | None = None,
    ) -> None:
        self.root = root
        self.warnings = warnings
        self._connection = connection
        self._directories = directories
        self._links = links
        self._link_left = link_left
        self._changed = changed
        self._gone = gone
        self._state = state
        self._head = head or {}
        self._paths: tuple[str, ...] | None = None
        self._above: set[str] | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The selected files, relative to the root, sorted by code point."""
        if self._paths is None:
            found = list(self._links)
            for path, directory in self._directories.items():
                if path:
                    found += [f"{path}/{name}" for name in directory.files]
                else:
                    found += directory.files
            found.sort()
            self._paths = tuple(found)
        return self._paths

    @property
    def count(self) -> int:
        """How many files are selected."""
        listed = sum(len(each.names) - each.rules for each in self._directories.values())
        return len(self._links) + listed

    @property
    def unsaved(self) -> bool:
        """Whether `save` has something to write."""
        return bool(self._changed or self._gone or self._state)

    def has(self, path: str) -> bool:
        """Whether the file at `path` is selected."""
        return path in self._links or self._find(path) is not None

    def has_dir(self, path: str) -> bool:
        """Whether some selected file lies below directory `path` ("" is the root)."""
        if self._above is None:
            above = set()
            holding = [path for path, d in self._directories.items() if len(d.names) > d.rules]
            holding += [link.rpartition("/")[0] for link in self._links]
            for start in holding:
                held = start
                while held not in above:
                    above.add(held)
                    held = held.rpartition("/")[0]
            self._above = above
        return path in self._above

    def size(self, path: str) -> int:
        """Size in bytes of a selected file.

        Raises:
            SourceError: it is not selected.
        """
        directory, position = self._require(path)
        return directory.stats[position * rows.FIELDS]

    def read(self, path: str) -> bytes:
        """The bytes of a selected file; its digest is known from then on.

        Raises:
            SourceChanged: it no longer is what the snapshot says.
            SourceError: it is not selected, or cannot be read.
        """
        directory, position = self._require(path)
        expected = directory.stat_at(position)
        target = self._links.get(path, path)
        try:
            with open(open_file(f"{self.root.rstrip('/')}/{target}"), "rb") as file:
                st = os.fstat(file.fileno())
                if not rows.is_file(st) or rows.file_stat(st) != expected:
                    raise SourceChanged(path)
                data = file.read()
                st = os.fstat(file.fileno())
        except PermissionError as error:
            self._note_unreadable(path)
            raise SourceError(
                f"{path}: no permission to read it", "change its mode, or list it in .ctxignore"
            ) from error
        except (FileNotFoundError, NotADirectoryError) as error:
            raise SourceChanged(path) from error
        except OSError as error:
            import errno

            if error.errno == errno.ELOOP:
                raise SourceChanged(path) from error
            self._note_unreadable(path)
            raise SourceError(f"{path}: cannot be read: {error.strerror}") from error
        if rows.file_stat(st) != expected or len(data) != expected[0]:
            raise SourceChanged(path)
        digest = digest_of(data)
        known = directory.digest_at(position)
        if known is None:
            directory.set_digest(position, digest)
            self._changed.add(directory.path)
        elif known != digest:
            raise SourceChanged(path)
        return data

    def digest(self, path: str) -> bytes | None:
        """The xxh3-128 digest of a file, 16 bytes; None if it is not selected.

        Raises:
            SourceChanged, SourceError: the file has to be read for it and cannot be.
        """
        found = self._find(self._links.get(path, path))
        if found is None:
            return None
        known = found[0].digest_at(found[1])
        if known is None:
            self.read(path)
            known = found[0].digest_at(found[1])
        return known

    def left_out(self) -> tuple[Left, ...]:
        """What is left out and why, sorted by path; a directory is one entry."""
        stored = rows.load_left(self._connection)
        found = list(self._link_left)
        for path, directory in self._directories.items():
            left = stored.get(path, ()) if directory.left is None else directory.left
            for name, reason, detail in left:
                below = f"{path}/{name}" if path and name else path or name
                found.append(Left(below, reason, detail))
        return tuple(sorted(found, key=lambda item: (item.path, item.reason)))

    @property
    def directories(self) -> KeysView[str]:
        """Every directory that was visited, "" for the root: what to watch."""
        return self._directories.keys()

    @property
    def outside(self) -> tuple[str, ...]:
        """Absolute paths of what decides about the tree though it is not looked at as its part.

        That is git's index and rules, and what links lead through on their way.
        """
        repository = self._head.get("repository")
        index = [f"{repository[1]}/index"] if repository else []
        rules = (*self._head.get("stats", ()), *self._head.get("config", ()))
        links = (*self._links, *(left.path for left in self._link_left))
        return (*index, *rules, *(hop for link in links for hop in _hops(self.root, link)))

    def concerns(self, path: str) -> bool:
        """Whether the content or mode of what stands at `path` can matter as the tree is."""
        above, _, name = path.rpartition("/")
        directory = self._directories.get(above)
        if directory is None or path in self._directories:
            return path in self._directories
        return name in directory.names or name in directory.dirs or name in directory.links

    def save(self) -> None:
        """Write what has changed, newly learnt digests included; the caller commits.

        Raises:
            sqlite3.Error: as the connection does.
        """
        changed = [self._directories[path] for path in sorted(self._changed)]
        rows.save(self._connection, changed, self._gone)
        if self._state:
            self._connection.execute("REPLACE INTO scan_state VALUES ('head', ?)", (self._state,))
        self._changed, self._gone, self._state = set(), [], ""

    def known(self) -> tuple[dict[str, Any], dict[str, Directory]]:
        """The head and the directories, for the scan that goes on from here."""
        return self._head, self._directories

    def follow(self, previous: Snapshot, *, same_paths: bool) -> None:
        """Take over what an earlier snapshot has not saved yet, and what still holds of it."""
        self._state = self._state or previous._state
        for path in self._changed:
            self._directories[path].weigh()
        here = self._directories
        self._changed |= {path for path in previous._changed if path in here}
        self._gone = sorted({*self._gone, *(p for p in previous._gone if p not in here)})
        if same_paths:
            self._paths, self._above = previous._paths, previous._above

    def _note_unreadable(self, path: str) -> None:
        """Lets the next scan report it as modified: what forbids reading may leave no trace."""
        import json

        noted = self._head.get("unreadable", [])
        if path not in noted:
            self._head["unreadable"] = sorted([*noted, path])
            self._state = json.dumps(self._head, sort_keys=True)

    def _find(self, path: str) -> tuple[Directory, int] | None:
        above, _, name = path.rpartition("/")
        directory = self._directories.get(above)
        position = -1 if directory is None else directory.find(name)
        return None if directory is None or position < 0 else (directory, position)

    def _require(self, path: str) -> tuple[Directory, int]:
        found = self._find(self._links.get(path, path))
        if found is None:
            raise SourceError(f"{path}: not among the sources", "see what is left out and why")
        return found


def prepare(connection: sqlite3.Connection) -> None:
    """Create the tables that `scan` and `save` use, if they are missing.

    Raises:
        sqlite3.Error: as the connection does.
    """
    rows.prepare(connection)


def scan(
    root: str,
    scope: Scope,
    connection: sqlite3.Connection,
    *,
    dirty: Iterable[str] | None = None,
    previous: Snapshot | None = None,
) -> tuple[Snapshot, Changes]:
    """Compare a tree with what is remembered of it.

    Args:
        root: the directory.
        scope: what the ctxfile lets in.
        connection: after `prepare`; only read here.
        dirty: files and directories that may have changed; all others are trusted.
        previous: the snapshot of the scan before, if nobody else wrote to the connection's
            database since: it stands for what is remembered there.

    Returns:
        The snapshot, and how it differs from `previous` or the one saved last.

    Raises:
        SourceError: the root is no directory or cannot be listed.
        sqlite3.Error: the tables are missing or damaged.
    """
    import json

    root = os.path.realpath(root)
    if not os.path.isdir(root):
        raise SourceError(f"{root}: is not a directory", "check the path")
    taken = time.time_ns()
    if previous is None:
        row = connection.execute("SELECT value FROM scan_state WHERE key = 'head'").fetchone()
        stored = row[0] if row else "{}"
        before, old = json.loads(stored), rows.load(connection)
    else:
        before, old = previous.known()
        stored = ""
    head = Head(root, before, taken)
    selected_by = [list(scope.include), list(scope.exclude), list(scope.own)]
    flags = [scope.hidden, scope.vendored, scope.secrets]
    head.new["scope"] = [*selected_by, *flags]
    anew = head.changed_rules or before.get("scope") != head.new["scope"]
    walk = Walk(root, old, head, scope, taken, anew, dirty, near=previous is not None)
    walk.run()
    top = walk.found.get("")
    if top is None or any(name == "" for name, _, _ in top.left or ()):
        raise SourceError(f"{root}: cannot be listed", "check its permissions")
    links, link_left = _resolve_links(root, walk.found)
    head.new["links"] = links
    changes = _changes(walk, before.get("links", {}), links)
    gone = old.keys() - walk.found.keys() if len(old) != len(walk.found) or walk.changed else set()
    if previous is None:
        state = json.dumps(head.new, sort_keys=True)
        state = "" if state == stored else state
    else:
        state = "" if head.new == before else json.dumps(head.new, sort_keys=True)
    snapshot = Snapshot(
        root,
        tuple(head.warnings),
        connection,
        walk.found,
        links,
        link_left,
        walk.changed,
        sorted(gone),
        state,
        head.new,
    )
    if previous is not None:
        snapshot.follow(previous, same_paths=not (changes.added or changes.removed))
    again = {path for path in before.get("unreadable", ()) if snapshot.has(path)}
    if again.difference(changes.added, changes.modified):
        modified = again.union(changes.modified).difference(changes.added)
        changes = changes._replace(modified=tuple(sorted(modified)))
    return snapshot, changes


def _hops(root: str, link: str) -> Iterator[str]:
    """The absolute paths that a symbolic link leads to, one link after the other."""
    path = f"{root.rstrip('/')}/{link}"
    for _ in range(_MOST_HOPS):
        try:
            path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        except OSError:
            return
        yield path


def _resolve_links(
    root: str, directories: dict[str, Directory]
) -> tuple[dict[str, str], list[Left]]:
    """Where each link leads now: links are few, and what they lead to may change any time."""
    targets: dict[str, str] = {}
    left = []

    def selected(path: str) -> bool:
        above, _, name = path.rpartition("/")
        return above in directories and directories[above].find(name) >= 0

    for path, directory in directories.items():
        for name in directory.links:
            link = f"{path}/{name}" if path else name
            target, verdict = link_verdict(root, link, selected)
            if target:
                targets[link] = target
            else:
                left.append(Left(link, verdict.reason, verdict.detail))
    return targets, left


def _changes(walk: Walk, before: dict[str, str], now: dict[str, str]) -> Changes:
    """The walk's changes of regular files, and those of links, as one."""
    added = {*walk.added, *(now.keys() - before.keys())}
    removed = {*walk.removed, *(before.keys() - now.keys())}
    modified = set(walk.modified)
    for link, target in now.items():
        if link in before and (before[link] != target or target in modified):
            modified.add(link)
    modified |= added & removed  # a file became a link, or a link a file
    return Changes(
        tuple(sorted(added - modified)),
        tuple(sorted(removed - modified)),
        tuple(sorted(modified)),
    )
