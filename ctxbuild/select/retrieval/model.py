"""What passes between planner, search, slicer and denoising: frozen data, nothing computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from ctxbuild.model import Lines, Outline, Symbol

Kind = Literal["function", "class", "module", "heading", "window"]
"""What a unit is. `module` is what stands at a file's top level outside its definitions;
a heading and a window are parts of a text that is not parsed."""

Method = Literal["lexical", "names", "paths", "frames", "messages", "graph", "vector"]
"""The ways to find a unit, each with a ranking of its own."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a stack trace.

    Attributes:
        path: as the trace names it, with `/`.
        line: 0 where the trace has none.
        name: the function, with its class where the trace says so; "" if it does not.
        depth: 1 for the innermost frame of its trace.
    """

    path: str
    line: int = 0
    name: str = ""
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Hints:
    """What the planner reads out of a question, without a look at the repository.

    Attributes:
        terms: (term, weight) of what is searched for in the index, the heaviest first.
        names: (name as written, weight): identifiers, dotted or not.
        paths: paths and file names as written.
        frames: of every stack trace.
        messages: quoted or raised error texts.
        tests: names of tests.
        imports: dotted names that code in the question imports.
        wants_tests, wants_docs: whether the question asks for tests or documents.
    """

    terms: tuple[tuple[str, float], ...] = ()
    names: tuple[tuple[str, float], ...] = ()
    paths: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    messages: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    wants_tests: bool = False
    wants_docs: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Which ways are gone, and why the others are not.

    Attributes:
        used: (method, why).
        left_out: (method, why).
    """

    used: tuple[tuple[Method, str], ...] = ()
    left_out: tuple[tuple[Method, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One unit that was found.

    Attributes:
        unit: `path`, `path::Class.method`, `path#heading` or `path#lines-N`.
        symbol: qualified name, "" for what is no definition.
        kind: what the unit is.
        rank: place in the fused ranking, from 1. No raw score is kept.
        file_rank: place of its file among the files, from 1.
        methods: (method, rank in that method's own list), best first.
        lines: of a heading or window (first, last); None for definitions, whose
            lines `view.lines` knows, so that code which moves changes no hit.
        order: place in its file.
    """

    unit: str
    path: str
    symbol: str
    kind: Kind
    rank: int
    file_rank: int
    methods: tuple[tuple[Method, int], ...] = ()
    lines: tuple[int, int] | None = None
    order: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a search: what enters a plan.

    Attributes:
        hits: best first, at most as many as were asked for.
        files: the paths in the order of their ranks.
        hints: of the planner.
        decision: of the planner.
        warnings: what went wrong on the way.
    """

    hits: tuple[Hit, ...] = ()
    files: tuple[str, ...] = ()
    hints: Hints = Hints()
    decision: Decision = Decision()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cut:
    """The relevant parts of a unit that is too large to be shown whole.

    Attributes:
        text: as it stands in a pack: the enclosing header, then the parts in order,
            `...` where something is left out; ends in a line feed.
        lines: (first, last) of every part, in order.
        tokens: of the text.
    """

    text: str
    lines: tuple[tuple[int, int], ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A hit with what would be shown of it.

    Attributes:
        text: the unit's whole text, at the depth at which it stands in a pack.
        tokens: of that text.
        cut: what is shown instead where the unit is too large; None if it is not.
    """

    hit: Hit
    text: str
    tokens: int
    cut: Cut | None = None


class QuestionView(Protocol):
    """What question layers ask of the repository; each answer is a recorded dependency."""

    def text(self, path: str) -> str:
        """The whole text of a file."""

    def outline(self, path: str) -> Outline:
        """The names of a file in source order."""

    def lines(self, path: str) -> Lines:
        """Where the symbols, imports and references of a file stand."""

    def symbol(self, path: str, name: str) -> tuple[Symbol, ...]:
        """All definitions of a qualified name in a file."""

    def body(self, path: str, name: str) -> str:
        """The source of a definition, at the margin."""

    def rest(self, path: str) -> str:
        """What stands at a file's top level outside functions and classes."""

    def count(self, texts: list[str]) -> list[int]:
        """Tokens of each text in the target's encoding."""

    def search(self, question: str, most: int, vectors: str = "auto") -> Found:
        """The units that answer a question, at most so many; `vectors`: "auto" or "off"."""


def score_of(rank: int) -> float:
    """The score that a rank stands for: 1.0 for the first, then what fusion gives a rank."""
    return round((_K + 1) / (_K + rank), 4)


_K = 60
"""The usual constant of reciprocal-rank fusion."""
