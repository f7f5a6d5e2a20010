"""The order of blocks in a pack: layers as declared, inside a layer what changes least first.

A model's provider reuses the longest byte-identical prefix of a prompt, so the
default order is a function of names alone: one-liners, then parts of files by
path, then the entry itself, which changes most and stands at the edge. Scores
order a pack only where the target asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxbuild.model import Block

SECTIONS = ("indirect", "names", "open", "", "used", "dependents", "tests", "around", "entry")
"""Sections of a layer, most stable first."""

_LISTS = frozenset({"summary", "name"})


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
    arranged: list[Block] = []
    for layer in layers:
        for lists in (True, False):
            for section in SECTIONS:
                chosen = [
                    block
                    for block in blocks
                    if (block.layer, block.section) == (layer, section)
                    and (block.form in _LISTS) == lists
                ]
                arranged += _section(chosen, order, how)
    return arranged


def _section(blocks: list[Block], order: dict[str, int], how: str) -> list[Block]:
    by_path: dict[str, list[Block]] = {}
    for block in sorted(blocks, key=lambda b: (b.path, order[b.unit], b.unit)):
        by_path.setdefault(block.path, []).append(block)
    paths = list(by_path)
    if how != "stable":
        paths.sort(key=lambda path: (-max(b.score for b in by_path[path]), path))
    if how == "edges":
        paths = paths[::2] + paths[1::2][::-1]
    return [block for path in paths for block in by_path[path]]
