"""Uses of names as chains: `self.db.connect().cursor`, found in one sweep over sorted parts.

Every level of a chain starts at the same byte: in `a.b().c` the name, the member
`a.b`, the call and the whole expression all start at `a`. So sorting the parts by
(start, end) puts each chain together, innermost first, and no tree is walked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from ctxbuild.facts.languages import PARTS

if TYPE_CHECKING:
    from ctxbuild.facts.capture import Captures, Source
    from ctxbuild.facts.languages import Language

Kind = Literal["call", "read", "base", "decorator", "annotation", "guard", "write"]

LONGEST = 64  # links; a longer chain ends there
_END = (1 << 28) - 1
_NAME, _TEXT, _GROUP = PARTS["name"], PARTS["text"], PARTS["group"]
_MEMBER, _CALL, _INDEX = PARTS["member"], PARTS["call"], PARTS["index"]
_ANNOTATION, _DOTTED, _SKIP = PARTS["annotation"], PARTS["dotted"], PARTS["skip"]
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


class Use(NamedTuple):
    """A chain where it stands; `bare` is a name without any link."""

    start: int
    chain: str
    kind: Kind
    bare: bool


@dataclass(slots=True)
class Chains:
    """All chains of a file.

    Attributes:
        at: by start byte: where the maximal chain ends, and the chain.
        uses: the maximal uses in source order.
        calls: by chain that ends in a call and is asked for: (start, end of the callee, end).
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
        The chains. Nothing but bare names inside `global` statements, imports, and
        names of keyword arguments and parameters is left out.
    """
    cut = source.cutter()
    parts = captures.parts
    result = Chains()
    at, uses = result.at, result.uses
    literal = language.words("names", "literal")
    quoted = language.words("names", "quoted")
    watched = quoted | language.words("dynamic", "imports") | language.words("dynamic", "always")
    member_ends = {(part >> 4) & _END for part in parts if part & 15 == _MEMBER}
    annotation_end = literal_end = dotted_end = -1
    quoted_at: set[int] = set()
    groups: list[tuple[int, int, str, int]] = []
    index, count = 0, len(parts)
    while index < count:
        part = parts[index]
        start = part >> 32
        index += 1
        code = part & 15
        end = (part >> 4) & _END
        # Most parts stand alone: the name of a member, or a name without links.
        alone = index == count or parts[index] >> 32 != start
        if alone and code == _NAME:
            if end in member_ends or start < dotted_end:
                continue
            name = cut(start, end)
            at[start] = (end, name)
            uses.append(Use(start, name, "annotation" if start < annotation_end else "read", True))
            continue
        chain = None
        links = 0
        kind: Kind | None = None
        skip = (code == _NAME and end in member_ends) or start < dotted_end
        mark_end = chain_end = group_end = -1
        while True:
            if code == _NAME:
                chain, chain_end = cut(start, end), end
            elif code == _MEMBER or code == _CALL or code == _INDEX:
                if chain is None:
                    chain, chain_end = "?", end
                    # What is not captured is the rest of the base: take the name alone.
                    previous = end
                    if code == _MEMBER:
                        previous = max(start, end - 512)
                else:
                    previous = chain_end
                links += 1
                if links <= LONGEST:
                    if code == _MEMBER:
                        link = cut(previous, end) if previous < end else ""
                        if link[:1] == "." and link[1:].isidentifier():
                            chain += link
                        else:
                            word = _LAST_WORD.search(link)
                            chain += "." + word[1] if word else ".?"
                    elif code == _CALL:
                        if chain.rpartition(".")[2] in watched:
                            result.calls.append((chain, start, chain_end, end))
                            if chain.rpartition(".")[2] in quoted:
                                quoted_at.add(_argument(source.data, chain_end))
                        chain += "()"
                    else:
                        if chain.rpartition(".")[2] in literal:
                            literal_end = max(literal_end, end)
                        chain += "[]"
                chain_end = end
            elif code == _TEXT:
                chain, chain_end = '"', end
            elif code == _GROUP:
                group_end = chain_end = end
                chain = "?"
            elif code == _ANNOTATION:
                annotation_end = max(annotation_end, end)
            elif code == _DOTTED:
                dotted_end = max(dotted_end, end)
                skip = True
            elif code == _SKIP:
                skip = True
            else:
                kind, mark_end = _MARKS[code], end
            if index == count:
                break
            part = parts[index]
            if part >> 32 != start:
                break
            index += 1
            code = part & 15
            end = (part >> 4) & _END
        if skip or chain is None:
            continue
        if group_end >= 0:
            groups.append((start, group_end, chain[1:], len(uses)))
            if not links:
                continue
        at[start] = (chain_end, chain)
        if chain == '"':
            if start >= literal_end and (start < annotation_end or start in quoted_at):
                _quoted_types(cut(start, chain_end), start, uses)
            continue
        if kind is None or mark_end != chain_end:
            if start < annotation_end:
                kind = "annotation"
            else:
                kind = "call" if chain[-1] == ")" else "read"
        elif kind == "write" and not links:
            continue
        uses.append(Use(start, chain, kind, not links))
    if groups:
        _open_groups(groups, source.data, result)
    return result


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
            uses.append(Use(start, chain, "annotation", "." not in chain and not name[1]))


def _open_groups(groups: list[tuple[int, int, str, int]], data: bytes, result: Chains) -> None:
    """Let a chain on a parenthesised chain begin inside: `(await a.b()).c` is `a.b().c`.

    Groups come in source order; opening them backwards opens the inner ones first.
    """
    at = result.at
    gone: set[int] = set()
    for start, end, links, use in reversed(groups):
        inner = _argument(data, start)
        while data[inner : inner + 6] in (b"await ", b"await\n", b"await\t"):
            inner = _argument(data, inner + 5)
        found = at.get(inner)
        if found is None or not _closes(data, found[0], end):
            continue
        chain = found[1] + links
        if not links:
            at[start] = (end, found[1])
            continue
        at[start] = (at[start][0], chain)
        old = result.uses[use]
        if found[1][-1] == '"':
            result.uses[use] = old._replace(chain=chain)
            continue
        result.uses[use] = old._replace(chain=chain)
        gone.add(inner)
    if gone:
        result.uses = [use for use in result.uses if use.start not in gone]


def _closes(data: bytes, offset: int, end: int) -> bool:
    return data[offset:end].strip() == b")"
