"""What of a talk bears on a question."""

from __future__ import annotations

import pytest

from ctxbuild.select.relevance import Passage, relevance, terms

TALK = (
    Passage("Good morning! How are you?", "Ann", "3 May 2025", "1"),
    Passage("I adopted two kittens last week.", "Ben", "3 May 2025", "1"),
    Passage("What did you call them?", "Ann", "3 May 2025", "1"),
    Passage("Salt and Pepper.", "Ben", "3 May 2025", "1"),
    Passage("We went skiing in the Alps.", "Ann", "9 June 2025", "2"),
    Passage("I ski as well, but only on the beginners' slope.", "Ben", "9 June 2025", "2"),
    Passage("My sister wrote a book about trains.", "Ann", "2025-07-01", "3"),
)


def best(question, talk=TALK):
    scores = relevance(talk, question)
    return max(range(len(talk)), key=lambda at: scores[at])


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Which animals were adopted?", 1),
        ("Who goes skiing in the Alps?", 4),
        ("Which book was written?", 6),
        ("How does Ben ski?", 5),
    ],
)
def test_words_meet_by_their_stems_and_speakers_by_their_names(question, place):
    assert best(question) == place


def test_what_stands_around_the_best_passage_gains():
    scores = relevance(TALK, "Who adopted kittens?")
    assert min(scores[:4]) > 0
    assert scores[0] > scores[3]
    assert scores[4:] == [0, 0, 0]


def test_a_month_that_is_named_draws_its_days():
    scores = relevance(TALK, "What happened in July?")
    assert best("What happened in July?") == 6
    assert scores[0] == 0
    assert relevance(TALK, "What may happen?")[0] == 0
    assert relevance(TALK, "What happened in June 2024?")[4] == 0


def test_nothing_bears_on_a_question_without_words():
    assert relevance(TALK, "Why?") == [0.0] * len(TALK)
    assert relevance((), "anything") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("They went running", "go run"),
        ("children's stories", "child stori"),
        ("The best studies", "good studi"),
        ("HTTP_404 errors", "http 404 error"),
    ],
)
def test_stems(text, found):
    assert terms(text) == found.split()
