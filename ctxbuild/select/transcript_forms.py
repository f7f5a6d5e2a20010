"""A turn as text: verbatim, shortened by what its calls did, or in one line.

What is shortened says so and names the first digits of the SHA-256 of what it
stands for, by which `ctxbuild recall` brings it back. Shortening what is short
changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from typing import Literal, NamedTuple

from ctxbuild.facts.transcript import Record, Turn
from ctxbuild.facts.transcript_calls import Deed, deeds_of

Form = Literal["full", "slice", "line"]

SHORT = 12
"""Hexadecimal digits of a digest that a text names."""

_LONG_TEXT = 1_200
_LONG_THOUGHT = 240
_LONG_RESULT = 600
_LONG_ARGUMENT = 700
_LONG_LINE = 240
_KEPT_LINES = 12
_LONG_WORDS = 100

_FAILING = re.compile(
    r"(?:^|[\s(])(?:\w{0,60}(?:Error|Exception|Warning)\b|FAIL(?:ED|URE)?\b|ERROR\b|E {3}\S|fatal:|"
    r"error:|Traceback \(most|panic:|assert(?:ion)? failed|not found\b|No such file)"
)
_SUMMARY = re.compile(r"\b\d+ (?:passed|failed|errors?|warnings?|skipped|tests?)\b|^Ran \d+|^OK\b")


class Shortened(NamedTuple):
    """A text and the longer texts that its marks stand for."""

    text: str
    originals: tuple[str, ...] = ()


def digest_of(text: str) -> str:
    """The whole name under which a text can be recalled: SHA-256 in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def short_digest(text: str) -> str:
    """The first digits of that name."""
    return digest_of(text)[:SHORT]


def mark(what: str, text: str) -> str:
    """What stands in the place of a text."""
    return f"[{what}; recall {short_digest(text)}]"


def render(turn: Turn, form: Form, gone: Collection[str] = ()) -> str:
    """A turn as Markdown, ending in a line feed.

    Args:
        turn: a turn.
        form: "full" for verbatim, "slice" for shortened, "line" for one line.
        gone: calls whose results later ones supersede; they are left out.
    """
    if form == "line":
        whole = _whole(turn)
        more = "" if _is_a_line(turn) else f" [recall {short_digest(whole)}]"
        return f"- {turn.number} {_who(turn)}: {line_of(turn)}{more}\n"
    return shortened(turn, gone).text if form == "slice" else _whole(turn)


def shortened(turn: Turn, gone: Collection[str] = ()) -> Shortened:
    """A turn whose results, thoughts and long arguments are cut down, with what was cut."""
    calls = {record.call: record for record in turn.records if record.kind == "call"}
    pieces: list[str] = []
    originals: list[str] = []
    for record in turn.records:
        text, longer = _piece(record, calls.get(record.call), gone)
        pieces.append(text)
        originals += longer
    return Shortened(_head(turn) + "".join(piece for piece in pieces if piece), tuple(originals))


def _piece(record: Record, call: Record | None, gone: Collection[str]) -> Shortened:
    if record.kind == "result":
        return _block(_result_head(record), short_result(record, call, gone))
    if record.kind == "call":
        return short_call(record)
    if record.kind == "thinking":
        return _quoted(short_text(record.text, _LONG_THOUGHT))
    if record.kind == "note":
        return Shortened(record.text.rstrip("\n") + "\n")
    short = short_text(record.text, _LONG_TEXT)
    return Shortened(short.text.rstrip("\n") + "\n", short.originals)


def _block(head: str, short: Shortened) -> Shortened:
    return Shortened(head + _fenced(short.text) if short.text else "", short.originals)


def _quoted(short: Shortened) -> Shortened:
    return Shortened(_thought(short.text), short.originals)


def _thought(text: str) -> str:
    rows = text.strip("\n").split("\n")
    return "".join(f"> {row}\n" if row else ">\n" for row in rows) + "\n"


def short_text(text: str, longest: int) -> Shortened:
    """A text cut at a line or word, with what is left out."""
    if len(text) <= longest + _LONG_WORDS:
        return Shortened(text)
    cut = max(text.rfind("\n", 0, longest), text.rfind(". ", 0, longest) + 1, longest // 2)
    what = f"{len(text) - cut:,} more characters"
    return Shortened(f"{text[:cut].rstrip()}\n{mark(what, text)}", (text,))


def short_result(record: Record, call: Record | None, gone: Collection[str]) -> Shortened:
    """What came back, cut down by what the call did.

    A dump of a file becomes its path, size and digest; what a later read supersedes
    goes; a command keeps its status, its failing lines and its end; a list keeps its
    beginning.
    """
    text = record.text
    deed = _main(deeds_of(call)) if call else Deed("other")
    if record.call and record.call in gone and not _is_marked(text):
        return Shortened(mark(f"{deed.path or 'read'}: read again later", text), (text,))
    if deed.kind in {"edit", "write", "todo"} and not record.failed:
        return Shortened("")  # the call says what was done
    if len(text) <= _LONG_RESULT or _is_marked(text):
        return Shortened(text)
    rows = text.split("\n")
    if deed.kind == "read" and not record.failed:
        return Shortened(mark(f"{deed.path}: {len(rows)} lines", text), (text,))
    if deed.kind == "search" and not record.failed:
        if len(rows) <= _KEPT_LINES + 3:
            return Shortened("\n".join(_cut(row) for row in rows))
        kept = [_cut(row) for row in rows[:_KEPT_LINES]]
        kept.append(mark(f"{len(rows) - len(kept)} more lines of {len(rows)}", text))
        return Shortened("\n".join(kept), (text,))
    return Shortened("\n".join(telling(rows, text)), (text,))


def telling(rows: Sequence[str], text: str, most: int = _KEPT_LINES) -> list[str]:
    """The lines of an output that tell how it went: its first, failing and last ones."""
    last = len(rows) - 1
    wanted = {0, last, last - 1, last - 2} & set(range(len(rows)))
    failing = [at for at, row in enumerate(rows) if _FAILING.search(row[:_LONG_LINE])]
    summing = [at for at, row in enumerate(rows) if _SUMMARY.search(row[:_LONG_LINE])]
    wanted.update(summing[-2:])
    wanted.update(failing[: most // 2])
    wanted.update(failing[-(most // 2) :])
    kept: list[str] = []
    above = -1
    for at in sorted(wanted):
        if at > above + 1:
            kept.append("…")
        kept.append(_cut(rows[at]))
        above = at
    return [*kept, mark(f"{len(rows)} lines, {len(text):,} characters", text)]


def short_call(call: Record) -> Shortened:
    """A call with its long arguments cut down: an edit keeps its hunk, a write its path."""
    originals: list[str] = []
    deeds = [deed for deed in deeds_of(call) if deed.kind in {"edit", "write"}]
    if deeds and all(deed.path for deed in deeds):
        pieces = []
        for deed in deeds:
            if len(deed.hunk) <= _LONG_RESULT:
                pieces.append(f"`{deed.path}`\n" + _fenced(deed.hunk))
            else:
                rows = deed.hunk.count("\n") + 1
                pieces.append(mark(f"`{deed.path}`: {deed.kind} of {rows} lines", deed.hunk) + "\n")
                originals.append(deed.hunk)
        return Shortened(f"**{call.tool}** " + "".join(pieces), tuple(originals))
    if _main(deeds_of(call)).kind == "todo":
        return Shortened(f"**{call.tool}** {todo_line(_main(deeds_of(call)))}\n")
    pairs = []
    for name, value in call.arguments:
        if name == "description":
            continue
        short = short_text(value, _LONG_ARGUMENT)
        pairs.append((name, short.text))
        originals += short.originals
    return Shortened(_call_text(call.tool, pairs), tuple(originals))


def todo_line(deed: Deed) -> str:
    """A plan in one line."""
    done = sum(todo.status == "completed" for todo in deed.todos)
    now = next((todo.text for todo in deed.todos if todo.status == "in_progress"), "")
    return f"{done} of {len(deed.todos)} done" + (f"; now: {now}" if now else "")


def _main(deeds: Sequence[Deed]) -> Deed:
    return deeds[0]


def _is_marked(text: str) -> bool:
    return bool(_MARK.search(text[-80:]))


_MARK = re.compile(r"; recall [0-9a-f]{12}\]\s*$")


def _cut(row: str) -> str:
    return row if len(row) <= _LONG_LINE else row[:_LONG_LINE] + "…"


# --- verbatim ---------------------------------------------------------------------------


def _whole(turn: Turn) -> str:
    pieces = [_head(turn)]
    for record in turn.records:
        if record.kind == "call":
            pieces.append(_call_text(record.tool, record.arguments))
        elif record.kind == "result":
            pieces.append(_result_head(record) + _fenced(record.text))
        elif record.kind == "thinking":
            pieces.append(_thought(record.text))
        else:
            pieces.append(record.text.rstrip("\n") + "\n")
    return "".join(pieces)


def _head(turn: Turn) -> str:
    return f"\n### {turn.number} {_who(turn)}\n\n"


def _who(turn: Turn) -> str:
    said = turn.speaker or turn.role
    return f"{said}, {turn.time}" if turn.time and turn.speaker else said


def _result_head(record: Record) -> str:
    late = f" of {record.tool}" if record.tool and not record.call else ""
    return f"Result{late}{', failed' if record.failed else ''}:\n"


def _call_text(tool: str, arguments: Iterable[tuple[str, str]]) -> str:
    pairs = list(arguments)
    inline = [f"{name}={value}" for name, value in pairs if _is_inline(value)]
    blocks = [f"{name}:\n{_fenced(value)}" for name, value in pairs if not _is_inline(value)]
    return f"**{tool}** {' '.join(inline)}".rstrip() + "\n" + "".join(blocks)


def _is_inline(value: str) -> bool:
    return "\n" not in value and len(value) <= _LONG_LINE


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip(chr(10))}\n{fence}\n"


# --- one line ---------------------------------------------------------------------------


def _is_a_line(turn: Turn) -> bool:
    """Whether one line says all of a turn."""
    texts = [record.text.strip() for record in turn.records]
    return len(texts) == 1 and turn.records[0].kind == "text" and texts[0] == first_line(texts[0])


def line_of(turn: Turn) -> str:
    """A turn in one line: what was said first, what was called and how it went."""
    said = next((r.text for r in turn.records if r.kind in {"text", "note", "image"}), "")
    parts = [first_line(said)] if said else []
    failed = {record.call for record in turn.records if record.kind == "result" and record.failed}
    calls = (record for record in turn.records if record.kind == "call")
    parts += [_deed_line(call, failed=call.call in failed) for call in calls]
    return " | ".join(parts) or "(nothing)"


def _deed_line(call: Record, *, failed: bool) -> str:
    deed = _main(deeds_of(call))
    what = todo_line(deed) if deed.kind == "todo" else deed.path or deed.command
    said = f"{call.tool} {first_line(what, 80)}".rstrip()
    return f"{said} (failed)" if failed else said


def first_line(text: str, longest: int = 120) -> str:
    """The first line that says something, cut at a length."""
    row = next((row.strip() for row in text.split("\n") if row.strip()), "")
    return row if len(row) <= longest else row[:longest].rstrip() + "…"


def superseded(turns: Iterable[Turn]) -> frozenset[str]:
    """The calls whose results are the text of a file that was read again later."""
    last: dict[tuple[str, str], str] = {}
    gone: set[str] = set()
    for turn in turns:
        failed = {r.call for r in turn.records if r.kind == "result" and r.failed}
        for call in turn.records:
            if call.kind != "call" or call.call in failed:
                continue
            deed = _main(deeds_of(call))
            if deed.kind != "read" or not deed.path:
                continue
            key = (deed.path, deed.part)
            if key in last:
                gone.add(last[key])
            last[key] = call.call
    return frozenset(gone)


def lines_of(turn: Turn) -> tuple[int, int]:
    """First and last line of a turn in its file, where it has lines."""
    return (min(turn.sources), max(turn.sources)) if turn.sources else (0, 0)
