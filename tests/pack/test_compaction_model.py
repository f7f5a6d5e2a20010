"""Compaction by a model: it finds facts and decisions; what is durable it does not touch."""

from __future__ import annotations

from ctxbuild.facts.transcript import from_messages
from ctxbuild.pack.compaction import Policy, compact
from ctxbuild.pack.compaction_model import Modelled
from ctxbuild.pack.compaction_note import Item
from ctxbuild.source.model_client import ModelClient
from tests import talks
from tests.chatserver import Reply

TINY = Policy(threshold=300, recent=2, note=4_000)
TURNS = from_messages(talks.anthropic()).turns
ANSWER = {
    "items": [
        {
            "kind": "decision",
            "text": "Clamp with max(),\nsince callers expect a number.",
            "turn": 4,
        },
        {"kind": "fact", "text": "total() subtracts.", "turn": 3},
        {"kind": "fact", "text": "A turn that was not shown.", "turn": 40},
    ]
}


def count(texts):
    return [len(text) // 4 for text in texts]


def test_a_model_tells_facts_and_the_rules_keep_what_is_durable(chat_server):
    chat_server.replies = [Reply(ANSWER)]
    policy = Policy(threshold=1_300, recent=2, note=4_000)
    told = compact(TURNS, policy, count, Modelled(ModelClient()))
    ruled = compact(TURNS, policy, count)
    assert told.note is not None
    assert ruled.note is not None
    assert told.note.of("fact") == (Item("fact", "total() subtracts.", 3),)
    assert told.note.of("decision")[0].text == "Clamp with max(), since callers expect a number."
    for kind in ("words", "edit", "error", "action", "dropped"):
        assert told.note.of(kind) == ruled.note.of(kind)
    (asked,) = chat_server.asked
    assert "### 2 assistant" in asked["messages"][1]["content"]
    assert "ctxbuild:note" not in asked["messages"][1]["content"]


def test_the_items_of_an_earlier_note_are_carried_on_and_not_shown_to_the_model(chat_server):
    chat_server.replies = [Reply({"items": []})]
    before = [Item("fact", "An old fact.", 1), Item("words", "Old words.", 1, "0123456789ab")]
    extracted = Modelled(ModelClient()).extract(TURNS[1:3], before)
    assert Item("fact", "An old fact.", 1) in extracted.items
    assert Item("words", "Old words.", 1, "0123456789ab") in extracted.items
    assert "An old fact" not in str(chat_server.asked)


def test_without_an_answer_the_rules_do_it_and_the_reason_is_said(chat_server):
    chat_server.replies = [Reply("overloaded", 500)]
    told = compact(TURNS, TINY, count, Modelled(ModelClient()))
    ruled = compact(TURNS, TINY, count)
    assert told.note == ruled.note
    (warning,) = told.warnings
    assert warning.endswith("; compacted by rules")


def test_without_an_endpoint_the_rules_do_it():
    told = compact(TURNS, TINY, count, Modelled(ModelClient()))
    assert told.note is not None
    assert "no model is configured" in told.warnings[0]
