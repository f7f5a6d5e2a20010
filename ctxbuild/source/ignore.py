"""Ignore rules with git's exact meaning, and the globs of a ctxfile.

One `Rules` is one file of patterns (a .gitignore, .ctxignore, .git/info/exclude,
the user's excludes file, or a list in the ctxfile). Inside it the last matching
pattern wins; between files the one that stands deeper wins, which is the
caller's order. Git compares bytes, so patterns and paths that are not ASCII are
compared as the Latin-1 reading of their UTF-8 bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ctxbuild.source import wildmatch

RULE_FILES = (".gitignore", ".ctxignore")


def as_bytes_text(path: str) -> str:
    """`path` as git sees it: one character per byte."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


class Rule:
    """One pattern of an ignore file.

    Attributes:
        text: the pattern as written, for people.
        line: its line, counted from 1.
        negated: it brings back what an earlier pattern ignored.
        directories: it matches directories only.
    """

    __slots__ = ("anchored", "directories", "line", "literal", "negated", "regex", "suffix", "text")

    def __init__(self, text: str, line: int) -> None:
        self.text = text.encode("latin-1", "replace").decode("utf-8", "replace")
        self.line = line
        self.negated = text.startswith("!")
        pattern = text[1:] if self.negated else text
        self.directories = pattern.endswith("/")
        if self.directories:
            pattern = pattern[:-1]
        self.anchored = "/" in pattern
        pattern = pattern.removeprefix("/")
        prefix = wildmatch.literal_prefix(pattern)
        self.literal = pattern if prefix == pattern else None
        self.suffix: str | None = None
        self.regex: re.Pattern[str] | None = None
        rest = pattern[1:]
        if self.literal is not None:
            return
        if pattern[0] == "*" and not self.anchored and wildmatch.literal_prefix(rest) == rest:
            self.suffix = rest
        else:
            # Git compares the literal prefix apart, so `foo**/x` finds `**` at its start.
            source = re.escape(prefix) + wildmatch.translate(pattern[len(prefix) :])
            self.regex = re.compile(source, re.DOTALL)

    def matches(self, path: str, name: str) -> bool:
        """Whether the pattern matches `path` (relative to its file) with basename `name`."""
        subject = path if self.anchored else name
        if self.literal is not None:
            return subject == self.literal
        if self.suffix is not None:
            return subject.endswith(self.suffix)
        return self.regex is not None and self.regex.match(subject) is not None


class Rules:
    """The patterns of one ignore file.

    Attributes:
        name: the file, for people: `src/.gitignore`.
        base: its directory with a trailing slash, or "" for the top.
        ours: a .ctxignore: it also decides about files that git tracks.
    """

    __slots__ = ("_files", "base", "name", "ours", "rules")

    def __init__(self, name: str, base: str, rules: Iterable[Rule], ours: bool = False) -> None:
        self.name = name
        self.base = base
        self.ours = ours
        self.rules = tuple(rules)[::-1]
        self._files = tuple(rule for rule in self.rules if not rule.directories)

    def winner(self, path: str, name: str, is_dir: bool) -> Rule | None:
        """The last pattern that matches a path relative to the top (see `as_bytes_text`)."""
        inside = path[len(self.base) :]
        for rule in self.rules if is_dir else self._files:
            if rule.matches(inside, name):
                return rule
        return None

    def explain(self, rule: Rule) -> str:
        """`file:line: pattern`."""
        return f"{self.name}:{rule.line}: {rule.text}"


def parse_rules(data: bytes, name: str, base: str, ours: bool = False) -> Rules:
    """The rules of an ignore file's bytes.

    Args:
        data: the file; a UTF-8 BOM and CRLF line ends are allowed.
        name: how to name the file to people.
        base: its directory relative to the top, with `/` at its end, or "".
        ours: whether it is a .ctxignore.
    """
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    rules = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = _trim(raw.removesuffix("\r").partition("\0")[0])
        if line and not line.startswith("#"):
            rules.append(Rule(line, number))
    return Rules(name, base, rules, ours)


def _trim(line: str) -> str:
    """Without the trailing spaces that no backslash quotes."""
    kept = line.rstrip(" ")
    if kept == line:
        return line
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if backslashes % 2 else kept


class Selector:
    """`include` and `exclude` of a ctxfile: gitignore-style lists for whole subtrees.

    Args:
        patterns: the list; the last one that matches wins, `!` takes back.
        name: the key, for people.
    """

    __slots__ = ("_everything", "_rules", "_starts")

    def __init__(self, patterns: Sequence[str], name: str) -> None:
        rules = [Rule(as_bytes_text(text), n) for n, text in enumerate(patterns, 1) if text]
        self._starts = [_start(rule) for rule in rules if not rule.negated]
        self._everything = tuple(patterns) == ("**",)
        if not any(rule.negated for rule in rules):
            # What takes everything below a directory takes the directory, at once.
            rules.extend(_whole(rule) for rule in tuple(rules) if rule.text.endswith("/**"))
        self._rules = Rules(name, "", rules)

    def decides(self, path: str, is_dir: bool) -> tuple[bool | None, str]:
        """Whether the list takes `path` itself (None: it says nothing), and its pattern."""
        if self._everything:
            return True, "**"
        seen = as_bytes_text(path)
        rule = self._rules.winner(seen, seen.rpartition("/")[2], is_dir)
        return (None, "") if rule is None else (not rule.negated, rule.text)

    def may_hold(self, path: str) -> bool:
        """Whether something below directory `path` could match."""
        if self._everything:
            return True
        inside = as_bytes_text(path) + "/"
        return any(inside.startswith(s) or s.startswith(inside) for s in self._starts)


def _start(rule: Rule) -> str:
    """The directory, with its slash, below which all matches of an anchored rule lie."""
    if not rule.anchored:
        return ""
    if rule.literal is not None:
        return rule.literal + "/"
    text = as_bytes_text(rule.text).removeprefix("/")
    head = wildmatch.literal_prefix(text).rpartition("/")[0]
    return head + "/" if head else ""


def _whole(rule: Rule) -> Rule:
    """For `x/**`: the rule `x/`, named as written."""
    whole = Rule("/" + as_bytes_text(rule.text).removeprefix("/")[:-2], rule.line)
    whole.text = rule.text
    return whole


class Glob:
    """A compiled glob of a layer.

    Attributes:
        pattern: as written.
        literal: the path itself if the pattern has no wildcard, else None.
    """

    __slots__ = ("_match", "literal", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        core = pattern.removeprefix("./").rstrip("/")
        if core == ".":
            core = ""
        plain = wildmatch.literal_prefix(core) == core
        self.literal = core if plain else None
        expression = re.escape(core) + r"\Z" if plain else wildmatch.translate(core)
        below = re.escape(core) + "/" if plain and core else ""
        source = "" if not core else f"(?:{expression}|{below})" if plain else expression
        if pattern.endswith("/") and not plain:
            source = wildmatch.translate(core + "/**")
        self._match = re.compile(source, re.DOTALL).match

    def matches(self, path: str) -> bool:
        """Whether the file at `path` (relative, with `/`) is meant."""
        return self._match(path) is not None


@lru_cache(maxsize=1024)
def glob(pattern: str) -> Glob:
    r"""Compile a layer's pattern.

    `*` and `?` stay inside a path segment, `**` crosses them (`src/**/*.py` also
    matches `src/a.py`), `[...]` is a class, `\\` quotes. A pattern without a
    wildcard means that file or, for a directory, everything below it; a wildcard
    pattern that ends in `/` means everything below the directories it matches.
    """
    return Glob(pattern)
