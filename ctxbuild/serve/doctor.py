"""Checks of the installation, the ctxfile, the cache and the selection of files."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ctxbuild.errors import CtxbuildError
from ctxbuild.source import ctxfile as ctxfiles

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Ctxfile
    from ctxbuild.source.scan import Snapshot
    from ctxbuild.source.selection import Left, Scope

_PACKAGES = ("diskcache", "msgspec", "orjson", "tree-sitter", "xxhash")
_OLDEST = (3, 11)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: what.
        status: "warn" where the build works, but not as well as it could.
        text: what was found.
        hint: what to do about it, or "".
    """

    name: str
    status: Literal["ok", "warn", "fail"]
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checks, and everything that is left out of the sources."""

    checks: tuple[Check, ...]
    left_out: tuple[Left, ...]

    @property
    def failed(self) -> bool:
        """Whether something keeps builds from working."""
        return any(check.status == "fail" for check in self.checks)


def diagnose(directory: str, file: str | None = None) -> Diagnosis:
    """Checks everything; makes no cache and changes nothing.

    Args:
        directory: where to look for a ctxfile, upwards, and what is scanned without one.
        file: the ctxfile, relative to the directory, instead.
    """
    checks = [*_installation()]
    ctxfile, check = _ctxfile(directory, file)
    checks += [check, _tokenizer(ctxfile.project.tokenizer if ctxfile else "o200k_base")]
    if ctxfile is not None:
        checks.append(_cache(ctxfile))
    left: tuple[Left, ...] = ()
    try:
        root = ctxfile.root if ctxfile else os.path.abspath(directory)
        project = ctxfile.project if ctxfile else ctxfiles.Project()
        snapshot, left = scan_once(root, project.scope())
    except CtxbuildError as error:
        checks.append(Check("files", "fail", error.message, error.hint))
    else:
        checks += _files(snapshot, left)
    return Diagnosis(tuple(checks), left)


def scan_once(root: str, scope: Scope) -> tuple[Snapshot, tuple[Left, ...]]:
    """The files of a tree and what is left out; nothing of it is remembered.

    Raises:
        SourceError: the root is no directory or cannot be listed.
    """
    from ctxbuild.source import scan

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        scan.prepare(connection)
        snapshot, _ = scan.scan(root, scope, connection)
        return snapshot, snapshot.left_out()


def _installation() -> Iterator[Check]:
    from ctxbuild import __version__

    yield Check("ctxbuild", "ok", __version__)
    version = platform.python_version()
    if sys.version_info >= _OLDEST:
        yield Check("python", "ok", f"{version}, {sys.executable}")
    else:
        yield Check("python", "fail", f"{version} is too old", "use Python 3.11 or later")
    for name in _PACKAGES:
        yield _package(name)
    yield _parser()
    yield _git()


def _package(name: str) -> Check:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Check(name, "ok", version(name))
    except PackageNotFoundError:
        return Check(name, "fail", "not installed", "install ctxbuild again")


def _parser() -> Check:
    """Whether Python can be parsed: extraction itself never fails, so its outcome tells."""
    from ctxbuild.facts import extract, version

    try:
        facts = extract(b"def f(): ...\n", "python")
        parsed = [name for name, _ in facts.outline.symbols] == ["f"]
        text = version("python")
    except Exception as error:  # noqa: BLE001  # whatever a broken installation raises
        return Check("parser", "fail", str(error), "install ctxbuild again")
    return Check("parser", "ok", text) if parsed else Check("parser", "fail", "cannot parse Python")


def _git() -> Check:
    from ctxbuild.source import git

    answer = git.run(os.curdir, "--version")
    if answer.problem:
        hint = "install git; without it only .gitignore files themselves are honoured"
        return Check("git", "warn", answer.problem, hint)
    return Check("git", "ok", answer.output.decode("utf-8", "replace").strip())


def _tokenizer(name: str) -> Check:
    from importlib.util import find_spec

    from ctxbuild.pack import tokens

    try:
        tokens.counter(name)(["one two"])
    except CtxbuildError as error:
        return Check("tokenizer", "fail", error.message, error.hint)
    if name not in tokens.BY_TOKTOK:
        return Check("tokenizer", "ok", f"{name} by tiktoken")
    if find_spec("toktok") is None:
        hint = "the counts are the same; toktok-rs counts several times faster"
        return Check("tokenizer", "ok", f"{name} by tiktoken", hint)
    return Check("tokenizer", "ok", f"{name} by toktok")


def _ctxfile(directory: str, file: str | None) -> tuple[Ctxfile | None, Check]:
    found = os.path.join(directory, file) if file else ctxfiles.find(directory)
    if found is None:
        return None, Check("ctxfile", "warn", "none here or above", "run `ctxbuild init`")
    try:
        ctxfile = ctxfiles.load(found)
    except CtxbuildError as error:
        return None, Check("ctxfile", "fail", error.message, error.hint)
    names = ", ".join(target.name for target in ctxfile.targets)
    return ctxfile, Check("ctxfile", "ok", f"{found}: {names}")


def _cache(ctxfile: Ctxfile) -> Check:
    from ctxbuild.serve.maintenance import is_cache
    from ctxbuild.serve.session import cache_directory

    cache = cache_directory(ctxfile)
    if cache.exists() and not cache.is_dir():
        return Check("cache", "fail", f"{cache}: is not a directory", "name another in [project]")
    if not cache.exists():
        return _writable(_existing(cache), f"{cache}: made by the next build")
    if not is_cache(cache):
        text = f"{cache}: is of another version or not of ctxbuild"
        return Check("cache", "warn", text, "a build says which and what to do")
    return _writable(cache, str(cache))


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _writable(directory: Path, text: str) -> Check:
    if os.access(directory, os.W_OK | os.X_OK):
        return Check("cache", "ok", text)
    hint = "builds work, but compute everything again; change its permissions"
    return Check("cache", "warn", f"{directory}: cannot be written", hint)


def _files(snapshot: Snapshot, left: tuple[Left, ...]) -> Iterator[Check]:
    for warning in snapshot.warnings:
        yield Check("files", "warn", warning)
    count = len(snapshot.paths)
    if count:
        yield Check("files", "ok", f"{count:,} selected in {snapshot.root}")
    else:
        hint = "see `ctxbuild doctor --left-out`"
        yield Check("files", "warn", f"none selected in {snapshot.root}", hint)
    counts = Counter(each.reason for each in left)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    text = ", ".join(f"{number:,} {reason}" for reason, number in ordered) or "nothing"
    yield Check("left out", "ok", text)
