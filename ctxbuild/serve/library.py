"""The library: `ctxbuild.load(path).build("target")`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ctxbuild.errors import UsageError
from ctxbuild.serve.session import Session
from ctxbuild.source import ctxfile as ctxfiles

if TYPE_CHECKING:
    from ctxbuild.model import Pack, Plan


class Project:
    """A ctxfile and its repository.

    Attributes:
        ctxfile: as it was read.
        root: the directory that paths are relative to.
        targets: names of the targets, in the order of the ctxfile.
    """

    def __init__(self, ctxfile: ctxfiles.Ctxfile) -> None:
        self.ctxfile = ctxfile
        self.root = Path(ctxfile.root)
        self.targets = tuple(target.name for target in ctxfile.targets)

    def build(self, target: str) -> Pack:
        """Brings a target up to date, as far as it is not.

        Args:
            target: its name in the ctxfile.

        Returns:
            The pack. Nothing is written but the cache.

        Raises:
            UnknownTarget: the ctxfile has no such target.
            EntryError: a pattern of the target matches nothing.
            BudgetError: what is pinned does not fit.
        """
        return Session(self.ctxfile).artifact(target)[0]

    def plan(self, target: str) -> Plan:
        """The verdict on every candidate of a target; raises what `build` raises."""
        return Session(self.ctxfile).artifact(target)[1]

    def write(self, target: str) -> tuple[Path, ...]:
        """Builds a target and writes its files, as `ctxbuild build` does.

        Returns:
            The files of the pack.

        Raises:
            CtxbuildError: the target cannot be built or written.
        """
        result = Session(self.ctxfile).build([target]).targets[0]
        if result.error:
            raise UsageError(result.error)
        return tuple(Path(path) for path in result.outputs)


def load(path: str | os.PathLike[str] = ".") -> Project:
    """Opens a project.

    Args:
        path: a ctxfile, or a directory: it and those above it are searched for one.

    Returns:
        The project.

    Raises:
        CtxfileError: there is no ctxfile, or it is wrong.
    """
    found = path if os.path.isfile(path) else ctxfiles.find(os.fspath(path))
    if found is None:
        raise UsageError(f"{os.fspath(path)}: no ctxfile.toml here or above", "run `ctxbuild init`")
    return Project(ctxfiles.load(os.fspath(found)))
