"""What git knows about a directory: its repository, its excludes files, what it tracks.

Finding a repository runs no process. Git itself is asked only for what no file
says plainly, and is run so that it changes nothing, asks nothing, and starts no
program that the repository's configuration names.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

_TIMEOUT_SECONDS = 60
_SCRUBBED = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
)
CONFIG_VARIABLES = (
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
)


class Repository(NamedTuple):
    """A git work tree.

    Attributes:
        top: its directory, absolute.
        gitdir: where its HEAD and index live.
        common: where config and info/exclude live; differs in a linked worktree.
    """

    top: str
    gitdir: str
    common: str


class Answer(NamedTuple):
    """Output of a git command, or why there is none."""

    output: bytes = b""
    problem: str = ""


def gitdir_of(directory: str) -> str | None:
    """The git directory that `directory/.git` is or points to, or None."""
    path = os.path.join(directory, ".git")
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            with open(path, "rb") as handle:
                line = handle.read(8192)
            if not line.startswith(b"gitdir: "):
                return None
            path = os.path.join(directory, os.fsdecode(line[8:].rstrip(b"\r\n")))
        if os.path.lexists(os.path.join(path, "HEAD")) and os.path.isdir(path):
            return os.path.normpath(path)
    except (OSError, ValueError):
        return None
    return None


def find_repository(root: str) -> Repository | None:
    """The work tree that `root`, an absolute path, lies in."""
    directory = root
    while True:
        gitdir = gitdir_of(directory)
        if gitdir is not None:
            return Repository(directory, gitdir, _common(gitdir))
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def _common(gitdir: str) -> str:
    try:
        with open(os.path.join(gitdir, "commondir"), "rb") as handle:
            return os.path.normpath(os.path.join(gitdir, os.fsdecode(handle.read().strip())))
    except OSError:
        return gitdir


def nested_kind(directory: str) -> str:
    """`submodule`, `nested repository`, or "" if `directory` is no repository of its own."""
    gitdir = gitdir_of(directory)
    if gitdir is None:
        return ""
    return "submodule" if f"{os.sep}modules{os.sep}" in gitdir else "nested repository"


def run(root: str, *arguments: str, data: bytes = b"") -> Answer:
    """Run git in `root`.

    Args:
        root: a directory.
        arguments: of git.
        data: what it reads from its standard input.

    Returns:
        Its output; with a problem, in one line, if git is missing or refuses.
    """
    import subprocess

    try:
        done = subprocess.run(
            command(*arguments),
            cwd=root,
            env=environment(),
            input=data,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return Answer(problem="git is not installed")
    except (OSError, subprocess.SubprocessError) as error:
        return Answer(problem=f"git cannot be run: {error}")
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return Answer(problem=lines[0] if lines else f"git ended with code {done.returncode}")
    return Answer(done.stdout)


def command(*arguments: str) -> list[str]:
    """The argument list of a git that starts no program of the repository's."""
    return ["git", "-c", "core.fsmonitor=false", *arguments]


def environment() -> dict[str, str]:
    """The variables with which git asks nothing and looks where it is told to."""
    kept = {key: value for key, value in os.environ.items() if key not in _SCRUBBED}
    # What a partial clone lacks is not fetched: a build reaches for no network.
    ours = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    return {**kept, **ours, "LC_ALL": "C"}


def tracked_but_ignored(root: str) -> tuple[frozenset[str], str]:
    """Paths below `root`, relative to it, that git tracks although a rule ignores them.

    Returns:
        The paths, and a problem in one line or "".
    """
    answer = run(root, "ls-files", "-z", "-c", "-i", "--exclude-standard")
    paths = (os.fsdecode(part) for part in answer.output.split(b"\0") if part)
    return frozenset(paths), answer.problem


def excludes_file(root: str) -> tuple[str, tuple[str, ...]]:
    """The user's excludes file (it may not exist), and the files that decide which it is."""
    home = os.path.expanduser("~")
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    origins = {
        os.path.join(home, ".gitconfig"),
        os.path.join(settings, "git", "config"),
        "/etc/gitconfig",
    }
    chosen = ""
    # Each record: origin NUL key LF value NUL.
    fields = run(root, "config", "--list", "--show-origin", "-z").output.split(b"\0")
    for origin, entry in zip(fields[::2], fields[1::2], strict=False):
        kind, _, path = os.fsdecode(origin).partition(":")
        if kind == "file":
            origins.add(os.path.normpath(os.path.join(root, path)))
        key, _, value = os.fsdecode(entry).partition("\n")
        if key == "core.excludesfile":
            chosen = value
    path = os.path.expanduser(chosen) if chosen else os.path.join(settings, "git", "ignore")
    return os.path.normpath(os.path.join(root, path)), tuple(sorted(origins))
