"""The order of blocks in a pack: layers as declared, inside a layer what changes least first.

A model's provider reuses the longest byte-identical prefix of a prompt, so the
default order is a function of names alone: what the entry uses by path, then the
one-liners, which change many times as often as a text of their length (see
docs/prompt-caches.md for the measurement), then the entry at the edge: it matters
most, and whoever works on it changes it most. Scores order a pack only where the
target asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ctxbuild.model import Block
from ctxbuild.pack.render import PACKET_TITLES, SECTIONS_AS_PROSE, SESSION_TITLES

SECTIONS = (
    *(
        "",
        "hydrated",
        "hunks",
        "changes",
        "used",
        "dependents",
        "tests",
        "around",
        "indirect",
        "open",
        "names",
    ),
    *("history", "neighbours", "found"),
    *PACKET_TITLES,
    *SESSION_TITLES,
)
"""Sections of a layer, most stable first; lists of one-liners stand behind the texts."""

EDGE = ("entry",)
"""Sections that end a layer, behind the lists."""

LISTS = frozenset({"summary", "name"})


class Place(NamedTuple):
    """A block of the pack that was built before.

    Attributes:
        group: as `group_of` says.
        digest: of its text, hexadecimal.
    """

    layer: str
    group: str
    unit: str
    digest: str


def arrange(
    blocks: Sequence[Block], order: dict[str, int], layers: Sequence[str], how: str = "stable"
) -> list[Block]:
    """Puts the chosen blocks into the order in which they are read.

    Args:
        blocks: chosen blocks, in any order.
        order: unit to its position in its file.
        layers: names of the layers in the order declared.
        how: "stable"; "score": files of a section by falling score; "edges": the
            best files of a section at its ends, the weakest in the middle.
    """
    chosen: dict[tuple[str, str, bool], list[Block]] = {}
    for block in blocks:
        chosen.setdefault((block.layer, block.section, block.form in LISTS), []).append(block)
    arranged: list[Block] = []
    for layer in layers:
        for sections, lists in ((SECTIONS, False), (SECTIONS, True), (EDGE, True), (EDGE, False)):
            for section in sections:
                arranged += _section(chosen.get((layer, section, lists), []), order, how)
    return arranged


def _section(blocks: list[Block], order: dict[str, int], how: str) -> list[Block]:
    if blocks and blocks[0].section in SECTIONS_AS_PROSE:
        return sorted(blocks, key=lambda b: (order[b.unit], b.path, b.unit))
    by_path: dict[str, list[Block]] = {}
    for block in sorted(blocks, key=lambda b: (b.path, order[b.unit], b.unit)):
        by_path.setdefault(block.path, []).append(block)
    paths = list(by_path)
    if how != "stable":
        paths.sort(key=lambda path: (-max(b.score for b in by_path[path]), path))
    if how == "edges":
        paths = paths[::2] + paths[1::2][::-1]
    return [block for path in paths for block in by_path[path]]


def group_of(section: str, path: str, symbol: str, form: str, unit: str) -> str:
    """What can only move together: a class with its members; else the block alone."""
    if symbol and form not in LISTS:
        return f"{section}\0{path}\0{symbol.partition('.')[0]}"
    return f"{section}\0{unit}"


def keep_places(blocks: Sequence[Block], before: Iterable[Place]) -> list[Block]:
    """Leaves what is as it was where it was, and puts the rest at the end of its layer.

    A class keeps its place while most of what is shown of it is as it was: one that moves
    for the sake of a line takes along all that did not change. The entry keeps its place
    whatever its text is. Keeping the places of a pack that was laid out like this changes
    nothing.

    Args:
        blocks: arranged, layer by layer.
        before: the blocks of the pack that was built before, in its order.
    """
    was: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for place in before:
        was.setdefault((place.layer, place.group), []).append((place.unit, place.digest))
    now: dict[tuple[str, str], list[Block]] = {}
    for block in blocks:
        group = group_of(block.section, block.path, block.symbol, block.form, block.unit)
        now.setdefault((block.layer, group), []).append(block)
    staying = [key for key in was if key in now and _is_as_it_was(now[key], was[key])]
    layers = dict.fromkeys(layer for layer, _ in now)
    rest = [key for key in now if key not in set(staying)]
    return [
        block
        for layer in layers
        for key in (*staying, *rest)
        if key[0] == layer
        for block in now[key]
    ]


def _is_as_it_was(blocks: list[Block], was: list[tuple[str, str]]) -> bool:
    """Whether at least half of the tokens are, or it is the entry."""
    if blocks[0].section == "entry":
        return True
    known = set(was)
    changed = sum(block.tokens for block in blocks if (block.unit, block.digest) not in known)
    return 2 * changed <= sum(block.tokens for block in blocks)
