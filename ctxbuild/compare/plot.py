"""A line plot as SVG, without a library: recall against tokens, one line per tier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 40, 50
_COLOURS = ("#8c8c8c", "#4c78a8", "#f58518", "#2f855a", "#b279a2", "#e45756")
_TICKS = 5


class Line(NamedTuple):
    """A named line through points (x, y)."""

    name: str
    points: tuple[tuple[float, float], ...]


def svg(title: str, across: str, up: str, lines: Sequence[Line]) -> str:
    """The plot.

    Args:
        title: stands above it.
        across: name of the x axis, which begins at 0.
        up: name of the y axis, which goes from 0 to 1.
        lines: what is drawn; points of equal x are fine.
    """
    right = max((x for line in lines for x, _ in line.points), default=0.0)
    widest = _round_up(right)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(WIDTH / 2, 22, title, "middle", 15),
        *_grid(widest),
        _text((WIDTH + _LEFT) / 2, HEIGHT - 10, across, "middle"),
        (
            f'<text x="16" y="{HEIGHT / 2:g}" text-anchor="middle" '
            f'transform="rotate(-90 16 {HEIGHT / 2:g})">{escape(up)}</text>'
        ),
    ]
    for number, line in enumerate(lines):
        parts += _line(line, _COLOURS[number % len(_COLOURS)], widest)
    parts += _legend(lines)
    return "\n".join([*parts, "</svg>", ""])


def _round_up(value: float) -> float:
    """The next number that divides into ticks well."""
    step = 1.0
    while step * _TICKS * 10 < value:
        step *= 10
    steps = -(-value // (step * _TICKS))
    return max(1.0, steps) * step * _TICKS


def _x(value: float, widest: float) -> float:
    return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * value / widest, 1)


def _y(value: float) -> float:
    return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value, 1)


def _text(x: float, y: float, text: str, anchor: str, size: int = 12) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'
    )


def _grid(widest: float) -> Iterable[str]:
    for tick in range(_TICKS + 1):
        share = tick / _TICKS
        x, y = _x(share * widest, widest), _y(share)
        yield (
            f'<path d="M{_LEFT} {y:g}H{WIDTH - _RIGHT}M{x:g} {_TOP}V{HEIGHT - _BOTTOM}" '
            'stroke="#e2e2e2" fill="none"/>'
        )
        yield _text(_LEFT - 6, y + 4, f"{share:.1f}", "end")
        yield _text(x, HEIGHT - _BOTTOM + 16, f"{share * widest:,.0f}", "middle")


def _line(line: Line, colour: str, widest: float) -> Iterable[str]:
    points = [(_x(x, widest), _y(y)) for x, y in sorted(line.points)]
    joined = " ".join(f"{x:g},{y:g}" for x, y in points)
    yield f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in points:
        yield f'<circle cx="{x:g}" cy="{y:g}" r="3.5" fill="{colour}"/>'


def _legend(lines: Sequence[Line]) -> Iterable[str]:
    for number, line in enumerate(lines):
        y = HEIGHT - _BOTTOM - 14 - 16 * (len(lines) - 1 - number)
        colour = _COLOURS[number % len(_COLOURS)]
        yield f'<rect x="{WIDTH - 250}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
        yield _text(WIDTH - 234, y, line.name, "start")
