"""What a section contributes to a packet: its items, put together so that each stands once.

A binding sentence stands alone. Sentences of one paragraph, points of one list and
rows of one table belong together, and so does what introduces them. The words are
the document's; all that is added is the modality in brackets where the sentence
does not spell it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ctxbuild.facts.document import Item, ItemKind, Modality, Section

_CELL_ENDS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece of a packet.

    Attributes:
        text: lines without an end.
        items: what it is made of, at least one.
    """

    kind: ItemKind
    modality: Modality
    text: str
    items: tuple[Item, ...]

    @property
    def first(self) -> int:
        """The ordinal of its first item."""
        return self.items[0].ordinal

    @property
    def label(self) -> str:
        """The ordinals as they are cited: `3`, `3-5` or `1,3-5`."""
        runs: list[list[int]] = []
        for item in self.items:
            if runs and item.ordinal == runs[-1][-1] + 1:
                runs[-1].append(item.ordinal)
            else:
                runs.append([item.ordinal])
        return ",".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in runs)

    @property
    def rendered(self) -> str:
        """With its label in front, ending in a line feed."""
        separator = "\n" if "\n" in self.text else " "
        return f"{self.label}.{separator}{self.text}\n"


def entries(section: Section, chosen: frozenset[int] | None = None) -> list[Entry]:
    """The entries of a section in its own order.

    Args:
        section: with its items.
        chosen: ordinals of the items that are wanted; None for all.
    """
    wanted = [i for i in section.items if chosen is None or i.ordinal in chosen]
    leads = {item.lead for item in wanted if item.lead}
    # What binds by itself is shown unless those that it introduces bind by its words.
    carried = {item.lead for item in wanted if _is_carried(item)}
    wanted = [
        item
        for item in wanted
        if item.text not in (carried if item.kind == "constraint" else leads)
    ]
    found: list[Entry] = []
    counts = Counter(item.block for item in section.items)
    for place, group in groupby(wanted, key=lambda item: item.block):
        found += _block(section, place, list(group), counts[place])
    return sorted(found, key=lambda entry: entry.first)


def _block(section: Section, place: int, items: Sequence[Item], count: int) -> Iterator[Entry]:
    """The entries of a block, of whose items, `count` in all, some are wanted."""
    kind = section.blocks[place].kind if place < len(section.blocks) else "paragraph"
    binding = [item for item in items if item.kind == "constraint"]
    rest = [item for item in items if item.kind != "constraint"]
    if kind == "table":
        own = _own(items)
        rest = [item for item in rest if not _is_said(item, own[item.ordinal])]
    for item in binding:
        yield Entry(item.kind, item.modality, binding_text(item, kind), (item,))
    kinds = dict.fromkeys(item.kind for item in rest)
    for item_kind in kinds:
        same = [item for item in rest if item.kind == item_kind]
        yield from _together(section, place, item_kind, same, whole=len(same) == count)


def _together(
    section: Section, place: int, kind: ItemKind, items: Sequence[Item], *, whole: bool
) -> Iterator[Entry]:
    """Items of one kind and one block: as one entry where they are sentences, points or rows."""
    block = section.blocks[place] if place < len(section.blocks) else None
    shape = block.kind if block else "paragraph"
    if kind in {"procedure", "example"} or (kind == "definition" and shape != "list"):
        for item in items:
            text = block.text if block and kind == "example" else item.text
            yield Entry(kind, item.modality, _led(item.lead, text), (item,))
        return
    texts = [item.text for item in items]
    if shape == "table":
        text = "\n".join([*_table_head(items[0].lead), *texts])
    elif shape == "list":
        points = block.text if block and whole else "\n".join(f"- {text}" for text in texts)
        text = _led(items[0].lead, points)
    else:
        text = _led(items[0].lead, block.text if block and whole else " ".join(texts))
    yield Entry(kind, "", text.rstrip(), tuple(items))


def _is_carried(item: Item) -> bool:
    """Whether an item binds by the words of what introduces it."""
    return any(keyword.at < 0 for keyword in item.keywords)


def _own(items: Sequence[Item]) -> dict[int, list[Item]]:
    """Ordinal of each row of a table to the binding sentences in it: they stand behind it."""
    found: dict[int, list[Item]] = {}
    row: list[Item] = []
    for item in items:
        if item.kind == "constraint":
            row.append(item)
        else:
            found[item.ordinal] = row = []
    return found


def _is_said(row: Item, binding: Sequence[Item]) -> bool:
    """Whether binding sentences say all that stands in a row of a table."""
    cells = [" ".join(cell.split()) for cell in _CELL_ENDS.split(row.text)]
    left = " ".join(cell for cell in cells if all(cell != _plain(item.lead) for item in binding))
    for item in binding:
        left = left.replace(_plain(item.text), " ", 1)
    return bool(binding) and not any(character.isalnum() for character in left)


def binding_text(item: Item, shape: str = "") -> str:
    """A binding sentence under what introduces it, its modality in front where none is spelled.

    Args:
        item: a constraint.
        shape: the kind of the block that it stands in.
    """
    # A lead that binds makes the sentence; so does the first cell of a row, and a term.
    # One that only labels a list does not.
    lead = item.lead if _is_carried(item) else ""
    if shape in {"table", "definitions"} and item.lead and not item.lead.startswith("|"):
        lead = f"{item.lead}:"
    text = f"{lead} {item.text}".strip()
    spelled = any(keyword.word == keyword.modality for keyword in item.keywords)
    return text if spelled or not item.modality else f"[{item.modality}] {text}"


def _led(lead: str, text: str) -> str:
    return f"{lead}\n{text}" if lead else text


def _table_head(lead: str) -> list[str]:
    if not lead:
        return []
    columns = max(1, lead.strip().strip("|").count("|") + 1)
    return [lead, "|" + "---|" * columns]


def _plain(text: str) -> str:
    return " ".join(text.split())
