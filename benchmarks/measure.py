"""Whole processes, run alternately, with their time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from typing import IO

PAUSE = 0.02  # seconds between two looks at memory


class ProgramFailed(Exception):
    """A measured program ended with an error."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program.

    Attributes:
        seconds: from start to end.
        peak: bytes of the largest single process.
        tree: bytes of it and its children together, at the worst moment seen: pages
            that they share count once. 0 where the system does not tell.
        output: its standard output.
    """

    seconds: float
    peak: int
    tree: int
    output: str


@dataclass(frozen=True, slots=True)
class Program:
    """Something to run again and again.

    Attributes:
        command: the argument list.
        cwd: where.
        before: called before each run, outside the measurement.
    """

    command: Sequence[str]
    cwd: Path
    before: Callable[[], None] | None = None


def run(program: Program, watch_memory: bool = False) -> Run:
    """Run a program once.

    Args:
        program: what to run; its standard error is shown when it fails.
        watch_memory: also add up the memory of its children, which costs some time.

    Raises:
        ProgramFailed: it did not end with 0.
    """
    if program.before is not None:
        program.before()
    # Files, because a full pipe would make the program wait for us.
    with TemporaryFile() as output, TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            program.command,
            cwd=program.cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        )
        watcher = _Watcher(process.pid) if watch_memory else None
        status, peak = _wait(process)
        seconds = time.perf_counter() - started
        tree = watcher.stop() if watcher else 0
        if status != 0:
            end = _text(errors)[-2000:]
            raise ProgramFailed(f"{' '.join(program.command)}: exit code {status}\n{end}")
        return Run(seconds, peak, max(tree, peak) if tree else 0, _text(output))


def alternate(programs: Mapping[str, Program], rounds: int) -> dict[str, list[Run]]:
    """Run the programs in turn, A B A B, after one round that warms up and is not counted."""
    runs: dict[str, list[Run]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, program in programs.items():
            measured = run(program)
            if number > 0:
                runs[name].append(measured)
    return runs


def seconds(runs: Sequence[Run]) -> float:
    """The median time."""
    return median(each.seconds for each in runs)


def ratio(runs: Sequence[Run], base: Sequence[Run]) -> float:
    """The median over the rounds of how much longer one took than the other."""
    return median(a.seconds / b.seconds for a, b in zip(runs, base, strict=True))


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """The exit code and the bytes of the largest process."""
    if not hasattr(os, "wait4"):
        return process.wait(), 0
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return process.returncode, usage.ru_maxrss * unit


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


class _Watcher:
    """Looks again and again how much memory a process and its children hold (Linux)."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        self._ended.set()
        self._thread.join()
        return self._peak

    def _watch(self) -> None:
        while not self._ended.wait(PAUSE):
            self._peak = max(self._peak, sum(map(_memory, _family(self._pid))))


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    family = [pid]
    for member in family:
        for listing in Path(f"/proc/{member}/task").glob("*/children"):
            try:
                family += map(int, listing.read_text().split())
            except OSError:
                continue
    return family


def _memory(pid: int) -> int:
    """Bytes of a process, shared pages divided among those who share them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
