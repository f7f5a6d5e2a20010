"""What a call of a tool does, by its name and arguments: reads, searches, edits, runs, plans.

Agents name their tools differently, so arguments decide first and names help.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ctxbuild.facts.transcript import Record

DeedKind = Literal["read", "search", "edit", "write", "run", "todo", "other"]

_PATHS = ("file_path", "path", "filePath", "filename", "target_file", "notebook_path", "file")
_OLD = ("old_string", "old_str", "oldText", "search")
_NEW = ("new_string", "new_str", "newText", "replace", "new_source", "insert_text")
_CONTENT = ("content", "file_text", "contents", "code_edit")
_COMMAND = ("command", "cmd", "script")
_TODOS = ("todos", "plan", "items")
_SEARCHES = frozenset(
    {"grep", "glob", "ls", "listdir", "search", "find", "websearch", "toolsearch"}
)
_READERS = ("cat", "head", "tail", "less", "more", "nl", "bat")
_LOOKERS = frozenset({"grep", "rg", "egrep", "find", "ls", "tree", "fd", "ag", "wc", "which"})


class Todo(NamedTuple):
    """An item of a plan. `status` is "pending", "in_progress", "completed" or as written."""

    text: str
    status: str


class Deed(NamedTuple):
    """What a call does to one thing.

    Attributes:
        path: the file that is read, edited or written; "" for none.
        command: what is run, as one text.
        hunk: of an edit: lines that begin with a space, `-` or `+`; of a write: the content.
        todos: of a plan: all its items.
        part: which lines are read, "" for all.
    """

    kind: DeedKind
    path: str = ""
    command: str = ""
    hunk: str = ""
    todos: tuple[Todo, ...] = ()
    part: str = ""


def deeds_of(call: Record) -> tuple[Deed, ...]:
    """What a call does; a patch may touch several files."""
    name = "".join(c for c in call.tool.lower() if c.isalnum())
    todos = call.argument(*_TODOS)
    if todos.startswith("[") and ("todo" in name or "plan" in name):
        return (Deed("todo", todos=_todos(todos)),)
    patch = _patch_in(call)
    if patch:
        return _patched(patch)
    path = call.argument(*_PATHS)
    if path and "edits" in dict(call.arguments):
        return _several(path, call.argument("edits"))
    if path and any(key in dict(call.arguments) for key in (*_OLD, *_NEW)):
        hunk = hunk_of(call.argument(*_OLD), call.argument(*_NEW))
        return (Deed("edit", path, hunk=hunk),)
    if path and any(key in dict(call.arguments) for key in _CONTENT):
        return (Deed("write", path, hunk=call.argument(*_CONTENT)),)
    if name in _SEARCHES or call.argument("pattern", "query", "glob"):
        return (Deed("search", path, command=call.argument("pattern", "query", "glob") or path),)
    command = call.argument(*_COMMAND)
    if command and not (path and command in {"view", "open", "read"}):
        return _run(_plain(command))
    if path:
        return (Deed("read", path, part=_part_of(call)),)
    return (Deed("other"),)


def hunk_of(old: str, new: str) -> str:
    """An edit as lines that begin with a space (kept), `-` or `+`."""
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    shared = min(len(before), len(after))
    head = 0
    while head < shared and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shared - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = [f"-{row}" for row in before[head : len(before) - tail]]
    middle += [f"+{row}" for row in after[head : len(after) - tail]]
    rest = after[len(after) - tail :]
    return "\n".join([*(f" {row}" for row in after[:head]), *middle, *(f" {row}" for row in rest)])


def after_of(hunk: str) -> str:
    """The text that an edit leaves: what `hunk_of` was given as new."""
    return "\n".join(row[1:] for row in hunk.split("\n") if not row.startswith("-"))


def program_of(command: str) -> str:
    """The program that a command runs first, behind `cd` and assignments."""
    for part in re.split(r"&&|;|\n", command):
        words = part.split()
        while words and ("=" in words[0] or words[0] in {"sudo", "time", "env", "timeout"}):
            words.pop(0)
        if words and words[0] not in {"cd", "export", "source", ".", "set"}:
            return words[0].rpartition("/")[2]
    return ""


def _part_of(call: Record) -> str:
    given = [call.argument(key) for key in ("offset", "limit", "view_range", "start_line")]
    return "-".join(each for each in given if each)


def _plain(command: str) -> str:
    """A command that comes as a JSON list of words, as one text."""
    if not command.startswith("["):
        return command
    import orjson

    try:
        words = orjson.loads(command)
    except orjson.JSONDecodeError:
        return command
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return command
    return words[-1] if len(words) == 3 and words[1] in {"-lc", "-c"} else " ".join(words)


_HEREDOC = re.compile(
    r"(?:cat|tee)[^\n|;&]{0,200}?>{1,2}\s*(['\"]?)([^\s'\"<>|;&]{1,300})\1\s*<<-?\s*(['\"]?)(\w{1,40})\3"
    r"|(?:cat|tee)\s*<<-?\s*(['\"]?)(\w{1,40})\5\s*>{1,2}\s*(['\"]?)([^\s'\"<>|;&]{1,300})\7"
)


def _run(command: str) -> tuple[Deed, ...]:
    written = _written_by(command)
    if written:
        return (*written, Deed("run", command=command))
    program = program_of(command)
    if program in _READERS or (program == "sed" and " -n" in command):
        path = _last_path(command)
        if path:
            return (Deed("read", path, command=command, part=command),)
    if program in _LOOKERS:
        return (Deed("search", command=command),)
    return (Deed("run", command=command),)


def _written_by(command: str) -> tuple[Deed, ...]:
    """Files that a command writes from a text inside itself."""
    if "<<" not in command:
        return ()
    found = []
    for match in _HEREDOC.finditer(command):
        path, word = (match[2], match[4]) if match[2] else (match[8], match[6])
        start = command.find("\n", match.end())
        end = command.find(f"\n{word}", start)
        if start != -1 and end > start:
            found.append(Deed("write", path, hunk=command[start + 1 : end]))
    return tuple(found)


def _last_path(command: str) -> str:
    """The last word that looks like a file, of a command without a pipe into another program."""
    first = re.split(r"[|&;\n]|2?>", command.rpartition("&&")[2])[0]
    words = [word.strip("'\"") for word in first.split()[1:] if not word.startswith("-")]
    return next((word for word in reversed(words) if "." in word or "/" in word), "")


# --- patches ----------------------------------------------------------------------------

_PATCH_FILE = re.compile(r"^\*\*\* (Update|Add|Delete) File: (.+)$", re.MULTILINE)


def _patch_in(call: Record) -> str:
    for _, value in call.arguments:
        if "*** Begin Patch" in value:
            start = value.find("*** Begin Patch")
            text = value[start:]
            # Inside a JSON list of words the line feeds are escaped.
            return text.replace("\\n", "\n").replace('\\"', '"') if "\n" not in text else text
    return ""


def _patched(patch: str) -> tuple[Deed, ...]:
    found = []
    heads = list(_PATCH_FILE.finditer(patch))
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else patch.find("*** End Patch")
        body = patch[head.end() : end if end != -1 else len(patch)].strip("\n")
        rows = body.split("\n")
        if head[1] == "Add":
            content = "\n".join(row.removeprefix("+") for row in rows)
            found.append(Deed("write", head[2].strip(), hunk=content))
        else:
            found.append(Deed("edit", head[2].strip(), hunk=body or "-(deleted)"))
    return tuple(found) or (Deed("other"),)


def _several(path: str, edits: str) -> tuple[Deed, ...]:
    import orjson

    try:
        listed = orjson.loads(edits)
    except orjson.JSONDecodeError:
        listed = []
    found = []
    for edit in listed if isinstance(listed, list) else ():
        if isinstance(edit, dict):
            given = {key: value for key, value in edit.items() if isinstance(value, str)}
            old = next((given[key] for key in _OLD if key in given), "")
            new = next((given[key] for key in _NEW if key in given), "")
            found.append(Deed("edit", path, hunk=hunk_of(old, new)))
    return tuple(found) or (Deed("edit", path),)


def _todos(text: str) -> tuple[Todo, ...]:
    import orjson

    try:
        listed = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ()
    found = []
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict):
            said = next((item[k] for k in ("content", "step", "text", "title") if k in item), "")
            status = item.get("status", "pending")
            if isinstance(said, str) and said:
                found.append(Todo(" ".join(said.split()), str(status)))
    return tuple(found)
