"""What of a long talk or a notes file bears on a question, best first, shown in its own order."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from ctxbuild.facts.transcript import Turn
from ctxbuild.model import Candidate, Proposal, Reason, Refusal, Rung
from ctxbuild.select.phases import ON_DEMAND
from ctxbuild.select.relevance import Passage, relevance
from ctxbuild.select.transcript_forms import lines_of, render
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Layer

_MOST = 900
"""Passages that are offered: each has a phase of its own, below `ON_DEMAND`."""


class Talks(Protocol):
    """What is asked here."""

    def talk(self, path: str) -> tuple[Turn, ...]:
        """All turns of a transcript."""

    def outside_digest(self, path: str) -> bytes:
        """The SHA-256 digest of a file anywhere, b"" if there is none."""


def of_transcript(asker: Talks, layer: Layer, path: str) -> Proposal:
    """The turns of a transcript that bear on a question."""
    turns = asker.talk(path)
    proposal = about(layer.name, path, turns, layer.option("about"), pinned=layer.pin)
    if turns:
        return proposal
    return Proposal(warnings=(says_nothing(asker, path),))


def says_nothing(asker: Talks, path: str) -> str:
    """Why nothing was read of a transcript."""
    there = asker.outside_digest(path)
    return f"{shown(path)}: {'holds no turn that can be read' if there else 'no such file'}"


def about(
    layer: str, path: str, turns: Sequence[Turn], question: str, *, pinned: bool = False
) -> Proposal:
    """Turns as candidates, each bought before those that bear less on the question.

    Args:
        layer: its name.
        path: of the transcript.
        turns: all of them.
        question: what they should bear on.
        pinned: those that do are neither shortened nor dropped.
    """
    texts = [_text(turn) for turn in turns]
    passages = [
        Passage(_said(turn, text), turn.speaker, turn.time, _day(turn), max(1, len(text) // 4))
        for turn, text in zip(turns, texts, strict=True)
    ]
    ranked = ranking(relevance(passages, question))
    heads: dict[str, Candidate] = {}
    found: list[Candidate] = []
    for rank, at in enumerate(ranked[:_MOST]):
        turn = turns[at]
        day = _day(turn)
        if day and day not in heads:
            heads[day] = _head(layer, path, day, min(t.number for t in turns if _day(t) == day))
        parent = heads[day].unit if day else ""
        found.append(_candidate(layer, path, turn, texts[at], rank, parent, pinned=pinned))
    refused = tuple(
        Refusal(f"{path}#turn-{turns[at].number}", "not-relevant")
        for at in sorted({*range(len(turns))} - {*ranked[:_MOST]})
    )
    return Proposal((*heads.values(), *found), refused=refused, record={"about": question})


def ranking(scores: Sequence[float]) -> list[int]:
    """Places by falling score, later ones first among equals; those with nothing are left out.

    Where nothing bears on the question at all, everything is left in: the latest first.
    """
    able = [at for at, score in enumerate(scores) if score > 0] or list(range(len(scores)))
    return sorted(able, key=lambda at: (-scores[at], -at))


def score_at(rank: int) -> float:
    """A candidate's score by its rank: no raw number enters a plan."""
    return round(1 / (1 + rank / 10), 2)


def _text(turn: Turn) -> str:
    """A turn as it is shown: what people say in one list entry, an agent's turn shortened."""
    if all(record.kind in {"text", "image"} for record in turn.records) and turn.speaker:
        said = " ".join(" ".join(record.text.split()) for record in turn.records)
        return f"- {turn.speaker}: {said}\n"
    return render(turn, "slice")


def _said(turn: Turn, text: str) -> str:
    """What a turn is searched by: its words, without who says them."""
    return text.removeprefix(f"- {turn.speaker}: ") if turn.speaker else text


def _day(turn: Turn) -> str:
    """What stands once above turns of people: when they spoke."""
    return turn.time if turn.speaker else ""


def _head(layer: str, path: str, day: str, number: int) -> Candidate:
    unit = f"{path}#at-{sha256(day.encode('utf-8', 'replace')).hexdigest()[:12]}"
    rung = Rung("full", phase=ON_DEMAND, text=f"\n#### {shown(day)}\n\n")
    return Candidate(
        unit=unit,
        path=path,
        symbol=unit.rpartition("#")[2],
        layer=layer,
        section="turns",
        order=2 * number,
        ladder=(rung,),
        score=0.0,
        reasons=(Reason("heading"),),
        language="",
        lines=(0, 0),
    )


def _candidate(
    layer: str, path: str, turn: Turn, text: str, rank: int, parent: str, *, pinned: bool
) -> Candidate:
    phase = rank % ON_DEMAND
    ladder: tuple[Rung, ...] = (Rung("full" if turn.speaker else "slice", phase=phase, text=text),)
    if not text.startswith("- "):
        line = Rung("skeleton", phase=phase, worth=0.5, text=render(turn, "line"))
        ladder = (line, *ladder)
    return Candidate(
        unit=f"{path}#turn-{turn.number}",
        path=path,
        symbol=f"turn-{turn.number}",
        layer=layer,
        section="turns",
        order=2 * turn.number + 1,
        ladder=ladder,
        score=score_at(rank),
        reasons=(Reason("about", detail=str(rank + 1)),),
        pinned=pinned,
        parent=parent,
        language="",
        lines=lines_of(turn),
    )
