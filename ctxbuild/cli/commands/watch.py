"""Keep targets fresh while files change, and answer `build`, `show` and `why` without a delay.

`watch status` tells of the daemon that runs for this project, `watch stop` ends it.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from ctxbuild.cli.console import Console
from ctxbuild.errors import UsageError


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "what", nargs="?", choices=("status", "stop"), help="about the daemon that runs already"
    )
    parser.add_argument(
        "--detach", action="store_true", help="in the background; gives control back"
    )
    parser.add_argument("--detached", action="store_true", help="be the process in the background")
    parser.add_argument(
        "--exec",
        metavar="CMD",
        dest="command",
        help="run CMD after a pack changed, with CTXBUILD_TARGET and CTXBUILD_DIGEST set",
    )
    parser.add_argument("--poll", action="store_true", help="scan again and again; no file events")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each thing")
    parser.add_argument(
        "--idle",
        type=float,
        metavar="SECONDS",
        help="in the background: end after so long without anything to do (default: 3 hours)",
    )


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    path = ctxfile_path(args)
    root = os.path.realpath(os.path.dirname(path))
    if args.what == "status":
        return _status(args, console, root)
    if args.what == "stop":
        return _stop(console, root)
    if args.idle is not None and args.idle <= 0:
        raise UsageError(f"--idle {args.idle:g}: is no time", "give a positive number of seconds")
    if args.detach:
        from ctxbuild.serve.launch import start

        pid = start(path, root, _options(args))
        console.result(f"watching {root} as process {pid}")
        return 0
    from ctxbuild.cli.follow import follow

    return follow(path, args, console, _options(args))


def ctxfile_path(args: Namespace) -> str:
    """Absolute path of the ctxfile of `-f`, else of the nearest one from `-C` upwards.

    Raises:
        UsageError: there is none.
    """
    from ctxbuild.source import ctxfile as ctxfiles

    if args.file:
        path = os.path.abspath(os.path.join(str(args.directory), str(args.file)))
        if not os.path.isfile(path):
            raise UsageError(f"{path}: no such file", "correct -f")
        return path
    found = ctxfiles.find(args.directory)
    if found is None:
        raise UsageError(
            "no ctxfile.toml here or in a directory above", "run `ctxbuild init` first"
        )
    return found


def _options(args: Namespace) -> list[str]:
    options = ["--poll"] if args.poll else []
    if args.command:
        options += ["--exec", args.command]
    if args.idle is not None:
        options += ["--idle", str(args.idle)]
    if args.jobs:
        options += ["-j", str(args.jobs)]
    return options


def _status(args: Namespace, console: Console, root: str) -> int:
    from ctxbuild.serve.launch import status

    found = status(root)
    if found is None:
        console.note(f"nothing watches {root}")
        return 1
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json(found))
        return 0
    from ctxbuild.cli.liveview import status_lines

    console.result("".join(f"{line}\n" for line in status_lines(found)))
    return 0


def _stop(console: Console, root: str) -> int:
    from ctxbuild.serve.launch import stop

    if not stop(root):
        console.note(f"nothing watches {root}")
        return 1
    return 0
