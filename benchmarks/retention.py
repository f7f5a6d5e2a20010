"""How much of a pack stays a warm prefix from one commit to the next, and what that costs.

Retention is what a provider's prompt cache can reuse: tokens of the longest prefix
that two consecutive packs have in common, by tokens of the new pack. It is taken
over the commits that change the pack at all, for packs as they are built by default
("stable") and for packs that prefer the one before ("prefer"). Where repomix and aider
are installed, the same is taken of theirs.

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
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from benchmarks import corpus
from benchmarks.prefixes import rows_of_peers, tenth
from benchmarks.table import Row, render
from ctxbuild.compare.artifact import Artifact, Cause, Head, Shown
from ctxbuild.compare.delta import appendix
from ctxbuild.compare.prefix import common_prefix
from ctxbuild.compare.prices import DEFAULT_MODEL, Price, compare, price_of, prompt
from ctxbuild.model import Block, Pack
from ctxbuild.pack.tokens import counter
from ctxbuild.serve.past import history
from ctxbuild.source import ctxfile as ctxfiles

BUDGETS = (4_000, 16_000)
COMMITS = 80
PROMPTS = 5  # after each commit
SESSION = 10  # commits; then another one begins, with nothing in the cache
GOAL_MEDIAN, GOAL_TENTH = 0.9, 0.5
ENTRIES = ("src/flask/app.py", "src/flask/cli.py", "src/flask/helpers.py", "src/flask/ctx.py")
_CACHE = "cache-of-retention"


@dataclass(slots=True)
class Trail:
    """What became of one target over all commits.

    Attributes:
        retained: share of each changed pack that is a prefix of the one before it.
        broken: section, form and kind of change of what broke the prefix.
        untouched, kept: commits that touched nothing the pack uses, and those of them
            that left it identical.
        fresh, delta: dollars for reading each pack anew, and for following by deltas.
        covered: share of what is read that was read before, following by deltas.
    """

    steps: int = 0
    same: int = 0
    retained: list[float] = field(default_factory=list)
    covered: list[float] = field(default_factory=list)
    broken: dict[tuple[str, str, str], int] = field(default_factory=dict)
    untouched: int = 0
    kept: int = 0
    fresh: float = 0.0
    delta: float = 0.0


class Reader:
    """Follows one target from pack to pack and pays for it."""

    def __init__(self, price: Price) -> None:
        self.trail = Trail()
        self._price = price
        self._before: Pack | None = None
        self._read = 0  # tokens in the context of who follows by deltas
        self._number = 0

    def step(self, pack: Pack, touched: frozenset[str]) -> None:
        """Takes the next pack.

        Args:
            pack: the target's pack after the commit.
            touched: paths that the commit touched.
        """
        before, self._before = self._before, pack
        left = SESSION - self._number % SESSION
        self._number += 1
        price, trail = self._price, self.trail
        if before is None or left == SESSION:
            self._read = pack.tokens
            first = prompt(price, 0, pack.tokens)
            trail.fresh += first + self._rest(pack.tokens)
            trail.delta += first + self._rest(pack.tokens)
        if before is None:
            return
        trail.steps += 1
        same = before.digest == pack.digest
        trail.same += same
        if not touched & {block.path for block in before.blocks}:
            trail.untouched += 1
            trail.kept += same
        shared = pack.tokens
        if not same:
            shared = _count(pack, common_prefix(before.text, pack.text))
            trail.retained.append(shared / pack.tokens)
            cause = _cause(before, pack)
            trail.broken[cause] = trail.broken.get(cause, 0) + 1
        if left < SESSION:
            trail.fresh += prompt(price, shared, pack.tokens - shared) + self._rest(pack.tokens)
            self._follow(before, pack, shared, left, same=same)

    def _follow(self, before: Pack, pack: Pack, shared: int, left: int, *, same: bool) -> None:
        """By a delta, or from the beginning where that is cheaper for the rest of the session."""
        price = self._price
        text = "" if same else appendix(_artifact(before), _artifact(pack))
        tokens = _count(pack, text)
        choice = compare(
            price,
            old=self._read,
            new=pack.tokens,
            shared=shared,
            delta=tokens,
            turns=PROMPTS * left,
        )
        cached, whole = self._read, self._read + tokens
        if tokens and choice.fresh_is_cheaper:
            cached, whole = shared, pack.tokens
        if not same:
            self.trail.covered.append(cached / whole)
        self.trail.delta += prompt(price, cached, whole - cached) + self._rest(whole)
        self._read = whole

    def _rest(self, tokens: int) -> float:
        return (PROMPTS - 1) * prompt(self._price, tokens, 0)


def _count(pack: Pack, text: str) -> int:
    return counter(pack.tokenizer)([text])[0]


def _cause(before: Pack, after: Pack) -> tuple[str, str, str]:
    """What stands where the prefix ends."""
    known = {block.unit: block for block in before.blocks}
    old = [*before.blocks, None]
    for block, was in zip(after.blocks, old, strict=False):
        if was is None or (was.unit, was.text) != (block.unit, block.text):
            section = block.section or block.layer
            if block.unit not in known:
                return section, block.form, "new"
            changed = known[block.unit].text != block.text
            return section, block.form, "changed" if changed else "something before it went"
    return "", "", "something behind it went"


def _artifact(pack: Pack) -> Artifact:
    head = Head(pack.target, pack.digest, pack.tokenizer, pack.budget, pack.reserve, pack.tokens)
    return Artifact(head, tuple(_shown(block) for block in pack.blocks))


def _shown(block: Block) -> Shown:
    causes = tuple(Cause(reason.kind, reason.unit) for reason in block.reasons)
    fields = {name: getattr(block, name) for name in Block.__slots__ if name != "language"}
    return Shown(**{**fields, "reasons": causes, "lines": None})


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
        readers = {target.name: Reader(price) for target in targets}
        for revision, packs in history(ctxfile, revisions, workers=1):
            for name, pack in packs.items():
                if isinstance(pack, Pack):
                    readers[name].step(pack, touched[revision])
                    (place / f"{name}.json").write_text(_places(pack))
        for name, reader in readers.items():
            key = (layout, int(name.rpartition("-")[2]))
            found[key] = _together(found.get(key, Trail()), reader.trail)
    return found


def _places(pack: Pack) -> str:
    """What of an artifact a layout depends on."""
    names = ("layer", "section", "path", "symbol", "form", "unit", "digest")
    blocks = [{name: getattr(block, name) for name in names} for block in pack.blocks]
    return json.dumps({"target": pack.target, "digest": pack.digest, "blocks": blocks})


def _together(one: Trail, other: Trail) -> Trail:
    broken = dict(one.broken)
    for cause, times in other.broken.items():
        broken[cause] = broken.get(cause, 0) + times
    return replace(
        one,
        steps=one.steps + other.steps,
        same=one.same + other.same,
        retained=one.retained + other.retained,
        covered=one.covered + other.covered,
        broken=broken,
        untouched=one.untouched + other.untouched,
        kept=one.kept + other.kept,
        fresh=one.fresh + other.fresh,
        delta=one.delta + other.delta,
    )


# --- results ------------------------------------------------------------------------------


def rows_of(name: str, trails: dict[tuple[str, int], Trail]) -> Iterator[Row]:
    """The rows of one repository."""
    for (layout, budget), trail in trails.items():
        where = f"{name}, {budget:,} tokens, {layout}"
        if trail.retained:
            note = f"goal {GOAL_MEDIAN} and {GOAL_TENTH}; {len(trail.retained)} changes"
            yield Row(f"{where}: prefix retained, median", median(trail.retained), "", note=note)
            yield Row(f"{where}: prefix retained, p10", tenth(trail.retained), "")
        if layout == "stable" and trail.covered:
            what = f"{name}, {budget:,} tokens, by deltas: still read from cache"
            yield Row(f"{what}, median", median(trail.covered), "")
            yield Row(f"{what}, p10", tenth(trail.covered), "")
        yield Row(f"{where}: identical packs", trail.same / max(1, trail.steps), "")
        if layout == "stable" and trail.untouched:
            yield Row(
                f"{where}: identical where no file of it was touched",
                trail.kept / trail.untouched,
                "",
                note=f"{trail.untouched} commits",
            )
    yield from _costs(name, trails)


def _costs(name: str, trails: dict[tuple[str, int], Trail]) -> Iterator[Row]:
    for budget in BUDGETS:
        stable, prefer = trails["stable", budget], trails["prefer", budget]
        where = f"{name}, {budget:,} tokens, {SESSION} commits a session, {PROMPTS} prompts each"
        steps = max(1, stable.steps) / 1_000
        base = stable.fresh / steps
        ways = (("fresh packs", stable.fresh), ("prefer", prefer.fresh), ("deltas", stable.delta))
        for way, dollars in ways:
            value = dollars / steps
            yield Row(
                f"{where}: {way}",
                value,
                "$",
                "fresh packs" if way != "fresh packs" else "",
                value / base if way != "fresh packs" and base else None,
                note=f"a thousand commits, {DEFAULT_MODEL}",
            )


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
