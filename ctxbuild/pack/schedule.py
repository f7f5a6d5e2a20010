"""Layered targets: where layers stand, in which order they are filled, and what a session adds.

Layers are read prefix first, suffix last: a model heeds the edges of its context most
(Liu et al., "Lost in the middle", 2023). They are filled by priority, so that what
matters least is the first to go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ctxbuild.model import Candidate, Proposal, Rung, Slice
from ctxbuild.pack import render
from ctxbuild.pack.budget import Fitted, Limits

if TYPE_CHECKING:
    from ctxbuild.pack.asker import Asker
    from ctxbuild.source.ctxfile import Layer, Target

_PLACES = {"prefix": 0, "middle": 1, None: 1, "suffix": 2}
_RESTATED = " (restated)"
"""Ends the name of the layer that says another one once more; no name of a ctxfile has a blank."""


def reading_order(target: Target, names: Iterable[str]) -> tuple[str, ...]:
    """The names of layers in the order in which they are read; what is restated ends them."""
    declared = sorted(target.layers, key=lambda layer: _PLACES[layer.position])
    return _with_added([layer.name for layer in declared], names)


def filling_order(target: Target, names: Iterable[str]) -> tuple[str, ...]:
    """The names of layers in the order in which they are filled: by falling priority."""
    ranked = sorted(target.layers, key=lambda layer: -layer.priority)
    return _with_added([layer.name for layer in ranked], names)


def _with_added(declared: list[str], names: Iterable[str]) -> tuple[str, ...]:
    return (*declared, *(name for name in names if name not in declared))


def limits_of(
    target: Target, proposals: Mapping[str, Proposal], budgets: Mapping[str, int]
) -> Limits:
    """The budget of a target and of its layers.

    Args:
        proposals: by layer; one that bounds itself takes nothing that others leave unused.
        budgets: tokens per layer that has a budget of its own.
    """
    flowing = frozenset(
        layer.name
        for layer in target.layers
        if layer.priority and layer.name in budgets and proposals[layer.name].most is None
    )
    order = filling_order(target, proposals)
    return Limits(target.budget, target.reserve, budgets, order, flowing)


def slices(target: Target, fitted: Fitted) -> tuple[Slice, ...]:
    """What every layer had of the budget; () for a target without priorities and the like."""
    if not any(
        each.priority or each.position or each.restate or each.hydrate for each in target.layers
    ):
        return ()
    spent = dict(fitted.spent)
    layers = {layer.name: layer for layer in target.layers}
    pinned: dict[str, int] = {}
    for block in fitted.blocks:
        layer = layers.get(block.layer)
        pinned[block.layer] = pinned.get(block.layer, 0) + (layer is None or layer.pin)
    found = []
    for name in reading_order(target, spent):
        layer = layers.get(name)
        found.append(
            Slice(
                layer=name,
                position=(layer.position or "") if layer else "suffix",
                priority=layer.priority if layer else 0,
                budget=layer.budget if layer else None,
                tokens=spent.get(name, 0),
                pinned=pinned.get(name, 0),
            )
        )
    return tuple(found)


# --- what a session adds ----------------------------------------------------------------


def settled(asker: Asker, target: Target, proposals: Mapping[str, Proposal]) -> dict[str, Proposal]:
    """The proposals with what the session is about to change in full, and the goal restated."""
    sessions = [layer.patterns[0] for layer in target.layers if layer.source == "transcript"]
    wanting = [layer for layer in target.layers if layer.restate or layer.hydrate]
    found = dict(proposals)
    if not sessions or not wanting:
        return found
    talks = [asker.talk(path) for path in sessions]
    if any(layer.hydrate for layer in wanting):
        from ctxbuild.select import hydrate

        meant: dict[str, hydrate.Hint] = {}
        for turns in talks:
            meant = {**hydrate.units(asker, hydrate.hints(turns)), **meant}
        found = hydrate.raised(asker, target.layers, found, meant)
    said = max(len(turns) for turns in talks)
    for layer in wanting:
        if layer.restate and said >= layer.restate:
            found |= _restated(asker, layer, found[layer.name].candidates)
    return found


def _restated(asker: Asker, layer: Layer, candidates: Sequence[Candidate]) -> dict[str, Proposal]:
    """A layer once more, pinned, as a layer of its own."""
    name = f"{layer.name}{_RESTATED}"
    again = tuple(
        replace(
            each,
            unit=f"{each.unit}#restated",
            layer=name,
            section="restated",
            order=order,
            ladder=(Rung("full", "", 0, 1.0, _text(asker, each)),),
            pinned=True,
            parent="",
            only_with=(),
        )
        for order, each in enumerate(candidates)
    )
    return {name: Proposal(again)}


def _text(asker: Asker, each: Candidate) -> str:
    """The best form of a candidate, fenced, since its text may hold titles of its own."""
    best = each.ladder[-1]
    text = best.text if best.text is not None else asker.text(each.path)
    text = text if text.endswith("\n") else f"{text}\n"
    before, after = render.wrap("", text)
    return before + text + after
