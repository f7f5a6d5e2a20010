"""List prices, and what going on with a session costs."""

from __future__ import annotations

import datetime as dt

import pytest

from ctxbuild.compare.prices import MILLION, compare, price_of, prices, prompt
from ctxbuild.errors import UsageError

SONNET = price_of("claude-sonnet-4-5")


def test_the_data_file_is_dated_and_plausible():
    assert len({price.model for price in prices()}) == len(prices())
    for price in prices():
        dt.date.fromisoformat(price.date)
        assert 0 < price.read < price.input <= price.write <= 2 * price.input < price.output
        assert 512 <= price.smallest <= 4096
        assert price.marks in (0, 4)
    assert {price.provider for price in prices()} == {"anthropic", "openai", "gemini"}


def test_a_model_is_found_by_name_or_by_default():
    assert price_of("").model == "claude-sonnet-4-5"
    assert price_of("", "openai").model == "gpt-5.4"
    with pytest.raises(
        UsageError, match="unknown model 'claude-sonet-4-5', did you mean 'claude-s"
    ):
        price_of("claude-sonet-4-5")
    with pytest.raises(UsageError, match="unknown openai model 'claude-sonnet-4-5'"):
        price_of("claude-sonnet-4-5", "openai")


def test_a_prompt_reads_what_is_cached_and_writes_the_rest():
    assert prompt(SONNET, 10_000, 1_000) == (10_000 * 0.30 + 1_000 * 3.75) / MILLION


def test_a_prefix_below_the_smallest_is_not_cached():
    assert prompt(SONNET, 900, 10_000) == 10_900 * 3.75 / MILLION
    assert prompt(SONNET, 0, 900) == 900 * 3.00 / MILLION


def test_a_small_delta_is_cheaper_and_a_huge_one_is_not():
    small = compare(SONNET, old=8_000, new=8_000, shared=1_500, delta=300)
    huge = compare(SONNET, old=8_000, new=8_000, shared=7_900, delta=7_000)
    assert (small.fresh_is_cheaper, huge.fresh_is_cheaper) == (False, True)


def test_over_many_turns_dragging_the_old_pack_along_costs_more():
    few, many = (
        compare(SONNET, old=8_000, new=4_000, shared=2_000, delta=400, turns=turns)
        for turns in (1, 40)
    )
    assert (few.fresh_is_cheaper, many.fresh_is_cheaper) == (False, True)


def test_a_long_conversation_behind_the_pack_speaks_for_the_delta():
    short, long = (
        compare(SONNET, old=8_000, new=8_000, shared=7_900, delta=1_000, history=history)
        for history in (0, 50_000)
    )
    assert (short.fresh_is_cheaper, long.fresh_is_cheaper) == (True, False)
