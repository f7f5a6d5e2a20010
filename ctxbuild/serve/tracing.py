"""Where each item of a packet comes from, and how its section was found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ctxbuild.errors import UsageError
from ctxbuild.pack.render import PACKET_TITLES

if TYPE_CHECKING:
    from ctxbuild.serve.session import Session


@dataclass(frozen=True, slots=True)
class Reading:
    """How a layer read its documents.

    Attributes:
        policy: what decided: "rules", "model", "canon" or "everything".
        stopped: why the loop ended: "enough", "exhausted" or "steps"; "" without a loop.
        steps: of the loop, as the plan records them.
    """

    layer: str
    policy: str
    task: str
    profile: str
    stopped: str
    steps: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Traced:
    """One item of a packet, or a section or item that was left out.

    Attributes:
        unit: `path#slug@ordinals`; without ordinals for a section.
        section: the titles down to it.
        ordinal: as it is cited, "" for a section.
        lines: in the document, None where they are not known.
        part: the part of the packet that it stands in, "" where it stands in none.
        modality: "MUST", ..., or "".
        verdict: "kept", "trimmed" or "dropped".
        why: why it was left out, or "".
        found: how its section was found, in the policy's words.
        way: the steps of the loop that led to its section.
    """

    unit: str
    layer: str
    path: str
    section: str
    ordinal: str
    lines: tuple[int, int] | None
    part: str
    modality: str
    verdict: str
    why: str
    found: str
    tokens: int
    text: str
    way: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """A packet traced."""

    target: str
    tokens: int
    budget: int
    readings: tuple[Reading, ...]
    items: tuple[Traced, ...]


def trace(session: Session, target: str, item: str = "") -> Trace:
    """Where the items of a packet come from.

    Args:
        session: the project.
        target: with a `docs` layer.
        item: a unit, the end of one (`api-keys@7`), or words of the item; "" for all.

    Raises:
        UsageError: the target holds no packet, or no item is called that.
        CtxbuildError: the target cannot be built.
    """
    pack, plan, files = session.artifact(target)
    data = json.loads(files[f"{target}.pack.json"])
    planned = json.loads(files[f"{target}.plan.json"])
    readings = tuple(_readings(planned))
    items = list(_items(data, planned, readings))
    if not readings:
        raise UsageError(f"target {target!r} holds no packet", "give it a `docs` layer")
    if item:
        items = _called(items, item, target)
    else:
        places = {block["unit"]: place for place, block in enumerate(data["blocks"])}
        items = sorted((each for each in items if each.part), key=lambda e: places[e.unit])
    return Trace(target, pack.tokens, plan.budget, readings, tuple(items))


def _readings(planned: Mapping[str, Any]) -> Iterator[Reading]:
    for layer, record in planned.get("layers", {}).items():
        if isinstance(record, dict) and "profile" in record:
            yield Reading(
                layer,
                record["policy"],
                record["task"],
                record["profile"],
                record.get("stopped", ""),
                tuple(record.get("steps", ())),
            )


def _items(
    data: Mapping[str, Any], planned: Mapping[str, Any], readings: Sequence[Reading]
) -> Iterator[Traced]:
    layers = {reading.layer: reading for reading in readings}
    shown = {block["unit"]: block for block in data["blocks"]}
    found = {
        each["unit"]: _detail(each, "matches")
        for each in planned["candidates"]
        if each["layer"] in layers and "@" not in each["unit"]
    }
    titles = {
        block["unit"]: _titles(block)
        for block in data["blocks"]
        if block["section"] == "provenance"
    }
    for each in planned["candidates"]:
        if each["layer"] not in layers or (not each["why"] and "@" not in each["unit"]):
            continue  # a line of provenance
        unit = each["unit"]
        section, _, ordinal = unit.rpartition("@") if "@" in unit else (unit, "", "")
        block = shown.get(unit, {})
        lines = block.get("lines")
        why = each["why"] or ""
        yield Traced(
            unit=unit,
            layer=each["layer"],
            path=section.partition("#")[0],
            section=titles.get(section, ""),
            ordinal=ordinal,
            lines=(lines[0], lines[1]) if lines else None,
            part=PACKET_TITLES.get(block.get("section", ""), ""),
            modality=_modality(each),
            verdict=each["verdict"],
            why=f"{why}: {each['detail']}" if each.get("detail") else why,
            found=found.get(section, ""),
            tokens=each["tokens"],
            text=block.get("text", "").strip(),
            way=tuple(_way(layers[each["layer"]].steps, section)),
        )


def _titles(block: Mapping[str, Any]) -> str:
    return str(block["text"]).strip().partition(": ")[2]


def _detail(each: Mapping[str, Any], kind: str) -> str:
    return next((r.get("detail", "") for r in each["reasons"] if r["kind"] == kind), "")


def _modality(each: Mapping[str, Any]) -> str:
    levels = ("MUST NOT", "MUST", "SHOULD NOT", "SHOULD", "MAY")
    return next((r["detail"] for r in each["reasons"] if r.get("detail") in levels), "")


def _way(steps: Sequence[Mapping[str, Any]], section: str) -> Iterator[str]:
    """The steps that made a section visible and judged it, in their order."""
    parents = {child: step["read"] for step in steps for child in step.get("expand", ())}
    around = [section]
    while around[-1] in parents and len(around) <= len(parents):
        around.append(parents[around[-1]])
    for number, step in enumerate(steps, 1):
        read = step.get("read")
        if read == section and "analyze" in step:
            yield f"step {number}: {step['analyze']}"
        elif read in around and "expand" in step:
            yield f"step {number}: expanded {read}"
        elif section in step.get("resurface", ()):
            yield f"step {number}: resurfaced"


def _called(items: Sequence[Traced], name: str, target: str) -> list[Traced]:
    """The items that a name means: a unit, the end of one, or words of it."""
    exact = [each for each in items if each.unit == name or each.unit.rpartition("@")[0] == name]
    if exact:
        return exact
    ends = [
        each
        for each in items
        if each.unit.endswith((f"#{name}", f"/{name}")) or f"#{name}@" in each.unit
    ]
    if ends:
        return ends
    words = [each for each in items if name.lower() in each.text.lower()]
    if words:
        return words
    near = get_close_matches(name, [each.unit.partition("#")[2] for each in items], 1, 0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"`ctxbuild trace {target}` lists the items"
    raise UsageError(f"packet {target!r} has no item {name!r}", hint)
