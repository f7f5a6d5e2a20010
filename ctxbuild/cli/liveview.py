"""The view of `ctxbuild watch` on a terminal: what stands, what changed, what that rebuilt.

`screen` is a pure function from what is known to lines; `Live` draws them over
the lines before. Plain lines for pipes are made here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxbuild.cli.render import seconds
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.cli.console import Console
    from ctxbuild.serve.reports import Report, TargetState

_BAR = 16
_COLORS = {"fresh": "green", "building": "yellow", "failed": "red", "waiting": "dim"}
_NAMED = 3  # changed paths that are named
_LEAST = 20  # columns


class Known(NamedTuple):
    """What the view shows.

    Attributes:
        mode: "events" or "scanning".
        last: the last report of a build; None before.
        problem: what is wrong beyond a target, "" if nothing is.
        note: the last line that was told.
    """

    root: str
    mode: str
    targets: tuple[TargetState, ...]
    last: Report | None = None
    problem: str = ""
    note: str = ""


def screen(known: Known, console: Console, columns: int, rows: int) -> list[str]:
    """The lines of the view, none longer than the terminal and not more than fit."""
    columns = max(columns, _LEAST)
    lines = [console.paint(_cut(f"watching {shown(known.root)} by {known.mode}", columns), "bold")]
    lines += _targets(known.targets, console, columns)
    below = [*_last(known.last), *([known.note] if known.note else [])]
    lines += [_cut(line, columns) for line in below]
    for line in _errors(known):
        lines.append(console.paint(_cut(shown(line), columns), "red"))
    fits = max(rows - 1, 3)
    return (
        lines if len(lines) <= fits else [*lines[: fits - 1], f"and {len(lines) - fits + 1} more"]
    )


def _targets(targets: Sequence[TargetState], console: Console, columns: int) -> Iterator[str]:
    width = min(max((len(shown(each.name)) for each in targets), default=0), 24)
    rooms = [_room(each) for each in targets]
    room = max(map(len, rooms), default=0)
    for each, text in zip(targets, rooms, strict=True):
        name = _cut(shown(each.name), width).ljust(width)
        line = f"  {name}  {text.rjust(room)}  {_bar(each)}  "
        state = _cut(each.state, max(columns - len(line), 0))
        yield _cut(line, columns) + console.paint(state, _COLORS[each.state])


def _room(target: TargetState) -> str:
    tokens = f"{target.result.tokens:,}" if target.result else "-"
    room = target.budget - target.reserve
    return f"{tokens} / {room:,}"


def _bar(target: TargetState) -> str:
    room = max(target.budget - target.reserve, 1)
    share = min(target.result.tokens / room, 1.0) if target.result else 0.0
    full = round(share * _BAR)
    return "#" * full + "." * (_BAR - full)


def _last(report: Report | None) -> Iterator[str]:
    if report is None:
        return
    if report.kind == "building":
        yield f"building {', '.join(map(shown, report.targets))}"
        return
    if report.changed:
        yield f"changed: {paths_text(report.changed)}"
    built = [result.name for result in report.results if result.status == "built"]
    what = f"rebuilt: {', '.join(map(shown, built))}" if built else "rebuilt: nothing"
    yield f"{what}, in {seconds(report.seconds)}"


def _errors(known: Known) -> Iterator[str]:
    if known.problem:
        yield known.problem
    for target in known.targets:
        if target.error:
            kept = " (the last good pack stays)" if target.result else ""
            yield f"{target.name}: {target.error}{kept}"


def paths_text(paths: Sequence[str]) -> str:
    """A few paths by name, the others by number."""
    named = ", ".join(map(shown, paths[:_NAMED]))
    more = len(paths) - _NAMED
    return f"{named} and {more:,} more" if more > 0 else named


def plain_lines(report: Report) -> Iterator[str]:
    """A report as lines for a pipe."""
    if report.kind == "note":
        yield report.text
    elif report.kind == "well":
        yield "all is well again"
    elif report.kind == "built":
        because = f": {paths_text(report.changed)}" if report.changed else ""
        for result in report.results:
            if result.status == "built":
                room = result.budget - result.reserve
                tokens = f"{result.tokens:,} / {room:,} tokens"
                yield f"{shown(result.name)}: {tokens}, {seconds(report.seconds)}{because}"


def status_lines(status: dict[str, Any]) -> Iterable[str]:
    """What `watch status` prints."""
    where = "in the background" if status["detached"] else "in a terminal"
    yield (
        f"watching {shown(str(status['root']))} by {status['mode']}, "
        f"{where}, as process {status['pid']}"
    )
    for target in status["targets"]:
        tokens = f"{target['tokens']:,}" if "tokens" in target else "-"
        room = target["budget"] - target["reserve"]
        yield f"  {shown(target['name'])}: {target['state']}, {tokens} / {room:,} tokens"
        if "error" in target:
            yield f"    {shown(target['error'])}"
    if status["problem"]:
        yield shown(str(status["problem"]))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."[: min(width, 3)]


class Live:
    """Draws the view in place.

    Args:
        console: prints to a terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawn = 0

    def draw(self, known: Known) -> None:
        """Replaces what was drawn last."""
        columns, rows = self._console.size()
        lines = screen(known, self._console, columns, rows)
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        # Each line ends by erasing what the one before it left behind, the last one all below.
        text = "".join(f"{line}\x1b[K\n" for line in lines)
        self._console.result_bytes(f"{up}\r{text}\x1b[J".encode())
        self._drawn = len(lines)
