"""How fast builds are: cold, without a change, and after one edit.

Every number comes from whole processes of the command line, run alternately with
what they are compared with: bare parsing and counting, and `git status`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path
from typing import Any

from benchmarks import corpus
from benchmarks.measure import Program, Run, alternate, ratio, run, seconds
from benchmarks.table import Row

CTXFILE = Path(__file__).with_name("django.toml")
CACHE = ".ctxbuild"
ROUNDS = 7
COLD_ROUNDS = 3
# A direct dependency of django/http/response.py.
EDITED = "django/http/cookie.py"
TARGET, ENTRY = "response", "django/http/response.py"
FLASK_CTXFILE = 'version = 1\n[targets.app]\nentry = ["src/flask/app.py"]\n'
PACKAGES, MODULES = 200, 100  # of the synthetic tree
SHOWN_ROUNDS = 25


def benchmark() -> Iterator[Row]:
    """The rows of the build benchmark, as they are measured."""
    django = corpus.source("django")
    with tempfile.TemporaryDirectory(prefix="ctxbuild-benchmark-") as name:
        place = Path(name).resolve()
        yield from cold(django, place / "cold")
        tree = corpus.working_copy(django, place / "tree", {"ctxfile.toml": CTXFILE.read_text()})
        yield from unchanged(tree, "Django's tree", limit=3.0)
        yield from edited(tree)
        yield from selected_again(tree)
        yield from shown(tree, "Django's tree", TARGET)
        flask = {"ctxfile.toml": FLASK_CTXFILE}
        tree = corpus.working_copy(corpus.source("flask"), place / "flask", flask)
        yield from shown(tree, "Flask's tree", "app")
        yield from unchanged(synthetic(place / "many"), "20,000 files", limit=2.5)


# An entry that asks for the facts of every file and for next to nothing else: its one call
# is looked up in the table of all symbols.
PROBE = "def probe(thing):\n    thing.a_name_that_nothing_has()\n"
PROBE_TARGET = 'version = 1\n[targets.probe]\nentry = ["probe.py"]\n'


def cold(django: Path, place: Path) -> Iterator[Row]:
    """Cold facts of Django's package against the least they can cost; a cold build's memory."""
    place.mkdir()
    shutil.copytree(django / "django", place / "django")
    (place / "probe.py").write_text(PROBE)
    (place / "ctxfile.toml").write_text(PROBE_TARGET)

    def forget() -> None:
        shutil.rmtree(place / CACHE, ignore_errors=True)

    for processes in sorted({1, min(2, os.cpu_count() or 1)}):
        floor = [sys.executable, "-m", "benchmarks.floor", str(place / "django"), str(processes)]
        runs = alternate(
            {
                "floor": Program(floor, corpus.ROOT),
                "build": Program(build("-j", str(processes)), place, before=forget),
            },
            COLD_ROUNDS,
        )
        yield Row(
            f"cold facts of Django's package, -j {processes}",
            seconds(runs["build"]),
            "s",
            against="parsing and counting alone",
            ratio=ratio(runs["build"], runs["floor"]),
            limit=2.5,
            note=f"{seconds(runs['floor']):.2f} s; the whole process, scan and store included",
        )
    (place / "ctxfile.toml").write_text(CTXFILE.read_text())
    watched = run(Program(build(), place, before=forget), watch_memory=True)
    bytes_used = watched.tree or watched.peak
    yield Row(
        "its peak memory, all processes",
        bytes_used / 1e6,
        "MB",
        limit=300.0,
        note=f"largest process {watched.peak / 1e6:.0f} MB",
    )


def unchanged(tree: Path, where: str, limit: float) -> Iterator[Row]:
    """A build that finds nothing to do against `git status`."""
    run(Program(build(), tree))
    runs = alternate(
        {
            "git": Program(["git", "status", "--porcelain"], tree),
            "null": Program(build("--json"), tree),
        },
        ROUNDS,
    )
    ran = [query for each in runs["null"] for query in queries(each)]
    yield Row(
        f"null build on {where}",
        seconds(runs["null"]),
        "s",
        against="git status",
        ratio=ratio(runs["null"], runs["git"]),
        limit=limit,
        note=f"{seconds(runs['git']):.3f} s" + (f"; but it ran {ran[:3]}" if ran else ""),
        right=not ran,
    )


def edited(tree: Path) -> Iterator[Row]:
    """A build after one edit to a body in a direct dependency, against the null build."""
    edits = count(1)
    path = tree / EDITED
    original = path.read_text()

    def edit() -> None:
        path.write_text(edit_body(original, next(edits)))

    runs = alternate(
        {
            "edit": Program(build("--json"), tree, before=edit),
            "null": Program(build("--json"), tree),
        },
        ROUNDS,
    )
    path.write_text(original)
    run(Program(build(), tree))
    facts = [
        [query for query in queries(each) if query.startswith("facts")] for each in runs["edit"]
    ]
    right = all(ran == [f"facts({EDITED})"] for ran in facts)
    yield Row(
        "build after a body edit in a dependency",
        seconds(runs["edit"]),
        "s",
        against="the null build",
        ratio=ratio(runs["edit"], runs["null"]),
        limit=2.0,
        note="one facts query" if right else f"facts queries: {facts[0]}",
        right=right,
    )


def selected_again(tree: Path) -> Iterator[Row]:
    """One target chosen anew after an edit of its entry to a version seen before."""
    path = tree / ENTRY
    original = path.read_text()
    versions = cycle((original + "\nedited = 1\n", original))

    def edit() -> None:
        path.write_text(next(versions))

    for _ in range(2):  # both versions once, so that their facts are known
        run(Program(build(TARGET), tree, before=edit))
    runs = alternate(
        {
            "edit": Program(build("--json", TARGET), tree, before=edit),
            "null": Program(build("--json", TARGET), tree),
        },
        ROUNDS,
    )
    path.write_text(original)
    run(Program(build(), tree))
    right = all(f"plan({TARGET})" in queries(each) for each in runs["edit"])
    yield Row(
        "one target selected again after an edit of its entry",
        seconds(runs["edit"]),
        "s",
        against="the null build",
        ratio=ratio(runs["edit"], runs["null"]),
        limit=3.0,
        note="facts of both versions are known",
        right=right,
    )


def shown(tree: Path, where: str, target: str) -> Iterator[Row]:
    """A fresh pack on stdout without a daemon, as a session starts, against a bare interpreter."""
    run(Program(build(), tree))
    pack = (tree / CACHE / "packs" / f"{target}.md").read_text()
    show = [*build()[:-2], "show", target]
    time.sleep(0.1)  # what was written a moment ago is not trusted to a glance
    run(Program(show, tree))
    note = tree / CACHE / "glance"
    right = note.exists()
    runs = alternate(
        {
            "bare": Program([sys.executable, "-c", "pass"], tree),
            "show": Program(show, tree),
            "git": Program(["git", "status", "--porcelain"], tree),
        },
        SHOWN_ROUNDS,
    )
    looks = alternate(
        {
            "bare": Program([sys.executable, "-c", "pass"], tree),
            "show": Program(show, tree, before=lambda: note.unlink(missing_ok=True)),
        },
        ROUNDS,
    )
    right = right and all(each.output == pack for each in (*runs["show"], *looks["show"]))
    yield Row(
        f"`show` of a fresh pack, {where}",
        seconds(runs["show"]),
        "s",
        against="python -c pass",
        ratio=ratio(runs["show"], runs["bare"]),
        limit=3.0,
        note=f"{seconds(runs['bare']):.3f} s; git status {seconds(runs['git']):.3f} s",
        right=right,
    )
    yield Row(
        "the first one after a build",
        seconds(looks["show"]),
        "s",
        against="python -c pass",
        ratio=ratio(looks["show"], looks["bare"]),
        note="it looks at the state, and notes what it saw",
    )


def build(*options: str) -> list[str]:
    """The command of a build: the installed console script, or else the module."""
    script = Path(sysconfig.get_path("scripts")) / (
        "ctxbuild.exe" if os.name == "nt" else "ctxbuild"
    )
    command = [str(script)] if script.exists() else [sys.executable, "-m", "ctxbuild"]
    return [*command, "build", "--quiet", *options]


def queries(done: Run) -> list[str]:
    """What a `build --json` ran, over all its targets, each query once."""
    targets: list[dict[str, Any]] = json.loads(done.output)["targets"]
    return sorted({query for target in targets for query in target["ran"]})


def edit_body(text: str, number: int) -> str:
    """The source with one more statement in its first function body that returns something.

    Raises:
        ValueError: there is none.
    """
    edited, done = re.subn(
        r"^([ \t]+)(?=return\b)", rf"\1edited = {number}\n\1", text, count=1, flags=re.MULTILINE
    )
    if not done:
        raise ValueError("no function body to edit")
    return edited


def synthetic(place: Path) -> Path:
    """A repository of 20,000 small modules that import each other."""
    for package in range(PACKAGES):
        directory = place / f"p{package:03}"
        directory.mkdir(parents=True)
        (directory / "__init__.py").touch()
        for module in range(MODULES - 1):
            (directory / f"m{module:02}.py").write_text(module_text(package, module))
    (place / "ctxfile.toml").write_text(
        'version = 1\n\n[targets.first]\nentry = ["p000/m00.py"]\nbudget = 8000\n'
    )
    corpus.commit(place)
    return place


def module_text(package: int, module: int) -> str:
    """The source of one synthetic module."""
    sibling = (module + 1) % (MODULES - 1)
    other = (package + 1) % PACKAGES
    return (
        f'"""Module {module} of package {package}."""\n\n'
        f"from p{other:03}.m{module:02} import Thing as Other\n"
        f"from p{package:03} import m{sibling:02}\n\n\n"
        "class Thing:\n"
        f'    """A thing of package {package}."""\n\n'
        "    def combine(self, other: Other) -> list[object]:\n"
        f"        return [self, other, m{sibling:02}.helper({module})]\n\n\n"
        "def helper(number: int) -> int:\n"
        f"    return number + {package * MODULES + module}\n"
    )
