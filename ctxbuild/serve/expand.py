"""A unit in full, with what it uses and who uses it, within a limit of tokens."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Literal

from ctxbuild.errors import UsageError
from ctxbuild.pack import forms, render
from ctxbuild.pack.artifact import place
from ctxbuild.serve.why import near_paths
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.pack.tokens import Counter
    from ctxbuild.serve.lookup import Desk

LEAST_TOKENS = 100
_NOTES = 60  # tokens kept for fences, titles and the line that says what is left out
_TITLES = {"uses": "Uses", "used-by": "Used by"}

Part = Literal["uses", "used-by"]


@dataclass(frozen=True, slots=True)
class Expansion:
    """What `expand` gives.

    Attributes:
        form: how much of the unit itself is shown: "full", "skeleton" or "cut".
        lines: first and last line of the unit, None for an empty file.
        text: all of it, as Markdown; `tokens` is its exact count.
        uses, used_by: units that are shown.
        left_out: how many more there are of each.
    """

    unit: str
    form: Literal["full", "skeleton", "cut"]
    lines: tuple[int, int] | None
    text: str
    tokens: int
    uses: tuple[str, ...]
    used_by: tuple[str, ...]
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Piece:
    part: Part
    unit: str
    path: str
    language: str
    text: str


def expand(desk: Desk, unit: str, limit: int, count: Counter) -> Expansion:
    """The text of a unit, then what it uses and who uses it, as far as the limit allows.

    Args:
        desk: the repository.
        unit: `path` or `path::symbol`; an absolute path must lie below the root.
        limit: most tokens of the text.
        count: counts them.

    Raises:
        UsageError: no such unit, it lies outside the project, or the limit is too low.
    """
    if limit < LEAST_TOKENS:
        raise UsageError(
            f"{limit} tokens are too few for an answer", f"ask for at least {LEAST_TOKENS}"
        )
    path, symbol = find(desk, unit)
    named = f"{path}::{symbol}" if symbol else path
    form, body = _body(desk, path, symbol, limit - _NOTES, count)
    room = limit - _NOTES - count([body])[0]
    pieces = list(_ordered(_uses(desk, path, symbol), _used_by(desk, path, symbol)))
    sizes = count([piece.text + render.path_line(piece.path, "") for piece in pieces])
    chosen: list[_Piece] = []
    for piece, size in zip(pieces, sizes, strict=True):
        if size <= room:
            chosen.append(piece)
            room -= size
    while True:
        text = _text(desk, path, symbol, form, body, pieces, chosen)
        tokens = count([text])[0]
        if tokens <= limit or not chosen:
            break
        chosen.pop()
    while tokens > limit:
        body = _cut(body, count([body])[0] - (tokens - limit) - 1, count)
        form = "cut"
        text = _text(desk, path, symbol, form, body, pieces, chosen)
        tokens = count([text])[0]
    lines = place(desk.lines_of, path, symbol)
    return Expansion(
        named,
        form,
        (lines[0], lines[1]) if lines else None,
        text,
        tokens,
        _units(chosen, "uses"),
        _units(chosen, "used-by"),
        _left_out(pieces, chosen),
    )


# --- which unit -----------------------------------------------------------------------------


def within(root: str, path: str) -> str:
    """A path relative to the root, however it was written.

    Raises:
        UsageError: it leads out of the root.
    """
    plain = path.replace("\\", "/") if os.sep == "\\" else path
    if os.path.isabs(plain):
        plain = os.path.relpath(plain, root)
    plain = os.path.normpath(plain).replace(os.sep, "/")
    if plain == ".." or plain.startswith("../") or os.path.isabs(plain) or "\0" in plain:
        raise UsageError(
            f"{shown(path)}: lies outside the project", "name a path relative to its root"
        )
    return plain


def find(desk: Desk, unit: str) -> tuple[str, str]:
    """Path and symbol of a unit of the project.

    Raises:
        UsageError: there is none; similar names are suggested.
    """
    given, mark, symbol = unit.partition("::")
    if not given.strip():
        raise UsageError("no path is given", "name `path` or `path::symbol`")
    snapshot = desk.workspace.snapshot
    path = within(snapshot.root, given)
    if not snapshot.has(path):
        near = near_paths(path, snapshot.paths)
        raise UsageError(f"{shown(path)}: is no source file of the project{_near(near)}")
    if mark and symbol not in (names := _names(desk, path)):
        last = symbol.rpartition(".")[2]
        same = [name for name in names if name.rpartition(".")[2] == last]
        same = same or get_close_matches(symbol, names, 3)
        raise UsageError(f"{shown(path)}: has no symbol {symbol!r}{_near(same[:3])}")
    return path, symbol


def _near(names: Sequence[str]) -> str:
    return f", did you mean {' or '.join(map(shown, names))}?" if names else ""


def _names(desk: Desk, path: str) -> list[str]:
    return list(dict.fromkeys(name for name, _ in desk.view.outline(path).symbols))


# --- its own text ---------------------------------------------------------------------------


def _body(
    desk: Desk, path: str, symbol: str, limit: int, count: Counter
) -> tuple[Literal["full", "skeleton", "cut"], str]:
    text = desk.view.body(path, symbol) if symbol else desk.view.text(path)
    if count([text])[0] <= limit:
        return "full", text
    if not symbol or _is_class(desk, path, symbol):
        skeleton = _skeleton(desk, path, symbol)
        if skeleton and count([skeleton])[0] <= limit:
            return "skeleton", skeleton
    return "cut", _cut(text, limit, count)


def _is_class(desk: Desk, path: str, symbol: str) -> bool:
    return any(each.kind == "class" for each in desk.view.symbol(path, symbol))


def _skeleton(desk: Desk, path: str, symbol: str) -> str:
    if not symbol:
        return desk.view.skeleton(path)
    members = [name for name in _names(desk, path) if name.startswith(f"{symbol}.")]
    head = [forms.skeleton(s, "first", hollow=not members) for s in desk.view.symbol(path, symbol)]
    depth = symbol.count(".")
    return "".join(head) + "".join(
        forms.indent(forms.skeleton(each, "first"), name.count(".") - depth)
        for name in members
        for each in desk.view.symbol(path, name)
    )


def _cut(text: str, limit: int, count: Counter) -> str:
    """As many whole lines from the start as fit."""
    rows = text.splitlines(keepends=True)
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high + 1) // 2
        if count(["".join(rows[:middle])])[0] <= limit:
            low = middle
        else:
            high = middle - 1
    return "".join(rows[:low])


# --- what is around it ----------------------------------------------------------------------


def _uses(desk: Desk, path: str, symbol: str) -> Iterator[_Piece]:
    from ctxbuild.graph.uses import uses

    found = uses(desk.view, path, (symbol,) if symbol else ())
    for use in found.used:
        own = use.path == path and (not symbol or use.name == symbol or _below(use.name, symbol))
        if own or not use.name:
            continue
        symbols = desk.view.symbol(use.path, use.name)
        if symbols:
            text = "".join(forms.skeleton(each, "first") for each in symbols)
            yield _piece(desk, "uses", use.path, use.name, text)


def _used_by(desk: Desk, path: str, symbol: str) -> Iterator[_Piece]:
    from ctxbuild.select import dependents

    yield from _same_file(desk, path, symbol)
    around = dependents.candidates(desk.view, "", [(path, symbol)], steps=1, tests=True, phase=0)
    for candidate in around:
        if not candidate.references:
            continue  # the header of a class around another candidate
        name = candidate.unit.partition("#")[0].partition("::")[2]
        text = textwrap.dedent(forms.statements(desk.view, candidate))
        yield _piece(desk, "used-by", candidate.path, name, text)


def _same_file(desk: Desk, path: str, symbol: str) -> Iterator[_Piece]:
    """Definitions of the unit's own file that use it."""
    from ctxbuild.graph.uses import uses

    if not symbol:
        return
    references = desk.view.references(path)
    scopes: dict[str, None] = {}
    for use in uses(desk.view, path).used:
        if use.path == path and (use.name == symbol or _below(use.name, symbol)) and use.certain:
            scopes |= {references[ordinal].scope: None for ordinal in use.references}
    names = set(_names(desk, path))
    for inner in sorted(scopes):
        scope = inner
        while scope and scope not in names:
            scope = scope.rpartition(".")[0]
        if scope and scope != symbol and not _below(scope, symbol):
            text = "".join(forms.skeleton(s, "none") for s in desk.view.symbol(path, scope))
            yield _piece(desk, "used-by", path, scope, text)


def _below(name: str, symbol: str) -> bool:
    return name.startswith(f"{symbol}.")


def _piece(desk: Desk, part: Part, path: str, name: str, text: str) -> _Piece:
    language = desk.view.outline(path).language
    owner = name.rpartition(".")[0]
    text = f"{render.comment(language)} in {owner}\n{text}" if owner else text
    return _Piece(part, f"{path}::{name}" if name else path, path, language, text)


def _ordered(uses: Iterator[_Piece], used_by: Iterator[_Piece]) -> Iterator[_Piece]:
    """In turns, so that a low limit leaves some of both."""
    seen: set[tuple[Part, str]] = set()
    for pair in zip_longest(uses, used_by):
        for piece in pair:
            if piece is not None and (piece.part, piece.unit) not in seen:
                seen.add((piece.part, piece.unit))
                yield piece


# --- all of it ------------------------------------------------------------------------------


def _text(
    desk: Desk,
    path: str,
    symbol: str,
    form: str,
    body: str,
    pieces: Sequence[_Piece],
    chosen: Sequence[_Piece],
) -> str:
    language = desk.view.outline(path).language
    name = f"{shown(path)}::{symbol}" if symbol else shown(path)
    lines = place(desk.lines_of, path, symbol)
    about = [f"lines {lines[0]}-{lines[1]}"] if symbol and lines else []
    about += [form] if form != "full" else []
    note = f" ({', '.join(about)})" if about else ""
    text = f"# {name}{note}\n\n{_fenced(language, body)}"
    for part, title in _TITLES.items():
        mine = [piece for piece in chosen if piece.part == part]
        by_language = groupby(
            sorted(mine, key=lambda piece: piece.language), key=lambda piece: piece.language
        )
        for each, group in by_language:
            text += f"\n## {title}\n\n{_fenced(each, ''.join(_rows(list(group))))}"
    more = [
        f"{count} more in `{part}`" for part, count in _left_out(pieces, chosen).items() if count
    ]
    return text + (f"\nLeft out for the limit: {', '.join(more)}.\n" if more else "")


def _rows(pieces: list[_Piece]) -> Iterator[str]:
    for path, group in groupby(sorted(pieces, key=lambda piece: piece.path), lambda p: p.path):
        yield render.path_line(path, pieces[0].language)
        yield from (piece.text for piece in group)


def _fenced(language: str, text: str) -> str:
    text = text if text.endswith("\n") or not text else text + "\n"
    before, after = render.wrap(language, text)
    return before + text + after


def _units(chosen: Sequence[_Piece], part: Part) -> tuple[str, ...]:
    return tuple(piece.unit for piece in chosen if piece.part == part)


def _left_out(pieces: Sequence[_Piece], chosen: Sequence[_Piece]) -> dict[str, int]:
    return {
        part: sum(p.part == part for p in pieces) - sum(p.part == part for p in chosen)
        for part in _TITLES
    }
