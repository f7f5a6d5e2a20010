"""Look at the repository and write a commented ctxfile.toml with targets that build."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ctxbuild.cli.console import Console
from ctxbuild.errors import UsageError


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--force", action="store_true", help="replace an existing ctxfile")
    parser.add_argument("-n", "--dry-run", action="store_true", help="print it, write nothing")
    parser.add_argument("--json", action="store_true", help="print what was declared as JSON")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.serve.starter import starter
    from ctxbuild.source import ctxfile as ctxfiles
    from ctxbuild.stores.atomic import write_if_changed

    if not os.path.isdir(args.directory):
        raise UsageError(f"{args.directory}: is not a directory", "correct -C")
    path = os.path.join(args.directory, args.file or ctxfiles.FILE_NAME)
    if os.path.lexists(path) and not args.force and not args.dry_run:
        raise UsageError(f"{path}: exists already", "edit it, or replace it with --force")
    text = starter(os.path.dirname(os.path.abspath(path)))
    made = ctxfiles.parse(text, path)
    if not args.dry_run:
        write_if_changed(Path(path), text.encode())
    names = [target.name for target in made.targets]
    if args.json:
        from ctxbuild.cli.data import to_json

        targets = [
            {"name": t.name, "patterns": list(t.layers[0].patterns), "budget": t.budget}
            for t in made.targets
        ]
        console.result(to_json({"path": path, "written": not args.dry_run, "targets": targets}))
    elif args.dry_run:
        console.result(text)
    else:
        console.result(f"wrote {path} with {len(names)} targets: {', '.join(names)}")
        console.note("now run `ctxbuild build`")
    return 0
