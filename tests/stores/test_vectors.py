"""Vectors on disk."""

from __future__ import annotations

import os

import pytest

from ctxbuild.stores.vectors import FileVectors

MANY = [(b"%d" % number, b"v%d" % number) for number in range(1_203)]


def test_vectors_are_found_again_by_embedder_and_digest(tmp_path):
    store = FileVectors(tmp_path / "vectors.db")
    assert store.get_many("one", [b"1"]) == {}
    store.put_many("one", MANY)
    store.put_many("other", [(b"1", b"else")])
    store.close()
    again = FileVectors(tmp_path / "vectors.db")
    assert again.get_many("one", [*dict(MANY), b"unknown"]) == dict(MANY)
    assert again.get_many("other", [b"1", b"2"]) == {b"1": b"else"}
    again.close()


@pytest.mark.parametrize("content", [b"no database at all, but long enough" * 40, b""])
def test_a_file_that_is_no_database_is_started_anew(tmp_path, content):
    path = tmp_path / "vectors.db"
    path.write_bytes(content)
    store = FileVectors(path)
    store.put_many("one", MANY)
    store.close()
    again = FileVectors(path)
    assert again.get_many("one", [b"7"]) == {b"7": b"v7"}
    again.close()


def test_where_nothing_can_be_written_vectors_last_for_the_run(tmp_path):
    for path in (None, tmp_path / "missing" / "vectors.db"):
        store = FileVectors(path)
        store.put_many("one", MANY)
        assert store.get_many("one", [b"7"]) == {b"7": b"v7"}
        store.close()
    assert os.listdir(tmp_path) == []


def test_a_database_with_a_foreign_table_or_damaged_pages_is_started_anew(tmp_path):
    import sqlite3

    foreign, damaged = tmp_path / "foreign.db", tmp_path / "damaged.db"
    with sqlite3.connect(foreign) as other:
        other.execute("CREATE TABLE vectors(x)")
    other.close()
    store = FileVectors(damaged)
    store.put_many("one", MANY)
    store.close()
    data = damaged.read_bytes()
    damaged.write_bytes(data[:4096] + b"\x55" * (len(data) - 4096))
    for path in (foreign, damaged):
        store = FileVectors(path)
        assert store.get_many("one", [b"7"]) == {}
        store.put_many("one", MANY)
        store.close()
        again = FileVectors(path)
        assert again.get_many("one", dict(MANY)) == dict(MANY)
        again.close()


def test_the_oldest_are_dropped_beyond_a_number(tmp_path):
    store = FileVectors(tmp_path / "vectors.db")
    store.put_many("one", MANY)
    store.prune(2)
    assert store.get_many("one", dict(MANY)) == dict(MANY[-2:])
    store.close()
