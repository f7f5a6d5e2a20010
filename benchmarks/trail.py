"""One target from commit to commit: what stays a warm prefix, and what reading it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ctxbuild.compare.artifact import Artifact, Cause, Head, Shown
from ctxbuild.compare.delta import appendix
from ctxbuild.compare.prefix import common_prefix
from ctxbuild.compare.prices import Price, compare, prompt
from ctxbuild.model import Block, Pack
from ctxbuild.pack import render
from ctxbuild.pack.tokens import counter

PROMPTS = 5  # after each commit
SESSION = 10  # commits; then another one begins, with nothing in the cache
TALKS = (0, 500)  # tokens of a prompt and its answer, which stay in the context behind the pack


@dataclass(slots=True)
class Bill:
    """Dollars for one target's sessions over all commits, by how its reader keeps up.

    Attributes:
        fresh: each pack anew, in the old one's place.
        cheaper: by deltas, or anew where that is cheaper for the rest of the session.
        always: by nothing but deltas.
        anew: how often the second began anew.
    """

    fresh: float = 0.0
    cheaper: float = 0.0
    always: float = 0.0
    anew: int = 0


@dataclass(slots=True)
class Trail:
    """What became of one target over all commits.

    Attributes:
        retained: share of each changed pack that is a prefix of the one before it.
        bound: the same for the best order of its blocks, which knows the change.
        followed: share of the earlier pack and its delta together that is the pack.
        broken: section, form and kind of change of what broke the prefix.
        untouched, kept: commits that touched nothing the pack uses, and those of them
            that left it identical.
        grown: what is in the context at the end of each session that follows by nothing
            but deltas, by tokens of the pack.
        bills: by tokens of a prompt and its answer.
    """

    steps: int = 0
    same: int = 0
    retained: list[float] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    followed: list[float] = field(default_factory=list)
    broken: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    untouched: int = 0
    kept: int = 0
    grown: list[float] = field(default_factory=list)
    bills: dict[int, Bill] = field(default_factory=lambda: {talk: Bill() for talk in TALKS})


@dataclass(frozen=True, slots=True)
class Step:
    """From one pack of a target to the next.

    Attributes:
        tokens: of the next one.
        shared: tokens of their common prefix.
        delta: tokens of what turns one into the other; 0 where they are the same.
    """

    tokens: int
    shared: int
    delta: int


class Session:
    """Pays for a target with so much talk behind its pack."""

    def __init__(self, price: Price, talk: int, bill: Bill) -> None:
        self._price, self._talk, self._bill = price, talk, bill
        self._cheaper = 0  # tokens of the pack and its deltas, by whichever costs less
        self.always = 0  # the same, by nothing but deltas

    def begin(self, tokens: int) -> None:
        """With nothing in the cache."""
        self._cheaper = self.always = tokens
        cost = self._prompts(0, tokens)
        self._bill.fresh += cost
        self._bill.cheaper += cost
        self._bill.always += cost

    def go_on(self, step: Step, place: int) -> None:
        """After one more commit, the one at that place of the session."""
        bill, talk = self._bill, self._talk * PROMPTS * place
        # A pack that changed breaks the prefix before the talk, which is written anew.
        anew = (step.shared, step.tokens - step.shared + talk)
        fresh = self._prompts(*(anew if step.shared < step.tokens else (step.tokens + talk, 0)))
        choice = compare(
            self._price,
            old=self._cheaper,
            new=step.tokens,
            shared=step.shared,
            delta=step.delta,
            history=talk,
            turns=PROMPTS * (SESSION - place),
        )
        bill.fresh += fresh
        bill.always += self._prompts(self.always + talk, step.delta)
        self.always += step.delta
        if step.delta and choice.fresh_is_cheaper:
            bill.anew += 1
            bill.cheaper += fresh
            self._cheaper = step.tokens
        else:
            bill.cheaper += self._prompts(self._cheaper + talk, step.delta)
            self._cheaper += step.delta

    def _prompts(self, cached: int, new: int) -> float:
        """Those after one commit: the first one writes, all others read."""
        first, other = prompt(self._price, cached, new), prompt(self._price, cached + new, 0)
        return first + (PROMPTS - 1) * other


class Reader:
    """Follows one target from pack to pack.

    Args:
        price: of the model that reads.
        best: also find what the best order would retain.
    """

    def __init__(self, price: Price, *, best: bool = False) -> None:
        self.trail = Trail()
        self._best = best
        self._before: Pack | None = None
        self._number = 0
        self._sessions = [Session(price, talk, self.trail.bills[talk]) for talk in TALKS]

    def step(self, pack: Pack, touched: frozenset[str]) -> None:
        """Takes the next pack.

        Args:
            pack: the target's pack after the commit.
            touched: paths that the commit touched.
        """
        before, self._before = self._before, pack
        place = self._number % SESSION
        self._number += 1
        step = None if before is None else self._compared(before, pack, touched)
        for session in self._sessions:
            if step is None or place == 0:
                session.begin(pack.tokens)
            else:
                session.go_on(step, place)
        if place == SESSION - 1:
            self.trail.grown.append(self._sessions[0].always / pack.tokens)

    def _compared(self, before: Pack, pack: Pack, touched: frozenset[str]) -> Step:
        trail = self.trail
        trail.steps += 1
        same = before.digest == pack.digest
        trail.same += same
        if not touched & {block.path for block in before.blocks}:
            trail.untouched += 1
            trail.kept += same
        if same:
            return Step(pack.tokens, pack.tokens, 0)
        text = appendix(artifact_of(before), artifact_of(pack))
        shared, delta = _count(pack, [common_prefix(before.text, pack.text), text])
        trail.retained.append(shared / pack.tokens)
        trail.followed.append(before.tokens / (before.tokens + delta))
        if self._best:
            trail.bound.append(best_order(before, pack))
        trail.broken[_cause(before, pack)] += 1
        return Step(pack.tokens, shared, delta)


def _count(pack: Pack, texts: Sequence[str]) -> list[int]:
    return counter(pack.tokenizer)(texts)


def best_order(before: Pack, after: Pack) -> float:
    """The most that any order of the blocks could retain, which no layout can know.

    The unchanged blocks stand first. Behind them stands in both packs the block, among
    those that changed, whose texts have the longest beginning in common.
    """
    old = {block.unit: block for block in before.blocks}
    same = [block for block in after.blocks if _reads_alike(old.get(block.unit), block)]
    kept = {block.unit for block in same}
    changed = [block for block in after.blocks if block.unit not in kept]
    both = [block for block in changed if block.unit in old]
    first = max(both, key=lambda b: len(common_prefix(old[b.unit].text, b.text)), default=None)
    lead = [] if first is None else [first.unit]
    texts = [
        _in_order([*same, *_led([b for b in pack.blocks if b.unit not in kept], lead)], pack)
        for pack in (before, after)
    ]
    shared, whole = _count(after, [common_prefix(*texts), texts[1]])
    return shared / whole


def _reads_alike(was: Block | None, block: Block) -> bool:
    names = ("layer", "section", "form", "text")
    return was is not None and all(getattr(was, name) == getattr(block, name) for name in names)


def _led(blocks: Iterable[Block], lead: Sequence[str]) -> list[Block]:
    return sorted(blocks, key=lambda block: block.unit not in lead)


def _in_order(blocks: Sequence[Block], pack: Pack) -> str:
    return render.markdown(pack.target, blocks)


def _cause(before: Pack, after: Pack) -> tuple[str, str, str]:
    """What stands where the prefix ends."""
    known = {block.unit: block for block in before.blocks}
    old = [*before.blocks, None]
    for block, was in zip(after.blocks, old, strict=False):
        if was is None or (was.unit, was.text) != (block.unit, block.text):
            section = block.section or block.layer
            if block.unit not in known:
                return section, block.form, "new"
            changed = known[block.unit].text != block.text
            return section, block.form, "changed" if changed else "something before it went"
    return "", "", "something behind it went"


def artifact_of(pack: Pack) -> Artifact:
    """The pack as its artifact would be read back, without lines."""
    head = Head(pack.target, pack.digest, pack.tokenizer, pack.budget, pack.reserve, pack.tokens)
    return Artifact(head, tuple(_shown(block) for block in pack.blocks))


def _shown(block: Block) -> Shown:
    causes = tuple(Cause(reason.kind, reason.unit) for reason in block.reasons)
    fields = {name: getattr(block, name) for name in Shown.__slots__ if name != "lines"}
    return Shown(**{**fields, "reasons": causes, "lines": None})


def together(one: Trail, other: Trail) -> Trail:
    """Both, as if they were one target's."""
    names = [name for name in Trail.__slots__ if name != "bills"]
    sums = {name: getattr(one, name) + getattr(other, name) for name in names}
    bills = {talk: _sum(one.bills[talk], other.bills[talk]) for talk in TALKS}
    return Trail(**sums, bills=bills)


def _sum(one: Bill, other: Bill) -> Bill:
    return Bill(*(getattr(one, name) + getattr(other, name) for name in Bill.__slots__))
