"""Whether packs that lie somewhere are those that a build would give; nothing is written.

A pack is looked at where the build writes it, or where it is named. One that was
never written is a finding only where packs are meant to be kept: outside the
cache directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from ctxbuild.errors import CtxbuildError, UsageError
from ctxbuild.serve.fresh import named
from ctxbuild.serve.session import Session, cache_directory

if TYPE_CHECKING:
    from ctxbuild.model import Pack
    from ctxbuild.source.ctxfile import Ctxfile, Target

Kind = Literal["stale", "missing", "over-budget", "failed"]
_CACHE_MARK = "FORMAT"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a check says no to.

    Attributes:
        kind: "stale": it is not what a build gives; "missing": it was never written;
            "over-budget": it has more tokens than its target allows; "failed": its
            target cannot be built.
        path: the file, "" where there is none.
        message: one line for people.
    """

    kind: Kind
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found about one target.

    Attributes:
        tokens: of the pack that a build gives, 0 if it gives none.
        compared: files that were compared, in order.
    """

    name: str
    tokens: int
    budget: int
    reserve: int
    compared: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def status(self) -> str:
        """The first problem's kind, "fresh", or "unwritten" if there was nothing to compare."""
        if self.problems:
            return self.problems[0].kind
        return "fresh" if self.compared else "unwritten"

    def data(self) -> dict[str, Any]:
        """As the plain data of `build --check --json`."""
        return {
            "name": self.name,
            "status": self.status,
            "tokens": self.tokens,
            "budget": self.budget,
            "reserve": self.reserve,
            "compared": list(self.compared),
            "problems": [
                {"kind": each.kind, "path": each.path, "message": each.message}
                for each in self.problems
            ],
        }


class Rehearsal(Session):
    """A session that computes everything and keeps nothing."""

    def files(self, names: Iterable[str]) -> Iterator[tuple[str, Made | CtxbuildError]]:
        """What a build of these targets would write, or why it would fail."""
        with self._locked() as workspace:
            pipeline, database = workspace.pipeline, workspace.database
            database.rehearse()
            try:
                for name in names:
                    try:
                        database.settle()
                        files = self._retrying(
                            workspace, partial(database.get, pipeline.files, name)
                        )
                        yield name, Made(files, database.get(pipeline.pack_value, name))
                    except CtxbuildError as error:
                        yield name, error
            finally:
                workspace.rollback()


@dataclass(frozen=True, slots=True)
class Made:
    """A pack and the files that hold it, by name."""

    files: dict[str, bytes]
    pack: Pack


@contextmanager
def rehearsal(ctxfile: Ctxfile, **options: Any) -> Iterator[Rehearsal]:
    """A session that leaves no trace: where there is no cache yet, it makes none.

    Args:
        ctxfile: the project.
        options: as for `Session`.
    """
    if (cache_directory(ctxfile) / _CACHE_MARK).is_file():
        yield Rehearsal(ctxfile, **options)
        return
    with TemporaryDirectory(prefix="ctxbuild-") as cache:
        project = ctxfile.project._replace(cache=cache)
        yield Rehearsal(ctxfile._replace(project=project), **options)


def check(
    session: Rehearsal,
    ctxfile: Ctxfile,
    names: Iterable[str] = (),
    against: str | os.PathLike[str] = "",
) -> tuple[Checked, ...]:
    """Compares packs with what a build would give.

    Args:
        session: on the project.
        ctxfile: the project as declared.
        names: targets; none means all.
        against: a directory of packs, or one file of a pack; by default where packs
            are written.

    Raises:
        UnknownTarget: a name that the ctxfile does not have.
        UsageError: `against` is neither, or belongs to no target.
    """
    wanted = named(ctxfile, names)
    only = ""
    directory = session.out
    if against:
        directory, only = _given(Path(against))
        if only:
            wanted = [_owner(ctxfile, wanted, only)]
    # Nobody commits what lies in the cache: there it is no fault never to have been built.
    expected = bool(against) or not session.out.is_relative_to(cache_directory(ctxfile))
    return tuple(
        _checked(ctxfile, name, made, directory, only, expected=expected)
        for name, made in session.files(wanted)
    )


def _given(path: Path) -> tuple[Path, str]:
    if path.is_dir():
        return path, ""
    if path.is_file():
        return path.parent, path.name
    raise UsageError(f"{path}: no such file or directory", "name a pack, or a directory of packs")


def _owner(ctxfile: Ctxfile, wanted: list[str], file: str) -> str:
    """The target that a file of a pack belongs to: the longest name that it begins with."""
    fitting = [name for name in wanted if file.startswith(f"{name}.")]
    if not fitting:
        names = ", ".join(target.name for target in ctxfile.targets)
        raise UsageError(f"{file}: belongs to no target", f"the ctxfile declares {names}")
    return max(fitting, key=len)


def _checked(
    ctxfile: Ctxfile,
    name: str,
    made: Made | CtxbuildError,
    directory: Path,
    only: str,
    *,
    expected: bool,
) -> Checked:
    target = ctxfile.target(name)
    if isinstance(made, CtxbuildError):
        failed = Problem("failed", "", str(made))
        return Checked(name, 0, target.budget, target.reserve, (), (failed,))
    compared: dict[Path, bytes] = {}
    missing: list[Path] = []
    for file in made.files:
        if only and file != only:
            continue
        try:
            compared[directory / file] = (directory / file).read_bytes()
        except OSError:
            missing.append(directory / file)
    problems = [
        problem
        for path, found in compared.items()
        for problem in _excess(ctxfile, target, path, found)
    ]
    problems += _stale(made, compared)
    lacking = [path for path in missing if expected and _meant(path.name, compared)]
    if lacking:
        problems.append(Problem("missing", str(lacking[0]), f"{lacking[0]}: is not there"))
    return Checked(
        name,
        made.pack.tokens,
        target.budget,
        target.reserve,
        tuple(map(str, compared)),
        tuple(problems),
    )


def _meant(file: str, compared: dict[Path, bytes]) -> bool:
    """Plan and artifact may be left out of what is kept; a rendering may not, nor all."""
    return not compared or not file.endswith((".plan.json", ".pack.json"))


def _stale(made: Made, compared: dict[Path, bytes]) -> list[Problem]:
    """One problem for all files of a pack that differ, with what the artifact tells of it."""
    differing = [path for path, found in compared.items() if found != made.files[path.name]]
    if not differing:
        return []
    about = f"{differing[0]}: is not what a build gives"
    artifact = next((path for path in differing if path.name.endswith(".pack.json")), None)
    if artifact is not None:
        about += _changes(artifact, compared[artifact], made.files[artifact.name])
    return [Problem("stale", str(differing[0]), about)]


def _changes(path: Path, found: bytes, data: bytes) -> str:
    from ctxbuild.compare.artifact import parse
    from ctxbuild.compare.diff import difference

    try:
        differs = difference(parse(found, path.name), parse(data, path.name))
    except UsageError as error:
        return f" ({error.message})"
    counts: dict[str, int] = {}
    for change in differs.changes:
        kind = change.kind if change.kind in ("added", "removed") else "changed"
        counts[kind] = counts.get(kind, 0) + 1
    parts = [f"{count} {kind}" for kind, count in counts.items()]
    before, after = differs.before.tokens, differs.after.tokens
    if before != after:
        parts.append(f"{before:,} tokens become {after:,}")
    return f": {', '.join(parts)}" if parts else ""


def _excess(ctxfile: Ctxfile, target: Target, path: Path, found: bytes) -> list[Problem]:
    """A rendering that has more tokens than its target allows."""
    if path.suffix not in (".md", ".xml"):
        return []
    from ctxbuild.pack.tokens import counter

    tokens = counter(ctxfile.project.tokenizer)([found.decode("utf-8", "replace")])[0]
    room = target.budget - target.reserve
    if tokens <= room:
        return []
    message = f"{path}: has {tokens:,} tokens, {tokens - room:,} more than the {room:,} it may have"
    return [Problem("over-budget", str(path), message)]
