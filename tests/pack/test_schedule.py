"""Layered targets: the order of layers, how budgets flow between them, and who goes first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbuild.errors import BudgetError
from ctxbuild.model import Candidate, Proposal, Reason, Rung
from ctxbuild.pack import render, schedule
from ctxbuild.pack.budget import Style, fit
from ctxbuild.pack.tokens import counter
from ctxbuild.source.ctxfile import Layer, Target
from ctxbuild.source.presets import PRESETS

COUNT = counter("o200k_base")


def layer(name, budget=None, **keys):
    return Layer(name, "files", ("*",), budget, **keys)


def pieces(name, sizes, *, pinned=False):
    """Candidates of about so many tokens each."""
    return tuple(
        Candidate(
            f"{name}{n}.txt", f"{name}{n}.txt", "", name, "", 0,
            (Rung("full", text="word " * size + "\n"),), 1.0, (Reason("listed"),), pinned=pinned,
        )
        for n, size in enumerate(sizes)
    )  # fmt: skip


def fitted(budget, layers, sizes, reserve=0):
    target = Target("t", layers, budget, reserve)
    proposals = {
        each.name: Proposal(pieces(each.name, sizes[each.name], pinned=each.pin)) for each in layers
    }
    budgets = {each.name: each.budget for each in layers if each.budget}
    limits = schedule.limits_of(target, proposals, budgets)
    style = Style("t", schedule.reading_order(target, proposals), {})
    order = schedule.filling_order(target, proposals)
    candidates = [each for name in order for each in proposals[name].candidates]
    return target, fit(candidates, None, COUNT, limits, style)


def counts(found):
    made = {}
    for block in found.blocks:
        made[block.layer] = made.get(block.layer, 0) + 1
    return made


def test_layers_stand_by_position_and_inside_one_as_declared():
    layers = (
        layer("s", position="suffix"),
        layer("a"),
        layer("p", position="prefix"),
        layer("m", position="middle"),
        layer("q", position="prefix"),
    )
    target = Target("t", layers)
    assert schedule.reading_order(target, ()) == ("p", "q", "a", "m", "s")
    assert schedule.reading_order(target, ("x", "a")) == ("p", "q", "a", "m", "s", "x")
    _, found = fitted(1_000, layers, {name: [10] for name in "sapmq"})
    assert [block.layer for block in found.blocks] == ["p", "q", "a", "m", "s"]


def test_without_priorities_a_budget_is_a_hard_limit_and_layers_fill_as_declared():
    layers = (layer("a", 100), layer("b", 100))
    _, found = fitted(1_000, layers, {"a": [40] * 9, "b": [40] * 9})
    assert counts(found) == {"a": 2, "b": 2}


def test_what_a_slice_leaves_unused_flows_on_by_priority():
    layers = (
        layer("low", 100, priority=1),
        layer("fixed", 100),
        layer("high", 100, priority=9),
        layer("empty", 300, priority=5),
    )
    sizes = {"low": [40] * 20, "fixed": [40] * 9, "high": [40] * 5, "empty": []}
    target, found = fitted(600, layers, sizes)
    assert counts(found) == {"high": 5, "fixed": 2, "low": 4}
    rows = [(s.layer, s.priority, s.budget) for s in schedule.slices(target, found)]
    assert rows == [("low", 1, 100), ("fixed", 0, 100), ("high", 9, 100), ("empty", 5, 300)]
    spent = {s.layer: s.tokens for s in schedule.slices(target, found)}
    assert spent["high"] > 200
    assert spent["empty"] == 0


def test_nobody_loses_what_it_has_in_its_own_slice_to_a_layer_of_higher_priority():
    layers = (layer("a", 200, priority=1), layer("b", 200, priority=9))
    _, found = fitted(420, layers, {"a": [40] * 9, "b": [40] * 9})
    assert counts(found)["a"] >= 3


def test_the_lowest_priority_goes_first_and_what_is_pinned_never():
    layers = (
        layer("rules", 100, pin=True, priority=90),
        layer("summary", 100, priority=10),
        layer("recent", 100, priority=50),
        layer("workspace", 100, priority=70),
    )
    sizes = {n: [30, 30] for n in ("rules", "summary", "recent", "workspace")}
    gone = []
    for budget in range(420, 90, -5):
        _, found = fitted(budget, layers, sizes)
        left = counts(found)
        assert left["rules"] == 2
        gone += [n for n in ("summary", "recent", "workspace") if n not in left and n not in gone]
    assert gone == ["summary", "recent", "workspace"]
    with pytest.raises(BudgetError, match="what is pinned needs"):
        fitted(60, layers, sizes)


def test_a_file_that_does_not_fit_does_not_stop_smaller_ones_after_it():
    _, found = fitted(200, (layer("a", 150, priority=1),), {"a": [40, 900, 40, 900, 30]})
    assert [block.unit for block in found.blocks] == ["a0.txt", "a2.txt", "a4.txt"]


SIZES = st.lists(st.integers(1, 120), max_size=8)


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(SIZES, st.one_of(st.none(), st.integers(20, 400)), st.integers(0, 3)),
        min_size=1,
        max_size=5,
    ),
    st.integers(60, 900),
    st.integers(0, 50),
    SIZES,
)
def test_the_exact_count_keeps_the_budget_and_every_pin_is_there(rest, budget, reserve, pins):
    layers = [layer("pins", pin=True, priority=3)]
    sizes = {"pins": pins}
    for number, (texts, limit, priority) in enumerate(rest):
        position = (None, "prefix", "middle", "suffix")[number % 4]
        layers.append(layer(f"l{number}", limit, priority=priority, position=position))
        sizes[f"l{number}"] = texts
    try:
        _, found = fitted(budget, tuple(layers), sizes, reserve)
    except BudgetError:
        texts = [each.ladder[0].text for each in pieces("pins", pins)]
        assert sum(COUNT(texts)) + 12 * len(texts) + 60 > budget - reserve
        return
    assert COUNT([render.markdown("t", found.blocks)])[0] == found.tokens <= budget - reserve
    assert counts(found).get("pins", 0) == len(pins)
    assert len(found.verdicts) == sum(map(len, sizes.values()))
    for name, limit in ((each.name, each.budget) for each in layers if not each.priority):
        blocks = [block for block in found.blocks if block.layer == name]
        assert limit is None or sum(block.tokens for block in blocks) <= limit


def test_every_preset_gives_its_layers_all_of_its_budget_and_no_more():
    for name, preset in PRESETS.items():
        given = sum(each["budget"] for each in preset.layers)
        assert given <= preset.keys["budget"] - preset.keys.get("reserve", 0), name
        assert all(each["name"] for each in preset.layers), name


def test_the_plan_says_nothing_of_a_schedule_where_a_target_has_none():
    target, found = fitted(1_000, (layer("a"), layer("b")), {"a": [10], "b": [10]})
    assert schedule.slices(target, found) == ()
