"""Results as a table for people and as JSON for programs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One result.

    Attributes:
        what: what was measured.
        value: the number.
        unit: "s", "MB", "tokens" or "".
        against: what it is compared with, or "".
        ratio: value over that, None without comparison.
        limit: what the ratio, or without one the value, must not exceed; None without goal.
        note: what else there is to say, or what was wrong.
        right: whether the program also did what it should.
    """

    what: str
    value: float
    unit: str
    against: str = ""
    ratio: float | None = None
    limit: float | None = None
    note: str = ""
    right: bool = True

    @property
    def met(self) -> bool | None:
        """Whether it is right and within its limit; None when there is nothing to meet."""
        if self.limit is None:
            return None if self.right else False
        return self.right and (self.value if self.ratio is None else self.ratio) <= self.limit


def render(title: str, rows: Sequence[Row]) -> str:
    """The rows as an aligned table, numbers to the right."""
    cells = [("", "measured", "ratio", "goal", "", "")]
    cells += [
        (
            row.what,
            f"{_number(row.value)} {row.unit}".strip(),
            "" if row.ratio is None else f"{row.ratio:.2f}",
            "" if row.limit is None else f"≤ {row.limit:g}",
            {True: "yes", False: "NO", None: ""}[row.met],
            "; ".join(filter(None, (row.against and f"against {row.against}", row.note))),
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [title, "-" * len(title)]
    for what, value, ratio, limit, met, note in cells:
        lines.append(
            f"{what:<{widths[0]}}  {value:>{widths[1]}}  {ratio:>{widths[2]}}  "
            f"{limit:>{widths[3]}}  {met:<{widths[4]}}  {note}".rstrip()
        )
    return "\n".join(lines) + "\n"


def write_json(path: Path, results: Mapping[str, Sequence[Row]]) -> None:
    """Write all results with the machine they come from."""
    data: dict[str, Any] = {
        "schema": "ctxbuild.benchmarks/1",
        "machine": {
            "system": platform.system(),
            "machine": platform.machine(),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
        },
        "benchmarks": {
            name: [asdict(row) | {"met": row.met} for row in rows] for name, rows in results.items()
        },
    }
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _number(value: float) -> str:
    if value == int(value) and abs(value) >= 100:
        return f"{int(value):,}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"
