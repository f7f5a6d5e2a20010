"""An appendix that turns a pack that a model has already read into the present one.

It goes behind the conversation, so that everything before it stays in the prompt
cache. Whether a fresh pack would be cheaper is told on stderr.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ctxbuild.cli.console import Console

if TYPE_CHECKING:
    from ctxbuild.compare.prices import Choice
    from ctxbuild.serve.deltas import Update


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    from ctxbuild.compare.prices import DEFAULT_MODEL, DEFAULT_TURNS

    parser.add_argument("target", metavar="TARGET", help="a target of the ctxfile")
    parser.add_argument(
        "--since",
        metavar="PACK",
        required=True,
        help="the pack that was read: its digest (or the first digits), file, or TARGET@REV",
    )
    parser.add_argument("--rev", metavar="REV", help="to a commit's pack, not the working tree's")
    parser.add_argument("--json", action="store_true", help="exact, as data that can be applied")
    parser.add_argument(
        "--model", metavar="MODEL", default="", help=f"whose prices count ({DEFAULT_MODEL})"
    )
    parser.add_argument(
        "--turns",
        metavar="N",
        type=int,
        default=DEFAULT_TURNS,
        help=f"prompts that follow ({DEFAULT_TURNS})",
    )
    parser.add_argument(
        "--history",
        metavar="TOKENS",
        type=int,
        default=0,
        help="tokens of the conversation behind the pack (0)",
    )


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.cli.packs import references
    from ctxbuild.cli.project import find_ctxfile
    from ctxbuild.compare.prices import price_of
    from ctxbuild.errors import UsageError
    from ctxbuild.serve.deltas import update

    for name in ("turns", "history"):
        least = 1 if name == "turns" else 0
        if getattr(args, name) < least:
            raise UsageError(f"--{name} {getattr(args, name)}: must be at least {least}")
    price = price_of(args.model)
    ctxfile = find_ctxfile(args)
    ctxfile.target(args.target)
    found = update(
        references(args, console),
        ctxfile,
        args.target,
        args.since,
        revision=args.rev,
        price=price,
        turns=args.turns,
        history=args.history,
    )
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json(found.data()))
        return 0
    if not found.text:
        console.note(f"{args.target}: nothing that was read has changed")
        return 0
    console.result(found.text)
    console.flush()
    console.note(_advice(found, found.choice))
    return 0


def _advice(found: Update, choice: Choice) -> str:
    price = choice.price
    cheaper = "a fresh pack is cheaper" if choice.fresh_is_cheaper else "the delta is cheaper"
    turns = "1 turn" if choice.turns == 1 else f"{choice.turns} turns"
    return (
        f"{cheaper}: {found.tokens:,} tokens behind what was read cost ${choice.delta:.4f} over "
        f"{turns}, a fresh pack of {found.fresh:,}, of which {found.shared:,} are still a prefix, "
        f"${choice.fresh:.4f} ({price.model}, list prices of {price.date})"
    )
