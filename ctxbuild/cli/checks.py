"""`build --check`: which packs are not what a build would give."""

from __future__ import annotations

import os
from argparse import Namespace

from ctxbuild.cli import render
from ctxbuild.cli.console import Console
from ctxbuild.cli.project import waiting_note
from ctxbuild.errors import UsageError
from ctxbuild.serve.check import Checked, check, rehearsal
from ctxbuild.source.ctxfile import Ctxfile


def run_check(args: Namespace, console: Console, ctxfile: Ctxfile, targets: list[str]) -> int:
    """Prints what is stale, missing, over budget or cannot be built; 1 if anything is."""
    if args.jobs < 0:
        raise UsageError(f"-j {args.jobs}: is negative", "give the number of processes")
    against = os.path.join(args.directory, args.against) if args.against else ""
    with rehearsal(ctxfile, workers=args.jobs, on_wait=waiting_note(console)) as session:
        found = check(session, ctxfile, targets, against)
        warnings = tuple(session.warnings)
    for warning in warnings:
        console.warn(warning)
    bad = any(each.problems for each in found)
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json({"ok": not bad, "targets": [each.data() for each in found]}))
    else:
        for each in found:
            for problem in each.problems:
                console.error(f"{each.name}: {problem.message}")
        rows = [("target", "status", "tokens / budget"), *map(_row, found)]
        console.result(render.table(rows, frozenset({2})))
        if bad:
            console.note("`ctxbuild build` brings packs up to date")
    return 1 if bad else 0


def _row(checked: Checked) -> tuple[str, str, str]:
    room = f"{checked.budget:,}" + (f" - {checked.reserve:,}" if checked.reserve else "")
    tokens = f"{checked.tokens:,}" if checked.status != "failed" else "-"
    return checked.name, checked.status, f"{tokens} / {room}"
