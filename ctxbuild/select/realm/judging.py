"""Which entries stand when documents disagree, and how large a packet may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ctxbuild.model import Candidate, Reason, Refusal
from ctxbuild.select.realm.entries import entries
from ctxbuild.select.realm.packet import Chosen, rough_tokens

if TYPE_CHECKING:
    from ctxbuild.graph.documents import Navigation
    from ctxbuild.graph.documents_conflicts import Conflict, Placed


class Sizes(Protocol):
    """How large documents are."""

    def bulk(self, path: str) -> int:
        """The length of a document, as the power of two that is above it."""

    def tokens(self, path: str) -> int:
        """The tokens of a file."""


def judged(
    chosen: Sequence[Chosen], navigation: Navigation
) -> tuple[list[Chosen], list[Refusal], list[str]]:
    """Takes out items that are overruled, and puts what is left together.

    Returns:
        What stands, what is overruled and by what, and a warning per contradiction.
    """
    from ctxbuild.graph.documents_conflicts import Placed, judge

    items = [
        Placed(each.path, item)
        for each in chosen
        for item in each.section.items
        if each.ordinals is None or item.ordinal in each.ordinals
    ]
    verdict = judge(items, navigation)
    gone: dict[str, set[int]] = {}
    refused = []
    for path, item in (overruled.placed for overruled in verdict.overruled):
        gone.setdefault(f"{path}#{item.section}", set()).add(item.ordinal)
    for each in verdict.overruled:
        unit, item = _name(each.placed), each.placed.item
        section = unit.rpartition("@")[0]
        by = f"{_name(each.by)}: {each.rule}" if each.by else each.rule
        refused.append(Refusal(unit, each.why, 0.0, (Reason(item.kind, unit=section),), by))
    left = [_without(each, gone.get(each.unit, set())) for each in chosen]
    return left, refused, [_conflict(each) for each in verdict.conflicts]


def _without(chosen: Chosen, gone: set[int]) -> Chosen:
    wanted = chosen.ordinals
    if gone:
        every = {item.ordinal for item in chosen.section.items} if wanted is None else wanted
        wanted = frozenset(every) - gone
    return replace(chosen, ordinals=wanted, entries=tuple(entries(chosen.section, wanted)))


def _conflict(conflict: Conflict) -> str:
    first, second = _name(conflict.first), _name(conflict.second)
    how = "give two values for" if conflict.kind == "value" else "say the opposite of"
    return f"CONFLICTING: {first} and {second} {how} {conflict.about!r}"


def _name(placed: Placed) -> str:
    return f"{placed.path}#{placed.item.section}@{placed.item.ordinal}"


_LEAST = 160
"""Tokens that a packet may have of documents that are smaller still: what binds must fit."""

_CHARACTERS = 6
"""More characters than a token of a document has on average."""


def most_tokens(sizes: Sizes, paths: Sequence[str], proposed: Sequence[Candidate]) -> int | None:
    """The tokens of the documents where a packet might come near them; else None.

    Exact counts are asked for only then: they change with every edit.
    """
    least = sum(2 ** max(0, sizes.bulk(path) - 1) for path in paths) // _CHARACTERS
    if rough_tokens(proposed) < least:
        return None
    return max(_LEAST, sum(sizes.tokens(path) for path in paths), _binding_tokens(proposed))


def _binding_tokens(proposed: Sequence[Candidate]) -> int:
    """Tokens that what binds may need, with a heading each: rules are complete whatever they cost.

    Where documents are nothing but rules, the modality and the ordinal in front of each
    take more than the words around them did.
    """
    wanted = [c for c in proposed if c.ladder[-1].phase <= _BINDS and c.section in _RULES]
    sections = {c.parent for c in wanted}
    wanted += [c for c in proposed if c.unit in sections]
    return sum(len((c.ladder[-1].text or "").encode()) // 3 + 4 for c in wanted)


_BINDS = 1
"""The last phase in which something that binds is bought."""

_RULES = frozenset(("constraints", "formatting"))
