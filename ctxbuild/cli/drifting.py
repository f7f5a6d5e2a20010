"""`ctxbuild check --drift`: whether packs still state what they are for."""

from __future__ import annotations

from ctxbuild.cli.project import find_ctxfile, waiting_note
from ctxbuild.errors import UsageError
from ctxbuild.source.paths import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from ctxbuild.cli.console import Console
    from ctxbuild.serve.drift import Drifted

_MOST_NAMED = 40
"""Missing things that are named one by one."""

_KINDS = {"task": "tasks", "file": "files under work", "finding": "findings"}


def run(args: Namespace, console: Console) -> int:
    """Runs the command; 1 where something that must be stated is missing."""
    from ctxbuild.serve.check import rehearsal
    from ctxbuild.serve.drift import drift

    if args.turns < 1:
        raise UsageError(f"--turns {args.turns}: is no number of turns", "give at least 1")
    ctxfile = find_ctxfile(args)
    model = None
    if args.model:
        from pathlib import Path

        from ctxbuild.source.model_client import ModelClient
        from ctxbuild.stores.answers import FileAnswers

        cache = Path(ctxfile.root, ctxfile.project.cache)
        model = ModelClient(None, FileAnswers(cache / "models") if cache.is_dir() else None)
    with rehearsal(ctxfile, workers=args.jobs, on_wait=waiting_note(console)) as session:
        found = drift(session, ctxfile, args.targets, args.turns, model)
        warnings = tuple(session.warnings)
    for warning in (*warnings, *(line for each in found for line in each.warnings)):
        console.warn(warning)
    bad = any(each.bad for each in found)
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json({"ok": not bad, "targets": [each.data() for each in found]}))
    elif not found:
        console.note("no target has a task, a session, changes or findings")
    else:
        console.result("".join(f"{line}\n" for each in found for line in _lines(each, console)))
    return 1 if bad else 0


def _lines(found: Drifted, console: Console) -> Iterator[str]:
    if found.error:
        console.error(found.error)
        yield f"{found.name}: cannot be built"
        return
    lost = {kind: sum(each.kind == kind for each, _ in found.missing) for kind in _KINDS}
    told = [
        f"{number - lost[kind]} of {number} {_KINDS[kind]}"
        for kind, number in found.wanted.items()
        if number
    ]
    yield f"{found.name}: states {', '.join(told) if told else 'nothing that it must'}"
    for each, rows in found.missing[:_MOST_NAMED]:
        what = console.paint(f"missing {each.kind}", "red")
        yield f"  {what}: {shown(each.what)} ({shown(each.origin)})"
        if each.kind == "task":
            yield from (f"    not there: {shown(row)}" for row in rows)
    if len(found.missing) > _MOST_NAMED:
        yield f"  and {len(found.missing) - _MOST_NAMED:,} more: --json has all"
    for path, moved in found.movement:
        gone = f"; gone: {', '.join(map(shown, moved.gone))}" if moved.gone else ""
        yield (
            f"  {shown(path)}: {100 * moved.first:.0f} % of the task's terms in the first "
            f"{_turns(moved.window)}, {100 * moved.last:.0f} % in the last: moved "
            f"{100 * moved.moved:.0f} %{gone}"
        )
    if found.probe is not None:
        verdict = "the task" if found.probe.same else console.paint("another task", "red")
        yield f"  probe: {verdict}: {shown(found.probe.why)}"
        yield f"    answer: {shown(found.probe.answer)}"


def _turns(count: int) -> str:
    return "turn" if count == 1 else f"{count} turns"
