"""One pass over a directory tree: what is unchanged is only stat'ed, the rest is listed anew."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ctxbuild.source import rows
from ctxbuild.source.head import RULE_FILES, Head, digest_of, read_rules_file
from ctxbuild.source.rows import Directory, Stat
from ctxbuild.source.selection import Scope, Selection, with_ancestors

if TYPE_CHECKING:
    from ctxbuild.source.ignore import Rules

_TRIES = 3


def shown(name: str) -> str:
    """A name for people: bytes that are no UTF-8 stand escaped."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def is_utf8(name: str) -> bool:
    """Whether a name from the file system is valid text."""
    if name.isascii():
        return True
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def open_file(full: str) -> int:
    """Open for reading without following a link or waiting for a pipe.

    Raises:
        OSError: as `os.open` does.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    return os.open(full, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def fingerprint(full: str) -> tuple[Stat, bytes] | None:
    """Stat row and digest of a file that holds still, or None if it cannot be read."""
    for _ in range(_TRIES):
        try:
            with open(open_file(full), "rb") as file:
                before = os.fstat(file.fileno())
                if not rows.is_file(before):
                    return None
                data = file.read()
                after = rows.file_stat(os.fstat(file.fileno()))
        except OSError:
            return None
        if after == rows.file_stat(before) and len(data) == after[0]:
            return after, digest_of(data)
    return None


class Walk:
    """The pass, and what it found.

    Attributes:
        found: every visited directory by path.
        changed: paths of directories whose rows are to be written.
        added, removed, modified: paths of regular files, unsorted.

    Args:
        root: absolute, without links.
        old: the remembered directories.
        head: what stands above the tree.
        scope: what the ctxfile lets in.
        taken: now, nanoseconds.
        everything: decide everywhere anew.
        dirty: paths that may have changed, None for all.
        near: `old` is the tree as it was scanned last by this process, so that with
            `dirty` only the dirty directories are visited at all.
    """

    def __init__(
        self,
        root: str,
        old: dict[str, Directory],
        head: Head,
        scope: Scope,
        taken: int,
        everything: bool,
        dirty: Iterable[str] | None,
        near: bool = False,
    ) -> None:
        self._root = root.rstrip("/")
        self._old = old
        self._head = head
        self._taken = taken
        self._everything = everything
        prefix = "" if head.plain else head.prefix
        self._prefix = prefix
        self._selection = Selection(scope, prefix, head.rules, self._rules_in, head.tracked)
        self._force = {"", *with_ancestors(retracked)} if (retracked := head.retracked()) else set()
        self._checked, self._subtrees = _dirt(dirty)
        self._near = near and dirty is not None and not everything and not self._force
        # Rule files of the directories that are being listed: their rows are not ready yet.
        self._standing: dict[str, list[tuple[str, bytes]]] = {}
        self.found: dict[str, Directory] = {}
        self.changed: set[str] = set()
        self.added: list[str] = []
        self.removed: list[str] = []
        self.modified: list[str] = []

    def run(self) -> None:
        """Visit every directory once, each after the one above it."""
        if self._near:
            self._run_near({*(self._checked or ()), *self._subtrees})
        else:
            self._visit("", self._everything, self._head.root_is_ignored(), dirt=False)
        if len(self.found) == len(self._old) and not self.changed:
            return
        for path in self._old.keys() - self.found.keys():
            below = path + "/" if path else ""
            self.removed.extend(below + name for name in self._old[path].files)

    def _run_near(self, dirty: set[str]) -> None:
        """Visit the dirty directories that are known, or what is known above them."""
        self.found = dict(self._old)
        starts = set()
        for path in dirty:
            start = path
            while start and start not in self.found:
                start = start.rpartition("/")[0]
            starts.add(start)
        visited: set[str] = set()
        for start in sorted(starts):
            row = self.found.get(start)
            if row is None or start in visited or start not in self._old:
                continue
            dirt = any(above in self._subtrees for above in _and_above(start))
            visited |= self._visit(start, anew=False, tracked_only=row.tracked_only, dirt=dirt)

    def _visit(self, start: str, anew: bool, tracked_only: bool, dirt: bool) -> set[str]:
        """A directory and what lies below it, as far as it has to be looked at."""
        old, found, near = self._old, self.found, self._near
        visited: set[str] = set()
        stack = [(start, anew, tracked_only, dirt)]
        while stack:
            path, anew, tracked_only, inside_dirt = stack.pop()
            row = old.get(path)
            dirt = inside_dirt or path in self._subtrees
            now = self._seen(path, row, anew, tracked_only, dirt)
            if near:
                visited.add(path)
                self._drop_gone(path, row, now)
            if now is None:
                continue
            found[path] = now
            if now is not row:
                self.changed.add(path)
                anew = anew or (row is not None and _rules_of(now) != _rules_of(row))
            if near and not (anew or dirt):
                stack.extend(self._differing(path, row, now))
            elif now.dirs:
                below = path + "/" if path else ""
                ignored = now.ignored
                stack.extend(
                    (below + name, anew, name in ignored, dirt) for name in reversed(now.dirs)
                )
        return visited

    def _seen(
        self, path: str, row: Directory | None, anew: bool, tracked_only: bool, dirt: bool
    ) -> Directory | None:
        """A directory as it is now: `row` itself if it is unchanged, None if it is gone."""
        if row is None or anew or path in self._force or row.tracked_only != tracked_only:
            return self._list(path, row, tracked_only)
        if dirt or self._checked is None or path in self._checked:
            return row if self._is_unchanged(path, row) else self._look_again(path, row)
        return row

    def _drop_gone(self, path: str, row: Directory | None, now: Directory | None) -> None:
        """Forget what a directory no longer holds, or that it is there at all."""
        if now is None:
            self._drop(path)
        elif row is not None and now is not row:
            below = path + "/" if path else ""
            for name in set(row.dirs).difference(now.dirs):
                self._drop(below + name)

    def _differing(
        self, path: str, row: Directory | None, now: Directory
    ) -> Iterator[tuple[str, bool, bool, bool]]:
        """The directories in a listed one that are new, or visited for another purpose."""
        if now is row:
            return
        below = path + "/" if path else ""
        for name in now.dirs:
            known = self._old.get(below + name)
            if known is None or known.tracked_only != (name in now.ignored):
                yield below + name, False, name in now.ignored, False

    def _drop(self, path: str) -> None:
        """Forget a directory that is gone, and all below it."""
        below = path + "/"
        for known in [p for p in self.found if p == path or p.startswith(below)]:
            del self.found[known]

    def _is_unchanged(self, path: str, row: Directory) -> bool:
        """The fast path: one lstat per entry and nothing else."""
        if row.racy:
            return False
        lstat = os.lstat
        full = f"{self._root}/{path}" if path else self._root or "/"
        stats = row.stats
        at = 0
        try:
            st = lstat(full)
            if (st.st_mtime_ns, st.st_ctime_ns) != row.stat[:2]:
                return False
            if rows.directory_stat(st) != row.stat:
                return False
            full += "/"
            for name in row.names:
                st = lstat(full + name)
                if (
                    st.st_mtime_ns != stats[at + 1]
                    or st.st_size != stats[at]
                    or st.st_ctime_ns != stats[at + 2]
                    or (st.st_ino != stats[at + 3] and rows.signed(st.st_ino) != stats[at + 3])
                ):
                    return False
                at += 4
        except OSError:
            return False
        return True

    def _look_again(self, path: str, row: Directory) -> Directory | None:
        """The directory's files stat'ed anew, or all of it listed anew if it has changed."""
        full = self._full(path)
        stats: array[int] = array("q")
        try:
            own = rows.directory_stat(os.lstat(full))
            if own != row.stat or rows.is_racy(own[0], own[1], row.taken):
                return self._list(path, row, row.tracked_only)
            for name in row.names:
                st = os.lstat(f"{full}/{name}")
                if not rows.is_file(st) and name not in RULE_FILES:
                    return self._list(path, row, row.tracked_only)
                stats.extend(rows.file_stat(st))
        except OSError:
            return self._list(path, row, row.tracked_only)
        now = Directory(path, own, self._taken, row.names, row.rules, stats, row.dirs)
        now.ignored, now.links, now.tracked_only = row.ignored, row.links, row.tracked_only
        now.left = row.left
        for position in range(len(now.names) - now.rules, len(now.names)):
            now.set_digest(position, digest_of(read_rules_file(f"{full}/{now.names[position]}")))
        if _rules_of(now) != _rules_of(row):
            return self._list(path, row, row.tracked_only)
        self._carry(row, now)
        return now

    def _list(self, path: str, row: Directory | None, tracked_only: bool) -> Directory | None:
        """List a directory and decide about its entries; None if it is no directory (any more)."""
        full = self._full(path)
        now = Directory(path, (0, 0, 0, 0), self._taken, [], 0, array("q"), [])
        now.left = []
        now.tracked_only = tracked_only
        try:
            now.stat = rows.directory_stat(os.lstat(full))
            with os.scandir(full) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            denied = isinstance(error, PermissionError)
            reason = "no permission" if denied else "unreadable"
            now.left.append(("", reason, "" if denied else str(error.strerror)))
            self._carry(row, now)
            return now
        names = {entry.name for entry in entries}
        if path and self._is_apart(full, names, now):
            self._carry(row, now)
            return now
        standing = self._read_rules(full, [name for name in RULE_FILES if name in names])
        self._standing[path] = [(name, data) for name, _, data in standing]
        if standing or (row is not None and row.rules):
            self._head.rules_have_changed()
        for entry in entries:
            self._decide(path, entry, now)
        now.rules = len(standing)
        for name, own, _ in standing:
            now.names.append(name)
            now.stats.extend(own)
        for position, (_, _, data) in enumerate(standing, len(now.names) - now.rules):
            now.set_digest(position, digest_of(data))
        self._carry(row, now)
        return now

    def _is_apart(self, full: str, names: set[str], now: Directory) -> bool:
        """Whether the whole directory stays out, which only its content tells."""
        assert now.left is not None
        verdict = self._selection.whole(frozenset(names))
        if verdict.reason:
            now.left.append(("", verdict.reason, verdict.detail))
            return True
        if ".git" in names and not self._head.plain:
            from ctxbuild.source.git import nested_kind

            kind = nested_kind(full)
            if kind:
                now.left.append(("", kind, ""))
                return True
        return False

    @staticmethod
    def _read_rules(full: str, names: list[str]) -> list[tuple[str, Stat, bytes]]:
        """Name, stat and bytes of a directory's rule files."""
        found = []
        for name in names:
            try:
                own = rows.file_stat(os.lstat(f"{full}/{name}"))
            except OSError:
                continue
            found.append((name, own, read_rules_file(f"{full}/{name}")))
        return found

    def _decide(self, path: str, entry: os.DirEntry[str], now: Directory) -> None:
        """Put an entry where it belongs: files, directories, links, or left out."""
        assert now.left is not None
        name = entry.name
        if name == ".git":
            return
        if not is_utf8(name):
            now.left.append((shown(name), "name is not UTF-8", ""))
            return
        below = f"{path}/{name}" if path else name
        if entry.is_dir(follow_symlinks=False):
            verdict = self._selection.directory(below, name, now.tracked_only)
            if not verdict.reason:
                now.dirs.append(name)
                if verdict.tracked_only:
                    now.ignored.append(name)
                return
        else:
            verdict = self._selection.file(below, name, now.tracked_only)
            if not verdict.reason:
                if entry.is_symlink():
                    now.links.append(name)
                    return
                try:
                    st = entry.stat(follow_symlinks=False)
                except OSError:
                    return  # it has just vanished
                if rows.is_file(st):
                    now.names.append(name)
                    now.stats.extend(rows.file_stat(st))
                    return
                now.left.append((name, "special file", ""))
                return
        now.left.append((name, verdict.reason, verdict.detail))

    def _carry(self, row: Directory | None, now: Directory) -> None:
        """Take over known digests of files that are the same, and note what differs."""
        below = now.path + "/" if now.path else ""
        files = now.files
        if row is None:
            self.added.extend(below + name for name in files)
            return
        if row.files != files:
            present = set(files)
            self.removed.extend(below + name for name in row.files if name not in present)
            self.added.extend(below + name for name in files if row.find(name) < 0)
        if not row.digests:
            return
        moved = row.stat[3] != now.stat[3]
        for position, name in enumerate(files):
            before = row.find(name)
            digest = row.digest_at(before) if before >= 0 else None
            if digest is None:
                continue
            stat = now.stat_at(position)
            same = stat == row.stat_at(before) and not moved
            if same and not rows.is_racy(stat[1], stat[2], row.taken):
                now.set_digest(position, digest)
                continue
            seen = fingerprint(f"{self._root}/{below}{name}")
            if seen is not None:
                now.stats[position * rows.FIELDS : (position + 1) * rows.FIELDS] = array(
                    "q", seen[0]
                )
                now.set_digest(position, seen[1])
            if seen is None or seen[1] != digest:
                self.modified.append(below + name)

    def _rules_in(self, path: str) -> list[Rules]:
        """The rule files that stand in a directory, weakest first."""
        standing = self._standing.get(path)
        if standing is None:
            row = self.found[path]
            names = row.names[len(row.names) - row.rules :]
            full = self._full(path)
            standing = [(name, read_rules_file(f"{full}/{name}")) for name in names]
        if not standing:
            return []
        from ctxbuild.source.ignore import as_bytes_text, parse_rules

        base = as_bytes_text(self._prefix + path + "/") if path else as_bytes_text(self._prefix)
        below = path + "/" if path else ""
        return [
            parse_rules(data, below + name, base, ours=name == ".ctxignore")
            for name, data in standing
        ]

    def _full(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root or "/"


def _rules_of(row: Directory) -> tuple[list[str], list[bytes | None]]:
    """Names and digests of a directory's rule files."""
    if not row.rules:
        return [], []
    start = len(row.names) - row.rules
    return row.names[start:], [row.digest_at(p) for p in range(start, len(row.names))]


def _and_above(path: str) -> Iterator[str]:
    """A path and every directory above it."""
    yield path
    while path:
        path = path.rpartition("/")[0]
        yield path


def _dirt(dirty: Iterable[str] | None) -> tuple[set[str] | None, set[str]]:
    """The directories to look at, and those to look at with everything below them."""
    if dirty is None:
        return None, set()
    subtrees = {path.strip("/") for path in dirty}
    return {path.rpartition("/")[0] for path in subtrees}, subtrees
