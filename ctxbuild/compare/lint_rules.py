"""From a packet and the ctxfile to rules: each item that binds becomes one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ctxbuild.compare.artifact import Artifact, Shown
from ctxbuild.compare.lint import Hit, Level, Output, Rule, Source
from ctxbuild.compare.lint_checks import Scope
from ctxbuild.compare.lint_derive import derive
from ctxbuild.errors import UsageError
from ctxbuild.pack.render import PACKET_TITLES
from ctxbuild.source.ctxfile import CheckRule

_LABEL = re.compile(r"\A[\d,-]{1,40}\.[ \n](?:\[(?:MUST|SHOULD|MAY)(?: NOT)?\] )?")
_LEVELS: dict[str, Level] = {
    "MUST": "error",
    "MUST NOT": "error",
    "SHOULD": "warning",
    "SHOULD NOT": "warning",
}


def is_packet(artifact: Artifact) -> bool:
    """Whether a pack has entries of a packet."""
    return any(block.section in PACKET_TITLES for block in artifact.blocks)


def rules_of(artifact: Artifact) -> list[Rule]:
    """The rules of a packet's items that bind, in its order."""
    sections = sections_of(artifact)
    found = []
    for block in artifact.blocks:
        modality = _modality(block)
        if block.section not in PACKET_TITLES or modality not in _LEVELS:
            continue
        text = words_of(block)
        found.append(
            Rule(
                id=block.unit,
                text=text,
                modality=modality,
                level=_LEVELS[modality],
                source=source_of(block, sections),
                checks=derive(text, modality),
            )
        )
    return found


def sections_of(artifact: Artifact) -> dict[str, str]:
    """Unit of a section to its titles, as the list of provenance has them."""
    found = {}
    for block in artifact.blocks:
        if block.section == "provenance":
            found[block.unit] = block.text.strip().partition(": ")[2]
    return found


def words_of(block: Shown) -> str:
    """The document's words in an entry."""
    return _LABEL.sub("", block.text).strip()


def source_of(block: Shown, sections: dict[str, str]) -> Source:
    """Where an entry is written."""
    section, _, ordinal = block.unit.rpartition("@")
    return Source(block.path, sections.get(section, ""), ordinal, block.lines)


def _modality(block: Shown) -> str:
    return next((cause.detail for cause in block.reasons if cause.detail in _LEVELS), "")


# --- rules of the ctxfile ---------------------------------------------------------------


class Pattern:
    """A pattern of the ctxfile; row by row, so that no pattern costs more than its rows are long.

    Args:
        rule: from the ctxfile.

    Raises:
        UsageError: it is no regular expression.
    """

    def __init__(self, rule: CheckRule) -> None:
        try:
            self._pattern = re.compile(rule.pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(
                f"rule {rule.name!r}: {rule.pattern!r} is no pattern: {error}",
                "write a regular expression of Python",
            ) from error
        self._rule = rule
        self._scope = Scope(
            (rule.language.lower(),) if rule.language else (), (rule.path,) if rule.path else ()
        )

    def find(self, outputs: Sequence[Output]) -> Iterator[Hit]:
        """Where it stands, or that it is missing."""
        meant = [output for output in outputs if self._scope.covers(output)]
        found = [hit for output in meant for hit in self._hits(output)]
        if not self._rule.required:
            yield from found
        elif meant and not found and not all(output.is_partial for output in meant):
            yield Hit(meant[0], 0, 0, self._rule.message or f"{self._rule.pattern} is missing")

    def _hits(self, output: Output) -> Iterator[Hit]:
        at = 0
        for row in output.text.split("\n"):
            for match in self._pattern.finditer(row[:_LONGEST_ROW]):
                if match.end() > match.start():
                    message = self._rule.message or f"{match[0]!r} is not allowed"
                    yield Hit(output, at + match.start(), at + match.end(), message)
            at += len(row) + 1


_LONGEST_ROW = 2_000
"""Characters of a row that patterns are tried on: longer rows are data or minified code."""


def own_rules(rules: Iterable[CheckRule], ctxfile: str) -> list[Rule]:
    """The rules that a target's ctxfile declares.

    Raises:
        UsageError: a pattern is none.
    """
    return [
        Rule(
            id=f"rules/{rule.name}",
            text=rule.message or rule.pattern,
            modality="MUST" if rule.required else "MUST NOT",
            level=rule.level,
            source=Source(ctxfile, f"targets.{rule.target}.rules", rule.name),
            checks=(Pattern(rule),),
        )
        for rule in rules
    ]
