"""Tasks as terms, phrases and aspects."""

from __future__ import annotations

import pytest

from ctxbuild.select.realm.query import aspects, pairs, root, roots


@pytest.mark.parametrize(
    ("some", "others"),
    [
        ("authenticate", ["authentication", "authenticated", "authenticating"]),
        ("paginate", ["pagination", "paginated"]),
        ("sign", ["signed", "signing", "signature", "signatures"]),
        ("pay", ["payment", "payments", "paying"]),
        ("secure", ["security", "secured"]),
        ("rotate", ["rotation", "rotated"]),
        ("encrypt", ["encryption", "encrypted"]),
        ("retry", ["retries", "retried", "retrying"]),
        ("idempotent", ["idempotency"]),
    ],
)
def test_forms_of_one_word_have_one_root(some, others):
    for other in others:
        assert roots(some) == roots(other)


def test_short_words_and_identifiers_keep_their_form():
    assert roots("API max_size") == ["api", "max_size", "max", "size"]
    assert root("x_ation") == "x_ation"


def test_a_task_with_two_questions_has_three_aspects():
    assert [aspect.text for aspect in aspects("how to sign in and how to list orders")] == [
        "how to sign in and how to list orders",
        "how to sign in",
        "how to list orders",
    ]


def test_words_that_say_what_to_do_with_the_answer_weigh_little():
    (aspect,) = aspects("explain how pagination works")
    assert [(term.root, term.weight) for term in aspect.terms] == [
        ("explain", 0.25),
        ("pagin", 1.0),
        ("work", 0.25),
    ]


def test_words_that_stand_side_by_side_are_phrases():
    assert list(pairs("an API key, rate-limited")) == [("api", "key"), ("rate", "limit")]


def test_a_task_of_empty_words_has_no_aspect():
    assert aspects("how to do it and why") == ()
