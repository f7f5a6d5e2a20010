"""Turns verbatim, shortened by what their calls did, and in a line."""

from __future__ import annotations

import pytest

from ctxbuild.facts.transcript import Record, Turn, from_messages
from ctxbuild.select.transcript_forms import (
    digest_of,
    line_of,
    render,
    short_digest,
    shortened,
    superseded,
    telling,
)
from tests import talks

OUTPUT = "collected 90 items\n" + "test ok\n" * 90 + "FAILED test_a.py::test_b\n" + "ok\n" * 90


def turn_of(tool, arguments, result, *, failed=False):
    return from_messages(talks.anthropic([("", [(tool, arguments, result, failed)])])).turns[0]


def test_a_turn_verbatim():
    assert render(from_messages(talks.anthropic()).turns[2], "full") == (
        "\n### 3 assistant\n\n"
        "The issue is that total() subtracts.\n"
        "**Bash** command=python -m pytest -q\n"
        "Result, failed:\n```\n"
        "Exit code 1\nTraceback (most recent call last):\nImportError: No module named shop\n```\n"
        "**Grep** pattern=total\n"
        "Result:\n```\nshop/app.py:3:def total():\n```\n"
    )


def test_a_dump_of_a_file_becomes_its_path_and_digest():
    digits = short_digest(talks.LONG_FILE)
    turn = turn_of("Read", {"file_path": "shop/app.py"}, talks.LONG_FILE)
    assert render(turn, "slice") == (
        "\n### 1 assistant\n\n**Read** file_path=shop/app.py\n"
        f"Result:\n```\n[shop/app.py: 200 lines; recall {digits}]\n```\n"
    )
    assert shortened(turn).originals == (talks.LONG_FILE,)


def test_a_command_keeps_its_status_its_failing_lines_and_its_end():
    turn = turn_of(
        "Bash", {"command": "pytest"}, f"Exit code 1\n{OUTPUT}90 passed, 1 failed", failed=True
    )
    text = f"Exit code 1\n{OUTPUT}90 passed, 1 failed"
    assert render(turn, "slice") == (
        "\n### 1 assistant\n\n**Bash** command=pytest\nResult, failed:\n```\n"
        "Exit code 1\n…\nFAILED test_a.py::test_b\n…\nok\nok\n90 passed, 1 failed\n"
        f"[184 lines, {len(text):,} characters; recall {short_digest(text)}]\n```\n"
    )


def test_a_list_keeps_its_beginning():
    found = "\n".join(f"src/module_with_a_long_name_{n}.py" for n in range(40))
    rows = render(turn_of("Glob", {"pattern": "**"}, found), "slice").split("\n")
    assert rows[6].endswith("_0.py")
    assert rows[18] == f"[28 more lines of 40; recall {short_digest(found)}]"


def test_an_edit_keeps_its_hunk_and_a_long_write_its_size():
    edit = turn_of("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, "updated")
    assert render(edit, "slice") == "\n### 1 assistant\n\n**Edit** `a`\n```\n-x\n+y\n```\n"
    write = turn_of("Write", {"file_path": "a", "content": talks.LONG_FILE}, "created")
    mark = f"[`a`: write of 200 lines; recall {short_digest(talks.LONG_FILE)}]"
    assert render(write, "slice") == f"\n### 1 assistant\n\n**Write** {mark}\n"


def test_a_read_that_comes_again_later_goes():
    again = ("", [("Read", {"file_path": "shop/app.py"}, "new text", False)])
    turns = from_messages(talks.anthropic([*talks.STORY, again])).turns
    gone = superseded(turns)
    assert gone == {"call_1"}
    assert "[shop/app.py: read again later; recall" in render(turns[1], "slice", gone)
    assert superseded(turns[:-1]) == frozenset()


def test_a_turn_in_one_line():
    turns = from_messages(talks.anthropic()).turns
    first, third, fifth, sixth = (turns[at] for at in (0, 2, 4, 5))
    recall = {turn.number: short_digest(render(turn, "full")) for turn in turns}
    assert render(first, "line") == (
        f"- 1 user: Fix the total in shop/app.py. [recall {recall[1]}]\n"
    )
    assert render(third, "line") == (
        "- 3 assistant: The issue is that total() subtracts. | Bash python -m pytest -q (failed)"
        f" | Grep total [recall {recall[3]}]\n"
    )
    assert render(fifth, "line") == "- 5 user: Use max(), please.\n"
    assert render(sixth, "line") == (
        f"- 6 assistant: TodoWrite 1 of 2 done; now: Run the tests [recall {recall[6]}]\n"
    )
    assert line_of(Turn(1, "assistant", ())) == "(nothing)"


@pytest.mark.parametrize("tool", ["Read", "Bash", "Grep", "Edit", "Other"])
def test_shortening_what_is_short_changes_nothing(tool):
    turn = turn_of(tool, {"file_path": "a", "command": "x", "pattern": "y"}, OUTPUT)
    (call, result) = turn.records
    short = shortened(turn).text
    cut = short.partition("```\n")[2].rpartition("\n```")[0]
    again = Turn(1, "assistant", (call, Record("result", cut, result.tool, result.call)))
    assert shortened(again).text == short
    assert shortened(again).originals == ()


def test_every_mark_names_an_original():
    turns = from_messages(talks.anthropic()).turns
    for turn in turns:
        short = shortened(turn)
        named = {digest_of(text)[:12] for text in short.originals}
        assert all(digits in short.text for digits in named)


@pytest.mark.parametrize("row", ["x" * 1_000_000, " Error" * 100_000, "1 passed " * 50_000])
def test_long_lines_take_linear_time(row):
    assert len("\n".join(telling([row] * 3, row * 3))) < 2_000
