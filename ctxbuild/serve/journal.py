"""Logs what a build made, so that it can be looked at, marked and planned again.

Only a build that made another artifact than the one logged last for its target adds a
line. A log that cannot be written is a warning, never a failed build.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxbuild.errors import CtxbuildError, UsageError
from ctxbuild.stores import cachedir
from ctxbuild.stores.assembly_lines import MARKS, Build, Mark, Marked, Story
from ctxbuild.stores.assembly_log import AssemblyLog
from ctxbuild.stores.atomic import cannot_write

if TYPE_CHECKING:
    from ctxbuild.compare.metrics import Standing
    from ctxbuild.source.ctxfile import Ctxfile
    from ctxbuild.wiring import Workspace


def log_build(
    workspace: Workspace,
    cache: Path,
    name: str,
    files: dict[str, bytes],
    warn: Callable[[str], None],
) -> None:
    """Adds a target's build to the log, if it made another artifact than the last one logged.

    Args:
        workspace: in which the artifact is up to date; its transaction takes a note.
        cache: the cache directory, its lock held.
        name: the target.
        files: the artifact.
        warn: told in one line why nothing could be logged.
    """
    cell = workspace.database.fresh_cell(workspace.pipeline.artifact, name, "")
    assert cell.value is not None  # every query has a value once it is fresh
    key, value = f"logged:{name}", cell.value.hex()
    row = workspace.connection.execute("SELECT value FROM state WHERE name = ?", (key,)).fetchone()
    if row is not None and row[0] == value:
        return
    log = AssemblyLog(cache)
    try:
        _append(workspace, log, name, files)
    except OSError as error:
        warn(cannot_write(log.path, error).message)
        return
    except CtxbuildError as error:
        # A source changed after the pack was made: the pack stands, what it was made of is gone.
        warn(f"{log.path}: {name} is not logged: {error.message}")
        return
    workspace.begin()
    workspace.connection.execute("REPLACE INTO state VALUES (?, ?)", (key, value))


def _append(workspace: Workspace, log: AssemblyLog, name: str, files: dict[str, bytes]) -> Build:
    from ctxbuild.compare.metrics import measured
    from ctxbuild.pack import render
    from ctxbuild.pack.record import record

    made, lines_of, placed = workspace.pipeline.made_of(workspace.database, name)
    tokenizer = workspace.ctxfile.project.tokenizer
    recorded = record(made, tokenizer, lines_of, log.put, placed)
    title = workspace.pipeline.count([render.title(name)])[0]
    return log.append(
        name,
        f"sha256:{sha256(_read(made.gathered.target.formats[0], name, files)).hexdigest()}",
        (recorded.head, recorded.inputs),
        log.put(files[f"{name}.plan.json"]),
        [(file, sha256(data).hexdigest()) for file, data in files.items()],
        measured(made, title),
        int(time.time()),
    )


def _read(form: str, name: str, files: dict[str, bytes]) -> bytes:
    """What a model reads."""
    return files[f"{name}.{form}"]


# --- looking ----------------------------------------------------------------------------


def story_of(ctxfile: Ctxfile) -> Story:
    """What a project's log holds; nothing is made where there is no cache."""
    return AssemblyLog(_cache(ctxfile)).read()


def plan_of(ctxfile: Ctxfile, build: Build) -> dict[str, Any]:
    """The plan of a logged build as plain data.

    Raises:
        UsageError: it is gone or damaged.
    """
    import orjson

    data: dict[str, Any] = orjson.loads(AssemblyLog(_cache(ctxfile)).get(build.plan))
    return data


def mark(ctxfile: Ctxfile, named: str, what: str, note: str = "") -> tuple[Build, Mark]:
    """Marks a logged build: how it went with the pack that it gave.

    Args:
        ctxfile: the project.
        named: the build, see `AssemblyLog.find`.
        what: "success", "retry" or "failure".
        note: in a few words.

    Raises:
        UsageError: there is no such build or mark.
        StoreError: the log cannot be written.
    """
    from difflib import get_close_matches

    known = next((each for each in MARKS if each == what), None)
    if known is None:
        near = get_close_matches(what, MARKS, 1)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(MARKS)}"
        raise UsageError(f"there is no mark {what!r}", hint)
    cache = _cache(ctxfile)
    log = AssemblyLog(cache)
    build = log.find(named)
    # Under the lock, or a build that tidies up at this moment would lose the line.
    with cachedir.locked(cache):
        try:
            log.mark(build.build, known, " ".join(note.split()), int(time.time()))
        except OSError as error:
            raise cannot_write(log.path, error) from error
    return build, known


def standings_of(story: Story, target: str = "") -> tuple[Standing, ...]:
    """What became of the builds of every target, or of one."""
    from ctxbuild.compare.metrics import Lost, Outcome, standings

    marks: dict[str, list[Marked]] = {}
    for line in story.lines:
        if isinstance(line, Marked):
            marks.setdefault(line.build, []).append(line)
    names = ("pins", "findings", "pins_lost", "findings_lost")
    return standings(
        Outcome(
            build.target,
            Lost(*(int(build.metrics.get(name, 0)) for name in names)),
            tuple(each.mark for each in marks.get(build.build, ())),
        )
        for build in story.builds
        if target in ("", build.target)
    )


def _cache(ctxfile: Ctxfile) -> Path:
    from ctxbuild.serve.session import cache_directory

    return cache_directory(ctxfile)
