"""Who imports whom: in the whole repository, or from some files or a target's entry on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ctxbuild.cli import graphs
from ctxbuild.cli.console import Console
from ctxbuild.cli.progress import Progress
from ctxbuild.cli.project import find_ctxfile, open_session, say_warnings
from ctxbuild.errors import UsageError

if TYPE_CHECKING:
    from ctxbuild.serve.lookup import Desk
    from ctxbuild.source.ctxfile import Target


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="file, directory or glob")
    parser.add_argument("--target", metavar="TARGET", help="start from what it lists")
    parser.add_argument("--depth", type=int, metavar="N", help="most steps from the start")
    parser.add_argument(
        "--external", action="store_true", help="modules that are not in the repository, too"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="nodes and edges as JSON")
    form.add_argument("--dot", action="store_true", help="for Graphviz")
    form.add_argument("--mermaid", action="store_true", help="for Mermaid")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.serve.imports import import_graph
    from ctxbuild.serve.lookup import ask

    if args.depth is not None and args.depth < 1:
        raise UsageError(f"--depth {args.depth}: must be at least 1")
    if args.depth is not None and not args.paths and not args.target:
        raise UsageError("--depth counts from a start", "name a PATH or a --target")
    ctxfile = find_ctxfile(args)
    target = ctxfile.target(args.target) if args.target else None
    progress = Progress(console)
    session = open_session(ctxfile, args, console, progress.on_event)
    with progress:
        graph = ask(
            session,
            lambda desk: import_graph(
                desk, _starts(desk, args, target), args.depth, external=args.external
            ),
        )
    say_warnings(console, session)
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json(graphs.as_data(graph)))
    elif args.dot:
        console.result(graphs.as_dot(graph))
    elif args.mermaid:
        console.result(graphs.as_mermaid(graph))
    else:
        console.result(graphs.as_lines(graph))
    return 0


def _starts(desk: Desk, args: Namespace, target: Target | None) -> list[str]:
    import os

    from ctxbuild.serve.why import near_paths

    found: list[str] = []
    root = desk.workspace.snapshot.root
    for path in args.paths:
        full = os.path.join(os.path.realpath(args.directory), path)
        inside = os.path.relpath(full, root).replace(os.sep, "/")
        if inside == ".":
            return list(desk.workspace.snapshot.paths)
        matches = desk.view.matching(path) or desk.view.matching(inside)
        if not matches:
            near = near_paths(path, desk.workspace.snapshot.paths)
            hint = f"did you mean {near[0]!r}?" if near else "see `ctxbuild doctor --left-out`"
            raise UsageError(f"{path}: matches no source file", hint)
        found += matches
    for layer in target.layers if target else ():
        for pattern in layer.patterns:
            if not pattern.startswith("!"):
                found += desk.view.matching(pattern.partition("::")[0])
    return list(dict.fromkeys(found))
