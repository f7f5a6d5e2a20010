"""Sessions and memory as layers of packs on disk: what runs, what stays, what comes back."""

from __future__ import annotations

import json
import re
from hashlib import sha256

import pytest

from ctxbuild.errors import UsageError
from ctxbuild.pack import pieces
from ctxbuild.serve.noting import note_add, notes_file
from ctxbuild.serve.recall import keep, originals, recall
from ctxbuild.source import ctxfile
from tests import talks
from tests.serve.conftest import ProjectOnDisk

LOOP = """version = 1
[project]
include = ["*.py"]
[targets.loop]
budget = 20000
[[targets.loop.layers]]
memory = "NOTES.md"
[[targets.loop.layers]]
transcript = "session.jsonl"
threshold = 700
recent = 2
"""
LINES = talks.claude_code(talks.STORY * 3).splitlines(keepends=True)
CALL = re.compile(rb"call_")


@pytest.fixture
def loop(tmp_path):
    project = ProjectOnDisk(tmp_path / "loop")
    project.put("ctxfile.toml", LOOP)
    project.put("a.py", "x = 1\n")
    project.put("session.jsonl", b"".join(LINES[:40]))
    project.put("NOTES.md", "# Notes\n\n- a.py: found x; severity low\n\nRemember the sign.\n")
    return project


def plan_of(project, target="loop"):
    return json.loads(project.outputs()[f"{target}.plan.json"])


def test_a_pack_holds_notes_task_note_and_the_turns_behind_it(loop):
    assert loop.ran() == ["session(session.jsonl#1@700,2)", "plan(loop)", "pack(loop)"]
    text = loop.pack("loop")
    heads = [row for row in text.split("\n") if row.startswith("## ")]
    assert heads == ["## Findings", "## Notes", "## Task", "## Session so far", "## Turns"]
    assert "- a.py: found x; severity low\n" in text
    assert "Fix the total in shop/app.py.\nIt must not be negative.\n" in text
    record = plan_of(loop)["layers"]["transcript"]
    assert (record["threshold"], len(record["dropped"])) == (700, 1)
    dropped = [c for c in plan_of(loop)["candidates"] if c["why"] == "compacted"]
    assert [c["unit"] for c in dropped] == [
        f"session.jsonl#turn-{n}" for n in range(2, record["dropped"][0]["last"] + 1)
    ]


def test_a_new_turn_costs_the_last_piece_alone(loop, monkeypatch):
    monkeypatch.setattr(pieces, "_PIECE", 3_000)
    monkeypatch.setattr(pieces, "_BLOCK", 1_000)
    loop.put("session.jsonl", b"".join(LINES))
    ran = loop.ran()
    count = sum(name.startswith("session(") for name in ran)
    assert count > 3
    more = json.dumps({"type": "user", "message": {"role": "user", "content": "And now?"}})
    loop.put("session.jsonl", b"".join(LINES) + more.encode() + b"\n")
    assert loop.ran() == [f"session(session.jsonl#{count}@700,2)", "plan(loop)", "pack(loop)"]
    assert "And now?" in loop.pack("loop")
    assert loop.ran() == []


def test_a_session_of_very_many_pieces_is_no_deep_recursion(loop, monkeypatch):
    monkeypatch.setattr(pieces, "_PIECE", 1)
    monkeypatch.setattr(pieces, "_BLOCK", 1_000)
    loop.put("session.jsonl", talks.claude_code(talks.STORY * 9))
    ran = loop.ran()
    assert sum(name.startswith("session(") for name in ran) > 250
    more = b'{"role": "user", "content": "And now?"}\n'
    loop.put("session.jsonl", talks.claude_code(talks.STORY * 9) + more)
    (session, *rest) = loop.ran()
    assert session.startswith("session(session.jsonl#")
    assert rest == ["plan(loop)", "pack(loop)"]


def test_turns_that_are_appended_leave_what_stands_above_them(loop):
    """Byte by byte, between compactions; clean builds give the same."""
    grown = 0
    before, folded = "", 0
    loop.put("ctxfile.toml", LOOP.replace("= 700", "= 1500"))
    for end in range(12, len(LINES), 4):
        loop.put("session.jsonl", b"".join(LINES[:end]))
        loop.build()
        text, now = loop.pack("loop"), len(plan_of(loop)["layers"]["transcript"]["dropped"])
        settled = before.rpartition("\n### ")[0]  # the last turn may have gone on
        if now == folded and before:
            assert text.startswith(settled)
            grown += 1
        before, folded = text, now
    assert (grown > 5, folded > 1) == (True, True)
    assert loop.outputs() == loop.clean_outputs(loop.root.parent / "clean")


def test_the_budget_holds_where_the_threshold_is_beyond_it(loop):
    text = LOOP.replace("20000", "700").replace("threshold = 700", "threshold = 9000")
    loop.put("ctxfile.toml", text)
    loop.put("session.jsonl", b"".join(LINES[:60]))
    (result,) = loop.build().targets
    assert result.status == "built"
    assert result.tokens <= 700
    verdicts = {c["unit"]: c for c in plan_of(loop)["candidates"]}
    assert verdicts["session.jsonl#turn-1"]["verdict"] == "kept"
    assert {"trimmed", "dropped"} & {v["verdict"] for v in verdicts.values()}


def test_a_task_larger_than_the_budget_is_an_error_that_names_it(loop):
    line = {"role": "user", "content": "word " * 9_000}
    loop.put("session.jsonl", json.dumps(line) + "\n")
    loop.put("ctxfile.toml", LOOP.replace("20000", "2000"))
    (result,) = loop.build().targets
    assert result.status == "failed"
    assert "what is pinned needs" in result.error
    assert "session.jsonl#turn-1" in result.error


def test_damaged_lines_and_missing_files_are_warnings(loop):
    loop.put("session.jsonl", b"".join(LINES[:20])[:-30])
    (result,) = loop.build().targets
    assert [w for w in result.warnings if "session" in w] == [
        "session.jsonl: line 20: is not JSON (unexpected end of data), passed over"
    ]
    loop.remove("session.jsonl")
    loop.remove("NOTES.md")
    (result,) = loop.build().targets
    assert set(result.warnings) >= {
        "NOTES.md: no such file",
        "session.jsonl: no such file",
    }
    loop.put("session.jsonl", "")
    (result,) = loop.build().targets
    assert "session.jsonl: holds no turn that can be read" in result.warnings


def test_a_layer_about_a_question_shows_what_bears_on_it(loop):
    loop.put(
        "ctxfile.toml",
        'version = 1\n[targets.ask]\ntranscript = "session.jsonl"\n'
        'about = "Why is the value clamped?"\nbudget = 110\n',
    )
    loop.put("session.jsonl", talks.claude_code())
    assert loop.ran() == ["talk(session.jsonl#1)", "plan(ask)", "pack(ask)"]
    assert "I'll clamp the value rather than raise" in loop.pack("ask")
    assert "line 150" not in loop.pack("ask")


# --- memory -----------------------------------------------------------------------------


def test_a_finding_whose_file_changed_since_is_marked(loop):
    note_add(str(loop.root), "NOTES.md", "a.py: found a wrong sign; severity high")
    digest = sha256(b"x = 1\n").hexdigest()[:16]
    notes = (loop.root / "NOTES.md").read_text()
    assert f"- a.py: found a wrong sign; severity high <!-- sha256:{digest} -->\n" in notes
    loop.build()
    assert "- a.py: found a wrong sign; severity high\n" in loop.pack("loop")
    loop.put("a.py", "x = 2\n")
    assert loop.ran() == ["plan(loop)", "pack(loop)"]
    row = "- a.py: found a wrong sign; severity high [STALE: the file changed since]\n"
    assert row in loop.pack("loop")
    loop.remove("a.py")
    loop.build()
    assert row.replace("changed since", "is gone") in loop.pack("loop")


def test_findings_before_and_after_a_compaction_are_the_same(loop):
    loop.put("session.jsonl", b"".join(LINES[:12]))
    loop.build()
    before = re.findall("^- a.py: found .*$", loop.pack("loop"), re.MULTILINE)
    assert plan_of(loop)["layers"]["transcript"]["dropped"] == []
    loop.put("session.jsonl", b"".join(LINES))
    loop.build()
    assert plan_of(loop)["layers"]["transcript"]["dropped"]
    assert re.findall("^- a.py: found .*$", loop.pack("loop"), re.MULTILINE) == before


def test_the_notes_are_read_again_at_every_build_even_when_nothing_else_changed(loop):
    loop.build()
    loop.put("NOTES.md", "Other words.\n")
    assert loop.ran() == ["plan(loop)", "pack(loop)"]
    assert "Other words." in loop.pack("loop")
    assert "found x" not in loop.pack("loop")


def test_a_notes_file_in_disorder_is_shown_as_far_as_it_goes(loop):
    loop.put(
        "NOTES.md",
        "- x.py: found one\n\n```\n- y.py: found in a fence\n```\n##\n"
        "* z.py: found three;;severity\n"
        "```\n- w.py: found below a fence that is never closed\n",
    )
    loop.build()
    text = loop.pack("loop")
    assert "- x.py: found one\n" in text
    assert "```\n- y.py: found in a fence\n```\n" in text
    assert "- z.py: found three;;severity\n" in text
    assert "- w.py: found below a fence that is never closed\n" in text


def test_findings_without_room_are_a_warning(loop):
    loop.put(
        "ctxfile.toml", LOOP.replace('memory = "NOTES.md"\n', 'memory = "NOTES.md"\nbudget = 60\n')
    )
    loop.put("NOTES.md", "".join(f"- a.py: found thing {n}; severity low\n" for n in range(20)))
    (result,) = loop.build().targets
    stated = loop.pack("loop").count(": found thing ")
    assert 0 < stated < 20
    what = f"{20 - stated} of 20 findings have no room"
    assert f"layer 'memory': {what}: give it a larger budget" in result.warnings


def test_a_question_chooses_among_notes(loop):
    loop.put(
        "ctxfile.toml",
        'version = 1\n[targets.ask]\nmemory = "NOTES.md"\nabout = "tax"\nbudget = 40\n',
    )
    rows = [f"- note number {n} about cats" for n in range(30)]
    loop.put("NOTES.md", "\n".join([*rows[:15], "- the tax is rounded", *rows[15:]]))
    loop.build()
    assert "- the tax is rounded\n" in loop.pack("ask")


def test_the_notes_file_is_the_one_that_the_ctxfile_reads(loop):
    project = ctxfile.load(loop.root / "ctxfile.toml")
    assert notes_file(project, None) == "NOTES.md"
    assert notes_file(project, "other.md") == "other.md"
    assert notes_file(None, None) == "NOTES.md"
    loop.put("ctxfile.toml", LOOP + '[targets.x]\nmemory = "MORE.md"\n')
    with pytest.raises(UsageError, match=r"several notes files: NOTES.md, MORE.md"):
        notes_file(ctxfile.load(loop.root / "ctxfile.toml"), None)


# --- recall -----------------------------------------------------------------------------


def recalled(project, digits):
    loaded = ctxfile.load(project.root / "ctxfile.toml")
    return recall(loaded, project.root / ".ctxbuild", digits).decode()


def test_every_hash_in_a_pack_brings_its_original_back(loop):
    loop.put("session.jsonl", b"".join(LINES))
    loop.build()
    text = loop.pack("loop")
    digits = {*re.findall("recall ([0-9a-f]{12})", text), *re.findall(" ([0-9a-f]{12}): ", text)}
    assert len(digits) > 4
    for each in sorted(digits):
        assert sha256(recalled(loop, each).encode()).hexdigest().startswith(each)
    whole = plan_of(loop)["layers"]["transcript"]["dropped"][0]["hash"]
    assert talks.LONG_FILE in recalled(loop, whole)


def test_a_hash_of_a_turn_that_the_budget_cut_short_is_found_in_the_transcript(loop):
    loop.put("session.jsonl", talks.claude_code())
    loop.put("ctxfile.toml", LOOP.replace("20000", "600").replace("= 700", "= 9000"))
    loop.build()
    (digits,) = set(re.findall("shop/app.py: 200 lines; recall ([0-9a-f]{12})", loop.pack("loop")))
    assert recalled(loop, digits) == talks.LONG_FILE


def test_an_emptied_cache_is_no_loss_while_the_transcript_is_there(loop):
    loop.build()
    whole = plan_of(loop)["layers"]["transcript"]["dropped"][0]["hash"]
    before = recalled(loop, whole)
    for path in (loop.root / ".ctxbuild" / "originals").rglob("*"):
        if path.is_file():
            path.unlink()
    assert recalled(loop, whole[:6]) == before


def test_a_transcript_that_went_is_no_loss_while_the_originals_are_there(loop):
    loop.build()
    whole = plan_of(loop)["layers"]["transcript"]["dropped"][0]["hash"]
    loop.remove("session.jsonl")
    assert "Fix" not in recalled(loop, whole)


def test_collecting_garbage_leaves_originals_alone(loop):
    from ctxbuild.serve.maintenance import collect

    loop.build()
    names = set(originals(loop.root / ".ctxbuild").names())
    collect(loop.session())
    assert set(originals(loop.root / ".ctxbuild").names()) == names != set()


@pytest.mark.parametrize(
    ("digits", "message"),
    [
        ("zz", "'zz' is no hash: give at least 4 hexadecimal digits of it"),
        ("abc", "'abc' is no hash: give at least 4 hexadecimal digits of it"),
        ("ffffffff", "ffffffff: no original has this hash: none that is kept comes near"),
    ],
)
def test_what_is_no_hash_of_ours(loop, digits, message):
    with pytest.raises(UsageError) as caught:
        recalled(loop, digits)
    assert str(caught.value) == message


def test_a_hash_with_a_slip_is_answered_with_what_is_near(loop):
    loop.build()
    whole = plan_of(loop)["layers"]["transcript"]["dropped"][0]["hash"]
    slip = whole[:-1] + ("0" if whole[-1] != "0" else "1")
    with pytest.raises(UsageError, match=f"did you mean {whole}"):
        recalled(loop, slip)


def test_digits_that_several_originals_have_want_more_digits(loop):
    texts = [str(number) for number in range(200_000)]
    heads: dict[str, str] = {}
    for text in texts:
        head = sha256(text.encode()).hexdigest()[:4]
        if head in heads:
            keep(loop.root / ".ctxbuild", [heads[head], text])
            break
        heads[head] = text
    with pytest.raises(UsageError, match="2 originals begin so: "):
        recalled(loop, head)


# --- a model ----------------------------------------------------------------------------


def test_a_model_compacts_where_the_layer_asks_for_it_and_rules_do_without_one(loop, chat_server):
    from tests.chatserver import Reply

    chat_server.replies = [
        Reply({"items": [{"kind": "fact", "text": "The sign is wrong.", "turn": 3}]})
    ]
    loop.put("ctxfile.toml", LOOP + 'compaction = "model"\n')
    assert loop.ran() == ["session(session.jsonl#1@700,2,model)", "plan(loop)", "pack(loop)"]
    assert "- t3 -: The sign is wrong.\n" in loop.pack("loop")
    assert loop.ran() == []


def test_without_a_model_the_rules_compact_and_the_pack_says_so(loop):
    loop.put("ctxfile.toml", LOOP + 'compaction = "model"\n')
    (result,) = loop.build().targets
    assert [w for w in result.warnings if w.endswith("compacted by rules")]
    assert "The issue is that total() subtracts." in loop.pack("loop")
