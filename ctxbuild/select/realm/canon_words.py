"""The words that story bibles use: what a title is about, and what a label means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

Category = Literal["reveals", "knows", "promises", "voice", "watch", "timeline", "who", "notes"]

_FLAGS = re.IGNORECASE


def _any(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", _FLAGS)


def _begins(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\A(?:{'|'.join(words)})\b", _FLAGS)


# A row is tried before the rows below it.
_CATEGORIES: tuple[tuple[Category, re.Pattern[str]], ...] = (
    (
        "reveals",
        _any(
            "secrets?",
            "reveals?",
            "revelations?",
            "twists?",
            "spoilers?",
            r"not (?:to be |yet )?reveal\w*",
            r"must not (?:be )?(?:reveal\w*|known?)",
            "hidden truths?",
            "mysteries",
            "withheld",
            r"embargo\w*",
        ),
    ),
    (
        "knows",
        _any("knowledge", "who knows(?: what)?", "knows?", r"does(?: not|n['’]t) know", "unaware"),
    ),
    (
        "promises",
        _any(
            "promises?",
            "pay-?offs?",
            "set-?ups?",
            r"foreshadow\w*",
            "(?:open |plot )?threads?",
            "loose ends?",
            r"chekhov\w*",
        ),
    ),
    (
        "voice",
        _any(
            "voices?",
            "points? of view",
            "pov",
            "viewpoints?",
            "tone",
            "styles?",
            r"narrat\w+",
            "tense",
            "prose",
            "register",
            "diction",
            "style ?guide",
        ),
    ),
    (
        "watch",
        _any(
            "watch-?outs?",
            "spellings?",
            "names?",
            "naming",
            "titles?",
            "forms? of address",
            "places?",
            "locations?",
            "geography",
            "settings?",
            "world",
            "maps?",
            "glossary",
            "terms",
            "style ?sheet",
            "continuity",
            "lexicon",
        ),
    ),
    (
        "timeline",
        _any(
            "time-?lines?",
            r"chronolog\w+",
            "calendar",
            "events?",
            "history",
            "backstory",
            "chapters?",
            "scenes?",
            "synopsis",
            "plot",
            "acts?",
            "what happened",
            "so far",
            "summary",
            "outline",
        ),
    ),
    (
        "who",
        _any(
            "characters?",
            "cast",
            "people",
            "persons?",
            "dramatis personae",
            r"who(?:['’]s| is) who",
            "protagonists?",
            "antagonists?",
            "supporting",
            "minor",
            "roles",
            "famil(?:y|ies)",
            "crew",
            "household",
            "relationships?",
        ),
    ),
)
CATEGORIES: tuple[Category, ...] = get_args(Category)

# What a sentence is about, where its section is about everything.
IN_PROSE: tuple[tuple[Category, re.Pattern[str]], ...] = (
    (
        "voice",
        _any(
            "points? of view",
            "pov",
            r"narrat\w+",
            r"(?:first|second|third)[- ]person",
            r"(?:past|present) tense",
        ),
    ),
    ("watch", _any(r"(?:is |are )?(?:spelled|spelt)", r"never (?-i:[A-ZÀ-Þ])\w+")),
    ("promises", _any("(?:has |have |had )?(?:promised|vowed|sworn)", "pays? off", "paid off")),
)
YEAR = re.compile(r"\W*(?:\d{3,4}|chapters?|chs?\.?)\b", _FLAGS)
"""How an entry of a timeline begins."""

KNOWS = _begins(
    "knows?", "knowledge", "(?:is )?aware(?: of)?", "has learned", "learned", "found out"
)
KNOWS_NOT = _begins(
    r"do(?:es)?(?: not|n['’]t) (?:yet )?know(?: yet)?",
    "must not (?:know|learn)",
    "(?:is )?unaware(?: of)?",
    "ignorant of",
    "not aware(?: of)?",
    "has no idea",
    "can ?not know",
    "knows nothing(?: of| about)?",
    "wrongly believes",
)
VOICE = _begins("voice", "speech", "speaks", "diction", "tone", "pov", "point of view", "register")
ALIASES = _begins(
    "also (?:called|known as|named)",
    r"a\.?k\.?a\.?",
    "alias(?:es)?",
    "nick-?names?",
    "called",
    "known as",
    "goes by",
    "full name",
    "short(?: form| name)?",
    "other names?",
    "titles?",
    "forms? of address",
)
UNTIL = _begins(
    r"reveal(?:ed|s)?",
    "revelation",
    "until",
    "not before",
    "from",
    "comes out",
    "known from",
    "pay-?off",
    "when",
    "chapter",
    "earliest",
)
KNOWN_TO = _begins(
    "known (?:to|by)", "who knows", "knows", "knowers?", "in the know", "shared with"
)
GIVES_AWAY = _begins(
    "gives? (?:it|this) away",
    "give-?aways?",
    "words? to avoid",
    "avoid(?: the words?)?",
    "(?:never|do not) (?:mention|say|write)",
    "watch for",
    "key ?words?",
    "trigger(?: words?)?",
    "forbidden words?",
)
TRUTH = _begins("(?:the )?truth", "secret", "fact", "what", "statement", "twist")
PLACES = _any(
    "places?", "locations?", "geography", "settings?", "world", "maps?", "towns?", "streets?"
)
WHOSE = re.compile(r"name|character|who\b|person|place|location", _FLAGS)
"""Titles of columns that hold names."""

WRONG = re.compile(r"wrong|not\b|never|avoid|misspell", _FLAGS)
RIGHT = re.compile(r"right|spell|correct|use|canon|form", _FLAGS)

YES = re.compile(r"\s*(?:yes|y\b|knows|x\b|true|since|from|✓|✔|✅|●)", _FLAGS)
NO = re.compile(r"\s*(?:no\b|n\b|not\b|never|unaware|until|false|✗|✘|❌|–|—|-|\Z)", _FLAGS)
"""What the cell of a table says of somebody's knowledge."""

FIELDS = frozenset(
    """
    role age born died now status wants want need needs fear fears appearance looks hair eyes job
    occupation home lives family background history goal motivation relationship relationships note
    notes arc spelling places titles address tense person pov tone style narrator register setting
    location date time day chapter when what where who why
    """.split()  # noqa: SIM905  # a list of so many words is hard to read
)
"""Labels that are no names, though they may have a capital."""


def category_of(titles: Sequence[str], stem: str = "") -> Category:
    """What a section is about: its own title counts before those around it and the file's name."""
    for title in (*reversed(titles), stem.replace("-", " ").replace("_", " ")):
        for category, pattern in _CATEGORIES:
            if pattern.search(title):
                return category
    return "notes"


# --- names ------------------------------------------------------------------------------

_SMALL = frozenset(
    [
        "the",
        "of",
        "de",
        "la",
        "le",
        "von",
        "van",
        "der",
        "den",
        "du",
        "di",
        "da",
        "del",
        "el",
        "y",
        "zu",
        "zur",
        "a",
        "an",
        "in",
        "on",
        "at",
    ]
)
_TITLES = frozenset(
    """
    captain capt dr doctor mr mrs ms miss lady lord sir dame king queen prince princess duke duchess
    count countess baron baroness father mother brother sister aunt uncle old young saint st
    professor prof sergeant lieutenant inspector constable colonel major general admiral commander
    judge master mistress abbot abbess bishop cardinal emperor empress governor mayor reverend widow
    little big the of de la von van der
    """.split()  # noqa: SIM905  # a list of so many words is hard to read
)
_QUOTED = re.compile(
    r"[\"“]([^\"“”]{1,60})[\"”]|`([^`]{1,60})`|(?<!\w)['‘]([^'‘’]{1,60})['’](?!\w)"
)


def is_name(text: str) -> bool:
    """Whether a text may be a name: few words, all that matter with a capital."""
    words = text.split()
    if not 1 <= len(words) <= 6 or not text[:1].isalpha() or text.endswith((".", "?", "!", ":")):
        return False
    big = [word for word in words if word.lower() not in _SMALL]
    return bool(big) and all(word[:1].isupper() for word in big)


def bare_name(text: str) -> str:
    """A name without what stands behind it: "Elena Marchetti (protagonist)", "Pia, the maid"."""
    return re.split(r"\s*[(\[,:]|\s+[–—-]{1,2}\s+", text, maxsplit=1)[0].strip()


def name_parts(name: str) -> tuple[str, ...]:
    """The words of a name by which it may be called alone: no titles, no particles."""
    words = re.findall(r"[^\W\d_][\w'’-]*", name)
    return tuple(word for word in words if word[:1].isupper() and word.lower() not in _TITLES)


_PARTS = re.compile(
    r";|(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bCapt)(?<!\bProf)(?<![A-Z])\.\s+(?=[A-ZÀ-Þ])"
)


def parts_of(text: str) -> list[str]:
    """Several statements apart: at semicolons and at the ends of sentences."""
    return [part for each in _PARTS.split(text) if (part := each.strip(" ."))]


def listed(text: str) -> list[str]:
    """The parts of a list in words, what stands in brackets left out."""
    bare = re.sub(r"\([^()]{0,100}\)", "", text)
    parts = re.split(r"[,;/&]|\band\b|\bor\b", bare)
    return [word for part in parts if (word := part.strip(" .:'\"“”-–—"))]


def quoted_or_listed(text: str) -> list[str]:
    """What stands in quotes, and names beside it; without quotes the parts of a list."""
    quoted = [next(filter(None, each)).strip() for each in _QUOTED.findall(text)]
    rest = listed(_QUOTED.sub("", text))
    return [*quoted, *(part for part in rest if is_name(part))] if quoted else rest


def edits(first: str, second: str) -> int:
    """Letters to add, take away, change or swap (Damerau, restricted to neighbours)."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, one in enumerate(first, 1):
        above, row, older = row, [i], before
        for j, other in enumerate(second, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (one != other))
            if i > 1 and j > 1 and one == second[j - 2] and first[i - 2] == other:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]
