"""Differences between packs as text for people and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.compare.artifact import Cause, Shown
    from ctxbuild.compare.diff import Change, Difference

Paint = Callable[[str, str], str]
"""A text in a colour of `Console.paint`."""

_MARKS = {"added": "+", "removed": "-", "form": "~", "text": "~", "moved": ">", "reasons": "?"}
_COLORS = {"added": "green", "removed": "red", "form": "yellow", "text": "yellow"}
_MOST_LINES = 400


def as_text(difference: Difference, paint: Paint) -> str:
    """All changes, with the texts that changed as unified diffs."""
    return "".join(f"{line}\n" for line in _lines(difference, paint))


def _lines(difference: Difference, paint: Paint) -> Iterator[str]:
    yield _summary(difference)
    for change in difference.changes:
        color = _COLORS.get(change.kind, "cyan")
        yield paint(f"{_MARKS[change.kind]} {shown(change.unit)}: {_what(change)}", color)
        for line in _text_diff(change):
            yield "    " + paint(line, {"+": "green", "-": "red"}.get(line[:1], "dim"))
        yield from (f"    reason gained: {_reason(cause)}" for cause in change.gained)
        yield from (f"    reason lost: {_reason(cause)}" for cause in change.lost)


def _summary(difference: Difference) -> str:
    before, after = difference.before, difference.after
    names = dict.fromkeys((before.target, after.target))
    tokens = f"{before.tokens:,} -> {after.tokens:,} tokens ({after.tokens - before.tokens:+,})"
    if not difference.changes:
        return f"{' -> '.join(names)}: {tokens}, no block differs"
    count = len(difference.changes)
    kinds = {kind: sum(c.kind == kind for c in difference.changes) for kind in _MARKS}
    told = ", ".join(f"{number} {_WORDS[kind]}" for kind, number in kinds.items() if number)
    blocks = "1 block differs" if count == 1 else f"{count} blocks differ"
    return f"{' -> '.join(names)}: {tokens}, {blocks} ({told}), {difference.same} alike"


_WORDS = {
    "added": "added",
    "removed": "removed",
    "form": "in another form",
    "text": "with another text",
    "moved": "moved",
    "reasons": "for other reasons",
}


def _what(change: Change) -> str:
    tokens = f"{change.tokens:+,} tokens"
    before, after = change.before, change.after
    if before is None or after is None:
        block = before or after
        assert block is not None
        return f"{change.kind} as {block.form}, {tokens}"
    moved = f", moved{_place(before, after)}" if change.moved else ""
    if change.kind == "form":
        return f"{before.form} -> {after.form}, {tokens}{moved}"
    if change.kind == "text":
        return f"{after.form} changed, {tokens}{moved}"
    return f"moved{_place(before, after)}" if change.kind == "moved" else "other reasons"


def _place(before: Shown, after: Shown) -> str:
    was, is_ = (_place_of(block) for block in (before, after))
    return f" from {was} to {is_}" if was != is_ else ""


def _place_of(block: Shown) -> str:
    return f"{block.layer}/{block.section}" if block.section else block.layer


def _text_diff(change: Change) -> list[str]:
    if change.kind not in ("form", "text") or change.before is None or change.after is None:
        return []
    old, new = change.before.text.split("\n"), change.after.text.split("\n")
    lines = [*unified_diff(old, new, lineterm="")][2:]
    if len(lines) > _MOST_LINES:
        left = len(lines) - _MOST_LINES
        lines = [*lines[:_MOST_LINES], f"… {left:,} more lines"]
    return [_visible(line) for line in lines]


def _visible(line: str) -> str:
    """A line that no control character in a source can turn into something else."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\x{ord(c):02x}" for c in line)


def _reason(cause: Cause) -> str:
    where = f" {shown(cause.unit)}" if cause.unit else ""
    place = f" in {shown(cause.path)}" if cause.path and cause.path != cause.unit else ""
    return f"{cause.kind}{where}{place}" + (f" ({cause.detail})" if cause.detail else "")


# --- Markdown -----------------------------------------------------------------------------


def as_markdown(difference: Difference) -> str:
    """A table of all changes, and the texts that changed folded away."""
    lines = [f"**{_summary(difference)}**", ""]
    if difference.changes:
        lines += ["| | block | change | tokens |", "|---|---|---|---:|"]
    for change in difference.changes:
        what = _what(change).partition(", ")[0] if change.kind != "moved" else _what(change)
        cells = (_MARKS[change.kind], f"`{_cell(change.unit)}`", what, f"{change.tokens:+,}")
        lines.append(f"| {' | '.join(cells)} |")
    patches = [(change.unit, _text_diff(change)) for change in difference.changes]
    patches = [(unit, patch) for unit, patch in patches if patch]
    if patches:
        lines += ["", "<details><summary>Changed texts</summary>"]
        for unit, patch in patches:
            fence = _fence(patch)
            lines += ["", f"`{_cell(unit)}`", "", f"{fence}diff", *patch, fence]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return shown(text).replace("|", "\\|").replace("`", "'")


def _fence(lines: list[str]) -> str:
    from ctxbuild.pack.render import fence_for

    return fence_for("\n".join(lines))


def as_data(difference: Difference) -> dict[str, Any]:
    """As plain data for JSON; texts are given where they differ."""
    return {
        "schema": "ctxbuild.diff/1",
        "before": asdict(difference.before),
        "after": asdict(difference.after),
        "tokens": difference.after.tokens - difference.before.tokens,
        "same": difference.same,
        "changes": [_change(change) for change in difference.changes],
    }


def _change(change: Change) -> dict[str, Any]:
    texts = change.kind in ("added", "removed", "form", "text")
    return {
        "unit": change.unit,
        "kind": change.kind,
        "moved": change.moved,
        "tokens": change.tokens,
        "before": _side(change.before, text=texts),
        "after": _side(change.after, text=texts),
        "gained": [_cause(cause) for cause in change.gained],
        "lost": [_cause(cause) for cause in change.lost],
    }


def _side(block: Shown | None, *, text: bool) -> dict[str, Any] | None:
    if block is None:
        return None
    shows = {"form": block.form, "layer": block.layer, "section": block.section}
    data = {**shows, "tokens": block.tokens, "digest": block.digest}
    return {**data, "text": block.text} if text else data


def _cause(cause: Cause) -> dict[str, Any]:
    return {key: value for key, value in asdict(cause).items() if value not in ("", None)}
