"""What was built, one after another: metrics, plans, and how it went with them.

`log` lists the last builds, `log TARGET` those of a target, `log BUILD` shows the plan of
one. `log mark BUILD success|retry|failure` says how it went with a pack; `log --stats`
shows the distribution of that, target by target.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ctxbuild.cli import render
from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile
from ctxbuild.errors import UsageError
from ctxbuild.source.paths import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ctxbuild.source.ctxfile import Ctxfile
    from ctxbuild.stores.assembly_lines import Build, Marked, Story

_MARK = "mark"
_LAST = 20


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="a TARGET, a BUILD, or `mark BUILD success|retry|failure`",
    )
    parser.add_argument("-n", "--last", metavar="N", type=int, default=_LAST, help="so many builds")
    parser.add_argument("--stats", action="store_true", help="what became of the builds")
    parser.add_argument("--note", metavar="TEXT", default="", help="why it is marked so")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    ctxfile = find_ctxfile(args)
    words = args.words
    if words[:1] == [_MARK] and len(words) > 1:
        return _mark(args, console, ctxfile)
    if len(words) > 1:
        raise UsageError(f"{' '.join(words)!r}: is too much", "name one target or build")
    if args.note:
        raise UsageError("--note belongs to `log mark`", "write `log mark BUILD MARK --note TEXT`")
    if args.last < 1:
        raise UsageError(f"-n {args.last}: is no number of builds", "give at least 1")
    from ctxbuild.serve.journal import story_of

    story = story_of(ctxfile)
    _say_damage(console, story)
    name = words[0] if words else ""
    targets = {build.target for build in story.builds} | {each.name for each in ctxfile.targets}
    if name and name not in targets:
        return _one(args, console, ctxfile, story)
    if args.stats:
        return _stats(args, console, story, name)
    builds = [build for build in story.builds if name in ("", build.target)][-args.last :]
    if args.json:
        from ctxbuild.cli.data import to_json

        rows = [_data(build, story.marks(build.build)) for build in builds]
        console.result(to_json({"schema": "ctxbuild.log/1", "builds": rows}))
    elif not builds:
        console.note("nothing is logged yet: `ctxbuild build` logs what it builds")
    else:
        console.result(_table(builds, story))
    return 0


def _say_damage(console: Console, story: Story) -> None:
    if story.damaged:
        console.warn(f"the log: {story.damaged} damaged lines are passed over")
    if story.foreign:
        console.warn(f"the log: {story.foreign} lines of another version of ctxbuild")


# --- one build --------------------------------------------------------------------------


def _mark(args: Namespace, console: Console, ctxfile: Ctxfile) -> int:
    from ctxbuild.serve.journal import mark

    if len(args.words) != 3:
        raise UsageError("`log mark` takes a build and a mark", "write `log mark BUILD success`")
    build, known = mark(ctxfile, args.words[1], args.words[2], args.note)
    if args.json:
        from ctxbuild.cli.data import to_json

        data = {"build": build.build, "target": build.target, "mark": known, "note": args.note}
        console.result(to_json(data))
    else:
        console.result(f"{build.build} ({build.target}): marked {known}")
    return 0


def _one(args: Namespace, console: Console, ctxfile: Ctxfile, story: Story) -> int:
    """The plan of one build."""
    from pathlib import Path

    from ctxbuild.serve.journal import plan_of
    from ctxbuild.stores.assembly_log import AssemblyLog

    if args.stats:
        raise UsageError(f"--stats: no target {args.words[0]!r}", "name a target, or none for all")
    cache = Path(ctxfile.root, ctxfile.project.cache)
    build = AssemblyLog(cache).find(args.words[0])
    marks, plan = story.marks(build.build), plan_of(ctxfile, build)
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json({**_data(build, marks), "plan": plan}))
    else:
        console.result("".join(f"{line}\n" for line in _lines(build, marks, plan)))
    return 0


def _lines(build: Build, marks: tuple[Marked, ...], plan: dict[str, Any]) -> Iterator[str]:
    metrics = build.metrics
    yield f"{build.build}: {build.target}, {_when(build.at)}, inputs {build.inputs[:12]}"
    yield (
        f"tokens {metrics['tokens']:,} (estimated {metrics['estimated']:,}) of "
        f"{metrics['budget']:,} - {metrics['reserve']:,}; {metrics['blocks']} blocks of "
        f"{metrics['mean']:,.0f} on average; retrieval {100 * metrics['retrieval']:.0f} %"
    )
    yield (
        f"pins {metrics['pins']}, lost {metrics['pins_lost']}; "
        f"findings {metrics['findings']}, lost {metrics['findings_lost']}"
    )
    for each in marks:
        yield f"marked {each.mark}, {_when(each.at)}" + (
            f": {shown(each.note)}" if each.note else ""
        )
    yield ""
    rows = [("layer", "unit", "form", "tokens", "why")]
    for each in plan["candidates"]:
        why = each["why"] or ""
        rows.append(
            (
                each["layer"],
                each["unit"],
                each["form"] or "-",
                f"{each['tokens']:,}" if each["form"] else "-",
                f"{each['verdict']}: {why}" if why else each["verdict"],
            )
        )
    yield from render.table(rows, frozenset({3})).splitlines()


# --- all of them ------------------------------------------------------------------------


def _data(build: Build, marks: tuple[Marked, ...]) -> dict[str, Any]:
    said = [{"mark": each.mark, "note": each.note, "at": each.at} for each in marks]
    return {**build.data(), "marks": said}


def _table(builds: list[Build], story: Story) -> str:
    head = (
        *("build", "when", "target", "tokens", "estimated", "blocks", "mean", "retrieval"),
        *("lost", "marks"),
    )
    rows = [head, *(_row(build, story.marks(build.build)) for build in builds)]
    return render.table(rows, frozenset({3, 4, 5, 6, 7, 8}))


def _row(build: Build, marks: tuple[Marked, ...]) -> tuple[str, ...]:
    metrics = build.metrics
    return (
        build.build,
        _when(build.at),
        build.target,
        f"{metrics['tokens']:,}",
        f"{metrics['estimated']:,}",
        f"{metrics['blocks']:,}",
        f"{metrics['mean']:,.0f}",
        f"{100 * metrics['retrieval']:.0f} %",
        f"{metrics['pins_lost'] + metrics['findings_lost']}",
        " ".join(each.mark for each in marks) or "-",
    )


def _when(at: int) -> str:
    from time import gmtime, strftime

    return strftime("%Y-%m-%d %H:%M:%S", gmtime(at))


def _stats(args: Namespace, console: Console, story: Story, target: str) -> int:
    from ctxbuild.serve.journal import standings_of

    found = [each.data() for each in standings_of(story, target)]
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json({"schema": "ctxbuild.log-stats/1", "targets": found}))
        return 0
    head = (
        "target",
        "builds",
        "marked",
        "attempts",
        "first pass",
        "retries",
        "failures",
        "dropped",
    )
    rows = [head]
    rows += [
        (
            each["target"],
            f"{each['builds']:,}",
            f"{each['marked']:,}",
            f"{each['attempts']:,}" + (" and one open" if each["open"] else ""),
            _share(each["first_pass_share"]),
            f"{each['retries']:,}",
            _share(each["failure_share"]),
            _share(each["drop_rate"]),
        )
        for each in found
    ]
    console.result(render.table(rows, frozenset({1, 2, 3, 4, 5, 6, 7})))
    return 0


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"
