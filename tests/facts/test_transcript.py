"""Transcripts in every format, whole and damaged."""

from __future__ import annotations

import io
import json
from base64 import b64decode
from dataclasses import replace
from hashlib import sha256

import pytest

from ctxbuild.facts import transcript_lines
from ctxbuild.facts.transcript import (
    Record,
    Transcript,
    Turn,
    from_messages,
    read_file,
    read_transcript,
)
from ctxbuild.model import Problem
from tests import talks

PNG = "iVBORw0KGgoAAAANSUhEUg=="


def bare(transcript):
    """Turns without what a format may leave out: times, places and who says that it failed."""
    return [
        (turn.role, tuple(replace(record, failed=False) for record in turn.records))
        for turn in transcript.turns
    ]


FORMATS = {
    "anthropic": json.dumps(talks.anthropic()).encode(),
    "anthropic-lines": talks.jsonl(talks.anthropic()),
    "anthropic-request": json.dumps({"model": "m", "messages": talks.anthropic()}).encode(),
    "openai": json.dumps(talks.chat(), indent=2).encode(),
    "openai-lines": talks.jsonl(talks.chat()),
    "responses": json.dumps({"input": talks.responses()}, indent=1).encode(),
    "claude-code": talks.claude_code(),
    "codex": talks.codex(),
}


@pytest.mark.parametrize("form", FORMATS)
def test_one_session_is_the_same_turns_in_every_format(form):
    read = read_transcript(FORMATS[form])
    assert bare(read) == bare(from_messages(talks.anthropic()))
    assert read.problems == ()
    assert read.format == form.partition("-")[0] or form == "claude-code"


def test_a_call_stands_before_its_result_in_one_turn():
    turn = from_messages(talks.chat()).turns[2]
    assert turn == Turn(
        3,
        "assistant",
        (
            Record("text", "The issue is that total() subtracts."),
            Record("call", "", "Bash", "call_2", (("command", "python -m pytest -q"),)),
            Record("result", talks.FAILURE, "Bash", "call_2", failed=True),
            Record("call", "", "Grep", "call_3", (("pattern", "total"),)),
            Record("result", "shop/app.py:3:def total():", "Grep", "call_3"),
        ),
        sources=(3, 4, 5),
    )


def test_a_request_in_one_very_long_line_is_its_messages():
    messages = [{"role": "user", "content": "x" * (2 << 20)}, *talks.anthropic()[1:]]
    data = json.dumps({"system": "Be terse.", "messages": messages}).encode()
    turns = read_transcript(data).turns
    assert [turn.role for turn in turns[:3]] == ["system", "user", "assistant"]
    assert len(turns) == len(talks.STORY) + 1


def test_plain_lines_of_speakers_and_of_roles():
    data = talks.jsonl(
        [
            {"speaker": "Ada", "text": "Hello", "time": "1 May"},
            {"role": "assistant", "content": "Hi"},
        ]
    )
    assert read_transcript(data) == Transcript(
        (
            Turn(1, "user", (Record("text", "Hello"),), "Ada", "1 May", (1,)),
            Turn(2, "assistant", (Record("text", "Hi"),), sources=(2,)),
        ),
        (),
        "plain",
    )


def test_a_truncated_last_line_is_reported_and_the_rest_is_read():
    data = talks.claude_code()
    read = read_transcript(data[:-40])
    assert len(read.turns) == len(read_transcript(data).turns)
    (problem,) = read.problems
    assert problem.kind == "damaged-line"
    assert problem.message.startswith("line 31: is not JSON")


def test_a_json_list_that_breaks_off_gives_its_whole_messages():
    data = json.dumps(talks.chat()).encode()
    read = read_transcript(data[: data.index(b"call_3")])
    assert [turn.number for turn in read.turns] == [1, 2]
    assert "3 whole messages were read" in read.problems[0].message


def test_a_role_that_nobody_knows_is_reported_and_speaks_as_a_user():
    read = read_transcript(b'{"role": "narrator", "content": "Once"}\n')
    assert read.turns == (Turn(1, "user", (Record("text", "Once"),), "narrator", "", (1,)),)
    assert read.problems == (Problem("unknown-role", "record 1: role 'narrator'"),)


def test_a_result_without_its_call_is_reported_and_kept():
    read = from_messages([{"role": "tool", "tool_call_id": "x", "content": "42"}])
    assert read.turns == (Turn(1, "tool", (Record("result", "42"),), sources=(0,)),)
    assert read.problems == (Problem("orphan-result", "record 0: a result without its call"),)


def test_of_plain_lines_a_result_belongs_to_what_was_said_before_it():
    lines = [{"role": "assistant", "content": "Running."}, {"role": "tool", "content": "42"}]
    read = read_transcript(talks.jsonl(lines))
    (turn,) = read.turns
    assert turn.records == (Record("text", "Running."), Record("result", "42"))
    assert (turn.sources, read.problems) == ((1, 2), ())


def test_a_late_result_knows_its_tool_and_stays_behind_what_was_said_meanwhile():
    messages = talks.chat(talks.STORY[:2])
    late = messages.pop()
    read = from_messages([*messages, {"role": "user", "content": "And?"}, late])
    assert [(turn.role, turn.records[-1].tool) for turn in read.turns] == [
        ("user", ""),
        ("assistant", "Read"),
        ("user", ""),
        ("tool", "Read"),
    ]
    assert read.problems == ()


def test_base64_becomes_a_placeholder_with_size_and_digest():
    image = {"type": "base64", "media_type": "image/png", "data": PNG}
    read = from_messages(
        [
            {"role": "user", "content": [{"type": "image", "source": image}]},
            {"role": "user", "content": f"See data:image/png;base64,{'QUJD' * 100}!"},
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
                ],
            },
        ]
    )
    picture = sha256(b64decode(PNG)).hexdigest()[:12]
    inside = sha256(b"ABC" * 100).hexdigest()[:12]
    assert [turn.records[0].text for turn in read.turns] == [
        f"[image: image/png, 16 bytes, sha256 {picture}]",
        f"See [data: image/png, 300 bytes, sha256 {inside}]!",
        f"[image_url: image/png, 16 bytes, sha256 {picture}]",
    ]


def test_what_a_subagent_says_to_itself_is_no_part_of_the_session():
    line = {"type": "user", "isSidechain": True, "message": {"role": "user", "content": "x"}}
    assert read_transcript(talks.jsonl([line])).turns == ()


def test_lines_of_claude_code_that_are_no_message_are_no_damage():
    lines = [
        {"type": "ai-title", "sessionId": "s", "aiTitle": "Totals"},
        {"type": "attachment", "sessionId": "s", "attachment": {"type": "todo_reminder"}},
        {"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Go."}},
        {
            "type": "attachment",
            "sessionId": "s",
            "attachment": {"type": "queued_command", "prompt": "And mind the sign."},
        },
    ]
    read = read_transcript(talks.jsonl(lines))
    assert read.problems == ()
    said = [(turn.role, turn.records[0].text) for turn in read.turns]
    assert said == [("user", "Go."), ("user", "And mind the sign.")]


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("E   assert 1 == 2\n==== 1 failed, 2 passed in 0.10s ====", True),
        ("===== 3 passed in 0.10s =====", False),
        ("Ran 2 tests in 0.1s\n\nFAILED (failures=1)", True),
        ('Traceback (most recent call last):\n  File "a"\nValueError: no', True),
        ("ValueErrors are raised here", False),
        ('{"stdout": "", "exit_code": 1}', True),
        ('{"exit_code": 0, "stderr": "a warning"}', False),
        ('{"returncode": 2}', True),
        ("<returncode>1</returncode>\n<output>no</output>", True),
        ("no\n[exit code: 2]", True),
        ("Process finished with exit status 3", True),
        ("Process exited with code 0\nfine", False),
        ("It returns exit code 1 on errors.", False),
        ("sh: make: not found", True),
        ("", False),
        ("x" * 100_000 + "\n1 failed in 0.1s", True),
    ],
)
def test_a_result_that_nothing_marks_says_itself_that_it_failed(text, failed):
    call = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    chat = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": text},
    ]
    items = [
        {"type": "function_call", "call_id": "1", "name": "bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": text},
    ]
    for messages in (chat, items):
        (turn,) = from_messages(messages).turns
        assert turn.records[-1].failed is failed


def test_where_a_result_is_marked_its_text_does_not_decide():
    use = {"type": "tool_use", "id": "1", "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": "1 failed in 0.1s"}
    for mark, failed in (({}, True), ({"is_error": False}, False), ({"is_error": True}, True)):
        (turn,) = from_messages(
            [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result | mark]}]
        ).turns
        assert turn.records[-1].failed is failed


def test_a_line_that_is_too_long_is_measured_and_passed_over(monkeypatch):
    monkeypatch.setattr(transcript_lines, "LONGEST_LINE", 100)
    long = json.dumps({"role": "user", "content": "x" * 5_000}).encode()
    read = read_transcript(long + b"\n" + b'{"role": "user", "content": "next"}\n')
    assert [turn.records[0].text for turn in read.turns] == ["next"]
    assert read.problems[0].kind == "too-large"
    assert read.problems[0].message.startswith("line 1: 5,032 bytes, sha256 ")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"\xff\xfe\x00",
        b"[",
        b'[1, null, "x"]',
        b"{",
        b"null\n3\n",
        b'{"role": "user"}\n',
        b'{"role": "user", "content": [1, {"type": null}, null]}\n',
        b'{"type": "assistant", "message": {"content": 5}}\n',
        b'{"type": "response_item", "payload": {"type": "function_call_output"}}\n',
        b'{"type": "function_call", "arguments": "[]", "name": 3}\n',
        b'{"role": "assistant", "tool_calls": [1, {"function": 2}]}\n',
        b'{"role": "user", "content": "\\ud800"}\n',
        b"[" * 100_000,
    ],
)
def test_no_bytes_raise(data):
    read = read_transcript(data)
    assert all(isinstance(turn, Turn) for turn in read.turns)
    assert list(read_file(io.BytesIO(data))) is not None


def test_reading_piece_by_piece_gives_the_same_turns():
    data = talks.claude_code()
    assert tuple(read_file(io.BytesIO(data))) == read_transcript(data).turns
