"""What the engine remembers of dependencies is what a node asked for last, however it got there."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.engine.rows import Rows

edge = st.tuples(st.integers(1, 6), st.sampled_from(["", "a", "b"]), st.binary(max_size=2))
edges = st.lists(edge, max_size=8, unique_by=lambda each: each[:2])


def remembered(rows: Rows, src: int) -> list[tuple[int, str, bytes]]:
    return rows.connection.execute(
        "SELECT dep, facet, digest FROM edges WHERE src = ? ORDER BY ord", (src,)
    ).fetchall()


@given(st.lists(edges, min_size=1, max_size=5))
def test_the_edges_of_a_node_are_those_that_were_written_last(written):
    rows = Rows(sqlite3.connect(":memory:", isolation_level=None))
    rows.write_edges(2, [(1, "", b"other")], fresh=True)
    for number, each in enumerate(written):
        rows.write_edges(1, each, fresh=number == 0)
        assert remembered(rows, 1) == each
    assert remembered(rows, 2) == [(1, "", b"other")]
    rows.connection.close()


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_only_the_edges_that_differ_are_written(changed):
    rows = Rows(sqlite3.connect(":memory:", isolation_level=None))
    first = [(1, "a", b"1"), (2, "a", b"2"), (3, "a", b"3")]
    rows.write_edges(9, first, fresh=True)
    before = rows.connection.total_changes
    second = [(dep, f, b"new" if i < changed else seen) for i, (dep, f, seen) in enumerate(first)]
    rows.write_edges(9, second, fresh=False)
    assert rows.connection.total_changes - before == changed
    assert remembered(rows, 9) == second
