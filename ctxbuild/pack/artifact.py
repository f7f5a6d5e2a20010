"""The artifact as JSON: `NAME.pack.json` and `NAME.plan.json`, with lines joined at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ctxbuild.model import Block, Lines, OpenName, Outline, Pack, Plan, Reason, Rot, Slice, Verdict

PACK_SCHEMA = "ctxbuild.pack/1"
PLAN_SCHEMA = "ctxbuild.plan/1"

LinesOf = Callable[[str], tuple[Outline, Lines]]
"""Path to its outline and where its symbols, imports and references stand."""


def pack_json(pack: Pack, lines_of: LinesOf, questions: Iterable[tuple[str, str]] = ()) -> bytes:
    """The artifact: what the model reads, block by block, with provenance.

    Args:
        pack: the pack.
        lines_of: where things stand.
        questions: (layer, question) of what it answers.
    """
    questions = tuple(questions)
    places = _Places(lines_of)
    return _dump(
        {
            "schema": PACK_SCHEMA,
            "target": pack.target,
            "digest": pack.digest,
            "tokenizer": pack.tokenizer,
            "budget": pack.budget,
            "reserve": pack.reserve,
            "tokens": pack.tokens,
            "blocks": [_block(block, lines_of, places) for block in pack.blocks],
            "warnings": list(pack.warnings),
            **({"rot": [rot_data(rot) for rot in pack.rot]} if pack.rot else {}),
            **({"questions": dict(questions)} if questions else {}),
            "unresolved": [_open(name, lines_of) for name in pack.open_names],
        }
    )


def plan_json(plan: Plan, lines_of: LinesOf) -> bytes:
    """The plan: every candidate with its verdict, what it costs in each form, and why."""
    return _dump(
        {
            "schema": PLAN_SCHEMA,
            "target": plan.target,
            "budget": plan.budget,
            "reserve": plan.reserve,
            "tokens": plan.tokens,
            "candidates": [_verdict(verdict, lines_of) for verdict in plan.verdicts],
            "warnings": list(plan.warnings),
            "unresolved": [_open(name, lines_of) for name in plan.open_names],
            **({"layers": _records(plan)} if plan.records else {}),
            **({"schedule": [_slice(each) for each in plan.schedule]} if plan.schedule else {}),
        }
    )


def _records(plan: Plan) -> dict[str, Any]:
    import orjson

    return {layer: orjson.loads(text) for layer, text in plan.records}


def _slice(each: Slice) -> dict[str, Any]:
    return {
        "layer": each.layer,
        "position": each.position or None,
        "priority": each.priority,
        "budget": each.budget,
        "tokens": each.tokens,
        "pinned": each.pinned,
    }


def rot_data(rot: Rot) -> dict[str, Any]:
    """A sign of rot as plain data."""
    return {
        "kind": rot.kind,
        "message": rot.message,
        "units": list(rot.units),
        "value": rot.value,
        "limit": rot.limit,
    }


def place(lines_of: LinesOf, path: str, symbol: str) -> list[int] | None:
    """First and last line of a unit, None where it has none."""
    if not symbol:
        total = lines_of(path)[1].total
        return [1, total] if total else None
    return _places(*lines_of(path)).get(symbol)


def _places(outline: Outline, lines: Lines) -> dict[str, list[int]]:
    """Name to its first line and the last one of the last definition of it."""
    found: dict[str, list[int]] = {}
    for (name, _), spot in zip(outline.symbols, lines.symbols, strict=True):
        found.setdefault(name, [spot[0], 0])[1] = spot[1]
    return found


class _Places(dict[str, dict[str, list[int]]]):
    """Path to where its symbols stand: of most files several are shown."""

    def __init__(self, lines_of: LinesOf) -> None:
        self._lines_of = lines_of

    def __missing__(self, path: str) -> dict[str, list[int]]:
        self[path] = found = _places(*self._lines_of(path))
        return found


def anchor_line(lines_of: LinesOf, anchor: tuple[str, str, int] | None) -> int | None:
    """The line of an import or reference of a file."""
    if anchor is None:
        return None
    path, kind, ordinal = anchor
    lines = lines_of(path)[1]
    table = lines.imports if kind == "import" else lines.references
    return table[ordinal] if ordinal < len(table) else None


def reason_data(reason: Reason, lines_of: LinesOf) -> dict[str, Any]:
    """A reason as plain data, with the line that its anchor stands on."""
    data: dict[str, Any] = {"kind": reason.kind}
    if reason.unit:
        data["unit"] = reason.unit
    if reason.anchor:
        data["path"], data["line"] = reason.anchor[0], anchor_line(lines_of, reason.anchor)
    if reason.detail:
        data["detail"] = reason.detail
    return data


def _block(block: Block, lines_of: LinesOf, places: _Places) -> dict[str, Any]:
    return {
        "unit": block.unit,
        "path": block.path,
        "symbol": block.symbol or None,
        "lines": (
            list(block.lines)
            if block.lines
            else places[block.path].get(block.symbol)
            if block.symbol
            else place(lines_of, block.path, "")
        ),
        "form": block.form,
        "layer": block.layer,
        "section": block.section,
        "tokens": block.tokens,
        "digest": f"sha256:{block.digest}",
        "score": block.score,
        "reasons": _reasons(block.reasons, lines_of),
        "text": block.text,
    }


def _verdict(verdict: Verdict, lines_of: LinesOf) -> dict[str, Any]:
    return {
        "unit": verdict.unit,
        "layer": verdict.layer,
        "verdict": verdict.verdict,
        "form": verdict.form,
        "tokens": verdict.tokens,
        "costs": [{"form": form, "tokens": tokens} for form, tokens in verdict.costs],
        "score": verdict.score,
        "why": verdict.why or None,
        **({"detail": verdict.detail} if verdict.detail else {}),
        "reasons": _reasons(verdict.reasons, lines_of),
    }


def _reasons(reasons: Iterable[Reason], lines_of: LinesOf) -> list[dict[str, Any]]:
    return [reason_data(reason, lines_of) for reason in reasons]


def _open(name: OpenName, lines_of: LinesOf) -> dict[str, Any]:
    return {
        "name": name.name,
        "status": name.status,
        "candidates": name.count or None,
        "path": name.path,
        "line": anchor_line(lines_of, name.anchor),
    }


def _dump(data: dict[str, Any]) -> bytes:
    import orjson

    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
