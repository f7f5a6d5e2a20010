"""What turns a pack that a model has read into the present one: as data, and as an appendix.

The data is exact: applied to the old artifact it gives the new one, block for
block. The appendix says the same to a model that has the old pack in its context:
what is new, what replaces what it read, and what it must not rely on any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from difflib import unified_diff
from itertools import groupby
from typing import Any

from ctxbuild.compare.artifact import (
    Artifact,
    Head,
    Shown,
    data_of,
    shown_from,
)
from ctxbuild.compare.diff import Change, difference
from ctxbuild.errors import UsageError
from ctxbuild.facts import language_of
from ctxbuild.pack import render
from ctxbuild.source.paths import shown as readable

SCHEMA = "ctxbuild.delta/1"

_PATCH_SHARE = 0.8
"""A patch is given instead of a text if it is shorter than this share of it."""

_CONTEXT = (1, 3, 9)
"""Lines around a change, the fewest with which each place is found by its lines alone."""

_INTRODUCTION = (
    "\nSince you read this context, its sources have changed. Where this update and what you "
    "read before differ, only this update holds. What it does not mention is as it was.\n"
)
_OPENING = 2
_LISTS = render.LINE_FORMS


@dataclass(frozen=True, slots=True)
class Delta:
    """The way from one artifact to another of the same target.

    Attributes:
        since: digest of the pack that it applies to.
        head: what the new artifact says of itself.
        order: the new blocks: the place of a block of the old artifact that stays as it
            is, or a block that is new or different in anything.
    """

    since: str
    head: Head
    order: tuple[int | Shown, ...]


def delta(old: Artifact, new: Artifact) -> Delta:
    """The way from `old` to `new`.

    Raises:
        UsageError: they are packs of different targets.
    """
    if old.head.target != new.head.target:
        raise UsageError(
            f"a pack of target {old.head.target!r} cannot become one of {new.head.target!r}",
            "give a delta the earlier pack of the same target",
        )
    places = {block: place for place, block in enumerate(old.blocks)}
    order = tuple(places.get(block, block) for block in new.blocks)
    return Delta(old.head.digest, new.head, order)


def apply(change: Delta, old: Artifact) -> Artifact:
    """The new artifact.

    Raises:
        UsageError: `old` is not the pack that the delta begins with.
    """
    if old.head.digest != change.since:
        raise UsageError(
            f"the delta begins with the pack {change.since}, not with {old.head.digest}",
            "apply it to the pack it was made for",
        )
    try:
        blocks = tuple(old.blocks[e] if isinstance(e, int) else e for e in change.order)
    except IndexError as error:
        raise UsageError(f"the pack {old.head.digest} has fewer blocks than the delta") from error
    return Artifact(change.head, blocks)


def delta_data(change: Delta) -> dict[str, Any]:
    """As plain data for JSON."""
    return {
        "schema": SCHEMA,
        "since": change.since,
        **asdict(change.head),
        "blocks": [{"keep": e} if isinstance(e, int) else data_of(e) for e in change.order],
    }


def delta_from(raw: Mapping[str, Any]) -> Delta:
    """The inverse of `delta_data`.

    Raises:
        UsageError: it is no delta, or one that a newer version made.
    """
    if raw.get("schema") != SCHEMA:
        raise UsageError(f"is not a delta: its schema is {raw.get('schema')!r}, not {SCHEMA!r}")
    try:
        said = ("warnings", "questions")
        head = Head(
            **{name: raw[name] for name in Head.__slots__ if name not in said},
            warnings=tuple(raw["warnings"]),
            questions=tuple((layer, question) for layer, question in raw.get("questions", ())),
        )
        order = tuple(e["keep"] if "keep" in e else shown_from(e) for e in raw["blocks"])
        return Delta(raw["since"], head, order)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"is not a whole delta ({error!r})") from error


# --- for a model ------------------------------------------------------------------------


def appendix(old: Artifact, new: Artifact, crowded_out: Collection[str] = ()) -> str:
    """What to say to a model that has read `old`, as Markdown; "" if nothing it reads changed.

    Args:
        old, new: packs of one target.
        crowded_out: units that still are there and only found no room.
    """
    changes = [c for c in difference(old, new).changes if c.kind not in ("moved", "reasons")]
    if not changes:
        return ""
    replaced = [c for c in changes if c.before and c.after]
    added = [c for c in changes if not c.before]
    lost = [c.before for c in changes if c.before and not c.after]
    gone = [block.unit for block in lost if block.unit not in crowded_out]
    # A line that found no room any more says nothing that would now be wrong.
    kept_out = [b.unit for b in lost if b.unit in crowded_out and b.form not in _LISTS]
    pieces = [
        render.title(f"Update of {new.head.target}"),
        _INTRODUCTION,
        *_section("Replaced: this holds now", replaced),
        *_section("New", added),
        *_names("No longer there, or no longer used: do not rely on it", gone),
        *_names("Not shown any more for want of room; it may have changed", kept_out),
    ]
    # Where only such lines went there is nothing to tell.
    return "".join(pieces) if len(pieces) > _OPENING else ""


def _names(title: str, units: Iterable[str]) -> Iterator[str]:
    lines = [f"- {readable(unit)}\n" for unit in units]
    if lines:
        yield f"\n## {title}\n\n"
        yield from lines


def _section(title: str, changes: list[Change]) -> Iterator[str]:
    if not changes:
        return
    yield f"\n## {title}\n"
    patches = {c.unit: _patch(c.before, _after(c)) for c in changes}
    blocks = [_after(change) for change in changes]
    texts = [b for b in blocks if b.form not in _LISTS and not patches[b.unit]]
    for _, run in groupby(texts, key=_heading):
        each = list(run)
        symbols = ", ".join(block.symbol for block in each if block.symbol)
        text = "".join(block.text for block in each)
        yield from _fenced(_name(each[0], symbols), each[0].form, _language(each[0]), text)
    for block in blocks:
        if patches[block.unit]:
            yield from _fenced(
                _name(block, block.symbol), "as a patch", "diff", patches[block.unit]
            )
    lines = [block.text for block in blocks if block.form in _LISTS]
    if lines:
        yield "\n" + "".join(lines)


def _heading(block: Shown) -> tuple[str, str]:
    """What stands under one heading: parts of one file in one form, or a file."""
    return (block.path, block.form) if block.symbol else (block.unit, "")


def _language(block: Shown) -> str:
    return language_of(block.path) or ""


def _name(block: Shown, symbols: str) -> str:
    return f"{readable(block.path)} :: {symbols}" if symbols else readable(block.path)


def _after(change: Change) -> Shown:
    assert change.after is not None
    return change.after


def _fenced(name: str, how: str, language: str, text: str) -> Iterator[str]:
    fence, end = render.wrap(language, text)
    yield f"\n### {name} ({how})\n\n{fence}{text}" + ("" if text.endswith("\n") else "\n") + end


def _patch(before: Shown | None, after: Shown) -> str:
    """The way from one text to the other, where that is clearly shorter; else ""."""
    if before is None or before.form != after.form or after.form in _LISTS:
        return ""
    # Line feeds alone end a line here, as they do for a model and for `patch`.
    old, new = before.text.split("\n"), after.text.split("\n")
    if old.pop() or new.pop():
        return ""
    for context in _CONTEXT:
        hunks = [*unified_diff(old, new, n=context, lineterm="")][2:]
        patch = "".join(f"{line}\n" for line in hunks)
        if len(patch) >= _PATCH_SHARE * len(after.text):
            return ""
        if _is_unambiguous(hunks, old):
            return patch
    return ""


def _is_unambiguous(hunks: Iterable[str], old: list[str]) -> bool:
    """Whether the lines that each hunk expects stand at one place only.

    Who reads a text does not count its lines, so that the numbers of a hunk say little.
    """
    text = "".join(f"\n{line}" for line in old) + "\n"
    for opens, hunk in groupby(hunks, key=lambda line: line.startswith("@@")):
        expected = "" if opens else "".join(f"\n{line[1:]}" for line in hunk if line[0] != "+")
        if expected and text.find(f"{expected}\n") != text.rfind(f"{expected}\n"):
            return False
    return True
