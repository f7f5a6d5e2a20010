"""What a compiled pack is compared with: chunks of files, ranked and put in while they fit.

Tier 1 cuts files every so many lines and ranks by BM25 over words as they stand. Tier
2 cuts along syntax and ranks code-aware words. Tier 3 adds what the graph says of the
names in the question, by reciprocal-rank fusion. Where an embedder is configured, tiers 1
and 3 fuse a ranking by vectors too. None slices, denoises or steps down a form.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ctxbuild.facts.words import words
from ctxbuild.model import Lines, Outline
from ctxbuild.pack.render import wrap
from ctxbuild.select.view import EntryView
from ctxbuild.source.paths import shown

LINES = 40
"""Lines of a fixed-size chunk, and of a window of text that is not parsed."""

K1, B = 1.2, 0.75
"""BM25's saturation and length normalisation (Robertson and Zaragoza, 2009)."""

RRF = 60
"""The constant of reciprocal-rank fusion (Cormack, Clarke and Büttcher, 2009)."""

_CALLABLE = frozenset({"function", "method", "property"})
_PLAIN = re.compile(r"\w+")
_IDENTIFIER = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_MOST_NAMES = 8
"""Names of a question that are followed, and definitions of each."""

_LEAST = 16
"""Tokens below which nothing more is tried."""

_WIDEST_TOKEN = 64
"""Characters that hardly a token exceeds."""


class Chunk(NamedTuple):
    """Lines of a file, with the symbol that they define, if they do."""

    path: str
    first: int
    last: int
    text: str
    symbol: str = ""


def fixed_chunks(path: str, text: str, lines: int = LINES) -> list[Chunk]:
    """A file cut every so many lines."""
    rows = text.split("\n")
    return _windows(path, rows, 1, len(rows), lines)


def syntax_chunks(path: str, text: str, outline: Outline, lines: Lines) -> list[Chunk]:
    """A file cut along its definitions: each outermost function or method, and what is between."""
    rows = text.split("\n")
    found: list[Chunk] = []
    done = 0
    if outline.symbols:
        for (name, kind), spot in zip(outline.symbols, lines.symbols, strict=True):
            if kind in _CALLABLE and spot[0] > done:
                found += _windows(path, rows, done + 1, spot[0] - 1, LINES)
                text_of = "".join(f"{row}\n" for row in rows[spot[0] - 1 : spot[1]])
                found.append(Chunk(path, spot[0], spot[1], text_of, name))
                done = spot[1]
    return [*found, *_windows(path, rows, done + 1, len(rows), LINES)]


def _windows(path: str, rows: Sequence[str], first: int, last: int, lines: int) -> list[Chunk]:
    found = []
    for start in range(first, last + 1, lines):
        end = min(start + lines - 1, last)
        part = rows[start - 1 : end]
        if any(row.strip() for row in part):
            found.append(Chunk(path, start, end, "".join(f"{row}\n" for row in part)))
    return found


# --- ranking ----------------------------------------------------------------------------


def plain_words(text: str) -> list[str]:
    """Words as they stand, in lower case."""
    return _PLAIN.findall(text.lower())


class Lexical:
    """BM25 over chunks.

    Args:
        chunks: what is searched.
        split: a text to its words.
    """

    def __init__(self, chunks: Sequence[Chunk], split: Callable[[str], list[str]] = words) -> None:
        self.chunks = chunks
        self._split = split
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._lengths = []
        for place, chunk in enumerate(chunks):
            counted = Counter(split(f"{chunk.path} {chunk.text}"))
            self._lengths.append(counted.total())
            for word, times in counted.items():
                self._postings.setdefault(word, []).append((place, times))
        self._mean = sum(self._lengths) / max(1, len(chunks)) or 1.0

    def rank(self, question: str, most: int = 1_000) -> list[int]:
        """The places of the chunks that share a word with the question, best first."""
        scores: dict[int, float] = {}
        for word in sorted(set(self._split(question))):
            known = self._postings.get(word, ())
            rare = math.log(1 + (len(self.chunks) - len(known) + 0.5) / (len(known) + 0.5))
            for place, times in known:
                norm = K1 * (1 - B + B * self._lengths[place] / self._mean)
                gain = rare * times * (K1 + 1) / (times + norm)
                scores[place] = scores.get(place, 0.0) + gain
        return heapq.nsmallest(most, scores, key=lambda place: (-scores[place], place))


def fuse(rankings: Iterable[Sequence[int]]) -> list[int]:
    """Rankings as one, by the sum of the reciprocals of ranks."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            scores[place] = scores.get(place, 0.0) + 1 / (RRF + rank)
    return sorted(scores, key=lambda place: (-scores[place], place))


# --- filling ----------------------------------------------------------------------------


def rendered(chunk: Chunk, language: str) -> str:
    """A chunk under its header."""
    name = f" :: {chunk.symbol}" if chunk.symbol else ""
    before, after = wrap(language, chunk.text)
    head = f"\n## {shown(chunk.path)}{name} (lines {chunk.first}-{chunk.last})\n\n"
    return head + before + chunk.text + after


def fill(
    chunks: Sequence[Chunk],
    ranking: Iterable[int],
    budget: int,
    count: Callable[[Sequence[str]], list[int]],
    languages: Mapping[str, str],
    title: str = "# question\n",
) -> tuple[list[Chunk], str]:
    """The best chunks that fit, and the text that shows them.

    Args:
        chunks: what there is.
        ranking: places, best first.
        budget: most tokens of the text; what does not fit is passed over.
        count: counts tokens.
        languages: path to the language of its fence.
        title: the text's first line.
    """
    taken: list[tuple[Chunk, str]] = []
    left = budget - count([title])[0]
    for place in ranking:
        if left < _LEAST:
            break
        part = rendered(chunks[place], languages.get(chunks[place].path, ""))
        # A part whose characters alone cannot fit is not worth counting.
        tokens = count([part])[0] if len(part) <= left * _WIDEST_TOKEN else left + 1
        if tokens <= left:
            taken.append((chunks[place], part))
            left -= tokens
    while count([text := title + "".join(part for _, part in taken)])[0] > budget and taken:
        taken.pop()
    return [chunk for chunk, _ in taken], text


# --- the graph --------------------------------------------------------------------------


def named(question: str) -> list[str]:
    """The identifiers in a question: what is written like code, in its order."""
    found = _IDENTIFIER.findall(question)
    return [name for name in dict.fromkeys(found) if _is_code(name, question)]


def _is_code(name: str, question: str) -> bool:
    inner = name[1:]
    return (
        "_" in name
        or "." in name
        or any(char.isdigit() for char in inner)
        or (name != name.upper() and any(char.isupper() for char in inner))
        or f"`{name}`" in question
        or f"{name}(" in question
    )


def around(view: EntryView, question: str, places: Mapping[tuple[str, str], int]) -> list[int]:
    """The chunks that the names in a question lead to: definitions, what they use, who uses them.

    Args:
        view: the repository.
        question: names what it is about.
        places: (path, symbol) to the place of its chunk.
    """
    from ctxbuild.graph.uses import uses
    from ctxbuild.select.dependents import candidates

    defined = [
        (path, symbol)
        for name in named(question)[:_MOST_NAMES]
        for path, symbol in view.definers(name.rpartition(".")[2])[:_MOST_NAMES]
    ]
    used = [
        (use.path, use.name) for path, symbol in defined for use in uses(view, path, (symbol,)).used
    ]
    users = candidates(view, "", defined, steps=1, tests=False, phase=0) if defined else ()
    using = [(each.path, each.unit.partition("#")[0].partition("::")[2]) for each in users]
    chunks = (places.get(unit) for unit in dict.fromkeys((*defined, *used, *using)))
    return [place for place in dict.fromkeys(chunks) if place is not None]
