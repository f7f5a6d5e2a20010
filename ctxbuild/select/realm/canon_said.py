"""What a bible says of something: in which chapter, until when, and the statement itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FLAGS = re.IGNORECASE

# --- chapters ---------------------------------------------------------------------------

_NUMBERS = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
}
_ORDINALS = {
    word: number
    for number, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
        ],
        1,
    )
}
_ROMAN = re.compile(r"\Ax{0,3}(?:ix|iv|v?i{0,3})\Z", _FLAGS)
_NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)}|[ivx]{{1,6}})"
_CHAPTER = r"(?:chapters?|chap\.?|chs?\.?|scenes?|episodes?|ep\.?|parts?)[ \t#]{0,3}"
CHAPTER = re.compile(
    rf"\b{_CHAPTER}{_NUMBER}\b"
    rf"|\bthe (?P<ordinal>{'|'.join(_ORDINALS)}) (?:chapter|scene|episode|part)\b",
    _FLAGS,
)
_BEFORE_IT = re.compile(
    r"(?P<until>until(?: the end of)?|till|before|no(?:t)? earlier than"
    r"|reveal(?:ed|s)?(?: only)?(?: in| at| by)?:?|comes? out(?: in)?|earliest(?: in)?:?|pay-?off:?"
    r"|pa(?:ys|y|id) off|kept (?:back )?(?:until|till)|(?:secret|hidden) until"
    r"|(?:learn|find)s?(?: out)?(?: (?:of )?(?:it|this|that))?(?: only)? in"
    r")\W{0,6}(?:in |at )?\Z"
    r"|(?P<since>since|from|after|as of|in|learn(?:s|ed|t)(?: it)? in|found out in"
    r"|told in|\()\W{0,4}\Z",
    _FLAGS,
)


def number_of(text: str) -> int | None:
    """A number in digits, in words or in Roman numerals."""
    small = text.lower()
    if small.isdigit():
        return int(small)
    if small in _NUMBERS:
        return _NUMBERS[small]
    if small and _ROMAN.match(small):
        values = {"i": 1, "v": 5, "x": 10}
        digits = [values[letter] for letter in small]
        return sum(-d if any(d < n for n in digits[at + 1 :]) else d for at, d in enumerate(digits))
    return None


def chapters_in(text: str) -> Iterator[tuple[int, str]]:
    """The chapters that a text names, each with "until", "since" or "" before it."""
    for match in CHAPTER.finditer(text):
        ordinal = match["ordinal"]
        number = _ORDINALS[ordinal.lower()] if ordinal else number_of(match["number"])
        if number is None:
            continue
        before = _BEFORE_IT.search(text[max(0, match.start() - 40) : match.start()])
        how = "" if before is None else "until" if before["until"] else "since"
        yield number, how


def chapter_in(text: str) -> int:
    """The first chapter that a text names, or the number that it is; 0 for none."""
    found = next((number for number, _ in chapters_in(text)), 0)
    if found:
        return found
    bare = re.match(rf"\W*{_NUMBER}\W*\Z", text.strip(), _FLAGS)
    return (number_of(bare["number"]) or 0) if bare else 0


def until(text: str) -> int:
    """The chapter until which a text says that something is kept back, 0 for none."""
    return next((number for number, how in chapters_in(text) if how == "until"), 0)


def span(text: str) -> tuple[int, int]:
    """Since and until which chapter something holds; 0 where a text does not say."""
    since = to = 0
    for number, how in chapters_in(text):
        if how == "until":
            to = to or number
        else:
            since = since or number
    return since, to


# --- statements -------------------------------------------------------------------------

_SECRET = re.compile(
    r"\b(?:(?:must|do|does|may|can|should|shall)(?:n['’]t| not)|never|not|nobody|no one|cannot)\b"
    r"[^.]{0,60}\b(?:reveal(?:ed)?|disclos\w+|given? away|tell|told|mention(?:ed)?|learn\w*"
    r"|know[ns]?|find out|hint\w*)\b[^.]{0,160}\b(?:until|before|till|yet)\b"
    r"|\b(?:revealed|comes? out|revelation)\b (?:only )?(?:in|at) (?:chapter|ch\.)"
    r"|\b(?:secret|hidden) until\b|\bkept (?:back |secret |hidden )?(?:until|till)\b",
    _FLAGS,
)
KNOWN_BY = re.compile(
    r"\b(?i:known (?:only )?(?:to|by)|only|(?:nobody|no one) (?:but|except)|except)\s+"
    r"((?:[A-Z][\w'’-]*|and|or|the|of|,|&|\s){1,60})"
)
AWAY = re.compile(
    r"\b(?:gives? it away|words? to avoid|never (?:mention|say)|watch for"
    r"|avoid)\b[ \t:]*([^.;]{2,200})",
    _FLAGS,
)


def is_secret(text: str) -> bool:
    """Whether a text says, outside a list of secrets, that something is one until a chapter."""
    return _SECRET.search(text) is not None and CHAPTER.search(text) is not None


_THE_CHAPTER = CHAPTER.pattern.replace("?P<number>", "?:").replace("?P<ordinal>", "?:")
_WHEN = (
    r"[,–—:-]?\s?\b(?:not |and not |only )?(?:until|before|since|from|after|in|by|as of"
    r"|at the end of)"
    rf"(?: the end of)? {_THE_CHAPTER}"
)
_OWN_SENTENCE = (
    r"(?:\A|(?<=[.;!?—–]))\s?(?:reveal(?:ed|s)?|revelation|not|until|known (?:only )?(?:to|by)|only"
    r"|gives? it away|words? to avoid|earliest|comes? out|pay-?off|hints?|nobody else|no one else"
    r"|watch for|(?:secret|kept) until|never mention|(?:hold|keep)(?: it| this)? back|withhold"
    r"|save (?:it |this )?for)\b[^.;]{0,200}(?:[.;]|\Z)"
)
_AROUND_IT = (
    r"\A.{0,80}?\b(?:reveal|disclose|mention|hint|give away|let slip|tell|learns?|knows?|known"
    r"|revealed|finds? out|shows?|say)\b(?: the reader| readers| anyone| it)? that "
)
_BEHIND_IT = (
    r"\b(?:it |this |which |that )?(?:must|may|should|can|is|are)(?: not|n['’]t)? (?:to )?"
    r"(?:be |yet be )?(?:reveal\w+|known|disclosed|told|mentioned|a secret|kept secret|kept back)"
    r"\b[^.;]{0,80}(?:\Z|[.;])"
)
_REVEALED = r"\b(?:is |are )?(?:revealed|kept (?:back|secret|hidden))\b[^.;]{0,60}(?:\Z|[.;])"
_BRACKETS = (r"\([^()]{0,120}\)", r"\[[^\[\]]{0,120}\]")
_META = tuple(
    re.compile(pattern, _FLAGS)
    for pattern in (*_BRACKETS, _WHEN, _OWN_SENTENCE, _AROUND_IT, _BEHIND_IT, _REVEALED)
)
"""What says when, to whom and how something may be told, and not what it is."""

_SHORT = re.compile(r"\b(?:ch|chap)s?\. ?(?=[\divx])", _FLAGS)
_VERBAL = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|did|does|do|will|can|\w{2,20}ed|stole|took|gave|wrote"
    r"|hid|sold|left|lost|found|kept|made|met|paid|saw|sent|shot|sank|swore|told|broke|bore|built"
    r"|bought|caught|chose|came|slew|knew|knows|lied|lies|led|ran|struck|won|bought|loves|killed)\b",
    _FLAGS,
)
_ASKS = re.compile(r"\A(?:who|whose|whom|what|why|how|where|when|whether|which)\b", _FLAGS)


def is_sentence(title: str) -> bool:
    """Whether a title says something, and neither asks it nor only names it."""
    return _VERBAL.search(title) is not None and _ASKS.match(title) is None


_THAT = re.compile(r"\A(?:that|whether|the fact that|about|of)\s", _FLAGS)


def statement(text: str) -> str:
    """What a secret or a piece of knowledge says, without when, to whom and how it may be told."""
    text = _SHORT.sub("chapter ", " ".join(text.split())[:1_000])
    for pattern in _META:
        text = " ".join(pattern.sub(" ", text).split())
    return _THAT.sub("", text.strip(" .,;:–—-()"))
