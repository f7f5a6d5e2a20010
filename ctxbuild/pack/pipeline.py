"""The stages behind a target, declared for the engine: plan, pack, artifact.

`plan(TARGET)` gathers candidates and fits them, `pack(TARGET)` renders what was
kept. The artifact is a projection: it joins the lines at which things stand, so
that code which merely moves rewrites `NAME.pack.json` and runs no stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ctxbuild.engine.codec import facets_of
from ctxbuild.engine.query import Facet, Input, Query, Result
from ctxbuild.model import (
    Block,
    Candidate,
    Lines,
    Outline,
    Pack,
    Plan,
    Proposal,
)
from ctxbuild.pack import render
from ctxbuild.pack.asker import Asker
from ctxbuild.pack.codec import encode, part, whole
from ctxbuild.pack.packets import Spans, with_places
from ctxbuild.pack.planning import Gathered, Planned, Rest, files_of, packed, planned
from ctxbuild.pack.questions import Questions
from ctxbuild.pack.schedule import settled
from ctxbuild.source.ctxfile import declaration

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context, Database
    from ctxbuild.pack.artifact import LinesOf
    from ctxbuild.pack.layout import Place
    from ctxbuild.pack.tokens import Counter
    from ctxbuild.source.ctxfile import Layer, Target


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
        self._counter = questions.counter = counter
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
        self._rest = Facet(self.plan, "rest", whole("rest", Rest))
        self.pack_value = Facet(self.pack, "pack", whole("pack", Pack))
        self.files = Facet(self.artifact, "", dict)
        self.full_tokens = Facet(self.saved, "", lambda p: int(p[""]))
        # By target: its plan's digests, and what it was made of last in this process.
        self._made: dict[str, tuple[dict[str, bytes], Planned]] = {}

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
        ctx.get(self._configured, name)
        target = self.targets[name]
        count = self._counter(self.tokenizer)  # first: an unknown one must not cost a parse
        asker = Asker(self.questions, ctx)
        gathered = self._gather(ctx, asker, target)
        made = planned(gathered, asker, asker.problems, count)
        result = Result(
            {
                "plan": encode(made.plan),
                "blocks": encode(made.fitted.blocks),
                "rest": encode(made.rest),
            },
        )
        self._made[name] = facets_of(result), made
        return result

    def _gather(self, ctx: Context, asker: Asker, target: Target) -> Gathered:
        """All that a target's plan is made of; nothing else asks the repository."""
        proposals = {layer.name: propose(asker, layer) for layer in target.layers}
        proposals = settled(asker, target, proposals)
        if target.headers == "full":
            spans = Spans(asker.documents)
            proposals = {
                name: replace(
                    one, candidates=tuple(_with_lines(asker, spans, c) for c in one.candidates)
                )
                for name, one in proposals.items()
            }
        before, complaint = places(ctx.get(self._before, target.name) if target.prefer else b"")
        paths = dict.fromkeys(each.path for one in proposals.values() for each in one.candidates)
        return Gathered(
            target=target,
            proposals=tuple(proposals.items()),
            languages=tuple((path, self.questions.language_of(path)) for path in paths),
            before=before if target.prefer else None,
            complaint=complaint,
        )

    def _pack(self, ctx: Context, name: str) -> Result:
        ctx.get(self._configured, name)
        blocks, rest = ctx.get(self._blocks, name), ctx.get(self._rest, name)
        pack = packed(self.targets[name], self.tokenizer, blocks, rest)
        return Result({"pack": encode(pack)})

    def _artifact(self, ctx: Context, name: str) -> Result:
        ctx.get(self._configured, name)
        pack, plan = ctx.get(self.pack_value, name), ctx.get(self.plan_value, name)
        asker = Asker(self.questions, ctx)
        pack = with_places(asker.documents, pack)

        @cache
        def lines_of(path: str) -> tuple[Outline, Lines]:
            return asker.outline(path), asker.lines(path)

        return Result(files_of(self.targets[name], pack, plan, lines_of))

    def _saved(self, ctx: Context, name: str) -> Result:
        blocks = ctx.get(self._blocks, name)
        paths = sorted({b.path for b in blocks if b.section not in render.SESSION_TITLES})
        total = sum(ctx.get(self.questions.size, path) for path in paths)
        return Result({"": b"%d" % total})

    # --- what a log records -------------------------------------------------------------

    def made_of(self, database: Database, name: str) -> tuple[Planned, LinesOf, tuple[Block, ...]]:
        """What a target's present plan was made of, where things stand, and the blocks placed.

        It is planned again where another process did that; what is at hand is given away.
        """
        from ctxbuild.engine.database import Context

        context = Context(database)
        present = database.fresh_cell(self.plan, name, "plan").facets
        known = self._made.pop(name, None)
        if known is None or known[0] != present:
            self.plan.compute(context, name)
            known = self._made.pop(name)
        asker = Asker(self.questions, context)
        placed = with_places(asker.documents, database.get(self.pack_value, name)).blocks
        return known[1], lambda path: (asker.outline(path), asker.lines(path)), placed

    def count(self, texts: list[str]) -> list[int]:
        """Tokens of texts."""
        return self._counter(self.tokenizer)(texts)


def propose(asker: Asker, layer: Layer) -> Proposal:
    """What a layer proposes: each kind of source has a module in `select/`."""
    if layer.source == "files":
        from ctxbuild.select import files

        listed = files.candidates(asker, layer.name, layer.patterns, layer.form, pinned=layer.pin)
        return Proposal(tuple(listed))
    if layer.source == "entry":
        from ctxbuild.select import entry

        found, open_names = entry.candidates(asker, layer)
        return Proposal(tuple(found), tuple(open_names))
    module = import_module(f"ctxbuild.select.{layer.source}")
    proposal: Proposal = module.propose(asker, layer)
    return proposal


def _with_lines(asker: Asker, spans: Spans, candidate: Candidate) -> Candidate:
    """A candidate with the lines at which it stands, for headers that show them."""
    from ctxbuild.pack.artifact import place

    if candidate.section in render.PACKET_TITLES:
        return replace(candidate, lines=spans.of(candidate))
    if candidate.lines or not candidate.symbol:
        return candidate
    spot = place(
        lambda path: (asker.outline(path), asker.lines(path)), candidate.path, candidate.symbol
    )
    return replace(candidate, lines=(spot[0], spot[1])) if spot else candidate


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
