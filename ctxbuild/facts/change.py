"""What changed in one file between two contents: hunks, and which definitions they touch.

A pure function of the two contents and the language, so that what is known of a
change is shared by whoever compares the same contents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ctxbuild.facts import extract
from ctxbuild.facts.decode import decode
from ctxbuild.facts.hunks import Hunk, hunks_of, lines_of
from ctxbuild.facts.linediff import changes
from ctxbuild.facts.patch import FilePatch, applied
from ctxbuild.model import Facts

LIMIT = 2_000_000
"""Bytes; of larger contents no lines are compared."""

_LONG_LINE = 5_000
"""Characters; a file with such a line, or with lines as long as `_LONG_LINES` on average, was
written by a program."""

_LONG_LINES = 400
_LONG_HEADING = 160
_MARKED_LINES = 30
"""A mark that says a file is generated stands in one of its first lines."""

_GENERATED = re.compile(
    r"@generated\b|<auto-?generated>|\b(?:auto-?)?generated\b[^\n]{0,200}\bdo not (?:edit|modify)\b"
    r"|\bdo not (?:edit|modify)\b[^\n]{0,200}\bgenerated\b",
    re.IGNORECASE,
)
_TITLE = re.compile(r"#{1,6} \S|[A-Za-z_$][^\n(){}:=]{0,200}(?:[({]|:$)")
_FAR_ABOVE = 400
"""Lines above a hunk in which a title is sought."""

_LFS = "version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed in a file.

    Attributes:
        kind: "" for text to read; "binary"; "large" (nothing is compared); "pointer" (to
            what git-lfs keeps); "generated"; "minified"; "endings" (nothing but line ends
            or an encoding changed); "same".
        hunks: in order, also of what is generated or minified.
        touched: qualified names of the definitions in which lines were added or changed,
            in the order of the new content; innermost ones.
        reshaped: those of them that look different from outside: new ones left out.
        gone: names that the old content defined and the new one does not.
        added, removed: lines. size: bytes of the larger content.
        note: of a patch: "applied" where the file has it already; "conflict N" where hunk N
            does not apply, so that all are as the patch says.
    """

    kind: str = ""
    hunks: tuple[Hunk, ...] = ()
    touched: tuple[str, ...] = ()
    reshaped: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    size: int = 0
    note: str = ""


def compare(old: bytes | None, new: bytes | None, language: str | None) -> Changed:
    """What changed between two contents of a file.

    Args:
        old, new: None where there is no file.
        language: as `facts.language_of` says.
    """
    before, after = old or b"", new or b""
    size = max(len(before), len(after))
    if size > LIMIT:
        return Changed("large", size=size)
    (old_text, old_problems), (new_text, new_problems) = decode(before), decode(after)
    if any(problem.kind == "binary" for problem in (*old_problems, *new_problems)):
        return Changed("same" if before == after else "binary", size=size)
    if old_text == new_text:
        equal = (old is None) == (new is None) and before == after
        return Changed("same" if equal else "endings" if old_text else "", size=size)
    found = _compared(old_text, new_text, language)
    return replace(found, kind=_kind(new_text or old_text), size=size)


def patched(present: bytes | None, patch: FilePatch, language: str | None) -> Changed:
    """What a patch changes in a file, whether the file has the patch already or not yet.

    Args:
        present: the file's content, None where there is none.
        patch: what the patch says of it.
        language: as `facts.language_of` says.
    """
    if patch.binary:
        return Changed("binary")
    text = decode(present or b"")[0]
    if not patch.hunks:
        return Changed("same", size=len(text))
    after = applied(text, patch.hunks)
    if isinstance(after, str):
        return compare(text.encode() or None, after.encode() or None, language)
    before = applied(text, patch.hunks, reverse=True)
    if isinstance(before, str):
        found = compare(before.encode() or None, text.encode() or None, language)
        return replace(found, note="applied")
    added = sum(hunk.added for hunk in patch.hunks)
    removed = sum(hunk.removed for hunk in patch.hunks)
    return Changed("", patch.hunks, added=added, removed=removed, note=f"conflict {after}")


def _kind(text: str) -> str:
    if text.startswith(_LFS):
        return "pointer"
    head = "\n".join(line[:400] for line in text.split("\n", _MARKED_LINES)[:_MARKED_LINES])
    if _GENERATED.search(head):
        return "generated"
    lines = text.split("\n")
    if len(text) > _LONG_LINES * len(lines) or max(map(len, lines)) > _LONG_LINE:
        return "minified"
    return ""


def _compared(old_text: str, new_text: str, language: str | None) -> Changed:
    old_facts = extract(old_text.encode(), language)
    new_facts = extract(new_text.encode(), language)
    old_lines, new_lines = lines_of(old_text), lines_of(new_text)
    changed = changes(old_lines, new_lines)
    hunks = hunks_of(old_lines, new_lines, changed, _cuts(old_facts), _cuts(new_facts))
    shown_by = new_facts if new_text else old_facts
    shown_lines = new_lines if new_text else old_lines
    inside = _innermost(new_facts, len(new_lines))
    touched: dict[str, None] = {}
    for each in changed:
        for line in range(each.new_start, each.new_end):
            if new_lines[line].strip():
                touched[inside[line + 1]] = None
        if each.new_start == each.new_end:
            touched[_around(inside, each.new_start)] = None
    touched.pop("", None)
    names = {name for name, _ in new_facts.outline.symbols}
    gone = dict.fromkeys(name for name, _ in old_facts.outline.symbols if name not in names)
    return Changed(
        hunks=tuple(_headed(h, shown_by, shown_lines, deleted=not new_text) for h in hunks),
        touched=tuple(touched),
        reshaped=_reshaped(old_facts, new_facts, touched),
        gone=tuple(gone),
        added=sum(hunk.added for hunk in hunks),
        removed=sum(hunk.removed for hunk in hunks),
    )


def _cuts(facts: Facts) -> list[int]:
    """Lines, counted from 0, at which definitions begin."""
    return sorted({spot[0] - 1 for spot in facts.lines.symbols})


def _innermost(facts: Facts, total: int) -> list[str]:
    """Per line, counted from 1, the innermost definition in which it stands, or ""."""
    inside = [""] * (total + 2)
    spots = zip(facts.lines.symbols, facts.outline.symbols, strict=True)
    for spot, (name, _) in sorted(spots, key=lambda each: (each[0][0], -each[0][1])):
        first, last = spot[0], min(spot[1], total)
        inside[first : last + 1] = [name] * max(0, last + 1 - first)
    return inside


def _around(inside: Sequence[str], gap: int) -> str:
    """The innermost definition on both sides of the gap before a line counted from 0."""
    above, below = inside[gap], inside[gap + 1]
    while above and not f"{below}.".startswith(f"{above}."):
        above = above.rpartition(".")[0]
    return above


def _reshaped(old: Facts, new: Facts, touched: Iterable[str]) -> tuple[str, ...]:
    """Definitions in both contents whose signature differs."""
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for facts, found in ((old, before), (new, after)):
        for definition in facts.definitions:
            found.setdefault(definition.name, []).append(definition.signature)
    return tuple(name for name in touched if name in before and before[name] != after.get(name))


def _headed(hunk: Hunk, facts: Facts, lines: Sequence[str], *, deleted: bool) -> Hunk:
    """The hunk under the signatures of what encloses its first change."""
    start, count = (hunk.old_start, hunk.old_count) if deleted else (hunk.new_start, hunk.new_count)
    first = start + _first_change(hunk.rows, deleted=deleted)
    if not facts.outline.language:
        return replace(hunk, heading=_guessed(lines, start))
    around = [
        (spot[0], name, at)
        for at, ((name, _), spot) in enumerate(
            zip(facts.outline.symbols, facts.lines.symbols, strict=True)
        )
        if spot[0] <= first <= spot[1]
    ]
    around.sort()
    hidden = [
        _one_line(facts.definitions[at].signature)
        for begin, _, at in around
        if not start <= begin < start + max(count, 1)
    ]
    heading = " ".join(hidden)
    if len(heading) > _LONG_HEADING:
        heading = heading[: _LONG_HEADING - 3] + "..."
    return replace(hunk, heading=heading, symbol=around[-1][1] if around else "")


def _guessed(lines: Sequence[str], start: int) -> str:
    """Where nothing is parsed: the nearest line above that looks like a title or a header."""
    for line in reversed(lines[max(0, start - 1 - _FAR_ABOVE) : max(0, start - 1)]):
        if _TITLE.match(line):
            return line.strip()[:_LONG_HEADING]
    return ""


def _first_change(rows: Sequence[str], *, deleted: bool) -> int:
    """How many lines of its side a hunk shows before its first change that is no blank line."""
    mine = " -" if deleted else " +"
    line = 0
    for blank in (False, True):
        line = 0
        for row in rows:
            if row[0] in "+-" and (blank or row[1:].strip()):
                return line
            line += row[0] in mine
    return line


def _one_line(signature: str) -> str:
    """A signature without decorators on one line."""
    rows = signature.strip().split("\n")
    while len(rows) > 1 and not re.match(r"(?:async\s+)?(?:def|class)\b", rows[0]):
        rows.pop(0)
    line = " ".join(" ".join(rows).split())
    return line.replace("( ", "(").replace(", )", ")").replace(" )", ")")
