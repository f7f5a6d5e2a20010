"""Look at the cache (info), make it smaller (gc), check it (verify), or print where it is (dir).

`export FILE` writes it into one file, and `import FILE` puts it back, checked, for
the next run of a CI job, with the packs that a delta can begin from.

`gc` keeps what the packs of the ctxfile, and all packs that still exist, reach.
`verify` drops what is damaged, and exits with 1 if anything was.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from ctxbuild.cli import render
from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile, open_session, say_warnings, waiting_note
from ctxbuild.errors import UsageError
from ctxbuild.serve import maintenance

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Ctxfile


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "action",
        choices=("info", "gc", "verify", "dir", "export", "import"),
        help="what to do with the cache",
    )
    parser.add_argument("path", nargs="?", metavar="FILE", help="of export and import")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    moves = args.action in ("export", "import")
    if moves != bool(args.path):
        raise UsageError(
            f"cache {args.action}: takes {'a file' if moves else 'no file'}",
            f"ctxbuild cache {args.action}{' FILE' if moves else ''}",
        )
    return _ACTIONS[args.action](args, find_ctxfile(args), console)


def _info(args: Namespace, ctxfile: Ctxfile, console: Console) -> int:
    found = maintenance.info(ctxfile)
    if args.json:
        _json(console, found)
    elif not found.exists:
        console.result(f"{found.directory}: no cache yet")
    else:
        size = render.size
        rows = [("part", "size", "holds")]
        counts = [f"{count:,} {query}" for query, count in found.nodes]
        counts.append(f"{found.edges:,} dependencies")
        rows.append(("state", size(found.state_bytes), ", ".join(counts)))
        unused = f"{found.values:,} results, {found.values - found.live:,} of them unused"
        rows.append(("values", size(found.value_bytes), unused))
        rows.append(("packs", size(found.pack_bytes), ""))
        kept = f"{found.kept:,} packs that a delta can begin from"
        rows.append(("history", size(found.history_bytes), kept))
        rows.append(("log", size(found.log_bytes), f"{found.logged:,} builds"))
        console.result(f"{found.directory}\n{render.table(rows, frozenset({1}))}")
    if found.problem:
        console.warn(f"the state cannot be read: {found.problem}; see `ctxbuild cache verify`")
    return 0


def _gc(args: Namespace, ctxfile: Ctxfile, console: Console) -> int:
    cache = maintenance.info(ctxfile)
    if not cache.exists:
        swept = maintenance.Swept(0, 0, 0, 0)
    else:
        session = open_session(ctxfile, args, console)
        swept = maintenance.collect(session)
        say_warnings(console, session)
    if args.json:
        _json(console, swept)
    else:
        console.result(
            f"dropped {swept.values:,} results, {swept.nodes:,} answers and {swept.files:,} files; "
            f"freed {render.size(swept.bytes)}"
        )
    return 0


def _verify(args: Namespace, ctxfile: Ctxfile, console: Console) -> int:
    found = maintenance.verify(ctxfile, waiting_note(console))
    if args.json:
        _json(console, found)
    else:
        state = "nothing is damaged" if not found.problems else "what was damaged is dropped"
        lines = [*found.problems, f"checked {found.values:,} results: {state}"]
        console.result("\n".join(lines))
    return 1 if found.problems else 0


def _dir(args: Namespace, ctxfile: Ctxfile, console: Console) -> int:
    from ctxbuild.serve.session import cache_directory

    directory = str(cache_directory(ctxfile))
    if args.json:
        _json(console, {"directory": directory})
    else:
        console.result(directory)
    return 0


def _move(args: Namespace, ctxfile: Ctxfile, console: Console) -> int:
    from ctxbuild.serve import transfer

    path = Path(args.directory, args.path)
    move = transfer.export if args.action == "export" else transfer.load
    moved = move(ctxfile, path, waiting_note(console))
    if args.json:
        _json(console, moved)
    else:
        what = "exported to" if args.action == "export" else "imported from"
        console.result(f"{moved.files:,} files, {render.size(moved.bytes)} {what} {moved.path}")
    return 0


def _json(console: Console, value: object) -> None:
    from ctxbuild.cli.data import to_json

    console.result(to_json(value))


_ACTIONS = {
    "info": _info,
    "gc": _gc,
    "verify": _verify,
    "dir": _dir,
    "export": _move,
    "import": _move,
}
