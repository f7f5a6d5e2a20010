"""What reading costs: list prices by model, and the cost model for going on with a session.

The model has one prompt per turn, whose cached prefix is read at the price of a
read and whose rest is written to the cache. Between turns the cache stays warm.
Answers cost the same either way and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ctxbuild.errors import UsageError

MILLION = 1_000_000
DEFAULT_MODEL = "claude-sonnet-4-5"
DEFAULT_TURNS = 10


@dataclass(frozen=True, slots=True)
class Price:
    """A model's list prices in dollars per million tokens.

    Attributes:
        input: of text that does not go through the cache.
        write, read: of text that goes into the cache, and that comes from it.
        smallest: tokens of the smallest prefix that is cached.
        marks: how many explicit cache breakpoints a request takes, 0 for none.
        date: when these prices held.
    """

    model: str
    provider: str
    input: float
    write: float
    read: float
    output: float
    smallest: int
    marks: int
    date: str


@lru_cache(maxsize=1)
def prices() -> tuple[Price, ...]:
    """All known models, in the order of the file."""
    import tomllib

    raw: dict[str, Any] = tomllib.loads(
        files("ctxbuild.compare").joinpath("prices.toml").read_text(encoding="utf-8")
    )
    date = raw.pop("date")
    del raw["sources"]
    return tuple(
        Price(model=model, provider=provider, date=date, **values)
        for provider, models in raw.items()
        for model, values in models.items()
    )


def price_of(model: str, provider: str = "") -> Price:
    """The prices of a model.

    Args:
        model: its name; "" for the first of the provider.
        provider: only models of that provider; "" for all.

    Raises:
        UsageError: nobody knows the model; similar ones are suggested.
    """
    known = {p.model: p for p in prices() if provider in ("", p.provider)}
    if not model:
        return known[DEFAULT_MODEL] if DEFAULT_MODEL in known else next(iter(known.values()))
    if model in known:
        return known[model]
    from difflib import get_close_matches

    near = get_close_matches(model, known, 1, 0.5)
    what = f"{provider} model" if provider else "model"
    raise UsageError(
        f"unknown {what} {model!r}" + (f", did you mean {near[0]!r}?" if near else ""),
        f"known: {', '.join(known)}",
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """What going on costs, in dollars, either way.

    Attributes:
        delta: with the pack that was read, and the appendix behind the conversation.
        fresh: with the new pack in the old one's place.
    """

    delta: float
    fresh: float
    turns: int
    price: Price

    @property
    def fresh_is_cheaper(self) -> bool:
        """Whether starting over pays."""
        return self.fresh < self.delta


def prompt(price: Price, cached: int, new: int) -> float:
    """Dollars for one prompt.

    Args:
        price: the model's.
        cached: tokens of the prefix that the cache may hold.
        new: tokens behind it.
    """
    if cached + new < price.smallest:
        return (cached + new) * price.input / MILLION
    if cached < price.smallest:
        cached, new = 0, cached + new
    return (cached * price.read + new * price.write) / MILLION


def compare(
    price: Price,
    *,
    old: int,
    new: int,
    shared: int,
    delta: int,
    history: int = 0,
    turns: int = DEFAULT_TURNS,
) -> Choice:
    """The cost of the next turns with a delta, and with a fresh pack.

    Args:
        price: the model's.
        old: tokens of the pack that was read.
        new: tokens of the pack as it is now.
        shared: tokens of the longest prefix that both have.
        delta: tokens of the appendix.
        history: tokens of the conversation behind the pack. A fresh pack breaks the
            prefix before it, so that it is written anew.
        turns: how many prompts follow, the first included; at least 1.
    """
    kept, begun = old + history + delta, new + history
    rest = turns - 1
    with_delta = prompt(price, old + history, delta) + rest * prompt(price, kept, 0)
    with_fresh = prompt(price, shared, begun - shared) + rest * prompt(price, begun, 0)
    return Choice(with_delta, with_fresh, turns, price)
