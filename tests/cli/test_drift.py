"""`ctxbuild check --drift` on a session under review."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.chatserver import Reply

TASK = "Review shop/cart.py: does `Cart.total` lose cents?\nReport every finding.\n"
FINDING = "shop/cart.py: found add() keeps no price; severity high; suggest keep it"
CTXFILE = """\
version = 1
[targets.review]
budget = 4000
[[targets.review.layers]]
name = "task"
files = ["TASK.md"]
budget = 300
pin = true
[[targets.review.layers]]
name = "diff"
diff = "HEAD"
budget = 1200
[[targets.review.layers]]
name = "session"
transcript = "session.jsonl"
budget = 1500
[[targets.review.layers]]
name = "memory"
memory = "NOTES.md"
budget = 400
[targets.app]
entry = ["shop/app.py"]
budget = 1000
"""


def line(role, text, **call):
    content = [{"type": "text", "text": text}]
    if call:
        content.append({"type": "tool_use", **call})
    return json.dumps({"role": role, "content": content})


def session(*said):
    edit = {
        "id": "t1",
        "name": "Edit",
        "input": {"file_path": "/elsewhere/shop/cart.py", "old_string": "a", "new_string": "b"},
    }
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    rows = [line("user", TASK), line("assistant", "I edit Cart.total, it loses cents.", **edit)]
    rows.append(json.dumps({"role": "user", "content": [result]}))
    rows += [line("assistant", text) for text in said]
    return "".join(f"{row}\n" for row in rows)


@pytest.fixture
def review(shop):
    shop.write(
        {
            "ctxfile.toml": CTXFILE,
            "TASK.md": TASK,
            "NOTES.md": f"# Notes\n\n- {FINDING}\n",
            "session.jsonl": session("The cents of Cart are kept.", "I report the finding."),
        }
    )
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=shop.root, check=True)
    shop.edit("shop/cart.py", "len(self.names)", "len(self.names) + 1")
    return shop


def test_a_pack_that_states_everything_is_fine(review):
    done = review("check", "--drift")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "review: states 2 of 2 tasks, 2 of 2 files under work, 1 of 1 findings\n"
        "  session.jsonl: 52 % of the task's terms in the first turn, 19 % in the last: "
        "moved 64 %; gone: lose, py, shop, total, cart, cent\n"
    )


def test_what_is_missing_is_named_and_ends_with_1(review):
    pinned, named = "budget = 300\npin = true", 'budget = 300\nform = "name"'
    layers = CTXFILE.replace(pinned, named)
    review.write({"ctxfile.toml": layers.replace("budget = 400\n", "budget = 5\n")})
    done = review("check", "--drift", "review", "--json")
    assert done.code == 1
    (found,) = done.data["targets"]
    assert (found["ok"], done.data["ok"]) == (False, False)
    # The user said the task too: of that nothing is lost.
    assert [(each["kind"], each["origin"]) for each in found["missing"]] == [
        ("finding", "NOTES.md"),
    ]
    assert found["missing"][0]["rows"] == [FINDING]


def test_very_many_missing_findings_are_not_all_named_one_by_one(review):
    rows = [f"- shop/cart.py: found thing {number}\n" for number in range(300)]
    review.write({"NOTES.md": "".join(rows)})
    done = review("check", "--drift", "review")
    assert done.code == 1
    head, *named, more = (row for row in done.out.splitlines() if "terms" not in row)
    missing = len(review("check", "--drift", "review", "--json").data["targets"][0]["missing"])
    assert f"{300 - missing} of 300 findings" in head
    assert len(named) == 40
    assert more == f"  and {missing - 40} more: --json has all"


def test_a_session_that_left_its_task_is_measured(review):
    said = ["Now the colour of the button.", "Blue, then.", "A darker blue.", "CSS is fine."]
    review.write({"session.jsonl": session(*said)})
    (found,) = review("check", "--drift", "--turns", "2", "--json").data["targets"]
    (moved,) = found["movement"]
    assert (moved["transcript"], moved["turns"], moved["window"]) == ("session.jsonl", 5, 2)
    assert (moved["moved"], moved["last"]) == (1.0, 0.0)
    assert "cart" in moved["gone"]


def test_a_target_without_an_aim_is_left_out_unless_it_is_named(review):
    assert [each["name"] for each in review("check", "--drift", "--json").data["targets"]] == [
        "review"
    ]
    done = review("check", "--drift", "app")
    assert (done.code, done.out) == (0, "app: states nothing that it must\n")


def test_a_model_is_asked_what_the_pack_is_about(review, chat_server):
    chat_server.replies += [
        Reply("I review Cart.total for lost cents."),
        Reply({"same": True, "why": "the same method and the same question"}),
    ]
    done = review("check", "--drift", "--model")
    assert done.code == 0
    assert "What are you reviewing?" in chat_server.asked[0]["messages"][-1]["content"]
    assert done.out.endswith(
        "  probe: the task: the same method and the same question\n"
        "    answer: I review Cart.total for lost cents.\n"
    )


def test_a_model_that_speaks_of_another_task_ends_with_1(review, chat_server):
    chat_server.replies += [
        Reply("I paint buttons."),
        Reply({"same": False, "why": "buttons are not carts"}),
    ]
    done = review("check", "--drift", "--model", "--json")
    assert done.code == 1
    assert done.data["targets"][0]["probe"] == {
        "answer": "I paint buttons.",
        "same": False,
        "why": "buttons are not carts",
    }


def test_without_a_model_the_probe_is_left_out_with_a_warning(review):
    done = review("check", "--drift", "--model")
    assert done.code == 0
    assert done.err.startswith("warning: review: the probe was left out: no model is configured")


def test_bad_input_is_one_line(review):
    assert review("check", "--model").err == (
        "ctxbuild: --model belongs to --drift: write `check --drift --model`\n"
    )
    assert review("check", "--drift", "--turns", "0").code == 2
    assert "did you mean 'review'?" in review("check", "--drift", "reveiw").err
