"""Write packs, plans and what they rest on as one archive, or check one.

`ctxbuild build --from FILE` starts from it: a pack whose inputs are all as they
were is taken out of the bundle, and nothing is built for it.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile, open_session, say_warnings
from ctxbuild.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxbuild.serve.bundles import Bundle


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-o", "--output", metavar="FILE", help="default: NAME.ctxbundle")
    what.add_argument("--verify", metavar="FILE", help="check a bundle; 1 if it was tampered with")
    parser.add_argument("--json", action="store_true", help="print the manifest as JSON")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.serve import bundles

    if args.verify:
        if args.targets:
            raise UsageError("--verify checks all of a bundle", "leave out the targets")
        path = Path(args.directory, args.verify)
        bundle = bundles.read(path)
    else:
        from ctxbuild.cli.progress import Progress

        ctxfile = find_ctxfile(args)
        path = bundles.default_path(ctxfile, args.directory)
        if args.output:
            path = Path(os.path.join(args.directory, args.output))
        progress = Progress(console)
        session = open_session(ctxfile, args, console, progress.on_event)
        with progress:
            bundle = bundles.make(session, path, args.targets)
        say_warnings(console, session)
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json(bundle.head))
    else:
        console.result(_summary(path, bundle))
    return 0


def _summary(path: Path, bundle: Bundle) -> str:
    from ctxbuild.cli import render

    head = bundle.head
    revision = head["revision"]
    rows = [("target", "tokens", "digest")]
    rows += [(each["name"], f"{each['tokens']:,}", each["digest"]) for each in head["targets"]]
    lines = [f"{path}: {len(bundle.files)} files, ctxbuild {head['ctxbuild']}"]
    if revision:
        state = "" if revision["clean"] else ", changed since"
        lines.append(f"commit {revision['commit']}{state}")
    lines.append(f"manifest {bundle.digest}")
    return "\n".join(lines) + "\n" + render.table(rows, frozenset({1}))
