"""Check the installation, the ctxfile and the cache, and tell what is left out of the sources.

Exits with 1 if something keeps builds from working.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ctxbuild.cli import render
from ctxbuild.cli.console import Console
from ctxbuild.errors import UsageError
from ctxbuild.serve.doctor import Diagnosis
from ctxbuild.source.paths import shown

_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "--left-out", action="store_true", help="list everything that is left out, and why"
    )
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    import os

    from ctxbuild.serve.doctor import diagnose

    if not os.path.isdir(args.directory):
        raise UsageError(f"{args.directory}: is not a directory", "correct -C")
    found = diagnose(args.directory, args.file)
    if args.json:
        from dataclasses import asdict

        from ctxbuild.cli.data import to_json

        data: dict[str, object] = {"checks": [asdict(check) for check in found.checks]}
        if args.left_out:
            data["left_out"] = [
                {"path": left.path, "reason": left.reason, "detail": left.detail}
                for left in found.left_out
            ]
        console.result(to_json(data))
    elif args.left_out:
        console.result(_left_out(found))
    else:
        console.result(_checks(found, console))
    return 1 if found.failed else 0


def _checks(found: Diagnosis, console: Console) -> str:
    width = max(len(check.name) for check in found.checks)
    lines = []
    for check in found.checks:
        status = console.paint(f"{check.status:4}", _COLORS[check.status])
        hint = f": {check.hint}" if check.hint else ""
        lines.append(f"{status}  {check.name:{width}}  {shown(check.text)}{hint}\n")
    return "".join(lines)


def _left_out(found: Diagnosis) -> str:
    if not found.left_out:
        return "nothing is left out\n"
    rows = [("path", "reason", "detail")]
    rows += [(left.path, left.reason, left.detail) for left in found.left_out]
    return render.table(rows)
