"""Bring targets up to date; a path instead of a target's name needs no ctxfile."""

from __future__ import annotations

from ctxbuild.cli import render
from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile, has_ctxfile
from ctxbuild.serve.fresh import quick_build
from ctxbuild.serve.results import BuildResult
from ctxbuild.source.ctxfile import Ctxfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from ctxbuild.stores.look import Look


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all; or a file")
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would run, only")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--explain", action="store_true", help="say why each stage ran")
    parser.add_argument(
        "--rev", metavar="REV", help="build from a commit, into @COMMIT beside the other packs"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a pack is not right"
    )
    parser.add_argument(
        "--against", metavar="PATH", help="with --check: the pack, or directory of packs, to check"
    )
    parser.add_argument(
        "--from", dest="bundle", metavar="BUNDLE", help="take from a bundle what is still right"
    )
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="with a file: its budget")


def plain(names: list[str]) -> dict[str, Any] | None:
    """The arguments of a command line of names alone."""
    return {"targets": names}


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    ctxfile, targets = _project(args)
    warnings: list[str] = []
    if args.check or args.against:
        return _check(args, console, ctxfile, targets)
    if args.bundle:
        return _from(args, console, ctxfile, targets)
    if args.rev is not None or getattr(args, "resident", None):
        return _build(args, console, ctxfile, targets, None, warnings)
    result, seen = quick_build(ctxfile, targets, warnings)
    if result is not None:
        _print(args, console, result)
        if args.explain:
            console.note("nothing ran: all is fresh")
        return 0
    return _build(args, console, ctxfile, targets, seen, warnings)


def _build(
    args: Namespace,
    console: Console,
    ctxfile: Ctxfile,
    targets: list[str],
    seen: Look | None,
    warnings: list[str],
) -> int:
    from ctxbuild.cli.progress import Progress
    from ctxbuild.cli.project import open_session

    progress = Progress(console)
    session = open_session(ctxfile, args, console, progress.on_event)
    for line in warnings:
        session.warn(line)
    with progress:
        result = session.build(targets, dry=args.dry_run, seen=seen)
    _print(args, console, result)
    if args.explain:
        from ctxbuild.cli.explanations import explain_events

        console.note(explain_events(session.events).rstrip("\n") or "nothing ran: all is fresh")
    return 2 if result.failed else 0


def _from(args: Namespace, console: Console, ctxfile: Ctxfile, targets: list[str]) -> int:
    import os
    from pathlib import Path

    from ctxbuild.cli.progress import Progress
    from ctxbuild.cli.project import open_session
    from ctxbuild.errors import UsageError
    from ctxbuild.serve import bundles

    other = next((flag for flag in ("rev", "dry_run") if getattr(args, flag)), "")
    if other:
        raise UsageError(f"--from and --{other.replace('_', '-')} exclude each other")
    bundle = bundles.read(Path(os.path.join(args.directory, args.bundle)))
    progress = Progress(console)
    session = open_session(ctxfile, args, console, progress.on_event)
    with progress:
        result = bundles.build_from(session, bundle, targets)
    _print(args, console, result)
    return 2 if result.failed else 0


def _check(args: Namespace, console: Console, ctxfile: Ctxfile, targets: list[str]) -> int:
    from ctxbuild.errors import UsageError

    if not args.check:
        raise UsageError("--against goes with --check", "add --check")
    other = next(
        (flag for flag in ("rev", "dry_run", "explain", "bundle") if getattr(args, flag)), ""
    )
    if other:
        raise UsageError(f"--check and --{other.replace('_', '-')} exclude each other")
    from ctxbuild.cli.checks import run_check

    return run_check(args, console, ctxfile, targets)


def _project(args: Namespace) -> tuple[Ctxfile, list[str]]:
    """The ctxfile, or one made up for files that are named instead of targets."""
    from ctxbuild.errors import UsageError

    if not args.targets:
        if args.budget is not None:
            raise UsageError("--budget goes with a file", "set the target's budget in the ctxfile")
        return find_ctxfile(args, remember=True), []
    from ctxbuild.cli.adhoc import adhoc, looks_like_path

    base = find_ctxfile(args) if has_ctxfile(args) else None
    declared = {target.name for target in base.targets} if base else set()
    files = [
        name
        for name in args.targets
        if name not in declared and looks_like_path(args.directory, name)
    ]
    if not files:
        if args.budget is not None:
            raise UsageError("--budget goes with a file", "set the target's budget in the ctxfile")
        return base or find_ctxfile(args), args.targets
    if len(files) < len(args.targets):
        other = next(name for name in args.targets if name not in files)
        raise UsageError(
            f"{files[0]!r} is a file, {other!r} is a target", "build either files or targets"
        )
    return adhoc(args.directory, files, args.budget, base), []


def _print(args: Namespace, console: Console, result: BuildResult) -> None:
    for warning in result.warnings:
        console.warn(warning)
    console.detail(f"{result.files:,} source files; {result.seconds * 1000:.0f} ms in all")
    for target in result.targets:
        if target.error:
            console.error(target.error)
        elif target.status == "built" or console.verbose:
            for warning in target.warnings:
                console.warn(f"{target.name}: {warning}")
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json(result.data()))
    else:
        console.result(render.build_table(result))
