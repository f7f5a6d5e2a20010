"""What a build measures of itself, and what became of the builds of a target.

The definitions are those of docs/replay.md. Everything is computed from plans and
packs, and from the marks that callers gave; nothing is estimated by a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxbuild.model import Candidate
    from ctxbuild.pack.planning import Planned
    from ctxbuild.source.ctxfile import Layer

FINDINGS = "findings"
"""The section of a memory layer's findings."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Facts that must stand in a pack, and how many of them do not.

    Attributes:
        pins, findings: how many were proposed.
        pins_lost, findings_lost: how many of them are shortened or left out.
    """

    pins: int = 0
    findings: int = 0
    pins_lost: int = 0
    findings_lost: int = 0

    @property
    def critical(self) -> int:
        """How many there are."""
        return self.pins + self.findings

    @property
    def lost(self) -> int:
        """How many of them were lost."""
        return self.pins_lost + self.findings_lost


def measured(made: Planned, title: int) -> dict[str, Any]:
    """The metrics of a build as plain data.

    Args:
        made: its plan.
        title: tokens of the pack's title.

    Returns:
        `tokens`: exact count of the pack. `estimated`: what the budget was charged while
        choosing: the price of every block and header, counted one by one. `budget`,
        `reserve`: of the target. `blocks`: how many; `mean`: tokens of one. `retrieval`:
        share of the blocks' tokens that comes from layers that search. `layers`: tokens
        of the blocks by layer. `trimmed`, `dropped`: candidates in a lesser form, and
        left out. `pins`, `findings`: how many were proposed; `pins_lost`,
        `findings_lost`: how many of those are not there in full, 0 in every build.
    """
    plan, blocks = made.plan, made.fitted.blocks
    by_layer: Counter[str] = Counter()
    for block in blocks:
        by_layer[block.layer] += block.tokens
    total = sum(by_layer.values())
    searched = sum(
        by_layer[layer.name] for layer in made.gathered.target.layers if _searches(layer)
    )
    verdicts = Counter(verdict.verdict for verdict in plan.verdicts)
    return {
        "tokens": plan.tokens,
        "estimated": title + sum(tokens for _, tokens in made.fitted.spent),
        "budget": plan.budget,
        "reserve": plan.reserve,
        "blocks": len(blocks),
        "mean": round(total / len(blocks), 1) if blocks else 0.0,
        "retrieval": round(searched / total, 4) if total else 0.0,
        "layers": {name: by_layer[name] for name, _ in made.gathered.proposals},
        "trimmed": verdicts["trimmed"],
        "dropped": verdicts["dropped"],
        **asdict(lost(made)),
    }


def _searches(layer: Layer) -> bool:
    """Whether what a layer shows was found for a question or a task."""
    options = dict(layer.options)
    asked = options.get("about") or options.get("task")
    return layer.source == "question" or bool(asked)


def lost(made: Planned) -> Lost:
    """What must stand in a pack and does not."""
    best = {verdict.unit: verdict.verdict == "kept" for verdict in made.plan.verdicts[::-1]}
    shown = {block.unit for block in made.fitted.blocks}
    proposed: list[Candidate] = [
        each for _, proposal in made.gathered.proposals for each in proposal.candidates
    ]
    pins = {each.unit for each in proposed if each.pinned}
    findings = {each.unit for each in proposed if each.section == FINDINGS}
    return Lost(
        len(pins),
        len(findings),
        sum(not best.get(unit, False) for unit in pins),
        len(findings - shown),
    )


# --- what became of them ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured and said of one build.

    Attributes:
        marks: in the order given.
    """

    target: str
    lost: Lost
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of the builds of one target.

    Attributes:
        attempts: tasks that ended in success or failure; retries on the way are part of one.
        first_pass: attempts that succeeded without a retry.
        retries: how many there were.
        open: whether retries stand at the end, of a task that has not ended.
        critical, lost: pins and findings of all builds, and how many were lost.
    """

    target: str
    builds: int
    marked: int
    attempts: int
    successes: int
    failures: int
    first_pass: int
    retries: int
    open: bool
    critical: int
    lost: int

    def data(self) -> dict[str, Any]:
        """As plain data, with shares; a share of nothing is None."""
        return {
            **asdict(self),
            "first_pass_share": _share(self.first_pass, self.attempts),
            "failure_share": _share(self.failures, self.attempts),
            "retries_per_attempt": _share(self.retries, self.attempts),
            "drop_rate": _share(self.lost, self.critical),
        }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def standings(outcomes: Iterable[Outcome]) -> tuple[Standing, ...]:
    """What became of the builds, target by target in the order of their first builds.

    Args:
        outcomes: oldest first.
    """
    by_target: dict[str, list[Outcome]] = {}
    for each in outcomes:
        by_target.setdefault(each.target, []).append(each)
    return tuple(_standing(target, found) for target, found in by_target.items())


def _standing(target: str, outcomes: Sequence[Outcome]) -> Standing:
    marks = [mark for each in outcomes for mark in each.marks]
    successes = failures = first_pass = waiting = 0
    for mark in marks:
        if mark == "retry":
            waiting += 1
            continue
        successes += mark == "success"
        failures += mark == "failure"
        first_pass += mark == "success" and not waiting
        waiting = 0
    return Standing(
        target=target,
        builds=len(outcomes),
        marked=sum(bool(each.marks) for each in outcomes),
        attempts=successes + failures,
        successes=successes,
        failures=failures,
        first_pass=first_pass,
        retries=marks.count("retry"),
        open=bool(waiting),
        critical=sum(each.lost.critical for each in outcomes),
        lost=sum(each.lost.lost for each in outcomes),
    )
