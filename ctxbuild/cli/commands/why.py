"""Why a unit is in a pack, or why not, in which form and at which cost.

Without a unit: every candidate with its reasons and its cost.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from ctxbuild.cli.console import Console
from ctxbuild.cli.progress import Progress
from ctxbuild.cli.project import find_ctxfile, open_session, say_warnings
from ctxbuild.cli.sentences import (
    absence_sentence,
    reason_sentence,
    step_sentence,
    why_sentence,
)
from ctxbuild.serve.why import Answer, Finding
from ctxbuild.source.paths import shown

_COLORS = {"kept": "green", "trimmed": "yellow", "dropped": "red"}


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("target", metavar="TARGET", help="a target of the ctxfile")
    parser.add_argument("unit", metavar="UNIT", nargs="?", default="", help="path or path::symbol")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument("--rev", metavar="REV", help="of a commit instead of the working tree")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.serve.lookup import ask
    from ctxbuild.serve.why import why

    ctxfile = find_ctxfile(args)
    target = ctxfile.target(args.target)
    progress = Progress(console)
    session = open_session(ctxfile, args, console, progress.on_event)
    with progress:
        answer = ask(session, lambda desk: why(desk, target, args.unit, args.directory))
    say_warnings(console, session)
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json(answer))
    elif args.unit:
        console.result("".join(f"{line}\n" for line in about_unit(answer, console)))
    else:
        console.result("".join(f"{line}\n" for line in about_all(answer, console)))
    # A typing mistake is an error; that a file is left out is an answer.
    wrong = answer.absence is not None and answer.absence.kind in ("no-file", "no-symbol")
    return 2 if wrong else 0


def about_all(answer: Answer, console: Console) -> Iterator[str]:
    """Lines about a whole plan."""
    room = f"{answer.budget:,}" + (f" - {answer.reserve:,}" if answer.reserve else "")
    yield f"{answer.target}: {answer.tokens:,} / {room} tokens"
    for verdict, color in _COLORS.items():
        chosen = [finding for finding in answer.findings if finding.verdict == verdict]
        if not chosen:
            continue
        tokens = sum(finding.tokens for finding in chosen)
        yield ""
        yield f"{console.paint(verdict, color)}: {len(chosen)}, {tokens:,} tokens"
        for finding in chosen:
            yield f"  {_headline(finding)}"
            yield from (f"      {reason_sentence(reason)}" for reason in finding.reasons)


def _headline(finding: Finding) -> str:
    unit = shown(finding.unit)
    if finding.verdict == "dropped":
        return f"{unit}: would cost {_costs(finding)}"
    more = f"; {_costs(finding)}" if len(finding.costs) > 1 else ""
    return f"{unit}: {finding.form}, {finding.tokens:,} tokens{more}"


def _costs(finding: Finding) -> str:
    """Tokens by form; a skeleton has several prices, by how much docstring it shows."""
    by_form: dict[str, list[str]] = {}
    for form, tokens in finding.costs:
        by_form.setdefault(form, []).append(f"{tokens:,}")
    return ", ".join(f"{' or '.join(tokens)} as {form}" for form, tokens in by_form.items())


def about_unit(answer: Answer, console: Console) -> Iterator[str]:
    """Lines about one unit."""
    if answer.absence is not None:
        yield absence_sentence(answer.unit, answer.absence, answer.target)
    for finding in answer.findings:
        verdict = console.paint(finding.verdict, _COLORS[finding.verdict])
        lines = f" (lines {finding.lines[0]}-{finding.lines[1]})" if finding.lines else ""
        form = f" as {finding.form}, {finding.tokens:,} tokens" if finding.form else ""
        sentence = why_sentence(finding)
        because = f": {sentence}" if sentence else ""
        yield f"{shown(finding.unit)}{lines}: {verdict}{form}{because}"
        yield f"  costs: {_costs(finding)}"
        yield from (f"  reason: {reason_sentence(reason)}" for reason in finding.reasons)
    yield from (f"  way: {step_sentence(step)}" for step in answer.chain)
