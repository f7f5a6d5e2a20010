"""Compaction of a list of messages of an API: the same dialect out as in.

What stays is the very message that came in. The note is one user message behind
system text and task, or, where roles take turns, a block of the task's message. A
result that is too large is cut down inside its message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ctxbuild.errors import UsageError
from ctxbuild.facts.transcript import NOTE_MARK, Turn, from_messages
from ctxbuild.facts.transcript_formats import json_text
from ctxbuild.pack.compaction import Compacted, Policy, Shown, compact
from ctxbuild.pack.compaction_facts import RULES, Extractor
from ctxbuild.pack.compaction_room import Count
from ctxbuild.select.transcript_forms import mark, short_result, short_text

Message = Mapping[str, Any]

_ROUNDS = 6
_LONG_WORDS = 4_000
_LONG_ARGUMENT = 700
_LONG_OUTCOME = 240


def compact_messages(
    messages: Sequence[Message],
    policy: Policy,
    count: Count,
    extractor: Extractor = RULES,
    system: str = "",
) -> tuple[list[dict[str, Any]], Compacted]:
    """Compacts messages, if they have passed the threshold.

    Args:
        messages: of the Anthropic API, of OpenAI's chat completions, or items of its responses.
        policy: when and how.
        count: texts to tokens.
        extractor: finds what is worth keeping.
        system: the system text where the API takes it apart: it counts, and stays.

    Returns:
        The messages to send, equal to those given as long as nothing had to go, and what
        was done. Compacting them again gives the same messages.

    Raises:
        UsageError: one of them is no object.
    """
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise UsageError(f"message {at}: is {type(message).__name__}, no message of an API")
    given = [each for message in messages for each in parted(message, _is_note)]
    made: list[dict[str, Any]] = given
    first: Compacted | None = None
    for _ in range(_ROUNDS):
        done = compact(from_messages(made, system).turns, policy, count, extractor)
        again = rewritten(made, done)
        first = done if first is None else _joined(first, done)
        if again == made:
            break
        made = again
    assert first is not None
    if made == given:
        return [dict(message) for message in messages], first
    return alternating(made) if _takes_turns(messages) else made, first


def _joined(first: Compacted, more: Compacted) -> Compacted:
    """What two rounds did: the second only cut down what the first left."""
    originals = dict(first.originals) | dict(more.originals)
    return replace(
        more,
        before=first.before,
        dropped=(*first.dropped, *more.dropped),
        originals=tuple(originals.items()),
        warnings=tuple(dict.fromkeys((*first.warnings, *more.warnings))),
    )


# --- roles that take turns --------------------------------------------------------------


def parted(message: Message, ours: Callable[[str], bool]) -> list[dict[str, Any]]:
    """A message, apart from the notes that stand beside something else in it.

    Args:
        ours: whether a text was put in here; one that is no note is left out.
    """
    content = message.get("content")
    if not isinstance(content, list) or not any(ours(_said(block)) for block in content):
        return [dict(message)]
    made: list[dict[str, Any]] = []
    rest: list[Any] = []
    for block in content:
        if not ours(_said(block)):
            rest.append(block)
        elif _is_note(_said(block)):
            made += [*_rest(message, rest), {**message, "content": _said(block)}]
            rest = []
    return [*made, *_rest(message, rest)]


def _rest(message: Message, blocks: list[Any]) -> list[dict[str, Any]]:
    """What stands beside a note: one text as it was before, blocks as they are."""
    if len(blocks) == 1 and isinstance(blocks[0], Mapping) and blocks[0].keys() == {"type", "text"}:
        return [{**message, "content": blocks[0]["text"]}]
    return [{**message, "content": blocks}] if blocks else []


def _is_note(text: str) -> bool:
    return text.startswith(NOTE_MARK)


def _said(block: Any) -> str:
    text = block.get("text") if isinstance(block, Mapping) else None
    return text if isinstance(text, str) else ""


def _takes_turns(messages: Sequence[Message]) -> bool:
    """Whether users and assistants take turns, as an API may want it."""
    roles = [message.get("role") for message in messages]
    apart = any("tool_calls" in each or "type" in each for each in messages)
    return (
        not apart
        and set(roles) <= {"user", "assistant"}
        and all(a != b for a, b in pairwise(roles))
    )


def alternating(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Neighbours of one role as one message; every text as it was."""
    made: list[dict[str, Any]] = []
    for message in messages:
        if made and made[-1].get("role") == message.get("role"):
            made[-1] = {**made[-1], "content": [*_blocks_of(made[-1]), *_blocks_of(message)]}
        else:
            made.append(dict(message))
    return made


def _blocks_of(message: Message) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [*content] if isinstance(content, list) else [content] if content else []


# --- what stays -------------------------------------------------------------------------


def rewritten(messages: Sequence[Message], compacted: Compacted) -> list[dict[str, Any]]:
    """The messages that say what a compaction left standing."""
    if not compacted.dropped and all(each.form == "full" for each in compacted.recent):
        return [dict(message) for message in messages]
    made: list[dict[str, Any]] = []
    for each in compacted.pinned:
        made += _kept(messages, [each])
    if compacted.note:
        made.append({"role": "user", "content": compacted.note.text})
    return made + _kept(messages, compacted.recent)


def _kept(messages: Sequence[Message], turns: Sequence[Shown]) -> list[dict[str, Any]]:
    """The messages of some turns, in order, without what belongs to other turns."""
    # By message, since not every server gives each call an id of its own.
    calls: dict[int, set[str]] = {}
    short: dict[int, dict[str, str]] = {}
    for each in turns:
        ids = {r.call for r in each.turn.records if r.kind in {"call", "result"}}
        shorter = {} if each.form == "full" else _shorter(each)
        for at in each.turn.sources:
            calls.setdefault(at, set()).update(ids)
            short.setdefault(at, {}).update(shorter)
    speaking = {at for each in turns for at in _spoken_in(each.turn, messages)}
    sources = sorted({at for each in turns for at in each.turn.sources if at >= 0})
    made = []
    for at in sources:
        message = _cut(messages[at], calls[at], short[at], speaks=at in speaking)
        if message is not None:
            made.append(message)
    return made


def _spoken_in(turn: Turn, messages: Sequence[Message]) -> list[int]:
    """The messages of a turn that it speaks in, not only gets results from."""
    if turn.role == "assistant":
        return [at for at in turn.sources if at >= 0 and messages[at].get("role") != "user"]
    return [at for at in turn.sources if at >= 0]


def _shorter(each: Shown) -> dict[str, str]:
    """Text or `call:ID` to what takes its place, for a turn that is cut down."""
    turn, found = each.turn, {}
    calls = {record.call: record for record in turn.records if record.kind == "call"}
    for record in turn.records:
        if record.kind == "result" and record.call:
            text = short_result(record, calls.get(record.call), each.gone).text
            if each.form == "line" and len(text) > _LONG_ARGUMENT:
                text = mark(f"{len(record.text):,} characters", record.text)
            found[f"call:{record.call}"] = text or record.text[:_LONG_OUTCOME]
        elif record.kind == "call":
            for _, value in record.arguments:
                if len(value) > _LONG_ARGUMENT:
                    found[value] = short_text(value, _LONG_ARGUMENT).text
        elif record.kind == "text" and len(record.text) > _LONG_WORDS:
            found[record.text] = short_text(record.text, _LONG_WORDS).text
    return found


def _cut(
    message: Message, calls: set[str], short: Mapping[str, str], *, speaks: bool
) -> dict[str, Any] | None:
    """A message with what belongs to the turns, cut down where it must be; None if nothing."""
    made = dict(message)
    identity = made.get("tool_call_id") or made.get("call_id")
    if isinstance(identity, str) and ("tool_call_id" in made or "output" in made):
        text = short.get(f"call:{identity}")
        key = "output" if "output" in made else "content"
        return made if text is None or made[key] == text else {**made, key: text}
    if isinstance(made.get("arguments"), str) and short:
        made["arguments"] = _short_json(made["arguments"], short)
    if isinstance(made.get("tool_calls"), list) and short:
        made["tool_calls"] = [_short_call(call, short) for call in made["tool_calls"]]
    content = made.get("content")
    if isinstance(content, str):
        return {**made, "content": short.get(content, content)}
    if not isinstance(content, list):
        return made
    blocks = []
    for block in content:
        if isinstance(block, Mapping) and "tool_use_id" in block:
            if block["tool_use_id"] in calls:
                blocks.append(_short_block(block, short))
        elif speaks:
            blocks.append(_short_block(block, short))
    return {**made, "content": blocks} if blocks else None


def _short_block(block: Any, short: Mapping[str, str]) -> Any:
    if not isinstance(block, Mapping) or not short:
        return block
    text = short.get(f"call:{block.get('tool_use_id')}")
    if text is not None:
        content = block.get("content")
        same = content in (text, [{"type": "text", "text": text}])
        return block if same else {**block, "content": text}
    said = block.get("text")
    if isinstance(said, str) and said in short:
        return {**block, "text": short[said]}
    given = block.get("input")
    if isinstance(given, Mapping):
        return {**block, "input": _short_values(given, short)}
    return block


def _short_values(given: Mapping[str, Any], short: Mapping[str, str]) -> dict[str, Any]:
    return {key: short.get(json_text(value), value) for key, value in given.items()}


def _short_call(call: Any, short: Mapping[str, str]) -> Any:
    if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
        return call
    arguments = call["function"].get("arguments")
    if not isinstance(arguments, str):
        return call
    return {**call, "function": {**call["function"], "arguments": _short_json(arguments, short)}}


def _short_json(arguments: str, short: Mapping[str, str]) -> str:
    """A JSON object as text whose long values are cut down; itself where none is."""
    import json

    try:
        given = json.loads(arguments)
    except ValueError:
        return short.get(arguments, arguments)
    if not isinstance(given, dict):
        return short.get(arguments, arguments)
    made = _short_values(given, short)
    return arguments if made == given else json.dumps(made, ensure_ascii=False)
