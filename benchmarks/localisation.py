"""How well question layers find what a fix edits: recall of files, and of symbols in full.

    python -m benchmarks localisation FILE.jsonl --repositories DIR

A row of the file: `id`, `question` (a report), `gold`: a list of `file` and `symbols`
(`path:Class.method`), and, for whoever makes the checkouts, `repo` and `base_commit`.
`DIR/ID` holds the tree of a row at its `base_commit`. Everything goes through the
product: one target per budget, built as `ctxbuild build` builds it; nothing is read
but the ranks of the search and the artifacts. A symbol counts as found in full if
every line of its source stands in the pack, in order and without a gap.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

BUDGETS = (2_000, 4_000, 8_000, 16_000)
PLACES = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question.

    Attributes:
        first, last: places of the best and of the worst placed gold file, 0 if one is missing.
        whole: budget to whether every gold symbol stands in full in the pack.
        tokens: budget to tokens of the pack.
        seconds: of the search and all packs together.
    """

    id: str
    first: int
    last: int
    whole: dict[int, bool] = field(default_factory=dict)
    tokens: dict[int, int] = field(default_factory=dict)
    seconds: float = 0.0


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark and prints its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks localisation")
    parser.add_argument("questions", type=Path, metavar="FILE.jsonl")
    parser.add_argument("--repositories", type=Path, required=True, metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a row per question there")
    args = parser.parse_args(arguments)
    rows = [json.loads(line) for line in args.questions.read_text().splitlines() if line.strip()]
    outcomes = []
    for row in rows:
        place = args.repositories / row["id"]
        if not place.is_dir():
            print(f"{row['id']}: no checkout in {args.repositories}", file=sys.stderr)
            continue
        outcomes.append(measure(row, place))
        print(_line(outcomes[-1]), file=sys.stderr, flush=True)
    if args.json:
        args.json.write_text("".join(json.dumps(_data(each)) + "\n" for each in outcomes))
    print("\n".join(table(outcomes)))
    return 0 if outcomes else 2


def measure(row: dict[str, object], place: Path) -> Outcome:
    """Runs one question through the product.

    Args:
        row: of the file of questions.
        place: the checkout; its cache is kept in it.
    """
    from ctxbuild.serve.ranking import ranked
    from ctxbuild.serve.session import Session
    from ctxbuild.source import ctxfile
    from ctxbuild.source.schema import OPTIONS

    question, gold = str(row["question"]), row["gold"]
    assert isinstance(gold, list)
    options = tuple((key.name, key.default) for key in OPTIONS["question"])
    layer = ctxfile.Layer("question", "question", (question,), options=options)
    targets = tuple(ctxfile.Target(f"q{budget}", (layer,), budget) for budget in BUDGETS)
    project = ctxfile.Ctxfile("", str(place.resolve()), ctxfile.Project(), targets)
    started = time.perf_counter()
    files = ranked(Session(project), question).files
    places = [files.index(g["file"]) + 1 if g["file"] in files else 0 for g in gold]
    wanted = [split(name) for g in gold for name in g["symbols"]]
    whole, tokens = {}, {}
    for budget in BUDGETS:
        pack, _, _ = Session(project).artifact(f"q{budget}")
        whole[budget] = all(in_full(place, path, name, pack.text) for path, name in wanted)
        tokens[budget] = pack.tokens
    found = [each for each in places if each]
    return Outcome(
        id=str(row["id"]),
        first=min(found, default=0),
        last=max(found) if len(found) == len(places) else 0,
        whole=whole,
        tokens=tokens,
        seconds=time.perf_counter() - started,
    )


def split(symbol: str) -> tuple[str, str]:
    """`path:Class.method` as (path, qualified name)."""
    path, _, name = symbol.partition(":")
    return path, name


def in_full(place: Path, path: str, name: str, text: str) -> bool:
    """Whether all of a definition's lines stand one below the other in a text.

    How far the lines are indented does not count: a pack shows them at another depth.
    """
    bodies = _bodies(place, path, name)
    shown = f"\n{_bare(text)}\n"
    return bool(bodies) and all(f"\n{_bare(body)}\n" in shown for body in bodies)


def _bodies(place: Path, path: str, name: str) -> list[str]:
    from ctxbuild.facts import extract, language_of

    facts = extract((place / path).read_bytes(), language_of(path))
    return [
        body
        for (symbol, _), body in zip(facts.outline.symbols, facts.bodies, strict=True)
        if symbol == name
    ]


def _bare(text: str) -> str:
    return "\n".join(row.strip() for row in text.strip().split("\n"))


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The figures over all questions, as a table in Markdown."""
    total = max(1, len(outcomes))
    yield f"{len(outcomes)} questions"
    yield ""
    yield "| file recall | any gold file | all gold files |"
    yield "|---|---:|---:|"
    for most in PLACES:
        some = sum(0 < each.first <= most for each in outcomes)
        every = sum(0 < each.last <= most for each in outcomes)
        yield f"| @{most} | {100 * some / total:.1f} % | {100 * every / total:.1f} % |"
    yield ""
    yield "| budget | gold symbols in full | tokens (mean) |"
    yield "|---:|---:|---:|"
    whole: Counter[int] = Counter()
    for each in outcomes:
        whole.update(budget for budget, holds in each.whole.items() if holds)
    for budget in BUDGETS:
        mean = sum(each.tokens[budget] for each in outcomes) / total
        yield f"| {budget:,} | {100 * whole[budget] / total:.1f} % | {mean:,.0f} |"


def _data(each: Outcome) -> dict[str, object]:
    return {
        "id": each.id,
        "file_rank": each.first,
        "last_file_rank": each.last,
        "whole": each.whole,
        "tokens": each.tokens,
        "seconds": round(each.seconds, 3),
    }


def _line(each: Outcome) -> str:
    marks = " ".join(f"{b}:{'yes' if holds else 'no'}" for b, holds in each.whole.items())
    return f"{each.id}: file {each.first or '-'}, in full {marks}, {each.seconds:.1f} s"
