"""Whether a build would find nothing to do, and what it then reports."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from ctxbuild.engine import probe
from ctxbuild.serve.results import BuildResult, TargetResult
from ctxbuild.source import outside
from ctxbuild.source.ctxfile import declaration
from ctxbuild.stores.look import Look, look
from ctxbuild.stores.state import FORMAT, STATE_FAILURES
from ctxbuild.stores.versions import code_of

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Ctxfile

ARTIFACT, CONFIG, PREVIOUS, OUTSIDE = "artifact", "config", "previous", "outside"
"""Names of the nodes that a fresh target rests on; `pack/pipeline.py` declares them."""

_OF_THE_TREE = frozenset({"files", "entry"})
"""Sources of layers that ask for nothing outside the tree."""


def quick_build(
    ctxfile: Ctxfile, names: Iterable[str], warnings: list[str], *, since: int | None = None
) -> tuple[BuildResult | None, Look | None]:
    """A build that needs no lock, because there is nothing to do.

    Args:
        ctxfile: the project.
        names: targets; none means all.
        warnings: gets a line for each thing that is wrong with the state.
        since: nanoseconds, before the ctxfile was read: notes what was seen, so that a
            glance is enough next time (`serve/glanced.py`); None to note nothing.

    Returns:
        The report; or None, and the look from which a session can go on (None
        where there is no usable cache yet).

    Raises:
        UnknownTarget: a name that the ctxfile does not have.
        SourceError: the root cannot be listed.
    """
    started = time.perf_counter()
    wanted = named(ctxfile, names)
    cache = os.path.join(ctxfile.root, ctxfile.project.cache)
    if not _is_ours(cache):
        return None, None
    try:
        seen = look(ctxfile, cache, warnings.append, persistent=os.access(cache, os.W_OK))
    except STATE_FAILURES:
        return None, None
    warnings.extend(line for line in seen.snapshot.warnings if line not in warnings)
    try:
        results = fresh_results(seen, ctxfile, wanted)
    except STATE_FAILURES:
        seen.connection.close()
        return None, None
    except BaseException:
        seen.connection.close()
        raise
    if results is None or seen.snapshot.unsaved:
        return None, seen
    outputs = [] if since is None or warnings else _outputs(seen, ctxfile)
    seen.connection.close()
    if since is not None and outputs:
        from ctxbuild.serve.glanced import note

        note(ctxfile, seen.snapshot, outputs, since)
    return fresh_build(seen, results, time.perf_counter() - started, warnings), None


def _outputs(seen: Look, ctxfile: Ctxfile) -> list[tuple[str, str, str]]:
    """Target, path and stat of the outputs of all fresh targets that rest on the tree alone."""
    asked = "SELECT 1 FROM nodes WHERE query = ? AND key != ? LIMIT 1"
    # Without an embedder nothing but variables, which a glance compares, says so.
    embedder = outside.key_of("embedder", "")
    known = "" if outside.state(ctxfile.root, embedder) else embedder
    alone = seen.connection.execute(asked, (OUTSIDE, known)).fetchone() is None
    found: list[tuple[str, str, str]] = []
    for target in ctxfile.targets:
        plain = alone or all(layer.source in _OF_THE_TREE for layer in target.layers)
        usual = plain and not target.prefer
        results = fresh_results(seen, ctxfile, [target.name]) if usual else None
        if results and not results[0].warnings:
            written = "SELECT target, path, stat FROM outputs WHERE target = ? ORDER BY path"
            found += seen.connection.execute(written, (target.name,)).fetchall()
    return found


def named(ctxfile: Ctxfile, names: Iterable[str]) -> list[str]:
    """These targets in the order of the ctxfile; all of them for no names.

    Raises:
        UnknownTarget: a name that the ctxfile does not have.
    """
    wanted = {ctxfile.target(name).name for name in names}
    return [t.name for t in ctxfile.targets if t.name in wanted or not wanted]


def _is_ours(cache: str) -> bool:
    """Whether a cache directory of our format stands there."""
    try:
        with open(os.path.join(cache, "FORMAT"), encoding="utf-8") as file:
            return file.read() == FORMAT
    except (OSError, UnicodeDecodeError):
        return False


def fresh_results(seen: Look, ctxfile: Ctxfile, names: list[str]) -> list[TargetResult] | None:
    """The results of a build with nothing to do; None if there is something to do."""
    if seen.changes or not probe.has_tables(seen.connection):
        return None
    if not probe.code_is(seen.connection, code_of(seen.versions)):
        return None
    if not probe.is_settled(seen.connection):
        return None
    if not probe.inputs_are(seen.connection, OUTSIDE, partial(outside.state, ctxfile.root)):
        return None
    results = []
    for name in names:
        if not _is_fresh(seen, ctxfile, name):
            return None
        known = stored_result(seen.connection, name)
        if known is None or known[0] != probe.value_of(seen.connection, ARTIFACT, name).hex():
            return None  # the artifact was computed, but its files were not written
        results.append(known[1])
    return results


def stored_result(connection: sqlite3.Connection, name: str) -> tuple[str, TargetResult] | None:
    """The artifact's value and the report of a target's last build, as of a fresh one."""
    row = connection.execute("SELECT summary FROM results WHERE target = ?", (name,)).fetchone()
    if row is None:
        return None
    data = json.loads(row[0])
    return data.get("value", ""), _fresh(data)


def _is_fresh(seen: Look, ctxfile: Ctxfile, name: str) -> bool:
    connection, version = seen.connection, seen.versions["plan"]
    declared = declaration(ctxfile.target(name), ctxfile.project.tokenizer)
    return (
        probe.input_is(connection, CONFIG, name, declared)
        and _is_preferred(seen, ctxfile, name)
        and probe.is_clean(connection, ARTIFACT, name, version)
        and outputs_intact(connection, os.path.join(ctxfile.root, ctxfile.project.out), name)
    )


def _is_preferred(seen: Look, ctxfile: Ctxfile, name: str) -> bool:
    """Whether the pack that a target wants to look like is the one it was laid out after."""
    target = ctxfile.target(name)
    if not target.prefer:
        return True
    from ctxbuild.source.previous import previous

    return probe.input_is(seen.connection, PREVIOUS, name, previous(ctxfile.root, target))


def outputs_intact(connection: sqlite3.Connection, out: str, name: str) -> bool:
    """Whether a target's files stand in the output directory as they were written."""
    rows = connection.execute("SELECT path, stat FROM outputs WHERE target = ?", (name,)).fetchall()
    here = [(path, stat) for path, stat in rows if os.path.dirname(path) == out]
    return bool(here) and all(stat_line(path) == stat for path, stat in here)


def stat_line(path: str | os.PathLike[str]) -> str:
    """What tells whether an output is still as it was written; "" if it is gone."""
    try:
        st = os.stat(path)
    except OSError:
        return ""
    return f"{st.st_size} {st.st_mtime_ns} {st.st_ctime_ns} {st.st_ino}"


def _fresh(data: dict[str, Any]) -> TargetResult:
    return TargetResult(
        name=data["name"],
        status="fresh",
        tokens=data["tokens"],
        budget=data["budget"],
        reserve=data["reserve"],
        full_tokens=data["full_tokens"],
        digest=data["digest"],
        outputs=tuple(data["outputs"]),
        warnings=tuple(data["warnings"]),
        rot=tuple(data.get("rot", ())),
    )


def fresh_build(
    seen: Look, results: list[TargetResult], seconds: float, warnings: list[str]
) -> BuildResult:
    """The report of a build with nothing to do."""
    return BuildResult(tuple(results), (), seconds, seen.snapshot.count, tuple(warnings))
