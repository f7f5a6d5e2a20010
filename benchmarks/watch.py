"""How fast the daemon is: from a save to the renamed pack, with nothing to do, and idle.

Saves and answers are timed from outside, as an editor and a shell see them.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import corpus
from benchmarks.build import CACHE, CTXFILE, build
from benchmarks.measure import Program, alternate, ratio, run, seconds
from benchmarks.table import Row

SAVES = 100
WARM_UP = 5
IDLE_SECONDS = 10.0
ROUNDS = 15
# file to the target whose pack shows it: a direct dependency and an entry.
EDITED = {
    "a dependency": ("django/http/cookie.py", "response"),
    "an entry": ("django/http/response.py", "response"),
}


def benchmark() -> Iterator[Row]:
    """The rows of the watch benchmark, as they are measured."""
    django = corpus.source("django")
    with tempfile.TemporaryDirectory(prefix="ctxbuild-benchmark-") as name:
        place = Path(name).resolve()
        tree = corpus.working_copy(django, place / "tree", {"ctxfile.toml": CTXFILE.read_text()})
        run(Program(build(), tree))
        with daemon(tree):
            for what, (file, target) in EDITED.items():
                yield from saves(tree, what, file, target)
        small, large = modules(place / "small", 2_000), modules(place / "large", 100_000)
        yield from nothing_to_do(small, large)
        yield from idle(directories(place / "wide", 12_000))


def saves(tree: Path, what: str, file: str, target: str) -> Iterator[Row]:
    """Milliseconds from the write of a file to the renamed artifact of a target."""
    path, output = tree / file, tree / CACHE / "packs" / f"{target}.pack.json"
    original = path.read_text()
    times = []
    for number in range(SAVES + WARM_UP):
        before = output.stat().st_ino, output.stat().st_mtime_ns
        text = edit(original, number)
        started = time.perf_counter()
        path.write_text(text)
        wait(lambda: (output.stat().st_ino, output.stat().st_mtime_ns) != before)  # noqa: B023
        if number >= WARM_UP:
            times.append(time.perf_counter() - started)
        time.sleep(0.05)
    path.write_text(original)
    times.sort()
    yield Row(f"save of {what} to its pack, p50", statistics.median(times), "s", limit=0.05)
    yield Row(f"save of {what} to its pack, p99", times[len(times) * 99 // 100], "s", limit=0.15)


def edit(text: str, number: int) -> str:
    """The source with a statement in its first function that returns something.

    It takes one line or two, in turn, so that all below it moves: an artifact names lines.
    """
    more = "\\n" * (number % 2)
    return re.sub(
        r"^([ \t]+)(?=return\b)",
        rf"\1edited = {number}\n{more}\1",
        text,
        count=1,
        flags=re.MULTILINE,
    )


def nothing_to_do(small: Path, large: Path) -> Iterator[Row]:
    """`build` through a daemon against a bare interpreter, in a small and a large tree."""
    for tree in (small, large):
        run(Program(build(), tree))
    with daemon(small), daemon(large):
        bare = Program([sys.executable, "-c", "pass"], small)
        runs = alternate(
            {
                "bare": bare,
                "small": Program(build(), small),
                "large": Program(build(), large),
            },
            ROUNDS,
        )
    yield Row(
        "`build` through the daemon, nothing to do",
        seconds(runs["small"]),
        "s",
        against="python -c pass",
        ratio=ratio(runs["small"], runs["bare"]),
        limit=3.0,
        note=f"{seconds(runs['bare']):.3f} s",
    )
    yield Row(
        "the same in 100,000 files",
        seconds(runs["large"]),
        "s",
        against="2,000 files",
        ratio=ratio(runs["large"], runs["small"]),
        limit=1.2,
    )


def idle(tree: Path) -> Iterator[Row]:
    """CPU of a daemon to which nothing happens."""
    run(Program(build(), tree))
    with daemon(tree) as pid:
        before = cpu_seconds(pid)
        time.sleep(IDLE_SECONDS)
        used = cpu_seconds(pid) - before
    tick = 1 / os.sysconf("SC_CLK_TCK")
    yield Row(f"CPU in {IDLE_SECONDS:.0f} s of idleness, 12,000 directories", used, "s", limit=tick)


@contextmanager
def daemon(tree: Path) -> Iterator[int]:
    """A daemon that has settled; gives its process id."""
    command = [*build()[:-2], "watch", "--detach", "--idle", "600"]
    pid = int(run(Program(command, tree)).output.split()[-1])
    try:
        run(Program(build(), tree))
        settle(pid)
        yield pid
    finally:
        subprocess.run([*build()[:-2], "watch", "stop"], cwd=tree, check=False, capture_output=True)


def settle(pid: int) -> None:
    """Waits until a process does nothing more."""
    last, quiet = -1.0, 0
    while quiet < 5:
        now = cpu_seconds(pid)
        quiet = quiet + 1 if now == last else 0
        last = now
        time.sleep(0.2)


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait(condition: Callable[[], bool], limit: float = 20.0) -> None:
    """Waits closely for something.

    Raises:
        TimeoutError: it does not come.
    """
    end = time.perf_counter() + limit
    while True:
        try:
            if condition():
                return
        except FileNotFoundError:
            pass
        if time.perf_counter() > end:
            raise TimeoutError("the daemon wrote nothing")
        time.sleep(0.0005)


def modules(place: Path, count: int) -> Path:
    """A repository of that many small files, one hundred to a directory."""
    for package in range(count // 100):
        directory = place / f"p{package:04}"
        directory.mkdir(parents=True)
        for module in range(100):
            (directory / f"m{module:02}.txt").write_text(f"{package} {module}\n")
    (place / "main.py").write_text("def main() -> int:\n    return 1\n")
    (place / "ctxfile.toml").write_text('version = 1\n[targets.main]\nentry = ["main.py"]\n')
    return place


def directories(place: Path, count: int) -> Path:
    """A repository of that many directories with a file each."""
    for number in range(count):
        directory = place / f"d{number // 100:03}" / f"e{number % 100:02}"
        directory.mkdir(parents=True)
        (directory / "note.txt").write_text(f"{number}\n")
    (place / "main.py").write_text("def main() -> int:\n    return 1\n")
    (place / "ctxfile.toml").write_text('version = 1\n[targets.main]\nentry = ["main.py"]\n')
    return place
