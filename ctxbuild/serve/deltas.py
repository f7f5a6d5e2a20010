"""The update of a pack that a model has read, with what it costs beside a fresh pack."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ctxbuild.compare.artifact import text_of
from ctxbuild.compare.delta import Delta, appendix, delta, delta_data
from ctxbuild.compare.prefix import common_prefix
from ctxbuild.compare.prices import Choice, Price, compare
from ctxbuild.pack.tokens import counter

if TYPE_CHECKING:
    from ctxbuild.compare.artifact import Artifact
    from ctxbuild.serve.references import References
    from ctxbuild.source.ctxfile import Ctxfile


@dataclass(frozen=True, slots=True)
class Update:
    """A delta, what it says to a model, and its cost.

    Attributes:
        text: the appendix, "" where nothing that a model reads changed.
        tokens: of the appendix.
        fresh: tokens of the new pack.
        shared: tokens of the longest prefix that the old and the new pack have; 0 where
            the old artifact does not tell its text.
        choice: what going on costs either way.
    """

    delta: Delta
    text: str
    tokens: int
    fresh: int
    shared: int
    choice: Choice

    def data(self) -> dict[str, Any]:
        """As plain data for JSON: the delta, and `appendix` and `cost` beside it."""
        cost = {
            "model": self.choice.price.model,
            "prices": asdict(self.choice.price),
            "turns": self.choice.turns,
            "delta": round(self.choice.delta, 8),
            "fresh": round(self.choice.fresh, 8),
            "cheaper": "fresh" if self.choice.fresh_is_cheaper else "delta",
            "delta_tokens": self.tokens,
            "fresh_tokens": self.fresh,
            "shared_tokens": self.shared,
        }
        return {**delta_data(self.delta), "appendix": self.text, "cost": cost}


def update(
    packs: References,
    ctxfile: Ctxfile,
    target: str,
    since: str,
    *,
    price: Price,
    revision: str | None = None,
    turns: int,
    history: int = 0,
) -> Update:
    """What turns the pack that was read into the present one.

    Args:
        packs: reads packs.
        ctxfile: the project.
        target: one of its targets.
        since: what was read, as people write it.
        price: of the model that reads.
        revision: to the pack of that commit; None for the working tree's.
        turns, history: as for `prices.compare`.

    Raises:
        UsageError: `since` means no pack, or one of another target.
        CtxbuildError: the target cannot be built.
    """
    old = packs.artifact(since)
    new, crowded_out = packs.built_with_plan(ctxfile, target, revision)
    return between(old, new, crowded_out, price=price, turns=turns, history=history)


def between(
    old: Artifact,
    new: Artifact,
    crowded_out: frozenset[str],
    *,
    price: Price,
    turns: int,
    history: int = 0,
) -> Update:
    """The update from one artifact to another; see `update`."""
    change = delta(old, new)
    text = appendix(old, new, crowded_out)
    texts = text_of(old), text_of(new)
    shared = common_prefix(texts[0] or "", texts[1] or "")
    tokens, shared_tokens = counter(new.head.tokenizer)([text, shared])
    choice = compare(
        price,
        old=old.head.tokens,
        new=new.head.tokens,
        shared=shared_tokens,
        delta=tokens,
        history=history,
        turns=turns,
    )
    return Update(change, text, tokens, new.head.tokens, shared_tokens, choice)
