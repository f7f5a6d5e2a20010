"""What people write for a pack, and the artifact that it means.

A target's name means the pack of the working tree, `TARGET@REV` that of a commit,
a path a file that a build wrote, and the digits of a digest a pack built before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ctxbuild.compare.artifact import Artifact, parse
from ctxbuild.errors import UsageError
from ctxbuild.serve.session import cache_directory
from ctxbuild.stores import history

if TYPE_CHECKING:
    from ctxbuild.serve.session import Session
    from ctxbuild.source.ctxfile import Ctxfile

_NO_ROOM = ("budget", "layer-budget", "section-share")

OpenSession = Callable[["Ctxfile", "str | None"], "Session"]
"""A ctxfile and a revision (None for the working tree) to a session."""


class References:
    """Reads packs by what people write for them.

    Args:
        ctxfile: gives the project when it is needed.
        directory: what paths are relative to.
        opened: opens sessions.
    """

    def __init__(self, ctxfile: Callable[[], Ctxfile], directory: str, opened: OpenSession) -> None:
        self._ctxfile = ctxfile
        self._directory = directory
        self._opened = opened

    def artifact(self, text: str) -> Artifact:
        """The artifact that a text means.

        Raises:
            UsageError: it means none; the message says what is near.
            RevisionError: it names a revision that is not there.
            CtxbuildError: the target cannot be built.
        """
        path = os.path.join(self._directory, text)
        looks = os.sep in text or "/" in text or text.endswith(".json")
        if looks and "@" not in text.partition("/")[0]:
            return self._file(path, text)
        ctxfile = self._ctxfile()
        names = [target.name for target in ctxfile.targets]
        name, mark, revision = text.partition("@")
        if name in names:
            return self.built(ctxfile, name, revision if mark else None)
        if os.path.isfile(path):
            return self._file(path, text)
        if history.is_digest(text):
            return self.kept(ctxfile, text)
        near = get_close_matches(name, names, 1)
        hint = f"did you mean {near[0] + mark + revision!r}?" if near else ""
        raise UsageError(
            f"{text!r} is no target, no file and no digest",
            hint or f"the targets are {', '.join(names)}",
        )

    def built(self, ctxfile: Ctxfile, name: str, revision: str | None) -> Artifact:
        """The artifact of a target, brought up to date first; raises as `artifact`."""
        return self.built_with_plan(ctxfile, name, revision)[0]

    def built_with_plan(
        self, ctxfile: Ctxfile, name: str, revision: str | None
    ) -> tuple[Artifact, frozenset[str]]:
        """The artifact of a target, and the units that found no room; raises as `artifact`."""
        if revision == "":
            raise UsageError(f"{name}@ names no revision", f"write {name}@HEAD, or {name}")
        _, plan, files = self._opened(ctxfile, revision).artifact(name)
        crowded_out = frozenset(v.unit for v in plan.verdicts if v.why in _NO_ROOM)
        return parse(files[f"{name}.pack.json"], name), crowded_out

    def kept(self, ctxfile: Ctxfile, digest: str, target: str = "") -> Artifact:
        """The artifact of a pack that was built before.

        Raises:
            UsageError: none or several have such a digest.
        """
        return parse(history.find(cache_directory(ctxfile), digest, target), digest)

    @staticmethod
    def _file(path: str, name: str) -> Artifact:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise UsageError(f"{name}: cannot be read: {error.strerror}") from error
        return parse(data, name)
