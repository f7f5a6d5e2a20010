"""What a budget buys: properties of the choice, on made-up offers."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.model import Candidate, Rung
from ctxbuild.pack.fit import Choice, Headers, Offer, choose, offer
from ctxbuild.select.phases import ON_DEMAND

FREE = Headers(lambda _candidate, _rung: (), {})


def make(unit, costs, *, phases=(), worths=(), **fields):
    """An offer with these costs."""
    phases = phases or (1,) * len(costs)
    worths = worths or tuple(range(1, len(costs) + 1))
    ladder = tuple(
        Rung("skeleton", "none", phase, worth) for phase, worth in zip(phases, worths, strict=True)
    )
    path = unit.partition("::")[0]
    values = {"section": "used", "score": 1.0, "reasons": (), **fields}
    candidate = Candidate(unit, path, "x", "entry", order=0, ladder=ladder, **values)
    return Offer(candidate, ladder, ("",) * len(costs), tuple(costs))


@st.composite
def offers(draw):
    """Offers with ladders, class headers, files with headers, pins and conditions."""
    found = []
    for number in range(draw(st.integers(1, 12))):
        size = draw(st.integers(1, 4))
        costs = sorted(draw(st.sets(st.integers(1, 60), min_size=size, max_size=size)))
        phases = sorted(draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)))
        worths = sorted(draw(st.sets(st.integers(1, 20), min_size=size, max_size=size)))
        earlier = [each.candidate.unit for each in found]
        unit = f"f{draw(st.integers(0, 3))}::{number}"
        each = make(
            unit,
            costs,
            phases=tuple(phases),
            worths=tuple(worths),
            section=draw(st.sampled_from(["used", "used", "indirect"])),
            parent=draw(st.sampled_from(["", *earlier])),
            only_with=tuple(draw(st.lists(st.sampled_from(earlier), max_size=2)))
            if earlier
            else (),
        )
        if draw(st.integers(0, 5)) == 0:
            ladder = (replace(each.ladder[0], phase=ON_DEMAND),)
            each = Offer(each.candidate, ladder, ("",), each.costs[:1])
        found.append(each)
    return found


def headers_of(some):
    """A header of three tokens per file and of five per section."""

    def above(candidate, _rung):
        return (f"path:{candidate.path}", f"section:{candidate.section}")

    costs = {h: 3 if h[0] == "p" else 5 for o in some for h in above(o.candidate, None)}
    return Headers(above, costs)


def tokens(some, headers, rungs):
    """What a choice takes, added up from scratch."""
    taken = [(each, rungs[each.candidate.unit]) for each in some if each.candidate.unit in rungs]
    above = {h for each, rung in taken for h in headers.above(each.candidate, each.ladder[rung])}
    return sum(each.costs[rung] for each, rung in taken) + sum(headers.costs[h] for h in above)


@given(offers(), st.integers(0, 300))
def test_the_budget_is_never_exceeded_and_the_price_is_what_it_adds_up_to(some, available):
    headers = headers_of(some)
    choice = choose(some, headers, available)
    assert choice.tokens == tokens(some, headers, choice.rungs) <= available


@given(offers(), st.integers(0, 300))
def test_the_same_offers_give_the_same_choice(some, available):
    headers = headers_of(some)
    assert choose(some, headers, available) == choose(list(some), headers, available)


@given(offers(), st.integers(0, 300))
def test_a_header_stands_above_everything_that_needs_it(some, available):
    choice = choose(some, headers_of(some), available)
    by_unit = {each.candidate.unit: each.candidate for each in some}
    for unit in choice.rungs:
        parent = by_unit[unit].parent
        assert not parent or parent in choice.rungs


@given(offers(), st.integers(0, 300))
def test_a_header_stands_above_something(some, available):
    choice = choose(some, headers_of(some), available)
    needed = {each.candidate.parent for each in some if each.candidate.unit in choice.rungs}
    for each in some:
        if each.ladder[0].phase >= ON_DEMAND and each.candidate.unit in choice.rungs:
            assert each.candidate.unit in needed


@given(offers(), st.integers(0, 300))
def test_what_needs_company_has_it(some, available):
    choice = choose(some, headers_of(some), available)
    parents = {each.candidate.parent for each in some}
    for each in some:
        needs = each.candidate.only_with
        unit = each.candidate.unit
        if needs and unit in choice.rungs and unit not in parents:
            assert any(other in choice.rungs for other in needs)


@given(offers(), st.integers(0, 300))
def test_nothing_that_still_fits_is_left_out(some, available):
    headers = headers_of(some)
    choice = choose(some, headers, available)
    for each in some:
        unit = each.candidate.unit
        for rung in range(choice.rungs.get(unit, -1) + 1, len(each.ladder)):
            alone = not each.candidate.parent and not each.candidate.only_with
            if alone and each.ladder[rung].phase < ON_DEMAND:
                more = {**choice.rungs, unit: rung}
                assert tokens(some, headers, more) > available


@given(offers())
def test_everything_is_in_its_best_form_when_there_is_enough(some):
    choice = choose(some, headers_of(some), 10_000)
    for each in some:
        unit, needs = each.candidate.unit, each.candidate.only_with
        if each.ladder[0].phase < ON_DEMAND and not needs:
            assert choice.rungs[unit] == len(each.ladder) - 1


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(0, 400), st.data())
def test_more_budget_never_keeps_fewer_of_what_is_worth_the_same_per_token(costs, budget, data):
    some = [make(f"f::{n}", (cost,), worths=(float(cost),)) for n, cost in enumerate(sorted(costs))]
    more = budget + data.draw(st.integers(0, 50))
    assert len(choose(some, FREE, budget).rungs) <= len(choose(some, FREE, more).rungs)


@given(st.lists(st.integers(20, 40), min_size=2, max_size=25), st.integers(0, 600), st.data())
def test_a_small_change_of_one_cost_moves_few(costs, available, data):
    def chosen(costs):
        some = [make(f"f::{n}", (cost,), worths=(1.0,)) for n, cost in enumerate(costs)]
        return set(choose(some, FREE, available).rungs)

    # Far from where one grade of worth per token ends and the next begins.
    costs = [min(max(cost, 24), 40) for cost in costs]
    place = data.draw(st.integers(0, len(costs) - 1))
    moved = [cost + (n == place) for n, cost in enumerate(costs)]
    before, after = chosen(costs), chosen(moved)
    assert len(before ^ after) <= 3


def test_several_small_ones_go_before_a_large_one_that_is_worth_less():
    large = make("f::large", (60,), worths=(2.0,))
    small = [make(f"f::{n}", (20,), worths=(1.0,)) for n in range(3)]
    assert choose([large, *small], FREE, 60) == Choice({"f::0": 0, "f::1": 0, "f::2": 0}, 60)


def test_smaller_ones_still_get_in_after_one_that_does_not_fit():
    some = [make("f::a", (100,), worths=(50.0,)), make("f::b", (10,)), make("f::c", (10,))]
    assert set(choose(some, FREE, 30).rungs) == {"f::b", "f::c"}


def test_an_earlier_phase_is_bought_first_even_if_it_is_worth_less():
    early = make("f::early", (50,), worths=(1.0,))
    late = make("f::late", (10,), phases=(2,), worths=(9.0,))
    assert choose([late, early], FREE, 55).rungs == {"f::early": 0}


def test_a_member_pays_for_its_class_and_the_next_one_does_not():
    header = make("f::C", (10,), phases=(ON_DEMAND,))
    members = [make(f"f::C.{n}", (5,), parent="f::C") for n in range(2)]
    assert choose([header, *members], FREE, 14) == Choice({}, 0)
    assert choose([header, *members], FREE, 15) == Choice({"f::C": 0, "f::C.0": 0}, 15)
    assert choose([header, *members], FREE, 20).tokens == 20


def test_a_section_takes_no_more_than_its_share_of_what_the_entry_leaves_over():
    entry = make("f::entry", (100,), phases=(0,))
    far = [make(f"g::{n}", (10,), phases=(3,), section="indirect") for n in range(9)]
    choice = choose([entry, *far], FREE, 200, {"indirect": 0.25})
    assert len(choice.rungs) == 1 + 2


def test_what_is_pinned_is_taken_whole_whatever_it_costs():
    pinned = make("f::p", (10, 90), pinned=True)
    assert choose([pinned, make("f::a", (5,))], FREE, 20) == Choice({"f::p": 1}, 90)


def test_a_form_that_a_better_one_undercuts_is_no_offer():
    ladder = tuple(Rung("skeleton", part, 1, worth) for part, worth in (("none", 1), ("first", 2)))
    candidate = replace(make("f::a", (1,)).candidate, ladder=ladder)
    made = offer(candidate, ["long", "short"], [9, 4])
    assert (made.texts, made.costs) == (("short",), (4,))


# --- stand-ins --------------------------------------------------------------------------------


def hunk(unit, size):
    """A unit of so many tokens that a line of three tokens stands for."""
    return make(unit, (3, size), phases=(5, 1), worths=(0.1, 3.0))


def test_a_stand_in_is_bought_only_for_what_has_nothing_else():
    offers = [hunk("a", 10), hunk("b", 10)]
    assert choose(offers, FREE, 100).rungs == {"a": 1, "b": 1}
    assert choose(offers, FREE, 14).rungs == {"a": 1, "b": 0}


def test_room_is_kept_for_stand_ins_where_something_is_left_out():
    offers = [hunk(f"u{n}", 10) for n in range(20)]
    found = choose(offers, FREE, 100)
    names = [unit for unit, rung in found.rungs.items() if rung == 0]
    assert len(names) >= 5
    assert found.tokens <= 100
    assert found.tokens == 3 * len(names) + 10 * (len(found.rungs) - len(names))
