"""Compaction of a list of messages of an API: the same dialect out as in.

What stays is the very message that came in. The note is one user message behind
system text and task. A result that is too large is cut down inside its message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ctxbuild.facts.transcript import Turn, from_messages
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
    """
    made: list[dict[str, Any]] = [dict(message) for message in messages]
    first: Compacted | None = None
    for _ in range(_ROUNDS):
        done = compact(from_messages(made, system).turns, policy, count, extractor)
        again = rewritten(made, done)
        first = done if first is None else _joined(first, done)
        if again == made:
            break
        made = again
    assert first is not None
    return made, first


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
    calls = {r.call for each in turns for r in each.turn.records if r.kind in {"call", "result"}}
    short: dict[str, str] = {}
    for each in turns:
        if each.form != "full":
            short |= _shorter(each)
    speaking = {at for each in turns for at in _spoken_in(each.turn, messages)}
    sources = sorted({at for each in turns for at in each.turn.sources if at >= 0})
    made = []
    for at in sources:
        message = _cut(messages[at], calls, short, speaks=at in speaking)
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
