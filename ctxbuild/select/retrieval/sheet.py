"""The parts of a unit, and the text that some of them make, with `...` for every gap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ctxbuild.facts.parts import Part

GAP = "..."
"""The line that stands for what is left out."""


def joined(rows: Iterable[str]) -> str:
    """Lines as a text."""
    return "".join(f"{row}\n" for row in rows)


def mover(rows: Sequence[str], depth: int | None) -> Callable[[str], str]:
    """Moves texts from the margin of the first row to that of a depth."""
    if depth is None:
        return lambda text: text
    first = next((row for row in rows if row.strip()), "")
    margin = first[: len(first) - len(first.lstrip())]
    indent = "    " * depth
    if margin == indent:
        return lambda text: text
    return lambda text: "".join(
        indent + row.removeprefix(margin) if row.strip() else row
        for row in text.splitlines(keepends=True)
    )


def inside(parts: Sequence[Part], first: int) -> tuple[Part, ...]:
    """The parts without the headers of what encloses the unit, which the pack shows itself."""
    outside = sum(part.first < first for part in parts)
    return tuple(
        part._replace(above=tuple(place - outside for place in part.above if place >= outside))
        for part in parts[outside:]
    )


class Sheet:
    """The parts of a unit, and the text that some of them make."""

    def __init__(
        self, rows: Sequence[str], parts: Sequence[Part], last: int, move: Callable[[str], str]
    ) -> None:
        self.rows = rows
        self.parts = parts
        self.last = last
        self.move = move
        self.closers: dict[int, int] = {
            part.above[-1]: place for place, part in enumerate(parts) if part.kind == "closer"
        }
        self._chains = [self._chain(place) for place in range(len(parts))]

    def text(self, places: Iterable[int]) -> str:
        """The text of a part, or of several that follow each other."""
        return joined(
            row
            for place in places
            for row in self.rows[self.parts[place].first - 1 : self.parts[place].last]
        )

    def _chain(self, place: int) -> frozenset[int]:
        chain = (place, *self.parts[place].above)
        return frozenset((*chain, *(self.closers[p] for p in chain if p in self.closers)))

    def with_headers(self, places: Iterable[int]) -> frozenset[int]:
        """The parts with the headers that they stand below, and what closes those."""
        return frozenset().union(*(self._chains[place] for place in places))

    def render(self, places: Iterable[int]) -> tuple[str, tuple[tuple[int, int], ...]]:
        """The text of some parts with `...` for every gap, and the spans of their lines."""
        shown: list[str] = []
        spans: list[tuple[int, int]] = []
        for place in sorted(places):
            part = self.parts[place]
            if spans and not self._is_blank(spans[-1][1] + 1, part.first - 1):
                shown.append(self._gap(spans[-1][1] + 1))
                spans.append((part.first, part.last))
            else:
                above = spans.pop() if spans else (part.first, 0)
                shown += self.rows[above[1] : part.first - 1] if above[1] else []
                spans.append((above[0], part.last))
            shown += self.rows[part.first - 1 : part.last]
        if spans and not self._is_blank(spans[-1][1] + 1, self.last):
            shown.append(self._gap(spans[-1][1] + 1))
        return self.move(joined(shown)), tuple(spans)

    def _is_blank(self, first: int, last: int) -> bool:
        return not any(row.strip() for row in self.rows[first - 1 : last])

    def _gap(self, line: int) -> str:
        """What stands for left out lines, at the margin of the first of them."""
        row = next(row for row in self.rows[line - 1 :] if row.strip())
        return row[: len(row) - len(row.lstrip())] + GAP
