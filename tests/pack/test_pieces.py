"""A transcript in pieces: what is appended changes only the last, and nothing is lost between."""

from __future__ import annotations

import io

import pytest

from ctxbuild.errors import SourceChanged
from ctxbuild.facts.transcript import Joiner, Joining, read_transcript
from ctxbuild.pack import pieces as pieces_module
from ctxbuild.pack.compaction import Policy, counted, play
from ctxbuild.pack.compaction_facts import RULES
from ctxbuild.pack.pieces import entries_in, pieces_of
from ctxbuild.pack.session_steps import START, finished, step, talked
from tests import talks

DATA = talks.claude_code(talks.STORY * 4)
POLICY = Policy(threshold=700, recent=2)


def count(texts):
    return [len(text) // 4 for text in texts]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(pieces_module, "_PIECE", 700)
    monkeypatch.setattr(pieces_module, "_BLOCK", 256)


def entries(data, piece, problems=None):
    return entries_in(io.BytesIO(data), piece, "s.jsonl", [] if problems is None else problems, {})


def test_pieces_end_at_line_feeds_and_make_up_the_file():
    pieces = pieces_of(io.BytesIO(DATA))
    assert len(pieces) > 5
    parts = [DATA[p.offset : p.offset + p.length] for p in pieces]
    assert b"".join(parts) == DATA
    assert all(part.endswith(b"\n") for part in parts)
    assert [p.line for p in pieces] == [1 + DATA[: p.offset].count(b"\n") for p in pieces]


def test_what_is_appended_changes_only_the_last_piece():
    before = pieces_of(io.BytesIO(DATA[:-50]))
    after = pieces_of(io.BytesIO(DATA + talks.claude_code()))
    assert before[:-1] == after[: len(before) - 1]


def test_turn_by_piece_is_turn_by_file():
    joining, turns = Joining(), []
    for piece in pieces_of(io.BytesIO(DATA)):
        some, joining = talked(joining, entries(DATA, piece))
        turns += some
    turns += Joiner(joining).finish()
    assert tuple(turns) == read_transcript(DATA).turns


def test_a_session_by_piece_stands_where_it_stands_by_file():
    now = START
    for piece in pieces_of(io.BytesIO(DATA)):
        formats: dict[str, int] = {}
        found = entries_in(io.BytesIO(DATA), piece, "s.jsonl", [], formats)
        now = step(now, found, [], formats, POLICY, count, RULES)
    whole = play(counted(read_transcript(DATA).turns, count), POLICY, count)
    by_piece = finished(now, POLICY, count, RULES)
    assert by_piece.text == whole.text
    assert (by_piece.dropped, by_piece.last) == (whole.dropped, whole.last)
    assert len(whole.dropped) > 2
    assert dict(now.formats) == {"claude-code": DATA.count(b"\n")}


def test_a_document_is_one_piece():
    data = (
        b'[\n{"role": "user", "content": "a"},\n{"role": "assistant", "content": "b"}]' + b" " * 900
    )
    (piece,) = pieces_of(io.BytesIO(data))
    assert piece.document
    assert [entry.role for entry in entries(data, piece)] == ["user", "assistant"]


def test_a_piece_that_is_no_longer_what_it_was_is_noticed():
    changed = DATA.replace(b"callers", b"Callers", 1)
    at = DATA.index(b"callers")
    (piece,) = (
        each
        for each in pieces_of(io.BytesIO(DATA))
        if each.offset <= at < each.offset + each.length
    )
    assert list(entries(DATA, piece))
    with pytest.raises(SourceChanged):
        list(entries(changed, piece))


def test_an_empty_file_has_no_pieces():
    assert pieces_of(io.BytesIO(b"")) == []
