"""A task in words, turned into what sections are compared with: terms, phrases, aspects.

An aspect is a part of the task that can be answered on its own: "how to sign in and
how to list orders" has two, and the whole is one more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ctxbuild.facts.words import words

_WEAK = frozenset(
    [
        "answer",
        "behave",
        "chang",
        "client",
        "cod",
        "cover",
        "describ",
        "doc",
        "document",
        "documentation",
        "exampl",
        "explain",
        "find",
        "follow",
        "function",
        "guid",
        "handl",
        "happen",
        "help",
        "implement",
        "implementation",
        "information",
        "kind",
        "learn",
        "main",
        "manual",
        "mean",
        "must",
        "need",
        "part",
        "pleas",
        "program",
        "python",
        "javascript",
        "read",
        "requir",
        "respons",
        "return",
        "script",
        "section",
        "set",
        "show",
        "simpl",
        "step",
        "support",
        "task",
        "tell",
        "thing",
        "type",
        "typ",
        "understand",
        "valu",
        "work",
        "writ",
    ]
)
"""Roots that say what to do with the answer, not what it is about; they weigh little."""

_WEAK_WEIGHT = 0.25

_SAME: dict[str, tuple[str, ...]] = {
    "auth": ("authentic", "authoriz"),
    "authentic": ("auth", "login"),
    "login": ("authentic", "auth", "sign"),
    "config": ("configur",),
    "configur": ("config",),
    "delet": ("remov",),
    "remov": ("delet",),
    "page": ("pagin",),
    "pagin": ("page", "cursor"),
    "throttl": ("rate", "limit"),
    "env": ("environ",),
    "credential": ("key", "token"),
    "fail": ("error",),
    "failur": ("error",),
    "exception": ("error",),
    "except": ("error",),
    "retry": ("backoff",),
}
"""Root to roots that are said for it in manuals; a hit on one of them counts for less."""

_SAME_WEIGHT = 0.6
_ONE_WORD = frozenset(("auth", "authentic"))
"""Roots of which one only shortens the other."""

_SPLIT = re.compile(r"[,;.?!:\n]+|\b(?:and|or|as well as|also)\b", re.IGNORECASE)
_RAW = re.compile(r"\w+")
_MOST_ASPECTS = 12
_SAID: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:log|sign)(?:ging|ning|s)?[ -]in\b", re.IGNORECASE), "login"),
    (re.compile(r"\btoo many (?:requests|calls)\b", re.IGNORECASE), "rate limit"),
)
"""What a task says in other words than manuals do."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the task.

    Attributes:
        root: what is compared.
        weight: 1, less for words that say little.
        same: roots that count as well, for less.
    """

    root: str
    weight: float = 1.0
    same: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something that is asked for.

    Attributes:
        text: as the task says it.
        terms: in the order of the text, each once.
        phrases: pairs of roots that stand side by side.
        name: the part of a profile that it belongs to, or "".
    """

    text: str
    terms: tuple[Term, ...]
    phrases: tuple[tuple[str, str], ...] = ()
    name: str = ""


@lru_cache(maxsize=100_000)
def root(stem: str) -> str:
    """A stem without what turns a verb into a noun: `authentication` and `authenticate` meet.

    Args:
        stem: a word as `facts/words.py` gives it.
    """
    if len(stem) > 3 and stem.endswith("i"):
        stem = f"{stem[:-1]}y"
    if len(stem) < 6 or not stem.isascii() or "_" in stem:
        return stem
    for ending, least in _ENDINGS:
        base = stem[: -len(ending)]
        if stem.endswith(ending) and len(base) >= least:
            stem = base
            break
    if stem.endswith("at") and len(stem) >= 6:
        return stem[:-2]
    return stem


_ENDINGS = (
    ("izer", 4),
    ("ment", 3),
    ("ness", 4),
    ("atur", 4),
    ("ency", 4),
    ("ence", 4),
    ("ent", 4),
    ("ance", 5),
    ("ion", 4),
    ("ity", 4),
    ("ory", 5),
    ("al", 5),
    ("er", 5),
    ("or", 5),
)


def roots(text: str) -> list[str]:
    """The roots of a text, in order, repeats kept."""
    return [root(word) for word in words(text)]


def aspects(task: str, name: str = "") -> tuple[Aspect, ...]:
    """The whole task and the parts of it that say something, each once.

    Args:
        task: in words.
        name: the part of a profile that it belongs to, or "".
    """
    found: dict[tuple[str, ...], Aspect] = {}
    for text in (task, *_SPLIT.split(task)):
        aspect = _aspect(text.strip(), name)
        if any(term.weight == 1 for term in aspect.terms) or (text is task and aspect.terms):
            found.setdefault(tuple(term.root for term in aspect.terms), aspect)
    return tuple(found.values())[:_MOST_ASPECTS]


def single(text: str, name: str = "") -> Aspect:
    """A text as one aspect, however many parts it has."""
    return _aspect(text, name)


def _aspect(text: str, name: str) -> Aspect:
    said = text
    for pattern, instead in _SAID:
        said = pattern.sub(instead, said)
    terms = tuple(_term(each) for each in dict.fromkeys(roots(said)))
    return Aspect(text, terms, tuple(dict.fromkeys(pairs(said))), name)


def _term(found: str) -> Term:
    return Term(found, _WEAK_WEIGHT if found in _WEAK else 1.0, _SAME.get(found, ()))


def pairs(text: str) -> Iterable[tuple[str, str]]:
    """Roots of words side by side, nothing but a space or a hyphen between them."""
    before: tuple[int, str] | None = None
    for match in _RAW.finditer(text):
        own = roots(match[0])
        if not own:
            before = None
            continue
        if before is not None and text[before[0] : match.start()] in {" ", "-"}:
            yield before[1], own[0]
        before = match.end(), own[-1]


def same_weight(term: Term, found: str) -> float:
    """How much a root counts for a term: 1 for its own, less for one said for it, else 0."""
    if found == term.root:
        return 1.0
    if found not in term.same:
        return 0.0
    return 1.0 if {found, term.root} <= _ONE_WORD else _SAME_WEIGHT
