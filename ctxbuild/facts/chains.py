"""Uses of names as chains: `self.db.connect().cursor`, found in one sweep over sorted parts.

Every level of a chain starts at the same byte: in `a.b().c` the name, the member
`a.b`, the call and the whole expression all start at `a`. So sorting the parts by
(start, end) puts each chain together, innermost first, and no tree is walked.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ctxbuild.facts.languages import PARTS

if TYPE_CHECKING:
    from ctxbuild.facts.capture import Captures, Source
    from ctxbuild.facts.languages import Language

Kind = Literal["call", "read", "base", "decorator", "annotation", "guard", "write"]

LONGEST = 64  # links; a longer chain ends there
_LONGEST_NAME = 512  # bytes of a member's name
_END = (1 << 28) - 1
_NAME, _TEXT, _GROUP = PARTS["name"], PARTS["text"], PARTS["group"]
_MEMBER, _CALL, _INDEX = PARTS["member"], PARTS["call"], PARTS["index"]
_ANNOTATION, _DOTTED = PARTS["annotation"], PARTS["dotted"]
_LINKS = frozenset((_MEMBER, _CALL, _INDEX))
_NO_USE = frozenset((_DOTTED, PARTS["skip"]))
_MARKS: dict[int, Kind] = {
    PARTS["target"]: "write",
    PARTS["decorator"]: "decorator",
    PARTS["base"]: "base",
}
_LAST_WORD = re.compile(r"(\w+)\Z")
_QUOTED = re.compile(r"""[rRuUbB]{0,2}(\"{3}|'{3}|["'])(.*)\1\Z""", re.DOTALL)
_TYPE_NAME = re.compile(r"[^\W\d]\w*(?:[ ]?\.[ ]?[^\W\d]\w*)*(\[)?")
_LONGEST_TYPE = 2_000  # characters of an annotation written as text
_WORDS = frozenset(("None", "True", "False"))


# Where a use starts, its chain, its kind, and whether it is a name without any link.
Use = tuple[int, str, Kind, bool]


@dataclass(slots=True)
class Chains:
    """All chains of a file.

    Attributes:
        at: by start byte: where the maximal chain ends, and the chain; bare names,
            which a look at their node tells, are not among them.
        uses: the maximal uses in source order.
        calls: of calls that import or make dynamic: (callee, start, end of the callee, end).
    """

    at: dict[int, tuple[int, str]] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    calls: list[tuple[str, int, int, int]] = field(default_factory=list)


def find_chains(captures: Captures, source: Source, language: Language) -> Chains:
    """All uses of names in a file.

    Args:
        captures: what the query found; its parts are sorted.
        source: the file's text.
        language: which annotations and calls take text for types.

    Returns:
        The chains. Names in imports and `global` statements, of keyword arguments,
        parameters and definitions, and bare names that are assigned to are no uses.
    """
    return _Sweep(captures, source, language).run()


class _Sweep:
    """One pass over the parts of a file, sorted by start: a group of equal starts is a chain."""

    def __init__(self, captures: Captures, source: Source, language: Language) -> None:
        self._parts = captures.parts
        self._cut = source.cutter()
        self._data = source.data
        self._ascii = source.data.isascii()
        # One character per byte: names are cut by offset, and decoded only where they must be.
        self._flat = source.text if self._ascii else source.data.decode("latin-1")
        self._literal = language.words("names", "literal")
        self._quoted = language.words("names", "quoted")
        self._calls = language.words("dynamic", "imports") | language.words("dynamic", "always")
        self._member_ends = {(part >> 4) & _END for part in self._parts if part & 15 == _MEMBER}
        self._quoted_at: set[int] = set()
        self._groups: list[tuple[int, int, str, int]] = []
        self._annotation_end = self._literal_end = self._dotted_end = -1
        self._result = Chains()

    def run(self) -> Chains:
        parts, flat, member_ends = self._parts, self._flat, self._member_ends
        is_ascii = self._ascii
        add = self._result.uses.append
        index, count = 0, len(parts)
        while index < count:
            part = parts[index]
            start = part >> 32
            first = index
            index += 1
            while index < count and parts[index] >> 32 == start:
                index += 1
            # Most parts stand alone: the name of a member, or a name without links.
            if part & 15 or index - first > 1:
                self._group(start, parts[first:index])
                continue
            end = (part >> 4) & _END
            if end in member_ends or start < self._dotted_end:
                continue
            name = flat[start:end]
            if not is_ascii and not name.isascii():
                name = self._cut(start, end)
            add((start, name, "annotation" if start < self._annotation_end else "read", True))
        if self._groups:
            _open_groups(self._groups, self._data, self._result)
        return self._result

    def _group(self, start: int, group: list[int]) -> None:
        """The parts that start at one byte, innermost first: one chain and what marks it."""
        chain = ""
        chain_end = group_end = mark_end = -1
        kind: Kind | None = None
        links = 0
        for part in group:
            code = part & 15
            end = (part >> 4) & _END
            if code in _LINKS:
                links += 1
                if links <= LONGEST:
                    chain = self._linked(chain, code, start, chain_end, end)
                chain_end = end
            elif code in _MARKS:
                kind, mark_end = _MARKS[code], end
            elif code == _ANNOTATION:
                self._annotation_end = max(self._annotation_end, end)
            elif self._is_no_use(code, start, end):
                return
            else:
                chain, chain_end = self._first(code, start, end), end
                if code == _GROUP:
                    group_end = end
        if group_end >= 0:
            self._groups.append((start, group_end, chain[1:], len(self._result.uses)))
        if chain and (links or group_end < 0):
            self._close(start, chain_end, chain, kind if mark_end == chain_end else None, links)

    def _is_no_use(self, code: int, start: int, end: int) -> bool:
        """Whether a part tells that its name is the name of a member, or of an import."""
        if code == _NAME:
            return end in self._member_ends or start < self._dotted_end
        if code == _DOTTED:
            self._dotted_end = max(self._dotted_end, end)
        return code in _NO_USE

    def _first(self, code: int, start: int, end: int) -> str:
        """What a chain begins with."""
        if code == _NAME:
            return self._cut(start, end)
        return '"' if code == _TEXT else "?"

    def _linked(self, chain: str, code: int, start: int, previous: int, end: int) -> str:
        """A chain with one more link, which ends at `end`."""
        if code == _MEMBER:
            # Of a base that is no chain the end is not known: look at the last name only.
            link = self._cut(previous if chain else max(start, end - _LONGEST_NAME), end)
            if link[:1] == "." and link[1:].isidentifier():
                return (chain or "?") + link
            word = _LAST_WORD.search(link)
            return f"{chain or '?'}.{word[1] if word else '?'}"
        last = chain.rpartition(".")[2]
        if code == _CALL:
            if last in self._calls:
                self._result.calls.append((chain, start, previous, end))
            elif last in self._quoted:
                self._quoted_at.add(_argument(self._data, previous))
            return (chain or "?") + "()"
        if last in self._literal:
            self._literal_end = max(self._literal_end, end)
        return (chain or "?") + "[]"

    def _close(self, start: int, end: int, chain: str, kind: Kind | None, links: int) -> None:
        """Note a maximal chain, and its use unless it is a bare target."""
        if links:
            self._result.at[start] = (end, chain)
        elif chain == '"':
            self._result.at[start] = (end, chain)
            is_type = start < self._annotation_end or start in self._quoted_at
            if is_type and start >= self._literal_end:
                _quoted_types(self._cut(start, end), start, self._result.uses)
            return
        elif kind == "write":
            return
        if kind is None:
            if start < self._annotation_end:
                kind = "annotation"
            else:
                kind = "call" if chain[-1] == ")" else "read"
        self._result.uses.append((start, chain, kind, not links))


def _argument(data: bytes, offset: int) -> int:
    """Where the first argument of a call starts: after the parenthesis and white space."""
    offset += 1
    while data[offset : offset + 1].isspace():
        offset += 1
    return offset


def _quoted_types(literal: str, start: int, uses: list[Use]) -> None:
    """The names in an annotation that is written as text, each as a use of its own."""
    found = _QUOTED.match(literal) if len(literal) <= _LONGEST_TYPE else None
    if found is None or "Literal" in found[2]:
        return
    for name in _TYPE_NAME.finditer(found[2]):
        chain = name[0].replace(" ", "")
        if chain not in _WORDS:
            if name[1]:
                chain += "]"
            uses.append((start, chain, "annotation", "." not in chain and not name[1]))


def _open_groups(groups: list[tuple[int, int, str, int]], data: bytes, result: Chains) -> None:
    """Let a chain on a parenthesised chain begin inside: `(await a.b()).c` is `a.b().c`.

    Groups come in source order; opening them backwards opens the inner ones first.
    """
    at, uses = result.at, result.uses
    begins: dict[int, int] = {}  # by start of an opened group: where the chain inside begins
    gone: set[int] = set()
    for start, end, links, place in reversed(groups):
        inner = _argument(data, start)
        while data[inner : inner + 5] == b"await" and data[inner + 5 : inner + 6].isspace():
            inner = _argument(data, inner + 5)
        inner_end, chain = at.get(inner) or _bare(uses, inner)
        if not chain or not _closes(data, inner_end, end):
            continue
        begins[start] = begins.get(inner, inner)
        if not links:
            at[start] = (end, chain)
            continue
        at[start] = (at[start][0], chain + links)
        _start, _chain, kind, _bare_name = uses[place]
        uses[place] = (start, chain + links, kind, False)
        gone.add(begins.pop(start))
    if gone:
        result.uses = [use for use in uses if use[0] not in gone]


def _bare(uses: list[Use], start: int) -> tuple[int, str]:
    """The bare name that is used at a byte: its end, and the name, or ""."""
    place = bisect_left(uses, start, key=_start)
    if place < len(uses) and uses[place][0] == start and uses[place][3]:
        name = uses[place][1]
        return start + len(name.encode()), name
    return 0, ""


def _start(use: Use) -> int:
    return use[0]


def _closes(data: bytes, offset: int, end: int) -> bool:
    return end - offset < _LONGEST_NAME and data[offset:end].strip() == b")"
