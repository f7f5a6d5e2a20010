"""`eval`: tiers beside each other, as tables, rows and a plot."""

from __future__ import annotations

import json

import pytest

from tests.chatserver import Reply

QUESTIONS = [
    {
        "id": "buy",
        "question": "Where does somebody buy: where is a thing put in?",
        "category": "behaviour",
        "gold": ["shop/cart.py::Cart.add"],
        "expect": ["Cart.add"],
    },
    {
        "id": "money",
        "question": "What are amounts of Money?",
        "category": "location",
        "gold": ["shop/money.py"],
    },
]


@pytest.fixture
def asked(shop):
    lines = "".join(json.dumps(each) + "\n" for each in QUESTIONS)
    return shop.write({"questions.jsonl": lines})


def test_a_table_per_category_and_over_all_and_no_trace_of_the_questions(asked):
    found = asked("eval", "questions.jsonl", "--budgets", "300,150", "--tiers", "1,4")
    assert found.code == 0, found.err
    lines = found.out.splitlines()
    assert [line for line in lines if line.endswith("questions")] == [
        "behaviour: 1 questions",
        "location: 1 questions",
        "all: 2 questions",
    ]
    assert [row.split()[:2] for row in lines if row.startswith("   ")] == [
        ["1", "150"],
        ["1", "300"],
        ["4", "150"],
        ["4", "300"],
    ] * 3
    assert not (asked.root / ".ctxbuild/packs").exists()


def test_rows_hold_what_a_reader_needs_and_the_questions_are_no_evidence(asked):
    asked("eval", "questions.jsonl", "--rows", "rows.jsonl", "--plot", "plot.svg")
    rows = [json.loads(line) for line in (asked.root / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 2 * 4 * 3
    assert {(row["tier"], row["budget"]) for row in rows} == {
        (tier, budget) for tier in (1, 2, 3, 4) for budget in (2000, 4000, 8000)
    }
    assert all("questions.jsonl" not in row["evidence_files"] for row in rows)
    assert all(row["tokens"] <= row["budget"] for row in rows)
    assert {row["grade"] for row in rows} == {""}
    assert len({row["run_id"] for row in rows}) == 1
    best = [row for row in rows if row["question_id"] == "buy" and row["tier"] == 4]
    assert [row["whole"] for row in best] == [1.0, 1.0, 1.0]
    assert (asked.root / "plot.svg").read_text().startswith("<svg ")


def test_the_same_run_gives_the_same_rows_but_for_time(asked):
    def rows():
        data = asked("eval", "questions.jsonl", "--json").data
        return [{**row, "seconds": 0} for row in data["rows"]]

    assert rows() == rows()


def test_gold_that_is_not_there_is_a_warning(asked):
    wrong = {"id": "x", "question": "Who?", "gold": ["shop/cart.py::None", "gone.py"]}
    asked.write({"questions.jsonl": json.dumps(wrong) + "\n"})
    found = asked("eval", "questions.jsonl", "--tiers", "1")
    assert found.err.splitlines() == [
        "warning: gold shop/cart.py::None: the file has no such symbol",
        "warning: gold gone.py: no such source file",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("none.jsonl",),
        ("questions.jsonl", "--budgets", "x"),
        ("questions.jsonl", "--budgets", "0"),
        ("questions.jsonl", "--tiers", "5"),
        ("questions.jsonl", "--model", "m"),
    ],
)
def test_what_makes_no_sense_is_said(asked, arguments):
    found = asked("eval", *arguments)
    assert found.code == 2
    assert found.err.startswith("ctxbuild: ")


def test_a_model_answers_at_temperature_zero_and_is_asked_once(asked, chat_server):
    chat_server.replies.append(Reply("It is shop/cart.py::Cart.add."))
    arguments = ("eval", "questions.jsonl", "--budgets", "400", "--tiers", "4", "--answer")
    found = asked(*arguments, "--json")
    assert found.code == 0, found.err
    assert [(row["correct"], row["answer"]) for row in found.data["rows"]] == [
        (True, "It is shop/cart.py::Cart.add."),
        (None, "It is shop/cart.py::Cart.add."),
    ]
    assert [each["temperature"] for each in chat_server.asked] == [0, 0]
    assert "Where does somebody buy" in chat_server.asked[0]["messages"][1]["content"]
    assert "right" in asked(*arguments).out
    assert len(chat_server.asked) == 2


def test_endpoint_and_model_may_stand_on_the_command_line(asked, chat_server, monkeypatch):
    for name in chat_server.environment():
        monkeypatch.delenv(name)
    chat_server.replies.append(Reply("Nobody knows."))
    arguments = ("eval", "questions.jsonl", "--budgets", "400", "--tiers", "1", "--answer")
    assert asked(*arguments).code == 2
    found = asked(*arguments, "--url", chat_server.url, "--model", "tiny")
    assert found.code == 0, found.err
    assert {each["model"] for each in chat_server.asked} == {"tiny"}
