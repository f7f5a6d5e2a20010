"""Which entries of a directory are sources, and why the others are not.

Order of the questions: our own output, a secret, hidden, vendored, ignored,
excluded, not included. The first that says no gives the reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ctxbuild.source import defaults

if TYPE_CHECKING:
    from ctxbuild.source.ignore import Rule, Rules, Selector


class Left(NamedTuple):
    """A file or directory that is left out.

    Attributes:
        path: relative to the root; names that are no UTF-8 are shown escaped.
        reason: "own output", "secret", "hidden", "vendored", "ignored", "excluded",
            "not included", "submodule", "nested repository", "dangling link",
            "link to directory", "link outside", "link loop", "link to something left out",
            "special file", "no permission", "unreadable" or "name is not UTF-8".
        detail: the rule, as `file:line: pattern`, the name or the file that decides, or "".
    """

    path: str
    reason: str
    detail: str = ""


class Scope(NamedTuple):
    """What of a ctxfile's `[project]` affects the selection.

    Attributes:
        include: gitignore-style globs; what none of them matches is left out.
        exclude: gitignore-style globs of what is left out.
        own: cache directory and outputs, relative to the root.
        hidden: let in names with a leading dot.
        vendored: let in what other people or tools made.
        secrets: let in files that usually hold secrets.
    """

    include: tuple[str, ...] = ("**",)
    exclude: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    hidden: bool = False
    vendored: bool = False
    secrets: bool = False


class Verdict(NamedTuple):
    """What becomes of an entry: visited or selected if `reason` is ""."""

    reason: str = ""
    detail: str = ""
    tracked_only: bool = False


_IN = Verdict()
_TRACKED_ONLY = Verdict(tracked_only=True)


class Selection:
    """Decides about entries; everything it needs is read when first needed.

    Args:
        scope: see `Scope`.
        prefix: the root relative to the top of its repository, with `/` at its end, or "".
        above: reads the rules that stand above the root, weakest first.
        inside: reads the rule files of a directory below the root, weakest first.
        tracked: asks git for tracked paths that are ignored.
    """

    def __init__(
        self,
        scope: Scope,
        prefix: str,
        above: Callable[[], list[Rules]],
        inside: Callable[[str], list[Rules]],
        tracked: Callable[[], frozenset[str]],
    ) -> None:
        self._scope = scope
        self._prefix = prefix
        self._above = above
        self._inside = inside
        self._ask_tracked = tracked
        self._own = frozenset(os.path.normpath(path).replace(os.sep, "/") for path in scope.own)
        self._chains: dict[str, tuple[Rules, ...]] = {}
        self._tracked: tuple[frozenset[str], frozenset[str]] | None = None
        self._selectors: tuple[Selector, Selector] | None = None
        self._included: dict[str, bool] = {}

    def file(self, path: str, name: str, tracked_only: bool) -> Verdict:
        """The verdict on a file or link at `path` in a directory that is visited."""
        if path in self._own:
            return Verdict("own output")
        if not self._scope.secrets and defaults.is_secret(name):
            return Verdict("secret", name)
        if not self._scope.hidden and name.startswith("."):
            return Verdict("hidden")
        verdict = self._ignored(path, name, False, tracked_only)
        return verdict if verdict.reason else self._project(path, False) or verdict

    def directory(self, path: str, name: str, tracked_only: bool) -> Verdict:
        """The verdict on a directory at `path`."""
        if path in self._own:
            return Verdict("own output")
        if not self._scope.secrets and defaults.is_secret_directory(name):
            return Verdict("secret", name)
        if not self._scope.hidden and name.startswith("."):
            return Verdict("hidden")
        if not self._scope.vendored and defaults.is_vendored(name):
            return Verdict("vendored", name)
        verdict = self._ignored(path, name, True, tracked_only)
        return verdict if verdict.reason else self._project(path, True) or verdict

    def whole(self, names: frozenset[str]) -> Verdict:
        """The verdict on a directory by the names that stand in it."""
        if not self._scope.vendored:
            for marker, reason in defaults.MARKERS.items():
                if marker in names:
                    return Verdict(reason, marker)
        return _IN

    def root_verdict(self) -> Verdict:
        """Whether the root itself lies in an ignored directory of its repository."""
        chain: list[Rules] = self._above()
        path = ""
        for name in self._prefix.rstrip("/").split("/") if self._prefix else ():
            path += name
            winner = _winner([r for r in chain if path.startswith(r.base)], path, name, True)
            if winner is not None and not winner[1].negated:
                return Verdict("ignored", winner[0].explain(winner[1]))
            path += "/"
        return _IN

    def _ignored(self, path: str, name: str, is_dir: bool, tracked_only: bool) -> Verdict:
        chain = self._chain(path.rpartition("/")[0])
        if not chain and not tracked_only:
            return _IN
        full, seen = self._prefix + path, name
        if not full.isascii():
            from ctxbuild.source.ignore import as_bytes_text

            full = as_bytes_text(full)
            seen = full.rpartition("/")[2]
        if tracked_only:
            verdict = Verdict("ignored", self._why_ignored(path))
        else:
            winner = _winner(chain, full, seen, is_dir)
            if winner is None or winner[1].negated:
                return _IN
            verdict = Verdict("ignored", winner[0].explain(winner[1]))
            if winner[0].ours:
                return verdict
        files, directories = self._tracked_paths()
        if path not in (directories if is_dir else files):
            return verdict
        ours = _winner([rules for rules in chain if rules.ours], full, seen, is_dir)
        if ours is not None and not ours[1].negated:
            return Verdict("ignored", ours[0].explain(ours[1]))
        return _TRACKED_ONLY if is_dir else _IN

    def _why_ignored(self, path: str) -> str:
        """The rule that ignores a directory above `path`."""
        steps = path.split("/")
        for end in range(1, len(steps)):
            above = "/".join(steps[:end])
            chain = self._chain(above.rpartition("/")[0])
            winner = _winner(chain, _seen(self._prefix + above), _seen(steps[end - 1]), True)
            if winner is not None and not winner[1].negated:
                return winner[0].explain(winner[1])
        return self.root_verdict().detail

    def _chain(self, directory: str) -> tuple[Rules, ...]:
        """The rule files that hold in `directory`, weakest first."""
        missing = []
        while directory not in self._chains:
            missing.append(directory)
            if not directory:
                self._chains[""] = (*self._above(), *self._inside(""))
                missing.pop()
                break
            directory = directory.rpartition("/")[0]
        chain = self._chains[directory]
        for below in reversed(missing):
            found = self._inside(below)
            chain = (*chain, *found) if found else chain
            self._chains[below] = chain
        return chain

    def _tracked_paths(self) -> tuple[frozenset[str], frozenset[str]]:
        if self._tracked is None:
            files = self._ask_tracked()
            self._tracked = (files, with_ancestors(files))
        return self._tracked

    def _project(self, path: str, is_dir: bool) -> Verdict | None:
        """What `include` and `exclude` say, None if nothing against it."""
        if self._scope.exclude == () and self._scope.include == ("**",):
            return None
        if self._selectors is None:
            from ctxbuild.source.ignore import Selector

            self._selectors = (
                Selector(self._scope.include, "include"),
                Selector(self._scope.exclude, "exclude"),
            )
        include, exclude = self._selectors
        out, pattern = exclude.decides(path, is_dir)
        if out:
            return Verdict("excluded", pattern)
        if self._is_included(path, is_dir):
            return None
        if is_dir and include.decides(path, is_dir)[0] is None and include.may_hold(path):
            return None
        return Verdict("not included")

    def _is_included(self, path: str, is_dir: bool) -> bool:
        if path in self._included:
            return self._included[path]
        assert self._selectors is not None
        decided, _ = self._selectors[0].decides(path, is_dir)
        if decided is None:
            above = path.rpartition("/")[0]
            decided = self._is_included(above, True) if above else False
        if is_dir:
            self._included[path] = decided
        return decided


def _seen(text: str) -> str:
    from ctxbuild.source.ignore import as_bytes_text

    return as_bytes_text(text)


def _winner(
    chain: list[Rules] | tuple[Rules, ...], path: str, name: str, is_dir: bool
) -> tuple[Rules, Rule] | None:
    for rules in reversed(chain):
        rule = rules.winner(path, name, is_dir)
        if rule is not None:
            return rules, rule
    return None


def with_ancestors(paths: frozenset[str]) -> frozenset[str]:
    """The paths themselves and every directory above them, without the root."""
    found = set()
    for start in paths:
        path = start
        while path and path not in found:
            found.add(path)
            path = path.rpartition("/")[0]
    return frozenset(found)


def link_verdict(root: str, path: str, selected: Callable[[str], bool]) -> tuple[str, Verdict]:
    """Where the symbolic link at `path` leads: the selected file, or the reason why not.

    Args:
        root: absolute, with no link in it.
        path: the link, relative to the root.
        selected: whether a regular file at a relative path is selected.
    """
    import errno

    full = f"{root}/{path}"
    try:
        mode = os.stat(full).st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "", Verdict("link loop")
        if isinstance(error, PermissionError):
            return "", Verdict("no permission")
        return "", Verdict("dangling link")
    real = os.path.realpath(full)
    base = root.rstrip("/") + "/"
    inside = real[len(base) :].replace(os.sep, "/") if real.startswith(base) else ""
    if stat.S_ISDIR(mode):
        return "", Verdict("link to directory", inside)
    if not inside:
        return "", Verdict("link outside")
    if not stat.S_ISREG(mode):
        return "", Verdict("special file")
    if not selected(inside):
        return "", Verdict("link to something left out", inside)
    return inside, _IN
