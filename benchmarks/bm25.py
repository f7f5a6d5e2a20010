"""What packets are compared with: sections ranked by BM25, each shown whole.

BM25 (Robertson and Zaragoza, 2009) over the set's own sections, where a word of a
title counts several times, and besides what the section's best sentence alone says:
what is asked for stands in one sentence more often than spread over many. The figures
depend on every section of the set, so an edit anywhere may change every order: a reason
not to build packets that way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple

from ctxbuild.facts.document import Document, Section
from ctxbuild.facts.words import words

_K1 = 1.2
_B = 0.75
_TITLE = 4
"""How often a word of the section's own title counts."""
_ABOVE = 1
"""How often a word of a title above it counts."""
_SENTENCE = 0.6
"""What the best sentence weighs beside the section."""
_TITLE_IN_SENTENCE = 0.5
"""What a word counts for a sentence that only the title above it says."""
_MOST = 64
"""Sections of a ranking: whoever reads on after them has not found what he looks for."""


class Terms(NamedTuple):
    """The words of one section.

    Attributes:
        counts: word to how often it counts, sorted by word.
        length: the sum of the counts.
        title: places in `counts` of the words of the title.
        sentences: per sentence: places in `counts` of its words.
    """

    slug: str
    counts: tuple[tuple[str, int], ...]
    length: int
    title: tuple[int, ...] = ()
    sentences: tuple[tuple[int, ...], ...] = ()


class Ranked(NamedTuple):
    """One section of a ranking.

    Attributes:
        strength: tenths of the best section's score, from 1 to 10.
    """

    path: str
    slug: str
    strength: int


def terms_of(document: Document) -> tuple[Terms, ...]:
    """The words of every section of a document."""
    return tuple(_terms(section, document.title) for section in document.sections)


def _terms(section: Section, title: str) -> Terms:
    counts = Counter(words(section.text))
    *above, own = section.heading.titles or (title,)
    for each in above:
        for word in words(each):
            counts[word] += _ABOVE
    named = words(own)
    for word in named:
        counts[word] += _TITLE
    sentences = [words(f"{each.lead} {each.text}") for each in section.items if not each.language]
    for sentence in sentences:
        for word in sentence:
            counts.setdefault(word, 1)  # a lead of the section above
    places = {word: place for place, word in enumerate(sorted(counts))}
    return Terms(
        section.slug,
        tuple(sorted(counts.items())),
        counts.total(),
        _places(named, places),
        tuple(_places(sentence, places) for sentence in sentences),
    )


def _places(found: Iterable[str], places: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sorted({places[word] for word in found}))


def rank(question: str, sections: Iterable[tuple[str, Terms]]) -> tuple[Ranked, ...]:
    """The sections that share words with a question, the best first.

    Args:
        question: the task's words.
        sections: (path, words) of every section, in a fixed order that decides between equals.
    """
    every = list(sections)
    scored = _scores(tuple(dict.fromkeys(words(question))), [terms for _, terms in every])
    hit = (place for place, score in enumerate(scored) if score > 0)
    order = sorted(hit, key=lambda place: (-scored[place], place))[:_MOST]
    return tuple(
        Ranked(
            every[place][0],
            every[place][1].slug,
            max(1, round(10 * scored[place] / scored[order[0]])),
        )
        for place in order
    )


def _scores(asked: Sequence[str], every: Sequence[Terms]) -> list[float]:
    if not every:
        return []
    wanted = frozenset(asked)
    # Per section: the asked words it has, by their place in its words.
    held = [
        {place: (word, n) for place, (word, n) in enumerate(terms.counts) if word in wanted}
        for terms in every
    ]
    holders = Counter(word for hits in held for word, _ in hits.values())
    rarity = {
        word: log(1 + (len(every) - holders[word] + 0.5) / (holders[word] + 0.5)) for word in asked
    }
    mean = sum(terms.length for terms in every) / len(every) or 1.0
    scored = []
    for terms, hits in zip(every, held, strict=True):
        norm = _K1 * (1 - _B + _B * terms.length / mean)
        whole = sum(rarity[word] * n * (_K1 + 1) / (n + norm) for word, n in hits.values())
        # Beyond nine digits the order of a sum's terms shows.
        scored.append(round(whole + _SENTENCE * _best(terms, hits, rarity), 9))
    return scored


def _best(terms: Terms, hits: Mapping[int, tuple[str, int]], rarity: Mapping[str, float]) -> float:
    """What the best sentence says of the question."""
    if not hits:
        return 0.0
    weights = {place: rarity[word] for place, (word, _) in hits.items()}
    title = {
        place: weights[place] * _TITLE_IN_SENTENCE for place in terms.title if place in weights
    }
    base = sum(title.values())
    return max(
        (
            base + sum(weights[each] - title.get(each, 0.0) for each in sentence if each in weights)
            for sentence in terms.sentences
        ),
        default=0.0,
    )
