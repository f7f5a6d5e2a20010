"""Whether a sentence says a statement: its telling words, and the people it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ctxbuild.facts.words import STOP, words
from ctxbuild.select.realm.canon_words import name_parts
from ctxbuild.select.realm.query import root

_ENDS = "[.!?…]+[\"”’')]*(?=\\s|\\Z)|\\n[ \\t]*\\n|\\Z"
_SENTENCE = re.compile(rf"\S(?:(?!{_ENDS}).)*(?:{_ENDS})", re.DOTALL)
_PRONOUN = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|you|your|my|mine|me|I|our)\b", re.IGNORECASE
)
_NEGATED = re.compile(r"\b(?:not|never|no|n['’]t|nobody|neither|nor)\b|n['’]t\b", re.IGNORECASE)
OF_THE_MIND = re.compile(
    r"\b(?:(?:did|do|does|could|would|had)(?: not|n['’]t) (?:yet )?(?:know|guess|suspect"
    r"|realise|realize"
    r"|learn|imagine|believe|see)|never (?:knew|guessed|suspected|learned|learnt|imagined)"
    r"|had no idea|no idea|no one knew|nobody knew)\b",
    re.IGNORECASE,
)
ASKED = re.compile(r"\?[\"”’')]*\s*\Z")

_FORMS = """
steal stole stolen
take took taken
give gave given
write wrote written
hide hid hidden hiding
sell sold
burn burnt
leave left
lose lost losing
find found
keep kept
make made
meet met
pay paid payment
see saw seen sight
send sent
shoot shot
sink sank sunk sunken
swear swore sworn
tell told
break broke broken
bear bore born
build built
buy bought
catch caught
choose chose chosen
come came
die died dead death dying
slay slew slain
forge forged forgery forger
murder murdered murderer
kill killed killer killing
bring brought
know knew known
lie lay lain lies
put puts
ring rang rung
fly flew flown
fight fought
flee fled
hear heard
hold held
lead led
ride rode ridden
rise rose risen
run ran
speak spoke spoken
strike struck
teach taught
tear tore torn
wear wore worn
win won
wake woke woken
throw threw thrown
marry married marriage wedding wed
betray betrayed betrayal traitor
poison poisoned poisoner
brother brothers sibling siblings
sister sisters
father dad fathered papa
mother mum mom mama
son sons
daughter daughters
saw sawn sawed sawing
"""
"""Words that belong together and that no rule of endings joins, a row each."""

_IRREGULAR = {form: row.split()[0] for row in _FORMS.strip().split("\n") for form in row.split()}


@lru_cache(maxsize=50_000)
def bases(word: str) -> frozenset[str]:
    """What a word may be a form of; "saw" is one of "see" and a word of its own."""
    small = word.lower()
    found = {root(each) for each in words(small)} or {small}
    if small in _IRREGULAR:
        found.add(_IRREGULAR[small])
    if small == "saw":
        found |= {"see", "saw"}
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Person:
    """A name with every form of it."""

    name: str
    pattern: re.Pattern[str]

    def stands_in(self, text: str) -> bool:
        """Whether some form of the name stands in a text; of a namesake it is none."""
        return any(self._is_meant(text, match) for match in self.pattern.finditer(text))

    def _is_meant(self, text: str, match: re.Match[str]) -> bool:
        before = _FORENAME.search(text[max(0, match.start() - 40) : match.start()])
        if before is None or " " in match[0]:
            return True
        # "Alasdair Tait" is not Mirren Tait; "Captain Tait" and "Then Tait" may be.
        return not name_parts(before[1]) or before[1] in self.name


_FORENAME = re.compile(r"(?<=[\w,;] )([A-ZÀ-Þ][\w'’-]+) \Z")


def people_of(names: Iterable[Mapping[str, Any]]) -> list[Person]:
    """The persons of a canon; a word that several share calls none of them alone."""
    named = [name for name in names if name["kind"] == "person"]
    shared: dict[str, int] = {}
    for name in named:
        for part in set(name_parts(name["name"])):
            shared[part] = shared.get(part, 0) + 1
    people = []
    for name in named:
        parts = [part for part in name_parts(name["name"]) if shared[part] == 1]
        forms = sorted({name["name"], *name["aliases"], *parts}, key=lambda f: (-len(f), f))
        joined = "|".join(re.escape(form) for form in forms)
        people.append(Person(name["name"], re.compile(rf"(?<!\w)(?:{joined})(?!\w)")))
    return people


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence must hold to say it.

    Attributes:
        people: who it is about.
        telling: per telling word: its bases.
    """

    people: tuple[Person, ...]
    telling: tuple[frozenset[str], ...]

    @property
    def can_be_told(self) -> bool:
        """Whether there is enough of it to be recognised."""
        return len(self.telling) >= 2 or (bool(self.telling) and bool(self.people))


_EMPTY = frozenset(
    [
        "be",
        "is",
        "was",
        "were",
        "are",
        "been",
        "being",
        "has",
        "had",
        "have",
        "do",
        "did",
        "does",
        "will",
        "would",
        "shall",
        "should",
        "can",
        "could",
        "may",
        "might",
        "must",
        "where",
        "who",
        "why",
        "how",
        "what",
        "when",
        "whom",
        "whose",
        "which",
        "that",
        "there",
        "really",
        "actually",
        "truly",
        "secretly",
        "one",
        "person",
        "man",
        "woman",
        "thing",
        "own",
    ]
)


def statement_of(text: str, people: Sequence[Person], about: Person | None = None) -> Statement:
    """What says a statement.

    Args:
        text: the statement.
        people: of the canon.
        about: who knows or does not know it: not part of what it says.
    """
    named = [person for person in people if person.stands_in(text) and person is not about]
    rest = text
    for person in people:
        if person.stands_in(text):
            rest = person.pattern.sub(" ", rest)
    telling: list[frozenset[str]] = []
    end = 0
    for match in re.finditer(r"[^\W_]+(?:['’-][^\W_]+)*", rest):
        small = re.sub(r"['’]s\Z", "", match[0].lower())
        if small in _EMPTY or small in STOP or len(small) < 3:
            continue
        between = rest[end : match.start()]
        named_so = telling and match[0][:1].isupper() and between in {", ", " "}
        if named_so and (between == ", " or rest[:end].rpartition(" ")[2][:1].isupper()):
            telling[-1] |= bases(small)  # "the keeper, Alasdair Tait": either says who
        else:
            telling.append(bases(small))
        end = match.end()
    return Statement(tuple(named), tuple(dict.fromkeys(telling)))


def statements_of(
    text: str, people: Sequence[Person], about: Person | None = None
) -> tuple[Statement, ...]:
    """A statement, and what its first half says where that can stand alone."""
    whole = statement_of(text, people, about)
    half, mark, _ = text.partition(" and ")
    first = statement_of(half, people, about) if mark else whole
    if mark and len(first.telling) >= 2 and len(whole.telling) > len(first.telling):
        return first, whole
    return (whole,)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where sentences stand, over line ends, not over paragraphs."""
    for match in _SENTENCE.finditer(text):
        yield match.start(), match.end()


def says(statement: Statement, text: str, start: int, end: int) -> bool:
    """Whether a sentence says a statement."""
    sentence = text[start:end]
    here = [bases(word) for word in re.findall(r"[^\W_]+", sentence)]
    held = sum(any(each & wanted for each in here) for wanted in statement.telling)
    if held < _needed(len(statement.telling)):
        return False
    if len(statement.telling) == 1 and not _is_said_of(statement, sentence):
        return False
    missing = [person for person in statement.people if not person.stands_in(sentence)]
    if len(statement.telling) > 1 and len(missing) < len(statement.people):
        return True  # the one that it is about is there, and all the rest
    if len(statement.telling) > 2 and _pronouns(sentence):
        return True
    before = text[max(0, start - _REACH) : start]
    return all(p.stands_in(before) for p in missing) and _pronouns(sentence) >= min(2, len(missing))


_REACH = 400
"""Characters before a sentence in which a pronoun's name may stand."""

_TIED = re.compile(
    r"(?:\b(?:is|was|are|were|be|been|being|became|becomes|as)|['’](?:s|re|m)|\b(?:his|her|their|my|your|our|its))"
    r"(?: [\w-]+){0,2} \Z",
    re.IGNORECASE,
)


_DOES = r"(?:['’]s)?(?: (?:had|has|have|was|is|\w{1,20}ly))? \Z"
"""What may stand between a name and what somebody does."""


def _is_said_of(statement: Statement, sentence: str) -> bool:
    """Whether a single telling word is said of somebody: "her brother", "Ivo died".

    "As a brother might" says nothing of the kind.
    """
    (wanted,) = statement.telling
    for match in re.finditer(r"[^\W_]+", sentence):
        if not bases(match[0]) & wanted:
            continue
        head = sentence[max(0, match.start() - 60) : match.start()]
        tied = _TIED.search(head)
        if tied and not re.match(r"as\b", tied[0], re.IGNORECASE):
            return True
        if any(re.search(person.pattern.pattern + _DOES, head) for person in statement.people):
            return True
    return False


def _needed(count: int) -> int:
    """How many of the telling words must be there: all of a few, most of many."""
    return count if count <= 3 else max(3, round(count * 0.7))


def _pronouns(sentence: str) -> int:
    return len({match.lower() for match in _PRONOUN.findall(sentence)})


def is_told(statement: Statement, text: str, start: int, end: int) -> bool:
    """Whether a sentence says a statement, and neither denies it nor asks."""
    return (
        statement.can_be_told
        and says(statement, text, start, end)
        and not _is_denied(statement, text[start:end])
    )


def _is_denied(statement: Statement, sentence: str) -> bool:
    """Whether a sentence says the contrary or only asks; "she did not know that ..." says it."""
    if ASKED.search(sentence) or _LEFT_OPEN.search(sentence):
        return True
    plain = OF_THE_MIND.sub(" ", sentence)
    told = [clause for clause in _CLAUSES.split(plain) if _tells(statement, clause)]
    return bool(told) and all(_NEGATED.search(clause) for clause in told)


# "He wondered who had done it", "she did not know whether": neither tells what it is.
_LEFT_OPEN = re.compile(
    rf"\b(?:wonder(?:s|ed|ing)?|asks?|asked|asking|unsure|uncertain"
    rf"|(?:wants?|wanted|like|try|trying|tried) to (?:know|learn|find out)|{OF_THE_MIND.pattern})\b"
    r"[^.;:\"“”]{0,60}\b(?:who|whose|whom|whether|if|why|how|what|where|when|which)\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r"[,;:—–\"“”]|\b(?:and|but|or)\b")


def _tells(statement: Statement, clause: str) -> bool:
    here = [bases(word) for word in re.findall(r"[^\W_]+", clause)]
    return any(each & wanted for each in here for wanted in statement.telling)
