"""The stages behind a target, declared for the engine: plan, pack, artifact.

`plan(TARGET)` gathers candidates and fits them, `pack(TARGET)` renders what was
kept. The artifact is a projection: it joins the lines at which things stand, so
that code which merely moves rewrites `NAME.pack.json` and runs no stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ctxbuild.engine.query import Facet, Input, Query, Result
from ctxbuild.model import Block, Candidate, OpenName, Pack, Plan
from ctxbuild.pack import render
from ctxbuild.pack.codec import decode, encode, part
from ctxbuild.pack.questions import Asker, Questions

from ctxbuild.source.ctxfile import declaration
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context
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
    """

    def __init__(
        self,
        questions: Questions,
        targets: Mapping[str, Target],
        tokenizer: str,
        versions: Mapping[str, str],
        counter: Callable[[str], Counter],
    ) -> None:
        self.questions = questions
        self.targets = targets
        self.tokenizer = tokenizer
        self._counter = counter
        version = versions["plan"]
        self.config = Input("config", self._read_config)
        self.plan = Query("plan", version, self._plan)
        self.pack = Query("pack", version, self._pack)
        self.artifact = Query("artifact", version, self._artifact, stage=False)
        self.saved = Query("saved", version, self._saved, stage=False)
        self._configured = Facet(self.config, "", lambda p: p[""])
        self.plan_value = Facet(self.plan, "plan", part("plan", Plan, None))
        self._blocks = Facet(self.plan, "blocks", part("blocks", tuple[Block, ...], ()))
        self.pack_value = Facet(self.pack, "pack", part("pack", Pack, None))
        self.files = Facet(self.artifact, "", lambda p: dict(p))
        self.full_tokens = Facet(self.saved, "", lambda p: int(p[""]))

    @property
    def declared(self) -> tuple[Any, ...]:
        """Everything that the engine has to know of."""
        queries = (self.plan, self.pack, self.artifact, self.saved)
        return (*self.questions.declared, self.config, *queries)

    def _read_config(self, name: str, facet: str) -> bytes:
        target = self.targets.get(name)
        return declaration(target, self.tokenizer) if target else b""

    # --- stages -------------------------------------------------------------------------

    def _plan(self, ctx: Context, name: str) -> Result:
        from ctxbuild.pack.budget import Limits, Style, fit

        ctx.get(self._configured, name)
        target = self.targets[name]
        asker = Asker(self.questions, ctx)
        candidates: list[Candidate] = []
        open_names: list[OpenName] = []
        for layer in target.layers:
            proposed, unexplained = propose(asker, layer)
            candidates += proposed
            open_names += unexplained
        paths = dict.fromkeys(candidate.path for candidate in candidates)
        style = Style(
            target=name,
            layers=tuple(layer.name for layer in target.layers),
            languages={path: asker.outline(path).language for path in paths},
            layout=target.layout,
            headers=target.headers,
        )
        budgets = {layer.name: layer.budget for layer in target.layers if layer.budget}
        limits = Limits(target.budget, target.reserve, budgets)
        fitted = fit(candidates, asker, self._counter(self.tokenizer), limits, style)
        warnings = _warnings(asker, fitted.blocks)
        plan = Plan(
            target=name,
            budget=target.budget,
            reserve=target.reserve,
            tokens=fitted.tokens,
            verdicts=fitted.verdicts,
            open_names=tuple(open_names),
            warnings=warnings,
        )
        rest = encode((fitted.tokens, plan.open_names, warnings))
        return Result(
            {"plan": encode(plan), "blocks": encode(fitted.blocks), "rest": rest},
        )

    def _pack(self, ctx: Context, name: str) -> Result:
        from hashlib import sha256

        ctx.get(self._configured, name)
        target = self.targets[name]
        blocks = ctx.get(self._blocks, name)
        tokens, open_names, warnings = ctx.get(
            Facet(
                self.plan,
                "rest",
                part("rest", tuple[int, tuple[OpenName, ...], tuple[str, ...]], None),
            ),
            name,
        )
        text = render.markdown(name, blocks, target.headers)
        pack = Pack(
            target=name,
            digest=f"sha256:{sha256(text.encode()).hexdigest()}",
            tokenizer=self.tokenizer,
            budget=target.budget,
            reserve=target.reserve,
            tokens=tokens,
            text=text,
            blocks=blocks,
            open_names=open_names,
            warnings=warnings,
        )
        return Result({"pack": encode(pack)})

    def _artifact(self, ctx: Context, name: str) -> Result:
        from ctxbuild.pack.artifact import pack_json, plan_json

        ctx.get(self._configured, name)
        pack, plan = ctx.get(self.pack_value, name), ctx.get(self.plan_value, name)
        questions = self.questions

        def lines_of(path: str) -> Any:
            return ctx.get(questions.outline, path), ctx.get(questions.lines, path)

        files = {
            f"{name}.md": pack.text.encode(),
            f"{name}.pack.json": pack_json(pack, lines_of),
            f"{name}.plan.json": plan_json(plan, lines_of),
        }
        if "xml" in self.targets[name].formats:
            files[f"{name}.xml"] = render.xml(name, pack.blocks).encode()
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


def _warnings(asker: Asker, blocks: tuple[Block, ...]) -> tuple[str, ...]:
    """One line per problem of a file that the pack shows more of than a line."""
    paths = dict.fromkeys(b.path for b in blocks if b.form not in render.LINE_FORMS)
    return tuple(
        f"{shown(path)}: {problem.kind}: {problem.message}"
        for path in paths
        for problem in asker.problems(path)
    )
