"""Where each item of a packet comes from: document, section, ordinal, and how it was found.

ITEM is a unit or the end of one (`api-keys@7`), a section, or words of the item; what
was left out is found by its unit too. Without ITEM: every item, and the steps in
which the documents were read.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ctxbuild.cli.console import Console
from ctxbuild.cli.progress import Progress
from ctxbuild.cli.project import find_ctxfile, open_session, say_warnings
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.serve.tracing import Reading, Trace, Traced


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("target", metavar="TARGET", help="a target with a `docs` layer")
    parser.add_argument("item", metavar="ITEM", nargs="?", default="", help="an item or a section")
    parser.add_argument("--json", action="store_true", help="print the trace as JSON")
    parser.add_argument("--rev", metavar="REV", help="of a commit instead of the working tree")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.serve.tracing import trace

    ctxfile = find_ctxfile(args)
    ctxfile.target(args.target)
    progress = Progress(console)
    session = open_session(ctxfile, args, console, progress.on_event)
    with progress:
        found = trace(session, args.target, args.item)
    say_warnings(console, session)
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json(found))
    elif args.item:
        console.result("".join(f"{line}\n" for each in found.items for line in _whole(each)))
    else:
        console.result("".join(f"{line}\n" for line in _all(found)))
    return 0


def _all(found: Trace) -> Iterator[str]:
    yield f"{found.target}: {found.tokens:,} / {found.budget:,} tokens, {len(found.items)} items"
    for part, items in groupby(found.items, key=lambda each: each.part):
        yield ""
        yield part
        yield from (f"  {_source(each)}: {_short(each.text)}" for each in items)
    for reading in found.readings:
        yield ""
        yield from _reading(reading)


def _source(each: Traced) -> str:
    parts = [each.path, each.section, each.ordinal]
    source = ", ".join(part for part in parts if part)
    lines = f" (line {each.lines[0]})" if each.lines else ""
    return shown(source + lines)


def _short(text: str) -> str:
    flat = shown(" ".join(text.split()))
    return flat if len(flat) <= 80 else flat[:77] + "..."


def _whole(each: Traced) -> Iterator[str]:
    yield f"{shown(each.unit)}: {each.verdict}" + (f", {shown(each.why)}" if each.why else "")
    yield f"  source: {_source(each)}"
    if each.part:
        modality = f", {each.modality}" if each.modality else ""
        yield f"  in: {each.part}{modality}, {each.tokens:,} tokens"
    if each.found:
        yield f"  section kept: {shown(each.found)}"
    yield from (f"  {shown(step)}" for step in each.way)
    if each.text:
        yield from (f"  | {shown(line)}" for line in each.text.split("\n"))


def _reading(reading: Reading) -> Iterator[str]:
    task = f" for {shown(reading.task)!r}" if reading.task else ""
    ended = f", ended: {reading.stopped}" if reading.stopped else ""
    yield f"layer {reading.layer}: read by {reading.policy}{task}{ended}"
    for number, step in enumerate(reading.steps, 1):
        yield f"  {number}. {shown(_step(step))}"


def _step(step: Mapping[str, Any]) -> str:
    if "read" not in step:
        what, value = next(iter(step.items()))
        return f"{what} {', '.join(value) if isinstance(value, list) else value}"
    told = [f"read {step['read']}"]
    if "refused" in step:
        told.append(f"refused: {step['refused']}")
    if "expand" in step:
        told.append(f"{len(step['expand'])} inside")
    told += [step[key] for key in ("analyze", "monitor") if key in step]
    return "; ".join(told)
