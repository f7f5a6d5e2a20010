"""The note that old turns become: items by kind, rendered so that they can be read back.

Rendering and parsing are each other's inverse. A note that is met again is taken
apart and merged with what came since; it is never summarised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from ctxbuild.facts.transcript import NOTE_MARK

ItemKind = Literal[
    "words", "finding", "todo", "edit", "error", "blocker", "open", "decision", "fact", "action",
    "dropped",
]  # fmt: skip

TITLES: dict[ItemKind, str] = {
    "words": "The user's words",
    "finding": "Findings",
    "todo": "Plan, last state",
    "edit": "Files changed, last hunk of each",
    "error": "The last command that failed",
    "blocker": "Not resolved",
    "open": "Open questions",
    "decision": "Decisions and why",
    "fact": "Facts",
    "action": "Actions",
    "dropped": "Left out of this note",
}
KINDS: tuple[ItemKind, ...] = get_args(ItemKind)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a note says.

    Attributes:
        text: without white space at its end.
        turn: the turn it is from; for "dropped" the last one.
        hash: first digits of the name under which the original can be recalled, or "".
        first: for "dropped": the first turn, else 0.
    """

    kind: ItemKind
    text: str
    turn: int
    hash: str = ""
    first: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """What old turns became."""

    items: tuple[Item, ...]

    @property
    def text(self) -> str:
        """The note as Markdown; it begins with the mark by which it is known again."""
        return render_note(self.items)

    def of(self, kind: ItemKind) -> tuple[Item, ...]:
        """The items of a kind."""
        return tuple(item for item in self.items if item.kind == kind)


def in_order(items: Iterable[Item]) -> tuple[Item, ...]:
    """Items in the order of their kinds, within a kind as they are."""
    places = {kind: place for place, kind in enumerate(KINDS)}
    return tuple(sorted(items, key=lambda item: places[item.kind]))


def render_note(items: Iterable[Item]) -> str:
    """Items as Markdown, by kind, in the order given."""
    by_kind: dict[ItemKind, list[Item]] = {}
    for item in items:
        by_kind.setdefault(item.kind, []).append(item)
    pieces = [f"{NOTE_MARK}\n{HEAD}\n"]
    for kind in KINDS:
        if kind in by_kind:
            pieces.append(f"\n### {TITLES[kind]}\n\n")
            pieces += [item_text(item) for item in by_kind[kind]]
    return "".join(pieces)


HEAD = (
    "Earlier turns of this session, compacted. `ctxbuild recall HASH` prints the original behind "
    "the hash of a line."
)


def item_text(item: Item) -> str:
    """One item as a list entry whose further lines are moved in."""
    turns = f"{item.first}-{item.turn}" if item.first else f"{item.turn}"
    first, *rest = item.text.split("\n")
    more = "".join(f"  {row}\n" if row else "\n" for row in rest)
    return f"- t{turns} {item.hash or '-'}: {first}\n{more}"


_ITEM = re.compile(r"- t(?:(\d+)-)?(\d+) ([0-9a-f]{12}|-): ?(.*)")
_BY_TITLE = {title: kind for kind, title in TITLES.items()}


def parse_note(text: str) -> Note | None:
    """The note in a text; None if the text is none, or somebody changed its shape."""
    rows = text.rstrip("\n").split("\n")
    if rows[:2] != [NOTE_MARK, HEAD]:
        return None
    kind: ItemKind | None = None
    found: list[tuple[ItemKind, re.Match[str], list[str]]] = []
    for row in rows[2:]:
        match = _ITEM.fullmatch(row)
        if row.startswith("### "):
            kind = _BY_TITLE.get(row[4:])
            if kind is None:
                return None
        elif match and kind:
            found.append((kind, match, [match[4]]))
        elif found and (not row or row.startswith("  ")):
            found[-1][2].append(row[2:])
        elif row:
            return None
    return Note(tuple(_item(*each) for each in found))


def _item(kind: ItemKind, match: re.Match[str], rows: list[str]) -> Item:
    digits = "" if match[3] == "-" else match[3]
    return Item(kind, "\n".join(rows).rstrip(), int(match[2]), digits, int(match[1] or 0))
