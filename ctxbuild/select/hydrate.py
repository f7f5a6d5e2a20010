"""Hydration: what a session is about to change rises to its full text in the next assembly.

A pack shows structure first. When an assistant says that it will modify something, or a
call names a file, the body is added. `hints` is a pure function of the turns; `raised`
finds out which units of the repository are meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ctxbuild.model import Candidate, Outline, Proposal, Reason, Rung, Symbol

if TYPE_CHECKING:
    from ctxbuild.facts.transcript import Turn
    from ctxbuild.source.ctxfile import Layer

RECENT = 6
"""Turns at the end of a session whose words and calls count."""

_MOST = 12
"""Units that are raised at once; the latest count first."""

_LONG = 20_000
"""Characters of a text that are searched; what is longer is a dump, no intent."""

_INTENT = re.compile(
    r"\b(?:(?:need|have|want|going|plan|about) to|I'?ll|will|let me|let's|should|must|now)\s+"
    r"(?:\w+ly\s+|now\s+|also\s+|first\s+|then\s+){0,2}"
    r"(?:modify|edit|change|update|fix|rewrite|refactor|rename|extend|adjust|patch|alter|"
    r"replace|remove|delete|move|implement|add)\b([^\n.!?]{0,200}(?:\.\w[^\n.!?]{0,100}){0,4})",
    re.IGNORECASE,
)
"""What announces a change: the clause behind the verb is searched for names."""

_NAME = re.compile(r"[\w./\\~-]{1,200}(?:::[\w.]{1,100})?")
_PATH_ARGUMENTS = frozenset({
    "path", "file_path", "filepath", "file", "filename", "target_file", "notebook_path",
    "absolute_path", "relative_path", "rel_path", "old_path", "new_path", "uri", "target",
})  # fmt: skip
_SYMBOL_ARGUMENTS = frozenset({"symbol", "name_path", "function", "unit", "qualified_name"})
_COMMAND_ARGUMENTS = frozenset({"command", "cmd", "script"})
_ENDING = re.compile(r"[^\\/.]\.[A-Za-z]\w{0,9}(?:::[\w.]+)?$")


@dataclass(frozen=True, slots=True)
class Hint:
    """Something a session names.

    Attributes:
        name: as it is written: a path, `path::symbol`, or the name of a definition.
        why: "modify" (it says so) or "named" (a call names it).
        turn: number of the turn.
    """

    name: str
    why: str
    turn: int


class HydrateView(Protocol):
    """What finding the units asks."""

    def exists(self, path: str) -> bool:
        """Whether a path is a selected file."""

    def outline(self, path: str) -> Outline:
        """The names of a file in source order."""

    def definers(self, name: str) -> tuple[tuple[str, str], ...]:
        """(path, qualified name) of every symbol whose last part is a name."""

    def symbol(self, path: str, name: str) -> tuple[Symbol, ...]:
        """All definitions of a qualified name in a file."""

    def body(self, path: str, name: str) -> str:
        """The source of a definition, at the margin."""


def hints(turns: Sequence[Turn], recent: int = RECENT) -> tuple[Hint, ...]:
    """What the last turns say they will modify, and what their calls name; the latest first.

    Args:
        turns: in order; only an assistant's words and calls count.
        recent: how many turns at the end are looked at.
    """
    found: dict[str, Hint] = {}
    for turn in reversed(turns[-recent:]):
        if turn.role != "assistant":
            continue
        for name, why in _named(turn):
            known = found.get(name)
            if known is None or (why == "modify" and known.why != "modify"):
                found[name] = Hint(name, why, turn.number)
    return tuple(sorted(found.values(), key=lambda h: (-h.turn, h.why != "modify")))


def _named(turn: Turn) -> Iterator[tuple[str, str]]:
    for record in turn.records:
        if record.kind == "text":
            for clause in _INTENT.findall(record.text[:_LONG]):
                yield from ((name, "modify") for name in _names(clause, plain=False))
        elif record.kind == "call":
            for key, value in record.arguments:
                if key in _PATH_ARGUMENTS or key in _SYMBOL_ARGUMENTS:
                    yield value.removeprefix("file://").strip()[:400], "named"
                elif key in _COMMAND_ARGUMENTS:
                    yield from ((name, "named") for name in _names(value[:_LONG], plain=False))


def _names(text: str, *, plain: bool) -> Iterator[str]:
    """Paths, `path::symbol` and names in code marks or with a dot or an underscore."""
    for quoted in re.findall(r"`([^`\n]{1,200})`", text):
        name = quoted.strip().removesuffix("()")
        if _NAME.fullmatch(name):
            yield name
    for name in _NAME.findall(text):
        name = name.rstrip(".-/\\")  # noqa: PLW2901
        if plain or "::" in name or _ENDING.search(name) or "_" in name or "." in name.strip("."):
            yield name


# --- units --------------------------------------------------------------------------------


def units(view: HydrateView, found: Iterable[Hint]) -> dict[str, Hint]:
    """The units of the repository that hints mean: `path` or `path::symbol`, at most a dozen."""
    meant: dict[str, Hint] = {}
    for hint in found:
        unit = _unit(view, hint.name)
        if unit:
            meant.setdefault(unit, hint)
        if len(meant) == _MOST:
            break
    return {unit: hint for unit, hint in meant.items() if not _is_covered(unit, meant)}


def _is_covered(unit: str, meant: Mapping[str, Hint]) -> bool:
    """Whether what is meant of a file, or the file around it, is meant besides.

    "I will modify `Store.save` in shop/store.py" means the method: the path only says where.
    """
    path, mark, _ = unit.partition("::")
    hint = meant[unit]
    if mark:
        return path in meant and not _only_says_where(meant[path], hint)
    inside = (other for name, other in meant.items() if name.startswith(f"{unit}::"))
    return any(_only_says_where(hint, other) for other in inside)


def _only_says_where(file: Hint, inside: Hint) -> bool:
    return file.why == inside.why == "modify" and file.turn == inside.turn


def _unit(view: HydrateView, name: str) -> str:
    path, mark, symbol = name.replace("\\", "/").partition("::")
    file = _file(view, path)
    if file and not mark:
        return file
    if file:
        known = any(symbol == each for each, _ in view.outline(file).symbols)
        return f"{file}::{symbol}" if known else file
    return "" if mark else _definition(view, name)


def _file(view: HydrateView, path: str) -> str:
    """The source that a path means, also one that is written from another root."""
    steps = [step for step in path.split("/") if step not in ("", ".", "~")]
    if ".." in steps:
        return ""
    for start in range(len(steps)):
        if view.exists(tail := "/".join(steps[start:])):
            # Of a path from elsewhere, a lone file name says too little.
            return tail if start in (0, len(steps) - 1) or len(steps) - start > 1 else ""
    return ""


def _definition(view: HydrateView, name: str) -> str:
    """The only definition of a name; of a plain word that many use, none is meant."""
    if not re.fullmatch(r"[A-Za-z_][\w.]{2,100}", name):
        return ""
    wanted = name.removeprefix("self.")
    found = [
        (path, known)
        for path, known in view.definers(wanted.rpartition(".")[2])
        if known == wanted or known.endswith(f".{wanted}")
    ]
    return "::".join(found[0]) if len(found) == 1 else ""


def raised(
    view: HydrateView,
    layers: Sequence[Layer],
    proposals: Mapping[str, Proposal],
    meant: dict[str, Hint],
) -> dict[str, Proposal]:
    """The proposals with what is meant in full, and first.

    Args:
        view: the repository.
        layers: of the target; the first one that hydrates takes what no layer shows in full.
        proposals: by layer.
        meant: unit to the hint that means it.
    """
    home = next((layer for layer in layers if layer.hydrate), None)
    if home is None or not meant:
        return dict(proposals)
    waiting = dict(meant)
    changed: dict[str, Proposal] = {}
    for name, proposal in proposals.items():
        kept = []
        for each in proposal.candidates:
            hint = meant.get(each.unit)
            if hint is None:
                kept.append(each)
            elif each.ladder[-1].form == "full" and each.unit in waiting:
                del waiting[each.unit]
                kept.append(_first(each, hint))
        changed[name] = replace(proposal, candidates=tuple(kept))
    added = tuple(_candidate(view, home, unit, hint) for unit, hint in waiting.items())
    mine = changed[home.name]
    changed[home.name] = replace(mine, candidates=(*added, *mine.candidates))
    return changed


def _first(each: Candidate, hint: Hint) -> Candidate:
    ladder = tuple(replace(rung, phase=0, worth=10 * rung.worth) for rung in each.ladder)
    return replace(each, ladder=ladder, reasons=(_reason(hint), *each.reasons), score=1.0)


def _reason(hint: Hint) -> Reason:
    return Reason("hydrated", detail=f"{hint.why} in turn {hint.turn}")


def _candidate(view: HydrateView, layer: Layer, unit: str, hint: Hint) -> Candidate:
    path, _, symbol = unit.partition("::")
    ladder: tuple[Rung, ...]
    if symbol:
        ladder = (Rung("full", "", 0, 10.0, _with_headers(view, path, symbol)),)
    elif view.outline(path).language:
        ladder = (Rung("skeleton", "", 0, 10.0), Rung("full", "", 0, 100.0))
    else:
        ladder = (Rung("full", "", 0, 100.0),)
    names = [name for name, _ in view.outline(path).symbols] if symbol else []
    return Candidate(
        unit=unit,
        path=path,
        symbol=symbol,
        layer=layer.name,
        section="hydrated",
        order=names.index(symbol) if symbol in names else 0,
        ladder=ladder,
        score=1.0,
        reasons=(_reason(hint),),
    )


def _with_headers(view: HydrateView, path: str, symbol: str) -> str:
    """A definition's source below the headers of the classes around it."""
    rows = []
    steps = symbol.split(".")
    for depth in range(1, len(steps)):
        for definition in view.symbol(path, ".".join(steps[:depth]))[:1]:
            rows += ["    " * (depth - 1) + row for row in definition.signature.split("\n")]
    margin = "    " * (len(steps) - 1)
    body = view.body(path, symbol).rstrip("\n").split("\n")
    rows += [margin + row if row.strip() else "" for row in body]
    return "".join(f"{row}\n" for row in rows)
