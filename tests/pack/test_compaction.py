"""Compaction: what stays, what becomes the note, and that nothing is lost."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbuild.facts.transcript import NOTE_MARK, Record, Transcript, Turn, from_messages
from ctxbuild.facts.transcript_calls import after_of
from ctxbuild.pack.compaction import Compacted, Policy, compact, counted, play
from ctxbuild.pack.compaction_facts import RULES, State, kind_of
from ctxbuild.pack.compaction_note import Item, Note, item_text, parse_note, render_note
from ctxbuild.pack.compaction_room import fit_note
from ctxbuild.select.transcript_forms import digest_of, render, short_digest
from tests import talks


def count(texts):
    """A token for every four characters, so that numbers can be followed by hand."""
    return [len(text) // 4 for text in texts]


def turns_of(story):
    return from_messages(talks.anthropic(story)).turns


def again(compacted):
    """What a compaction left as the turns of a new session."""
    note = compacted.note.text if compacted.note else ""
    said = [Turn(1, "user", (Record("note", note),))] if note else []
    return [*(e.turn for e in compacted.pinned), *said, *(e.turn for e in compacted.recent)]


TINY = Policy(threshold=300, recent=2, note=4_000)
ROOMY = Policy(threshold=1_300, recent=2, note=4_000)


def test_the_note_of_a_story():
    compacted = compact(turns_of(talks.STORY), ROOMY, count)
    assert compacted.note is not None
    whole = compacted.dropped[0]
    assert (
        compacted.note.text
        == f"""{NOTE_MARK}
Earlier turns of this session, compacted. `ctxbuild recall HASH` prints the original behind the \
hash of a line.

### The user's words

- t5 {short_digest("Use max(), please.")}: Use max(), please.

### Files changed, last hunk of each

- t4 {short_digest(" a" + chr(10) + "-b" + chr(10) + "+B" + chr(10) + " c")}: `shop/app.py` edit
  ```
   a
  -b
  +B
   c
  ```

### The last command that failed

- t3 {short_digest(talks.FAILURE)}: `python -m pytest -q`
  ```
  Exit code 1
  Traceback (most recent call last):
  ImportError: No module named shop
  ```

### Not resolved

- t3 {short_digest(talks.FAILURE)}: `python -m pytest -q`: ImportError: No module named shop

### Decisions and why

- t4 -: I'll clamp the value rather than raise, because callers expect a number.

### Facts

- t3 -: The issue is that total() subtracts.

### Actions

- t3 {short_digest(talks.FAILURE)}: `python -m pytest -q` → failed: \
ImportError: No module named shop

### Left out of this note

- t2-5 {whole.hash}: these turns, {whole.tokens:,} tokens
"""
    )
    assert [each.turn.number for each in compacted.recent] == [6, 7]
    assert [(d.first, d.last) for d in compacted.dropped] == [(2, 5)]


def test_below_the_threshold_nothing_is_touched():
    turns = turns_of(talks.STORY)
    compacted = compact(turns, Policy(), count)
    assert compacted.note is None
    assert again(compacted) == counted(turns, count)
    assert compacted.before == compacted.after


def test_system_text_and_task_stay_byte_for_byte_and_the_system_prompt_is_not_lost():
    system = {"role": "system", "content": "Be terse.\n\n  Indented.\t"}
    turns = from_messages([system, *talks.anthropic()]).turns
    compacted = compact(turns, TINY, count)
    assert [each.turn.records[0].text for each in compacted.pinned] == [
        "Be terse.\n\n  Indented.\t",
        "Fix the total in shop/app.py.\nIt must not be negative.",
    ]


def test_findings_stay_as_they_are_written():
    finding = "- shop/app.py: found an overflow; severity high; suggest max()"
    story = [*talks.STORY[:2], (f"Noted.\n{finding}\n", []), *talks.STORY[2:]]
    compacted = compact(turns_of(story), TINY, count)
    assert compacted.note is not None
    assert [item.text for item in compacted.note.of("finding")] == [finding[2:]]


def test_a_repeated_compaction_does_not_summarise_its_own_note():
    first = compact(turns_of(talks.STORY), ROOMY, count)
    assert first.note is not None
    more = turns_of([*talks.STORY, *talks.STORY[1:]])[7:]
    second = compact([*again(first), *more], ROOMY, count)
    assert second.note is not None
    kept = {item.kind: item for item in second.note.items}
    assert [item.text for item in second.note.of("words")] == ["Use max(), please."]
    assert first.note.of("dropped")[0] in second.note.of("dropped")
    assert NOTE_MARK not in "".join(item.text for item in second.note.items)
    assert kept["error"].text == first.note.of("error")[0].text


def test_an_oversized_recent_turn_shrinks_and_names_its_original():
    huge = "line of output\n" * 2_000
    story = ["Do it.", ("", [("Bash", {"command": "make"}, huge, False)])]
    compacted = compact(turns_of(story), TINY, count)
    (each,) = compacted.recent
    assert each.form == "slice"
    assert compacted.after < 300
    assert short_digest(huge) in each.text
    assert dict(compacted.originals)[digest_of(huge)] == huge


def test_a_call_and_its_result_are_never_parted():
    """A result that comes late keeps its call among the recent turns."""
    call = Record("call", "", "Task", "late", (("prompt", "go"),))
    turns = [
        Turn(1, "user", (Record("text", "Go."),)),
        Turn(2, "assistant", (Record("text", "x" * 2_000),)),
        Turn(3, "assistant", (call,)),
        *(Turn(n, "assistant", (Record("text", "y" * 400),)) for n in range(4, 8)),
        Turn(8, "tool", (Record("result", "done", "Task", "late"),)),
    ]
    compacted = compact(turns, TINY, count)
    assert [each.turn.number for each in compacted.recent] == [3, 4, 5, 6, 7, 8]


def test_a_call_that_awaits_its_result_stays_even_where_no_turn_must():
    waiting = [*turns_of(talks.STORY), Turn(8, "assistant", (Record("call", "", "Bash", "now"),))]
    compacted = compact(waiting, Policy(threshold=300, recent=0), count)
    assert [each.turn.number for each in compacted.recent] == [8]
    assert compact(waiting[:-1], Policy(threshold=300, recent=0), count).recent == ()


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("The root cause is a missing sign in total().", "fact"),
        ("The root cause is probably a missing sign.", None),
        ("I'll clamp it because callers expect a number.", "decision"),
        ("Now let me run the tests to ensure that it works.", None),
        ("Should a negative total be an error as well?", "open"),
        ("I looked at the file and went on with it.", None),
    ],
)
def test_what_a_sentence_is(sentence, kind):
    assert kind_of(sentence, spoken=True) == kind


@pytest.mark.parametrize(
    "piece", ["now, ", "so let me ", "a. ", "which ", "```\n", "- a: found ", "`"]
)
def test_hostile_texts_take_linear_time(piece):
    text = piece * 40_000
    state = State()
    state.absorb(Turn(1, "assistant", (Record("text", text), Record("thinking", text))))
    assert len(render_note(state.items())) < 20_000


def test_what_was_left_out_can_be_recalled_whole():
    compacted = compact(turns_of(talks.STORY), TINY, count)
    whole = next(
        text for name, text in compacted.originals if name.startswith(compacted.dropped[0].hash)
    )
    assert talks.LONG_FILE.rstrip("\n") in whole
    assert "I'll clamp the value" in whole


def test_a_plan_keeps_the_last_state_of_items_that_left_the_list():
    def plan(**states):
        todos = [{"content": name, "status": status} for name, status in states.items()]
        return ("", [("TodoWrite", {"todos": todos}, "ok", False)])

    story = ["Go.", plan(a="in_progress", b="pending"), plan(b="completed"), *["x", "y"]]
    compacted = compact(turns_of([*story, "z" * 2_000, ("", []), ("", [])]), TINY, count)
    assert compacted.note is not None
    (item,) = compacted.note.of("todo")
    assert item.text == "[>] a (no longer listed)\n[x] b"


def test_items_of_a_plan_that_are_numbered_one_by_one_keep_their_last_state():
    def more(number, subject):
        said = f"Task #{number} created successfully: {subject}"
        return ("", [("TaskCreate", {"subject": subject}, said, False)])

    def now(number, status):
        return ("", [("TaskUpdate", {"taskId": str(number), "status": status}, "ok", False)])

    before = State()
    for turn in turns_of([more(1, "Clamp"), more(2, "Test"), now(1, "completed")]):
        before.absorb(turn)
    state = State(before.items())
    for turn in turns_of([now(2, "in_progress"), now(3, "completed")]):
        state.absorb(turn)
    (item,) = state.items()
    assert item.text == "[x] #1 Clamp\n[>] #2 Test\n[x] #3"


def test_of_plain_lines_the_last_failure_is_kept_with_what_was_said_before_it():
    lines = [
        {"role": "assistant", "content": "Running make test now."},
        {"role": "tool", "content": "collected 2 items\nE  boom\n1 failed in 0.1s"},
        {"role": "assistant", "content": "Reading the file."},
        {"role": "tool", "content": "x = 1"},
    ]
    state = State()
    for turn in from_messages(lines).turns:
        state.absorb(turn)
    errors = [item.text for item in state.items() if item.kind == "error"]
    fence = "```"
    output = "collected 2 items\nE  boom\n1 failed in 0.1s"
    assert errors == [f"`Running make test now.`\n{fence}\n{output}\n{fence}"]


def test_what_a_user_showed_stands_beside_the_words():
    data = base64.b64encode(b"a picture").decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    shown = {"role": "user", "content": [{"type": "image", "source": source}]}
    state = State()
    for turn in from_messages([shown]).turns:
        state.absorb(turn)
    digits = hashlib.sha256(b"a picture").hexdigest()[:12]
    assert [item.text for item in state.items()] == [
        f"[image: image/png, 9 bytes, sha256 {digits}]"
    ]


def test_a_failed_edit_is_no_change_and_a_command_that_runs_again_resolves_its_failure():
    state = State()
    story = [
        ("", [("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, "no", True)]),
        ("", [("Bash", {"command": "pytest a"}, "Exit code 1\nFAILED a", True)]),
        ("", [("Bash", {"command": "pytest b"}, "1 passed", False)]),
    ]
    for turn in turns_of(story):
        state.absorb(turn)
    items = {item.kind: item.text for item in state.items()}
    assert "edit" not in items
    assert items["error"].startswith("`pytest a`")
    assert items["blocker"].startswith("`Edit a`")


def test_a_note_without_room_keeps_what_is_durable_by_its_hash():
    words = "The user's long words. " * 40
    items = [
        *(Item("fact", f"Fact {n} is a fact.", n) for n in range(20)),
        Item("words", words, 1, short_digest(words)),
        Item("edit", "`a` edit\n```\n" + "+x\n" * 90 + "```\nearlier: 0123456789ab", 2, "ab" * 6),
    ]
    fitted, _ = fit_note(items, 260, count)
    assert count([render_note(fitted)])[0] <= 260
    by_kind = {item.kind: item for item in fitted}
    assert by_kind["words"].hash == short_digest(words)
    assert by_kind["edit"] == Item("edit", "`a` edit\nearlier: 0123456789ab", 2, "ab" * 6)


def test_a_note_of_very_many_words_gathers_the_oldest_behind_one_hash():
    items = [Item("words", f"Words number {n}.", n, short_digest(str(n))) for n in range(1, 100)]
    fitted, texts = fit_note(items, 700, count)
    (gathered,) = (item for item in fitted if item.kind == "dropped")
    (text,) = texts
    assert gathered.hash == short_digest(text)
    assert text.startswith(item_text(items[0]))
    assert fitted[-2] == items[-1]


TEXTS = st.text("ab `-#:<>!\n[]0", max_size=40)
ITEMS = st.builds(
    Item,
    st.sampled_from(["words", "finding", "edit", "error", "fact", "action"]),
    TEXTS.map(str.rstrip),
    st.integers(1, 99),
    st.sampled_from(["", "0123456789ab"]),
)


@given(st.lists(ITEMS, max_size=8))
def test_a_note_is_read_back_as_it_was_written(items):
    from ctxbuild.pack.compaction_note import in_order

    ordered = in_order(items)
    read = parse_note(render_note(ordered))
    assert read == Note(ordered)


@pytest.mark.parametrize("change", [("### Facts", "### Fakten"), ("- t3", "t3"), (NOTE_MARK, "")])
def test_a_note_that_somebody_changed_is_no_note_but_words(change):
    compacted = compact(turns_of(talks.STORY), ROOMY, count)
    assert compacted.note is not None
    assert parse_note(compacted.note.text.replace(*change)) is None


# --- properties -------------------------------------------------------------------------

NAMES = st.sampled_from(["a.py", "b.py", "c.md"])
WORDS = st.text("xyz ", min_size=1, max_size=30)
SIZES = st.integers(0, 400)


@st.composite
def steps(draw):
    """A turn of the user or of the agent, of any kind and size."""
    kind = draw(st.sampled_from(["user", "read", "run", "fail", "edit", "write", "plan", "say"]))
    text, size = draw(WORDS), draw(SIZES)
    path = draw(NAMES)
    if kind == "user":
        return text + "!" * size
    if kind == "say":
        return (f"{text}. It is because of {text}.", [])
    call = {
        "read": ("Read", {"file_path": path}, "row\n" * size, False),
        "run": ("Bash", {"command": f"make {text}"}, "ok\n" * size + text, False),
        "fail": (
            "Bash",
            {"command": f"make {text}"},
            f"Exit code 1\n{text}\n" + "E\n" * size,
            True,
        ),
        "edit": (
            "Edit",
            {"file_path": path, "old_string": text, "new_string": text + "\nnew" * (size // 9)},
            "updated",
            False,
        ),
        "write": (
            "Write",
            {"file_path": path, "content": f"{text}\n" * (size // 9 + 1)},
            "",
            False,
        ),
        "plan": ("TodoWrite", {"todos": [{"content": path, "status": "pending"}]}, "", False),
    }[kind]
    return (text, [call])


STORIES = st.lists(steps(), min_size=1, max_size=14).map(lambda told: ["The task.", *told])
POLICIES = st.builds(Policy, st.integers(120, 900), st.integers(0, 4), st.integers(400, 2_000))


@settings(max_examples=120)
@given(STORIES, POLICIES)
def test_compacting_twice_is_compacting_once(story, policy):
    once = compact(turns_of(story), policy, count)
    twice = compact(again(once), policy, count)
    assert (twice.note, twice.dropped) == (once.note, ())
    assert [each.turn for each in twice.recent] == [each.turn for each in once.recent]


@settings(max_examples=120)
@given(STORIES, POLICIES)
def test_whatever_happens_durable_things_stand_or_can_be_recalled(story, policy):
    compacted = play(counted(turns_of(story), count), policy, count)
    for text in durable(turns_of(story)):
        assert stands(compacted, text), text


def durable(turns):
    """The user's words, the last text of each file, the last error: found apart from the rules."""
    files, error = {}, ""
    for turn in turns:
        for record in turn.records:
            if record.kind == "text" and turn.role == "user" and record.text.strip():
                yield record.text.strip("\n").rstrip()
            elif record.kind == "call" and record.tool in {"Edit", "Write"}:
                files[record.argument("file_path")] = record.argument("new_string", "content")
            elif record.failed:
                error = record.text
    yield from (text.rstrip("\n") for text in files.values())
    yield error.rstrip("\n")


def stands(compacted: Compacted, text: str) -> bool:
    note = compacted.note.text if compacted.note else ""
    whole = "".join(each.text for each in (*compacted.pinned, *compacted.recent))
    # A hunk shows what an edit left behind a sign.
    unsigned = "\n".join(row[1:] if row[:1] in {"+", " "} else row for row in whole.split("\n"))
    if text in whole or text in unsigned:
        return True
    left = dict(compacted.originals)
    seen = note + "".join(each.text for each in compacted.recent)
    # What is gathered behind a hash may name further hashes.
    while reached := [name for name in left if name[:12] in seen]:
        texts = [left.pop(name) for name in reached]
        if any(text in each or after_of(each) == text for each in texts):
            return True
        seen = "".join(texts)
    return False


@settings(max_examples=60)
@given(STORIES, POLICIES)
def test_what_is_above_the_threshold_cannot_be_made_smaller(story, policy):
    compacted = play(turns_of(story), policy, count)
    if compacted.after > policy.threshold:
        for each in compacted.recent:
            line = count([render(each.turn, "line")])[0]
            size = each.turn.tokens if each.form == "full" else count([each.text])[0]
            assert each.turn.role == "user" or line >= size


def test_merging_a_note_with_later_turns_gives_the_note_of_all_turns():
    turns = turns_of(talks.STORY * 2)
    for cut in range(1, len(turns)):
        first = RULES.extract(turns[:cut], ())
        parsed = parse_note(render_note(first.items))
        assert parsed is not None
        both = RULES.extract(turns[cut:], parsed.items)
        whole = RULES.extract(turns, ())
        assert render_note(both.items) == render_note(whole.items)


PROGRAM = """
from ctxbuild.facts.transcript import from_messages
from ctxbuild.pack.compaction import Policy, play
from tests import talks
turns = from_messages(talks.anthropic(talks.STORY * 3)).turns
print(play(turns, Policy(300, 2), lambda texts: [len(t) // 4 for t in texts]).text)
"""


def test_the_same_turns_give_the_same_bytes_under_any_hash_seed():
    root = Path(__file__).parents[2]
    texts = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(texts) == 1


def test_an_empty_transcript_compacts_to_nothing():
    assert Transcript(()).turns == ()
    assert compact((), Policy(), count) == Compacted((), None, ())
