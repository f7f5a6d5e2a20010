"""How much of a pack stays a warm prefix from one commit to the next, and what that costs.

Retention is what a provider's prompt cache can reuse: tokens of the longest prefix
that two consecutive packs have in common, by tokens of the new pack. It is taken
over the commits that change the pack at all, for packs as they are built by default
("stable"), for packs that prefer the one before ("prefer"), for the best order that
their blocks could have had if the change had been known, and for a reader to whom the
pack and its delta are the next pack. Where repomix and aider are installed, the first
is taken of theirs.

    python -m benchmarks retention
    python -m benchmarks.retention REPOSITORY --entry src/a.py --entry src/b.py --commits 80

The first follows consecutive sdists of one project, the second the first-parent
commits of any clone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import median

from benchmarks import corpus
from benchmarks.prefixes import rows_of_peers, tenth
from benchmarks.table import Row, render
from benchmarks.trail import PROMPTS, SESSION, TALKS, Reader, Trail, together
from ctxbuild.compare.prices import DEFAULT_MODEL, Price, price_of
from ctxbuild.model import Pack
from ctxbuild.serve.past import history
from ctxbuild.source import ctxfile as ctxfiles

BUDGETS = (4_000, 16_000)
COMMITS = 80
GOAL_MEDIAN, GOAL_TENTH = 0.9, 0.5
ENTRIES = ("src/flask/app.py", "src/flask/cli.py", "src/flask/helpers.py", "src/flask/ctx.py")
_CACHE = "cache-of-retention"


# --- repositories -------------------------------------------------------------------------


def first_parents(repository: Path, commits: int) -> list[str]:
    """The last commits of the main line, the oldest first."""
    out = _git(repository, "log", "--first-parent", f"-{commits + 1}", "--format=%H")
    return out.split()[::-1]


def touched_by(repository: Path, revision: str) -> frozenset[str]:
    """Paths that differ from the first parent."""
    names = ("-m", "--first-parent", "--name-only", "--no-renames", "-z", "--format=")
    return frozenset(_git(repository, "log", "-1", *names, revision).split("\0"))


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def follow(
    repository: Path, entries: Sequence[str], commits: int, price: Price
) -> dict[tuple[str, int], Trail]:
    """The trails of all entries, by layout and budget.

    Args:
        repository: a work tree; only its ctxfile and cache directory are written.
        entries: files, each of which is a target per budget.
        commits: how many to go through.
        price: of the model that reads.
    """
    revisions = first_parents(repository, commits)
    touched = {revision: touched_by(repository, revision) for revision in revisions}
    found: dict[tuple[str, int], Trail] = {}
    for layout in ("stable", "prefer"):
        place = repository / _CACHE / layout
        place.mkdir(parents=True, exist_ok=True)
        targets = tuple(
            ctxfiles.Target(
                f"{number}-{budget}",
                (ctxfiles.Layer("entry", "entry", (entry,)),),
                budget,
                prefer=f"{_CACHE}/{layout}/{number}-{budget}.json" if layout == "prefer" else None,
            )
            for number, entry in enumerate(entries)
            for budget in BUDGETS
        )
        project = ctxfiles.Project(cache=f"{_CACHE}/cache", out=f"{_CACHE}/packs")
        ctxfile = ctxfiles.Ctxfile("", str(repository), project, targets)
        readers = {t.name: Reader(price, best=layout == "stable") for t in targets}
        for revision, packs in history(ctxfile, revisions, workers=1):
            for name, pack in packs.items():
                if isinstance(pack, Pack):
                    readers[name].step(pack, touched[revision])
                    (place / f"{name}.json").write_text(_places(pack))
        for name, reader in readers.items():
            key = (layout, int(name.rpartition("-")[2]))
            found[key] = together(found.get(key, Trail()), reader.trail)
    return found


def _places(pack: Pack) -> str:
    """What of an artifact a layout depends on."""
    names = ("layer", "section", "path", "symbol", "form", "unit", "digest")
    blocks = [{name: getattr(block, name) for name in names} for block in pack.blocks]
    return json.dumps({"target": pack.target, "digest": pack.digest, "blocks": blocks})


# --- results ------------------------------------------------------------------------------


def rows_of(name: str, trails: dict[tuple[str, int], Trail]) -> Iterator[Row]:
    """The rows of one repository."""
    for (layout, budget), trail in trails.items():
        where = f"{name}, {budget:,} tokens"
        if trail.retained:
            note = f"goal {GOAL_MEDIAN} and {GOAL_TENTH}; {len(trail.retained)} changes"
            yield from _shares(f"{where}, {layout}: prefix retained", trail.retained, note)
        if trail.bound:
            yield from _shares(f"{where}, best order in hindsight: prefix retained", trail.bound)
        if trail.bound and trail.followed:
            yield from _shares(f"{where}, followed by deltas: prefix retained", trail.followed)
        yield Row(f"{where}, {layout}: identical packs", trail.same / max(1, trail.steps), "")
        if layout == "stable" and trail.untouched:
            yield Row(
                f"{where}, {layout}: identical where no file of it was touched",
                trail.kept / trail.untouched,
                "",
                note=f"{trail.untouched} commits",
            )
        if layout == "stable" and trail.grown:
            yield Row(
                f"{where}, followed by deltas: context at the end of a session, median",
                median(trail.grown),
                "packs",
                note=f"{max(trail.grown):.2f} at most",
            )
    yield from _costs(name, trails)


def _shares(what: str, values: Sequence[float], note: str = "") -> Iterator[Row]:
    yield Row(f"{what}, median", median(values), "", note=note)
    yield Row(f"{what}, p10", tenth(values), "")


def _costs(name: str, trails: dict[tuple[str, int], Trail]) -> Iterator[Row]:
    for budget, talk in product(BUDGETS, TALKS):
        stable, prefer = trails["stable", budget], trails["prefer", budget]
        bill = stable.bills[talk]
        said = f", {talk} tokens each" if talk else ""
        where = f"{name}, {budget:,} tokens, {PROMPTS} prompts a commit{said}"
        note = f"a thousand commits, {SESSION} a session, {DEFAULT_MODEL}"
        cost = 1_000 / max(1, stable.steps)
        yield Row(f"{where}: fresh packs", bill.fresh * cost, "$", note=note)
        ways = (
            ("prefer", prefer.bills[talk].fresh, ""),
            ("deltas where cheaper", bill.cheaper, f"begun anew {bill.anew} times"),
            ("deltas always", bill.always, ""),
        )
        for way, dollars, remark in ways:
            ratio = dollars / bill.fresh if bill.fresh else None
            yield Row(f"{where}: {way}", dollars * cost, "$", "fresh packs", ratio, note=remark)


def benchmark() -> Iterator[Row]:
    """Retention over consecutive sdists of one project."""
    with tempfile.TemporaryDirectory(prefix="ctxbuild-benchmark-") as name:
        repository = corpus.releases("flask", Path(name).resolve() / "flask")
        steps, title = len(corpus.RELEASES["flask"]) - 1, "releases of Flask"
        yield from rows_of(title, follow(repository, ENTRIES, steps, price_of("")))
        yield from _of_peers(title, repository, ENTRIES, steps)


def _of_peers(name: str, repository: Path, entries: Sequence[str], commits: int) -> Iterator[Row]:
    revisions = first_parents(repository, commits)
    touched = {revision: touched_by(repository, revision) for revision in revisions}
    yield from rows_of_peers(name, repository, touched, entries, BUDGETS)


def main(arguments: list[str] | None = None) -> int:
    """Retention over the commits of a clone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retention", description=__doc__)
    parser.add_argument("repository", type=Path, help="a clone; its work tree is left alone")
    parser.add_argument("--entry", action="append", required=True, metavar="PATH")
    parser.add_argument("--commits", type=int, default=COMMITS)
    parser.add_argument("--model", default="")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ctxbuild-benchmark-") as name:
        clone = Path(name).resolve() / "clone"
        command = ["git", "clone", "--quiet", "--shared", "--no-checkout"]
        subprocess.run([*command, str(options.repository), str(clone)], check=True)
        trails = follow(clone, options.entry, options.commits, price_of(options.model))
        title = options.repository.resolve().parent.name
        rows = [*rows_of(title, trails)]
        rows += _of_peers(title, clone, options.entry, options.commits)
        print(render(f"retention, {title}", rows))
        for (layout, budget), trail in trails.items():
            print(f"what broke the prefix, {layout}, {budget:,} tokens:")
            for cause, times in sorted(trail.broken.items(), key=lambda each: -each[1])[:6]:
                print(f"  {times:4}  {' / '.join(cause)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
