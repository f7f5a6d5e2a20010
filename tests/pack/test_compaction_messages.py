"""Messages of an API, compacted: the same dialect, sound, and the same again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

import pytest

from ctxbuild.errors import UsageError
from ctxbuild.facts.transcript import NOTE_MARK, from_messages
from ctxbuild.pack.compaction import Policy
from ctxbuild.pack.compaction_messages import alternating, compact_messages
from ctxbuild.select.transcript_forms import short_digest
from tests import talks

DIALECTS = {"anthropic": talks.anthropic, "chat": talks.chat, "responses": talks.responses}
TINY = Policy(threshold=300, recent=2)
TOOL = (
    "Looking.",
    [("Bash", {"command": "make"}, "a line of output\n" * 30, False)],
)


def count(texts):
    return [len(text) // 4 for text in texts]


def calls_and_results(messages) -> Iterator[tuple[str, str]]:
    """("call" or "result", id) in order, in any dialect."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            yield "call", call["id"]
        if message.get("role") == "tool":
            yield "result", message["tool_call_id"]
        if message.get("type") == "function_call":
            yield "call", message["call_id"]
        if message.get("type") == "function_call_output":
            yield "result", message["call_id"]
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block["type"] == "tool_use":
                yield "call", block["id"]
            if block["type"] == "tool_result":
                yield "result", block["tool_use_id"]


def assert_sound(messages):
    """What an API insists on: every result has its call before it, every call its result."""
    called: set[str] = set()
    answered: set[str] = set()
    for kind, identity in calls_and_results(messages):
        if kind == "call":
            called.add(identity)
        else:
            assert identity in called
            answered.add(identity)
    assert called == answered


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_stays_is_the_very_message_that_came_in(dialect):
    messages = DIALECTS[dialect]()
    done, compacted = compact_messages(messages, Policy(threshold=1_300, recent=2), count)
    note = compacted.note
    assert note is not None
    assert done[1] == {"role": "user", "content": note.text}
    assert [done[0], *done[2:]] == [message for message in messages if message in done]
    assert done[0] == messages[0]
    assert_sound(done)


def test_roles_that_take_turns_still_do_and_texts_beside_a_note_stay_as_they_are():
    messages = alternating(talks.anthropic([*talks.STORY, TOOL, "And mind the tests.", TOOL, TOOL]))
    for recent in range(6):
        policy = Policy(threshold=600, recent=recent)
        done, compacted = compact_messages(messages, policy, count)
        assert compacted.note is not None
        assert [m["role"] for m in done] == (["user", "assistant"] * len(done))[: len(done)]
        assert_sound(done)
        assert done[0]["content"][0] == {"type": "text", "text": talks.STORY[0]}
        assert compact_messages(done, policy, count)[0] == done
        assert compact_messages(done, Policy(), count)[0] == done


@pytest.mark.parametrize("dialect", DIALECTS)
def test_compacting_again_gives_the_same_messages(dialect):
    messages = DIALECTS[dialect]([*talks.STORY, TOOL, TOOL, TOOL])
    once, _ = compact_messages(messages, TINY, count)
    twice, compacted = compact_messages(once, TINY, count)
    assert twice == once
    assert compacted.dropped == ()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_below_the_threshold_the_same_messages_come_back(dialect):
    messages = DIALECTS[dialect]()
    done, compacted = compact_messages(messages, Policy(), count)
    assert done == messages
    assert (compacted.note, compacted.dropped, compacted.originals) == (None, (), ())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_oversized_result_is_cut_down_inside_its_message(dialect):
    huge = "a line of output\n" * 400
    messages = DIALECTS[dialect](["Go.", ("", [("Bash", {"command": "make"}, huge, False)])])
    done, compacted = compact_messages(messages, TINY, count)
    assert len(done) == len(messages)
    assert len(json.dumps(done)) < 1_000
    assert f"recall {short_digest(huge)}]" in json.dumps(done)
    assert huge in dict(compacted.originals).values()
    assert_sound(done)


@pytest.mark.parametrize("dialect", ["anthropic", "chat"])
def test_a_long_argument_is_cut_down_and_the_call_stays_json(dialect):
    write = ("", [("Write", {"file_path": "a", "content": "text\n" * 600}, "ok", False)])
    done, _ = compact_messages(DIALECTS[dialect](["Go.", write]), TINY, count)
    (turn,) = (t for t in from_messages(done).turns if t.role == "assistant")
    call = turn.records[0]
    assert call.argument("file_path") == "a"
    assert call.argument("content").endswith("]")
    assert len(call.argument("content")) < 900


def test_a_message_that_is_of_two_turns_is_split_where_one_of_them_goes():
    """A user's message holds results and, behind them, words."""
    story = [*talks.STORY[:3], TOOL, TOOL, TOOL]
    messages = talks.anthropic(story)
    messages[2]["content"].append({"type": "text", "text": "Mind the sign."})
    policy = Policy(threshold=300, recent=5)
    done, compacted = compact_messages(messages, policy, count)
    assert [each.turn.number for each in compacted.recent] == [3, 4, 5, 6, 7]
    assert done[0]["content"][2:] == [{"type": "text", "text": "Mind the sign."}]
    assert_sound(done)


def test_calls_that_share_an_id_are_compacted_and_keep_each_its_own_result():
    tool = {"id": "call_0", "type": "function", "function": {"name": "make", "arguments": "{}"}}
    story = ["Go."] + [f"Step {n}.\n" + f"line {n} of an output\n" * 60 for n in range(6)]
    messages = [{"role": "user", "content": story[0]}]
    for text in story[1:]:
        messages.append({"role": "assistant", "content": None, "tool_calls": [tool]})
        messages.append({"role": "tool", "tool_call_id": "call_0", "content": text})
    done, compacted = compact_messages(messages, Policy(threshold=600, recent=2), count)
    assert [(each.first, each.last) for each in compacted.dropped] == [(2, 5)]
    shown = [message["content"].split("\n")[0] for message in done if message["role"] == "tool"]
    assert shown == ["Step 4.", "Step 5."]
    assert f"recall {short_digest(story[-2])}]" in json.dumps(done[-3])
    assert done[-1] == messages[-1]


def test_a_result_that_a_later_read_superseded_is_marked_once():
    read = ("", [("Read", {"file_path": "a.py"}, "a line\n" * 300, False)])
    thought = {"type": "thinking", "thinking": "Hmm. " * 400, "signature": "s"}
    messages = talks.anthropic(["Go.", read, read, read])
    for message in messages[1::2]:
        message["content"].insert(0, thought)
    once, _ = compact_messages(messages, Policy(threshold=300, recent=3), count)
    assert "read again later" in json.dumps(once)
    assert compact_messages(once, Policy(threshold=300, recent=3), count)[0] == once


def test_what_is_no_message_is_one_error():
    with pytest.raises(UsageError, match="message 1: is str, no message of an API"):
        compact_messages([{"role": "user", "content": "Go."}, "x"], TINY, count)


def test_the_system_text_of_the_request_counts_and_stays_apart():
    messages = talks.anthropic(talks.STORY[:4])
    done, compacted = compact_messages(messages, Policy(threshold=1_500), count, system="s" * 4_000)
    assert compacted.before > 1_500
    assert [each.turn.role for each in compacted.pinned] == ["system", "user"]
    assert all(message.get("role") != "system" for message in done)


def test_between_compactions_what_is_sent_only_grows_at_its_end():
    sent: list[list[dict[str, object]]] = []
    now: list[dict[str, object]] = []
    events = 0
    for number, message in enumerate(talks.chat(talks.STORY * 12)):
        renamed = json.loads(json.dumps(message).replace("call_", f"call_{number // 14}_"))
        grown = [*now, renamed]
        now, _ = compact_messages(grown, Policy(threshold=3_000, recent=4), count)
        events += now != grown
        sent.append(now)
    assert 2 <= events <= 12
    kept = [
        next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))
        / len(two)
        for one, two in pairwise(sent[len(sent) // 3 :])
    ]
    assert median(kept) > 0.8
    notes = [m for m in now if str(m["content"]).startswith(NOTE_MARK)]
    assert len(notes) == 1
