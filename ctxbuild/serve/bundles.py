"""Bundles: packs and plans with what they rest on, so that a later build can start from them.

A bundle records, target by target, every input that its pack asked for: files
read or looked for, globs, directories. Where all of them have the values they
had, declaration and code included, the pack is right, and no stage runs for it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ctxbuild.engine.codec import unpack_facets
from ctxbuild.engine.query import Collection, Index, Input
from ctxbuild.errors import CheckFailed, SourceError, UsageError
from ctxbuild.serve.fresh import ARTIFACT, CONFIG, named
from ctxbuild.serve.lookup import Desk, ask
from ctxbuild.serve.results import BuildResult, TargetResult
from ctxbuild.stores import archive
from ctxbuild.stores.atomic import write_if_changed
from ctxbuild.stores.versions import stage_versions

if TYPE_CHECKING:
    from ctxbuild.serve.session import Session
    from ctxbuild.source.ctxfile import Ctxfile

KIND, VERSION = "bundle", 1
_FILE = "file"
_FOLDER = "packs/"

Keys = Mapping[str, list[list[Any]]]
"""Input name to (key, facets) of all that was asked of it; an index has no keys."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read and is whole.

    Attributes:
        head: the manifest.
        files: output files by name.
    """

    head: dict[str, Any]
    files: dict[str, bytes]

    @property
    def digest(self) -> str:
        """The manifest's, which covers everything."""
        return str(self.head["manifest_digest"])

    def target(self, name: str) -> dict[str, Any] | None:
        """What the manifest says of a target."""
        return next((each for each in self.head["targets"] if each["name"] == name), None)


# --- making ---------------------------------------------------------------------------------


def make(session: Session, path: Path, names: Iterable[str] = ()) -> Bundle:
    """Writes a bundle of packs, brought up to date first.

    Args:
        session: the project.
        path: the file to write.
        names: targets; none means all.

    Raises:
        CtxbuildError: a target cannot be built, or the file cannot be written.
    """
    wanted = named(session.ctxfile, names)
    targets, files = ask(session, lambda desk: _gather(desk, wanted))
    head = {
        "ctxbuild": _version(),
        "revision": _revision(session.ctxfile.root),
        "tokenizer": session.ctxfile.project.tokenizer,
        "targets": targets,
    }
    contents: dict[str, archive.Content] = {_FOLDER + name: data for name, data in files.items()}
    digest = archive.write(path, KIND, VERSION, head, contents)
    return Bundle({**head, "manifest_digest": f"sha256:{digest}"}, files)


def _gather(desk: Desk, names: list[str]) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    database, pipeline = desk.workspace.database, desk.workspace.pipeline
    made = {name: database.get(pipeline.files, name) for name in names}
    packs = {name: database.get(pipeline.pack_value, name) for name in names}
    full = {name: database.get(pipeline.full_tokens, name) for name in names}
    desk.workspace.begin()
    desk.workspace.commit()  # so that the rows are there to be read
    targets = []
    for name in names:
        pack, keys = packs[name], _recorded(desk, name)
        targets.append(
            {
                "name": name,
                "digest": pack.digest,
                "tokens": pack.tokens,
                "full_tokens": full[name],
                "warnings": list(pack.warnings),
                "files": sorted(made[name]),
                "inputs": keys,
                "input_digest": input_digest(desk, name, keys),
            }
        )
    return targets, {file: data for files in made.values() for file, data in files.items()}


def _version() -> str:
    from ctxbuild import __version__

    return __version__


def _revision(root: str) -> dict[str, Any] | None:
    """The commit that is checked out, and whether something differs from it."""
    from ctxbuild.source import git

    if git.find_repository(root) is None:
        return None
    commit = git.run(root, "rev-parse", "--verify", "HEAD")
    status = git.run(root, "status", "--porcelain", "--untracked-files=no", "--", ".")
    if commit.problem or status.problem:
        return None
    return {"commit": commit.output.decode().strip(), "clean": not status.output}


def _recorded(desk: Desk, name: str) -> dict[str, list[list[Any]]]:
    """Every input that an artifact reaches, by its name, with the facets that were asked for."""
    inputs, indexes = _kinds(desk)
    found: dict[str, list[list[Any]]] = {}
    for query, key, facets in _reached(desk.workspace.connection, name):
        if query in inputs and query != CONFIG:
            found.setdefault(query, []).append([key, sorted(unpack_facets(facets))])
        elif query in indexes:
            # What an index answers depends on every file that it covers.
            found[query] = []
    return {query: sorted(found[query]) for query in sorted(found)}


def _kinds(desk: Desk) -> tuple[dict[str, Input], dict[str, Index | Collection]]:
    declared = desk.workspace.pipeline.declared
    inputs = {each.name: each for each in declared if isinstance(each, Input)}
    return inputs, {each.name: each for each in declared if isinstance(each, Index | Collection)}


def _reached(connection: sqlite3.Connection, name: str) -> list[tuple[str, str, bytes]]:
    return connection.execute(
        "WITH RECURSIVE reached(id) AS ("
        "SELECT id FROM nodes WHERE query = ? AND key = ? "
        "UNION SELECT e.dep FROM edges e JOIN reached r ON e.src = r.id) "
        "SELECT n.query, n.key, n.facets FROM reached r JOIN nodes n ON n.id = r.id",
        (ARTIFACT, name),
    ).fetchall()


def input_digest(desk: Desk, name: str, keys: Keys) -> str:
    """The digest of all that a target's pack rests on, as it is now.

    Args:
        desk: the repository.
        name: the target.
        keys: what its pack asked for.

    Returns:
        `sha256:` of declaration, versions of the stages and values of the inputs; ""
        where one of them is of a kind that is not known here.

    Raises:
        SourceChanged: a file changes while it is read; ask again.
    """
    workspace = desk.workspace
    inputs, indexes = _kinds(desk)
    total = sha256()

    def put(*parts: str | bytes) -> None:
        for part in parts:
            data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
            total.update(b"%d:" % len(data) + data)

    put(inputs[CONFIG].read(name, ""))
    for stage, version in sorted(stage_versions(workspace.connection).items()):
        put(stage, version)
    for query, asked in sorted(keys.items()):
        if query in indexes:
            for path in indexes[query].keys():  # noqa: SIM118  # a field
                put(query, path, _content(desk, path))
        elif query in inputs:
            for key, facets in asked:
                for facet in facets:
                    put(query, key, facet, _value(desk, inputs[query], key, facet))
        else:
            return ""
    return f"sha256:{total.hexdigest()}"


def _value(desk: Desk, source: Input, key: str, facet: str) -> bytes:
    # Contents by SHA-256: what is shared must not rest on a digest for this machine alone.
    if source.name == _FILE and not facet:
        return _content(desk, key)
    return source.read(key, facet)


def _content(desk: Desk, path: str) -> bytes:
    from ctxbuild.errors import SourceChanged

    if not desk.workspace.snapshot.has(path):
        return b""
    try:
        return sha256(desk.workspace.snapshot.read(path)).digest()
    except SourceChanged:
        raise
    except SourceError:
        return b"unreadable"


# --- reading --------------------------------------------------------------------------------


def read(path: Path) -> Bundle:
    """Reads a bundle and checks all of it.

    Raises:
        UsageError: it is no bundle, or a newer version made it.
        CheckFailed: it was damaged or tampered with; the message names the file.
    """
    with TemporaryDirectory(prefix="ctxbuild-") as directory:
        head = archive.extract(path, KIND, VERSION, Path(directory))
        files = {
            each["path"].removeprefix(_FOLDER): (Path(directory) / each["path"]).read_bytes()
            for each in head["files"]
        }
    try:
        _consistent(path, head, files)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckFailed(f"{path}: {archive.MANIFEST}: is damaged ({error!r})") from error
    return Bundle(head, files)


def _consistent(path: Path, head: dict[str, Any], files: dict[str, bytes]) -> None:
    """What the manifest says of packs must be so, and every file must belong to one."""
    owned: set[str] = set()
    for target in head["targets"]:
        name = target["name"]
        for file in target["files"]:
            if file not in files or not file.startswith(f"{name}."):
                raise CheckFailed(f"{path}: {_FOLDER}{file}: is missing")
            owned.add(file)
        text = files.get(f"{name}.md")
        if text is not None and f"sha256:{sha256(text).hexdigest()}" != target["digest"]:
            raise CheckFailed(f"{path}: {_FOLDER}{name}.md: has another digest than its pack")
        dict(target["inputs"])
        int(target["tokens"] + target["full_tokens"])
    stray = sorted(files.keys() - owned)
    if stray:
        raise CheckFailed(f"{path}: {_FOLDER}{stray[0]}: belongs to no target of it")


# --- starting from one ----------------------------------------------------------------------


def build_from(session: Session, bundle: Bundle, names: Iterable[str] = ()) -> BuildResult:
    """A build that takes from a bundle what is right, and builds the rest.

    Args:
        session: the project.
        bundle: whose packs count where all they rest on is as it was.
        names: targets; none means all.

    Raises:
        UnknownTarget: a name that the ctxfile does not have.
        StoreError: an output cannot be written.
    """
    import time

    started = time.perf_counter()
    wanted = named(session.ctxfile, names)
    right = ask(session, lambda desk: _right(desk, bundle, wanted))
    taken = {name: _take(session, bundle, name) for name in right}
    rest = [name for name in wanted if name not in taken]
    built = session.build(rest) if rest else BuildResult((), (), 0.0, 0, tuple(session.warnings))
    results = taken | {result.name: result for result in built.targets}
    files = built.files or ask(session, lambda desk: desk.workspace.snapshot.count)
    return BuildResult(
        tuple(results[name] for name in wanted),
        built.ran,
        time.perf_counter() - started,
        files,
        built.warnings,
    )


def _right(desk: Desk, bundle: Bundle, names: list[str]) -> list[str]:
    found = []
    for name in names:
        known = bundle.target(name)
        digest = known["input_digest"] if known else ""
        if known and digest and input_digest(desk, name, known["inputs"]) == digest:
            found.append(name)
    return found


def _take(session: Session, bundle: Bundle, name: str) -> TargetResult:
    known = bundle.target(name)
    assert known is not None  # it was found right
    target = session.ctxfile.target(name)
    outputs = {str(session.out / file): bundle.files[file] for file in known["files"]}
    written = [path for path, data in outputs.items() if write_if_changed(Path(path), data)]
    return TargetResult(
        name=name,
        status="fresh",
        tokens=known["tokens"],
        budget=target.budget,
        reserve=target.reserve,
        full_tokens=known["full_tokens"],
        digest=known["digest"],
        outputs=tuple(outputs),
        written=tuple(written),
        warnings=tuple(known["warnings"]),
        rot=_rot(bundle, name),
    )


def _rot(bundle: Bundle, name: str) -> tuple[dict[str, Any], ...]:
    """The signs of rot that a bundled artifact names."""
    data = bundle.files.get(f"{name}.pack.json")
    return tuple(json.loads(data).get("rot", ())) if data else ()


def default_path(ctxfile: Ctxfile, directory: str) -> Path:
    """Where a bundle is written unless somebody says otherwise."""
    name = Path(ctxfile.root).name or "root"
    if not name.isprintable():
        raise UsageError(f"{name!r}: is no name for a file", "name one with -o")
    return Path(directory, f"{name}.ctxbundle")
