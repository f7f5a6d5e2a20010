"""The stages behind a target, declared for the engine: plan, pack, artifact.

`plan(TARGET)` gathers candidates and fits them, `pack(TARGET)` renders what was
kept. The artifact is a projection: it joins the lines at which things stand, so
that code which merely moves rewrites `NAME.pack.json` and runs no stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ctxbuild.engine.query import Facet, Input, Query, Result
from ctxbuild.model import Block, Candidate, Lines, OpenName, Outline, Pack, Plan
from ctxbuild.pack import render
from ctxbuild.pack.asker import Asker
from ctxbuild.pack.codec import encode, part, whole
from ctxbuild.pack.questions import Questions
from ctxbuild.source.ctxfile import declaration
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context
    from ctxbuild.pack.layout import Place
    from ctxbuild.pack.tokens import Counter
    from ctxbuild.source.ctxfile import Layer, Target


@dataclass(frozen=True, slots=True)
class _Rest:
    """What a pack takes from its plan besides the blocks."""

    tokens: int
    open_names: tuple[OpenName, ...]
    warnings: tuple[str, ...]


class Pipeline:
    """Plan, pack and artifact of every target of one project.

    Args:
        questions: what may be asked of the repository.
        targets: by name; replaced when the ctxfile changes.
        tokenizer: name of the encoding.
        versions: version per stage: "plan".
        counter: tokenizer name to its counter, called on first use.
        previous: target to what its layout depends on besides, see `source/previous.py`.
    """

    def __init__(
        self,
        questions: Questions,
        targets: Mapping[str, Target],
        tokenizer: str,
        versions: Mapping[str, str],
        counter: Callable[[str], Counter],
        previous: Callable[[Target], bytes] = lambda _: b"",
    ) -> None:
        self.questions = questions
        self.targets = targets
        self.tokenizer = tokenizer
        self._counter = counter
        version = versions["plan"]
        self.config = Input("config", self._read_config)
        self.previous = Input(
            "previous", lambda name, _: previous(targets[name]) if name in targets else b""
        )
        self.plan = Query("plan", version, self._plan)
        self.pack = Query("pack", version, self._pack)
        self.artifact = Query("artifact", version, self._artifact, stage=False)
        self.saved = Query("saved", version, self._saved, stage=False)
        self._before = Facet(self.previous, "", lambda p: p[""])
        self._configured = Facet(self.config, "", lambda p: p[""])
        self.plan_value = Facet(self.plan, "plan", whole("plan", Plan))
        self._blocks: Facet[tuple[Block, ...]] = Facet(
            self.plan, "blocks", part("blocks", tuple[Block, ...], ())
        )
        self._rest = Facet(self.plan, "rest", whole("rest", _Rest))
        self.pack_value = Facet(self.pack, "pack", whole("pack", Pack))
        self.files = Facet(self.artifact, "", dict)
        self.full_tokens = Facet(self.saved, "", lambda p: int(p[""]))

    @property
    def declared(self) -> tuple[Any, ...]:
        """Everything that the engine has to know of."""
        queries = (self.plan, self.pack, self.artifact, self.saved)
        return (*self.questions.declared, self.config, self.previous, *queries)

    def _read_config(self, name: str, _facet: str) -> bytes:
        target = self.targets.get(name)
        return declaration(target, self.tokenizer) if target else b""

    # --- stages -------------------------------------------------------------------------

    def _plan(self, ctx: Context, name: str) -> Result:
        from ctxbuild.pack.budget import Limits, Style, fit

        ctx.get(self._configured, name)
        target = self.targets[name]
        count = self._counter(self.tokenizer)  # first: an unknown one must not cost a parse
        asker = Asker(self.questions, ctx)
        candidates: list[Candidate] = []
        open_names: list[OpenName] = []
        for layer in target.layers:
            proposed, unexplained = propose(asker, layer)
            candidates += proposed
            open_names += unexplained
        paths = dict.fromkeys(candidate.path for candidate in candidates)
        before, complaint = places(ctx.get(self._before, name) if target.prefer else b"")
        style = Style(
            target=name,
            layers=tuple(layer.name for layer in target.layers),
            languages={path: self.questions.language_of(path) for path in paths},
            layout=target.layout,
            headers=target.headers,
            formats=target.formats,
            before=before if target.prefer else None,
        )
        budgets = {layer.name: layer.budget for layer in target.layers if layer.budget}
        limits = Limits(target.budget, target.reserve, budgets)
        fitted = fit(candidates, asker, count, limits, style)
        warnings = _warnings(asker, target, fitted.blocks)
        if complaint:
            warnings = (f"prefer: {target.prefer}: {complaint}", *warnings)
        plan = Plan(
            target=name,
            budget=target.budget,
            reserve=target.reserve,
            tokens=fitted.tokens,
            verdicts=fitted.verdicts,
            open_names=tuple(open_names),
            warnings=warnings,
        )
        rest = _Rest(fitted.tokens, plan.open_names, warnings)
        return Result(
            {"plan": encode(plan), "blocks": encode(fitted.blocks), "rest": encode(rest)},
        )

    def _pack(self, ctx: Context, name: str) -> Result:
        from hashlib import sha256

        ctx.get(self._configured, name)
        target = self.targets[name]
        blocks = ctx.get(self._blocks, name)
        rest = ctx.get(self._rest, name)
        text = render.rendering(target.formats[0], name, blocks, target.headers)
        pack = Pack(
            target=name,
            digest=f"sha256:{sha256(text.encode()).hexdigest()}",
            tokenizer=self.tokenizer,
            budget=target.budget,
            reserve=target.reserve,
            tokens=rest.tokens,
            text=text,
            blocks=blocks,
            open_names=rest.open_names,
            warnings=rest.warnings,
        )
        return Result({"pack": encode(pack)})

    def _artifact(self, ctx: Context, name: str) -> Result:
        from ctxbuild.pack.artifact import pack_json, plan_json

        ctx.get(self._configured, name)
        pack, plan = ctx.get(self.pack_value, name), ctx.get(self.plan_value, name)
        asker = Asker(self.questions, ctx)

        @cache
        def lines_of(path: str) -> tuple[Outline, Lines]:
            return asker.outline(path), asker.lines(path)

        target = self.targets[name]
        files = {
            f"{name}.{form}": render.rendering(form, name, pack.blocks, target.headers).encode()
            for form in target.formats
        }
        files[f"{name}.pack.json"] = pack_json(pack, lines_of)
        files[f"{name}.plan.json"] = plan_json(plan, lines_of)
        return Result(files)

    def _saved(self, ctx: Context, name: str) -> Result:
        paths = sorted({block.path for block in ctx.get(self._blocks, name)})
        total = sum(ctx.get(self.questions.size, path) for path in paths)
        return Result({"": b"%d" % total})


def propose(asker: Asker, layer: Layer) -> tuple[list[Candidate], list[OpenName]]:
    """What a layer proposes, by the kind of its source."""
    if layer.source == "files":
        from ctxbuild.select import files

        proposed = files.candidates(asker, layer.name, layer.patterns, layer.form, pinned=layer.pin)
        return proposed, []
    from ctxbuild.select import entry

    return entry.candidates(asker, layer)


def places(before: bytes) -> tuple[tuple[Place, ...], str]:
    """The blocks of an earlier pack, and why it cannot be used or ""."""
    import json

    from ctxbuild.pack.layout import Place, group_of

    data = json.loads(before) if before else []
    if isinstance(data, str):
        return (), data
    found = []
    for layer, section, path, symbol, form, unit, digest in data[1:]:
        group = group_of(section, path, symbol, form, unit)
        found.append(Place(layer, group, unit, digest.removeprefix("sha256:")))
    return tuple(found), ""


_HIDING = frozenset({"unreadable", "too-large", "too-deep", "timeout"})
"""Kinds of problems for which a dependency may be no more than a line."""


def _warnings(asker: Asker, target: Target, blocks: tuple[Block, ...]) -> tuple[str, ...]:
    """One line per problem of a file that the pack shows more of than a line, or would."""
    entries = {layer.name for layer in target.layers if layer.source == "entry"}
    shows: dict[str, bool] = {}
    for block in blocks:
        if block.form not in render.LINE_FORMS:
            shows[block.path] = True
        elif block.layer in entries:
            shows.setdefault(block.path, False)
    return tuple(
        f"{shown(path)}: {problem.kind}: {problem.message}"
        for path, more in shows.items()
        for problem in asker.problems(path)
        if more or problem.kind in _HIDING
    )
