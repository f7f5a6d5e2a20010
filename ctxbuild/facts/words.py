"""Text to the words that a search compares: identifiers whole and in parts, stems of the rest.

`HTTPServer` gives `httpserver http server`, `MAX_SIZE` gives `max_size max size`,
`sha256_hash2` gives `sha256_hash2 sha 256 hash 2`. Words are lower-case, without
an inflection where English has a regular one, so that "redirected" meets
"redirects". What holds no meaning for a search (English function words, Python
keywords) is left out. Linear in the length of the text.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_LONGEST = 80
"""Characters of the longest word that is kept: beyond are hashes and encoded data."""

STOP = frozenset(
    """
    a about above after again all also am an and any are aren as at be because been before being
    below between both but by can cannot could couldn did didn do does doesn doing don done down
    during each etc ever few for from further get gets getting give given got had hadn has hasn
    have haven having he her here him his how however i if in instead into is isn it its itself
    just know let like ll look looks made make makes many may maybe me might more most much must
    my need needs no nor not now of off on once one only or other our out over own please
    possible probably re really same see seem seems she should shouldn since so some something
    still such sure t than thank thanks that the their them then there these they thing think
    this those though through to too try trying under until up us use used uses using ve very
    via want was wasn way we well were weren what when where whether which while who why will
    with without won would wouldn yet you your
    self cls def class return import elif else pass lambda yield async await none true false
    """.split()  # noqa: SIM905  # words are read more easily than a list of them
)
"""Words that are in nearly every question or nearly every function."""


class _Stems(dict[str, str]):
    """Word to stem, each computed once."""

    def __missing__(self, word: str) -> str:
        stem = _stem(word)
        if len(self) < 200_000:
            self[word] = stem
        return stem


_VOWEL = re.compile("[aeiouy]")


def _stem(word: str) -> str:
    """A word without a plural, past or progressive ending (a part of Porter's step 1, 1980)."""
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and len(base) > 2 and _VOWEL.search(base):
            if base[-1] == base[-2] and base[-1] not in "lsz":
                return base[:-1]
            return base
    if word.endswith("e") and len(word) > 4:
        return word[:-1]
    return word


_STEMS = _Stems()


class _Splits(dict[str, tuple[str, ...]]):
    """Identifier to its words, each computed once: the same ones come again and again."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        found = _split(word)
        if len(self) < 200_000:
            self[word] = found
        return found


def _split(word: str) -> tuple[str, ...]:
    if len(word) > _LONGEST:
        return ()
    lower = word.lower()
    parts = _PART.findall(word) if word.isascii() else [p for p in word.split("_") if p]
    if len(parts) < 2:
        bare = lower.strip("_")
        if bare in STOP or (len(bare) < 2 and not bare.isdigit()):
            return ()
        stem = _STEMS[bare]
        return (stem,) if lower == bare else (lower, stem)
    small = (part.lower() for part in parts)
    return (
        lower,
        *(_STEMS[part] for part in small if part not in STOP and (len(part) > 1)),
    )


_SPLITS = _Splits()


def words(text: str) -> list[str]:
    """The words of a text, in order, repeats kept."""
    found: list[str] = []
    for word in _WORD.findall(text):
        found += _SPLITS[word]
    return found


def words_of(identifier: str) -> tuple[str, ...]:
    """The words of one identifier: itself first, then its parts."""
    return _SPLITS[identifier]
