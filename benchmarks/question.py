"""What question layers cost: a cold index, the index after an edit, a question to warm state.

All on Django's package with its documents and tests, in whole processes of the command
line, run alternately with what they are compared with.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks import corpus
from benchmarks.build import CACHE, EDITED, PROBE, ROUNDS, build, queries
from benchmarks.measure import Program, alternate, ratio, run, seconds
from benchmarks.table import Row

COLD_ROUNDS = 2
REPORTS = (
    "QuerySet.defer() ignores select_related on a deferred foreign key",
    "Migration autodetector loses renamed fields",
    "Why does the session middleware save an empty session?",
    "makemessages crashes with UnicodeDecodeError on Windows",
    "Admin inline formsets forget the initial values",
)
_TARGETS = """version = 1
[project]
include = ["django/**", "docs/**", "tests/**"]
[targets.probe]
entry = ["django/probe.py"]
[targets.answer]
question = "{}"
budget = 4000
"""


def benchmark() -> Iterator[Row]:
    """The rows of the benchmark, as they are measured."""
    with tempfile.TemporaryDirectory(prefix="ctxbuild-benchmark-") as name:
        files = {"ctxfile.toml": _TARGETS.format(REPORTS[0]), "django/probe.py": PROBE}
        place = Path(name).resolve() / "tree"
        tree = corpus.working_copy(corpus.source("django"), place, files)
        yield cold(tree)
        run(Program(build(), tree))
        yield asked(tree)
        yield edited(tree)


def cold(tree: Path) -> Row:
    """Facts and index of everything, against the facts of everything alone."""

    def forget() -> None:
        shutil.rmtree(tree / CACHE, ignore_errors=True)

    runs = alternate(
        {
            "facts": Program(build("probe", "-j", "1"), tree, before=forget),
            "index": Program(build("answer", "-j", "1"), tree, before=forget),
        },
        COLD_ROUNDS,
    )
    return Row(
        "cold index of Django, and an answer, -j 1",
        seconds(runs["index"]),
        "s",
        against="its cold facts",
        ratio=ratio(runs["index"], runs["facts"]),
        limit=3.0,
        note=f"{seconds(runs['facts']):.2f} s",
    )


def asked(tree: Path) -> Row:
    """A build after only the question changed, against one with nothing to do."""
    number = count(1)

    def ask() -> None:
        report = f"{REPORTS[next(number) % len(REPORTS)]} ({next(number)})"
        (tree / "ctxfile.toml").write_text(_TARGETS.format(report))

    runs = alternate(
        {
            "asked": Program(build("--json"), tree, before=ask),
            "null": Program(build("--json"), tree),
        },
        ROUNDS,
    )
    ran = {tuple(queries(each)) for each in runs["asked"]}
    expected = {("pack(answer)", "plan(answer)")}
    return Row(
        "a new question to warm state",
        seconds(runs["asked"]),
        "s",
        against="the null build",
        ratio=ratio(runs["asked"], runs["null"]),
        limit=3.0,
        note=f"{seconds(runs['null']):.3f} s",
        right=ran == expected,
    )


def edited(tree: Path) -> Row:
    """A build after an edit that no answer shows, against one with nothing to do."""
    number = count(1)
    path = tree / EDITED
    original = path.read_text()

    def edit() -> None:
        path.write_text(f"{original}\n\ndef added_{next(number)}():\n    pass\n")

    runs = alternate(
        {
            "edit": Program(build("--json"), tree, before=edit),
            "null": Program(build("--json"), tree),
        },
        ROUNDS,
    )
    path.write_text(original)
    ran = {tuple(queries(each)) for each in runs["edit"]}
    return Row(
        "the index after one edit",
        seconds(runs["edit"]),
        "s",
        against="the null build",
        ratio=ratio(runs["edit"], runs["null"]),
        limit=3.0,
        note=f"{seconds(runs['null']):.3f} s",
        right=ran == {(f"facts({EDITED})",)},
    )
