"""How much of what other tools make stays a prefix from one commit to the next.

The figures that `benchmarks.retention` takes of packs, of aider's repository map and
of repomix. Both are slow, so only the last commits are looked at that touch what
the tools read; what is not installed is skipped with a message.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """The rows of one repository, those of tools that are not installed left out.

    Args:
        name: what the rows call the repository.
        repository: a clone; left alone.
        touched: the commits that are followed, the oldest first, and the paths that each touched.
        entries: files, for each of which aider makes a map; repomix packs their directory.
        budgets: tokens of a map.
    """
    package = os.path.commonpath([os.path.dirname(entry) or "." for entry in entries])
    revisions = last_steps(touched, package)
    tools: dict[str, Tool] = {"repomix": lambda tree: _repomix(tree, package)}
    for budget in budgets:
        tools[f"aider's map, {budget:,} tokens"] = _mapper(entries, budget)
    for tool, run in tools.items():
        try:
            changes, retained = follow(repository, revisions, run)
        except (ImportError, OSError, subprocess.SubprocessError) as error:
            print(f"{name}, {tool}: skipped: {error}", file=sys.stderr)
            continue
        if retained:
            note = f"last {len(revisions) - 1} commits that touch code, {changes} changes"
            what = f"{name}, {tool}: prefix retained"
            yield Row(f"{what}, median", median(retained), "", note=note)
            yield Row(f"{what}, p10", tenth(retained), "")


def last_steps(
    touched: Mapping[str, frozenset[str]], package: str, steps: int = STEPS
) -> list[str]:
    """The last commits that touch what the tools read, and the one before them.

    The others leave it as it is, so that consecutive ones of these differ by one step.
    """
    revisions = list(touched)
    below = "" if package == "." else f"{package}/"
    places = [
        place
        for place, revision in enumerate(revisions)
        if place and any(path.endswith(".py") or path.startswith(below) for path in touched[revision] if path)
    ][-steps:]
    return [revisions[place] for place in (places[0] - 1, *places)] if places else []


def follow(repository: Path, revisions: Sequence[str], tool: Tool) -> tuple[int, list[float]]:
    """How many outputs a commit changed, and the share of each that is a prefix of the last one."""
    count = counter("o200k_base")
    before: Outputs = {}
    retained: list[float] = []
    for revision in revisions:
        with tempfile.TemporaryDirectory(prefix="ctxbuild-peers-") as place:
            tree = Path(place).resolve() / "tree"
            check_out(repository, revision, tree)
            after = tool(tree)
        for key in before.keys() & after.keys():
            old, new = before[key], after[key]
            if old != new and new:
                shared, whole = count([common_prefix(old, new), new])
                retained.append(shared / whole)
        before = after
    return len(retained), retained
