"""Print the original behind a hash in a compacted session, byte for byte."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "hash", metavar="HASH", help="the digits that a note or a shortened turn names"
    )
    parser.add_argument("--json", action="store_true", help="print its whole hash and its text")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.serve.recall import recall
    from ctxbuild.serve.session import cache_directory

    ctxfile = find_ctxfile(args)
    data = recall(ctxfile, cache_directory(ctxfile), args.hash)
    if not args.json:
        console.result_bytes(data)
        return 0
    from hashlib import sha256

    from ctxbuild.cli.data import to_json

    text = data.decode("utf-8", "replace")
    console.result(to_json({"hash": sha256(data).hexdigest(), "text": text}))
    return 0
