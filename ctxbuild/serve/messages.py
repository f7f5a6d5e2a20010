"""A pack as parts of a request to a model's provider."""

from __future__ import annotations

from typing import Any

from ctxbuild.compare.prices import price_of
from ctxbuild.errors import UsageError
from ctxbuild.model import Pack
from ctxbuild.pack.messages import PROVIDERS, parts, request
from ctxbuild.pack.tokens import counter


def messages(pack: Pack, provider: str, model: str = "", headers: str = "lean") -> dict[str, Any]:
    """System instructions that hold a pack, with cache breakpoints where the provider takes them.

    The texts of the parts, joined, are the pack as Markdown.

    Args:
        pack: what `build` gave.
        provider: "anthropic", "openai" or "gemini".
        model: no prefix is marked that is too short for it; "" for the provider's first
            in `prices.toml`.
        headers: as its target has them.

    Returns:
        What to spread into the arguments of the provider's own client.

    Raises:
        UsageError: nobody knows the provider or the model.
    """
    if provider not in PROVIDERS:
        raise UsageError(f"unknown provider {provider!r}", f"one of {', '.join(PROVIDERS)}")
    price = price_of(model, provider)
    pieces = parts(
        pack.target,
        pack.blocks,
        headers,
        counter(pack.tokenizer),
        smallest=price.smallest,
        most=price.marks,
    )
    return request(provider, pack.target, pieces)
