"""`question` layers: a question to the few units that answer it, each with its provenance.

The search ranks units (`retrieval/`); those over a limit are cut to their relevant
parts; noise is taken out; what is left is proposed with a ladder of forms, the best
first, so that the budget buys whole definitions over several files and signatures
of what comes after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ctxbuild.model import Candidate, Proposal, Reason, Refusal, Rung
from ctxbuild.select.phases import FIRST_LINE, ON_DEMAND
from ctxbuild.select.retrieval.denoise import Settings
from ctxbuild.select.retrieval.model import Evidence, Found, Hit, score_of
from ctxbuild.select.retrieval.stages import Stages

if TYPE_CHECKING:
    from ctxbuild.select.retrieval.model import QuestionView
    from ctxbuild.source.ctxfile import Layer

SECTION = "found"
STAGES = Stages()


def propose(view: QuestionView, layer: Layer, stages: Stages = STAGES) -> Proposal:
    """What a question layer proposes.

    Args:
        view: the repository.
        layer: the layer; its one pattern is the question.
        stages: the stages, each of which may be another function of the same shape.
    """
    most, vectors = layer.option("candidates"), layer.option("vectors")
    found = stages.search(view, layer.patterns[0], most, vectors)
    evidence = _evidence(view, found, layer.option("slice-over"), stages)
    settings = Settings(
        layer.option("least-score"),
        layer.option("cap"),
        layer.option("per-file"),
        layer.patterns[0],
    )
    kept = stages.denoise(evidence, settings)
    shown, contained = _without_parts(kept.kept)
    candidates = [_candidate(layer, each) for each in shown]
    return Proposal(
        candidates=(*candidates, *_classes(view, layer, candidates)),
        warnings=tuple(f"layer {layer.name!r}: {each}" for each in found.warnings),
        refused=(*kept.refused, *contained),
        record={"question": layer.patterns[0], "planner": _record(found)},
    )


def _evidence(view: QuestionView, found: Found, limit: int, stages: Stages) -> list[Evidence]:
    """Every hit with the text that would be shown of it."""
    texts = [_text(view, hit) for hit in found.hits]
    counts = view.count(texts)
    evidence = []
    for hit, text, tokens in zip(found.hits, texts, counts, strict=True):
        if not text.strip():
            continue
        cut = None
        most = min(limit, _MODULE_TOKENS) if hit.kind == "module" else limit
        if tokens > most and hit.kind != "class":
            cut = stages.cut(view, hit, found.hints, most)
        evidence.append(Evidence(hit, text, tokens, cut))
    return evidence


def _text(view: QuestionView, hit: Hit) -> str:
    if hit.kind in ("function", "class"):
        return view.body(hit.path, hit.symbol)
    if hit.kind == "module":
        return view.rest(hit.path)
    rows = view.text(hit.path).split("\n")
    first, last = hit.lines or (1, len(rows))
    return "\n".join(rows[first - 1 : last]) + "\n"


def _candidate(layer: Layer, each: Evidence) -> Candidate:
    hit = each.hit
    return Candidate(
        unit=hit.unit,
        path=hit.path,
        symbol=hit.symbol,
        layer=layer.name,
        section=SECTION,
        order=hit.order,
        ladder=_ladder(each),
        score=score_of(hit.rank),
        reasons=_reasons(hit),
        pinned=layer.pin,
        parent=_parent(hit),
        lines=_lines(each),
    )


def _lines(each: Evidence) -> tuple[int, int] | None:
    """First and last line of a cut, or of what is no definition; a whole one says its own."""
    if each.cut is None:
        return each.hit.lines
    return each.cut.lines[0][0], each.cut.lines[-1][1]


def _ladder(each: Evidence) -> tuple[Rung, ...]:
    """The forms of a hit: whole (or cut) in the order of ranks, what is left as its signature."""
    hit = each.hit
    tokens = each.cut.tokens if each.cut else each.tokens
    worth = _worth(hit, tokens)
    if hit.kind == "function":
        least = Rung("skeleton", "none", FIRST_LINE, _LEAST * worth)
        if not each.cut:
            return (least, Rung("full", phase=FIRST_LINE, worth=worth))
        cut = Rung("slice", phase=FIRST_LINE, worth=worth, text=each.cut.text)
        if not _may_be_whole(each):
            return (least, cut)
        more = _WHOLE * _worth(hit, each.tokens - tokens)
        return (least, cut, Rung("full", phase=FIRST_LINE, worth=worth + more))
    if hit.kind == "class":
        if _is_small(each):
            return (Rung("full", phase=FIRST_LINE, worth=worth),)
        return (Rung("skeleton", "first", FIRST_LINE, _worth(hit, _HEADER_TOKENS)),)
    text = each.cut.text if each.cut else each.text
    return (Rung("slice", phase=FIRST_LINE, worth=_OTHER * worth, text=text),)


def _may_be_whole(each: Evidence) -> bool:
    """Whether a definition that is cut may be shown whole if the budget allows it."""
    return each.hit.kind == "function" and each.hit.rank <= _WHOLE_RANKS


def _worth(hit: Hit, tokens: int) -> float:
    """What a hit is worth, so that worth per token falls with its rank and, slower, its size.

    Worth per token in proportion to the chance that the hit is what was asked for
    would buy many small functions instead of the one large one that was found first.
    """
    per_token = 1 / (hit.rank + 2) / float(max(tokens, _SMALL) ** _SIZE)
    return float(per_token**_FINE) * max(1, tokens)


_SIZE = 0.6
"""How much the size of a unit counts against it: 0 buys by rank alone, 1 by rank per token."""

_SMALL = 60
"""Tokens below which being smaller is no merit."""

_FINE = 3
"""Makes the grades in which `pack/fit.py` compares worth per token finer."""

_MODULE_TOKENS = 500
"""Tokens of what is shown of a module outside its definitions."""

_WHOLE = 0.03
"""What the rest of a large definition is worth beside its relevant parts: what is left over."""

_WHOLE_RANKS = 10
"""Hits so good that the rest of a large definition is offered at all."""

_LEAST = 1e-9
_OTHER = 0.2
_HEADER_TOKENS = 100
_SMALL_CLASS = 600
"""Tokens up to which a class is shown whole."""


def _is_small(each: Evidence) -> bool:
    return each.hit.kind == "class" and each.tokens <= _SMALL_CLASS


def _reasons(hit: Hit) -> tuple[Reason, ...]:
    return tuple(Reason(method, detail=str(rank)) for method, rank in hit.methods)


def _without_parts(evidence: Sequence[Evidence]) -> tuple[list[Evidence], list[Refusal]]:
    """Without members of classes that are proposed whole; and these members."""
    whole = {each.hit.unit for each in evidence if _is_small(each)}
    shown, contained = [], []
    for each in evidence:
        above = next((unit for unit in _above(each.hit) if unit in whole), "")
        if above:
            score = score_of(each.hit.rank)
            contained.append(Refusal(each.hit.unit, "contained", score, (), above))
        else:
            shown.append(each)
    return shown, contained


def _above(hit: Hit) -> Iterator[str]:
    """The units of the classes around a definition."""
    name = hit.symbol.rpartition(".")[0]
    while name:
        yield f"{hit.path}::{name}"
        name = name.rpartition(".")[0]


def _parent(hit: Hit) -> str:
    above = hit.symbol.rpartition(".")[0]
    return f"{hit.path}::{above}" if above else ""


def _classes(view: QuestionView, layer: Layer, candidates: list[Candidate]) -> Iterator[Candidate]:
    """The classes above what was found: their headers come with what stands below them."""
    known = {each.unit for each in candidates}
    for each in candidates:
        path, name = each.path, each.symbol.rpartition(".")[0]
        while name and f"{path}::{name}" not in known:
            known.add(f"{path}::{name}")
            order = next(
                (n for n, (s, kind) in enumerate(view.outline(path).symbols) if s == name), -1
            )
            if order < 0:
                break
            above = name.rpartition(".")[0]
            yield Candidate(
                unit=f"{path}::{name}",
                path=path,
                symbol=name,
                layer=layer.name,
                section=SECTION,
                order=order,
                ladder=(Rung("skeleton", "none", ON_DEMAND),),
                score=each.score,
                reasons=(Reason("holds", each.unit),),
                parent=f"{path}::{above}" if above else "",
            )
            name = above


def _record(found: Found) -> dict[str, Any]:
    """The planner's decision and the best files, as plain data."""
    hints, decision = found.hints, found.decision
    return {
        "strategies": [{"method": m, "why": why} for m, why in decision.used],
        "left_out": [{"method": m, "why": why} for m, why in decision.left_out],
        "names": [name for name, _ in hints.names[:40]],
        "paths": list(hints.paths[:40]),
        "frames": [{"path": f.path, "line": f.line, "name": f.name} for f in hints.frames[:40]],
        "messages": list(hints.messages[:20]),
        "tests": list(hints.tests[:20]),
        "files": list(found.files[:20]),
    }
