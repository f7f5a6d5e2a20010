"""The room that a note has: what is cut down, and in which order, where there is too little.

Nothing durable goes: what has no room for its text stands by its hash.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ctxbuild.pack.compaction_note import Item, ItemKind, in_order, item_text
from ctxbuild.select.transcript_forms import first_line, short_digest

Count = Callable[[Sequence[str]], list[int]]
"""Texts to their tokens."""

_LOSSY: tuple[ItemKind, ...] = ("action", "fact", "open", "decision", "blocker")
"""Kinds that are cut down first, the least worth first."""

_BY_HASH: tuple[ItemKind, ...] = ("edit", "words", "error")
"""Kinds whose oldest items stand by their hash where there is no room for their text."""

_BRIEF = 160
_FEWEST = 3


def fit_note(
    items: Sequence[Item], limit: int, count: Count
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """Items cut down until the note has the tokens it may have, and texts to be kept for it.

    First fewer facts and actions, then hunks, words and errors by hash alone, oldest
    first; at last the oldest of these stand together behind one hash.
    """
    left = list(items)
    sizes = dict(zip(left, count([item_text(item) for item in left]), strict=True))
    total = sum(sizes.values()) + _HEAD_TOKENS
    for kind in _LOSSY:
        same = [item for item in left if item.kind == kind]
        for item in same[: max(0, len(same) - _FEWEST)]:
            if total <= limit:
                break
            left.remove(item)
            total -= sizes[item]
    for kind in _BY_HASH:
        for at, item in enumerate(left):
            if total <= limit:
                break
            if item.kind == kind and item.hash and (brief := _brief(item)) != item:
                (size,) = count([item_text(brief)])
                total += size - sizes[item]
                sizes[brief] = size
                left[at] = brief
    if total <= limit:
        return in_order(left), ()
    return _gathered(left, sizes, total - limit)


_HEAD_TOKENS = 120
"""Tokens of a note's head and headings."""


def _brief(item: Item) -> Item:
    """An item whose text is its first line; the whole stands behind its hash."""
    if len(item.text) <= _BRIEF:
        return item
    first, _, rest = item.text.partition("\n")
    if item.kind == "edit":
        last = rest.rpartition("\n")[2]
        return replace(item, text=f"{first}\n{last}" if last.startswith("earlier: ") else first)
    if item.kind == "error":
        return replace(item, text=first)
    return replace(item, text=first_line(item.text, _BRIEF))


def _gathered(
    items: list[Item], sizes: dict[Item, int], excess: int
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The oldest items behind one hash each kind, so many as must go."""
    texts: list[str] = []
    gathered: list[Item] = []
    for kind in (*_BY_HASH[:2], "finding", "dropped"):
        same = [item for item in items if item.kind == kind][:-1]
        taken: list[Item] = []
        while same and excess > 0:
            taken.append(same.pop(0))
            excess -= sizes[taken[-1]]
        if len(taken) < 2:
            continue
        text = "".join(item_text(item) for item in taken)
        texts.append(text)
        what = f"{len(taken)} earlier entries"
        first = min(item.first or item.turn for item in taken)
        gathered.append(
            Item("dropped", f"{what} of {kind!r}", taken[-1].turn, short_digest(text), first)
        )
        items = [item for item in items if item not in set(taken)]
    return in_order((*items, *gathered)), tuple(texts)
