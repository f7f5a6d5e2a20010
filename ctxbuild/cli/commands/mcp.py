"""Serve packs to agents over the Model Context Protocol, on stdin and stdout.

Packs are resources `ctx://pack/TARGET`; the tools list_packs, get_pack, why, expand
and delta_since look things up and change nothing. With --http it listens on this
machine only.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile
from ctxbuild.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxbuild.serve.why import Answer


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "--http", metavar="PORT", type=int, help="streamable HTTP on 127.0.0.1; 0 for a free port"
    )
    parser.add_argument(
        "--poll",
        metavar="SECONDS",
        type=float,
        default=1.0,
        help="how often to look for changes while a client has subscribed (1)",
    )


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    find_ctxfile(args)  # a wrong project is told at once
    if args.poll <= 0:
        raise UsageError(f"--poll {args.poll:g}: must be positive", "give seconds")
    if args.http is not None and not 0 <= args.http < 1 << 16:
        raise UsageError(f"--http {args.http}: is no port", "give one of 0 to 65535")
    try:
        import anyio

        from ctxbuild.serve.mcp import HOST, PackServer
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("mcp", "mcp_types", "anyio", "uvicorn"):
            raise UsageError(
                f"the package {error.name!r} is not installed",
                "pip install 'ctxbuild[mcp]'",
            ) from error
        raise
    from ctxbuild.serve.toolbox import Toolbox

    box = Toolbox(lambda: find_ctxfile(args), explained, args.jobs)
    server = PackServer(box, args.poll)
    if args.http is None:
        anyio.run(server.stdio)
    else:

        def tell(port: int) -> None:
            console.note(f"serving http://{HOST}:{port}/mcp")
            console.flush()

        anyio.run(server.http, args.http, tell)
    return 0


def explained(answer: Answer) -> str:
    """An answer of `why` as `ctxbuild why` prints it."""
    from ctxbuild.cli.commands.why import about_all, about_unit

    plain = Console(color="never")
    lines = about_unit(answer, plain) if answer.unit else about_all(answer, plain)
    return "".join(f"{line}\n" for line in lines)
