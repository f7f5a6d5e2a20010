"""Presets: targets whose layers, slices and order are given, to be filled and overridden by name.

A preset is what a user could write himself; `preset = "NAME"` on a target stands for it.
docs/review.md says what each expands to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

SLOT = None
"""In place of a source's value: the layer stands only if the target says the value."""

_COMMON = ("name", "budget", "pin", "priority", "position", "restate", "hydrate")
"""Keys that layers of every source have: they stay where a layer gets another source."""

Table = Mapping[str, Any]


class Preset(NamedTuple):
    """A preset.

    Attributes:
        about: one sentence for people.
        keys: keys of a target, which its own win over.
        layers: tables as in a ctxfile, each with `name` and `budget`. A source key may be
            `SLOT`. With `by_name` the layer takes no source key from the target itself, only
            from a layer of its name.
    """

    about: str
    keys: Table
    layers: tuple[Table, ...]


class Placed(NamedTuple):
    """A layer's table, and where it is written.

    Attributes:
        number: its place in the target's own `layers`; None if it stands in none of them.
        key: the key of the target that fills it, or "preset".
    """

    table: dict[str, Any]
    number: int | None
    key: str = "preset"


class Expanded(NamedTuple):
    """What a target with a preset comes to.

    Attributes:
        keys: the target's keys without sources and layers.
    """

    keys: dict[str, Any]
    layers: tuple[Placed, ...]


_PINNED = {"pin": True, "position": "prefix", "priority": 90, "by_name": True}

PRESETS: dict[str, Preset] = {
    "review": Preset(
        "The review of a large change in many turns: rules, task, change, files, notes, session.",
        {"budget": 96_000, "reserve": 16_000},
        (
            {"name": "system", "files": SLOT, "budget": 2_000, **_PINNED},
            {"name": "task", "files": SLOT, "budget": 1_000, "restate": 20, **_PINNED},
            {
                "name": "memory",
                "memory": SLOT,
                "budget": 2_000,
                "position": "suffix",
                "priority": 80,
            },
            {
                "name": "diff",
                "diff": "main",
                "budget": 20_000,
                "position": "prefix",
                "priority": 70,
            },
            {
                "name": "files",
                "files": (),
                "budget": 15_000,
                "position": "middle",
                "priority": 30,
                "hydrate": True,
            },
            {
                "name": "transcript",
                "transcript": SLOT,
                "budget": 40_000,
                "position": "suffix",
                "priority": 50,
                "threshold": 80_000,
            },
        ),
    ),
    "agent": Preset(
        "The turn of a coding agent: rules, what is long known, the scene, the last turns.",
        {"budget": 64_000, "reserve": 8_000},
        (
            {"name": "rules", "files": SLOT, "budget": 4_000, **_PINNED},
            {
                "name": "memory",
                "memory": SLOT,
                "budget": 8_000,
                "position": "middle",
                "priority": 30,
            },
            {
                "name": "scene",
                "diff": "HEAD",
                "budget": 16_000,
                "position": "suffix",
                "priority": 70,
                "hydrate": True,
            },
            {
                "name": "recent",
                "transcript": SLOT,
                "budget": 28_000,
                "position": "suffix",
                "priority": 50,
                "threshold": 28_000,
            },
        ),
    ),
    "api": Preset(
        "What a client of an API must know: access, endpoints, errors, examples, what not to do.",
        {"budget": 6_000},
        ({"name": "docs", "docs": SLOT, "budget": 6_000, "profile": "api"},),
    ),
    "scene": Preset(
        "What the writer of a scene must know, out of a story bible: people, secrets, time, voice.",
        {"budget": 6_000},
        ({"name": "docs", "docs": SLOT, "budget": 6_000, "profile": "scene"},),
    ),
}
"""The presets by name."""


def expand(table: Table, sources: tuple[str, ...]) -> Expanded:
    """What a target with a `preset` comes to.

    Args:
        table: the target's own keys, those of the targets that it extends included; its
            `preset` is one of `PRESETS`.
        sources: the names of all source keys.

    Returns:
        Its keys and layers. Slices and reserve that the preset gives are scaled to the
        target's own budget, rounded down; what the target itself says stays as it is.
    """
    preset = PRESETS[table["preset"]]
    own = {key: value for key, value in table.items() if key not in (*sources, "layers", "preset")}
    keys = {**preset.keys, **own}
    whole = preset.keys["budget"]
    total = keys["budget"] if isinstance(keys["budget"], int) else whole
    if "reserve" not in own and "reserve" in preset.keys:
        keys["reserve"] = preset.keys["reserve"] * total // whole
    waiting = {key: table[key] for key in sources if key in table}
    named = _named(table.get("layers", ()))
    layers = []
    for each in preset.layers:
        scaled = {**each, "budget": max(1, each["budget"] * total // whole)}
        placed = _layer(scaled, named.pop(each["name"], None), waiting, sources)
        if placed is not None:
            layers.append(placed)
    layers += list(named.values())
    layers += [Placed({key: value}, None, key) for key, value in waiting.items()]
    return Expanded(keys, tuple(layers))


def _named(tables: Any) -> dict[Any, Placed]:
    """The target's own layers by name; those without one by their place."""
    found: dict[Any, Placed] = {}
    for index, table in enumerate(tables):
        name = table.get("name") if isinstance(table, dict) else None
        key = name if isinstance(name, str) and name not in found else index
        found[key] = Placed(table, index)
    return found


def _layer(
    preset: Table, said: Placed | None, waiting: dict[str, Any], sources: tuple[str, ...]
) -> Placed | None:
    """A layer of a preset with what the target says of it; None where nothing fills it."""
    base = {key: value for key, value in preset.items() if key != "by_name"}
    source = next(key for key in sources if key in base)
    if said is not None:
        if any(key in said.table for key in sources if key != source):
            base = {key: base[key] for key in _COMMON if key in base}
        elif source not in said.table and source in waiting and not preset.get("by_name"):
            base[source] = waiting.pop(source)
        merged = {**base, **said.table}
        return None if merged.get(source, "") is SLOT else Placed(merged, said.number)
    if source in waiting and not preset.get("by_name"):
        return Placed({**base, source: waiting.pop(source)}, None, source)
    return None if base[source] is SLOT else Placed(base, None)
