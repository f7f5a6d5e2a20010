"""A ctxfile in memory for files that are named on the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from ctxbuild.errors import UsageError
from ctxbuild.source import ctxfile as ctxfiles
from ctxbuild.source.defaults import DEFAULT_BUDGET
from ctxbuild.source.schema import MAX_TOKENS

QUESTION_BUDGET = 4_000
"""Tokens of the answer to a question, unless it is said."""


def adhoc(
    directory: str,
    names: Sequence[str],
    budget: int | None,
    base: ctxfiles.Ctxfile | None = None,
) -> ctxfiles.Ctxfile:
    """One target with these files as its entry.

    Args:
        directory: what the paths are relative to.
        names: paths, or `path::symbol`.
        budget: most tokens; None for the default.
        base: the ctxfile whose root and [project] hold, if there is one.

    Raises:
        UsageError: a path is no file or lies outside the root, or the budget is none.
    """
    if budget is not None and not 1 <= budget <= MAX_TOKENS:
        raise UsageError(f"--budget {budget}: must be a positive number of tokens")
    root = base.root if base else _top(directory)
    patterns = tuple(dict.fromkeys(_relative(root, directory, name) for name in names))
    taken = [target.name.lower() for target in base.targets] if base else []
    layer = ctxfiles.Layer("entry", "entry", patterns)
    target = ctxfiles.Target(_name(patterns, taken), (layer,), budget or DEFAULT_BUDGET)
    project = base.project if base else ctxfiles.Project()
    return ctxfiles.Ctxfile("", root, project, (target,))


def asking(
    directory: str,
    question: str,
    budget: int | None,
    base: ctxfiles.Ctxfile | None = None,
    headers: Literal["lean", "full"] = "lean",
    vectors: str = "auto",
) -> ctxfiles.Ctxfile:
    """One target that answers a question.

    Args:
        directory: where the repository is, if there is no ctxfile.
        question: in words.
        budget: most tokens; None for the default of questions.
        base: the ctxfile whose root and [project] hold, if there is one.
        headers: how much a block's header says.
        vectors: whether they are used where an embedder is configured: "auto" or "off".

    Raises:
        UsageError: the budget is none.
    """
    from ctxbuild.source.asking import question_target

    if budget is not None and not 1 <= budget <= MAX_TOKENS:
        raise UsageError(f"--budget {budget}: must be a positive number of tokens")
    base = base or without_ctxfile(directory)
    name = "answer"
    while name in {target.name.lower() for target in base.targets}:
        name += "-to-question"
    most = budget or QUESTION_BUDGET
    target = question_target(name, question, most, vectors=vectors, headers=headers)
    return base._replace(targets=(target,))


def without_ctxfile(directory: str) -> ctxfiles.Ctxfile:
    """A ctxfile without targets for the repository that a directory lies in."""
    return ctxfiles.Ctxfile("", _top(directory), ctxfiles.Project(), ())


def looks_like_path(directory: str, name: str) -> bool:
    """Whether an argument can only be meant as a path, or is that of a file."""
    path, mark, _ = name.partition("::")
    if mark or "/" in path or os.sep in path:
        return True
    return os.path.splitext(path)[1] != "" or os.path.exists(os.path.join(directory, path))


def _top(directory: str) -> str:
    from ctxbuild.source.git import find_repository

    full = os.path.abspath(directory)
    repository = find_repository(full)
    return repository.top if repository else full


def _relative(root: str, directory: str, name: str) -> str:
    """The name with its path relative to the root."""
    path, mark, symbol = name.partition("::")
    full = os.path.normpath(os.path.join(os.path.abspath(directory), path))
    if os.path.isdir(full):
        raise UsageError(
            f"{path}: is a directory", "name files of it, or declare a target in a ctxfile"
        )
    if not os.path.isfile(full):
        raise UsageError(f"{path}: no such file{_near(full, path)}")
    if mark and not symbol:
        raise UsageError(f"{name}: names no symbol after '::'", f"write {path}::NAME, or {path}")
    inside = _below(root, full) or _below(os.path.realpath(root), os.path.realpath(full))
    if not inside:
        raise UsageError(f"{path}: lies outside of {root}", "use -C to work somewhere else")
    return inside + mark + symbol


def _below(root: str, full: str) -> str:
    relative = os.path.relpath(full, root).replace(os.sep, "/")
    return "" if relative == ".." or relative.startswith("../") else relative


def _near(full: str, path: str) -> str:
    from difflib import get_close_matches

    above, name = os.path.split(full)
    try:
        names = os.listdir(above)
    except OSError:
        return ""
    near = get_close_matches(name, names, 1)
    return f", did you mean {os.path.join(os.path.dirname(path), near[0])!r}?" if near else ""


def _name(patterns: Sequence[str], taken: Sequence[str]) -> str:
    """A target's name after the first file, and not that of a declared target."""
    from ctxbuild.serve.starter import safe_name

    path, _, symbol = patterns[0].partition("::")
    above, _, file = path.rpartition("/")
    stem = os.path.splitext(file)[0]
    if stem in ("__init__", "__main__"):
        stem = above.rpartition("/")[2] or stem
    name = safe_name(f"{stem}.{symbol}" if symbol else stem)
    if len(patterns) > 1:
        name += f"-and-{len(patterns) - 1}-more"
    while name.lower() in taken:
        name += "-file"
    return name
