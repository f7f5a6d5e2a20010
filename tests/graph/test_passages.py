"""What of each unit an embedder is given, and its tables."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from ctxbuild.facts import extract
from ctxbuild.graph import index, passages
from ctxbuild.graph.units import units_of

CODE = '''\
"""Keeps things."""

LIMIT = 3


class Store:
    """A store."""

    size = 0

    def save(self, key):
        """Saves."""

        return key


def free():
    return 1
'''
TEXT = "# Guide\n\nHow to save.\n\n# Empty\n"


def units_in(path: str, text: str) -> Any:
    """The units of a text, parsed if its name says so."""
    facts = extract(text.encode(), "python" if path.endswith(".py") else None)
    return units_of(text, facts.outline, facts.lines, facts.definitions, facts.references)


def test_a_passage_is_the_name_and_the_own_lines_of_a_unit() -> None:
    units = units_in("a.py", CODE)
    found = dict(zip([u.name for u in units], passages.passages_of(CODE, units), strict=True))
    assert found == {
        "": '"""Keeps things."""\nLIMIT = 3',
        "Store": 'Store\nclass Store:\n    """A store."""\n    size = 0',
        "Store.save": (
            'Store.save\n    def save(self, key):\n        """Saves."""\n        return key'
        ),
        "free": "free\ndef free():\n    return 1",
    }
    units = units_in("a.md", TEXT)
    assert passages.passages_of(TEXT, units) == ["# Guide\nHow to save.", "# Empty"]


def test_a_long_unit_is_cut_and_an_empty_module_says_nothing() -> None:
    code = "def f():\n" + "    call(1, 2, 3)\n" * 1_000
    module, function = passages.passages_of(code, units_in("a.py", code))
    assert (module, len(function)) == ("", passages.LONGEST)


@pytest.fixture
def connection() -> Any:
    """An empty state database."""
    opened = sqlite3.connect(":memory:")
    yield opened
    opened.close()


def keep(connection: sqlite3.Connection, path: str, text: str | None) -> bool:
    """Puts a file into both collections; says whether its passages differ."""
    units = units_in(path, text) if text is not None else None
    index.keep(connection, 1, path, index.encode(units) if units is not None else None)
    part = None
    if units is not None:
        part = passages.encode(passages.passages_of(text or "", units))
    return passages.keep(connection, path, part)


def test_each_passage_stands_for_the_unit_at_its_place(connection: sqlite3.Connection) -> None:
    assert keep(connection, "b.py", CODE)
    assert keep(connection, "a.md", TEXT)
    corpus = index.Corpus(connection)
    places = passages.places(connection, corpus)
    known = corpus.known(place.unit for place in places)
    texts = passages.texts(connection, places)
    assert [(place.path, known[place.unit].name) for place in places] == [
        *(("a.md", "Guide"), ("a.md", "Empty")),
        *(("b.py", ""), ("b.py", "Store"), ("b.py", "Store.save"), ("b.py", "free")),
    ]
    assert texts[0] == "# Guide\nHow to save."
    assert [place.digest for place in places] == [passages.digest_of(text) for text in texts]


def test_what_comes_moves_and_goes_is_told_apart(connection: sqlite3.Connection) -> None:
    assert keep(connection, "a.py", CODE)
    assert not keep(connection, "a.py", "\n\n" + CODE)
    assert keep(connection, "a.py", CODE.replace("return 1", "return 2"))
    assert keep(connection, "a.py", None)
    assert not keep(connection, "a.py", None)
    assert passages.places(connection, index.Corpus(connection)) == []
