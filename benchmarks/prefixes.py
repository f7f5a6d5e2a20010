"""How much of what other tools make stays a prefix from one commit to the next.

The figures that `benchmarks.retention` takes of packs, of aider's repository map and
of repomix. Both are slow, so only the last commits are looked at that touch what
the tools read; what is not installed is skipped with a message.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.peers import TIMEOUT, aider_map, repomix
from benchmarks.table import Row
from ctxbuild.compare.prefix import common_prefix
from ctxbuild.pack.tokens import counter

STEPS = 12

Outputs = dict[str, str]
"""What a tool makes of a tree, by what it was made for."""

Tool = Callable[[Path], Outputs]


def rows_of_peers(
    name: str,
    repository: Path,
    touched: Mapping[str, frozenset[str]],
    entries: Sequence[str],
    budgets: Sequence[int],
) -> Iterator[Row]:
    """The rows of one repository, without those of tools that are not installed.

    Args:
        name: what the rows call the repository.
        repository: a clone; left alone.
        touched: by the commits that are followed, the oldest first, the paths they touched.
        entries: files, for each of which aider makes a map; repomix packs their directory.
        budgets: tokens of a map.
    """
    package = os.path.commonpath([os.path.dirname(entry) for entry in entries]) or "."
    revisions = last_steps(touched, package)
    for tool, run in _tools(entries, budgets, package):
        try:
            retained = retained_by(run, repository, revisions)
        except (ImportError, OSError, subprocess.SubprocessError) as error:
            print(f"{name}, {tool}: skipped: {error}", file=sys.stderr)
            continue
        if retained:
            what = f"{name}, {tool}: prefix retained"
            note = f"last {len(revisions) - 1} commits that touch code; {len(retained)} changes"
            yield Row(f"{what}, median", median(retained), "", note=note)
            yield Row(f"{what}, p10", tenth(retained), "")


def _tools(
    entries: Sequence[str], budgets: Sequence[int], package: str
) -> Iterator[tuple[str, Tool]]:
    yield "repomix", lambda tree: {package: repomix(tree, tree.with_name("repomix.out"), package)}
    for budget in budgets:
        yield f"aider's map, {budget:,} tokens", partial(_maps, entries=entries, budget=budget)


def _maps(tree: Path, *, entries: Sequence[str], budget: int) -> Outputs:
    there = (entry for entry in entries if (tree / entry).is_file())
    return {entry: aider_map(tree, entry, budget) for entry in there}


def last_steps(
    touched: Mapping[str, frozenset[str]], package: str, steps: int = STEPS
) -> list[str]:
    """The last commits that touch what the tools read, and the one before them.

    Whatever is left out between two of them changed nothing for the tools.
    """
    below = "" if package == "." else f"{package}/"
    revisions = list(touched)
    places = [
        place
        for place, revision in enumerate(revisions)
        if place and any(_is_read(path, below) for path in touched[revision])
    ][-steps:]
    return [revisions[place] for place in (places[0] - 1, *places)] if places else []


def _is_read(path: str, below: str) -> bool:
    return path.endswith(".py") or (path != "" and path.startswith(below))


def retained_by(tool: Tool, repository: Path, revisions: Sequence[str]) -> list[float]:
    """Of each output that a commit changed, the share that is a prefix of the one before.

    Args:
        tool: takes a directory with the files of a commit.
        repository: a clone.
        revisions: the commits, the oldest first.
    """
    count = counter("o200k_base")
    before: Outputs = {}
    retained = []
    with tempfile.TemporaryDirectory(prefix="ctxbuild-peers-") as place:
        # Always the same directory: the order of aider's map depends on its name.
        tree = Path(place).resolve() / "tree"
        for revision in revisions:
            check_out(repository, revision, tree)
            after = tool(tree)
            for name, new in after.items():
                old = before.get(name, new)
                if new and old != new:
                    shared, whole = count([common_prefix(old, new), new])
                    retained.append(shared / whole)
            before = after
            shutil.rmtree(tree)
    return retained


def check_out(repository: Path, revision: str, tree: Path) -> None:
    """Puts the files of a commit into a directory, which must not exist."""
    tree.mkdir()
    command = ["git", "-C", str(repository), "archive", "--format=tar", revision]
    archive = subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(tree, filter="data")


def tenth(values: Sequence[float]) -> float:
    """The value that a tenth of them do not exceed."""
    return sorted(values)[int(0.1 * (len(values) - 1))]
