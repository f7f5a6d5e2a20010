"""Questions with gold, and what evidence is worth beside it."""

from __future__ import annotations

import json

import pytest

from ctxbuild.compare.evaluate import (
    Measures,
    Piece,
    Row,
    Wanted,
    claims,
    is_correct,
    measure,
    plateau,
    row_data,
    shown_lines,
    summarise,
)
from ctxbuild.compare.questionset import Gold, Question, read_questions
from ctxbuild.errors import UsageError

SOURCE = [
    "class Cart:",
    "    def add(self, name):",
    "        log(name)",
    "",
    "        return 1",
    "",
]


def line(**fields):
    return json.dumps({"id": "q", "question": "Who pays?", "gold": ["a.py"], **fields})


# --- reading --------------------------------------------------------------------------------


def test_gold_may_be_written_in_every_way():
    gold = [
        "a.py",
        "a.py::Cart.add",
        "docs/a.md:10-20",
        "b.py:7",
        {"path": "c.py", "symbol": "f"},
        {"file": "d.py", "symbols": ["d.py:C.m", "g"]},
        {"path": "e.py", "lines": [3, 4]},
    ]
    (question,) = read_questions(line(category="relation", gold=gold, expect=["x"]), "q.jsonl")
    assert question == Question(
        "q",
        "Who pays?",
        "relation",
        (
            Gold("a.py"),
            Gold("a.py", "Cart.add"),
            Gold("docs/a.md", "", (10, 20)),
            Gold("b.py", "", (7, 7)),
            Gold("c.py", "f"),
            Gold("d.py", "C.m"),
            Gold("d.py", "g"),
            Gold("e.py", "", (3, 4)),
        ),
        ("x",),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "q.jsonl:1: is not JSON"),
        ("[]", "q.jsonl:1: is no object"),
        (line(id=" "), "q.jsonl:1: 'id' must be a text"),
        (line(question=3), "q.jsonl:1: 'question' must be a text"),
        (line(gold=[]), "q.jsonl:1: 'gold' must be a list that is not empty"),
        (line(gold=[{"line": 3}]), "q.jsonl:1: {'line': 3} in 'gold' names no path"),
        (line(gold=["a.py:9-3"]), "are no first and last line"),
        (line(gold=[{"path": "a", "lines": "x"}]), "'x' are no first and last line"),
        (line(expect="x"), "'expect' must be a list of texts"),
        (line() + "\n\n" + line(), "q.jsonl:3: the id 'q' was there before"),
        ("\n", "q.jsonl: holds no question"),
    ],
)
def test_a_line_that_is_no_question_is_named(text, message):
    with pytest.raises(UsageError, match=message.replace("[", r"\[").replace("{", r"\{")):
        read_questions(text, "q.jsonl")


# --- measures -------------------------------------------------------------------------------


def test_shown_lines_are_found_by_their_text_at_any_depth():
    text = "def add(self, name):\n    ...\n    return 1\n"
    assert shown_lines(Piece("a.py", text, (2, 5)), SOURCE) == {2, 5}


def test_of_a_skeleton_the_signature_is_shown():
    piece = Piece("a.py", "    def add(self, name): ...\n", (2, 5), "skeleton")
    assert shown_lines(piece, SOURCE) == {2}


def test_a_line_that_stands_twice_is_found_where_the_piece_stands():
    rows = ["x = 1", "y = 2", "x = 1", "z = 3"]
    assert shown_lines(Piece("a.py", "x = 1\nz = 3\n", (3, 4)), rows) == {3, 4}


WANTED = [Wanted(Gold("a.py", "Cart.add"), frozenset({2, 3, 5})), Wanted(Gold("b.py"))]


def test_evidence_is_measured_by_files_symbols_and_lines():
    pieces = [
        Piece("a.py", "    def add(self, name):\n        log(name)\n", (2, 3)),
        Piece("c.py", "other = 1\n", (1, 1)),
        Piece("b.py", "- b.py: names\n", None, "summary"),
    ]
    found = measure(pieces, WANTED, {"a.py": SOURCE, "c.py": ["other = 1"]})
    assert found == Measures(
        file_recall=0.5,
        file_precision=0.5,
        symbol_recall=1.0,
        symbol_precision=0.5,
        whole=0.0,
        line_recall=2 / 3,
        line_precision=2 / 3,
    )


def test_a_symbol_is_whole_when_all_its_lines_are_shown():
    piece = Piece("a.py", "\n".join(SOURCE), (1, 6))
    found = measure([piece], WANTED, {"a.py": SOURCE})
    assert (found.whole, found.line_recall, found.line_precision) == (1.0, 1.0, 0.75)


def test_gold_of_files_alone_says_nothing_of_lines():
    found = measure([], [Wanted(Gold("b.py"))], {})
    assert found == Measures(0.0, 0.0)


def test_an_answer_is_right_if_it_contains_all_that_is_expected():
    assert is_correct("It is in  Fit.choose\n.", ["fit.CHOOSE"]) is True
    assert is_correct("No idea", ["fit"]) is False
    assert is_correct("anything", []) is None


# --- rows and summaries ---------------------------------------------------------------------


def row(tier, budget, tokens, whole, category="", **fields):
    question = Question(f"q{tier}{budget}{category}", "Who?", category, (Gold("a.py", "f"),))
    measures = Measures(1.0, 0.5, whole, 0.5, whole, whole, 0.5)
    return Row(question, tier, budget, tokens, ("a.py",), measures, (), 0.01, **fields)


def test_a_row_has_every_column_and_room_for_a_grade():
    data = row_data(row(4, 2000, 1500, 1.0, "relation"), "run", "abc")
    assert data == {
        "run_id": "run",
        "question_id": "q42000relation",
        "question": "Who?",
        "category": "relation",
        "method": "tier 4: compiled",
        "tier": 4,
        "budget": 2000,
        "tokens": 1500,
        "evidence_files": ["a.py"],
        "rot_issues": [],
        "repository_commit": "abc",
        "file_recall": 1.0,
        "file_precision": 0.5,
        "symbol_recall": 1.0,
        "symbol_precision": 0.5,
        "whole": 1.0,
        "line_recall": 1.0,
        "line_precision": 0.5,
        "seconds": 0.01,
        "answer": "",
        "correct": None,
        "grade": "",
        "failure_label": "",
        "notes": "",
    }


def test_summaries_are_means_per_category_and_over_all():
    rows = [row(1, 2000, 100, 0.0, "a"), row(1, 2000, 300, 1.0, "b", correct=True)]
    found = summarise(rows)
    assert [(s.category, s.tokens, s.measures.whole, s.correct) for s in found] == [
        ("a", 100, 0.0, None),
        ("b", 300, 1.0, 1.0),
        ("", 200, 0.5, 1.0),
    ]


def test_equal_recall_is_compared_by_the_tokens_that_it_takes():
    rows = [row(3, 8000, 8000, 0.7), row(4, 2000, 2000, 0.6), row(4, 4000, 4000, 0.8)]
    (claim,) = claims(summarise(rows))
    assert (claim.budget, claim.recall) == (8000, 0.7)
    assert claim.needed == pytest.approx(3000)
    assert claim.ratio == pytest.approx(0.375)


def test_what_the_smallest_pack_finds_takes_no_less_than_it():
    rows = [row(3, 8000, 8000, 0.5), row(4, 2000, 2000, 0.6), row(4, 4000, 4000, 0.8)]
    assert [claim.needed for claim in claims(summarise(rows))] == [2000]


def test_a_recall_that_is_not_reached_is_no_claim():
    assert claims(summarise([row(3, 8000, 7000, 0.7), row(4, 8000, 7000, 0.6)])) == ()


def test_the_plateau_is_where_more_budget_adds_little():
    rows = [row(4, 2000, 1, 0.5), row(4, 4000, 2, 0.69), row(4, 8000, 3, 0.7)]
    assert plateau(summarise(rows)) == 4000
    assert plateau(()) == 0
