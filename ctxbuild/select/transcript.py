"""`transcript` layers: a session with its old turns compacted, or its turns about a question.

The forms of turns are decided when the session is compacted and stay until it is
compacted again, so that a turn more changes nothing above it. The ladders below
those forms are for budgets that are smaller than the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ctxbuild.facts.transcript import Turn
from ctxbuild.model import Candidate, Problem, Proposal, Reason, Refusal, Rung
from ctxbuild.select.transcript_forms import Form, lines_of, render
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Layer


class Standing(Protocol):
    """A turn that stands, in a form."""

    @property
    def turn(self) -> Turn:
        """The turn."""

    @property
    def form(self) -> Form:
        """The form it was given."""

    @property
    def gone(self) -> frozenset[str]:
        """Calls whose results are left out."""


class Folded(Protocol):
    """Turns that became part of the note."""

    first: int
    last: int
    tokens: int
    hash: str


class Sessions(Protocol):
    """What this layer asks."""

    def session(
        self, path: str, threshold: int, recent: int, how: str
    ) -> tuple[Any, tuple[Problem, ...]]:
        """A transcript compacted (see `pack/compaction.Compacted`), and what is wrong with it."""

    def talk(self, path: str) -> tuple[Turn, ...]:
        """All turns of a transcript."""

    def outside_digest(self, path: str) -> bytes:
        """The SHA-256 digest of a file anywhere, b"" if there is none."""


_SHARE = 0.8
"""The part of a layer's budget at which its turns are compacted at the latest."""

_MOST_NAMED = 2_000
"""Turns up to which each that was compacted has a verdict of its own."""

_FORMS: dict[Form, Any] = {"line": "skeleton", "slice": "slice", "full": "full"}
"""A turn's line keeps its place among the turns, which forms that are lists would not."""


def propose(asker: Sessions, layer: Layer) -> Proposal:
    """What stands of a session: system text and task, the note, the turns behind it."""
    (path,) = layer.patterns
    if layer.option("about"):
        from ctxbuild.select.recollection import of_transcript

        return of_transcript(asker, layer, path)
    threshold = threshold_of(layer)
    recent = layer.option("recent")
    standing, problems = asker.session(path, threshold, recent, layer.option("compaction"))
    warnings = [f"{shown(path)}: {problem.message}" for problem in problems]
    if not standing.before:
        from ctxbuild.select.recollection import says_nothing

        warnings.append(says_nothing(asker, path))
    candidates = [_pinned(layer.name, path, each) for each in standing.pinned]
    if standing.note:
        candidates.append(_note(layer.name, path, standing.note.text))
    total = len(standing.recent)
    for place, each in enumerate(standing.recent):
        age = total - place
        candidates.append(_turn(layer, path, each, age <= recent, place / total))
    return Proposal(
        tuple(candidates),
        warnings=(*warnings, *standing.warnings),
        refused=_folded(path, standing),
        record=_record(path, threshold, standing),
    )


def threshold_of(layer: Layer) -> int:
    """Tokens at which the layer's turns are compacted."""
    threshold: int = layer.option("threshold")
    return threshold if layer.budget is None else min(threshold, int(layer.budget * _SHARE))


def _pinned(layer: str, path: str, each: Standing) -> Candidate:
    turn = each.turn
    rung = Rung("full", text=render(turn, "full"))
    kind = "system" if turn.role == "system" else "task"
    return _candidate(layer, path, turn, "task", (rung,), Reason(kind), pinned=True)


def _note(layer: str, path: str, text: str) -> Candidate:
    return Candidate(
        unit=f"{path}#note",
        path=path,
        symbol="note",
        layer=layer,
        section="note",
        order=0,
        ladder=(Rung("full", text=text),),
        score=1.0,
        reasons=(Reason("compacted"),),
        pinned=True,
        language="",
        lines=(0, 0),
    )


def _turn(layer: Layer, path: str, each: Standing, late: bool, share: float) -> Candidate:
    """A turn behind the note; late ones keep their form longest."""
    forms: tuple[Form, ...] = ("line", "slice", "full")
    forms = forms[: forms.index(each.form) + 1]
    rungs = tuple(
        Rung(_FORMS[form], phase=_phase(place, late=late), worth=place + 1 + share, text=text)
        for place, form in enumerate(forms)
        for text in (render(each.turn, form, each.gone),)
    )
    reason = Reason("recent" if late else "since-compaction")
    return _candidate(layer.name, path, each.turn, "turns", rungs, reason, layer.pin)


def _phase(rung: int, *, late: bool) -> int:
    return rung if late or not rung else rung + 2


def _candidate(
    layer: str,
    path: str,
    turn: Turn,
    section: str,
    ladder: tuple[Rung, ...],
    reason: Reason,
    pinned: bool = False,
    score: float = 1.0,
) -> Candidate:
    return Candidate(
        unit=f"{path}#turn-{turn.number}",
        path=path,
        symbol=f"turn-{turn.number}",
        layer=layer,
        section=section,
        order=turn.number,
        ladder=ladder,
        score=score,
        reasons=(reason,),
        pinned=pinned,
        language="",
        lines=lines_of(turn),
    )


def _folded(path: str, standing: Any) -> tuple[Refusal, ...]:
    """The turns that became part of the note; a long session's only as ranges."""
    dropped: Sequence[Folded] = standing.dropped
    if sum(each.last - each.first + 1 for each in dropped) > _MOST_NAMED:
        return tuple(
            Refusal(f"{path}#turn-{each.first}..{each.last}", "compacted", detail=each.hash)
            for each in dropped
        )
    pinned = {each.turn.number for each in standing.pinned}
    return tuple(
        Refusal(f"{path}#turn-{number}", "compacted", detail=each.hash)
        for each in dropped
        for number in range(each.first, each.last + 1)
        if number not in pinned
    )


def _record(path: str, threshold: int, standing: Any) -> dict[str, Any]:
    dropped: Sequence[Folded] = standing.dropped
    return {
        "transcript": path,
        "threshold": threshold,
        "last": standing.last,
        "before": standing.before,
        "after": standing.after,
        "dropped": [
            {"first": each.first, "last": each.last, "tokens": each.tokens, "hash": each.hash}
            for each in dropped
        ],
    }
