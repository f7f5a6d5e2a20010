"""Denoising: better to leave out than to force in, and nothing is left out silently.

Five steps, each of which says what it drops and why: what only asks the question again;
what scores too low beside the best; what says nearly the same as something better; what
comes after many units of the same file; what exceeds the number of units that a pack may
be drawn from.

Near duplicates are found by the Jaccard index of their shingles (runs of five tokens;
Broder, "On the resemblance and containment of documents", 1997). It is taken exactly, of
every two texts of like length: there are few, and so the outcome depends on nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ctxbuild.model import Refusal
from ctxbuild.select.retrieval.model import Evidence, score_of

ALIKE = 0.8
"""Share of common shingles from which on two texts are near duplicates."""

SHINGLE = 5
"""Tokens of a shingle."""

_FEWEST_WORDS = 4
"""Words of a question whose repetition is no coincidence."""

Shingle = tuple[str, ...]

_TOKEN = re.compile(r"[0-9A-Za-z_]+|[^\s0-9A-Za-z_]")


class Settings(NamedTuple):
    """What is kept.

    Attributes:
        threshold: share of the best score below which a unit is noise.
        cap: most units that are kept.
        per_file: units of one file after which each further one counts as if it stood as
            many places lower as there are; 0 for no such limit.
        question: what is asked: a text that only repeats it, a ctxfile say, is no answer.
    """

    threshold: float = 0.0
    cap: int = 60
    per_file: int = 0
    question: str = ""


class Denoised(NamedTuple):
    """What is kept, best first, and what is left out with its reason."""

    kept: tuple[Evidence, ...]
    refused: tuple[Refusal, ...]


def denoise(evidence: Sequence[Evidence], settings: Settings = Settings()) -> Denoised:  # noqa: B008
    """Keeps what is good enough, each thing once, from as many files as there are.

    Args:
        evidence: in any order; `hit.rank` says which is better.
        settings: how much is kept.
    """
    ordered = sorted(evidence, key=_place)
    refused: list[Refusal] = []
    answers = _not_asking(ordered, settings.question, refused)
    heard = _above_threshold(answers, settings.threshold, refused)
    # What comes after the cap is left out anyway, unless a place before it becomes free.
    looked_at = len(heard) if settings.per_file else settings.cap
    single = without_repeats(heard, refused, looked_at)
    spread = _spread(single, settings.per_file)
    refused += [_refusal(each, "cap", str(settings.cap)) for each in spread[settings.cap :]]
    return Denoised(tuple(spread[: settings.cap]), tuple(refused))


def _place(each: Evidence) -> tuple[int, str]:
    return each.hit.rank, each.hit.unit


def _refusal(each: Evidence, why: str, detail: str) -> Refusal:
    return Refusal(each.hit.unit, why, score_of(each.hit.rank), (), detail)


def _not_asking(
    ordered: Sequence[Evidence], question: str, refused: list[Refusal]
) -> list[Evidence]:
    """What does not hold the question itself, word for word."""
    asked = _plain(question)
    if asked.count(" ") + 1 < _FEWEST_WORDS:
        return list(ordered)
    kept = []
    for each in ordered:
        if asked in _plain(each.text):
            refused.append(_refusal(each, "asks-the-same", ""))
        else:
            kept.append(each)
    return kept


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _above_threshold(
    ordered: Sequence[Evidence], threshold: float, refused: list[Refusal]
) -> list[Evidence]:
    if not ordered:
        return []
    least = threshold * score_of(ordered[0].hit.rank)
    kept = []
    for each in ordered:
        if score_of(each.hit.rank) >= least:
            kept.append(each)
        else:
            refused.append(_refusal(each, "below-threshold", f"{least:.2f}"))
    return kept


# --- near duplicates --------------------------------------------------------------------


def without_repeats(
    ordered: Sequence[Evidence], refused: list[Refusal], most: int
) -> list[Evidence]:
    """Of texts that are nearly the same the best-scored one; among equals the fullest.

    The copy that stays is the one that scores best, whichever came first. Where the
    same unit comes twice, it stays in the form that shows more, at the better score.

    Args:
        ordered: best first.
        refused: gets what is dropped; the detail is the unit that stays for it.
        most: texts after which the rest is taken as it is.
    """
    by_unit: dict[str, Evidence] = {}
    for each in ordered:
        known = by_unit.setdefault(each.hit.unit, each)
        if known is not each:
            fuller = max(known, each, key=_fidelity)
            best = min(known, each, key=_place)
            by_unit[each.hit.unit] = Evidence(best.hit, fuller.text, fuller.tokens, fuller.cut)
            refused.append(_refusal(each, "near-duplicate", known.hit.unit))
    single = sorted(by_unit.values(), key=lambda e: (e.hit.rank, *_less(e), e.hit.unit))
    kept: list[Evidence] = []
    shingles: list[frozenset[Shingle]] = []
    for place, each in enumerate(single):
        if len(kept) >= most:
            return [*kept, *single[place:]]
        own = shingles_of(each.text)
        twin = next((k for k, other in enumerate(shingles) if _is_near(other, own)), None)
        if twin is None:
            kept.append(each)
            shingles.append(own)
        else:
            refused.append(_refusal(each, "near-duplicate", kept[twin].hit.unit))
    return kept


def _fidelity(each: Evidence) -> int:
    """Tokens that are shown of a unit: its whole text, or what its cut holds."""
    return each.cut.tokens if each.cut else each.tokens


def _less(each: Evidence) -> tuple[bool, int]:
    """Sorts what is shown whole, then what shows more, to the front."""
    return each.cut is not None, -_fidelity(each)


def shingles_of(text: str) -> frozenset[Shingle]:
    """The runs of five tokens of a text; a shorter text is one run. Case and space do not count."""
    tokens = _TOKEN.findall(text.lower())
    if len(tokens) <= SHINGLE:
        return frozenset((tuple(tokens),)) if tokens else frozenset()
    return frozenset(zip(*(tokens[start:] for start in range(SHINGLE)), strict=False))


def likeness(one: frozenset[Shingle], other: frozenset[Shingle]) -> float:
    """The Jaccard index of two texts' shingles: 1.0 for equal texts, 0.0 for different ones."""
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0


def _is_near(one: frozenset[Shingle], other: frozenset[Shingle]) -> bool:
    """Whether two texts are near duplicates: never, where one has far more shingles."""
    few, many = sorted((len(one), len(other)))
    return few >= ALIKE * many and likeness(one, other) >= ALIKE


# --- diversity --------------------------------------------------------------------------


def _spread(ordered: Sequence[Evidence], per_file: int) -> list[Evidence]:
    """Moves what comes after many better units of its file behind what other files have."""
    if not per_file:
        return list(ordered)
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, int, Evidence]] = []
    for place, each in enumerate(ordered):
        before = seen[each.hit.path]
        seen[each.hit.path] += 1
        ranked.append((place * (1 + before // per_file), place, each))
    return [each for _, _, each in sorted(ranked, key=lambda item: item[:2])]
