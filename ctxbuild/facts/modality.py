"""Words that bind: MUST and its kin (RFC 2119), and what says the same in plain English.

Where a document says that its keywords count only in capitals (RFC 8174), nothing
else counts there. A keyword that is only mentioned, in quotes or as code, does not bind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ctxbuild.facts.document import RANKS, Keyword, Modality
from ctxbuild.facts.sentences import MARK, OPAQUE, SPACE


class Found(NamedTuple):
    """A keyword in a masked text: what it says and where it stands."""

    modality: Modality
    start: int
    end: int


_CAPITALS: tuple[tuple[Modality, str], ...] = (
    ("MUST NOT", "MUST NOT|SHALL NOT"),
    ("SHOULD NOT", "SHOULD NOT|NOT RECOMMENDED"),
    ("MUST", "MUST|SHALL|REQUIRED"),
    ("SHOULD", "SHOULD|RECOMMENDED"),
    ("MAY", "MAY|OPTIONAL|OPTIONALLY"),
)
# A row is tried before the rows below it: a negation before what it negates.
_WORDS: tuple[tuple[Modality, str], ...] = (
    ("", "not always|not necessarily|not ever|almost always|almost never"),
    ("MUST", "not optional|never optional|no exceptions?"),
    ("MUST NOT", "required not to|must neither|shall neither|may neither"),
    (
        "SHOULD NOT",
        (
            "recommended not to|recommended against|(?:do not|don't) recommend|recommend against"
            "|advised (?:not to|against)|advise against|should neither"
        ),
    ),
    (
        "MAY",
        (
            "not forbidden|not prohibited|not required|not mandatory|not compulsory|not obligatory"
            "|not necessary|no longer required|need not|needn't|no need to|not need to|not have to"
            "|never required|(?:do|does)n't (?:need|have) to|(?:is|are)n't (?:required|mandatory)"
        ),
    ),
    (
        "MUST NOT",
        (
            "must not|mustn't|must never|must under no circumstances|must no longer|shall not"
            "|shan't|shall never|under no circumstances|not allowed|not permitted|no longer allowed"
            "|no longer permitted|never allowed|(?:is|are)n't (?:allowed|permitted)"
            "|you (?:cannot|can not|can't|may not|may never)"
            "|may not be (?:[a-z]{2,20}ed|sent|set|shown|given|made|sold|kept|put|known|told)"
            "|may not (?:exceed|begin with|start with|end with)"
        ),
    ),
    (
        "SHOULD NOT",
        (
            "should not|shouldn't|should never|not recommended|not advised|not advisable"
            "|ought not(?: to)?|discouraged|inadvisable|not encouraged"
        ),
    ),
    ("MUST", "must always|shall always"),
    ("SHOULD", "should always"),
    ("MUST NOT", "forbidden|prohibited|disallowed|banned|never"),
    ("MUST", "must|shall|required|mandatory|compulsory|obligatory|always|has to|have to|needs to"),
    ("SHOULD", "should|recommended|ought to|advised|advisable|encouraged|we (?:recommend|suggest)"),
    ("MAY", "may not|may|optional|optionally|allowed|permitted"),
)
# What binds only where it begins a clause: "Do not retry", not "most clients do not retry".
_IMPERATIVES: tuple[tuple[Modality, str], ...] = (
    ("MUST NOT", "do not|don't"),
    ("SHOULD NOT", "avoid|try not to|refrain from"),
    ("MUST", "ensure|make sure|be sure to"),
    ("SHOULD", "prefer"),
    ("MUST", "(?:always )?use(?=[^.;]{1,80} (?:instead of|rather than) )"),
)
_EDGE_BEFORE = r"(?<![\w-])(?<!\w['\u2019])"
_EDGE_AFTER = r"(?![\w-])"
_CLAUSE = (
    rf"(?:\A[^\w]*|[,;:\u2014\u2013(][{MARK}\s]*)"
    rf"(?:(?:please|and|but|so|then|or|also|instead){SPACE})?"
)


def _pattern(text: str) -> str:
    return text.replace(" ", SPACE).replace("'", "['\u2019]")


def _compiled(rows: tuple[tuple[Modality, str], ...], before: str, flags: int) -> re.Pattern[str]:
    groups = "|".join(f"(?P<g{place}>{_pattern(words)})" for place, (_, words) in enumerate(rows))
    return re.compile(rf"{before}(?:{groups}){_EDGE_AFTER}", flags)


_CAPITAL_WORDS = _compiled(_CAPITALS, _EDGE_BEFORE, 0)
_PLAIN_WORDS = _compiled(_WORDS, _EDGE_BEFORE, re.IGNORECASE)
_IMPERATIVE_WORDS = _compiled(_IMPERATIVES, _CLAUSE, re.IGNORECASE)
_NEED = re.compile(
    rf"(?<![\w-])(?P<above>[\w'\u2019]{{1,20}}){SPACE}(?P<word>need{SPACE}to)(?![\w-])",
    re.IGNORECASE,
)
# What parts "No key is needed" from what follows it, and "no longer" from what it is said of.
_NO_SUBJECT = (
    "(?:is|are|was|were|be|has|have|had|do|does|can|could|will|would|but|and|that|which|who|if|when"
    "|then|so|because|since|while|where|longer|matter|doubt|problem|need)(?![\\w-])"
)
# "No request may exceed it": what binds is denied of all that it is said of.
_DENIED = re.compile(
    rf"(?:\A[^\w]*|[.;:,\u2014][{MARK}\s]*)(?:no(?:body|{SPACE}one)?|none|neither|under{SPACE}no"
    rf"|at{SPACE}no)(?:{SPACE}(?!{_NO_SUBJECT})[\w{OPAQUE}'\u2019/-]{{1,40}}){{0,6}}{SPACE}"
    rf"(?P<word>must|shall|should|may)(?![\w-])(?!{SPACE}(?:not|never))",
    re.IGNORECASE,
)
_DENIAL: Mapping[Modality, Modality] = {
    "MUST": "MUST NOT",
    "SHOULD": "SHOULD NOT",
    "MAY": "MUST NOT",
}
# "All requests require a key."
_REQUIRES = re.compile(
    rf"(?<![\w-])(?:all|every|each)(?!{SPACE}(?:it|this|that|you|we|they)(?![\w-]))"
    rf"(?:{SPACE}(?!(?:not?|never|don|doesn|may|might|could|that|which)(?![\w-]))"
    rf"[\w{OPAQUE}'\u2019/-]{{1,40}}){{1,6}}{SPACE}"
    r"(?P<word>requires?)(?![\w-])",
    re.IGNORECASE,
)
_AGENTS = (
    "clients?|users?|callers?|consumers?|developers?|applications?|apps?|integrators?|partners?"
    "|merchants?|members?|customers?|tenants?|vendors?|contributors?"
)
# Whom something is not allowed, not what may fail to happen: "Clients may not see it yet."
_MAY_NOT = re.compile(
    rf"(?<![\w-])(?:{_AGENTS}){SPACE}(?P<word>may{SPACE}not)"
    rf"(?!{SPACE}(?:be|have|see|receive|know|notice|need|support|want|work|exist|get|always"
    rf"|necessarily|yet|even|expect|understand|implement|respond|recogni[sz]e)(?!\w))(?![\w-])",
    re.IGNORECASE,
)
_NO_NEED = frozenset(
    ["may", "might", "could", "would", "should", "not", "never", "ll", "longer", "don't", "doesn't"]
)
_CONDITION = re.compile(rf"(?:if|when|whenever|in{SPACE}case|unless)[^,;]{{0,40}}\Z", re.IGNORECASE)
_MARKUP = re.compile("[*_~]+")
_MENTION = re.compile(r"[\"\u201c]([^\"\u201c\u201d]{2,24})[\"\u201d]")
_MONTH = re.compile(r"\A[\s\x01,]*\d")
_MAY_FIRST = re.compile(rf"{SPACE}(?:not|be|contain|include|only|also|optionally|have)(?!\w)")
_NOUN_FOLLOWS = re.compile(
    rf"{SPACE}(?:values?|types?|characters?|formats?|methods?|origins?|ranges?|options?)(?!\w)"
)
_ALL_CAPITALS = re.compile(
    r"when,?\s+and\s+only\s+when,?\s+they\s+appear\s+in\s+all\s+capitals|\{::boilerplate\s+bcp14",
)


def only_capitals(text: str) -> bool:
    """Whether a document says that its keywords count in capitals only (RFC 8174)."""
    return _ALL_CAPITALS.search(text) is not None


def find(masked: str, *, capitals: bool) -> list[Found]:
    """The keywords of one sentence, in order.

    Args:
        masked: the sentence, from `sentences.mask`.
        capitals: only words in capitals count.
    """
    masked = _MENTION.sub(_unmentioned, masked)
    found: list[Found] = []
    taken = bytearray(len(masked))
    if not capitals and not masked.rstrip(MARK + " \"'\u201d\u2019)").endswith("?"):
        _add(found, taken, _plain(masked))
    _add(found, taken, (_found(each, _CAPITALS) for each in _CAPITAL_WORDS.finditer(masked)))
    denied = {each.start("word") for each in _DENIED.finditer(masked)}
    bound = (
        each._replace(modality=_DENIAL.get(each.modality, each.modality))
        if each.start in denied
        else each
        for each in found
    )
    return sorted((each for each in bound if each.modality), key=lambda each: each.start)


def keywords(text: str, masked: str, *, capitals: bool) -> tuple[Keyword, ...]:
    """The keywords of a sentence as facts."""
    return tuple(
        Keyword(each.modality, _bare(text[each.start : each.end]), each.start)
        for each in find(masked, capitals=capitals)
    )


def strongest(found: tuple[Keyword, ...]) -> Modality:
    """The most binding of some keywords, "" for none."""
    return min((each.modality for each in found), key=RANKS.__getitem__, default="")


def _bare(word: str) -> str:
    """A keyword without the markup that may stand in it: `MUST **not**`."""
    return " ".join(_MARKUP.sub(" ", word).split())


def _add(found: list[Found], taken: bytearray, more: Iterable[Found]) -> None:
    """Keeps of what overlaps the one that begins first, the longest of those."""
    for each in sorted(more, key=lambda each: (each.start, -each.end)):
        if not any(taken[each.start : each.end]):
            taken[each.start : each.end] = b"\1" * (each.end - each.start)
            found.append(each)


def _found(each: re.Match[str], rows: tuple[tuple[Modality, str], ...]) -> Found:
    group = each.lastgroup or "g0"
    return Found(rows[int(group[1:])][0], each.start(group), each.end(group))


def _plain(masked: str) -> list[Found]:
    found = [Found("MUST NOT", *each.span("word")) for each in _MAY_NOT.finditer(masked)]
    found += (
        _found(each, _WORDS) for each in _PLAIN_WORDS.finditer(masked) if _binds(each, masked)
    )
    found += [_found(each, _IMPERATIVES) for each in _IMPERATIVE_WORDS.finditer(masked)]
    found += [Found("MUST", *each.span("word")) for each in _REQUIRES.finditer(masked)]
    for each in _NEED.finditer(masked):
        if each["above"].lower().replace("\u2019", "'") not in _NO_NEED and not _CONDITION.search(
            masked[max(0, each.start("word") - 60) : each.start("word")]
        ):
            found.append(Found("MUST", each.start("word"), each.end("word")))
    return found


def _binds(each: re.Match[str], masked: str) -> bool:
    """Whether a plain word is used as a keyword: neither the month nor part of a name."""
    word = each[0]
    small = word.lower()
    if small == "may" and word != "may":
        first = not masked[: each.start()].strip(MARK + " \"'\u201c\u2018([-")
        return first and _MAY_FIRST.match(masked, each.end()) is not None
    if small in ("allowed", "permitted"):
        return _NOUN_FOLLOWS.match(masked, each.end()) is None
    return not (small == "may" and _MONTH.match(masked[each.end() : each.end() + 5]))


def _unmentioned(found: re.Match[str]) -> str:
    """A quotation without its keyword if it holds nothing else."""
    for pattern in (_CAPITAL_WORDS, _PLAIN_WORDS):
        whole = pattern.fullmatch(found[1].strip(MARK + " ,."))
        if whole:
            return "\x02" * len(found[0])
    return found[0]
