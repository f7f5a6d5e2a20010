"""Results as tables and lines: strings in, strings out, nothing is printed here."""

from __future__ import annotations

from collections.abc import Sequence

from ctxbuild.serve.results import BuildResult, TargetResult
from ctxbuild.source.paths import shown


def table(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> str:
    """Columns aligned by spaces, the first row as head; control characters as escapes.

    Args:
        rows: cells, all rows of one length.
        right: indexes of the columns that are aligned to the right.
    """
    rows = [[shown(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def build_table(result: BuildResult) -> str:
    """One row per target: tokens / budget, saved against full sources, what ran, time."""
    head = ("target", "status", "tokens / budget", "saved", "ran", "time")
    return table([head, *map(_row, result.targets)], frozenset({2, 3, 5}))


def _row(target: TargetResult) -> tuple[str, ...]:
    room = f"{target.budget:,}" + (f" - {target.reserve:,}" if target.reserve else "")
    if target.status == "failed":
        return (target.name, "failed", f"- / {room}", "-", "-", seconds(target.seconds))
    return (
        target.name,
        target.status,
        f"{target.tokens:,} / {room}",
        saved(target),
        run_summary(target.ran),
        seconds(target.seconds),
    )


def saved(target: TargetResult) -> str:
    """Share of the full sources' tokens that the pack does not need; "-" if there is none."""
    if target.full_tokens <= target.tokens:
        return "-"
    return f"{100 * (1 - target.tokens / target.full_tokens):.0f}%"


def run_summary(ran: Sequence[str]) -> str:
    """What ran, short: a few by name, many by count."""
    if not ran:
        return "nothing"
    if len(ran) <= 3:
        return " ".join(node.replace("\0", "::") for node in ran)
    counts: dict[str, int] = {}
    for node in ran:
        stage = node.partition("(")[0]
        counts[stage] = counts.get(stage, 0) + 1
    return ", ".join(f"{count} {stage}" for stage, count in counts.items())


def size(value: int) -> str:
    """A number of bytes for people."""
    amount = float(value)
    for unit in ("B", "kB", "MB"):
        if amount < 1_000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1_000
    return f"{amount:.1f} GB"


def seconds(value: float) -> str:
    """A duration for people."""
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"
