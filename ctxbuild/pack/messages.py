"""A pack as parts of a provider's request, with marks where its prompt cache may end a prefix.

The parts' texts joined are the pack's text, byte for byte. A mark ends a layer;
where a pack has few layers, further marks stand inside them, before what changes
most. At most four, and none that closes less than the model's smallest prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from ctxbuild.model import Block
from ctxbuild.pack import render

Provider = Literal["anthropic", "openai", "gemini"]

PROVIDERS: tuple[Provider, ...] = ("anthropic", "openai", "gemini")
MOST_MARKS = 4


class Part(NamedTuple):
    """A piece of a pack.

    Attributes:
        layer: the layer it belongs to.
        text: as it stands in the pack.
        marked: whether a cached prefix may end behind it.
    """

    layer: str
    text: str
    marked: bool = False


def parts(
    target: str,
    blocks: Sequence[Block],
    headers: str,
    count: Callable[[list[str]], list[int]],
    *,
    smallest: int = 0,
    most: int = MOST_MARKS,
) -> list[Part]:
    """The pack in pieces, marked.

    Args:
        target: its name.
        blocks: in layout order.
        headers: as the target has them.
        count: texts to tokens.
        smallest: tokens of the smallest prefix that the model caches.
        most: how many marks the provider takes; 0 for none.
    """
    pieces = _pieces(target, blocks, headers)
    ends: list[int] = []
    total = 0
    for tokens in count([piece.text for piece in pieces]):
        total += tokens
        ends.append(total)
    able = [at for at, tokens in enumerate(ends) if tokens >= smallest]
    last = len(pieces) - 1
    layers = [at for at in able if at == last or pieces[at + 1].layer != pieces[at].layer]
    inside = [at for at in able if at not in layers]
    # The latest come first: what stands before them changes less than what follows.
    marked = {*(layers[::-1] + inside[::-1])[:most]}
    return _joined([piece._replace(marked=at in marked) for at, piece in enumerate(pieces)])


def _pieces(target: str, blocks: Sequence[Block], headers: str) -> list[Part]:
    """Layers, and inside them the entry apart from what it uses."""
    found = []
    number = 0
    for (layer, _), run in groupby(blocks, key=lambda b: (b.layer, b.section == "entry")):
        each = list(run)
        text = render.body(each, headers, first=number + 1)
        number += len(each)
        found.append(Part(layer, text))
    title = render.title(target)
    if not found:
        return [Part("", title)]
    found[0] = found[0]._replace(text=title + found[0].text)
    return found


def _joined(pieces: list[Part]) -> list[Part]:
    """Neighbours of one layer become one where no mark stands between them."""
    joined: list[Part] = []
    for piece in pieces:
        if joined and joined[-1].layer == piece.layer and not joined[-1].marked:
            piece = Part(piece.layer, joined.pop().text + piece.text, piece.marked)  # noqa: PLW2901
        joined.append(piece)
    return joined


def request(provider: Provider, target: str, pieces: Sequence[Part]) -> dict[str, Any]:
    """What goes into a request to a provider: system instructions that hold the pack.

    Args:
        provider: whose request.
        target: names the pack where a provider routes by a key.
        pieces: what `parts` gave.
    """
    if provider == "anthropic":
        return {"system": [_marked(_text(p), p, "cache_control", "ephemeral") for p in pieces]}
    if provider == "openai":
        content = [_marked(_text(p), p, "prompt_cache_breakpoint", "explicit") for p in pieces]
        message = {"role": "developer", "content": content}
        return {"messages": [message], "prompt_cache_key": f"ctxbuild:{target}"}
    return {"system_instruction": {"parts": [{"text": piece.text} for piece in pieces]}}


def _text(piece: Part) -> dict[str, Any]:
    return {"type": "text", "text": piece.text}


def _marked(data: dict[str, Any], piece: Part, key: str, kind: str) -> dict[str, Any]:
    if not piece.marked:
        return data
    name = "type" if key == "cache_control" else "mode"
    return {**data, key: {name: kind}}
