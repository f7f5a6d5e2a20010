"""Text to the words that a search compares."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.facts.words import words, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("MAX_SIZE", ["max_size", "max", "size"]),
        ("sha256_hash", ["sha256_hash", "sha", "256", "hash"]),
        ("__init__", ["__init__", "init"]),
        ("my-mod.py", ["mod", "py"]),
        ("Session.resolve_redirects()", ["session", "resolve_redirects", "resolv", "redirect"]),
        ("Größe_menge", ["größe_menge", "größe", "meng"]),
    ],
)
def test_an_identifier_is_kept_whole_and_in_parts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_an_identifiers_first_word_is_the_identifier() -> None:
    assert words_of("getValue")[0] == "getvalue"
    assert words_of("the") == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("redirected", "redirects"),
        ("parsing", "parsed"),
        ("caches", "cache"),
        ("queries", "query"),
        ("stopped", "stop"),
    ],
)
def test_inflections_of_a_word_meet(one: str, other: str) -> None:
    assert words(one) == words(other)


@given(st.text(max_size=200))
def test_words_hold_no_space_and_no_capital(text: str) -> None:
    for word in words(text):
        assert word
        assert not any(c.isspace() for c in word)
        assert word == word.lower()


def test_a_huge_hostile_text_is_split_in_linear_time() -> None:
    started = time.perf_counter()
    words("aB" * 200_000 + "_" * 200_000 + "é_" * 50_000)
    assert time.perf_counter() - started < 3
