"""What differs between two packs, block by block, with tokens gained and lost, and the reasons.

A and B are each a target (the working tree's pack), TARGET@REV (a commit's), a
NAME.pack.json, or the first digits of the digest of a pack that was built before.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ctxbuild.cli.console import Console


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("before", metavar="A", help="target, TARGET@REV, file or digest")
    parser.add_argument(
        "after",
        metavar="B",
        nargs="?",
        help="the same; by default the working tree's pack of A's target",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print the difference as JSON")
    how.add_argument("--markdown", action="store_true", help="print it for a pull request")
    parser.add_argument(
        "--exit-code", action="store_true", help="end with 1 where a model would read a difference"
    )


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.cli import differences
    from ctxbuild.cli.packs import references
    from ctxbuild.compare.diff import difference

    packs = references(args, console)
    before = packs.artifact(args.before)
    found = difference(before, packs.artifact(args.after or before.head.target))
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json(differences.as_data(found)))
    elif args.markdown:
        console.result(differences.as_markdown(found))
    else:
        console.result(differences.as_text(found, console.paint))
    return 1 if args.exit_code and found.differs else 0
