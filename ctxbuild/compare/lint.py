"""An output held against the rules of a packet: what breaks a MUST, where, and who says so.

A rule comes from an item of a packet or from the ctxfile; its checks are derived
from its words (`lint_derive.py`) or given. What no check can decide is listed as
such, so that silence never means "checked".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a rule is written.

    Attributes:
        path: the document, or the ctxfile.
        section: the titles down to its section, joined by " > ", or "".
        ordinal: of the item in its section, as it is cited; "" for a rule of the ctxfile.
        lines: first and last line, None where they are not known.
    """

    path: str
    section: str = ""
    ordinal: str = ""
    lines: tuple[int, int] | None = None

    def __str__(self) -> str:
        parts = [self.path, self.section, self.ordinal]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Output:
    """One text that is checked.

    Attributes:
        path: what it is called; "-" for standard input.
        text: with line feeds; of a diff, the lines that it adds.
        language: of its code, "" for prose or where it is not known.
        lines: of a diff: the line in the new file of each line of the text; else None.
    """

    path: str
    text: str
    language: str = ""
    lines: tuple[int, ...] | None = None

    @property
    def is_partial(self) -> bool:
        """Whether more may stand around it: then nothing can be missing."""
        return self.lines is not None

    def place(self, at: int) -> tuple[int, int]:
        """Line and column, from 1, of a position in the text."""
        line = self.text.count("\n", 0, at)
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        return (self.lines[line] if self.lines else line + 1), column


@dataclass(frozen=True, slots=True)
class Hit:
    """What breaks a rule.

    Attributes:
        start, end: positions in the text; both 0 where something is missing.
        message: what is wrong there.
    """

    output: Output
    start: int
    end: int
    message: str
    level: Level | None = None


class Check(Protocol):
    """Decides one rule for all outputs."""

    def find(self, outputs: Sequence[Output]) -> Iterable[Hit]:
        """What breaks the rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with what can be checked of it.

    Attributes:
        id: the item's unit, or `rules/NAME` for one of the ctxfile.
        text: in the words of its source.
        modality: "MUST", "MUST NOT", ..., or "" for facts of a canon.
        checks: () where no rule can decide it.
    """

    id: str
    text: str
    modality: str
    level: Level
    source: Source
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One break of a rule, at its place.

    Attributes:
        line, column, end_line, end_column: from 1; the end is behind the last character.
        by: "rule", or "model" where a model judged.
    """

    rule: str
    level: Level
    message: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    source: Source
    by: Literal["rule", "model"] = "rule"


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found.

    Attributes:
        checked: ids of rules that checks decided.
        unchecked: rules that no check can decide, judged by a model or not.
        judged: ids of those that a model judged.
        warnings: what kept something from being checked.
    """

    packet: str
    outputs: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    rules: tuple[Rule, ...]
    checked: tuple[str, ...]
    unchecked: tuple[Rule, ...]
    judged: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    def count(self, level: Level) -> int:
        """How many diagnostics have a level."""
        return sum(each.level == level for each in self.diagnostics)

    @property
    def fails(self) -> bool:
        """Whether a rule that binds is broken."""
        return self.count("error") > 0


_ORDER = {"error": 0, "warning": 1, "note": 2}


def run(packet: str, rules: Sequence[Rule], outputs: Sequence[Output]) -> Report:
    """Checks outputs against rules.

    Args:
        packet: its name, for the report.
        rules: in the order of the packet.
        outputs: at least one.
    """
    return Report(
        packet=packet,
        outputs=tuple(output.path for output in outputs),
        diagnostics=in_order(_diagnostics(rules, outputs)),
        rules=tuple(rules),
        checked=tuple(rule.id for rule in rules if rule.checks),
        unchecked=tuple(rule for rule in rules if not rule.checks),
    )


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Each once, by place."""
    once = dict.fromkeys(diagnostics)
    return tuple(
        sorted(once, key=lambda d: (d.path, d.line, d.column, _ORDER[d.level], d.rule, d.message))
    )


def _diagnostics(rules: Iterable[Rule], outputs: Sequence[Output]) -> Iterator[Diagnostic]:
    for rule in rules:
        for check in rule.checks:
            for hit in check.find(outputs):
                yield diagnostic(rule, hit)


def diagnostic(rule: Rule, hit: Hit, by: Literal["rule", "model"] = "rule") -> Diagnostic:
    """A hit at its place."""
    line, column = hit.output.place(hit.start)
    end_line, end_column = hit.output.place(hit.end)
    return Diagnostic(
        rule.id,
        hit.level or rule.level,
        hit.message,
        hit.output.path,
        line,
        column,
        end_line,
        end_column,
        rule.source,
        by,
    )
