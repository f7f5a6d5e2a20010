"""Print a pack as the model reads it, its plan, or its blocks; it is brought up to date first."""

from __future__ import annotations

import os
import time

from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile
from ctxbuild.errors import UsageError
from ctxbuild.serve.fresh import quick_build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from ctxbuild.model import Pack, Plan
    from ctxbuild.source.ctxfile import Ctxfile

_PROVIDERS = ("anthropic", "openai", "gemini")


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("target", metavar="TARGET", help="a target of the ctxfile")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--plan", action="store_true", help="every candidate and its verdict")
    what.add_argument("--blocks", action="store_true", help="the blocks in order, without text")
    parser.add_argument(
        "--format",
        choices=("md", "xml", "json", "evidence", *_PROVIDERS),
        help="of the pack; json also of a plan; evidence lists chunks with provenance; a "
        "provider's name for parts of a request to it",
    )
    parser.add_argument(
        "--model", metavar="MODEL", help="of the provider: no cache breakpoint is below its minimum"
    )
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("--rev", metavar="REV", help="of a commit instead of the working tree")


def plain(names: list[str]) -> dict[str, Any] | None:
    """The arguments of a command line of names alone, None if it needs the parser."""
    return {"target": names[0]} if len(names) == 1 else None


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    form = "json" if args.json else args.format
    if args.model is not None and form not in _PROVIDERS:
        raise UsageError("--model goes with a provider", "add --format anthropic, for instance")
    if form not in (None, "json") and (args.plan or args.blocks):
        what = "--plan" if args.plan else "--blocks"
        raise UsageError(f"{what} is printed as a table or as JSON", f"leave out --format {form}")
    since = time.time_ns()
    ctxfile = find_ctxfile(args, remember=True)
    if not _quick(args, console, ctxfile, form, since):
        _build(args, console, ctxfile, form)
    return 0


def _ending(args: Namespace, form: str | None) -> str:
    """Of the output that holds what is asked for; "" where it has to be made."""
    if args.blocks:
        return "pack.json" if form else ""
    if args.plan:
        return "plan.json" if form else ""
    return {"json": "pack.json", "xml": "xml"}.get(form or "", "md")


def _quick(
    args: Namespace, console: Console, ctxfile: Ctxfile, form: str | None, since: int
) -> bool:
    """Prints the output of a target that is fresh, without what building would import."""
    ending = _ending(args, form)
    other = form in (*_PROVIDERS, "evidence") or args.rev is not None
    if not ending or other or getattr(args, "resident", None):
        return False
    warnings: list[str] = []
    result, seen = quick_build(ctxfile, [args.target], warnings, since=since)
    if seen is not None:
        seen.connection.close()
    if result is None:
        return False
    target = result.targets[0]
    file = f"{target.name}.{ending}"
    if file not in map(os.path.basename, target.outputs):
        return False
    try:
        with open(os.path.join(ctxfile.root, ctxfile.project.out, file), "rb") as output:
            data = output.read()
    except OSError:
        return False
    for line in (*warnings, *(f"{target.name}: {line}" for line in target.warnings)):
        console.warn(line)
    if args.blocks:
        console.result(_blocks_json(data))
    else:
        console.result_bytes(data)
    return True


def _build(args: Namespace, console: Console, ctxfile: Ctxfile, form: str | None) -> None:
    from ctxbuild.cli.progress import Progress
    from ctxbuild.cli.project import open_session, say_warnings

    progress = Progress(console)
    session = open_session(ctxfile, args, console, progress.on_event)
    with progress:
        pack, plan, files = session.artifact(args.target)
    say_warnings(console, session, pack.warnings, args.target)
    ending = _ending(args, form)
    if args.plan and not ending:
        console.result(_plan(plan))
    elif args.blocks:
        console.result(_blocks_json(files[f"{pack.target}.pack.json"]) if form else _blocks(pack))
    elif form in _PROVIDERS:
        console.result(_request(pack, ctxfile, form, args.model or ""))
    elif form == "evidence":
        from ctxbuild.compare.evidence import evidence_text

        console.result(evidence_text(files, pack.target))
    elif f"{pack.target}.{ending}" in files:
        console.result_bytes(files[f"{pack.target}.{ending}"])
    else:
        from ctxbuild.pack.render import rendering

        headers = ctxfile.target(pack.target).headers
        console.result_bytes(rendering(ending, pack.target, pack.blocks, headers).encode())


def _request(pack: Pack, ctxfile: Ctxfile, provider: str, model: str) -> str:
    """Parts of a request to a provider, as JSON."""
    from ctxbuild.cli.data import to_json
    from ctxbuild.serve.messages import messages

    return to_json(messages(pack, provider, model, ctxfile.target(pack.target).headers))


def _plan(plan: Plan) -> str:
    from ctxbuild.cli import render

    rows = [("verdict", "form", "tokens", "unit", "reason")]
    for verdict in plan.verdicts:
        reason = verdict.reasons[0] if verdict.reasons else None
        why = f"{reason.kind} {reason.unit or reason.detail}".strip() if reason else ""
        more = f" and {len(verdict.reasons) - 1} more" if len(verdict.reasons) > 1 else ""
        left = f" [{verdict.why}]" if verdict.why else ""
        rows.append(
            (
                verdict.verdict,
                verdict.form or "-",
                f"{verdict.tokens:,}" if verdict.form else "-",
                verdict.unit,
                f"{why}{more}{left}",
            )
        )
    room = f"{plan.budget:,}" + (f" - {plan.reserve:,}" if plan.reserve else "")
    return f"{render.table(rows, frozenset({2}))}{plan.tokens:,} / {room} tokens\n"


def _blocks(pack: Pack) -> str:
    from ctxbuild.cli import render

    rows = [("form", "tokens", "section", "unit")]
    rows += [(b.form, f"{b.tokens:,}", b.section or b.layer, b.unit) for b in pack.blocks]
    return render.table(rows, frozenset({1}))


def _blocks_json(artifact: bytes) -> str:
    import json

    from ctxbuild.cli.data import to_json

    blocks = json.loads(artifact)["blocks"]
    return to_json([{k: v for k, v in block.items() if k != "text"} for block in blocks])
