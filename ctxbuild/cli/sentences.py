"""Reasons, absences and causes as sentences."""

from __future__ import annotations

from ctxbuild.serve.why import Absence, Because, Finding, Step
from ctxbuild.source.paths import shown

_REASONS = {
    "entry": "it is the entry {detail!r}",
    "listed": "listed by {detail!r}",
    "call": "called by {unit}",
    "read": "used by {unit}",
    "base": "a base class in {unit}",
    "decorator": "a decorator in {unit}",
    "annotation": "a type in {unit}",
    "guard": "tested for by {unit}",
    "write": "assigned by {unit}",
    "part": "on the way of a longer name in {unit}",
    "override": "overridden in {unit}",
    "import": "imported by {unit}",
    "by-name": "the one definition of a name that {unit} uses, by its name alone",
    "ambiguous": "one of {detail} definitions of a name that {unit} uses",
    "around": "stands in {unit} beside what is in focus",
    "uses": "uses {unit}",
    "member": "a member of {unit}, which the entry uses",
    "encloses": "stands above a member that is shown",
    "named-by": "named in the signature of {unit}",
    "holds": "holds a definition that {unit} uses",
    "open": "names that {unit} uses and nothing explains: {detail}",
    "dynamic": "{unit} runs dynamic code: {detail}",
    "imported": "imported by {unit}, {detail} from the entry",
    "system": "system text of the session",
    "task": "the task: what the user says first",
    "compacted": "what old turns of the session became",
    "recent": "one of the last turns",
    "since-compaction": "said since the session was compacted",
    "about": "bears on the question, at rank {detail}",
    "noted": "stands in the notes",
    "stale": "its file changed since it was noted",
    "heading": "stands above what is shown",
    "matches": "its section matches {detail}",
    "constraint": "a rule of {unit}",
    "fact": "a fact of {unit}",
    "procedure": "steps of {unit}",
    "definition": "a definition of {unit}",
    "example": "an example of {unit}",
    "formatting": "how something is written, in {unit}",
    "who": "about people, in {unit}",
    "knows": "who knows what, in {unit}",
    "reveals": "a secret, in {unit}",
    "timeline": "what happens when, in {unit}",
    "promises": "a promise, in {unit}",
    "voice": "about voice, in {unit}",
    "watch": "a name or a place, in {unit}",
    "notes": "a note, in {unit}",
}
_WHYS = {
    "budget": "the budget was spent on what matters more",
    "layer-budget": "the layer's budget was spent on what matters more",
    "section-share": "the share of its section was spent on what matters more",
    "no-member": "no member of it is shown",
    "not-named": "nothing that is shown names it",
    "duplicate": "another layer shows it",
    "compacted": "it became part of the note on old turns",
    "overruled": "a higher rule says the opposite",
    "superseded": "a newer section replaces its own",
    "later": "it happens after the scene's chapter",
    "not-relevant": "it does not bear on the question",
}


def reason_sentence(reason: Because) -> str:
    """Why something is a candidate, with the place that says so."""
    unit, detail = shown(reason.unit), shown(reason.detail)
    kind, _, how = reason.kind.partition("imported-")
    pattern = _REASONS["imported"] if how else _REASONS.get(reason.kind, "{kind} {unit} {detail}")
    if pattern is _REASONS["imported"]:
        detail = "1 step" if detail == "1" else f"{detail} steps"
    place = _place(reason.path, reason.line)
    if place and reason.unit == reason.path:
        unit, place = place, ""
    text = pattern.format(kind=kind, unit=unit, detail=detail).strip()
    text += f" ({how})" if how else ""
    return f"{text}, at {place}" if place else text


def why_sentence(finding: Finding) -> str:
    """Why a candidate is trimmed or dropped, or ""."""
    return _WHYS.get(finding.why, finding.why)


def step_sentence(step: Step) -> str:
    """One step on the way from an entry."""
    verb = "imports" if step.kind == "import" else "uses"
    return f"{_place(step.path, step.line)} {verb} {shown(step.unit)}"


def absence_sentence(unit: str, absence: Absence, target: str) -> str:
    """Why a unit is no candidate."""
    unit, detail = shown(unit), shown(absence.detail)
    text = {
        "left-out": f"{unit} is left out of the sources: {detail}",
        "no-file": f"{unit}: no such file",
        "no-symbol": f"{unit}: {detail} has no such symbol",
        "inside": f"{unit} is no candidate of its own: {detail} is one as a whole",
        "not-used": f"{unit} is no candidate: its file is reached, but {detail} does not use it",
        "not-reached": f"{unit} is no candidate: it is not reached from {detail}",
        "not-listed": f"{unit} is no candidate: no layer of {target} lists it",
    }[absence.kind]
    if absence.near:
        near = [shown(each) for each in absence.near]
        text += f"; did you mean {' or '.join(near)}?"
    return text


def _place(path: str, line: int | None) -> str:
    if not path:
        return ""
    return shown(path) if line is None else f"{shown(path)}:{line}"
