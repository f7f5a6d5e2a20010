"""The checks that decide rules: forbidden and required words, shapes, lengths, formats."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from ctxbuild.compare.lint import Hit, Level, Output

_NEGATED = re.compile(
    r"\b(?:not|never|no|avoid\w*|don['’]t|doesn['’]t|without|instead of|rather than|forbid\w*"
    r"|prohibit\w*|disallow\w*|ban(?:s|ned)?|deprecat\w*|cannot|can['’]t|isn['’]t|unlike"
    r"|remov\w+|replac\w+)\b[^.!?\n]*\Z",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"(?:^|\s)(?:#|//|/\*|\*|--|<!--)")
_REACH = 80
"""Characters before a word in which a negation makes it a mention."""

_BUILTINS = frozenset(name for name in dir(builtins) if name.islower())


def words_pattern(
    words: Iterable[str], *, fold: bool, anywhere: bool = False
) -> re.Pattern[str] | None:
    """A pattern that finds any of some words whole; blanks in them match any; None for no words.

    Args:
        words: as written; one that ends in `()` is found where it is called.
        fold: whether case does not matter.
        anywhere: whether `x.name` counts where the word is the name of a builtin.
    """
    rows = [row for word in words if (row := _row(word, anywhere=anywhere))]
    if not rows:
        return None
    return re.compile("|".join(rows), re.IGNORECASE if fold else 0)


def _row(word: str, *, anywhere: bool) -> str:
    called = re.search(r"\(.{0,80}\)\Z", word)
    bare = word[: called.start()] if called else word
    bare = bare.strip()
    if not bare:
        return ""
    pattern = r"\s+".join(re.escape(part) for part in bare.split())
    before = r"(?<![\w])" if re.match(r"\w", bare) else ""
    if bare in _BUILTINS and not anywhere:
        before = r"(?<![\w.])"  # `model.eval()` is not `eval`
    after = r"[ \t]{0,8}\(" if called else r"(?![\w])" if re.search(r"\w\Z", bare) else ""
    return f"{before}{pattern}{after}"


def is_mentioned(output: Output, start: int) -> bool:
    """Whether a word is only spoken of: "never use `x`" in prose or in a comment."""
    head = output.text[max(output.text.rfind("\n", 0, start) + 1, start - 200) : start]
    if output.language and not _COMMENT.search(head) and not _in_docstring(output, start):
        return False
    if not head.strip(" \t-*>#`\"'") or not _NEGATED.search(head[-_REACH:]):
        before = output.text[max(0, start - _REACH) : start]
        # A sentence of prose goes on over the end of its line.
        wrapped = before.rpartition("\n\n")[2]
        return not output.language and _NEGATED.search(wrapped.replace("\n", " ")) is not None
    return True


def _in_docstring(output: Output, at: int) -> bool:
    """Whether a string of three quotes is open at a place."""
    if output.language != "python":
        return False
    return any(output.text.count(quotes, 0, at) % 2 for quotes in ('"""', "'''"))


def is_quoted(text: str, at: int) -> bool:
    """Whether a place stands in what somebody says: quotes are open before it in its paragraph."""
    paragraph = text[text.rfind("\n\n", 0, at) + 1 : at]
    return (paragraph.count('"') + paragraph.count("“") + paragraph.count("”")) % 2 == 1


@dataclass(frozen=True, slots=True)
class Scope:
    """Which outputs a check is about; empty for all.

    Attributes:
        languages: of their code; "prose" for texts.
        paths: globs; `*` goes over slashes.
    """

    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def covers(self, output: Output) -> bool:
        """Whether an output is meant."""
        language = output.language or "prose"
        if self.languages and language not in self.languages:
            # What comes from standard input or a diff may be anything.
            return not output.language and output.path == "-" and "prose" not in self.languages
        return not self.paths or any(fnmatchcase(output.path, path) for path in self.paths)


EVERYWHERE = Scope()


@dataclass(frozen=True, slots=True)
class Forbidden:
    """Words that must not stand in an output.

    Attributes:
        message: with `{0}` for what was found.
        mentions: whether "do not use x" is a break as well.
        quoted: whether what somebody says is meant too.
    """

    pattern: re.Pattern[str]
    message: str
    scope: Scope = EVERYWHERE
    mentions: bool = False
    quoted: bool = True

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """Every place where one stands."""
        for output in outputs:
            if not self.scope.covers(output):
                continue
            for match in self.pattern.finditer(output.text):
                if match.end() == match.start():
                    continue
                if not self.mentions and is_mentioned(output, match.start()):
                    continue
                if not self.quoted and is_quoted(output.text, match.start()):
                    continue
                said = " ".join(match[0].split())
                shown = said if len(said) <= 60 else said[:57] + "..."
                yield Hit(output, match.start(), match.end(), self.message.format(shown))


@dataclass(frozen=True, slots=True)
class Required:
    """Words that must stand somewhere, if the outputs are about it at all.

    Attributes:
        patterns: each must be found.
        names: what they are called in messages.
        any_of: one of them is enough.
        about: roots of words of which one must stand in an output for the rule to apply;
            () if it always applies.
    """

    patterns: tuple[re.Pattern[str], ...]
    names: tuple[str, ...]
    any_of: bool = False
    about: tuple[tuple[str, ...], ...] = ()
    scope: Scope = EVERYWHERE
    level: Level | None = None

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """What is missing, at the beginning of the first output that should have it."""
        meant = [o for o in outputs if self.scope.covers(o) and not o.is_partial]
        about = [output for output in meant if self._is_about(output)]
        if not about:
            return
        missing = [
            name
            for name, pattern in zip(self.names, self.patterns, strict=True)
            if not any(pattern.search(output.text) for output in meant)
        ]
        if missing and (not self.any_of or len(missing) == len(self.names)):
            joined = (" or " if self.any_of else ", ").join(missing)
            yield Hit(about[0], 0, 0, f"{joined} is missing", self.level)

    def _is_about(self, output: Output) -> bool:
        found = _words_in(output.text) if self.about else frozenset()
        return all(any(root in found for root in each) for each in self.about)


@dataclass(frozen=True, slots=True)
class RequiredFields:
    """Fields that an object must have; objects with less than half of them are others."""

    fields: tuple[str, ...]

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """Objects that have most of the fields and lack one."""
        wanted = set(self.fields)
        for output in outputs:
            for start, end in _objects(output.text) if not output.is_partial else ():
                held = wanted & set(_KEY.findall(output.text[start:end]))
                if len(held) * 2 >= len(wanted) and held != wanted:
                    missing = ", ".join(each for each in self.fields if each not in held)
                    # It may be an object of another kind that is much like it.
                    yield Hit(output, start, start + 1, f"lacks {missing}", "warning")


_KEY = re.compile(r"[\"']?([A-Za-z_][\w-]{0,60})[\"']?\s{0,4}[:=](?!=)")
_MOST_OBJECTS = 2_000


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Where braces stand that hold no others, then what is around them."""
    opened: list[int] = []
    count = 0
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            opened.append(match.start())
        elif opened and count < _MOST_OBJECTS and match.end() - opened[-1] < _LONGEST_OBJECT:
            count += 1
            yield opened.pop(), match.end()


_LONGEST_OBJECT = 4_000


@lru_cache(maxsize=64)
def _words_in(text: str) -> frozenset[str]:
    from ctxbuild.facts.words import words

    return frozenset(words(text))


@dataclass(frozen=True, slots=True)
class RequiredSection:
    """A heading that a text must have."""

    title: str

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """That it is missing."""
        meant = [output for output in outputs if not output.language and not output.is_partial]
        wanted = " ".join(self.title.lower().split())
        if meant and not any(wanted in _headings(output.text) for output in meant):
            yield Hit(meant[0], 0, 0, f"the section {self.title!r} is missing")


def _headings(text: str) -> set[str]:
    """Lines that may be headings: marked, underlined, in bold or ending in a colon."""
    rows = text.split("\n")
    found = set()
    for place, row in enumerate(rows):
        below = rows[place + 1] if place + 1 < len(rows) else ""
        bare = row.strip()
        marked = bare.startswith(("#", "**", "__", "=", "<h")) or bare.endswith(":")
        if marked or (bare and re.fullmatch(r"[=\-~^]{3,}[ \t]*", below)):
            plain = re.sub(r"<[^<>]{0,200}>", "", bare).strip("#*_=: \t")
            plain = re.sub(r"\A[\d.]{1,12}[.)]?[ \t]+", "", plain)
            found.add(" ".join(plain.lower().split()))
    return found


@dataclass(frozen=True, slots=True)
class Longest:
    """A bound on what one unit of text may have.

    Attributes:
        unit: "line", "sentence", "paragraph", "title" or "text": what is bounded.
        of: "characters", "words", "sentences", "lines" or "paragraphs": what is counted.
        least, most: 0 for no bound.
        section: of a "text": the title of the section that is meant, or "" for all of it.
    """

    unit: str
    of: str
    least: int = 0
    most: int = 0
    section: str = ""
    scope: Scope = EVERYWHERE

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """Every unit that has too much or too little."""
        for output in outputs:
            if not self.scope.covers(output):
                continue
            if self.unit == "text" and output.is_partial:
                continue
            for start, end in self._units(output.text):
                count = _count(output.text[start:end], self.of)
                if self.most and count > self.most:
                    yield Hit(output, start, end, f"{count} {self.of}, at most {self.most}")
                elif count < self.least:
                    yield Hit(output, start, end, f"{count} {self.of}, at least {self.least}")

    def _units(self, text: str) -> Iterator[tuple[int, int]]:
        if not self.section:
            yield from _units(text, self.unit)
            return
        titles = re.compile(r"^(?:#{1,6}[ \t]+|\*\*)([^\n]*)", re.MULTILINE)
        found = list(titles.finditer(text))
        for title, after in zip(found, [*found[1:], None], strict=True):
            if self.section in title[1].lower():
                yield title.end(), after.start() if after else len(text.rstrip())


_UNITS = {
    "line": re.compile(r"[^\n]+"),
    "paragraph": re.compile(r"[^\s\n][^\n]*(?:\n[^\s\n][^\n]*)*"),
    "sentence": re.compile(r"[^.!?\s](?:[^.!?\n]|[.!?](?=\S)|\n(?!\s*\n))*[.!?]?"),
    "title": re.compile(r"^#{1,6}[ \t]+[^\n]+", re.MULTILINE),
}


def _units(text: str, unit: str) -> Iterator[tuple[int, int]]:
    if unit == "text":
        yield 0, len(text.rstrip())
        return
    for match in _UNITS[unit].finditer(text):
        yield match.start(), match.end()


def _count(text: str, of: str) -> int:
    if of == "characters":
        return len(text)
    if of == "words":
        return len(re.findall(r"\w+(?:['’-]\w+)*", text))
    if of == "lines":
        return len(text.splitlines())
    return sum(1 for _ in _units(text, "sentence" if of == "sentences" else "paragraph"))


@dataclass(frozen=True, slots=True)
class Edge:
    """How an output must begin or end.

    Attributes:
        first: whether the beginning is meant, else the end.
        allowed: whether it must be so, else it must not.
    """

    words: tuple[str, ...]
    first: bool
    allowed: bool = True
    scope: Scope = EVERYWHERE

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """Outputs that begin or end in another way."""
        for output in outputs:
            text = output.text.strip()
            if not text or output.is_partial or not self.scope.covers(output):
                continue
            held = [word for word in self.words if self._holds(text, word)]
            side = "begin" if self.first else "end"
            at = len(output.text) - len(output.text.lstrip()) if self.first else None
            place = len(output.text.rstrip()) if at is None else at
            if self.allowed and not held:
                yield Hit(output, place, place, f"must {side} with {' or '.join(self.words)}")
            elif not self.allowed and held:
                yield Hit(output, place, place, f"must not {side} with {held[0]}")

    def _holds(self, text: str, word: str) -> bool:
        return text.startswith(word) if self.first else text.endswith(word)


@dataclass(frozen=True, slots=True)
class Format:
    """A format that an output must have: "json", "toml" or "xml"."""

    name: str

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """Where an output is not of that format."""
        for output in outputs:
            if output.is_partial or output.language not in {"", self.name}:
                continue
            problem = _PARSERS[self.name](output.text)
            if problem is not None:
                at, why = problem
                yield Hit(output, at, at, f"is not {self.name.upper()}: {why}")


def _json_problem(text: str) -> tuple[int, str] | None:
    import json

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return min(error.pos, len(text)), error.msg
    except (RecursionError, ValueError):
        return 0, "it cannot be read"
    return None


def _toml_problem(text: str) -> tuple[int, str] | None:
    import tomllib

    try:
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return 0, str(error)
    return None


def _xml_problem(text: str) -> tuple[int, str] | None:
    from xml.parsers import expat

    # Bare expat: it expands no external entities, and a declared one is refused outright.
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise ValueError("it declares entities")

    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        return 0, expat.ErrorString(error.code)
    except ValueError as error:
        return 0, str(error)
    return None


_PARSERS = {"json": _json_problem, "toml": _toml_problem, "xml": _xml_problem}
