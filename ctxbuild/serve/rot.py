"""Which signs of rot packs show: as a build gives them now, and the age of those that lie there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxbuild.errors import CtxbuildError, UsageError
from ctxbuild.model import Rot
from ctxbuild.pack.artifact import rot_data
from ctxbuild.pack.planning import questions_of, rot_of
from ctxbuild.pack.rot import Chunk, by_kind, find_stale, is_fresh
from ctxbuild.serve.fresh import named

if TYPE_CHECKING:
    from ctxbuild.serve.check import Rehearsal
    from ctxbuild.source.ctxfile import Ctxfile, Target


@dataclass(frozen=True, slots=True)
class Inspected:
    """What was found about one target.

    Attributes:
        forbidden: of the rot what fails the check.
        error: why the target cannot be built, "" if it can.
    """

    name: str
    rot: tuple[Rot, ...]
    forbidden: tuple[Rot, ...]
    error: str = ""

    def data(self) -> dict[str, Any]:
        """As the plain data of `check --json`."""
        forbidden = {rot.kind for rot in self.forbidden}
        data = {
            "name": self.name,
            "rot": [{**rot_data(rot), "forbidden": rot.kind in forbidden} for rot in self.rot],
        }
        return {**data, "error": self.error} if self.error else data


def inspect(
    session: Rehearsal,
    ctxfile: Ctxfile,
    names: Iterable[str] = (),
    forbid: Sequence[str] = (),
    against: str | os.PathLike[str] = "",
) -> tuple[Inspected, ...]:
    """Looks for rot in every target's pack; nothing is written.

    What a build gives now can be of any kind but STALE. That is asked of the pack that
    lies where packs are written, since it is what somebody may read.

    Args:
        session: on the project.
        ctxfile: the project as declared.
        names: targets; none means all.
        forbid: kinds that fail besides those that targets forbid.
        against: a directory of packs; by default where packs are written.

    Raises:
        UnknownTarget: a name that the ctxfile does not have.
        UsageError: `against` is no directory.
    """
    directory = Path(against) if against else session.out
    if against and not directory.is_dir():
        raise UsageError(f"{directory}: no such directory", "name a directory of packs")
    root = ctxfile.root
    found = []
    for name, made in session.files(named(ctxfile, names)):
        target = ctxfile.target(name)
        if isinstance(made, CtxbuildError):
            found.append(Inspected(name, (), (), str(made)))
            continue
        kinds = tuple(dict.fromkeys((*target.forbid, *forbid)))
        blocks, tokens = made.pack.blocks, made.pack.tokens
        rot = rot_of(target._replace(forbid=kinds), blocks, tokens)
        if kinds or questions_of(target):
            rot += _of_written(target, directory, root)
        found.append(Inspected(name, rot, by_kind(rot, kinds)))
    return tuple(found)


def _of_written(target: Target, directory: Path, root: str) -> tuple[Rot, ...]:
    """The age of what an artifact shows: sources that changed since, questions that are others."""
    from ctxbuild.compare.artifact import parse
    from ctxbuild.facts.decode import decode
    from ctxbuild.source.outside import read_file

    path = directory / f"{target.name}.pack.json"
    try:
        data = path.read_bytes()
    except OSError:
        return ()
    try:
        artifact = parse(data, path.name)
    except UsageError as error:
        return (Rot("STALE", f"{path}: {error.message}", (), 1.0, 0.0),)
    asked, now = dict(artifact.head.questions), dict(questions_of(target))
    sources: dict[str, str] = {}
    chunks = []
    for block in artifact.blocks:
        if now and block.layer not in now and block.layer not in asked:
            continue
        if block.path not in sources:
            sources[block.path] = decode(read_file(root, block.path))[0]
        source = sources[block.path]
        other = asked.get(block.layer) != now.get(block.layer)
        chunk = Chunk(block.unit, block.path, block.symbol, form=block.form)
        question = asked.get(block.layer, "nothing") if other else ""
        chunks.append(chunk._replace(question=question, fresh=is_fresh(block.text, source)))
    return find_stale(chunks, " / ".join(now.values()) or "nothing")
