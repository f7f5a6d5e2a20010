"""The snapshot of a commit: the same selection as in the working tree, read from git's objects.

Everything in a commit is tracked, so that of the ignore rules only a `.ctxignore`
leaves something out. Contents have the same digests as files with the same bytes,
so that facts are shared with the working tree and among commits.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import NamedTuple

from ctxbuild.errors import RevisionError, SourceError
from ctxbuild.source import commits, git
from ctxbuild.source.head import RULE_FILES, digest_of
from ctxbuild.source.ignore import Rules, as_bytes_text, parse_rules
from ctxbuild.source.scan import Changes
from ctxbuild.source.selection import Left, Scope, Selection, Verdict
from ctxbuild.source.walk import is_utf8, shown

_LINK, _SUBMODULE = "120000", "160000"
_MAX_LINKS = 40


class Commit(NamedTuple):
    """A commit and the directory of it that is the root.

    Attributes:
        sha: hexadecimal name.
        prefix: the root relative to the top of the repository, with `/` at its end, or "".
        asked: the revision as it was asked for.
    """

    sha: str
    prefix: str
    asked: str

    @property
    def short(self) -> str:
        """The first twelve digits: what people and paths call it."""
        return self.sha[:12]


def find_commit(root: str, revision: str) -> Commit:
    """The commit that a revision means in the repository around `root`.

    Raises:
        RevisionError: there is no repository or no such commit; similar names are suggested.
    """
    root = os.path.realpath(root)
    repository = git.find_repository(root)
    if repository is None:
        raise RevisionError(
            f"{root}: is not in a git repository", "only a repository has revisions"
        )
    if not revision or "\0" in revision:
        raise RevisionError("the revision is empty", "name a commit, branch or tag")
    sha, problem = commits.commit_of(root, revision)
    if problem:
        raise _unknown(root, repository, revision, problem)
    prefix = "" if repository.top == root else root[len(repository.top.rstrip("/")) + 1 :] + "/"
    return Commit(sha, prefix, revision)


def _unknown(root: str, repository: git.Repository, revision: str, problem: str) -> RevisionError:
    if problem.startswith("git "):  # it is missing or cannot be run
        return RevisionError(f"revision {revision!r}: {problem}")
    if "dubious ownership" in problem:
        return RevisionError(f"{repository.top}: git refuses it: {problem}")
    from difflib import get_close_matches

    base = revision.partition("~")[0].partition("^")[0]
    near = get_close_matches(base, ("HEAD", *commits.names_of_commits(root)), 3)
    if near and base not in near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
    elif os.path.exists(os.path.join(repository.common, "shallow")):
        hint = "this clone is shallow: `git fetch --unshallow` brings its history"
    else:
        hint = "`git log` and `git branch --all` list what there is"
    return RevisionError(f"no revision {revision!r} in {repository.top}", hint)


class Revision:
    """The selected files of a commit; see `scan.Snapshot` for what the members mean.

    Args:
        root: the directory of the ctxfile.
        scope: what the ctxfile lets in.
        commit: the commit.
        known: object name to content digest, kept by the caller to spare reading an
            object twice.

    Attributes:
        root: absolute, without symbolic links in it.

    Raises:
        RevisionError: the commit has no such directory, or cannot be listed.
    """

    warnings: tuple[str, ...] = ()
    unsaved = False

    def __init__(
        self,
        root: str,
        scope: Scope,
        commit: Commit,
        known: MutableMapping[str, bytes] | None = None,
    ) -> None:
        self.root = os.path.realpath(root)
        self.commit = commit
        self._known: MutableMapping[str, bytes] = {} if known is None else known
        self._objects = commits.Objects(self.root)
        entries = self._entries()
        self._all = {entry.path: entry for entry in entries if is_utf8(entry.path)}
        self._left = [
            Left(shown(entry.path), "name is not UTF-8")
            for entry in entries
            if not is_utf8(entry.path)
        ]
        try:
            self._rules = self._rule_files()
            self._files = self._select(scope)
        finally:
            self._objects.close()  # it starts anew if contents are asked for
        self.paths = tuple(sorted(self._files))
        self._above = _directories(self.paths)

    # --- what a snapshot tells --------------------------------------------------------

    @property
    def count(self) -> int:
        """How many files are selected."""
        return len(self._files)

    def has(self, path: str) -> bool:
        """Whether the file at `path` is selected."""
        return path in self._files

    def has_dir(self, path: str) -> bool:
        """Whether some selected file lies below directory `path` ("" is the root)."""
        return path in self._above

    def digest(self, path: str) -> bytes | None:
        """The xxh3-128 digest of a file, 16 bytes; None if it is not selected.

        Raises:
            RevisionError: this clone does not have its content.
        """
        oid = self._files.get(path)
        if oid is None:
            return None
        known = self._known.get(oid)
        if known is None:
            known = self._known[oid] = digest_of(self._content(path, oid))
        return known

    def read(self, path: str) -> bytes:
        """The bytes of a selected file.

        Raises:
            RevisionError: this clone does not have its content.
            SourceError: it is not selected.
        """
        oid = self._files.get(path)
        if oid is None:
            raise SourceError(f"{path}: not among the sources", "see what is left out and why")
        return self._content(path, oid)

    def left_out(self) -> tuple[Left, ...]:
        """What is left out and why, sorted by path; a directory is one entry."""
        return tuple(sorted(self._left, key=lambda item: (item.path, item.reason)))

    def save(self) -> None:
        """Nothing: a commit never changes."""

    def close(self) -> None:
        """Ends the process that reads objects."""
        self._objects.close()

    def changes_since(self, before: Revision) -> Changes:
        """How the selected files differ from those of another commit."""
        old, new = before._files, self._files
        modified = [path for path in new.keys() & old.keys() if new[path] != old[path]]
        return Changes(
            tuple(sorted(new.keys() - old.keys())),
            tuple(sorted(old.keys() - new.keys())),
            tuple(sorted(modified)),
        )

    # --- objects ----------------------------------------------------------------------

    def _entries(self) -> list[commits.Entry]:
        commit, treeish = self.commit, self.commit.sha
        if commit.prefix:
            treeish += f":{commit.prefix}"
        entries, problem = commits.tree_of(self.root, treeish)
        if problem and self.commit.prefix:
            raise RevisionError(
                f"revision {commit.asked!r} has no directory {commit.prefix.rstrip('/')!r}",
                "the ctxfile's directory came later, or was elsewhere",
            )
        if problem:
            raise RevisionError(f"revision {self.commit.asked!r} cannot be listed: {problem}")
        return entries

    def _content(self, path: str, oid: str) -> bytes:
        try:
            data = self._objects.read(oid)
        except OSError as error:
            raise RevisionError(f"{path} of {self.commit.asked!r}: {error}") from error
        if data is None:
            raise RevisionError(
                f"{path}: its content at {self.commit.asked!r} is not in this clone",
                "the clone is partial or damaged: `git fetch --refetch` brings all objects",
            )
        return data

    # --- selection --------------------------------------------------------------------

    def _rule_files(self) -> dict[str, list[Rules]]:
        """Directory to its rule files, weakest first."""
        found: dict[str, list[Rules]] = {}
        for name in RULE_FILES:
            for path, entry in self._all.items():
                if path.rpartition("/")[2] == name and entry.mode not in (_LINK, _SUBMODULE):
                    directory = path[: -len(name)]
                    base = as_bytes_text(self.commit.prefix + directory)
                    rules = parse_rules(
                        self._content(path, entry.oid), path, base, ours=name == ".ctxignore"
                    )
                    found.setdefault(directory.rstrip("/"), []).append(rules)
        return found

    def _rules_above(self) -> list[Rules]:
        """The rule files that stand above the root in the commit, weakest first."""
        found = []
        steps = self.commit.prefix.rstrip("/").split("/") if self.commit.prefix else []
        for depth in range(len(steps)):
            base = "".join(f"{step}/" for step in steps[:depth])
            for name in RULE_FILES:
                oid, problem = commits.object_at(self.root, f"{self.commit.sha}:{base}{name}")
                data = None if problem else self._objects.read(oid)
                if data is not None:
                    up = "../" * (len(steps) - depth)
                    ours = name == ".ctxignore"
                    found.append(parse_rules(data, up + name, as_bytes_text(base), ours=ours))
        return found

    def _select(self, scope: Scope) -> dict[str, str]:
        """Selected paths, links included, to the names of their objects."""
        tracked = frozenset(self._all)
        selection = Selection(
            scope,
            self.commit.prefix,
            self._rules_above,
            lambda directory: self._rules.get(directory, []),
            lambda: tracked,
        )
        directories = _Directories(selection, _names_by_directory(tracked), self._left)
        files: dict[str, str] = {}
        links = []
        for path, entry in self._all.items():
            above, _, name = path.rpartition("/")
            inside = directories.verdict(above)
            if inside.reason:
                continue
            if entry.mode == _SUBMODULE:
                if not directories.verdict(path).reason:
                    self._left.append(Left(path, "submodule"))
                continue
            verdict = selection.file(path, name, inside.tracked_only)
            if verdict.reason:
                self._left.append(Left(path, verdict.reason, verdict.detail))
            elif entry.mode == _LINK:
                links.append(path)
            else:
                files[path] = entry.oid
        return files | self._links(links, files)

    def _links(self, links: list[str], files: dict[str, str]) -> dict[str, str]:
        """Links that lead to selected files; why the others do not is noted."""
        found = {}
        for path in links:
            target, reason = self._follow(path)
            if not reason and target not in files:
                reason = "link to something left out"
            if reason:
                self._left.append(Left(path, reason, target))
            else:
                found[path] = files[target]
        return found

    def _follow(self, link: str) -> tuple[str, str]:
        """Where a link leads inside the commit, and the reason if that is no file."""
        done: list[str] = []
        steps = link.split("/")
        followed = 0
        while steps:
            step = steps.pop(0)
            if step == "..":
                if not done:
                    return "", "link outside"
                done.pop()
                continue
            if step in ("", "."):
                continue
            done.append(step)
            entry = self._all.get("/".join(done))
            if entry is not None and entry.mode == _LINK:
                followed += 1
                if followed > _MAX_LINKS:
                    return "", "link loop"
                target = os.fsdecode(self._content("/".join(done), entry.oid))
                if target.startswith("/"):
                    return "", "link outside"
                done.pop()
                steps = [*target.split("/"), *steps]
        path = "/".join(done)
        entry = self._all.get(path)
        if entry is not None and entry.mode != _SUBMODULE:
            return path, ""
        below = f"{path}/" if path else ""
        if entry is not None or any(known.startswith(below) for known in self._all):
            return path, "link to directory"
        return "", "dangling link"


class _Directories:
    """Which directories are visited; those that are not are noted, each once.

    Args:
        selection: decides.
        names: directory to the names in it.
        left: takes the notes.
    """

    def __init__(
        self, selection: Selection, names: dict[str, frozenset[str]], left: list[Left]
    ) -> None:
        self._selection = selection
        self._names = names
        self._left = left
        self._known = {"": Verdict()}

    def verdict(self, path: str) -> Verdict:
        """The verdict on a directory and those above it."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._decide(path)
        return known

    def _decide(self, path: str) -> Verdict:
        above, _, name = path.rpartition("/")
        inside = self.verdict(above)
        if inside.reason:
            return inside
        verdict = self._selection.directory(path, name, inside.tracked_only)
        if not verdict.reason:
            apart = self._selection.whole(self._names.get(path, frozenset()))
            verdict = apart if apart.reason else verdict
        if verdict.reason:
            self._left.append(Left(path, verdict.reason, verdict.detail))
        return verdict


def _names_by_directory(paths: frozenset[str]) -> dict[str, frozenset[str]]:
    """Directory to the names that stand in it."""
    names: dict[str, set[str]] = {}
    for start in paths:
        path = start
        while path:
            above, _, name = path.rpartition("/")
            known = names.setdefault(above, set())
            if name in known:
                break
            known.add(name)
            path = above
    return {directory: frozenset(found) for directory, found in names.items()}


def _directories(paths: tuple[str, ...]) -> set[str]:
    """Every directory above a path, "" for the root."""
    found: set[str] = set()
    for path in paths:
        above = path.rpartition("/")[0]
        while above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found
