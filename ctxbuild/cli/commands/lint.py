"""Whether an output breaks a MUST or MUST NOT of a packet: text, code, a diff, a directory.

Rules come from the packet's items and from `[[targets.NAME.rules]]`. What no rule can
decide is listed, and judged by a model with --model. Ends with 1 where a rule that
binds is broken.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ctxbuild.cli.console import Console
from ctxbuild.cli.progress import Progress
from ctxbuild.cli.project import find_ctxfile, open_session

if TYPE_CHECKING:
    from ctxbuild.compare.lint import Report


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "outputs",
        metavar="OUTPUT",
        nargs="+",
        help="file, directory, diff, or - for standard input",
    )
    parser.add_argument(
        "--packet",
        metavar="TARGET",
        required=True,
        help="the target (or NAME.pack.json) whose rules hold",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "sarif", "github"),
        default="text",
        help="how to print what is found",
    )
    parser.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="the same as --format json",
    )
    parser.add_argument(
        "--model",
        action="store_true",
        help="have the model that the environment names judge what no rule can decide",
    )


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.serve.linting import check, packet_of

    given = sys.stdin.buffer.read() if "-" in args.outputs else None
    progress = Progress(console)
    with progress:
        packet, rules = packet_of(
            args.packet,
            args.directory,
            lambda: find_ctxfile(args),
            lambda ctxfile: open_session(ctxfile, args, console, progress.on_event),
        )
    report = check(packet, rules, args.outputs, args.directory, given, model=_model(args))
    for warning in report.warnings:
        console.warn(warning)
    console.result(_shown(report, args.format, console))
    return 1 if report.fails else 0


def _model(args: Namespace) -> object | None:
    if not args.model:
        return None
    from ctxbuild.source.model_client import ModelClient

    return ModelClient()


def _shown(report: Report, form: str, console: Console) -> str:
    from ctxbuild import __version__
    from ctxbuild.cli import findings
    from ctxbuild.cli.data import to_json

    if form == "json":
        return to_json(findings.as_data(report))
    if form == "sarif":
        return to_json(findings.as_sarif(report, __version__))
    if form == "github":
        return findings.as_annotations(report)
    return findings.as_text(report, console.paint)
