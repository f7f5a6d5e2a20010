"""`memory` layers: findings and other notes of a Markdown file, read again at every build.

A finding whose file has another digest than when it was noted is marked, since
what was found may be gone. Findings are bought before other notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ctxbuild.facts.notes import Finding, Paragraph, read_notes
from ctxbuild.model import Candidate, Proposal, Reason, Rung
from ctxbuild.select.phases import ON_DEMAND
from ctxbuild.select.recollection import ranking, score_at
from ctxbuild.select.relevance import Passage, relevance
from ctxbuild.select.transcript_forms import short_digest
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Layer

STALE = "[STALE: the file changed since]"
GONE = "[STALE: the file is gone]"


class Files(Protocol):
    """What this layer asks."""

    def outside_digest(self, path: str) -> bytes:
        """The SHA-256 digest of a file anywhere, b"" if there is none."""

    def outside_bytes(self, path: str) -> bytes:
        """The content of a file anywhere, b"" if there is none."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A finding or a note with its text and its heading."""

    unit: str
    text: str
    line: int
    section: str
    heading: str = ""
    stale: bool = False


def propose(asker: Files, layer: Layer) -> Proposal:
    """The entries of a notes file, or those that bear on a question."""
    (path,) = layer.patterns
    data = asker.outside_bytes(path)
    if not data:
        why = "is empty" if asker.outside_digest(path) else "no such file"
        return Proposal(warnings=(f"{shown(path)}: {why}",))
    notes = read_notes(data)
    entries = [_finding(asker, path, finding) for finding in notes.findings]
    entries += [_note(path, paragraph) for paragraph in notes.paragraphs]
    entries = list({entry.unit: entry for entry in reversed(entries)}.values())[::-1]
    ranks = _ranks(entries, layer.option("about"))
    heads = _heads(layer.name, path, entries)
    found = [
        _candidate(layer, path, entry, ranks[at], heads.get(entry.heading))
        for at, entry in enumerate(entries)
        if at in ranks
    ]
    stale = [entry.unit for entry in entries if entry.stale]
    warnings = tuple(f"{shown(path)}: {problem.message}" for problem in notes.problems)
    record = {"notes": path, "findings": len(notes.findings), "stale": stale}
    return Proposal((*heads.values(), *found), warnings=warnings, record=record)


def _finding(asker: Files, path: str, finding: Finding) -> _Entry:
    mark = ""
    if finding.digest:
        now = asker.outside_digest(finding.path).hex()
        mark = "" if now.startswith(finding.digest) else f" {STALE if now else GONE}"
    unit = f"{path}#finding-{short_digest(finding.key)}"
    return _Entry(unit, f"- {finding.text}{mark}\n", finding.line, "findings", "", bool(mark))


def _note(path: str, paragraph: Paragraph) -> _Entry:
    text = paragraph.text.rstrip("\n") + "\n"
    if not text.lstrip().startswith(("-", "*", "+")):
        text = f"\n{text}\n"
    unit = f"{path}#note-{short_digest(paragraph.heading + chr(0) + paragraph.text)}"
    return _Entry(unit, text, paragraph.line, "notes", paragraph.heading)


def _ranks(entries: Sequence[_Entry], question: str | None) -> dict[int, int]:
    """Place of an entry to its rank; without a question findings first, then later notes first."""
    if not question:
        order = sorted(
            range(len(entries)),
            key=lambda at: (entries[at].section != "findings", -entries[at].line),
        )
    else:
        passages = [Passage(e.text, "", "", e.heading or e.section, len(e.text)) for e in entries]
        order = ranking(relevance(passages, question))
    return {at: rank for rank, at in enumerate(order)}


def _heads(layer: str, path: str, entries: Sequence[_Entry]) -> dict[str, Candidate]:
    heads: dict[str, Candidate] = {}
    for entry in entries:
        if entry.heading and entry.heading not in heads:
            heads[entry.heading] = Candidate(
                unit=f"{path}#heading-{short_digest(entry.heading)}",
                path=path,
                symbol=f"heading-{short_digest(entry.heading)}",
                layer=layer,
                section="notes",
                order=2 * entry.line - 1,
                ladder=(Rung("full", phase=ON_DEMAND, text=f"\n### {entry.heading}\n\n"),),
                score=0.0,
                reasons=(Reason("heading"),),
                language="",
                lines=(entry.line, entry.line),
            )
    return heads


def _candidate(
    layer: Layer, path: str, entry: _Entry, rank: int, head: Candidate | None
) -> Candidate:
    reasons = [Reason("about", detail=str(rank + 1)) if layer.option("about") else Reason("noted")]
    if entry.stale:
        reasons.append(Reason("stale"))
    rows = entry.text.rstrip("\n").count("\n")
    order = 2 * entry.line
    return Candidate(
        unit=entry.unit,
        path=path,
        symbol=entry.unit.rpartition("#")[2],
        layer=layer.name,
        section=entry.section,
        # All entries of a heading stand under it, wherever the file takes it up again.
        order=order if head is None else max(order, head.order + 1),
        ladder=(Rung("full", phase=min(rank, ON_DEMAND - 1), text=entry.text),),
        score=score_at(rank),
        reasons=tuple(reasons),
        pinned=layer.pin,
        parent="" if head is None else head.unit,
        language="",
        lines=(entry.line, entry.line + rows),
    )
