"""Delete the packs that were written; with --all the contents of the cache, too.

Only what ctxbuild wrote is deleted: a pack that somebody changed afterwards, and
a directory that is no cache of ctxbuild, are left alone.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ctxbuild.cli import render
from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile
from ctxbuild.source.paths import shown


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "--all", "--cache", dest="all", action="store_true", help="the cache's contents, too"
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would be deleted")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.serve.cleaning import clean

    cleaned = clean(find_ctxfile(args), everything=args.all, dry=args.dry_run)
    for path in cleaned.kept:
        console.warn(f"{shown(path)}: kept, because it was changed since it was written")
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json(cleaned))
        return 0
    verb = "would delete" if args.dry_run else "deleted"
    lines = [f"{verb} {shown(path)}" for path in cleaned.paths]
    lines.append(
        f"{render.size(cleaned.bytes)} {'would be' if args.dry_run else ''} freed".replace(
            "  ", " "
        )
        if cleaned.paths
        else "nothing to delete"
    )
    console.result("\n".join(lines))
    return 0
