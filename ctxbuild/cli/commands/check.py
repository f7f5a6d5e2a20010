"""Whether the packs' evidence is sound: signs of rot, and 1 where a target forbids one."""

from __future__ import annotations

import os

from ctxbuild.cli import render
from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile, waiting_note
from ctxbuild.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument(
        "--forbid",
        metavar="KIND,KIND",
        default="",
        help="signs that fail, besides those that targets forbid; `all` for every one",
    )
    parser.add_argument(
        "--against", metavar="DIR", help="the packs whose age is checked (default: where they are)"
    )
    parser.add_argument(
        "--drift",
        action="store_true",
        help="instead: whether packs still state task, files under work and findings",
    )
    parser.add_argument(
        "--turns", metavar="N", type=int, default=6, help="of a session, compared at either end"
    )
    parser.add_argument(
        "--model", action="store_true", help="with --drift: ask a model what the pack is about"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    if args.drift:
        from ctxbuild.cli import drifting

        return drifting.run(args, console)
    if args.model:
        raise UsageError("--model belongs to --drift", "write `check --drift --model`")
    from ctxbuild.serve.check import rehearsal
    from ctxbuild.serve.rot import inspect

    if args.jobs < 0:
        raise UsageError(f"-j {args.jobs}: is negative", "give the number of processes")
    ctxfile = find_ctxfile(args)
    against = os.path.join(args.directory, args.against) if args.against else ""
    with rehearsal(ctxfile, workers=args.jobs, on_wait=waiting_note(console)) as session:
        found = inspect(session, ctxfile, args.targets, _kinds(args.forbid), against)
        warnings = tuple(session.warnings)
    for warning in warnings:
        console.warn(warning)
    bad = any(each.error or each.forbidden for each in found)
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json({"ok": not bad, "targets": [each.data() for each in found]}))
        return 1 if bad else 0
    rows = [("target", "rot", "forbidden", "what")]
    for each in found:
        if each.error:
            console.error(each.error)
            rows.append((each.name, "-", "-", "cannot be built"))
        rows += [
            (each.name, rot.kind, "yes" if rot in each.forbidden else "no", rot.message)
            for rot in each.rot
        ]
        if not each.rot and not each.error:
            rows.append((each.name, "none", "-", ""))
    console.result(render.table(rows))
    return 1 if bad else 0


def _kinds(text: str) -> tuple[str, ...]:
    from difflib import get_close_matches

    from ctxbuild.pack.rot import KINDS

    kinds = [part.strip().upper() for part in text.split(",") if part.strip()]
    if "ALL" in kinds:
        return KINDS
    for kind in kinds:
        if kind not in KINDS:
            near = get_close_matches(kind, KINDS, 1)
            hint = f"did you mean {near[0]}?" if near else "one of " + ", ".join(KINDS)
            raise UsageError(f"--forbid: there is no {kind!r}", hint)
    return tuple(kinds)
