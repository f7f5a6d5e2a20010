"""Sessions for tests: turns as plain data, and the same session in every format that is read."""

from __future__ import annotations

import json
from typing import Any

LONG_FILE = "".join(f"{n:6}\tline {n} of a file\n" for n in range(1, 200))
FAILURE = "Exit code 1\nTraceback (most recent call last):\nImportError: No module named shop"

# What happens: (text, [(tool, arguments, result, failed)]); a text alone is the user's.
STORY: list[Any] = [
    "Fix the total in shop/app.py.\nIt must not be negative.",
    (
        "I'll look at the file first.",
        [("Read", {"file_path": "shop/app.py"}, LONG_FILE, False)],
    ),
    (
        "The issue is that total() subtracts.",
        [
            ("Bash", {"command": "python -m pytest -q"}, FAILURE, True),
            ("Grep", {"pattern": "total"}, "shop/app.py:3:def total():", False),
        ],
    ),
    (
        "I'll clamp the value rather than raise, because callers expect a number.",
        [
            (
                "Edit",
                {"file_path": "shop/app.py", "old_string": "a\nb\nc", "new_string": "a\nB\nc"},
                "The file shop/app.py has been updated.",
                False,
            )
        ],
    ),
    "Use max(), please.",
    (
        "",
        [
            (
                "TodoWrite",
                {
                    "todos": [
                        {"content": "Clamp the total", "status": "completed"},
                        {"content": "Run the tests", "status": "in_progress"},
                    ]
                },
                "Todos have been modified",
                False,
            )
        ],
    ),
    ("Done: all tests pass now.", [("Bash", {"command": "pytest -q"}, "4 passed in 0.1s", False)]),
]


def calls_of(story: list[Any]) -> Any:
    """The story with an id for each call: (text, [(id, tool, arguments, result, failed)])."""
    number = 0
    told = []
    for each in story:
        if isinstance(each, str):
            told.append(each)
            continue
        calls = []
        for call in each[1]:
            number += 1
            calls.append((f"call_{number}", *call))
        told.append((each[0], calls))
    return told


def anthropic(story: list[Any] = STORY) -> list[dict[str, Any]]:
    """As messages of the Anthropic API."""
    messages: list[dict[str, Any]] = []
    for each in calls_of(story):
        if isinstance(each, str):
            messages.append({"role": "user", "content": each})
            continue
        text, calls = each
        said: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        said += [
            {"type": "tool_use", "id": identity, "name": tool, "input": arguments}
            for identity, tool, arguments, _, _ in calls
        ]
        messages.append({"role": "assistant", "content": said})
        results = [
            {"type": "tool_result", "tool_use_id": identity, "content": result, "is_error": failed}
            for identity, _, _, result, failed in calls
        ]
        if results:
            messages.append({"role": "user", "content": results})
    return messages


def chat(story: list[Any] = STORY) -> list[dict[str, Any]]:
    """As messages of OpenAI's chat completions."""
    messages: list[dict[str, Any]] = []
    for each in calls_of(story):
        if isinstance(each, str):
            messages.append({"role": "user", "content": each})
            continue
        text, calls = each
        made = [
            {
                "id": identity,
                "type": "function",
                "function": {"name": tool, "arguments": json.dumps(arguments)},
            }
            for identity, tool, arguments, _, _ in calls
        ]
        messages.append({"role": "assistant", "content": text or None, "tool_calls": made})
        messages += [
            {"role": "tool", "tool_call_id": identity, "content": result}
            for identity, _, _, result, _ in calls
        ]
    return messages


def responses(story: list[Any] = STORY) -> list[dict[str, Any]]:
    """As items of OpenAI's responses."""
    items: list[dict[str, Any]] = []
    for each in calls_of(story):
        if isinstance(each, str):
            content = [{"type": "input_text", "text": each}]
            items.append({"type": "message", "role": "user", "content": content})
            continue
        text, calls = each
        if text:
            content = [{"type": "output_text", "text": text}]
            items.append({"type": "message", "role": "assistant", "content": content})
        items += [
            {
                "type": "function_call",
                "call_id": identity,
                "name": tool,
                "arguments": json.dumps(arguments),
            }
            for identity, tool, arguments, _, _ in calls
        ]
        items += [
            {"type": "function_call_output", "call_id": identity, "output": result}
            for identity, _, _, result, _ in calls
        ]
    return items


def jsonl(records: list[dict[str, Any]]) -> bytes:
    """Records as JSON lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def claude_code(story: list[Any] = STORY) -> bytes:
    """As a file of Claude Code: each block of a message a line, results in between."""
    records: list[dict[str, Any]] = [{"type": "summary", "summary": "A fix", "leafUuid": "1"}]
    for number, message in enumerate(anthropic(story)):
        role, content = message["role"], message["content"]
        blocks = content if isinstance(content, list) else [content]
        for block in blocks:
            made = [block] if isinstance(block, dict) else block
            said: dict[str, Any] = {"role": role, "content": made}
            if role == "assistant":
                said["id"] = f"msg_{number}"
            records.append(
                {"type": role, "isSidechain": False, "message": said, "timestamp": "2026-01-01"}
            )
        records.append({"type": "file-history-snapshot", "snapshot": {}})
    return jsonl(records)


def codex(story: list[Any] = STORY) -> bytes:
    """As a file of Codex."""
    head = {"timestamp": "2026-01-01", "type": "session_meta", "payload": {"id": "1"}}
    event = {"timestamp": "2026-01-01", "type": "event_msg", "payload": {"type": "token_count"}}
    lines = [
        {"timestamp": "2026-01-01", "type": "response_item", "payload": item}
        for item in responses(story)
    ]
    return jsonl([head, *lines, event])
