"""Chooses a form for every candidate so that what the budget buys is worth most.

The problem is the multiple-choice knapsack: each candidate has a ladder of
rungs, at most one is taken, and the tokens must fit. It is solved greedily over
*steps* from one rung to the next, in the order of worth gained per token
(Sinha and Zoltners, "The multiple-choice knapsack problem", 1979), within
phases that come one after another: whole signatures before docstrings, say. A
step that does not fit is passed over and smaller ones after it still get in.

Two things keep a plan stable when one cost moves a little: ratios are compared
in coarse grades, with ties broken by the candidate's place; and no step's place
in the order depends on what else was chosen.

Headers are part of the price: a step that opens a file pays for its header, and
a method pays for the class header above it, once.

A first rung of a later phase than the second is a *stand-in*: a line that names what
is left out, bought only for what has nothing else. A part of the budget is kept for
such lines where they are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from ctxbuild.model import Candidate, Rung
from ctxbuild.select.phases import ON_DEMAND

_FOR_NAMES = 0.15
"""The part of the budget that is kept for naming what is left out."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A candidate with the text and price of every rung.

    Attributes:
        costs: tokens per rung, strictly increasing; dominated rungs are gone.
        hollow: of a class: (rung, its text where no member of it is shown).
    """

    candidate: Candidate
    ladder: tuple[Rung, ...]
    texts: tuple[str, ...]
    costs: tuple[int, ...]
    hollow: tuple[tuple[Rung, str], ...] = ()


class Headers(NamedTuple):
    """What stands above blocks, and its price.

    Attributes:
        above: (candidate, rung) to the ids of the headers that must stand above it.
        costs: header id to tokens.
    """

    above: Callable[[Candidate, Rung], tuple[str, ...]]
    costs: Mapping[str, int]


class Choice(NamedTuple):
    """The outcome: rung index per unit (absent: dropped), and the tokens that takes."""

    rungs: dict[str, int]
    tokens: int


def offer(candidate: Candidate, texts: Sequence[str], costs: Sequence[int]) -> Offer:
    """Drops rungs that a better one undercuts, so that costs increase strictly."""
    kept: list[int] = []
    for rung in reversed(range(len(costs))):
        if not kept or costs[rung] < costs[kept[-1]]:
            kept.append(rung)
    kept.reverse()
    return Offer(
        candidate,
        tuple(candidate.ladder[r] for r in kept),
        tuple(texts[r] for r in kept),
        tuple(costs[r] for r in kept),
    )


def choose(
    offers: Sequence[Offer],
    headers: Headers,
    available: int,
    shares: Mapping[str, float] = {},
) -> Choice:
    """Buys rungs until nothing more fits.

    Where something has to be left out without even being named, the choice is made
    again with room for names.

    Args:
        offers: in layout order; pinned ones are taken first, in their best form.
        headers: what stands above them.
        available: tokens to spend.
        shares: section to the largest share that it may take of what phase 0 leaves over.

    Returns:
        The rungs. With pinned offers the tokens may exceed `available`: the
        caller must then refuse.
    """
    choice = _chosen(offers, headers, available, shares, 0)
    nameless = [o for o in offers if _has_stand_in(o) and o.candidate.unit not in choice.rungs]
    if nameless:
        needed = sum(each.costs[0] for each in offers if _has_stand_in(each))
        kept = min(int(_FOR_NAMES * available), needed)
        choice = _chosen(offers, headers, available, shares, kept)
    return choice


def _has_stand_in(each: Offer) -> bool:
    return len(each.ladder) > 1 and each.ladder[0].phase > each.ladder[1].phase


def _chosen(
    offers: Sequence[Offer],
    headers: Headers,
    available: int,
    shares: Mapping[str, float],
    kept: int,
) -> Choice:
    """Buys rungs; of what is available, some is kept until stand-ins are bought."""
    state = _State(offers, headers)
    for pinned in (o for o in offers if o.candidate.pinned):
        state.take(pinned, len(pinned.ladder) - 1)
    left = _limits(shares, available - state.tokens)
    names = min((o.ladder[0].phase for o in offers if _has_stand_in(o)), default=0)

    def bought(step: _Step) -> bool:
        price = state.price(step.offer, step.rung)
        section = step.offer.candidate.section
        room = available - state.tokens - (kept if step.key[0] < names else 0)
        if price > min(room, left.get(section, available)):
            return False
        if not state.is_called_for(step.offer):
            return False
        state.take(step.offer, step.rung)
        if section in left:
            left[section] -= price
        return True

    waiting: list[_Step] = []
    for phase, steps in groupby(_steps(offers), key=lambda step: step.key[0]):
        waiting += _passed_over(steps, bought)
        if phase == 0:
            left = _limits(shares, available - state.tokens)
    # What was passed over may have become cheaper: something else pays for its header.
    while len(still := _passed_over(waiting, bought)) < len(waiting):
        waiting = still
    return Choice(state.rungs, state.tokens)


def _limits(shares: Mapping[str, float], tokens: int) -> dict[str, int]:
    return {section: int(share * tokens) for section, share in shares.items()}


def _passed_over(steps: Iterable[_Step], bought: Callable[[_Step], bool]) -> list[_Step]:
    return [step for step in steps if not bought(step)]


class _Step(NamedTuple):
    key: tuple[int, int, int, int]
    offer: Offer
    rung: int


def _steps(offers: Sequence[Offer]) -> list[_Step]:
    steps = []
    for place, each in enumerate(offers):
        phase, cost, worth = 0, 0, 0.0
        for rung, form in enumerate(each.ladder):
            if rung == 0 and _has_stand_in(each):
                gain = form.worth / max(1, each.costs[0])
                steps.append(_Step((form.phase, -_grade(gain), 0, place), each, 0))
                continue
            phase = max(phase, form.phase)
            if phase >= ON_DEMAND:
                break
            gain = (form.worth - worth) / max(1, each.costs[rung] - cost)
            steps.append(_Step((phase, -_grade(gain), rung, place), each, rung))
            cost, worth = each.costs[rung], form.worth
    return sorted(steps, key=lambda step: step.key)


def _grade(ratio: float) -> int:
    """Worth per token in steps of a factor of two, so that small changes change nothing."""
    return round(math.log2(ratio)) if ratio > 0 else -1_000


class _State:
    """What is bought so far."""

    def __init__(self, offers: Sequence[Offer], headers: Headers) -> None:
        self.by_unit = {each.candidate.unit: each for each in offers}
        self.headers = headers
        self.rungs: dict[str, int] = {}
        self.open: dict[str, int] = {}  # header id to number of blocks under it
        self.tokens = 0

    def price(self, each: Offer, rung: int) -> int:
        """Tokens that taking this rung adds, with the headers and classes it needs above it."""
        bought = self.rungs.get(each.candidate.unit)
        if bought is not None and bought >= rung:
            return 0
        price, costs = each.costs[rung], self.headers.costs
        needed = set(self._above(each, rung))
        for parent in self._missing_parents(each):
            price += parent.costs[0]
            needed.update(self._above(parent, 0))
        for header in needed:
            if header not in self.open:
                price += costs[header]
        if bought is not None:
            price -= each.costs[bought]
            for header in self._above(each, bought):
                if self.open[header] == 1 and header not in needed:
                    price -= costs[header]
        return price

    def is_called_for(self, each: Offer) -> bool:
        """Whether what it is only shown with is shown, if it needs such a thing."""
        needs = each.candidate.only_with
        return not needs or any(unit in self.rungs for unit in needs)

    def take(self, each: Offer, rung: int) -> None:
        """Buys a rung in place of the one the candidate had."""
        unit = each.candidate.unit
        bought = self.rungs.get(unit, -1)
        if bought >= rung:
            return
        self.tokens += self.price(each, rung)
        for parent in self._missing_parents(each):
            self._open(parent, 0)
        if bought >= 0:
            for header in self._above(each, bought):
                self.open[header] -= 1
                if not self.open[header]:
                    del self.open[header]
        self._open(each, rung)

    def _open(self, each: Offer, rung: int) -> None:
        self.rungs[each.candidate.unit] = rung
        for header in self._above(each, rung):
            self.open[header] = self.open.get(header, 0) + 1

    def _above(self, each: Offer, rung: int) -> tuple[str, ...]:
        return self.headers.above(each.candidate, each.ladder[rung])

    def _missing_parents(self, each: Offer) -> list[Offer]:
        missing: list[Offer] = []
        parent = self.by_unit.get(each.candidate.parent)
        while parent is not None and parent.candidate.unit not in self.rungs:
            missing.append(parent)
            parent = self.by_unit.get(parent.candidate.parent)
        return missing
