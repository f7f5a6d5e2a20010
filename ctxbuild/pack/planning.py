"""From what a target's plan is made of to its plan, pack and files: pure, and asked of nobody.

A build gathers from the repository (`pipeline.py`) and plans here; a replay plans
here from what a build recorded (`compare/replay.py`). Both are the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxbuild.model import Block, OpenName, Pack, Plan, Problem, Proposal, Rot, Verdict
from ctxbuild.pack import render
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.pack.artifact import LinesOf
    from ctxbuild.pack.budget import Fitted
    from ctxbuild.pack.forms import Texts
    from ctxbuild.pack.layout import Place
    from ctxbuild.pack.tokens import Counter
    from ctxbuild.source.ctxfile import Target

QUESTION = "question"


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that a plan is made of, but for the texts of the candidates' forms.

    Attributes:
        target: as declared.
        proposals: (layer, what it proposes), in the order declared.
        languages: (path, language) of every candidate's file.
        before: blocks whose places are kept, see `budget.Style`.
        complaint: why the pack that the target prefers cannot be used, or "".
    """

    target: Target
    proposals: tuple[tuple[str, Proposal], ...]
    languages: tuple[tuple[str, str], ...] = ()
    before: tuple[Place, ...] | None = None
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class Rest:
    """What a pack takes from its plan besides the blocks."""

    tokens: int
    open_names: tuple[OpenName, ...]
    warnings: tuple[str, ...]
    rot: tuple[Rot, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and what it was made of.

    Attributes:
        problems: (path, what is wrong with it) of the files that were looked at for warnings.
    """

    gathered: Gathered
    plan: Plan
    fitted: Fitted
    rot: tuple[Rot, ...]
    problems: tuple[tuple[str, tuple[Problem, ...]], ...]

    @property
    def rest(self) -> Rest:
        """What the pack takes besides the blocks."""
        plan = self.plan
        return Rest(plan.tokens, plan.open_names, plan.warnings, self.rot)


ProblemsOf = Callable[[str], tuple[Problem, ...]]
"""Path to what is wrong with the file."""


def planned(gathered: Gathered, texts: Texts, problems: ProblemsOf, count: Counter) -> Planned:
    """Fits what the layers propose into the target's budget.

    Args:
        gathered: what they propose.
        texts: of what they propose.
        problems: asked for the files that warnings may be about.
        count: texts to tokens.

    Raises:
        BudgetError: what is pinned exceeds the budget.
    """
    from ctxbuild.pack import schedule
    from ctxbuild.pack.budget import Style, fit

    target, proposals = gathered.target, dict(gathered.proposals)
    # Who proposes a unit first has it.
    ranked = schedule.filling_order(target, proposals)
    candidates = [each for name in ranked for each in proposals[name].candidates]
    style = Style(
        target=target.name,
        layers=schedule.reading_order(target, proposals),
        languages=dict(gathered.languages),
        layout=target.layout,
        headers=target.headers,
        formats=target.formats,
        before=gathered.before,
    )
    title = count([render.title(target.name)])[0]
    budgets = layer_budgets(target, title)
    budgets |= _bounds(proposals, budgets, title)
    limits = schedule.limits_of(target, proposals, budgets)
    fitted = fit(candidates, texts, count, limits, style)
    looked = {path: problems(path) for path in _looked_at(target, fitted.blocks)}
    warnings = tuple(each for one in proposals.values() for each in one.warnings)
    warnings += _warnings(_looked_at(target, fitted.blocks), looked)
    if gathered.complaint:
        warnings = (f"prefer: {target.prefer}: {gathered.complaint}", *warnings)
    warnings += _unstated(target, proposals, fitted.blocks)
    found = rot_of(target, fitted.blocks, fitted.tokens)
    warnings += tuple(map(str, found))
    plan = Plan(
        target=target.name,
        budget=target.budget,
        reserve=target.reserve,
        tokens=fitted.tokens,
        verdicts=(*fitted.verdicts, *_refusals(proposals)),
        open_names=tuple(each for one in proposals.values() for each in one.open_names),
        warnings=warnings,
        records=_records(proposals),
        schedule=schedule.slices(target, fitted),
    )
    return Planned(gathered, plan, fitted, found, tuple(looked.items()))


def packed(target: Target, tokenizer: str, blocks: tuple[Block, ...], rest: Rest) -> Pack:
    """The pack of a plan: its blocks, rendered in the first of the target's formats."""
    from hashlib import sha256

    text = render.rendering(target.formats[0], target.name, blocks, target.headers)
    return Pack(
        target=target.name,
        digest=f"sha256:{sha256(text.encode()).hexdigest()}",
        tokenizer=tokenizer,
        budget=target.budget,
        reserve=target.reserve,
        tokens=rest.tokens,
        text=text,
        blocks=blocks,
        open_names=rest.open_names,
        warnings=rest.warnings,
        rot=rest.rot,
    )


def files_of(target: Target, pack: Pack, plan: Plan, lines_of: LinesOf) -> dict[str, bytes]:
    """The output files by name: every format, the artifact and the plan."""
    from ctxbuild.pack.artifact import pack_json, plan_json

    name = target.name
    files = {
        f"{name}.{form}": render.rendering(form, name, pack.blocks, target.headers).encode()
        for form in target.formats
    }
    files[f"{name}.pack.json"] = pack_json(pack, lines_of, questions_of(target))
    files[f"{name}.plan.json"] = plan_json(plan, lines_of)
    return files


def _bounds(
    proposals: Mapping[str, Proposal], budgets: Mapping[str, int], title: int
) -> dict[str, int]:
    """Budgets of layers that bound themselves, the title of the pack taken off."""
    return {
        layer: max(1, min(proposal.most - title, budgets.get(layer, proposal.most)))
        for layer, proposal in proposals.items()
        if proposal.most is not None
    }


def _refusals(proposals: Mapping[str, Proposal]) -> tuple[Verdict, ...]:
    """A verdict on everything that the layers themselves left out."""
    return tuple(
        Verdict(r.unit, layer, "dropped", None, 0, (), r.score, r.reasons, r.why, r.detail)
        for layer, proposal in proposals.items()
        for r in proposal.refused
    )


def _records(proposals: Mapping[str, Proposal]) -> tuple[tuple[str, str], ...]:
    import orjson

    return tuple(
        (layer, orjson.dumps(proposal.record, option=orjson.OPT_SORT_KEYS).decode())
        for layer, proposal in proposals.items()
        if proposal.record is not None
    )


def questions_of(target: Target) -> tuple[tuple[str, str], ...]:
    """(layer, question) of the layers that answer one."""
    return tuple((each.name, each.patterns[0]) for each in target.layers if each.source == QUESTION)


_INEXACT = 0.99
"""The part of its room that a layer fills, since its prices may add up to a little too little."""


def layer_budgets(target: Target, title: int) -> dict[str, int]:
    """Tokens per layer that has a budget of its own.

    What answers a question leaves free what would make its pack oversized: of what is
    found the last is worth least.

    Args:
        target: the target.
        title: tokens of the pack's title.
    """
    room = target.oversized * (target.budget - target.reserve)
    sound = int(_INEXACT * room) - title
    budgets = {layer.name: layer.budget for layer in target.layers}
    for layer in target.layers:
        if layer.source == QUESTION:
            budgets[layer.name] = max(1, min(layer.budget or sound, sound))
    return {name: budget for name, budget in budgets.items() if budget}


def rot_of(target: Target, blocks: Iterable[Block], tokens: int) -> tuple[Rot, ...]:
    """Signs of rot in what question layers found; in all of a pack that answers none, if asked for.

    Args:
        target: its thresholds hold.
        blocks: of the pack.
        tokens: of the pack.
    """
    questions = dict(questions_of(target))
    if not questions and not target.forbid:
        return ()
    from ctxbuild.pack.rot import Chunk, Thresholds, find_rot

    chunks = [
        Chunk(b.unit, b.path, b.symbol, b.text, b.tokens, b.score, b.form)
        for b in blocks
        if b.layer in questions or not questions
    ]
    limits = Thresholds(target.oversized, target.noise, target.duplication, target.domination)
    return find_rot(chunks, tokens, target.budget - target.reserve, limits)


def _unstated(
    target: Target, proposals: Mapping[str, Proposal], blocks: Iterable[Block]
) -> tuple[str, ...]:
    """A line per layer whose findings are not all there; who asks a question wants no more."""
    there = {block.unit for block in blocks}
    lines = []
    for layer in target.layers:
        proposal = proposals[layer.name]
        if layer.source != "memory" or layer.option("about"):
            continue
        stated = [c.unit in there for c in proposal.candidates if c.section == "findings"]
        if not all(stated):
            what = f"{stated.count(False)} of {len(stated)} findings have no room"
            lines.append(f"layer {layer.name!r}: {what}: give it a larger budget")
    return tuple(lines)


_HIDING = frozenset({"unreadable", "too-large", "too-deep", "timeout"})
"""Kinds of problems for which a dependency may be no more than a line."""


def _looked_at(target: Target, blocks: Iterable[Block]) -> dict[str, bool]:
    """Files that warnings may be about: whether the pack shows more of them than a line."""
    entries = {layer.name for layer in target.layers if layer.source == "entry"}
    shows: dict[str, bool] = {}
    for block in blocks:
        if block.section in render.SESSION_TITLES:
            continue  # turns and notes have no facts of a source
        if block.section in render.PACKET_TITLES:
            continue  # the layer tells of its documents' problems
        if block.form not in render.LINE_FORMS:
            shows[block.path] = True
        elif block.layer in entries:
            shows.setdefault(block.path, False)
    return shows


def _warnings(
    shows: Mapping[str, bool], problems: Mapping[str, tuple[Problem, ...]]
) -> tuple[str, ...]:
    """One line per problem of a file that the pack shows more of than a line, or would."""
    return tuple(
        f"{shown(path)}: {problem.kind}: {problem.message}"
        for path, more in shows.items()
        for problem in problems[path]
        if more or problem.kind in _HIDING
    )
