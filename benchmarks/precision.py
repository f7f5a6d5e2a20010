"""Whether packs hold the definitions that an entry really uses, and little else.

python -m benchmarks.precision [CORPUS…] [--json FILE] [--peers]

*Gold* is every function, method and class of the repository, outside the entry, to
which jedi resolves a name of the entry. For B tokens of dependency context (the entry's
own text is not counted):

recall     gold whose signature stands in the pack, as a share of the gold
attainable the tokens of the gold's bare signatures with their paths may exceed B; then
           no more than B ÷ those tokens can be had
share      recall ÷ attainable, at most 1
precision  emitted definitions that are gold, or are types named in an emitted signature,
           as a share of the emitted definitions. A class header above an emitted method
           counts as emitted, constructors too
wrong      attribute calls that were resolved for certain to something else than what
           jedi says, as a share of those that were resolved for certain
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from benchmarks import oracle
from benchmarks.corpus import CORPORA, HOME, CorpusError, source
from benchmarks.signatures import Signatures
from benchmarks.table import Row
from ctxbuild.graph.uses import uses
from ctxbuild.pack.tokens import counter
from ctxbuild.serve.lookup import Desk, ask
from ctxbuild.serve.session import Session
from ctxbuild.source.ctxfile import Ctxfile, Layer, Project, Target

if TYPE_CHECKING:
    from ctxbuild.model import Pack

Unit = tuple[str, str]

DEVELOPMENT = ("click", "requests", "jinja2", "rich", "packaging", "attrs", "sqlalchemy")
BUDGETS = (1_000, 2_000, 4_000, 8_000)
ENTRIES = 12  # per corpus
GOALS = {1_000: 0.90, 2_000: 0.96, 4_000: 0.98}
PRECISION = 0.8  # at 2,000
WRONG = 0.02
ENOUGH = 0.95  # recall at which the size of packs is compared with the sources
_SIGNATURE_FORMS = ("full", "slice", "skeleton")


@dataclass(frozen=True, slots=True)
class Fill:
    """What a pack with so many tokens of context holds.

    Attributes:
        tokens: of the whole pack, the entry included.
        recall, share, precision: see above; precision is None if nothing is emitted.
        missing, extra: units that lower them.
    """

    tokens: int
    recall: float
    share: float
    precision: float | None
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """One entry.

    Attributes:
        used: the definitions it uses. bound: tokens of their bare signatures.
        resolved: attribute calls resolved for certain. wrong: those jedi contradicts.
        answered: those of them that jedi resolves at all.
        fills: by tokens of context.
        sources: tokens of the package's sources.
        skeletons: tokens of the entry with whole skeletons of its direct dependencies.
    """

    corpus: str
    entry: str
    used: tuple[str, ...]
    bound: int
    resolved: int
    answered: int
    wrong: tuple[str, ...]
    sources: int
    skeletons: int
    fills: dict[int, Fill] = field(default_factory=dict)


def measure(name: str, *, only_cached: bool = False) -> Iterator[Measured]:
    """The entries of one corpus that use anything of it.

    Args:
        name: of the corpus.
        only_cached: only entries about which jedi has been asked before.

    Raises:
        CorpusError: the corpus or the oracle cannot be had.
    """
    tree = source(name)
    signatures = Signatures(tree)
    paths = oracle.entries(name, ENTRIES)
    answers = oracle.answers(name, paths, only_cached=only_cached)
    home = HOME / "precision" / tree.name
    project = Project(cache=str(home), out=str(home / "packs"))
    session = Session(Ctxfile("", str(tree), project, ()), workers=2)
    yield from ask(
        session,
        lambda desk: [
            measured
            for path in answers
            if (measured := _entry(desk, name, path, answers[path], signatures))
        ],
    )


def _pack(desk: Desk, target: Target) -> Pack:
    pipeline = desk.workspace.pipeline
    pipeline.targets = {**pipeline.targets, target.name: target}
    return desk.workspace.database.get(pipeline.pack_value, target.name)


def _entry(
    desk: Desk, corpus: str, path: str, answers: list[oracle.Answer], signatures: Signatures
) -> Measured | None:
    gold = {unit for unit in oracle.gold(answers, path) if signatures.of(*unit)}
    if not gold:
        return None
    count = counter("o200k_base")
    bound = count([signatures.listing(gold)])[0]
    # The entry alone: what a pack has above these tokens is context.
    own = _pack(desk, Target(f"{path} alone", (Layer("entry", "files", (path,)),), 10**9)).tokens
    fills = {}
    shown: set[str] = set()
    for budget in BUDGETS:
        target = Target(f"{path} {budget}", (Layer("entry", "entry", (path,)),), own + budget)
        pack = _pack(desk, target)
        emitted = emitted_units(pack, path, signatures)
        shown |= {block.path for block in pack.blocks if block.section in ("used", "names")}
        named = signatures.named(emitted)
        recall = len(gold & emitted) / len(gold)
        right = {unit for unit in emitted if unit in gold or unit in named}
        fills[budget] = Fill(
            tokens=pack.tokens,
            recall=recall,
            share=min(1.0, recall / min(1.0, budget / bound)),
            precision=len(right) / len(emitted) if emitted else None,
            missing=tuple(sorted("::".join(unit) for unit in gold - emitted)),
            extra=tuple(sorted("::".join(unit) for unit in emitted - right)),
        )
    resolved, answered, wrong = _calls(desk, path, answers, signatures)
    package = CORPORA[corpus].package
    database, questions = desk.workspace.database, desk.workspace.pipeline.questions
    sources = sum(
        database.get(questions.size, each)
        for each in desk.workspace.snapshot.paths
        if each.startswith(f"{package}/") and each.endswith(".py")
    )
    skeletons = own + sum(count([desk.view.skeleton(each) for each in sorted(shown - {path})]))
    units = tuple(sorted("::".join(unit) for unit in gold))
    return Measured(
        corpus, path, units, bound, resolved, answered, tuple(wrong), sources, skeletons, fills
    )


def emitted_units(pack: Pack, entry: str, signatures: Signatures) -> set[Unit]:
    """Functions, methods and classes whose signature stands in a pack, besides the entry's."""
    return {
        (block.path, block.symbol)
        for block in pack.blocks
        if block.form in _SIGNATURE_FORMS
        and block.symbol
        and block.path != entry
        and signatures.of(block.path, block.symbol)
    }


def _calls(
    desk: Desk, path: str, answers: list[oracle.Answer], signatures: Signatures
) -> tuple[int, int, list[str]]:
    """Attribute calls resolved for certain, those jedi resolves too, and where it disagrees."""
    view, lines = desk.view, desk.lines(path).references
    references = view.references(path)
    said: dict[tuple[int, str], set[Unit]] = {}
    for answer in answers:
        if answer.called:
            units = {unit[:2] for unit in (*answer.goes_to, *answer.inferred)}
            said.setdefault((answer.line, answer.name), set()).update(units)
    ours: dict[tuple[int, str], set[Unit]] = {}
    for use in uses(view, path).used:
        last = use.name.rpartition(".")[2]
        certain = use.certain and signatures.of(use.path, use.name)
        for ordinal in use.references if certain else ():
            if f".{last}()" in references[ordinal].chain:
                ours.setdefault((ordinal, last), set()).add((use.path, use.name))
    resolved, answered, wrong = 0, 0, []
    for (ordinal, name), units in sorted(ours.items()):
        resolved += 1
        first = lines[ordinal]
        # A chain over several lines: the name stands at or below the chain's first line.
        line = next((n for n in range(first, first + 15) if (n, name) in said), None)
        if line is None:
            continue
        answered += 1
        theirs = said[line, name]
        if not units & theirs:
            wrong.append(f"{path}:{line} {name}: {min(units)} or {min(theirs)}")
    return resolved, answered, wrong


# --- sums -------------------------------------------------------------------------------


def rows(measured: list[Measured]) -> Iterator[Row]:
    """The goals over all entries, as shares that should be small."""
    for budget in BUDGETS:
        share = fmean(each.fills[budget].share for each in measured)
        limit = 1 - GOALS[budget] if budget in GOALS else None
        note = f"{share:.3f} reached, over {len(measured)} entries"
        what = f"missed of the attainable recall at {budget:,} tokens"
        yield Row(what, 1 - share, "", limit=limit and round(limit, 2), note=note)
    precise = precision(measured, 2_000)
    note = f"precision {precise:.3f}"
    yield Row("emitted at 2,000 tokens but not used", 1 - precise, "", limit=0.2, note=note)
    resolved, wrong = sum(e.resolved for e in measured), sum(len(e.wrong) for e in measured)
    note = f"{wrong} of {resolved}, of which jedi resolves {sum(e.answered for e in measured)}"
    what = "attribute calls that jedi resolves otherwise"
    yield Row(what, wrong / max(1, resolved), "", limit=WRONG, note=note)
    if found := sizes(measured):
        enough = f"smallest budget with recall ≥ {ENOUGH}"
        yield Row("median tokens of the whole pack", found[0], "tokens", note=enough)
        yield Row("of the package's sources", found[1], "", note="median share")
        yield Row(
            "of the entry with its dependencies' skeletons", found[2], "", note="median share"
        )


def precision(measured: list[Measured], budget: int) -> float:
    """The mean over entries."""
    found = [each.fills[budget].precision for each in measured]
    return fmean(value for value in found if value is not None)


def sizes(measured: list[Measured]) -> tuple[float, float, float] | None:
    """Median tokens of whole packs at enough recall, as such and as shares; None without any."""
    chosen = []
    for each in measured:
        enough = [fill for fill in each.fills.values() if fill.recall >= ENOUGH]
        if enough:
            chosen.append((enough[0].tokens, each))
    if not chosen:
        return None
    return (
        median(tokens for tokens, _ in chosen),
        median(tokens / each.sources for tokens, each in chosen),
        median(tokens / each.skeletons for tokens, each in chosen),
    )


def table(measured: list[Measured]) -> str:
    """Recall, share and precision per corpus and overall."""
    head = "corpus        entries  gold  bound"
    head += "".join(f" | {budget:>6,}: recall share  prec" for budget in BUDGETS) + " | wrong"
    lines = [head, "-" * len(head)]
    for name in [*dict.fromkeys(each.corpus for each in measured), ""]:
        chosen = [each for each in measured if name in ("", each.corpus)]
        gold = median(len(each.used) for each in chosen)
        line = f"{name or 'all':<12}  {len(chosen):>7}  {gold:>4.0f}  "
        line += f"{median(each.bound for each in chosen):>5.0f}"
        for budget in BUDGETS:
            recall = fmean(each.fills[budget].recall for each in chosen)
            share = fmean(each.fills[budget].share for each in chosen)
            line += f" |         {recall:>6.3f} {share:.3f} {precision(chosen, budget):.3f}"
        wrong = sum(len(each.wrong) for each in chosen)
        lines.append(f"{line} | {wrong}/{sum(each.resolved for each in chosen)}")
    return "\n".join(lines) + "\n"


def benchmark() -> Iterator[Row]:
    """The rows of the benchmark over the development set."""
    yield from rows([each for name in DEVELOPMENT for each in measure(name)])


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, and write JSON."""
    from benchmarks.table import render

    parser = argparse.ArgumentParser(prog="python -m benchmarks.precision")
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help=", ".join(CORPORA))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every entry there")
    parser.add_argument("--peers", action="store_true", help="measure other tools beside")
    parser.add_argument("--only-cached", action="store_true", help="ask jedi nothing new")
    options = parser.parse_args(arguments)
    measured: list[Measured] = []
    for name in options.corpora or DEVELOPMENT:
        try:
            measured += measure(name, only_cached=options.only_cached)
        except (CorpusError, KeyError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
    print(table(measured))
    print(render("precision", list(rows(measured))))
    data: dict[str, Any] = {"entries": [asdict(each) for each in measured]}
    if options.peers:
        from benchmarks import peers

        data["peers"] = peers.compare(measured)
    if options.json:
        options.json.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
