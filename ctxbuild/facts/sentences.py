"""Sentences of a text with markup: where they begin and end, and what in it is no prose.

Everything works on a *mask*: the text with the same length, in which code, targets of
links, tags and addresses are replaced, so that what stands inside them ends no
sentence and is no keyword. All patterns are bounded, so the time is linear.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

MARK = "\x01"
"""Stands in a mask for a character of markup that is invisible: a star of an emphasis."""

OPAQUE = "\x02"
"""Stands in a mask for a character that is no prose: code, an address, a tag."""

SPACE = rf"[\s{MARK}]+"
"""What may stand between two words of a mask, as a pattern."""

_SPANS = re.compile(
    r"""
    (?P<code>(?P<ticks>(?<!`)`+(?!`)).{0,1000}?(?<!`)(?P=ticks)(?!`))
    | (?P<target>\](?:\((?:[^()\s\\]|\\.|\([^()\s]{0,200}\)){0,500}
        (?:\s{1,9}(?:"[^"]{0,300}"|'[^']{0,300}'))?\s{0,9}\)|\[[^\[\]]{0,200}\]))
    | (?P<reference>\{\{[^{}]{0,200}\}\}|\[\[[^\[\]]{0,200}\]\])
    | (?P<tag></?[A-Za-z][^<>]{0,400}>|<!--.{0,1000}?-->)
    | (?P<address>(?:https?|ftp)://[^\s<>()\[\]"'`]{1,2000})
    | (?P<emphasis>\*+|~~|(?<![^\W_])_+|_+(?![^\W_]))
    """,
    re.VERBOSE | re.DOTALL,
)
_ENDS = re.compile(
    rf"(?:[.!?\u2026]+[\"'\u201d\u2019\u00bb)\]{MARK}]*(?=\s|\Z))|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\uff09]*"
)
_NEXT = re.compile(rf"[\s\"'\u201c\u2018\u00ab(\[{MARK}]*(\S[\w{OPAQUE}-]{{0,60}})?")
_WORD_BEFORE = re.compile(r"[^\s(\[\"'\u201c\u2018]{1,40}\Z")
_NEVER = frozenset(
    [
        "e.g",
        "i.e",
        "cf",
        "vs",
        "viz",
        "al",
        "approx",
        "resp",
        "incl",
        "excl",
        "ca",
        "fig",
        "figs",
        "eq",
        "eqs",
        "sec",
        "secs",
        "ch",
        "pp",
        "vol",
        "dr",
        "mr",
        "mrs",
        "ms",
        "prof",
        "st",
        "gen",
        "gov",
        "sen",
        "rep",
        "rev",
        "hon",
        "messrs",
        "mme",
        "mlle",
        "capt",
        "col",
        "lt",
        "sgt",
        "jr",
        "sr",
        "dept",
        "est",
        "ed",
        "eds",
        "esp",
    ]
)
_BEFORE_NUMBER = frozenset(("no", "nos", "p", "art", "par", "nr", "ver", "v", "rfc", "line"))
_MAYBE = frozenset(("etc", "inc", "ltd", "corp", "co", "a.m", "p.m", "bros"))
_STARTERS = frozenset(
    [
        "The",
        "This",
        "That",
        "These",
        "Those",
        "It",
        "In",
        "If",
        "A",
        "An",
        "When",
        "While",
        "For",
        "To",
        "As",
        "At",
        "On",
        "By",
        "No",
        "Each",
        "All",
    ]
)
_BEFORE_NAMES = frozenset(("and", "or", "by", "with", "of", "to", "from", "for"))
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]")


class Joined(NamedTuple):
    """A text on one line, with where its lines were.

    Attributes:
        starts: per line of the source: where it begins in the text.
    """

    text: str
    starts: tuple[int, ...]

    def line(self, at: int) -> int:
        """The line, from 0, in which a place of the text stood."""
        return max(bisect_right(self.starts, at) - 1, 0)


def join(text: str) -> Joined:
    """A text that is wrapped over several lines on one line, each space single."""
    parts: list[str] = []
    starts: list[int] = []
    at = 0
    for row in text.split("\n"):
        words = " ".join(row.removesuffix("\\").split())
        starts.append(at)
        if words:
            parts.append(words)
            at += len(words) + 1
    return Joined(" ".join(parts), tuple(starts))


def mask(text: str) -> str:
    """The text as prose: markup and what is no prose replaced, at the same length."""
    return _SPANS.sub(_masked, text)


def _masked(found: re.Match[str]) -> str:
    whole = found[0]
    if found.lastgroup == "emphasis":
        return MARK * len(whole)
    if found["address"] is not None:
        bare = whole.rstrip(".,;:!?")
        return OPAQUE * len(bare) + whole[len(bare) :]
    return OPAQUE * len(whole)


def split(masked: str) -> list[tuple[int, int]]:
    """Start and end of every sentence of a masked text, without the space between."""
    spans: list[tuple[int, int]] = []
    start = 0
    for end in _ENDS.finditer(masked):
        if _is_end(masked, start, end.start(), end.end()):
            _add(spans, masked, start, end.end())
            start = end.end()
    _add(spans, masked, start, len(masked))
    return spans


def _add(spans: list[tuple[int, int]], masked: str, start: int, end: int) -> None:
    while start < end and masked[start].isspace():
        start += 1
    while end > start and masked[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append((start, end))


def _is_end(masked: str, start: int, at: int, end: int) -> bool:
    """Whether the full stop (or its like) at a place ends the sentence that begins at `start`."""
    mark = masked[at]
    if mark in "\u3002\uff01\uff1f":
        return True
    found = _NEXT.match(masked, end)
    following = (found and found[1]) or ""
    if not following:
        return True
    if _continues(following, mark):
        return False
    if mark != "." or masked[at : at + 2] == "..":
        return True
    before = _WORD_BEFORE.search(masked, max(start, at - 40), at)
    return before is None or not _abbreviates(masked, start, before, following)


def _continues(following: str, mark: str) -> bool:
    """Whether what follows a mark cannot begin a sentence: a word in small letters."""
    if not following[0].islower():
        return following[0] in ",;:)"
    # A name such as max_ack_delay begins a sentence although it is small.
    return mark != "." or not any(c in "_0123456789" for c in following)


def _abbreviates(masked: str, start: int, before: re.Match[str], following: str) -> bool:
    word = before[0].strip(MARK + "([\"'")
    small = word.lower()
    if small in _NEVER:
        return True
    if small in _BEFORE_NUMBER:
        return following[0].isdigit() or following[0] == OPAQUE
    if small in _MAYBE:
        return not following[0].isupper()
    if word.isdigit():
        return not masked[start : before.start()].strip()  # the number of a list's item
    if len(word) == 1 and word.isupper():
        return _is_initial(masked, start, before.start(), following)
    return _INITIALS.fullmatch(word) is not None and following not in _STARTERS


def _is_initial(masked: str, start: int, at: int, following: str) -> bool:
    """Whether a single capital belongs to a name: "J. Doe", but not "Take plan B. Then"."""
    above = masked[max(start, at - 40) : at].split()
    named = not above or above[-1][:1].isupper() or above[-1] in _BEFORE_NAMES
    return following not in _STARTERS and named
