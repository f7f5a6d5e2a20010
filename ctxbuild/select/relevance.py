"""How much passages of a talk bear on a question: BM25 with what a talk adds to it.

Words are compared by their stems, irregular English forms included. A passage
gains from those around it, since an answer seldom repeats the question; from who
speaks, where the question names somebody; from its date, where the question names
a month. The words that the best passages share widen the question once.

BM25 is Robertson's (see "The Probabilistic Relevance Framework", 2009), the
widening is pseudo relevance feedback in its simplest form. The numbers were chosen
on the first three dialogues of LoCoMo (see docs/sessions.md).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

_K1, _B = 1.2, 0.5
_OWN = 1.5
"""What a passage gains when its speaker is the one the question names."""
_DATE = 4.0
"""What it gains when its date is in the month that the question names."""
_AROUND = ((-1, 0.5), (1, 0.4), (-2, 0.3), (2, 0.3), (-3, 0.15), (3, 0.15))
_BEST_OF_GROUP = 0.1
_FEEDBACK = (5, 10, 0.6)
"""From how many passages the question is widened, by how many words, with which weight."""
_THIN = 8
"""A passage of fewer words than this gains less from those around it."""
_LENGTH = 0.3

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)


@dataclass(frozen=True, slots=True)
class Passage:
    """What may bear on a question.

    Attributes:
        group: passages of one group stand around each other: a day, a file, a heading.
        size: what showing it costs, tokens or characters.
    """

    text: str
    speaker: str = ""
    time: str = ""
    group: str = ""
    size: int = 1


def relevance(passages: Sequence[Passage], question: str) -> list[float]:
    """A number per passage, larger for what bears more on the question; 0 for nothing."""
    corpus = _Corpus(passages)
    names = {name for p in passages for name in p.speaker.lower().split()}
    called = _stems(names)
    asked = Counter(term for term in terms(question) if term not in called)
    scores = corpus.bm25({term: float(times) for term, times in asked.items()})
    wider = corpus.wider(scores, called.union(asked))
    if wider:
        more = corpus.bm25(wider)
        scores = [one + other for one, other in zip(scores, more, strict=True)]
    scores = _by_speaker(passages, scores, question.lower(), names)
    scores = _by_date(passages, scores, question.lower())
    scores = corpus.with_neighbours(scores)
    return [
        score / max(1, passage.size) ** _LENGTH
        for passage, score in zip(passages, scores, strict=True)
    ]


class _Corpus:
    """Passages as counted terms."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._groups = [passage.group for passage in passages]
        self._counts = [Counter(terms(passage.text)) for passage in passages]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._holding = Counter(term for counts in self._counts for term in counts)
        self._mean = sum(self._lengths) / max(1, len(passages)) or 1.0

    def bm25(self, asked: Mapping[str, float]) -> list[float]:
        """The score of every passage for weighted terms."""
        weights = {t: w * self._idf(t) for t, w in asked.items() if t in self._holding}
        return [
            sum(
                weight * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length / self._mean))
                for term, weight in weights.items()
                if (times := counts.get(term, 0))
            )
            for counts, length in zip(self._counts, self._lengths, strict=True)
        ]

    def wider(self, scores: Sequence[float], known: Collection[str]) -> dict[str, float]:
        """The terms that the best passages share, weighted against each other.

        Args:
            scores: of the passages.
            known: terms that are none of them.
        """
        passages, most, weight = _FEEDBACK
        best = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:passages]
        gains: dict[str, float] = {}
        for at in best:
            for term in self._counts[at] if scores[at] > 0 else ():
                if term not in known:
                    gains[term] = gains.get(term, 0.0) + scores[at] * self._idf(term)
        chosen = sorted(gains.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
        total = sum(gain for _, gain in chosen)
        return {term: weight * gain / total for term, gain in chosen} if total else {}

    def with_neighbours(self, scores: Sequence[float]) -> list[float]:
        """Scores with a part of those around them, and of the best of their group."""
        best: dict[str, float] = {}
        for group, score in zip(self._groups, scores, strict=True):
            best[group] = max(best.get(group, 0.0), score)
        found = []
        for at, score in enumerate(scores):
            around = sum(
                share * scores[at + step]
                for step, share in _AROUND
                if 0 <= at + step < len(scores) and self._groups[at + step] == self._groups[at]
            )
            fullness = min(1.0, self._lengths[at] / _THIN)
            found.append(score + fullness * around + _BEST_OF_GROUP * best[self._groups[at]])
        return found

    def _idf(self, term: str) -> float:
        holding = self._holding[term]
        return math.log(1 + (len(self._counts) - holding + 0.5) / (holding + 0.5))


def _by_speaker(
    passages: Sequence[Passage], scores: Sequence[float], question: str, names: set[str]
) -> list[float]:
    named = {name for name in names if re.search(rf"\b{re.escape(name)}\b", question)}
    speakers = {p.speaker for p in passages if named & set(p.speaker.lower().split())}
    if len(speakers) != 1:
        return list(scores)
    (speaker,) = speakers
    return [
        score * (_OWN if passage.speaker == speaker else 1.0)
        for passage, score in zip(passages, scores, strict=True)
    ]


_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def _by_date(passages: Sequence[Passage], scores: Sequence[float], question: str) -> list[float]:
    months = [month for month in _MONTHS if _names_month(question, month)]
    if not months:
        return list(scores)
    years = _YEAR.findall(question)
    return [
        score + (_DATE if _is_in(passage.time.lower(), months, years) else 0.0)
        for passage, score in zip(passages, scores, strict=True)
    ]


def _names_month(question: str, month: str) -> bool:
    if month not in {"may", "march"}:
        return re.search(rf"\b{month}\b", question) is not None
    pattern = rf"\b(?:in|on|of|by|since|until|last|\d) {month}\b|\b{month} (?:\d|of)"
    return re.search(pattern, question) is not None


def _is_in(time: str, months: Sequence[str], years: Sequence[str]) -> bool:
    """Whether a time, in words or as ISO 8601, is in one of the months."""
    if years and not any(year in time for year in years):
        return False
    return any(month in time or f"-{_MONTHS.index(month) + 1:02}-" in time[:10] for month in months)


# --- words ------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+")


def terms(text: str) -> list[str]:
    """The stems of a text's words, repeats kept; what nearly every sentence holds is left out."""
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in _COMMON]


def _stems(names: set[str]) -> set[str]:
    return {term for name in names for term in terms(name)}


_COMMON_WORDS = """
a about after again all also am an and any are aren as at be been before being between both
but by can could couldn d did didn do does doesn doing don done down during each few for
from further get go had hadn has hasn have haven having he her here hers hey him his how i
if in into is isn it its just let ll m make may me might more most must my no nor not of off
oh on once only or other our out over own re really s same say shall she should shouldn so
some such t than thanks that the their them then there these they this those to too under
until up us ve very was wasn we were weren what when where which while who whom whose why
will with won would wouldn wow yeah you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())

_IRREGULAR = {
    form: base
    for base, *forms in (
        line.split()
        for line in """
        go went gone goes
        buy bought
        bring brought
        think thought
        teach taught
        catch caught
        get got gotten
        give gave given
        take took taken
        make made
        say said
        tell told
        find found
        feel felt
        keep kept
        leave left
        meet met
        lose lost
        win won
        run ran
        begin began begun
        come came
        see saw seen
        know knew known
        write wrote written
        speak spoke spoken
        break broke broken
        choose chose chosen
        drive drove driven
        eat ate eaten
        fall fell fallen
        fly flew flown
        grow grew grown
        ride rode ridden
        sing sang sung
        sell sold
        send sent
        spend spent
        stand stood
        swim swam swum
        throw threw thrown
        wear wore worn
        build built
        hold held
        hear heard
        lead led
        pay paid
        sleep slept
        draw drew drawn
        child children
        person people
        man men
        woman women
        wife wives
        life lives
        foot feet
        good better best
        """.strip().split("\n")
    )
    for form in forms
}

_LONG_ENDINGS = (
    *(("ational", "ate"), ("fulness", "ful"), ("iveness", "ive"), ("ization", "ize")),
    *(("ousness", "ous"), ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ments", "ment")),
    ("ings", "ing"),
)
_ENDINGS = (
    *("ingly", "edly", "ing", "ed", "ly", "es", "s", "er", "ers", "ment", "ness", "ful"),
    *("ion", "ions", "or", "al", "able", "ive"),
)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    """A word without its common English endings; an irregular form gives its base."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.isascii():
        return word
    for ending, instead in _LONG_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            word = word.removesuffix(ending) + instead
            break
    word = _without_ending(word)
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word


def _without_ending(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            if ending == "s" and word.endswith("ss"):
                return word
            base = word.removesuffix(ending)
            doubled = len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz"
            return base[:-1] if doubled else base
    return word
