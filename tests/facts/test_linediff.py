"""Our diff: it turns the old lines into the new ones, changes little, and is never slow."""

from __future__ import annotations

import random
import time

from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.facts.linediff import Change, changes

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "    d"]), max_size=14)


def patched(old, new, found):
    """The old lines with the changes made, checking that what lies between them is equal."""
    made, left, right = [], 0, 0
    for each in found:
        assert each.old_end > each.old_start or each.new_end > each.new_start
        assert old[left : each.old_start] == new[right : each.new_start]
        made += old[left : each.old_start] + new[each.new_start : each.new_end]
        left, right = each.old_end, each.new_end
    return made + old[left:]


@given(LINES, LINES)
def test_the_changes_make_the_new_lines_of_the_old_ones(old, new):
    assert patched(old, new, changes(old, new)) == new


@given(LINES)
def test_equal_lines_have_no_changes(lines):
    assert changes(lines, list(lines)) == []


def test_only_what_changed_is_changed():
    old = ["import a", "", "def f():", "    return 1", "", "def g():", "    return 2"]
    new = ["import a", "import b", "", "def f():", "    return 1", "", "def g():", "    return 3"]
    assert changes(old, new) == [Change(1, 1, 1, 2), Change(6, 7, 7, 8)]


def test_an_inserted_function_is_set_off_where_it_begins():
    old = ["def f():", "    return 1", "", "def g():", "    return 1", ""]
    new = ["def f():", "    return 1", "", "def h():", "    return 1", "", *old[3:]]
    assert changes(old, new) == [Change(3, 3, 3, 6)]


def test_texts_that_a_shortest_script_would_take_long_for_count_as_replaced_in_bounded_time():
    shuffled = [str(n) for n in range(30_000)]
    random.Random(7).shuffle(shuffled)
    repeated = [str(n % 7) for n in range(20_000)]
    other = [str(n * n % 11) for n in range(20_000)]
    started = time.perf_counter()
    for old, new in (([str(n) for n in range(30_000)], shuffled), (repeated, other)):
        assert patched(old, new, changes(old, new)) == new
    assert time.perf_counter() - started < 10
