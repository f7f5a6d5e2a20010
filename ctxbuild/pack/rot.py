"""Signs that the evidence in a pack has gone bad: too much, weak, one-sided, old, contradictory.

A *chunk* is what stands together: a definition, with its class where it is a member,
or a part of a document. The detectors look at what a pack shows in full or as a slice;
skeletons and one-liners around it are no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxbuild.model import Rot, RotKind
from ctxbuild.select.retrieval.denoise import likeness, shingles_of
from ctxbuild.source.paths import shown

KINDS: tuple[RotKind, ...] = (
    "OVERSIZED",
    "NOISE",
    "DUPLICATION",
    "DOMINATION",
    "STALE",
    "CONFLICTING",
)

_EVIDENCE = frozenset({"full", "slice"})
_VERSIONS = 0.25
"""Share of common shingles from which on two functions of one name are versions of each other."""

_FEWEST_WORDS = 3
"""Words that a rule needs besides its modal to be compared with another."""

_LONGEST_RULE = 400
_CONSTANT = re.compile(
    r"^(?:export |const |final |static |public )*([A-Z][A-Z0-9_]+)\b[^=\n]{0,80}=[ \t]*"
    r"(-?[0-9][\w.]*|true|false|null|none|\"[^\"\n]*\"|'[^'\n]*')[ \t]*;?[ \t]*(?:$|#|//)",
    re.MULTILINE | re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\w)[^.!?\n]+)*")
_WRAP = re.compile(r"\n(?![ \t]*(?:[-*+#>|]|[0-9]+[.)]|\n|$))")
"""The end of a line within a paragraph or an item of a list."""

_MODAL = re.compile(r"\b(?:MUST|SHALL|SHOULD|MAY|ALWAYS|NEVER|must|shall|always|never)\b")
_NEGATIONS = frozenset({"not", "never", "no", "cannot"})
_MODALS = frozenset({"must", "shall", "should", "may", "always", "do"})


class Chunk(NamedTuple):
    """One piece of evidence, as the detectors see it; what is not known may be left out.

    Attributes:
        form: "full" or "slice" for evidence.
        question: what it was found for, "" if that is not known.
        fresh: whether its source still says what it shows.
    """

    unit: str
    path: str = ""
    symbol: str = ""
    text: str = ""
    tokens: int = 0
    score: float = 0.0
    form: str = "full"
    question: str = ""
    fresh: bool = True


class Thresholds(NamedTuple):
    """What is still sound.

    Attributes:
        oversized: share of the budget that a pack may fill.
        noise: share of the best score that the lowest one must have.
        duplication: chunks that one file may have.
        domination: share of a pack's evidence that one chunk may have.
    """

    oversized: float = 0.9
    noise: float = 0.3
    duplication: int = 2
    domination: float = 0.6


def find_rot(
    chunks: Iterable[Chunk],
    tokens: int,
    budget: int,
    thresholds: Thresholds = Thresholds(),  # noqa: B008
    question: str = "",
) -> tuple[Rot, ...]:
    """Every sign of rot, in the order of `KINDS`.

    Args:
        chunks: the evidence of a pack; other forms than "full" and "slice" are passed over.
        tokens: of the whole pack.
        budget: what the pack may have; nothing fits into 0, and nothing is divided by it.
        thresholds: what is still sound.
        question: what the pack answers, "" if that is not known.
    """
    evidence = [chunk for chunk in chunks if chunk.form in _EVIDENCE]
    found = [
        *_oversized(tokens, budget, thresholds.oversized),
        *_noise(evidence, thresholds.noise),
        *_duplication(evidence, thresholds.duplication),
        *_domination(evidence, tokens, thresholds.domination),
        *find_stale(evidence, question),
        *_conflicting(evidence),
    ]
    return tuple(found)


def _oversized(tokens: int, budget: int, limit: float) -> Iterator[Rot]:
    if tokens > limit * budget:
        share = tokens / budget if budget > 0 else float(tokens)
        message = f"{tokens:,} of {budget:,} tokens, more than {limit:g} of the budget"
        yield Rot("OVERSIZED", message, (), round(share, 4), limit)


def _noise(evidence: Sequence[Chunk], limit: float) -> Iterator[Rot]:
    best = max((chunk.score for chunk in evidence), default=0.0)
    weak = [chunk.unit for chunk in evidence if chunk.score < limit * best]
    if weak:
        share = min(chunk.score for chunk in evidence) / best
        message = f"{_listed(weak)}: below {limit:g} of the best score"
        yield Rot("NOISE", message, tuple(weak), round(share, 4), limit)


def _duplication(evidence: Sequence[Chunk], limit: int) -> Iterator[Rot]:
    by_path: dict[str, dict[str, None]] = {}
    for chunk in evidence:
        together = chunk.symbol.partition(".")[0] or chunk.unit
        by_path.setdefault(chunk.path, {})[together] = None
    many = {path: len(names) for path, names in by_path.items() if len(names) > limit}
    if many:
        units = tuple(chunk.unit for chunk in evidence if chunk.path in many)
        files = _listed([f"{path} ({count})" for path, count in many.items()])
        message = f"{files}: more than {limit} chunks of one file"
        yield Rot("DUPLICATION", message, units, float(max(many.values())), float(limit))


def _domination(evidence: Sequence[Chunk], tokens: int, limit: float) -> Iterator[Rot]:
    # Of one chunk alone there is nothing that it could dominate.
    if len(evidence) < 2 or tokens <= 0:
        return
    for chunk in evidence:
        if chunk.tokens > limit * tokens:
            message = f"{shown(chunk.unit)}: {chunk.tokens:,} of {tokens:,} tokens, more than"
            share = round(chunk.tokens / tokens, 4)
            yield Rot("DOMINATION", f"{message} {limit:g} of the pack", (chunk.unit,), share, limit)


def find_stale(chunks: Iterable[Chunk], question: str = "") -> tuple[Rot, ...]:
    """Evidence whose source has changed since, or that was found for another question.

    Args:
        chunks: as for `find_rot`.
        question: what is asked now, "" if that is not known.
    """
    evidence = [chunk for chunk in chunks if chunk.form in _EVIDENCE]
    changed = [chunk.unit for chunk in evidence if not chunk.fresh]
    other = [c.unit for c in evidence if question and c.question and c.question != question]
    found = (
        (changed, "the source has changed since"),
        (other, "was found for another question"),
    )
    return tuple(
        Rot("STALE", f"{_listed(units)}: {what}", tuple(units), float(len(units)))
        for units, what in found
        if units
    )


def _listed(units: Sequence[str]) -> str:
    rest = f" and {len(units) - 3} more" if len(units) > 3 else ""
    return ", ".join(shown(unit) for unit in units[:3]) + rest


# --- contradictions ---------------------------------------------------------------------


def _conflicting(evidence: Sequence[Chunk]) -> Iterator[Rot]:
    yield from _versions(evidence)
    yield from _said_twice(evidence, _constants, "has the values")
    yield from _said_twice(evidence, _rules, "is said in ways that contradict each other:")


def _versions(evidence: Sequence[Chunk]) -> Iterator[Rot]:
    """Definitions of one name in several files that are alike and not the same."""
    by_symbol: dict[str, list[Chunk]] = {}
    for chunk in evidence:
        if chunk.symbol:
            by_symbol.setdefault(chunk.symbol, []).append(chunk)
    for symbol, same in by_symbol.items():
        shingles = [shingles_of(chunk.text) for chunk in same]
        for place, chunk in enumerate(same):
            for before in range(place):
                alike = likeness(shingles[before], shingles[place])
                if same[before].path != chunk.path and _VERSIONS <= alike < 1.0:
                    units = (same[before].unit, chunk.unit)
                    message = f"two versions of {symbol}: {_listed(units)}"
                    yield Rot("CONFLICTING", message, units, round(alike, 4), _VERSIONS)


_Sayings = Callable[[Chunk], Iterator[tuple[str, str]]]


def _said_twice(evidence: Sequence[Chunk], sayings: _Sayings, what: str) -> Iterator[Rot]:
    """What several chunks say of the same thing, and not the same of it."""
    said: dict[str, dict[str, str]] = {}
    for chunk in evidence:
        for about, value in sayings(chunk):
            said.setdefault(about, {}).setdefault(value, chunk.unit)
    for about, values in said.items():
        units = tuple(dict.fromkeys(values.values()))
        if len(values) > 1 and len(units) > 1:
            listed = " and ".join(shown(value) for value in list(values)[:3])
            message = f"{shown(about)} {what} {listed}: {_listed(units)}"
            yield Rot("CONFLICTING", message, units, float(len(values)), 1.0)


def _constants(chunk: Chunk) -> Iterator[tuple[str, str]]:
    """Constants at the margin with their literal values."""
    if "." in chunk.symbol:
        return
    for match in _CONSTANT.finditer(chunk.text):
        if match[1].isupper() and len(match[1]) > 2:
            yield match[1], match[2]


def _rules(chunk: Chunk) -> Iterator[tuple[str, str]]:
    """Rules of prose: what they are about, and what they say of it (yes or no, and numbers)."""
    if chunk.symbol:
        return
    for sentence in _SENTENCE.findall(_WRAP.sub(" ", chunk.text)):
        if len(sentence) > _LONGEST_RULE or not _MODAL.search(sentence):
            continue
        words = re.findall(r"[0-9][0-9.,_]*|\w+", sentence.lower().replace("n't", " not"))
        negated = sum(word in _NEGATIONS for word in words) % 2
        about = [w for w in words if w not in _NEGATIONS and w not in _MODALS]
        numbers = [word for word in about if word[0].isdigit()]
        subject = " ".join("#" if word[0].isdigit() else word for word in about)
        if len(about) - len(numbers) >= _FEWEST_WORDS:
            yield subject, " ".join(["no" if negated else "yes", *numbers])


# --- freshness --------------------------------------------------------------------------


def is_fresh(text: str, source: str) -> bool:
    """Whether a file still holds the lines of a shown text, in their order.

    Args:
        text: as shown; `...` stands for what is left out, indentation does not count.
        source: the file as it is now.
    """
    rows = iter(row.strip() for row in source.split("\n"))
    wanted = (row.strip() for row in text.split("\n"))
    return all(row in ("", "...") or row in rows for row in wanted)


def by_kind(found: Iterable[Rot], forbidden: Iterable[str]) -> tuple[Rot, ...]:
    """Of some rot what is forbidden."""
    kinds = frozenset(forbidden)
    return tuple(rot for rot in found if rot.kind in kinds)
