"""The benchmark of sessions: it reads what must be kept by itself, and sees when it is lost."""

from __future__ import annotations

import json

from benchmarks import transcripts
from benchmarks.__main__ import main
from benchmarks.transcripts import Durable, Kept, durable_in, kept, locomo
from ctxbuild.facts.transcript import read_transcript
from ctxbuild.pack.compaction import Compacted, Policy, counted, play
from ctxbuild.pack.compaction_note import Note
from ctxbuild.pack.tokens import counter
from tests import talks

DATA = talks.claude_code(talks.STORY * 3)
COUNT = counter("o200k_base")


def test_what_must_be_kept_is_read_from_the_raw_lines():
    assert durable_in([*talks.claude_code().split(b"\n"), b"{damaged"]) == Durable(
        ["Fix the total in shop/app.py.\nIt must not be negative.", "Use max(), please."],
        {"shop/app.py": (False, "a\nB\nc")},
        {"Clamp the total": "completed", "Run the tests": "in_progress"},
        talks.FAILURE,
    )


def test_a_note_that_lost_an_item_is_seen_by_the_benchmark():
    durable = durable_in(DATA.split(b"\n"))
    whole = play(
        counted(read_transcript(DATA).turns, COUNT), Policy(threshold=700, recent=1), COUNT
    )
    found = kept(durable, whole)
    assert found.verbatim + found.by_hash == found.all
    assert whole.note is not None
    for kind in ("words", "edit", "todo"):
        items = tuple(item for item in whole.note.items if item.kind != kind)
        lost = Compacted(whole.pinned, Note(items), (), (), whole.originals)
        less = kept(durable, lost)
        assert less.verbatim + less.by_hash < found.all, kind
    assert kept(Durable(), whole) == Kept()


def test_transcripts_are_measured_and_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(transcripts, "THRESHOLD", 700)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.jsonl").write_bytes(DATA)
    out = tmp_path / "out.json"
    assert main(["transcripts", str(tmp_path / "in"), "--json", str(out)]) == 0
    rows = {r["what"].strip(): r for r in json.loads(out.read_text())["benchmarks"]["transcripts"]}
    assert rows["verbatim or by their own hash"]["value"] == 1
    assert rows["tokens sent over all requests"]["ratio"] < 0.8
    assert rows["sent again between compactions, least"]["value"] > 0.99
    assert "durable things" in capsys.readouterr().out


def test_a_directory_without_transcripts_is_named(tmp_path, capsys):
    assert main(["transcripts", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path}: holds no JSONL file\n"


def test_a_dialogue_is_asked_by_question_and_by_recency(tmp_path):
    filler = [
        {"speaker": "Ann", "dia_id": f"D2:{n}", "text": f"We talked of the weather, day {n}. " * 9}
        for n in range(1, 90)
    ]
    talk = {
        "conversation": {
            "session_1_date_time": "3 May",
            "session_1": [
                {"speaker": "Ben", "dia_id": "D1:1", "text": "I adopted kittens. " * 40},
                {"speaker": "Ann", "dia_id": "D1:2", "text": "Lovely!", "blip_caption": "a cat"},
            ],
            "session_2_date_time": "9 May",
            "session_2": filler,
        },
        "qa": [
            {"question": "Who adopted kittens?", "evidence": ["D1:1"], "category": 4},
            {"question": "What was day 89 like?", "evidence": ["D2:89"], "category": 1},
            {"question": "Nobody knows?", "evidence": [], "category": 5},
        ],
    }
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([talk]))
    rows = {row.what.strip(): row for row in locomo(file)}
    assert rows["questions"].value == 2
    assert rows["all evidence in 4,000 tokens, the latest turns"].value == 0.5
    assert rows["all evidence in 4,000 tokens, by question"].value == 1
