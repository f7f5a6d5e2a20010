"""Chooses the parts of a unit that a slice shows: where the question's words stand densest."""

from __future__ import annotations

import heapq
import math
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from ctxbuild.facts.words import words
from ctxbuild.select.retrieval.model import Cut
from ctxbuild.select.retrieval.sheet import Sheet

Count = Callable[[Sequence[str]], list[int]]
"""Texts to their exact token counts."""

_GAP_TOKENS = 3
"""Most tokens of the line that stands for what is left out."""

_LEAST_GAIN = 1e-9
_MOST_STARTS = 200
"""Statements from which a window is tried, so that a long table of matches takes no longer."""

_NEAR = 10
"""Statements that decide whether a window is tried from the first of them."""

_ATTEMPTS = 6
"""Times that a slice is made anew with less room because it was larger than estimated."""

_FRAME_WEIGHT = 20.0
"""The statement that a stack trace names is what it is about."""


class _Window(NamedTuple):
    """A run of statements: their places, and the gain of showing them."""

    places: tuple[int, ...]
    gain: float


class Picker:
    """Takes windows, the densest first, as long as they fit."""

    def __init__(
        self,
        sheet: Sheet,
        weighted: Mapping[str, float],
        limit: int,
        count: Count,
        window: int,
        marked: Sequence[int],
        rate: float,
    ) -> None:
        self.sheet = sheet
        self.limit = limit
        self.room = limit
        self.count = count
        self.window = window
        texts = [sheet.text([place]) for place in range(len(sheet.parts))]
        # Estimates will do to choose; the slice itself is counted, and made anew if need be.
        self.tokens = [math.ceil(rate * len(text.encode())) for text in texts]
        self.leaves = [n for n, part in enumerate(sheet.parts) if part.kind == "leaf"]
        found = [hits_of(text, weighted) for text in texts]
        rare = Tally(word for hits in found for word in hits)
        self.hits = [
            {word: n * weighted[word] / math.sqrt(rare[word]) for word, n in hits.items()}
            for hits in found
        ]
        for place, part in enumerate(sheet.parts):
            for line in marked:
                if part.first <= line <= part.last:
                    self.hits[place][f"line {line}"] = _FRAME_WEIGHT
        self.start = self._start()
        self.starts = self._starts()

    def pick(self) -> Cut | None:
        """The slice, None if nothing fits."""
        for choose in (self._densest, self._top):
            self.room = self.limit
            for _ in range(_ATTEMPTS):
                places = choose()
                if not places:
                    break
                shown = self.sheet.with_headers(places) | self.start
                text, spans = self.sheet.render(shown)
                tokens = self.count([text])[0]
                if tokens <= self.limit:
                    return Cut(text, spans, tokens)
                self.room -= tokens - self.limit
        return None

    def _densest(self) -> set[int]:
        """The windows in which the question's words stand densest, as many as there is room for."""
        taken: list[_Window] = []
        shown = self.start
        while (window := self._best(shown, taken)) is not None:
            taken.append(window)
            shown = self.sheet.with_headers({*shown, *window.places})
        return {place for window in taken for place in window.places}

    def _start(self) -> frozenset[int]:
        """What every slice shows: the unit's own header, and what closes it."""
        below = self.sheet.parts[1:]
        own = below and all(part.above[:1] == (0,) for part in below)
        return self.sheet.with_headers({0}) if own else frozenset()

    def _starts(self) -> list[int]:
        """Leaves with a word from which a window may begin: those with most right below them."""
        sums = [0.0, *accumulate(sum(self.hits[place].values()) for place in self.leaves)]
        worth = [
            (sums[min(n + _NEAR, len(self.leaves))] - sums[n], -n)
            for n, place in enumerate(self.leaves)
            if self.hits[place]
        ]
        return sorted(-n for _, n in heapq.nlargest(_MOST_STARTS, worth))

    def _top(self) -> set[int]:
        """As many statements from the top as there is room for, where no word is found."""
        taken: set[int] = set()
        shown = self.start
        for place in self.leaves:
            more = self.sheet.with_headers({place}) | shown
            if self._with_gaps(more) > self.room:
                break
            taken.add(place)
            shown = more
        return taken

    def _price(self, places: Iterable[int]) -> int:
        return sum(self.tokens[place] for place in places)

    def _with_gaps(self, places: Iterable[int]) -> int:
        """The price of parts with a `...` before each run of them, and one at the end."""
        price, above = _GAP_TOKENS, -1
        for place in sorted(places):
            price += self.tokens[place] + (_GAP_TOKENS if place > above + 1 else 0)
            above = place
        return price

    def _best(self, shown: frozenset[int], taken: Sequence[_Window]) -> _Window | None:
        """The window that adds most to what is shown, of those that fit."""
        known: dict[str, float] = {}
        for place in (place for window in taken for place in window.places):
            _add(known, self.hits[place])
        room = self.room - self._with_gaps(shown)
        best = _Window((), _LEAST_GAIN)
        for start in self.starts:
            if self.leaves[start] not in shown:
                best = max(best, self._from(start, shown, known, room), key=lambda w: w.gain)
        return best if best.places else None

    def _from(
        self, start: int, shown: frozenset[int], known: Mapping[str, float], room: int
    ) -> _Window:
        """The window that begins at a statement: up to its last one that has a word."""
        places: list[int] = []
        heads = set(shown)
        found: dict[str, float] = {}
        cost, lines = _GAP_TOKENS, 0
        best = _Window((), _LEAST_GAIN)
        for place in islice(self.leaves, start, None):
            part = self.sheet.parts[place]
            more = self.sheet.with_headers({place}) - heads
            cost += self._price(more) + _GAP_TOKENS * (len(more) > 1)
            lines += part.last - part.first + 1
            if place in shown or cost > room or (places and lines > self.window):
                break
            places.append(place)
            heads |= more
            if self.hits[place]:
                _add(found, self.hits[place])
                gain = _gain(found, known)
                if gain > best.gain:
                    best = _Window(tuple(places), gain)
        return best


def _add(total: dict[str, float], hits: Mapping[str, float]) -> None:
    for word, amount in hits.items():
        total[word] = total.get(word, 0.0) + amount


def _gain(found: Mapping[str, float], known: Mapping[str, float]) -> float:
    """What hits are worth beside known ones: each further hit of a word counts less."""
    return sum(
        math.log1p(known.get(word, 0.0) + hits) - math.log1p(known.get(word, 0.0))
        for word, hits in found.items()
    )


def hits_of(text: str, weighted: Mapping[str, float]) -> dict[str, int]:
    """How often each of the question's words stands in a text."""
    return {word: n for word, n in Tally(words(text)).items() if word in weighted}
