"""Why targets were last rebuilt; with -n, exactly what a build would run now, and why."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile, open_session, say_warnings

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Ctxfile


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("-n", "--dry-run", action="store_true", help="what a build would run")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    ctxfile = find_ctxfile(args)
    for name in args.targets:
        ctxfile.target(name)
    return _predict(args, ctxfile, console) if args.dry_run else _recall(args, ctxfile, console)


def _recall(args: Namespace, ctxfile: Ctxfile, console: Console) -> int:
    from ctxbuild.cli.explanations import chain_text
    from ctxbuild.serve.causes import last_causes

    wanted = [t.name for t in ctxfile.targets if not args.targets or t.name in args.targets]
    causes = {name: last_causes(ctxfile, name) for name in wanted}
    if args.json:
        from dataclasses import asdict

        from ctxbuild.cli.data import to_json

        rows = [
            {"name": name, "chains": [[asdict(link) for link in chain] for chain in chains]}
            for name, chains in causes.items()
        ]
        console.result(to_json({"targets": rows}))
        return 0
    for name, chains in causes.items():
        # The last stage's chain mostly leads through the one before.
        told = [any(link.node == chain[0].node for link in chains[-1]) for chain in chains[:-1]]
        wanted_chains = [c for c, known in zip(chains, [*told, False], strict=False) if not known]
        text = "".join(chain_text(chain) for chain in wanted_chains)
        console.result(text or f"{name} was never built\n")
    return 0


def _predict(args: Namespace, ctxfile: Ctxfile, console: Console) -> int:
    from ctxbuild.cli.explanations import event_data, explain_events
    from ctxbuild.cli.progress import Progress

    progress = Progress(console)
    session = open_session(ctxfile, args, console, progress.on_event)
    with progress:
        result = session.build(args.targets, dry=True)
    say_warnings(console, session)
    for target in result.targets:
        if target.error:
            console.error(target.error)
    if args.json:
        from ctxbuild.cli.data import to_json

        rows = [{"name": t.name, "status": t.status, "runs": list(t.ran)} for t in result.targets]
        events = list(event_data(session.events))
        console.result(to_json({"targets": rows, "runs": list(result.ran), "events": events}))
    else:
        console.result(
            explain_events(session.events, "would run") or "nothing would run: all is fresh\n"
        )
    return 2 if result.failed else 0
