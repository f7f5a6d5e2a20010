"""How well a section answers an aspect: terms in titles, text and items, counted coarsely.

`counted` looks at one section's text and gives small, coarse numbers, so that most
edits leave them equal; `Scores` weighs them over all sections of a layer. A term
weighs by how few sections have it, in half powers of two: one section more or less
changes nothing. Hits in a title, in a title around it and in the text are joined as
independent evidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ctxbuild.facts.document import Item, Section
from ctxbuild.select.realm.query import Aspect, Term, pairs, roots, same_weight

_TITLE, _AROUND, _BODY = 0.75, 0.5, 0.65
_PHRASE_TITLE, _PHRASE_BODY = 0.25, 0.15
_EVERYWHERE = 0.75
"""The share of sections from which on a word tells none of them from the others."""

_STEPS = (0, 1, 2, 3, 5, 8, 13)
_MANY_WORDS = 200.0
"""Words of a section of usual length; in a longer one a single hit says less."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What the text of a section has of an aspect.

    Attributes:
        hits: per term, how often: 0, 1, 2, 3, 5, 8 or 13.
        phrases: per phrase, whether it stands there.
        words: its length as a power of two.
        items: (ordinal, terms in it as bits) of items with two terms, or the only one.
    """

    hits: tuple[int, ...]
    phrases: tuple[bool, ...]
    words: int
    items: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Rooted:
    """A section without its title, as roots.

    Attributes:
        pairs: roots side by side.
        items: (ordinal, roots) of every item.
    """

    counts: Mapping[str, int]
    words: int
    pairs: frozenset[tuple[str, str]]
    items: tuple[tuple[int, frozenset[str]], ...]


def rooted(text: str, items: Iterable[Item]) -> Rooted:
    """The roots of a section, once for all aspects."""
    found = roots(text)
    held = tuple((item.ordinal, frozenset(roots(f"{item.lead} {item.text}"))) for item in items)
    return Rooted(Counter(found), len(found), frozenset(pairs(text)), held)


def is_contents(section: Section) -> bool:
    """Whether a section is a table of contents: its points are links inside the document."""
    links, items = section.links, section.items
    return (
        bool(links)
        and not section.slug
        and len(items) <= len(links)
        and all(link.target.startswith("#") for link in links)
    )


def counted(section: Rooted, aspect: Aspect) -> Counted | None:
    """Counts an aspect's terms in a section; None if there are none."""
    hits = _hits(section.counts, aspect.terms)
    if not any(hits):
        return None
    least = min(2, len(aspect.terms))
    chosen = [
        (ordinal, bits)
        for ordinal, held in section.items
        if (bits := _bits(held, aspect.terms)).bit_count() >= least
    ]
    return Counted(
        tuple(max(step for step in _STEPS if step <= hit) for hit in hits),
        tuple(phrase in section.pairs for phrase in aspect.phrases),
        max(1, section.words).bit_length(),
        tuple(chosen),
    )


def _hits(counts: Mapping[str, int], terms: Sequence[Term]) -> list[int]:
    return [
        counts.get(term.root, 0) or min(1, sum(counts.get(other, 0) for other in term.same))
        for term in terms
    ]


def _bits(present: frozenset[str], terms: Sequence[Term]) -> int:
    return sum(
        1 << place
        for place, term in enumerate(terms)
        if term.root in present or any(other in present for other in term.same)
    )


@dataclass(frozen=True, slots=True)
class Titles:
    """The roots of a section's titles: its own and those around it.

    Attributes:
        whole: those of the title of all that is read, which tells no section from another.
    """

    own: tuple[str, ...]
    around: tuple[str, ...]
    phrases: frozenset[tuple[str, str]]
    whole: tuple[str, ...] = ()


def titles_of(titles: Sequence[str]) -> Titles:
    """The roots of titles, outermost first, the last one its own."""
    own = titles[-1] if titles else ""
    around = [each for title in titles[:-1] for each in roots(title)]
    return Titles(tuple(roots(own)), tuple(around), frozenset(pairs(own)))


def title_of_all(title: str) -> Titles:
    """The title above everything that is read, which has sections below it."""
    return Titles((), (), frozenset(), tuple(roots(title)))


class Scores:
    """The score of every section for one aspect, from 0 to 1.

    Args:
        aspect: what is asked for.
        titles: section id to its titles.
        bodies: section id to what its text has; sections that have nothing may be missing.
    """

    def __init__(
        self, aspect: Aspect, titles: Mapping[str, Titles], bodies: Mapping[str, Counted]
    ) -> None:
        self.aspect = aspect
        self._titles = titles
        self._bodies = bodies
        self.weights = [self._rarity(place) for place in range(len(aspect.terms))]
        self._total = 0.0 if self._says_nothing() else sum(self.weights)
        self._found = {id_: self._score(id_) for id_ in titles} if self._total else {}
        self.best = max(self._found.values(), default=0.0)

    def __getitem__(self, id_: str) -> float:
        return self._found.get(id_, 0.0)

    def terms_in(self, id_: str) -> list[str]:
        """The aspect's terms that a section or its titles have."""
        return [
            term.root
            for place, term in enumerate(self.aspect.terms)
            if self._evidence(id_, place) > 0 and self.weights[place] > 0
        ]

    def is_titled(self, id_: str) -> bool:
        """Whether a term stands in a section's own title or one around it."""
        titles = self._titles[id_]
        return any(
            same_weight(term, each) > 0
            for place, term in enumerate(self.aspect.terms)
            if self.weights[place] > 0
            for each in (*titles.own, *titles.around)
        )

    def share(self, bits: int) -> float:
        """Which part of the aspect, by weight, these terms are."""
        held = sum(w for place, w in enumerate(self.weights) if bits >> place & 1)
        return held / self._total if self._total else 0.0

    def items(self, id_: str, least: float) -> list[int]:
        """Ordinals of the items of a section that hold at least this share of the aspect."""
        body = self._bodies.get(id_)
        return [o for o, bits in body.items if self.share(bits) >= least] if body else []

    def _says_nothing(self) -> bool:
        """Whether all that the documents have of an aspect stands nearly everywhere in them.

        Of "API versioning", a manual without versions still has "API" in its title.
        """
        full = [place for place, term in enumerate(self.aspect.terms) if term.weight == 1]
        present = [place for place in full if self.weights[place]]
        if len(present) == len(full):
            return False
        return all(self._is_everywhere(place) for place in present)

    def _is_everywhere(self, place: int) -> bool:
        root = self.aspect.terms[place].root
        if any(root in each.whole for each in self._titles.values()):
            return True
        having = sum(1 for id_ in self._titles if self._evidence(id_, place) > 0)
        return having >= _EVERYWHERE * len(self._titles)

    def _rarity(self, place: int) -> float:
        """The weight of a term: how few sections have it; 0 if none has."""
        term = self.aspect.terms[place]
        having = sum(
            1
            for id_, titles in self._titles.items()
            if ((body := self._bodies.get(id_)) and body.hits[place])
            or any(same_weight(term, each) > 0 for each in titles.own)
        )
        if not having:
            return 0.0
        ratio = 1 + len(self._titles) / having
        return term.weight * max(0.5, round(math.log2(ratio) * 2) / 2)

    def _evidence(self, id_: str, place: int) -> float:
        titles, body = self._titles[id_], self._bodies.get(id_)
        term = self.aspect.terms[place]
        own = max((same_weight(term, each) for each in titles.own), default=0.0)
        around = max((same_weight(term, each) for each in titles.around), default=0.0)
        hits = body.hits[place] if body else 0
        length = 2.0 ** (body.words - 1) if body else 1.0
        text = _BODY * hits / (hits + 0.5 + length / _MANY_WORDS)
        return 1 - (1 - _TITLE * own) * (1 - _AROUND * around) * (1 - text)

    def _score(self, id_: str) -> float:
        titles, body = self._titles[id_], self._bodies.get(id_)
        covered = sum(
            weight * self._evidence(id_, place) for place, weight in enumerate(self.weights)
        )
        score = covered / self._total
        for place, phrase in enumerate(self.aspect.phrases):
            if phrase in titles.phrases:
                score += _PHRASE_TITLE * (1 - score)
            elif body and body.phrases[place]:
                score += _PHRASE_BODY * (1 - score)
        return round(score, 2)
