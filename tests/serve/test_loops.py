"""What a loop in code sends: a pack around a session, in budget, whichever API it speaks."""

from __future__ import annotations

import json
from itertools import pairwise
from statistics import median

import pytest

import ctxbuild
from ctxbuild.errors import BudgetError, UsageError
from ctxbuild.pack.assembling import Room, assembled, measured
from ctxbuild.pack.tokens import counter
from ctxbuild.serve.loops import assembled_for

COUNT = counter("o200k_base")
TASK = "Review the store: does `Store.save` lose a value?\n\n  Keep this line's indent."
SYSTEM = "You review code. Never guess."
FINDING = "- shop/store.py: found save() swallows errors; severity high; suggest re-raise"

CTXFILE = """\
version = 1

[targets.review]
budget = 9000
reserve = 1000
[[targets.review.layers]]
name = "rules"
files = ["RULES.md"]
budget = 500
pin = true
[[targets.review.layers]]
name = "code"
entry = ["shop/app.py"]
budget = 1500
[[targets.review.layers]]
name = "session"
transcript = "session.jsonl"
budget = 4000
threshold = 3000
recent = 3
[[targets.review.layers]]
name = "memory"
memory = "NOTES.md"
budget = 1000
position = "suffix"

[targets.plain]
entry = ["shop/app.py"]
budget = 4000
"""


@pytest.fixture
def project(shop):
    shop.put("ctxfile.toml", CTXFILE)
    shop.put("RULES.md", "# Rules\n\nSay what you have not checked.\n")
    shop.put("NOTES.md", f"# Notes\n\n## Findings\n\n{FINDING}\n")
    return shop


def anthropic(turns: int, size: int = 40) -> list[dict]:
    """A session: the task, then calls with their results."""
    made: list[dict] = [{"role": "user", "content": TASK}]
    for number in range(turns):
        call = f"toolu_{number}"
        made.append(
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": f"Decided to read part {number} because it is next."},
                    {
                        "type": "tool_use",
                        "id": call,
                        "name": "Read",
                        "input": {"path": f"shop/part{number}.py"},
                    },
                ],
            }
        )
        body = "".join(f"value_{number}_{row} = {row}\n" for row in range(size))
        result = {"type": "tool_result", "tool_use_id": call, "content": body}
        made.append({"role": "user", "content": [result]})
    return made


def openai(turns: int, size: int = 40) -> list[dict]:
    made: list[dict] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": TASK},
    ]
    for number in range(turns):
        call = f"call_{number}"
        function = {"name": "read", "arguments": json.dumps({"path": f"shop/part{number}.py"})}
        calls = [{"id": call, "type": "function", "function": function}]
        made.append({"role": "assistant", "content": f"Reading {number}.", "tool_calls": calls})
        body = "".join(f"value_{number}_{row} = {row}\n" for row in range(size))
        made.append({"role": "tool", "tool_call_id": call, "content": body})
    return made


def texts(messages: list[dict]) -> list[str]:
    """Every text that a message says."""
    found = []
    for message in messages:
        content = message["content"]
        blocks = [{"text": content}] if isinstance(content, str) else content
        found += [block["text"] for block in blocks if "text" in block]
    return found


def calls_and_results(messages: list[dict]) -> tuple[list[str], list[str]]:
    calls, results = [], []
    for message in messages:
        calls += [call["id"] for call in message.get("tool_calls", ())]
        if message["role"] == "tool":
            results.append(message["tool_call_id"])
        blocks = message["content"] if isinstance(message["content"], list) else []
        calls += [block["id"] for block in blocks if block["type"] == "tool_use"]
        results += [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    return calls, results


def check_anthropic(messages: list[dict]) -> None:
    """As the API wants it: by its own types, roles in turns, a result right behind its call."""
    types = pytest.importorskip("anthropic.types")
    pydantic = pytest.importorskip("pydantic")
    adapter = pydantic.TypeAdapter(list[types.MessageParam], config={"extra": "forbid"})
    adapter.validate_python(messages)
    assert messages[0]["role"] == "user"
    for before, after in pairwise(messages):
        assert before["role"] != after["role"]
        blocks = before["content"] if isinstance(before["content"], list) else []
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        answered = after["content"] if isinstance(after["content"], list) else []
        got = [block["tool_use_id"] for block in answered if block["type"] == "tool_result"]
        assert got == asked
        # Results come first in their message.
        kinds = [block["type"] == "tool_result" for block in answered]
        assert kinds == sorted(kinds, reverse=True)


def check_openai(messages: list[dict]) -> None:
    chat = pytest.importorskip("openai.types.chat")
    pydantic = pytest.importorskip("pydantic")
    adapter = pydantic.TypeAdapter(list[chat.ChatCompletionMessageParam])
    adapter.validate_python(messages)
    for at, message in enumerate(messages):
        wanted = [call["id"] for call in message.get("tool_calls", ())]
        behind = messages[at + 1 : at + 1 + len(wanted)]
        assert [each.get("tool_call_id") for each in behind] == wanted


def common(before: str, after: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
                min(len(before), len(after)))  # fmt: skip


def test_a_short_session_stands_between_the_layers_before_and_behind_it(project):
    messages = anthropic(1)
    made = ctxbuild.assemble("review", messages, project=project.root)
    check_anthropic(made)
    head, task, *_, tail = texts(made)
    assert head.startswith("<!-- ctxbuild:pack review -->\n# review\n\n## RULES.md\n")
    assert "class Store" in head
    assert "found save()" not in head
    assert task == TASK
    assert tail == f"<!-- ctxbuild:pack review -->\n\n## Findings\n\n{FINDING}\n"
    assert made[1] == messages[1]
    assert made[2]["content"][0] == messages[2]["content"][0]


@pytest.mark.parametrize(
    ("session", "check", "apart"),
    [(anthropic, check_anthropic, SYSTEM), (openai, check_openai, "")],
)
def test_a_long_session_is_valid_within_the_budget_and_keeps_what_is_pinned(
    project, session, check, apart
):
    messages = session(60)
    done = assembled_for("review", messages, project.root, apart)
    made = done.messages
    check(made)
    assert measured(messages, COUNT) > 16_000
    assert measured(made, COUNT, apart) <= 8000
    assert done.tokens <= 8000
    assert TASK in texts(made)
    assert f"{FINDING}\n" in texts(made)[-1]
    calls, results = calls_and_results(made)
    assert calls == results
    assert calls[-1].endswith("_59")
    assert done.compacted.dropped
    if session is openai:
        assert made[0] == messages[0]
    for message in made:
        if "tool_calls" in message:
            assert message in messages


def test_the_same_messages_and_sources_give_the_same_bytes(project):
    messages = openai(40)
    first = ctxbuild.assemble("review", messages, project=project.root)
    again = ctxbuild.assemble("review", json.loads(json.dumps(messages)), project=project.root)
    assert json.dumps(first) == json.dumps(again)


@pytest.mark.parametrize("session", [anthropic, openai])
def test_assembling_what_was_assembled_changes_nothing(project, session):
    for turns in (3, 60):
        first = ctxbuild.assemble("review", session(turns), project=project.root)
        assert ctxbuild.assemble("review", first, project=project.root) == first


@pytest.mark.parametrize("session", [anthropic, openai])
def test_a_turn_more_keeps_the_prefix_until_the_next_compaction(session):
    """Retention over a session that is played turn by turn: what was sent is only appended to."""
    whole = session(40, 25)
    kept, folds, before, dropped = [], 0, "", 0
    for turns in range(2, 40, 2):
        now = whole[: len(session(0)) + 2 * turns]
        done = assembled("The pack.\n" * 200, "The end.\n", now, Room(3000, 4000, 3), COUNT)
        text = "".join(json.dumps(m) for m in done.messages)
        if before and len(done.compacted.dropped) == dropped:
            kept.append(common(before, text) / len(before))
        folds += len(done.compacted.dropped) != dropped
        before, dropped = text, len(done.compacted.dropped)
    assert folds >= 2
    assert median(kept) >= 0.95


def test_a_target_without_a_session_layer_shares_its_budget_with_the_messages(project):
    done = assembled_for("plain", anthropic(30), project.root)
    check_anthropic(done.messages)
    assert done.tokens <= 4000
    assert texts(done.messages)[0].startswith("<!-- ctxbuild:pack plain -->\n# plain\n")
    assert "def main" in texts(done.messages)[0]


def test_a_pack_at_hand_stands_before_the_messages_and_nothing_is_read(project, tmp_path):
    pack = ctxbuild.load(project.root).build("plain")
    made = ctxbuild.assemble(pack, anthropic(1, 5), project=tmp_path / "nowhere")
    assert texts(made)[0] == f"<!-- ctxbuild:pack plain -->\n{pack.text}"


def test_what_was_folded_can_be_recalled_and_is_given_to_who_asks(project):
    from ctxbuild.serve.recall import recall
    from ctxbuild.source import ctxfile

    kept: dict[str, str] = {}
    ctxbuild.assemble("review", openai(60), project=project.root, keep=kept.__setitem__)
    loaded = ctxfile.load(project.root / "ctxfile.toml")
    for name, text in kept.items():
        assert recall(loaded, project.root / ".ctxbuild", name[:12]).decode() == text
    assert any("value_0_1 = 1" in text for text in kept.values())


def test_a_unit_that_the_session_is_about_to_change_rises_to_full(project):
    text = CTXFILE.replace('entry = ["shop/app.py"]\nbudget = 1500', 'entry = ["shop/app.py"]\n'
                           "budget = 1500\nhydrate = true")  # fmt: skip
    project.put("ctxfile.toml", text)
    messages = anthropic(1)
    before = texts(ctxbuild.assemble("review", messages, project=project.root))[0]
    messages.append({"role": "assistant", "content": "I need to modify `Store.save` next."})
    messages.append({"role": "user", "content": "Go on."})
    after = texts(ctxbuild.assemble("review", messages, project=project.root))[0]
    assert "self.disk.put(key, value)" not in before
    assert "self.disk.put(key, value)" in after


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([{"content": "no role"}], "message 0: has neither role nor type"),
        (
            [{"role": "system", "content": "a"}, *anthropic(1)[1:]],
            "message 0 is of 'openai', message 1 of 'anthropic'",
        ),
        (anthropic(1)[:-1], "message 1: its calls have no results yet"),
        (openai(1)[:-1], "message 2: its calls have no results yet"),
    ],
)
def test_messages_that_no_api_would_take_are_refused_in_one_line(project, messages, message):
    with pytest.raises(UsageError) as caught:
        ctxbuild.assemble("review", messages, project=project.root)
    assert caught.value.message.startswith(message)


def test_a_task_larger_than_the_room_is_an_error_that_says_by_how_much(project):
    task = [{"role": "user", "content": "word " * 9000}]
    with pytest.raises(
        BudgetError, match=r"^the messages need 9,0\d\d tokens, .* pinned are turn 1"
    ):
        ctxbuild.assemble("review", task, project=project.root)


def test_an_unknown_target_is_suggested(project):
    with pytest.raises(ctxbuild.CtxbuildError, match="did you mean 'review'"):
        ctxbuild.assemble("reviw", anthropic(1), project=project.root)


# --- compact ------------------------------------------------------------------------------


def test_below_the_threshold_the_same_messages_come_back():
    messages = anthropic(5)
    assert ctxbuild.compact(messages, threshold=50_000) == messages


@pytest.mark.parametrize("session", [anthropic, openai])
def test_compacting_is_idempotent_and_keeps_the_task(session):
    kept: dict[str, str] = {}
    messages = session(60)
    made = ctxbuild.compact(messages, threshold=4000, recent=4, keep=kept.__setitem__)
    assert measured(made, COUNT) < 4000
    assert TASK in texts(made)
    assert made[-8:] == messages[-8:]
    assert any("value_0_1 = 1" in text for text in kept.values())
    assert ctxbuild.compact(made, threshold=4000, recent=4) == made


def test_an_unknown_tokenizer_is_one_error():
    with pytest.raises(ctxbuild.CtxbuildError, match="o300k"):
        ctxbuild.compact(anthropic(1), tokenizer="o300k")


# --- remember -----------------------------------------------------------------------------


def test_a_finding_is_remembered_once_and_stands_in_the_next_assembly(project):
    finding = "shop/disk.py: found get() returns 1; severity low"
    assert ctxbuild.remember(finding, project=project.root) == {
        "file": "NOTES.md",
        "new": True,
        "path": "shop/disk.py",
        "found": "get() returns 1",
        "severity": "low",
        "suggest": "",
    }
    assert ctxbuild.remember(finding, project=project.root)["new"] is False
    made = ctxbuild.assemble("review", anthropic(1), project=project.root)
    assert "- shop/disk.py: found get() returns 1; severity low\n" in texts(made)[-1]


@pytest.mark.parametrize(
    ("finding", "to", "message"),
    [
        ("../x.py: found a; severity b", None, "../x.py: lies outside the project"),
        ("shop/app.py: found a", "/etc/notes.md", "/etc/notes.md: lies outside the project"),
        ("shop/app.py: found a", "link/notes.md", "lies outside the project"),
        ("nothing of note", None, "'nothing of note' is no finding"),
    ],
)
def test_what_is_no_finding_or_lies_elsewhere_is_refused(project, tmp_path, finding, to, message):
    (project.root / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError) as caught:
        ctxbuild.remember(finding, project=project.root, to=to)
    assert message in caught.value.message
