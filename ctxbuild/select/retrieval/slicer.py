"""The slicer: what is too long becomes its most relevant parts, along its syntax.

A unit over its limit is shown as the statements around which the question's words
stand densest, below the headers that enclose them; what is left out is `...`. No
statement is cut, no slice has more tokens than its limit, and its lines are those of
the file. A statement that alone exceeds the limit, a table on one line say, is left
out like any other; only text that nobody parses may be cut within a line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from ctxbuild.facts.parts import parts_of
from ctxbuild.facts.words import words
from ctxbuild.select.retrieval.model import Cut, Hints, Hit, QuestionView
from ctxbuild.select.retrieval.sheet import GAP, Sheet, inside, joined, mover
from ctxbuild.select.retrieval.windows import Count, Picker, hits_of

WINDOW = 40
"""Lines of the window that is looked for where the question's words stand densest."""

_NAME_WEIGHT = 2.0
"""What a name that the question names weighs beside a term of its text."""

_WIDEST_TOKEN = 64
"""Characters that hardly a token exceeds: more of a line than the limit in these is not counted."""


def cut(view: QuestionView, hit: Hit, hints: Hints, limit: int) -> Cut | None:
    """The most relevant parts of a unit that is too large, at the depth at which a pack shows it.

    Args:
        view: the repository.
        hit: the unit.
        hints: what the question is about.
        limit: most tokens of the cut.

    Returns:
        The cut; None where not even the unit's header with one statement fits.
    """
    text, language = view.text(hit.path), view.outline(hit.path).language
    lines = hit.lines or _place(view, hit)
    depth = hit.symbol.count(".")
    return slice_lines(
        text,
        language,
        lines,
        weights(hints),
        limit,
        lambda texts: view.count(list(texts)),
        depth=depth if hit.symbol else None,
        marked=[frame.line for frame in hints.frames if _is_of(frame.path, hit.path)],
    )


def weights(hints: Hints) -> dict[str, float]:
    """The words of a question with their weights."""
    found = dict(hints.terms)
    for name, weight in hints.names:
        for word in words(name):
            found[word] = max(found.get(word, 0.0), _NAME_WEIGHT * weight)
    return found


def _place(view: QuestionView, hit: Hit) -> tuple[int, int]:
    """The lines of the longest definition of a unit's name; the whole file for a module."""
    lines = view.lines(hit.path)
    names = view.outline(hit.path).symbols
    spots = [
        spot for (name, _), spot in zip(names, lines.symbols, strict=True) if name == hit.symbol
    ]
    if not spots:
        return 1, lines.total
    first, last, _, _ = max(spots, key=lambda spot: (spot[1] - spot[0], -spot[0]))
    return first, last


def _is_of(named: str, path: str) -> bool:
    """Whether a path as a stack trace names it can be that of a file."""
    return f"/{named}".endswith(f"/{path}") or f"/{path}".endswith(f"/{named}")


def slice_lines(
    text: str,
    language: str,
    lines: tuple[int, int],
    weighted: Mapping[str, float],
    limit: int,
    count: Count,
    *,
    window: int = WINDOW,
    depth: int | None = None,
    marked: Sequence[int] = (),
) -> Cut | None:
    """The most relevant parts of some lines of a file, within a limit of tokens.

    Args:
        text: the file's text.
        language: its language's name, "" for text that is not parsed.
        lines: first and last line of the unit, from 1.
        weighted: the question's words with their weights.
        limit: most tokens of the slice.
        count: counts tokens.
        window: most lines of one run of statements that is looked for.
        depth: levels at which the unit is shown; None to leave it where it stands.
        marked: lines that the question names.

    Returns:
        The slice; the lines themselves where they fit; None if not even the
        unit's header with one statement fits.
    """
    rows = text.split("\n")
    first, last = max(1, lines[0]), min(lines[1], len(rows))
    if first > last:
        return None
    move = mover(rows[first - 1 : last], depth)
    whole = move(joined(rows[first - 1 : last]))
    tokens = count([whole])[0]
    if tokens <= limit:
        return Cut(whole, ((first, last),), tokens)
    sheet = Sheet(rows, inside(parts_of(text, language, first, last), first), last, move)
    rate = tokens / len(whole.encode())
    found = Picker(sheet, weighted, limit, count, window, marked, rate).pick()
    if found is None and not language:
        return _within_a_line(sheet, weighted, limit, count)
    return found


def _within_a_line(
    sheet: Sheet, weighted: Mapping[str, float], limit: int, count: Count
) -> Cut | None:
    """Part of the most relevant of lines that are all too long, cut where words end."""
    best, line, pieces = 0.0, 0, [""]
    for part in sheet.parts:
        row = sheet.rows[part.first - 1]
        worth = sum(weighted[word] * math.log1p(n) for word, n in hits_of(row, weighted).items())
        if not line or worth > best:
            best, line, pieces = worth, part.first, re.split(r"(?<=\s)(?=\S)", row)
    start = next((place for place, piece in enumerate(pieces) if hits_of(piece, weighted)), 0)
    text = "".join(pieces[start:])[: limit * _WIDEST_TOKEN]
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count([_shortened(text, middle, start)])[0] <= limit:
            low = middle
        else:
            high = middle - 1
    if not low:
        return None
    shown = _shortened(text, low, start)
    return Cut(shown, ((line, line),), count([shown])[0])


def _shortened(text: str, length: int, start: int) -> str:
    before = f"{GAP} " if start else ""
    after = f" {GAP}" if length < len(text) else ""
    return f"{before}{text[:length].rstrip()}{after}\n"
