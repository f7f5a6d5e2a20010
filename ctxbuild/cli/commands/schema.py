"""Print the JSON Schema of the ctxfile, for editors and checks."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ctxbuild.cli.console import Console


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--json", action="store_true", help="it is JSON in any case")


def run(args: Namespace, console: Console) -> int:  # noqa: ARG001  # the signature of all commands
    """Runs the command."""
    from ctxbuild.cli.data import to_json
    from ctxbuild.source.schema import generate

    console.result(to_json(generate()))
    return 0
