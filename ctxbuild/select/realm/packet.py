"""Chosen sections to the candidates of a packet: what binds first, each under its section.

Every entry stands under the short id of its section, and that id is explained in
the list of provenance: the line there is bought with the first entry that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ctxbuild.facts.document import RANKS, Section
from ctxbuild.model import Candidate, Reason, Rung
from ctxbuild.select.phases import ON_DEMAND
from ctxbuild.select.realm.entries import Entry

SECTIONS = {
    "constraint": "constraints",
    "fact": "facts",
    "procedure": "procedures",
    "definition": "definitions",
    "example": "examples",
    "formatting": "formatting",
}
"""Kind of item to its section of a packet."""

PROVENANCE = "provenance"

_WORTH = {"constraint": 12.0, "formatting": 10.0, "procedure": 10.0, "definition": 9.0}
_FACT = 8.0
_FIRST_ORDINAL = 10_000
"""Places of entries inside a section's place in the order."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A section of which something is to be shown.

    Attributes:
        part: the part of a profile that it belongs to, or "".
        titles: down to the section, joined by " > ", the title of the whole document left out.
        place: of the section among all sections of the layer.
        score: 0 to 1.
        why: the policy's words.
        ordinals: of the items that are wanted; None for all.
        entries: what they make, in the section's order; put together last.
    """

    path: str
    section: Section
    titles: str
    place: int
    score: float
    why: str
    part: str = ""
    ordinals: frozenset[int] | None = None
    entries: tuple[Entry, ...] = ()

    @property
    def unit(self) -> str:
        """The section's unit."""
        return f"{self.path}#{self.section.slug}"


@dataclass(frozen=True, slots=True)
class Placing:
    """Where an entry stands and when it is bought.

    Attributes:
        section: of the packet.
        phase: lower ones are bought first.
        worth: beside others of its phase.
    """

    section: str
    phase: int
    worth: float


def placing(entry: Entry, score: float) -> Placing:
    """By kind: what binds first; inside a phase by worth, which grows with the score."""
    worth = _WORTH.get(entry.kind, _FACT) * max(0.1, score)
    rank = RANKS[entry.modality] if entry.kind in {"constraint", "formatting"} else RANKS[""]
    phase = 0 if rank <= RANKS["MUST"] else 1 if rank <= RANKS["SHOULD"] else 2
    return Placing(SECTIONS[entry.kind], phase, worth)


def candidates(
    layer: str,
    chosen: Sequence[Chosen],
    ids: Mapping[str, str],
    place: Callable[[Chosen, Entry], Placing],
    *,
    pinned: bool = False,
) -> Iterator[Candidate]:
    """A candidate per entry, and one per section for its line of provenance.

    Args:
        ids: unit of a section to its short id.
        place: where an entry of a section stands.
    """
    for each in chosen:
        if not each.entries:
            continue
        id_ = ids[each.unit]
        for entry in each.entries:
            yield _candidate(layer, each, entry, id_, place(each, entry), pinned=pinned)
        yield Candidate(
            unit=each.unit,
            path=each.path,
            symbol=each.path,
            layer=layer,
            section=PROVENANCE,
            order=each.place,
            ladder=(Rung("full", phase=ON_DEMAND, text=source_line(id_, each.titles)),),
            score=each.score,
            reasons=(Reason("matches", detail=each.why),) if each.why else (),
        )


def _candidate(
    layer: str, each: Chosen, entry: Entry, id_: str, where: Placing, *, pinned: bool
) -> Candidate:
    unit = f"{each.unit}@{entry.label}"
    return Candidate(
        unit=unit,
        path=each.path,
        symbol=id_,
        layer=layer,
        section=where.section,
        order=each.place * _FIRST_ORDINAL + min(entry.first, _FIRST_ORDINAL - 1),
        ladder=(Rung("full", phase=where.phase, worth=where.worth, text=entry.rendered),),
        score=each.score,
        reasons=(Reason(entry.kind, unit=each.unit, detail=entry.modality),),
        pinned=pinned,
        parent=each.unit,
    )


def source_line(id_: str, titles: str) -> str:
    """What a short id stands for, below the path of its document."""
    return f"- {id_}: {titles}\n" if titles else f"- {id_}\n"


def rough_tokens(candidates_: Iterable[Candidate]) -> int:
    """A number of tokens that the candidates will not exceed by much, from their lengths."""
    return sum(len(rung.text or "") // 3 + 8 for c in candidates_ for rung in c.ladder[-1:])
