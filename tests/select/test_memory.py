"""Candidates of `memory` layers, and of layers about a question."""

from __future__ import annotations

from hashlib import sha256

from ctxbuild.facts.transcript import Record, Turn
from ctxbuild.model import Refusal
from ctxbuild.select.memory import GONE, STALE, propose
from ctxbuild.select.phases import ON_DEMAND
from ctxbuild.select.recollection import about, ranking, score_at
from ctxbuild.source.ctxfile import parse


class Files:
    """Files in memory."""

    def __init__(self, **files):
        self.files = {name.replace("_", "."): text.encode() for name, text in files.items()}

    def outside_bytes(self, path):
        return self.files.get(path, b"")

    def outside_digest(self, path):
        return sha256(self.files[path]).digest() if path in self.files else b""


def layer(more=""):
    text = f'version = 1\n[targets.t]\nmemory = "n.md"\n{more}\n'
    return parse(text).targets[0].layers[0]


def texts(proposal):
    """Text per candidate, in the order in which they are read."""
    ordered = sorted(proposal.candidates, key=lambda c: (c.section, c.order))
    return [candidate.ladder[-1].text for candidate in ordered]


NOTES = f"""- a.py: found one <!-- sha256:{sha256(b"x").hexdigest()[:16]} -->
- b.py: found two <!-- sha256:{sha256(b"x").hexdigest()[:16]} -->
- c.py: found three <!-- sha256:{sha256(b"x").hexdigest()[:16]} -->
- d.py: found four

## Later

Words.
"""


def test_findings_are_compared_with_their_files():
    proposal = propose(Files(n_md=NOTES, a_py="x", b_py="y"), layer())
    assert texts(proposal) == [
        "- a.py: found one\n",
        f"- b.py: found two {STALE}\n",
        f"- c.py: found three {GONE}\n",
        "- d.py: found four\n",
        "\n### Later\n\n",
        "\nWords.\n\n",
    ]
    assert proposal.record is not None
    assert len(proposal.record["stale"]) == 2
    marked = [c for c in proposal.candidates if any(r.kind == "stale" for r in c.reasons)]
    assert [c.unit for c in marked] == proposal.record["stale"]


def test_findings_are_bought_before_other_notes_and_headings_only_with_them():
    proposal = propose(Files(n_md=NOTES), layer())
    phases = {c.section + c.parent: c.ladder[0].phase for c in proposal.candidates}
    assert max(p for s, p in phases.items() if s == "findings") < phases["notes" + _head(proposal)]
    assert phases["notes"] == ON_DEMAND


def _head(proposal):
    return next(c.unit for c in proposal.candidates if "#heading" in c.unit)


def test_a_pinned_layer_pins_its_entries_and_not_its_headings():
    proposal = propose(Files(n_md=NOTES), layer()._replace(pin=True))
    assert {c.pinned for c in proposal.candidates if "#heading" not in c.unit} == {True}


def test_an_empty_and_a_missing_file_are_told_apart():
    assert propose(Files(), layer()).warnings == ("n.md: no such file",)
    assert propose(Files(n_md=""), layer()).warnings == ("n.md: is empty",)


def test_a_note_that_stands_twice_is_shown_once():
    proposal = propose(Files(n_md="Same words.\n\nSame words.\n"), layer())
    assert texts(proposal) == ["\nSame words.\n\n"]


def said(number, speaker, text, time=""):
    return Turn(number, "user", (Record("text", text),), speaker, time, (number,))


def test_turns_about_a_question_come_best_first_and_stand_in_their_order():
    turns = [
        said(1, "Ann", "I baked bread.", "1 May"),
        said(2, "Ben", "Which kind?", "1 May"),
        said(3, "Ann", "Trains are late.", "2 May"),
    ]
    proposal = about("l", "t.jsonl", turns, "What did Ann bake?")
    assert [(c.unit, c.ladder[0].phase) for c in proposal.candidates[1:]] == [
        ("t.jsonl#turn-1", 0),
        ("t.jsonl#turn-2", 1),
    ]
    assert texts(proposal) == [
        "\n#### 1 May\n\n",
        "- Ann: I baked bread.\n",
        "- Ben: Which kind?\n",
    ]
    assert proposal.refused == (Refusal("t.jsonl#turn-3", "not-relevant"),)


def test_where_nothing_bears_on_a_question_the_latest_come_first():
    assert ranking([0.0, 0.0, 0.0]) == [2, 1, 0]
    assert ranking([0.5, 0.0, 0.5]) == [2, 0]
    assert ranking([]) == []


def test_a_score_is_told_by_rank_alone():
    assert [score_at(rank) for rank in (0, 10, 900)] == [1.0, 0.5, 0.01]
