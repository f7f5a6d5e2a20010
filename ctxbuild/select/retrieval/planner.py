"""The planner: what a question names, and which ways of search follow from that.

It looks at the question alone. A question is a line or a whole issue report:
prose, code, stack traces, output of tools, forms with versions. Each line gets a
zone, which says what its words weigh; names, paths, frames and messages are read
out of the lines. All patterns work on one line at a time, lines and the question
are of bounded length, so that reading is linear.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxbuild.facts.words import words, words_of
from ctxbuild.select.retrieval.model import Decision, Frame, Hints, Method
from ctxbuild.select.retrieval.traces import frame_in, frames_in, starts_trace

_LONGEST_QUESTION = 100_000
_LONGEST_LINE = 2_000

WEIGHTS = {"title": 3.0, "prose": 1.0, "code": 0.6, "trace": 0.4, "output": 0.35, "error": 1.0}
"""What a word weighs by the zone in which it stands."""

_MOST_TERMS = 60
"""Terms that are searched for: the heaviest ones."""

_URL = re.compile(r"(?:https?|ftp|file)://[^\s)>\]\"']+")
_SOURCE_URL = re.compile(r"/(?:blob|tree|raw|src)/[^/\s]+/([^\s#?]+\.\w+)")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([\w+.-]*)")
_HEADER = re.compile(r"(?:#{1,6}[ \t]*|\*\*)(.{1,120}?)[ \t*:]*$")
_PINNED = re.compile(
    r"[ \t>*+-]*[\w.\[\]-]+(?:[ \t]*==[ \t]*|[ \t]*[:=][ \t]*v?|[ \t]+v?|\s\()\d+(?:\.\d+)+\S*\s*$"
)
_FORM = re.compile(
    r"\b(?:version|versions|environment|operating system|os|system information|platform|"
    r"additional (?:dependencies|packages)|dependencies|installed packages|software|"
    r"show_versions|system details|your project)\b",
    re.IGNORECASE,
)
_FORM_WORDS = re.compile(
    r"(?:bug description|describe the bug|description|steps to reproduce|how to reproduce|"
    r"to reproduce|reproduction|minimal complete verifiable example|mcve(?: code sample)?|"
    r"(?:expected|actual) (?:behaviou?r|output|results?|outcome)|"
    r"current behaviou?r|problem description|command used|configuration|pylint output|"
    r"what happened|what you expected to happen|anything else.*|additional (?:context|info"
    r"(?:rmation)?)|screenshots?|tracebacks?|steps/code to reproduce|code for reproduction|"
    r"code sample.*|is your feature request related to a problem.*|describe the solution.*|"
    r"describe alternatives.*|relevant log output|your project|summary|bug report|"
    r"bug summary|link to your project|_no response_|no response|n/a)",
    re.IGNORECASE,
)
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.|In \[\d*\]:|\$|%|#)[ \t]?")
_INDENTED = re.compile(r"(?: {4}|\t)[ \t]*\S")
_CODE_LIKE = re.compile(
    r"[ \t]*(?:(?:from|import|def|class|return|for|while|if|with|try|assert|raise|print|async|"
    r"await|const|let|var|func|public|private|package|fn)\b|@\w|[\w.\[\]'\"]+[ \t]*=[^=]|"
    r"[\w.]+\(.*\)[ \t]*;?$|[)\]}]+,?;?$)"
)
_ERROR = re.compile(
    r"^[ \t>E]*((?:[\w]+\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt))(?::[ \t]*(.+))?"
)
_ERROR_INSIDE = re.compile(r"\b((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning)): (.{8,300})")
_TICKED = re.compile(r"``?([^`\n]{2,120})``?")
_QUOTED = re.compile(r"\"([^\"\n]{8,200})\"|'([^'\n]{8,200})'|“([^”\n]{8,200})”")
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_CALL = re.compile(r"([A-Za-z_][\w.]*)\(")
_DOTTED = re.compile(r"(?<![\w./-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w/])")
_IDENTIFIER = re.compile(r"(?<![\w./\\-])_{0,2}[A-Za-z]\w*")
_OPTION = re.compile(r"(?<![\w-])--?([a-z][\w-]{2,40})")
_ROLE = re.compile(r":[\w:]+:`~?\.?([\w.]+)(?:\(\))?`")
_PATH = re.compile(
    r"(?<![\w./\\@+~-])[/\\]{0,2}((?:[\w.@+~-]{1,80}[/\\]){0,30}[\w.@+-]{0,80}\w\.[A-Za-z]\w{0,9})"
    r"(?![\w/\\])"
)
_FOLDERS = re.compile(r"(?<![\w.:/\\-])(?:[\w.+-]+/){1,12}[\w.+-]+")
_IMPORT = re.compile(
    r"[ \t>.]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+([\w., \t()*]+)|import[ \t]+([\w., \t]+))"
)
_TEST = re.compile(r"(?<!\w)(test_\w+|Test[A-Z]\w*|\w+_test)(?!\w)")
_ENDINGS = frozenset(
    """
    py pyi pyx pxd md rst txt cfg ini toml yaml yml json xml html htm css js jsx ts tsx mjs cjs
    go java kt rs rb c h cc cpp hpp cs php sh bash sql ipynb po pot tex svg in lock conf jinja
    j2 vue swift scala lua r m pl ex proto
    """.split()  # noqa: SIM905  # words are read more easily than a list of them
)
_RELATIONS = frozenset(
    """
    call calls called calling caller callers callee callees import imports imported importing
    importer importers depend depends depended depending dependency dependencies dependent
    dependents affect affects affected affecting break breaks broken breaking change changes
    changed changing use uses used using usage usages user users invoke invokes invoked inherit
    inherits inherited subclass subclasses subclassed override overrides overridden overriding
    reference references referenced reach reaches reached
    """.split()  # noqa: SIM905  # words are read more easily than a list of them
)
"""Whole words that ask for a relation: "causes" and "recalls" do not."""
_TEST_WORDS = re.compile(
    r"\b(?:unit ?tests?|test suite|tests? (?:for|of|that|which|cover\w*)|add(?:ing)? tests?)\b",
    re.IGNORECASE,
)
_DOC_WORDS = re.compile(
    r"\b(?:documentation|docs|changelog|readme|tutorial|user guide)\b", re.IGNORECASE
)
_ENGLISH_CAPITAL = frozenset(
    """
    I'm This That The When While With Using Use After Before Expected Actual Python Linux Windows
    MacOS Ubuntu GitHub Hello Thanks Description Traceback Error Warning None True False Note
    """.split()  # noqa: SIM905  # words are read more easily than a list of them
)


_HEADER_WORDS = 5
"""Words of the longest header of a form's field."""


class _Line(NamedTuple):
    zone: str
    text: str


class Planned(NamedTuple):
    """What the planner found, and whether a relation is asked for."""

    hints: Hints
    relation: bool


def plan(question: str) -> Planned:
    """Reads a question: terms, names, paths, frames, messages, tests, imports.

    Args:
        question: its first line is the title of the rest, if there is a rest.
    """
    question = _without_comments(question.replace("\0", " ")[:_LONGEST_QUESTION])
    rows = [row[:_LONGEST_LINE].rstrip() for row in question.splitlines()]
    linked = [
        found[1]
        for row in rows
        if "://" in row
        for url in _URL.findall(row)
        for found in _SOURCE_URL.finditer(url)
    ]
    stated = [frame_in(row) for row in rows]
    plain = [
        _URL.sub(" ", row) if frame is None and "://" in row else row
        for row, frame in zip(rows, stated, strict=True)
    ]
    lines = list(_zoned(plain, stated))
    frames = tuple(frames_in(rows, stated))
    hints = Hints(
        terms=_terms(lines),
        names=_names(lines),
        paths=tuple(dict.fromkeys((*linked, *_paths(lines)))),
        frames=frames,
        messages=_messages(lines),
        tests=tuple(dict.fromkeys(t for line in lines for t in _TEST.findall(line.text))),
        imports=_imports(lines),
        wants_tests=bool(_TEST_WORDS.search(_prose(lines, "title"))),
        wants_docs=bool(_DOC_WORDS.search(_prose(lines, "title"))),
    )
    asked = set(re.findall(r"[a-z]+", _prose(lines, "title", "prose").lower()))
    return Planned(hints, bool(asked & _RELATIONS))


def _without_comments(text: str) -> str:
    """A Markdown text without what it hides; a comment without an end hides nothing."""
    pieces = []
    start = 0
    while (opens := text.find("<!--", start)) >= 0:
        end = text.find("-->", opens + 4)
        if end < 0:
            break
        pieces.append(text[start:opens])
        start = end + 3
    return " ".join((*pieces, text[start:]))


def decide(hints: Hints, *, relation: bool, vectors: str, embedder: str = "") -> Decision:
    """Which ways are gone.

    Args:
        relation: whether the question asks for one.
        vectors: why vectors are left out, "" where they are used.
        embedder: what gave them.
    """
    used: list[tuple[Method, str]] = [("lexical", "always")]
    left_out: list[tuple[Method, str]] = []
    ways: tuple[tuple[Method, bool, str], ...] = (
        ("names", bool(hints.names or hints.imports or hints.tests), "an identifier is named"),
        ("paths", bool(hints.paths), "a path is named"),
        ("frames", bool(hints.frames), "a stack trace is quoted"),
        ("messages", bool(hints.messages), "a message is quoted"),
        ("graph", bool(hints.names or hints.frames), "neighbours of what is named"),
    )
    for method, goes, why in ways:
        if method == "graph" and relation:
            used.append((method, "a relation is asked for"))
        elif goes:
            used.append((method, why))
        else:
            left_out.append((method, f"not so: {why}"))
    if vectors:
        left_out.append(("vector", vectors))
    else:
        used.append(("vector", f"embedded by {embedder}"))
    return Decision(tuple(used), tuple(left_out))


# --- zones ------------------------------------------------------------------------------


class _Zones:
    """Goes through the lines once: fences, forms and traces hold until something ends them."""

    def __init__(self) -> None:
        self.fence = self.language = ""
        self.form = self.trace = self.titled = False

    def of(self, row: str, frame: Frame | None) -> str:
        """The zone of the next line, "" where it says nothing."""
        if not self.titled:
            self.titled = bool(row.strip())
            return "title" if self.titled else ""
        if self._is_fence(row) or self._is_header(row) or self.form or _is_noise(row):
            return ""
        if not row.strip():
            self.trace = self.trace and bool(self.fence)
            return ""
        if frame is not None or starts_trace(row):
            self.trace = True
        zone = _zone(row, fenced=bool(self.fence), trace=self.trace, language=self.language)
        if zone == "error":
            self.trace = self.trace and bool(self.fence)
        return zone

    def _is_fence(self, row: str) -> bool:
        mark = _FENCE.match(row)
        if not mark or (self.fence and (not mark[1].startswith(self.fence) or mark[2])):
            return False
        opens = not self.fence
        self.fence, self.language = (mark[1], mark[2].lower()) if opens else ("", "")
        self.trace = "trace" in self.language
        return True

    def _is_header(self, row: str) -> bool:
        """Whether a line is the header of a form's field; notes which one."""
        header = None if self.fence or _INDENTED.match(row) else _HEADER.match(row)
        if header is None:
            return False
        self.form = header[1].count(" ") < _HEADER_WORDS and bool(_FORM.search(header[1]))
        return bool(_FORM_WORDS.fullmatch(header[1].strip(" *:_?.")))


def _zoned(rows: Sequence[str], stated: Sequence[Frame | None]) -> Iterator[_Line]:
    """Each line that says something, with its zone; forms and lists of versions left out."""
    zones = _Zones()
    for row, frame in zip(rows, stated, strict=True):
        zone = zones.of(row, frame)
        if zone:
            yield _Line(zone, row if zones.fence or zone == "title" else _TAG.sub(" ", row))


def _is_noise(row: str) -> bool:
    return bool(_PINNED.match(row) or _FORM_WORDS.fullmatch(row.strip(" \t*:_?.#-")))


def _zone(row: str, *, fenced: bool, trace: bool, language: str) -> str:
    if _ERROR.match(row):
        return "error"
    if trace:
        return "trace"
    if not fenced and not _INDENTED.match(row) and not row.lstrip().startswith(">>>"):
        return "prose"
    if language in {"python", "py", "python3", "pycon", "js", "ts", "java", "go", "cython"}:
        return "code"
    bare = _PROMPT.sub("", row, count=1)
    if _CODE_LIKE.match(bare):
        return "code"
    return "output"


def _prose(lines: Iterable[_Line], *zones: str) -> str:
    return "\n".join(line.text for line in lines if line.zone in zones)


# --- what is read out of the lines --------------------------------------------------------


def _terms(lines: Iterable[_Line]) -> tuple[tuple[str, float], ...]:
    """The words with their weights; saying a word again adds less and less."""
    seen: dict[str, dict[str, int]] = {}
    for line in lines:
        for word in words(line.text):
            zones = seen.setdefault(word, {})
            zones[line.zone] = zones.get(line.zone, 0) + 1
    weighed = {
        word: sum(WEIGHTS[zone] * (1 + math.log(times)) for zone, times in zones.items())
        for word, zones in seen.items()
    }
    ordered = sorted(weighed.items(), key=lambda item: (-round(item[1], 6), item[0]))
    return tuple((word, round(weight, 6)) for word, weight in ordered)


_NAME_ZONES = {"title": 2.0, "prose": 1.0, "code": 0.7, "trace": 0.3, "output": 0.2, "error": 0.8}


def _names(lines: Iterable[_Line]) -> tuple[tuple[str, float], ...]:
    """Identifiers as written, with weights: where they stand, and how sure they are names."""
    found: dict[str, float] = {}
    for line in lines:
        for name, sure in _names_in(line):
            weight = _NAME_ZONES[line.zone] * sure
            found[name] = max(found.get(name, 0.0), weight) + 0.1 * min(
                weight, found.get(name, 0.0)
            )
    ordered = sorted(found.items(), key=lambda item: (-round(item[1], 6), item[0]))
    return tuple((name, round(weight, 6)) for name, weight in ordered[:200])


def _names_in(line: _Line) -> Iterator[tuple[str, float]]:
    text = line.text
    for ticked in (*_TICKED.findall(text), *_ROLE.findall(text)):
        bare = ticked.strip().rstrip("()").lstrip("@~.")
        if _NAME.fullmatch(bare):
            yield bare, 1.5
    for name in _CALL.findall(text):
        yield name.strip("."), 1.0
    for name in _DOTTED.findall(text):
        yield name, 1.2
    for option in _OPTION.findall(text):
        yield option.replace("-", "_"), 0.8
    for name in _IDENTIFIER.findall(text):
        if name in _ENGLISH_CAPITAL or len(name) < 3:
            continue
        if _is_marked(name):
            yield name, 1.0
        elif line.zone == "code":
            yield name, 0.5


def _is_marked(name: str) -> bool:
    """Whether a word is written as only names in code are."""
    bare = name.strip("_")
    if "_" in bare or bare != name:
        return True
    inner = bare[1:]
    odd = not inner.islower() or not inner.isalpha()
    return odd and not (bare.isupper() and bare.isalpha())


def _paths(lines: Iterable[_Line]) -> Iterator[str]:
    """Paths of every kind, in order; a module's dotted name with an unknown ending is none."""
    for line in lines:
        for found in _PATH.findall(line.text):
            path = found.replace("\\", "/")
            ending = path.rpartition(".")[2].lower()
            if ending in _ENDINGS:
                yield path
        if "/" in line.text and line.zone != "trace":
            for found in _FOLDERS.findall(line.text):
                yield found


def _messages(lines: Iterable[_Line]) -> tuple[str, ...]:
    """Texts that a program may hold: behind an exception's name, or in quotes."""
    found: list[str] = []
    for line in lines:
        error = _ERROR.match(line.text) or _ERROR_INSIDE.search(line.text)
        if error and error[2]:
            found.append(error[2])
        if line.zone in ("title", "prose", "error", "output"):
            for groups in _QUOTED.findall(line.text):
                text = next(filter(None, groups))
                if " " in text.strip():
                    found.append(text)
            if line.zone in ("title", "prose"):
                found += [t for t in _TICKED.findall(line.text) if t.count(" ") > 1]
        if line.zone == "output" and len(words(line.text)) >= 3:
            found.append(line.text.strip())
    return tuple(dict.fromkeys(found))[:40]


def _imports(lines: Iterable[_Line]) -> tuple[str, ...]:
    found: list[str] = []
    for line in lines:
        statement = _IMPORT.match(line.text)
        if statement is None or line.zone == "trace":
            continue
        if statement[3]:
            found += [part.split()[0] for part in statement[3].split(",") if part.split()]
        else:
            names = [p.split()[0] for p in statement[2].strip("() ").split(",") if p.split()]
            found += [f"{statement[1]}.{name}" if name != "*" else statement[1] for name in names]
    return tuple(dict.fromkeys(found))


def name_term(name: str) -> str:
    """The word under which a whole identifier stands in the index, "" if it has none."""
    found = words_of(name)
    return found[0] if found else ""
