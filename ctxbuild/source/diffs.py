"""What git says has changed: between which commits, in which files; and the bytes of old ones.

Only names come from git. What changed inside a file is compared by `facts/change.py`,
so that no version of git and no configuration of a user decides what a pack says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ctxbuild.source import commits, git

PATCHES = (".patch", ".diff")
"""Endings of patch files; everything else names revisions."""

STAGED = "staged"
_RENAMES = ("-M50%", "-l1000")
_MOST_UNTRACKED = 5_000
_ATTRIBUTES = ("linguist-generated", "linguist-vendored")
_SAME_FOR_ALL = (
    "--raw", "-z", "--no-abbrev", "--no-color", "--no-ext-diff", "--no-textconv",
    "--ignore-submodules=dirty", "--relative", *_RENAMES,
)  # fmt: skip


class Entry(NamedTuple):
    """A file that differs.

    Attributes:
        status: one letter as git says it: A, D, M, R (renamed), C (copied), T (of another
            type), U (unmerged); "?" for a file that git does not track.
        path: relative to the root. before: its path before, equal unless renamed or copied.
        old_mode, new_mode: as git writes them, zeros for no file.
        old: object name of the old content, "" for none. new: of the new one, "" where it
            is the working tree's.
        marks: attributes that are set for it.
    """

    status: str
    path: str
    before: str
    old_mode: str
    new_mode: str
    old: str
    new: str
    marks: tuple[str, ...] = ()


class Listing(NamedTuple):
    """What differs.

    Attributes:
        problem, hint: why nothing can be said, or "".
        files: sorted by path.
        unlisted: how many untracked files are left out because there are too many.
    """

    problem: str = ""
    hint: str = ""
    files: tuple[Entry, ...] = ()
    unlisted: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """A file that differs; see `Entry` for the fields, of which `modes` is a pair.

    Attributes:
        patch: the file's part of a patch file (`facts/patch.FilePatch`), encoded; b"" where
            git says what differs.
    """

    status: str
    path: str
    before: str
    modes: tuple[str, str]
    old: str = ""
    new: str = ""
    marks: tuple[str, ...] = ()
    patch: bytes = b""


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs, file by file."""

    problem: str = ""
    hint: str = ""
    files: tuple[Listed, ...] = ()
    unlisted: int = 0
    warnings: tuple[str, ...] = ()


def is_patch(said: str) -> bool:
    """Whether a `diff` key names a patch file."""
    return said.endswith(PATCHES)


def state(root: str, said: str) -> bytes:
    """The listing as bytes: equal bytes, equal differences but for contents of the tree."""
    found = listed(root, said)
    return json.dumps(found, ensure_ascii=True, separators=(",", ":")).encode()


def listing(data: bytes) -> Listing:
    """The inverse of `state`."""
    problem, hint, rows, unlisted = json.loads(data)
    rows = [(*row[:7], tuple(row[7])) for row in rows]
    return Listing(problem, hint, tuple(map(Entry._make, rows)), unlisted)


def listed(root: str, said: str) -> Listing:
    """What differs.

    Args:
        root: a directory; what lies outside it is not listed.
        said: a revision (its merge base with HEAD against the working tree), "staged"
            (HEAD against the index), `a..b` or `a...b`.
    """
    if git.find_repository(os.path.realpath(root)) is None:
        return Listing(
            f"{os.path.basename(root)}/ is not in a git repository",
            "without git, only a patch file (.patch, .diff) can be read",
        )
    sides = _sides(root, said)
    if isinstance(sides, Listing):
        return sides
    answer = git.run(root, "diff", *_SAME_FOR_ALL, *sides, "--")
    if answer.problem:
        return Listing(answer.problem)
    entries = {entry.path: entry for entry in _entries(answer.output)}
    unlisted = 0
    if _is_of_the_tree(said):
        # What is staged has a name already; its content is the tree's all the same.
        entries = {path: entry._replace(new="") for path, entry in entries.items()}
        untracked = _untracked(root)
        unlisted = max(0, len(untracked) - _MOST_UNTRACKED)
        for path in untracked[:_MOST_UNTRACKED]:
            entries.setdefault(path, Entry("?", path, path, "000000", "100644", "", ""))
    marks = _marks(root, list(entries))
    files = tuple(entries[path]._replace(marks=marks.get(path, ())) for path in sorted(entries))
    return Listing("", "", files, unlisted)


def _is_of_the_tree(said: str) -> bool:
    return said != STAGED and ".." not in said


def _sides(root: str, said: str) -> tuple[str, ...] | Listing:
    """The arguments that tell `git diff` what to compare."""
    if said == STAGED:
        return ("--cached",)
    if ".." in said:
        first, dots, second = said.partition("...")
        if not dots:
            first, dots, second = said.partition("..")
        return _range(root, first or "HEAD", second or "HEAD", merged=dots == "...")
    base = _commit(root, said)
    if isinstance(base, Listing):
        return base
    if said == "HEAD":
        return (base,)
    found = _range(root, said, "HEAD", merged=True)
    return found if isinstance(found, Listing) else found[:1]


def _range(root: str, first: str, second: str, *, merged: bool) -> tuple[str, ...] | Listing:
    old, new = _commit(root, first), _commit(root, second)
    if isinstance(old, Listing):
        return old
    if isinstance(new, Listing):
        return new
    if not merged:
        return (old, new)
    answer = git.run(root, "merge-base", old, new)
    base = answer.output.decode("ascii", "replace").split()
    if answer.problem or not base:
        what = f"{first!r} and {second!r} have no common ancestor here"
        hint = f"compare them as they are with {first}..{second}, or fetch more history"
        return Listing(what, hint)
    return (base[0], new)


def _commit(root: str, revision: str) -> str | Listing:
    """The name of a commit; or why there is none, with names that are near."""
    sha, problem = commits.commit_of(root, revision)
    if not problem:
        return sha
    if problem.startswith("git "):
        return Listing(problem, "install git, or name a patch file")
    if "dubious ownership" in problem:
        return Listing(f"git refuses the repository: {problem}")
    if revision == "HEAD":
        return Listing("there is no commit yet", "commit something first")
    return Listing(f"no revision {revision!r}", _near(root, revision))


def _near(root: str, revision: str) -> str:
    from difflib import get_close_matches

    if os.path.isfile(os.path.join(root, revision)):
        return "a patch file is known by its name, which ends in .patch or .diff"
    base = revision.partition("~")[0].partition("^")[0]
    names = commits.names_of_commits(root)
    near = get_close_matches(base, ("HEAD", STAGED, *names), 3)
    if not near:
        near = [name for name in names if name in ("main", "master", "trunk", "develop")]
        near += [name for name in names if name.endswith(f"/{base}")]
    if near:
        return f"did you mean {' or '.join(map(repr, near[:3]))}?"
    return "`git branch --all` and `git tag` list what there is"


def _entries(output: bytes) -> list[Entry]:
    """The records of `git diff --raw -z`."""
    fields = iter(output.split(b"\0")[:-1])
    found = []
    for head in fields:
        old_mode, new_mode, old, new, status = head.decode("ascii", "replace")[1:].split(" ")
        before = path = os.fsdecode(next(fields))
        if status[0] in "RC":
            path = os.fsdecode(next(fields))
        if not _is_text(path) or not _is_text(before):
            path = before = path.encode("utf-8", "replace").decode()
        found.append(Entry(status[0], path, before, old_mode, new_mode, _object(old), _object(new)))
    return found


def _is_text(path: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in path)


def _object(name: str) -> str:
    return "" if not name.strip("0") else name


def _untracked(root: str) -> list[str]:
    answer = git.run(root, "ls-files", "-z", "--others", "--exclude-standard")
    paths = [os.fsdecode(part) for part in answer.output.split(b"\0") if part]
    return sorted(path for path in paths if _is_text(path) and not path.endswith("/"))


def _marks(root: str, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Which attributes of the repository mark which of the paths."""
    if not paths:
        return {}
    data = b"".join(os.fsencode(path) + b"\0" for path in paths)
    asked = ("-c", f"core.attributesFile={os.devnull}", "check-attr", "-z", "--stdin")
    answer = git.run(root, *asked, *_ATTRIBUTES, data=data)
    found: dict[str, tuple[str, ...]] = {}
    fields = [os.fsdecode(part) for part in answer.output.split(b"\0")[:-1]]
    for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        if value in ("set", "true"):
            found[path] = (*found.get(path, ()), name)
    return found


def contents(root: str, names: Sequence[str]) -> dict[str, bytes]:
    """The bytes of objects, by name; those that this clone lacks are left out.

    Args:
        root: a directory of the repository.
        names: hexadecimal object names.
    """
    data = "".join(f"{name}\n" for name in names).encode("ascii")
    answer = git.run(root, "cat-file", "--batch", data=data)
    found: dict[str, bytes] = {}
    at = 0
    while (end := answer.output.find(b"\n", at)) >= 0:
        head: list[Any] = answer.output[at:end].split()
        at = end + 1
        if len(head) == 3 and head[1] != b"missing":
            size = int(head[2])
            found[head[0].decode("ascii")] = answer.output[at : at + size]
            at += size + 1
    return found


_LOOKED_AT = 2_000
"""Commits in which the history of the changed files is sought."""


def history(root: str, said: str, most: int) -> bytes:
    """Path of each file that differs to the last commits that changed it, as JSON.

    Args:
        root: a directory of the repository.
        said: as for `listed`; what counts is its older side.
        most: commits per file.
    """
    if is_patch(said) or git.find_repository(os.path.realpath(root)) is None:
        return b"{}"
    found = listed(root, said)
    sides = _sides(root, said)
    if isinstance(sides, Listing):
        return b"{}"
    base = sides[0] if sides[0] != "--cached" else "HEAD"
    answer = git.run(
        root, "log", "-z", "--no-color", "--no-renames", "--relative", "--name-only",
        f"-n{_LOOKED_AT}", "--format=%x01%H %s", base, "--",
    )  # fmt: skip
    wanted = {entry.before: entry.path for entry in found.files if entry.status not in "A?"}
    rows: dict[str, list[str]] = {}
    commit = ""
    for part in answer.output.split(b"\0"):
        for piece in part.split(b"\n"):
            if piece.startswith(b"\x01"):
                name, _, subject = piece[1:].decode("utf-8", "replace").partition(" ")
                commit = f"{name[:10]} {subject[:100]}"
                continue
            path = wanted.get(os.fsdecode(piece))
            if path is not None and len(rows.setdefault(path, [])) < most:
                rows[path].append(commit)
    return json.dumps(rows, sort_keys=True).encode()
