"""`python -m benchmarks packets DIR`: packets of manuals, their share of tokens, their sections.

Every Markdown file of DIR is a manual and is compiled for every task; `--task` gives
other tasks than the two below. A goal is that a packet of a manual of more than
2,000 tokens has at most a tenth of them, that no packet has more tokens than its
manual, and that sections whose titles say what is asked are in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Row, render, write_json
from ctxbuild.facts.documents import read
from ctxbuild.serve.session import Session
from ctxbuild.source import ctxfile

TASKS = {
    "how to authenticate with an API key": ("API Keys", "API Key "),
    "how pagination works": ("Pagination",),
}
"""Task to the beginnings of titles that answer it."""

_LARGE = 2_000
_SHARE = 0.1


@dataclass(frozen=True)
class Measured:
    """One packet.

    Attributes:
        manual: tokens of the manual.
        sections: section path of every section that is shown.
        wanted: section paths that should be.
        steps: that the loop took.
    """

    name: str
    task: str
    tokens: int
    manual: int
    sections: tuple[str, ...]
    wanted: tuple[str, ...]
    steps: int
    seconds: float

    @property
    def share(self) -> float:
        """Tokens of the packet for each of the manual's."""
        return self.tokens / self.manual if self.manual else 0.0


def measured(directory: Path, tasks: Iterable[str]) -> Iterator[Measured]:
    """A packet for every manual and task, each built in a project of its own."""
    tasks = list(tasks)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for manual in sorted(directory.glob("*.md"), key=lambda path: path.stat().st_size):
            (root / manual.name).write_bytes(manual.read_bytes())
            rows = ["version = 1\n"]
            rows += [
                f"[targets.t{n}]\ndocs = {json.dumps(manual.name)}\ntask = {json.dumps(task)}\n"
                for n, task in enumerate(tasks)
            ]
            rows.append(f"[targets.whole]\nfiles = {json.dumps(manual.name)}\nbudget = 1000000\n")
            (root / "ctxfile.toml").write_text("".join(rows))
            session = Session(ctxfile.load(root / "ctxfile.toml"), workers=1)
            whole = session.artifact("whole")[0].blocks[0].tokens
            for n, task in enumerate(tasks):
                yield _one(session, manual, f"t{n}", task, whole)


def _one(session: Session, manual: Path, target: str, task: str, whole: int) -> Measured:
    started = time.perf_counter()
    pack, plan, _ = session.artifact(target)
    seconds = time.perf_counter() - started
    document = read(manual.name, manual.read_bytes())
    paths = {f"{manual.name}#{s.slug}": " > ".join(s.heading.titles) for s in document.sections}
    shown = [paths[b.unit] for b in pack.blocks if b.section == "provenance"]
    begins = TASKS.get(task, ())
    wanted = [path for path in paths.values() if path.rpartition(" > ")[2].startswith(begins)]
    (record,) = [json.loads(text) for _, text in plan.records]
    steps = len(record["steps"])
    return Measured(
        manual.stem, task, pack.tokens, whole, tuple(shown), tuple(wanted), steps, seconds
    )


def rows_of(found: Iterable[Measured]) -> Iterator[Row]:
    """What was measured as rows of a table."""
    for each in found:
        missing = [path for path in each.wanted if path not in each.sections]
        last = ", ".join(path.rpartition(" > ")[2] for path in each.sections)
        yield Row(
            f"{each.name}: {each.task}",
            each.tokens,
            "tokens",
            f"{each.manual:,} of the manual",
            round(each.share, 3),
            _SHARE if each.manual > _LARGE else 1.0,
            f"missing: {', '.join(missing)}" if missing else last or "nothing in it",
            right=not missing,
        )


def main(arguments: list[str]) -> int:
    """Measures the manuals of a directory; 0, or 1 where there is none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks packets", description=__doc__)
    parser.add_argument("directory", type=Path, metavar="DIR", help="with manuals in Markdown")
    parser.add_argument("--task", action="append", metavar="TEXT", help="another task")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args(arguments)
    rows = list(rows_of(measured(options.directory, options.task or TASKS)))
    if not rows:
        print(f"{options.directory}: no manual", file=sys.stderr)
        return 1
    print(render("packets", rows))
    if options.json:
        write_json(options.json, {"packets": rows})
    return 0
