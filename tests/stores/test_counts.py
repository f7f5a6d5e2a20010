"""Token counts that are remembered by text."""

from __future__ import annotations

import sqlite3

import pytest

from ctxbuild.stores import counts
from ctxbuild.stores.counts import RememberedCounts


@pytest.fixture
def connection():
    opened = sqlite3.connect(":memory:", isolation_level=None)
    opened.execute("CREATE TABLE counts(key BLOB PRIMARY KEY, tokens INTEGER) WITHOUT ROWID")
    yield opened
    opened.close()


class Counter:
    """Counts characters, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def __call__(self, tokenizer):
        def count(texts):
            self.asked.append((tokenizer, list(texts)))
            return [len(text) for text in texts]

        return count


def test_a_text_is_counted_once(connection):
    counter = Counter()
    count = RememberedCounts(connection, "o200k_base", counter)
    assert count(["one", "three", "one", ""]) == [3, 5, 3, 0]
    assert count(["three", "four"]) == [5, 4]
    assert counter.asked == [("o200k_base", ["one", "three", ""]), ("o200k_base", ["four"])]


def test_what_is_known_needs_no_tokenizer(connection):
    RememberedCounts(connection, "o200k_base", Counter())(["one"])

    def forbidden(_tokenizer):
        raise AssertionError

    assert RememberedCounts(connection, "o200k_base", forbidden)(["one"]) == [3]


def test_another_encoding_counts_for_itself(connection):
    counter = Counter()
    RememberedCounts(connection, "o200k_base", counter)(["one"])
    RememberedCounts(connection, "cl100k_base", counter)(["one"])
    assert [tokenizer for tokenizer, _ in counter.asked] == ["o200k_base", "cl100k_base"]


def test_more_texts_than_one_question_holds(connection):
    texts = [f"{number}" for number in range(1_234)]
    count = RememberedCounts(connection, "o200k_base", Counter())
    assert count(texts) == count(texts) == [len(text) for text in texts]


def test_all_are_forgotten_when_there_are_too_many(connection, monkeypatch):
    monkeypatch.setattr(counts, "_MOST", 3)
    count = RememberedCounts(connection, "o200k_base", Counter())
    count(["one", "two"])
    assert count(["three", "four"]) == [5, 4]
    assert connection.execute("SELECT COUNT(*) FROM counts").fetchone() == (2,)
    assert count(["one", "four"]) == [3, 4]


def test_a_text_with_a_lone_surrogate_has_a_count(connection):
    assert RememberedCounts(connection, "o200k_base", Counter())(["\ud800"]) == [1]
