"""What a section contributes to a packet: its items, put together so that each stands once.

A binding sentence stands alone. Sentences of one paragraph, points of one list and
rows of one table belong together, and so does what introduces them. The words are
the document's; all that is added is the modality in brackets where the sentence
does not spell it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ctxbuild.facts.document import Item, ItemKind, Modality, Section


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
    wanted = [item for item in wanted if item.text not in leads]
    found: list[Entry] = []
    for place, group in groupby(wanted, key=lambda item: item.block):
        found += _block(section, place, list(group))
    return sorted(found, key=lambda entry: entry.first)


def _block(section: Section, place: int, items: Sequence[Item]) -> Iterator[Entry]:
    kind = section.blocks[place].kind if place < len(section.blocks) else "paragraph"
    binding = [item for item in items if item.kind == "constraint"]
    rest = [item for item in items if item.kind != "constraint"]
    if kind == "table":
        said = {_plain(item.text) for item in binding}
        rest = [item for item in rest if not any(text in _plain(item.text) for text in said)]
    for item in binding:
        yield Entry(item.kind, item.modality, binding_text(item), (item,))
    kinds = dict.fromkeys(item.kind for item in rest)
    for item_kind in kinds:
        same = [item for item in rest if item.kind == item_kind]
        yield from _together(section, place, item_kind, same)


def _together(
    section: Section, place: int, kind: ItemKind, items: Sequence[Item]
) -> Iterator[Entry]:
    """Items of one kind and one block: as one entry where they are sentences, points or rows."""
    block = section.blocks[place] if place < len(section.blocks) else None
    shape = block.kind if block else "paragraph"
    if kind in {"procedure", "example"} or (kind == "definition" and shape != "list"):
        for item in items:
            text = block.text if block and kind == "example" else item.text
            yield Entry(kind, item.modality, _led(item.lead, text), (item,))
        return
    whole = len(items) == sum(item.block == place for item in section.items)
    texts = [item.text for item in items]
    if shape == "table":
        text = "\n".join([*_table_head(items[0].lead), *texts])
    elif shape == "list":
        points = block.text if block and whole else "\n".join(f"- {text}" for text in texts)
        text = _led(items[0].lead, points)
    else:
        text = _led(items[0].lead, block.text if block and whole else " ".join(texts))
    yield Entry(kind, "", text.rstrip(), tuple(items))


def binding_text(item: Item) -> str:
    """A binding sentence under what introduces it, its modality in front where none is spelled."""
    # A lead that binds makes the sentence; one that only labels a list does not.
    lead = item.lead if any(keyword.at < 0 for keyword in item.keywords) else ""
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
    return " ".join(text.replace("|", " ").split())


def binding_items(entries_: Iterable[Entry]) -> list[Item]:
    """The items of entries that bind."""
    return [item for entry in entries_ if entry.kind == "constraint" for item in entry.items]
