"""One message, item or line of a session, in whichever format, as entries.

Read are messages of the Anthropic API, of OpenAI's chat completions, items of
OpenAI's responses, lines of Claude Code and of Codex, and plain lines of a role or
speaker with a text. What is no part of the talk (snapshots, token counts) gives
nothing; images and documents in base64 become a line with digest and size.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from ctxbuild.facts.transcript import NOTE_MARK, Entry, Record, Role
from ctxbuild.model import Problem

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_BASE64 = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")
_EXIT = re.compile(
    r"^[\[<(]?(?:Process exited with code|Exit code:?) (-?\d+)", re.IGNORECASE | re.MULTILINE
)

Found = list[Entry]


def entries_of(data: Any, source: int, problems: list[Problem]) -> tuple[str, Found]:
    """The format of one message, item or line, and what it says.

    Args:
        data: as JSON gives it.
        source: index or line number, for the entries and for problems.
        problems: takes what is wrong with it.
    """
    if not isinstance(data, Mapping):
        problems.append(_damaged(source, f"is {type(data).__name__}, not an object"))
        return "", []
    kind = data.get("type")
    if isinstance(data.get("message"), Mapping) and kind in {"user", "assistant"}:
        return "claude-code", _claude_code(data, source, problems)
    if isinstance(kind, str) and "role" not in data and _is_aside(kind, data):
        return "claude-code", _queued(data, source)
    if isinstance(data.get("payload"), Mapping) and isinstance(kind, str):
        return "codex", _codex(data, source, problems)
    if isinstance(kind, str) and kind in _ITEMS:
        return "responses", _item(data, source, problems)
    if "record_type" in data or kind in _CODEX_ASIDE or _is_codex_head(data):
        return "codex", []
    return _message(data, source, problems)


_CLAUDE_CODE_ASIDE = frozenset(
    {"summary", "file-history-snapshot", "queue-operation", "system", "progress"}
)


def _is_aside(kind: str, data: Mapping[str, Any]) -> bool:
    """Whether a line of Claude Code is none of a message; it gains kinds of them."""
    return kind in _CLAUDE_CODE_ASIDE or isinstance(data.get("sessionId"), str)


def _queued(data: Mapping[str, Any], source: int) -> Found:
    """What the user said while the agent was at work."""
    held = data.get("attachment")
    if not isinstance(held, Mapping) or held.get("type") != "queued_command":
        return []
    records = _blocks(held.get("prompt"), source, [])
    return [Entry("user", records, "", "", _text(data.get("timestamp")), source)] if records else []


_CODEX_ASIDE = frozenset({"session_meta", "turn_context", "event_msg"})


def _is_codex_head(data: Mapping[str, Any]) -> bool:
    return "id" in data and "timestamp" in data and "role" not in data and "type" not in data


def _damaged(source: int, what: str) -> Problem:
    return Problem("damaged-line", f"record {source}: {what}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def json_text(value: Any) -> str:
    """A value as text: itself, or compact JSON."""
    if isinstance(value, str):
        return value
    import orjson

    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except (orjson.JSONEncodeError, UnicodeError):
        import json

        return json.dumps(value, default=str)


def spoken(text: str) -> Record:
    """A text that somebody said; a compaction note knows itself."""
    return Record("note" if text.startswith(NOTE_MARK) else "text", text)


# --- Claude Code ------------------------------------------------------------------------


def _claude_code(data: Mapping[str, Any], source: int, problems: list[Problem]) -> Found:
    """A line of Claude Code; what a subagent says to itself is no part of the session."""
    message = data["message"]
    if data.get("isSidechain") is True or data.get("isMeta") is True:
        return []
    role = _ROLES.get(_text(message.get("role")) or data["type"], "user")
    records = _blocks(message.get("content"), source, problems)
    if not records:
        return []
    group = _text(message.get("id")) if role == "assistant" else ""
    return [Entry(role, records, group, "", _text(data.get("timestamp")), source)]


# --- messages ---------------------------------------------------------------------------


def _message(data: Mapping[str, Any], source: int, problems: list[Problem]) -> tuple[str, Found]:
    """A message of a chat API, or a plain line of a role or a speaker with a text."""
    named = next((data[k] for k in ("role", "speaker", "author", "from") if k in data), None)
    content = next(
        (data[k] for k in ("content", "text", "parts", "message", "value") if k in data), None
    )
    if not isinstance(named, str) or (content is None and not _has_calls(data)):
        problems.append(_damaged(source, "has no role, or says nothing"))
        return "", []
    role = _ROLES.get(named.lower())
    speaker = _text(data.get("name"))
    if role is None:
        if "role" in data:
            problems.append(Problem("unknown-role", f"record {source}: role {named!r}"))
        role, speaker = "user", named
    time = next((_text(data[k]) for k in ("timestamp", "time", "date") if k in data), "")
    if role == "tool":
        return "openai", [Entry(role, (_tool_message(data, content),), "", "", time, source)]
    records = (*_reasoning(data), *_blocks(content, source, problems), *_chat_calls(data))
    form = _dialect(data, content)
    if not records:
        return form, []
    return form, [Entry(role, records, "", speaker, time, source)]


def _dialect(data: Mapping[str, Any], content: Any) -> str:
    if _has_calls(data):
        return "openai"
    kinds = (
        {_text(b.get("type")) for b in content if isinstance(b, Mapping)}
        if isinstance(content, list)
        else set()
    )
    if kinds & {"tool_use", "tool_result", "thinking", "redacted_thinking", "image"}:
        return "anthropic"
    return "openai" if kinds & {"image_url", "input_audio"} else "plain"


def _has_calls(data: Mapping[str, Any]) -> bool:
    return bool(data.get("tool_calls") or data.get("function_call"))


def _reasoning(data: Mapping[str, Any]) -> tuple[Record, ...]:
    said = _text(data.get("reasoning_content")) or _text(data.get("reasoning"))
    return (Record("thinking", said),) if said else ()


def _chat_calls(data: Mapping[str, Any]) -> tuple[Record, ...]:
    calls = data.get("tool_calls")
    found = []
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, Mapping):
            continue
        function = call.get("function") or call.get("custom")
        function = function if isinstance(function, Mapping) else {}
        arguments = function.get("arguments", function.get("input"))
        found.append(_call(function.get("name"), call.get("id"), arguments))
    legacy = data.get("function_call")
    if isinstance(legacy, Mapping):
        found.append(_call(legacy.get("name"), legacy.get("name"), legacy.get("arguments")))
    return tuple(found)


def _tool_message(data: Mapping[str, Any], content: Any) -> Record:
    text = "\n".join(record.text for record in _blocks(content, 0, []))
    call = _text(data.get("tool_call_id")) or _text(data.get("name"))
    return Record("result", text, "", call, failed=failing(text))


def _call(name: Any, identity: Any, arguments: Any) -> Record:
    """A call; arguments that come as the text of a JSON object are taken apart."""
    if isinstance(arguments, str):
        import orjson

        try:
            parsed = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            parsed = {"input": arguments}
        arguments = parsed if isinstance(parsed, dict) else {"input": arguments}
    if not isinstance(arguments, Mapping):
        arguments = {} if arguments is None else {"input": arguments}
    pairs = tuple((str(key), json_text(value)) for key, value in arguments.items())
    return Record("call", "", _text(name) or "tool", _text(identity), pairs)


def _blocks(content: Any, source: int, problems: list[Problem]) -> tuple[Record, ...]:
    """The blocks of a message's content, a text being one."""
    if isinstance(content, str):
        return (spoken(without_base64(content)),) if content else ()
    if not isinstance(content, list):
        return () if content is None else (spoken(json_text(content)),)
    found: list[Record] = []
    for block in content:
        if isinstance(block, str):
            found.append(spoken(without_base64(block)))
        elif isinstance(block, Mapping):
            record = _block(block)
            if record is not None:
                found.append(record)
        else:
            problems.append(_damaged(source, "holds a block that is no object"))
    return tuple(found)


def _block(block: Mapping[str, Any]) -> Record | None:
    kind = _text(block.get("type"))
    if kind in {"text", "input_text", "output_text", "refusal", "summary_text"} or not kind:
        said = _text(block.get("text")) or _text(block.get("refusal"))
        return spoken(without_base64(said)) if said else None
    if kind == "thinking":
        said = _text(block.get("thinking"))
        return Record("thinking", said) if said else None
    if kind in {"tool_use", "server_tool_use"}:
        return _call(block.get("name"), block.get("id"), block.get("input"))
    if kind.endswith("tool_result"):
        text = "\n".join(r.text for r in _blocks(block.get("content"), 0, []))
        told = block.get("is_error")
        failed = _failed(text) or (told if isinstance(told, bool) else failing(text))
        return Record("result", text, "", _text(block.get("tool_use_id")), failed=failed)
    if kind == "redacted_thinking":
        return None
    return Record("image", _picture(kind, block))


def _picture(kind: str, block: Mapping[str, Any]) -> str:
    """The placeholder of an image or document: what it is, its size and its digest."""
    inside = block.get("source") or block.get("image_url") or block.get("input_audio") or block
    if isinstance(inside, str):
        inside = {"url": inside}
    if not isinstance(inside, Mapping):
        inside = {}
    url = _text(inside.get("url")) or _text(inside.get("file_data"))
    data = _text(inside.get("data"))
    match = _BASE64.match(url)
    if match:
        return placeholder(kind, match[1], url[match.end() :])
    if data:
        return placeholder(kind, _text(inside.get("media_type")) or kind, data)
    return f"[{kind}: {url or _text(inside.get('file_id')) or 'elsewhere'}]"


def placeholder(kind: str, media: str, encoded: str) -> str:
    """What stands for data in base64."""
    try:
        data = b64decode(encoded, validate=False)
    except (BadBase64, ValueError):
        data = encoded.encode("utf-8", "replace")
    return f"[{kind}: {media}, {len(data):,} bytes, sha256 {sha256(data).hexdigest()[:12]}]"


def without_base64(text: str) -> str:
    """The text with data URIs in it replaced by placeholders."""
    if ";base64," not in text:
        return text
    parts: list[str] = []
    at = 0
    for match in _BASE64.finditer(text):
        if match.start() < at:
            continue
        end = match.end()
        rest = _ENCODED.match(text, end)
        stop = rest.end() if rest else end
        if stop - end < _SHORT_DATA:
            continue
        parts += [text[at : match.start()], placeholder("data", match[1], text[end:stop])]
        at = stop
    return "".join([*parts, text[at:]])


_ENCODED = re.compile(r"[A-Za-z0-9+/_=-]+")
_SHORT_DATA = 200
"""Characters of base64 up to which data may stay as it is."""


def _failed(text: str) -> bool:
    """Whether a result's first lines say that a process ended with another code than 0."""
    match = _EXIT.search(text[:300])
    if match:
        return int(match[1]) != 0
    return text.startswith(("Error:", "ERROR:", "<tool_use_error>"))


_CODE = (
    r"(?:exit(?:ed)?(?: with)?(?: (?:exit|return|error))?[ _]?(?:code|status)|return_?code)"
    r"[\"'>:= ]{0,4}(-?\d{1,10})(?= ?[\])}\"'<:,.;\n]| ?\Z)"
)
_CODES = re.compile(r"^[\[<({\"' ]{0,4}(?:\w{1,20} ){0,3}" + _CODE, re.IGNORECASE | re.MULTILINE)
_JSON_CODES = re.compile('"' + _CODE, re.IGNORECASE)
_TOLD = re.compile(
    r"=*\s?(?:\d+ \w+, )*\d+ (?:failed|errors?)\b[^\n]{0,200} in \d|FAILED \(|"
    r"(?:/bin/)?(?:ba|z|da)?sh: [^\n]{0,300}(?:not found|No such file|denied)"
)
_RAISED = re.compile(r"[\w.]{0,100}(?:Error|Exception|Interrupt|Exit)\b")
_EDGE = 300


def failing(text: str) -> bool:
    """Whether a result that nothing marks says that its command failed.

    Told are the code that a process ended with, in JSON or at either end of the text,
    the last line of a test run, and a traceback at the end.
    """
    if _failed(text):
        return True
    ends = text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    codes = (_JSON_CODES if text.startswith("{") else _CODES).findall(ends)
    if codes:
        return any(int(code) for code in codes)
    last = text[-_EDGE:].rstrip().rpartition("\n")[2].strip()
    if _TOLD.match(last):
        return True
    return "Traceback (most recent call last):" in text and bool(_RAISED.match(last))


# --- Codex and responses ----------------------------------------------------------------


def _codex(data: Mapping[str, Any], source: int, problems: list[Problem]) -> Found:
    """A line of Codex; its events repeat what its items say."""
    payload = data["payload"]
    time = _text(data.get("timestamp"))
    if data["type"] == "response_item":
        found = _item(payload, source, problems)
    elif data["type"] == "compacted" and _text(payload.get("message")):
        found = [Entry("user", (spoken(payload["message"]),), "", "", "", source)]
    else:
        return []
    return [Entry(e.role, e.records, e.group, e.speaker, time, e.source) for e in found]


def _item(data: Mapping[str, Any], source: int, problems: list[Problem]) -> Found:
    """An item of OpenAI's responses."""
    kind = _text(data.get("type"))
    if kind == "message":
        role = _ROLES.get(_text(data.get("role")), "user")
        records = _blocks(data.get("content"), source, problems)
        group = "+" if role == "assistant" else ""
        return [Entry(role, records, group, "", "", source)] if records else []
    made = _ITEMS[kind](data) if kind in _ITEMS else None
    if made is None:
        return []
    role = "tool" if made.kind == "result" else "assistant"
    return [Entry(role, (made,), "" if role == "tool" else "+", "", "", source)]


def _item_reasoning(data: Mapping[str, Any]) -> Record | None:
    pieces = [*(data.get("summary") or ()), *(data.get("content") or ())]
    said = "\n".join(_text(p.get("text")) for p in pieces if isinstance(p, Mapping))
    return Record("thinking", said) if said else None


def _item_call(data: Mapping[str, Any]) -> Record:
    identity = data.get("call_id") or data.get("id")
    return _call(data.get("name"), identity, data.get("arguments", data.get("input")))


def _item_shell(data: Mapping[str, Any]) -> Record:
    action = data.get("action")
    command = action.get("command") if isinstance(action, Mapping) else action
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    identity = data.get("call_id") or data.get("id")
    return _call("shell", identity, {"command": command})


def _item_other(data: Mapping[str, Any]) -> Record:
    action = data.get("action")
    return _call(data.get("type"), data.get("call_id") or data.get("id"), action)


def _item_output(data: Mapping[str, Any]) -> Record:
    output = data.get("output")
    failed = False
    if isinstance(output, str) and output.startswith("{"):
        import orjson

        try:
            parsed = orjson.loads(output)
        except orjson.JSONDecodeError:
            parsed = None
        if isinstance(parsed, dict) and isinstance(parsed.get("output"), str):
            failed = failing(output)
            about = parsed.get("metadata")
            code = about.get("exit_code") if isinstance(about, dict) else None
            failed = failed or (isinstance(code, int) and code != 0)
            output = (f"Exit code {code}\n" if code else "") + parsed["output"]
    text = "\n".join(r.text for r in _blocks(output, 0, []))
    return Record("result", text, "", _text(data.get("call_id")), failed=failed or failing(text))


_ITEMS: dict[str, Callable[[Mapping[str, Any]], Record | None]] = {
    "message": lambda _: None,
    "reasoning": _item_reasoning,
    "function_call": _item_call,
    "custom_tool_call": _item_call,
    "mcp_call": _item_call,
    "local_shell_call": _item_shell,
    "web_search_call": _item_other,
    "file_search_call": _item_other,
    "function_call_output": _item_output,
    "custom_tool_call_output": _item_output,
    "local_shell_call_output": _item_output,
}
