"""What decides about a tree from above it: git's index, excludes files, parents' rules.

The head is stored beside the rows. It is checked at every scan by a handful of
stats; git runs only if one of them differs.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from ctxbuild.source import git, rows

if TYPE_CHECKING:
    from ctxbuild.source.ignore import Rules

_MAX_RULES_BYTES = 100 * 1024 * 1024  # git's own limit
RULE_FILES = (".gitignore", ".ctxignore")


def stat_of(path: str) -> list[int] | None:
    """The file's stat row, following links, or None."""
    try:
        return list(rows.file_stat(os.stat(path)))
    except (OSError, ValueError):
        return None


def read_rules_file(path: str, follow: bool = False) -> bytes:
    """The bytes of an ignore file; nothing if it is no regular file or cannot be read.

    Like git, a link is followed only outside the work tree.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    except OSError:
        return b""
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        try:
            return file.read(_MAX_RULES_BYTES)
        except OSError:
            return b""


def digest_of(data: bytes) -> bytes:
    """The content digest: xxh3-128, 16 bytes."""
    from xxhash import xxh3_128_digest

    return xxh3_128_digest(data)


class Head:
    """The state above a tree, old and new.

    Args:
        root: the tree, absolute and without links.
        old: what was stored, or {}.
        taken: now, in nanoseconds.
    """

    def __init__(self, root: str, old: dict[str, Any], taken: int) -> None:
        self._old = old
        self._taken = taken
        self._root = root
        self.repository = git.find_repository(root)
        self.new: dict[str, Any] = {"taken": old.get("taken", 0)}
        self._fresh = True
        self._tracked_stale = False
        self.prefix = ""
        if self.repository is not None and self.repository.top != root:
            self.prefix = root[len(self.repository.top.rstrip("/")) + 1 :] + "/"
        self.new["repository"] = (
            [self.repository.top, self.repository.gitdir, self.prefix] if self.repository else None
        )
        self._check_files()
        self._check_index()
        if not self._fresh:
            self.new["taken"] = taken

    @property
    def changed_rules(self) -> bool:
        """Whether decisions must be made anew everywhere."""
        keys = ("repository", "digests", "plain")
        return any(self.new.get(key) != self._old.get(key) for key in keys)

    @property
    def warnings(self) -> list[str]:
        """What could not be asked of git."""
        problem = self.new.get("problem", "")
        if not problem:
            return []
        return [f"git: {problem}; files that git tracks although they are ignored stay out"]

    def _same(self, kind: str, path: str) -> tuple[list[int] | None, bool]:
        """The stat of `path`, and whether it surely is as it was stored."""
        now = stat_of(path)
        known = self._old.get(kind, {})
        same = path in known and known[path] == now
        if same and now is not None:
            same = not rows.is_racy(now[1], now[2], self._old.get("taken", 0))
        self._fresh = self._fresh and same
        return now, same

    def _check_files(self) -> None:
        """Find the rule files above the root and see whether any has changed."""
        self._files: list[tuple[str, str, str]] = []  # path, name for people, base
        self.new |= {"stats": {}, "digests": [], "config": {}, "environment": []}
        if self.repository is None:
            return
        self._files = self._above(self._excludes_file())
        known = {name + base: digest for name, base, digest in self._old.get("digests", ())}
        for path, name, base in self._files:
            self.new["stats"][path], same = self._same("stats", path)
            digest = known.get(name + base, "") if same else ""
            if not same or name + base not in known:
                digest = digest_of(self._read(path, name)).hex()
            self.new["digests"].append([name, base, digest])

    def _excludes_file(self) -> str:
        environment = [os.environ.get(name) for name in git.CONFIG_VARIABLES]
        paths: dict[str, Any] = self._old.get("config", {})
        same = environment == self._old.get("environment") and bool(paths)
        for path in paths:
            self.new["config"][path], unchanged = self._same("config", path)
            same = same and unchanged
        self.new["environment"] = environment
        if same:
            self.new["excludes"] = self._old["excludes"]
        else:
            self._fresh = False
            self.new["excludes"], origins = git.excludes_file(self._root)
            self.new["config"] = {path: stat_of(path) for path in origins}
        return str(self.new["excludes"])

    def _above(self, excludes: str) -> list[tuple[str, str, str]]:
        """Path, name and base of every rule file above the root, weakest first."""
        assert self.repository is not None
        found = [(excludes, "core.excludesFile", "")]
        found.append((f"{self.repository.common}/info/exclude", ".git/info/exclude", ""))
        steps = self.prefix.rstrip("/").split("/") if self.prefix else []
        for depth in range(len(steps)):
            base = "".join(step + "/" for step in steps[:depth])
            up = "../" * (len(steps) - depth)
            for name in RULE_FILES:
                path = f"{self.repository.top.rstrip('/')}/{base}{name}"
                found.append((path, up + name, base))
        return found

    @staticmethod
    def _read(path: str, name: str) -> bytes:
        return read_rules_file(path, follow=not name.startswith("../"))

    def rules(self) -> list[Rules]:
        """The rules above the root, weakest first."""
        if self.plain:
            return []
        from ctxbuild.source.ignore import as_bytes_text, parse_rules

        return [
            parse_rules(
                self._read(path, name), name, as_bytes_text(base), name.endswith(".ctxignore")
            )
            for path, name, base in self._files
        ]

    @property
    def plain(self) -> bool:
        """Whether the root counts as outside any repository."""
        return self.repository is None or bool(self.new.get("plain"))

    def _check_index(self) -> None:
        self.new |= {"index": None, "tracked": None, "problem": "", "plain": False}
        self._before: frozenset[str] | None = None
        if self.repository is None:
            return
        known = self._old.get("index")
        now = stat_of(os.path.join(self.repository.gitdir, "index"))
        same = now == known
        if same and now is not None:
            same = not rows.is_racy(now[1], now[2], self._old.get("taken", 0))
        self._fresh = self._fresh and same
        self.new["index"] = now
        stored = self._old.get("tracked")
        self._before = None if stored is None else frozenset(stored)
        self.new["problem"] = self._old.get("problem", "")
        self._tracked_stale = not same or self._rules_differ() or bool(self.new["problem"])
        if not self._tracked_stale:
            self.new["tracked"] = stored
            self.new["plain"] = self._old.get("plain", False)
        elif self.prefix and self._ignored_root():
            self.new["plain"] = not self.tracked()

    def _rules_differ(self) -> bool:
        return any(self.new.get(key) != self._old.get(key) for key in ("repository", "digests"))

    def root_is_ignored(self) -> bool:
        """Whether the root is ignored, so that only its tracked files are sources."""
        if self.plain or not self.prefix or not self.new["tracked"]:
            return False
        return self._ignored_root()

    def _ignored_root(self) -> bool:
        from ctxbuild.source.selection import Scope, Selection

        probe = Selection(Scope(), self.prefix, self.rules, lambda _: [], frozenset)
        return bool(probe.root_verdict().reason)

    def rules_have_changed(self) -> None:
        """A rule file below the root has changed: git is asked again before it counts."""
        self._tracked_stale = True

    def tracked(self) -> frozenset[str]:
        """Tracked paths that are ignored; git is asked if what is stored may be outdated."""
        if self.plain:
            return frozenset()
        if self.new["tracked"] is None or self._tracked_stale:
            found, self.new["problem"] = git.tracked_but_ignored(self._root)
            self.new["tracked"] = sorted(found)
            self._tracked_stale = False
        return frozenset(self.new["tracked"])

    def retracked(self) -> frozenset[str]:
        """Paths that have become, or are no longer, tracked but ignored since the last scan."""
        if self._before is None:
            return frozenset()
        return self.tracked() ^ self._before
