"""Names spelled nearly right: one or two letters away from a name of the canon.

A word at the beginning of a sentence may be any word, so there it counts only if
something else says that it is meant as a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ctxbuild.compare.lint import Hit, Output
from ctxbuild.select.realm.canon_words import edits, name_parts

_CAPITALISED = re.compile(r"(?<![\w'’-])[A-ZÀ-Þ][^\W\d_]*(?:['’-][^\W\d_]+)*")
_OWNED = re.compile(r"['’]s?\Z")
_BEGINS = re.compile(r"(?:\A|[.!?:…\n][\"”’')\]]*|[\"“‘(*_>#-])\s*[\"“‘'(*_]*\Z")
_SAID = re.compile(
    r"\s(?:said|asked|answered|replied|whispered|thought|knew|nodded|shrugged|smiled|laughed|frowned"
    r"|turned|looked)\b"
)
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Spelling:
    """A name and what it is taken for.

    Attributes:
        aliases: what else it is called.
        wrong: forms that are forbidden outright.
        known: words that are right, whatever they look like.
    """

    name: str
    aliases: tuple[str, ...]
    wrong: tuple[str, ...]
    known: frozenset[str]

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """Forbidden forms, and words that are nearly the name."""
        for output in outputs:
            if not output.language:
                yield from self._forbidden(output)
                yield from self._misspelled(output)

    def _forbidden(self, output: Output) -> Iterator[Hit]:
        for wrong in self.wrong:
            pattern = rf"(?<!\w){re.escape(wrong)}(?!\w)"
            for match in re.finditer(pattern, output.text):
                yield Hit(output, match.start(), match.end(), self._message(match[0], self.name))

    def _misspelled(self, output: Output) -> Iterator[Hit]:
        text = output.text
        parts = [part for part in self._parts() if len(part) >= _SHORTEST]
        for match in _CAPITALISED.finditer(text):
            word = _OWNED.sub("", match[0])
            if word in self.known or len(word) < _SHORTEST - 1 or word in self.wrong:
                continue
            near = next((part for part in parts if is_near(word, part)), None)
            if near is None or _is_ordinary(text, word):
                continue
            if self._is_meant(text, match.start(), match.end(), word):
                end = match.start() + len(word)
                yield Hit(output, match.start(), end, self._message(word, near))

    def _parts(self) -> tuple[str, ...]:
        own = [*name_parts(self.name)]
        for alias in self.aliases:
            own += name_parts(alias)
        return tuple(dict.fromkeys(own))

    def _is_meant(self, text: str, start: int, end: int, word: str) -> bool:
        """Whether a capital says that it is a name."""
        if not _BEGINS.search(text[max(0, start - 12) : start]):
            return True
        behind = text[end : end + 40]
        if text[start:end] != word or _SAID.match(behind):
            return True
        follower = re.match(r"\s([A-ZÀ-Þ][\w'’-]*)", behind)
        if follower and follower[1] in self._parts():
            return True
        # Elsewhere inside a sentence with the same capital it is no ordinary word.
        return any(
            not _BEGINS.search(text[max(0, other.start() - 12) : other.start()])
            for other in re.finditer(rf"(?<![\w'’-]){re.escape(word)}(?![\w])", text)
        )

    def _message(self, found: str, right: str) -> str:
        return f"{found!r}: the name is spelled {right!r}"


@lru_cache(maxsize=8)
def _small_words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"(?<![\w'’-])[a-zß-ÿ][^\W\d_]*", text))


def _is_ordinary(text: str, word: str) -> bool:
    """Whether the text has the word in small letters too."""
    return word.lower() in _small_words(text)


def is_near(word: str, name: str) -> bool:
    """Whether a word is a name but for one or two letters; a plural is not."""
    if word == name or word[0] != name[0]:
        return False
    if word in {f"{name}s", f"{name}es"} or f"{word}s" == name:
        return False
    most = 1 if len(name) < 6 else 2
    if abs(len(word) - len(name)) > most:
        return False
    distance = edits(word.lower(), name.lower())
    return 0 < distance <= most or word.lower() == name.lower()
