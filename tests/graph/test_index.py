"""The index of questions: what it holds after any history is what a fresh one holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbuild.graph.index import Corpus, encode, keep
from ctxbuild.graph.units import Unit

WORDS = ("apple", "pear", "plum")


def unit(name: str, body: str, order: int = 0) -> Unit:
    return Unit(name, "function", order, (1, 2), len(body), (name, "", "", body), ("helper",))


def put(connection: sqlite3.Connection, path: str, *units: Unit) -> bool:
    return keep(connection, 1, path, encode(units) if units else None)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def state(connection: sqlite3.Connection) -> object:
    """All that a search can see, without the numbers of units."""
    corpus = Corpus(connection)
    found = {}
    for word in WORDS:
        weighed = corpus.weighed(word, (1.0, 1.0, 1.0, 1.0))
        known = corpus.known(weighed)
        found[word] = (
            corpus.held_by(word),
            sorted((known[u].path, known[u].name, often) for u, often in weighed.items()),
        )
    files = [(file.path, list(file.lengths), file.kinds) for file in corpus.files]
    return found, files, corpus.totals


def test_a_term_is_found_in_each_unit_as_often_as_it_stands_there(
    connection: sqlite3.Connection,
) -> None:
    put(connection, "b.py", unit("f", "apple apple pear"), unit("g", "pear", 1))
    put(connection, "a.py", unit("apple", "plum"))
    corpus = Corpus(connection)
    weighed = corpus.weighed("apple", (5.0, 1.0, 1.0, 1.0))
    assert {corpus.known([u])[u].name: often for u, often in weighed.items()} == {
        "f": 2.0,
        "apple": 5.0,
    }
    assert corpus.totals == {"files": 2, "units": 3, "words": 8}
    assert [file.path for file in corpus.files] == ["a.py", "b.py"]


def test_a_phrase_is_found_where_its_words_follow_one_another(
    connection: sqlite3.Connection,
) -> None:
    put(connection, "a.py", unit("f", "apple pear plum"), unit("g", "apple plum pear", 1))
    corpus = Corpus(connection)
    (found,) = corpus.phrase(("pear", "plum"), 10)
    assert corpus.known([found])[found].name == "f"
    assert corpus.phrase(("apple",), 1) == []  # too many to tell anything


def test_definitions_are_found_by_their_last_part_whatever_its_case(
    connection: sqlite3.Connection,
) -> None:
    put(connection, "b.py", unit("Tree.Grow", "apple"))
    put(connection, "a.py", unit("grow", "pear"))
    found = Corpus(connection).named("grow")
    assert [(each.path, each.name, each.uses) for each in found] == [
        ("a.py", "grow", ("helper",)),
        ("b.py", "Tree.Grow", ("helper",)),
    ]


def test_a_file_that_goes_takes_all_its_units_along(connection: sqlite3.Connection) -> None:
    put(connection, "a.py", unit("f", "apple"))
    before = state(connection)
    put(connection, "b.py", unit("g", "apple pear"))
    assert put(connection, "b.py")
    assert state(connection) == before
    assert not put(connection, "b.py")


files = st.sampled_from(["a.py", "b.py", "c.py"])
bodies = st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=3)


@settings(max_examples=40)
@given(st.lists(st.tuples(files, bodies), max_size=8))
def test_any_history_of_files_leads_to_the_index_of_the_last_state(
    history: list[tuple[str, list[str]]],
) -> None:
    grown = sqlite3.connect(":memory:", isolation_level=None)
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    last = {}
    for path, texts in history:
        last[path] = [unit(f"f{n}", text, n) for n, text in enumerate(texts)]
        put(grown, path, *last[path])
    for path in sorted(last):
        put(fresh, path, *last[path])
    assert state(grown) == state(fresh)
    grown.close()
    fresh.close()
