"""A scene's text held against its canon: names, early reveals, knowledge nobody can have yet.

A secret is told where one sentence holds what its statement says: all its telling
words, and the people it is about by name or, where they were just named, by a
pronoun. Somebody shows knowledge where such words stand in what they say, think or
are said to know. Both are narrow on purpose: a hint is no reveal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxbuild.compare.lint import Check, Hit, Output, Rule, Source
from ctxbuild.compare.lint_names import Spelling
from ctxbuild.compare.lint_statements import (
    ASKED,
    OF_THE_MIND,
    Person,
    Statement,
    is_told,
    people_of,
    says,
    sentences,
    statement_of,
    statements_of,
)
from ctxbuild.select.realm.canon_words import name_parts


@dataclass(frozen=True, slots=True)
class Reveal:
    """A secret that must not be told in this scene.

    Attributes:
        until: the chapter in which it may be; 0 for none named.
        words: what gives it away alone; None for nothing.
    """

    statements: tuple[Statement, ...]
    shown: str
    until: int
    words: re.Pattern[str] | None

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """The sentences that tell it."""
        when = f"before chapter {self.until}" if self.until else "too early"
        for output in outputs:
            if output.language:
                continue
            for start, end in sentences(output.text):
                sentence = output.text[start:end]
                if self.words is not None and (word := self.words.search(sentence)):
                    at = start + word.start()
                    message = f"gives away {when}: {self.shown} ({word[0]!r})"
                    yield Hit(output, at, at + len(word[0]), message)
                elif any(is_told(each, output.text, start, end) for each in self.statements):
                    yield Hit(output, start, end, f"reveals {when}: {self.shown}")


_MIND = (
    r"(?:knew|knows|know|remembered|remembers|realised|realized|realises|realizes|understood|understands"
    r"|recalled|recalls|recognised|recognized|was (?:sure|certain|aware)|is (?:sure"
    r"|certain|aware)|had (?:known"
    r"|guessed|learned|learnt|found out|worked out)|guessed|worked out|saw (?:now )?that"
    r"|had always known)"
)
_SPEECH = (
    r"(?:said|says|told|tells|asked|asks|answered|answers|replied|replies|whispered|whispers|wrote|writes"
    r"|muttered|murmured|cried|shouted|explained|explains|added|adds|admitted|confessed|announced|insisted"
    r"|thought|thinks|wondered|called|spat|breathed|began|went on)"
)
_QUOTE = re.compile(r"[\"“][^\"“”]{1,2000}[\"”]|[‘][^‘’]{1,2000}[’]")


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that somebody does not know in this scene."""

    who: Person
    statement: Statement
    shown: str
    until: int

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """Where they say, think or are said to know it."""
        when = f" before chapter {self.until}" if self.until else ""
        message = f"{self.who.name} cannot know{when}: {self.shown}"
        for output in outputs:
            if output.language or not self.statement.can_be_told:
                continue
            for start, end in sentences(output.text):
                sentence = output.text[start:end]
                if not says(self.statement, output.text, start, end):
                    continue
                shown = self._shows(output.text, start, end, sentence)
                if shown and not OF_THE_MIND.search(sentence) and not ASKED.search(sentence):
                    yield Hit(output, start, end, message)

    def _shows(self, text: str, start: int, end: int, sentence: str) -> bool:
        name = self.who.pattern.pattern
        if re.search(rf"{name}(?: [a-z]+ly)?(?: had| has)?(?: [a-z]+ly)? {_MIND}\b", sentence):
            return True
        if _speaks(text, start, end, name):
            return True
        # "She knew that ..." where the last one named before is the one.
        if not re.match(rf"\W*(?:He|She|They)(?: [a-z]+ly)? {_MIND}\b", sentence):
            return False
        before = text[max(0, start - 400) : start].rpartition("\n\n")[2]
        return re.search(rf"{name}(?:(?!(?<!\w)[A-Z]\w+).)*\Z", before, re.DOTALL) is not None


def _speaks(text: str, start: int, end: int, name: str) -> bool:
    """Whether the words of a sentence stand in what somebody says."""
    first = text.rfind("\n\n", 0, start) + 2 if "\n\n" in text[:start] else 0
    last = text.find("\n\n", start)
    paragraph = text[first : last if last >= 0 else len(text)]
    quotes = [(first + q.start(), first + q.end()) for q in _QUOTE.finditer(paragraph)]
    if not any(begin < end and stop > start for begin, stop in quotes):
        return False
    outside = _QUOTE.sub(lambda m: '"' + " " * (len(m[0]) - 2) + '"', paragraph)
    said = re.search(rf"{name}(?: [a-z]+ly)? {_SPEECH}\b|\b{_SPEECH} (?:[a-z]+ly )?{name}", outside)
    return said is not None


# --- rules ------------------------------------------------------------------------------


def is_covered(rule: Rule, canon: Mapping[str, Any]) -> bool:
    """Whether a rule of the canon decides what an item says: a secret, or a spelling."""
    section = rule.id.partition("@")[0]
    return any(each["unit"] in {rule.id, section} for each in canon["secrets"]) or any(
        wrong in rule.text for name in canon["names"] for wrong in name["wrong"]
    )


def canon_rules(canon: Mapping[str, Any]) -> list[Rule]:
    """The rules of a recorded canon: secrets, what people do not know, names.

    Args:
        canon: from the record of a `scene` packet.
    """
    people = people_of(canon["names"])
    titles: Mapping[str, str] = canon["titles"]
    rules = [_reveal(secret, people, titles) for secret in canon["secrets"]]
    rules += [
        rule
        for each in canon["ignorance"]
        if (rule := _unknown(each, people, titles, rules)) is not None
    ]
    rules += _names(canon, titles)
    return list({rule.id: rule for rule in rules}.values())


def _reveal(secret: Mapping[str, Any], people: Sequence[Person], titles: Mapping[str, str]) -> Rule:
    until = secret["until"]
    words_ = secret["words"]
    pattern = None
    if words_:
        joined = "|".join(re.escape(word) for word in words_)
        pattern = re.compile(rf"(?<!\w)(?:{joined})(?!\w)", re.IGNORECASE)
    statements = statements_of(secret["statement"], people)
    check = Reveal(statements, secret["statement"], until, pattern)
    checkable = statements[0].can_be_told or pattern is not None
    when = f"before chapter {until}" if until else "yet"
    return Rule(
        id=f"{secret['unit']}/reveal:{secret['statement']}"[:200],
        text=f"Not to be revealed {when}: {secret['statement']}",
        modality="MUST NOT",
        level="error",
        source=_source(secret["unit"], titles),
        checks=(check,) if checkable else (),
    )


def _unknown(
    each: Mapping[str, Any],
    people: Sequence[Person],
    titles: Mapping[str, str],
    reveals: Sequence[Rule],
) -> Rule | None:
    who = next((p for p in people if p.stands_in(each["who"])), None)
    if who is None:
        return None
    until = each["since"] or each["until"]
    statement = statement_of(each["statement"], people, who)
    if _is_told_by(statement, reveals):
        return None  # the secret's own rule finds it
    check = Unknown(who, statement, each["statement"], until)
    checks: tuple[Check, ...] = (check,) if statement.can_be_told else ()
    when = f" before chapter {until}" if until else ""
    return Rule(
        id=f"{each['unit']}/{each['who']}:{each['statement']}"[:200],
        text=f"{each['who']} does not know{when}: {each['statement']}",
        modality="MUST NOT",
        level="error",
        source=_source(each["unit"], titles),
        checks=checks,
    )


def _is_told_by(statement: Statement, reveals: Sequence[Rule]) -> bool:
    wanted = set(statement.telling)
    return any(
        wanted == set(told.telling)
        for rule in reveals
        for check in rule.checks
        if isinstance(check, Reveal)
        for told in check.statements
        if told.can_be_told
    )


def _names(canon: Mapping[str, Any], titles: Mapping[str, str]) -> list[Rule]:
    known = frozenset(canon["words"])
    every = [part for name in canon["names"] for part in name_parts(name["name"])]
    rules = []
    for name in canon["names"]:
        spelling = Spelling(
            name["name"], tuple(name["aliases"]), tuple(name["wrong"]), known | set(every)
        )
        rules.append(
            Rule(
                id=f"{name['unit']}/name:{name['name']}"[:200],
                text=f"The name is spelled {name['name']}"
                + (f", never {' or '.join(name['wrong'])}" if name["wrong"] else ""),
                modality="MUST",
                level="error",
                source=_source(name["unit"], titles),
                checks=(spelling,),
            )
        )
    return rules


def _source(unit: str, titles: Mapping[str, str]) -> Source:
    section, _, ordinal = unit.partition("@")
    path = section.partition("#")[0]
    return Source(path, titles.get(section, section.partition("#")[2]), ordinal)
