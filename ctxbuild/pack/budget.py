"""From candidates to chosen blocks: prices every rung, fills layer by layer, recounts exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ctxbuild.errors import BudgetError
from ctxbuild.model import Block, Candidate, Rung, Verdict
from ctxbuild.pack import render
from ctxbuild.pack.fit import Choice, Headers, Offer, choose, offer
from ctxbuild.pack.forms import Texts, text_of
from ctxbuild.pack.layout import Place, arrange, keep_places
from ctxbuild.pack.tokens import Counter
from ctxbuild.select.phases import ON_DEMAND

_MAX_ROUNDS = 8
_ROOM_FOR_HEADERS = 50
"""The part of the budget (one token in so many) that keeping places may spend on headers."""

_SHARES = {"indirect": 0.15, "changes": 0.3}
"""Far files are worth little each and there are many, and so are lines on files that changed:
what they may take at most."""

_APART = frozenset({"open", "hunks", "changes", "restated"})
"""Sections that say of a file what its full text does not."""

_END = "```\n"
"""The end of most blocks."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The budget of a target.

    Attributes:
        budget: tokens of the whole context.
        reserve: tokens of it that are kept free for the answer.
        layers: tokens per layer that has a budget of its own.
        order: the layers in the order in which they are filled; () for that of the style.
        flowing: layers that take what all others leave unused, in that order.
    """

    budget: int
    reserve: int
    layers: Mapping[str, int]
    order: tuple[str, ...] = ()
    flowing: frozenset[str] = frozenset()

    @property
    def available(self) -> int:
        """Tokens that the rendered pack may have."""
        return self.budget - self.reserve


@dataclass(frozen=True, slots=True)
class Style:
    """How a pack is laid out and rendered.

    Attributes:
        before: blocks of an earlier pack whose places are kept where they can be; None
            for an order that depends on nothing else.
    """

    target: str
    layers: tuple[str, ...]
    languages: Mapping[str, str]
    layout: str = "stable"
    headers: str = "lean"
    formats: tuple[str, ...] = ("md",)
    before: tuple[Place, ...] | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """What fits: blocks in order, a verdict per candidate, the exact tokens of the text.

    Attributes:
        spent: (layer, tokens) as they were priced, in the order in which layers were filled.
        offers: what there was to choose from.
    """

    blocks: tuple[Block, ...]
    verdicts: tuple[Verdict, ...]
    tokens: int
    spent: tuple[tuple[str, int], ...] = ()
    offers: tuple[Offer, ...] = ()


def fit(
    candidates: Sequence[Candidate], texts: Texts, count: Counter, limits: Limits, style: Style
) -> Fitted:
    """Chooses forms so that the exact count of the rendered text keeps the budget.

    Prices add up exactly for the usual encodings (see `pack/render.py`). Where
    they do not, the excess of the exact count is taken off and the choice made
    again.

    Raises:
        BudgetError: pinned candidates, or the title alone, exceed the budget.
    """
    candidates, repeats = _without_repeats(candidates)
    offers = _offers(candidates, texts, count)
    headers = _headers(offers, style, count)
    if style.before is not None:
        # Chosen without a look at the places kept: so a pack that prefers itself settles.
        with suppress(BudgetError):
            room = limits.available // _ROOM_FOR_HEADERS
            return _fit(offers, repeats, headers, count, limits, style, room)
    return _fit(offers, repeats, headers, count, limits, style, 0)


def _fit(
    offers: Sequence[Offer],
    repeats: Sequence[Candidate],
    headers: Headers,
    count: Counter,
    limits: Limits,
    style: Style,
    slack: int,
) -> Fitted:
    excess = 0
    for attempt in range(_MAX_ROUNDS + 1):
        choices, spent = _fill(offers, headers, limits, style, slack, count)
        blocks = _blocks(offers, choices, count, style)
        counts = _counts(blocks, count, style)
        if max(counts) <= limits.available:
            kept = keep_places(blocks, style.before or ())
            if kept != blocks and max(others := _counts(kept, count, style)) <= limits.available:
                blocks, counts = kept, others
            whole = _shown_whole(offers, choices)
            verdicts = [_verdict(each, choices, whole, limits) for each in offers]
            verdicts += [_repeated(each) for each in repeats]
            return Fitted(
                tuple(blocks), tuple(verdicts), counts[0], tuple(spent.items()), tuple(offers)
            )
        excess = max(counts) - limits.available
        # The last attempt holds nothing but what is pinned.
        slack += limits.available if attempt + 1 == _MAX_ROUNDS else max(excess, slack // 3)
    if any(each.candidate.pinned for each in offers):
        raise _too_much_pinned(offers, style, limits.available + excess, limits.available)
    raise BudgetError(
        f"target {style.target!r}: nothing fits into {limits.available} tokens",
        "raise its budget, or lower its reserve",
    )


def _counts(blocks: Sequence[Block], count: Counter, style: Style) -> list[int]:
    """Tokens of the pack in every format that is written."""
    return count([render.rendering(f, style.target, blocks, style.headers) for f in style.formats])


def _without_repeats(
    candidates: Sequence[Candidate],
) -> tuple[list[Candidate], list[Candidate]]:
    """The first proposal of every unit, and what later layers propose again."""
    first: dict[str, Candidate] = {}
    repeats = []
    for candidate in candidates:
        known = first.setdefault(candidate.unit, candidate)
        if known.layer != candidate.layer:
            repeats.append(candidate)
    return list(first.values()), repeats


def _offers(candidates: Sequence[Candidate], texts: Texts, count: Counter) -> list[Offer]:
    parents = {c.parent for c in candidates if c.parent}
    written = [
        [text_of(texts, c, rung, hollow=c.unit not in parents) for rung in c.ladder]
        for c in candidates
    ]
    counted = iter(count([text for each in written for text in each]))
    offers = [
        offer(candidate, each, [next(counted) for _ in each])
        for candidate, each in zip(candidates, written, strict=True)
    ]
    return [
        _with_hollow(each, texts) if each.candidate.unit in parents else each for each in offers
    ]


def _with_hollow(each: Offer, texts: Texts) -> Offer:
    """What stands there if nothing below a class is shown; it may turn out so."""
    if not each.candidate.symbol:
        return each
    hollow = tuple(
        (rung, text_of(texts, each.candidate, rung, hollow=True))
        for rung in each.ladder
        if rung.form == "skeleton"
    )
    return replace(each, hollow=hollow)


def _language(candidate: Candidate, style: Style) -> str:
    if candidate.language is not None:
        return candidate.language
    return style.languages.get(candidate.path, "")


def _header_texts(candidate: Candidate, rung: Rung, style: Style) -> dict[str, str]:
    """Header id to what stands above (and below) a candidate in a form."""
    layer, section, path = candidate.layer, candidate.section, candidate.path
    language = _language(candidate, style)
    before, after = render.wrap(language, "")
    if style.headers == "full":
        lines = " (lines {}-{})".format(*candidate.lines) if candidate.lines else ""
        numbered = f"\n## 999. {path} :: {candidate.symbol}{lines} [imported-by, score: 0.9999]\n\n"
        return {f"block:{candidate.unit}": numbered + before + after}
    if rung.form in render.LINE_FORMS:
        return {f"list:{layer}:{section}": render.list_header(section)}
    if section in render.SECTIONS_AS_PROSE:
        above = {f"prose:{layer}:{section}": render.parts_header(section)}
        if header := render.source_header(section, candidate.symbol):
            above[f"source:{layer}:{section}:{path}:{candidate.symbol}"] = header
        return above
    if candidate.symbol:
        return {
            f"parts:{layer}:{section}:{language}": render.parts_header(section) + before + after,
            f"path:{layer}:{section}:{path}": render.path_line(path, language),
        }
    return {
        f"file:{layer}:{path}:{rung.form}": render.file_header(path, rung.form) + before + after
    }


def _headers(offers: Sequence[Offer], style: Style, count: Counter) -> Headers:
    texts: dict[str, str] = {}
    above: dict[tuple[str, Rung], tuple[str, ...]] = {}
    for each in offers:
        for rung in each.ladder:
            found = _header_texts(each.candidate, rung, style)
            texts.update(found)
            above[each.candidate.unit, rung] = tuple(found)
    # A header begins with an empty line, which the end of what is above it swallows.
    end, *whole = count([_END, *(_END + text for text in texts.values())])
    costs = {header: tokens - end for header, tokens in zip(texts, whole, strict=True)}
    return Headers(lambda candidate, rung: above[candidate.unit, rung], costs)


def _fill(
    offers: Sequence[Offer],
    headers: Headers,
    limits: Limits,
    style: Style,
    slack: int,
    count: Counter,
) -> tuple[dict[str, int], dict[str, int]]:
    """Rungs per unit and tokens per layer: filled layer by layer, twice where budgets flow.

    First every layer gets its slice. Then those that may are filled again, each with what
    all others leave unused: so a slice is never taken from who needs it.
    """
    left = limits.available - count([render.title(style.target)])[0]
    by_layer: dict[str, list[Offer]] = {name: [] for name in limits.order or style.layers}
    for each in offers:
        by_layer[each.candidate.layer].append(each)
    pinned = {name: _pinned(each, headers) for name, each in by_layer.items()}
    owed = sum(pinned.values())
    if owed and owed > left:
        raise _too_much_pinned(offers, style, owed, left)
    left = max(left - slack, owed)
    rungs, spent = _filled(by_layer, headers, limits, style, left, pinned, frozenset())
    if limits.flowing and sum(spent.values()) < left:
        claims = {name: max(spent[name], pinned[name]) for name in by_layer}
        rungs, spent = _filled(by_layer, headers, limits, style, left, claims, limits.flowing)
    return rungs, spent


def _filled(
    by_layer: Mapping[str, list[Offer]],
    headers: Headers,
    limits: Limits,
    style: Style,
    left: int,
    claims: Mapping[str, int],
    flowing: frozenset[str],
) -> tuple[dict[str, int], dict[str, int]]:
    """One pass over the layers, in their order.

    Args:
        left: tokens for all.
        claims: per layer what those before it must leave for it.
        flowing: layers that may take more than their slice.
    """
    offers = [each for offered in by_layer.values() for each in offered]
    owed = sum(claims.values())
    rungs: dict[str, int] = {}
    spent: dict[str, int] = {}
    for name, offered in by_layer.items():
        shown = _shown_whole(offers, rungs)
        each = [o for o in offered if o.candidate.pinned or not _is_part(o.candidate, shown)]
        owed -= claims[name]
        slice_ = left if name in flowing else limits.layers.get(name, left)
        limit = min(left - owed, slice_)
        choice = choose(each, headers, limit, _SHARES)
        if choice.tokens > limit:  # no choice exceeds it but that of what is pinned
            raise _too_much_pinned(each, style, choice.tokens, limit)
        rungs.update(choice.rungs)
        spent[name] = choice.tokens
        left -= choice.tokens
    return rungs, spent


def _shown_whole(offers: Sequence[Offer], rungs: Mapping[str, int]) -> set[str]:
    """Files that earlier layers show in full."""
    return {
        o.candidate.path
        for o in offers
        if not o.candidate.symbol
        and (rung := rungs.get(o.candidate.unit)) is not None
        and o.ladder[rung].form == "full"
    }


def _is_part(candidate: Candidate, shown: set[str]) -> bool:
    """Whether a candidate only says something of a file that is shown in full."""
    return candidate.path in shown and candidate.section not in _APART


def _pinned(offers: Sequence[Offer], headers: Headers) -> int:
    pinned: Choice = choose([o for o in offers if o.candidate.pinned], headers, 0)
    return pinned.tokens


def _too_much_pinned(offers: Sequence[Offer], style: Style, needs: int, left: int) -> BudgetError:
    names = [f"{o.candidate.unit} ({o.costs[-1]})" for o in offers if o.candidate.pinned]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return BudgetError(
        f"target {style.target!r}: what is pinned needs {needs} tokens, {needs - left} more than "
        f"there are: {shown}",
        "raise the budget, or pin less",
    )


def _blocks(
    offers: Sequence[Offer],
    rungs: Mapping[str, int],
    count: Counter,
    style: Style,
) -> list[Block]:
    from hashlib import sha256

    shown_parents = {o.candidate.parent for o in offers if o.candidate.unit in rungs}
    kept = [(o, rungs[o.candidate.unit]) for o in offers if o.candidate.unit in rungs]
    hollow: dict[str, str] = {}
    for each, rung in kept:
        text = dict(each.hollow).get(each.ladder[rung])
        if text is not None and each.candidate.unit not in shown_parents:
            hollow[each.candidate.unit] = text
    counts = dict(zip(hollow, count(list(hollow.values())) if hollow else (), strict=True))
    chosen = []
    for each, rung in kept:
        candidate = each.candidate
        text = hollow.get(candidate.unit, each.texts[rung])
        tokens = counts.get(candidate.unit, each.costs[rung])
        chosen.append(
            Block(
                unit=candidate.unit,
                path=candidate.path,
                symbol=candidate.symbol,
                form=each.ladder[rung].form,
                layer=candidate.layer,
                section=candidate.section,
                language=_language(candidate, style),
                text=text,
                tokens=tokens,
                digest=sha256(text.encode()).hexdigest(),
                score=candidate.score,
                reasons=candidate.reasons,
                lines=_lines(candidate, each.ladder[rung]),
            )
        )
    order = {o.candidate.unit: o.candidate.order for o in offers}
    return arrange(chosen, order, style.layers, style.layout)


def _lines(candidate: Candidate, rung: Rung) -> tuple[int, int] | None:
    """The candidate's lines, unless they are those of a cut and the whole is shown instead."""
    cut = rung.text is None and any(each.text is not None for each in candidate.ladder)
    return None if cut else candidate.lines


def _verdict(each: Offer, rungs: Mapping[str, int], whole: set[str], limits: Limits) -> Verdict:
    candidate, rung = each.candidate, rungs.get(each.candidate.unit)
    best = rung == len(each.ladder) - 1
    return Verdict(
        unit=candidate.unit,
        layer=candidate.layer,
        verdict="dropped" if rung is None else "kept" if best else "trimmed",
        form=None if rung is None else each.ladder[rung].form,
        tokens=0 if rung is None else each.costs[rung],
        costs=tuple((r.form, cost) for r, cost in zip(each.ladder, each.costs, strict=True)),
        score=candidate.score,
        reasons=candidate.reasons,
        why="" if best else _why(each, rungs, whole, limits),
    )


def _repeated(candidate: Candidate) -> Verdict:
    unit, layer = candidate.unit, candidate.layer
    reasons, score = candidate.reasons, candidate.score
    return Verdict(unit, layer, "dropped", None, 0, (), score, reasons, "duplicate")


def _why(each: Offer, rungs: Mapping[str, int], whole: set[str], limits: Limits) -> str:
    """What kept a candidate from its best form."""
    candidate = each.candidate
    if candidate.unit not in rungs:
        if each.ladder[0].phase >= ON_DEMAND:
            return "no-member"
        if candidate.only_with and not any(unit in rungs for unit in candidate.only_with):
            return "not-named"
        if not candidate.pinned and _is_part(candidate, whole):
            return "duplicate"
    if candidate.section in _SHARES:
        return "section-share"
    return "layer-budget" if candidate.layer in limits.layers else "budget"
