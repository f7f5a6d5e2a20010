"""Git's `wildmatch`, as a regular expression whose matching time cannot explode.

The translation follows git's `wildmatch.c` (with WM_PATHNAME) and the literal
prefix that `dir.c` compares before it. A star takes the leftmost match of what
follows it and never gives it back (atomic groups): what comes after the next
star can only gain from that, and a hostile pattern costs no more than
text length x pattern length x path segments.
"""

from __future__ import annotations

import re

_NEVER = r"(?!)"
_SPECIAL = frozenset("*?[\\")
_CLASSES: dict[str, tuple[tuple[int, int], ...]] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}


def literal_prefix(pattern: str) -> str:
    """The part of `pattern` before its first special character."""
    for index, char in enumerate(pattern):
        if char in _SPECIAL:
            return pattern[:index]
    return pattern


def translate(pattern: str) -> str:
    r"""The regular expression, for `re.fullmatch`-like use with `re.DOTALL`, of a glob.

    Args:
        pattern: `*` and `?` stay inside one path segment, `**` between slashes
            crosses them, `[a-z]`, `[!a]`, `[[:alpha:]]`, and `\\` quotes.

    Returns:
        Source of an expression that is anchored at its end. A malformed pattern
        gives one that never matches, as in git.
    """
    groups = _groups(pattern)
    if groups is None:
        return _NEVER
    parts = []
    for position, (lead, chunks) in enumerate(groups):
        last = position == len(groups) - 1
        if lead == "**":
            parts.append(".*")
            continue
        body = lead + _group(chunks, last)
        parts.append(f"(?>{body})" if lead and not last else body)
    return "".join(parts) + r"\Z"


def _group(chunks: list[str], last: bool) -> str:
    """Chunks joined by stars; the very last chunk of all may move, the end anchors it."""
    parts = [chunks[0]]
    for index in range(1, len(chunks)):
        if last and index == len(chunks) - 1:
            parts.append("[^/]*" + ("?" + chunks[index] if chunks[index] else ""))
        else:
            parts.append(f"(?>[^/]*?{chunks[index]})")
    return "".join(parts)


def _groups(pattern: str) -> list[tuple[str, list[str]]] | None:
    """Split at `**`, then at `*`; None if nothing can ever match."""
    groups: list[tuple[str, list[str]]] = [("", [""])]
    index, end = 0, len(pattern)
    while index < end:
        if pattern[index] == "*":
            lead, index = _stars(pattern, index)
            if lead:
                groups.append((lead, [""]))
            else:
                groups[-1][1].append("")
            continue
        atom = _atom(pattern, index)
        if atom is None:
            return None
        groups[-1][1][-1] += atom[0]
        index = atom[1]
    return groups


def _stars(pattern: str, index: int) -> tuple[str, int]:
    """What a run of stars means ("" for one star inside a segment), and where it ends."""
    stop = index
    while stop < len(pattern) and pattern[stop] == "*":
        stop += 1
    if stop - index >= 2 and (index == 0 or pattern[index - 1] == "/"):
        if stop == len(pattern):
            return "**", stop
        if pattern[stop] == "/":
            return "(?:[^/]*/)*?", stop + 1
        if pattern.startswith("\\/", stop):
            return "(?:[^/]*/)+?", stop + 2
    return "", stop


def _atom(pattern: str, index: int) -> tuple[str, int] | None:
    """The expression for one character of text, and where it ends."""
    char = pattern[index]
    if char == "?":
        return "[^/]", index + 1
    if char == "[":
        return _bracket(pattern, index + 1)
    if char == "\\":
        return (re.escape(pattern[index + 1]), index + 2) if index + 1 < len(pattern) else None
    return re.escape(char), index + 1


def _bracket(pattern: str, index: int) -> tuple[str, int] | None:
    """Parse a bracket expression whose `[` stands just before `index`."""
    negated = pattern[index : index + 1] in {"!", "^"}
    index += negated
    start = index
    ranges: list[tuple[int, int]] = []
    previous = ""
    while index == start or pattern[index : index + 1] != "]":
        char = pattern[index : index + 1]
        if char == "[" and pattern[index + 1 : index + 2] == ":":
            named = _named(pattern, index + 2)
            if named is None:
                return None
            found, previous, index = named
            ranges.extend(found)
            continue
        ranged = char == "-" and previous and pattern[index + 1 : index + 2] not in {"", "]"}
        if ranged:
            index += 1
        if pattern[index : index + 1] == "\\":
            index += 1
        char = pattern[index : index + 1]
        if not char:
            return None
        ranges.append((ord(previous if ranged else char), ord(char)))
        previous = "" if ranged else char
        index += 1
    return _class(ranges, negated=negated), index + 1


def _named(pattern: str, index: int) -> tuple[tuple[tuple[int, int], ...], str, int] | None:
    """Ranges of `[:alpha:]`, what may start a range after it, and where it ends.

    `index` is behind the `[:`. Without a `:]` the bracket is an ordinary character.
    """
    close = pattern.find("]", index)
    if close < 0:
        return None
    if close == index or pattern[close - 1] != ":":
        return ((ord("["), ord("[")),), "[", index - 1
    known = _CLASSES.get(pattern[index : close - 1])
    return None if known is None else (known, "", close + 1)


def _class(ranges: list[tuple[int, int]], negated: bool) -> str:
    """A regular expression class; a slash never is in it."""
    items = [
        re.escape(chr(low)) if low == high else f"{re.escape(chr(low))}-{re.escape(chr(high))}"
        for low, high in ranges
        if low <= high
    ]
    if negated:
        return f"[^/{''.join(items)}]"
    return f"(?!/)[{''.join(items)}]" if items else _NEVER
