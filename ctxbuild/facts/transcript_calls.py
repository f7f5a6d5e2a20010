"""What a call of a tool does, by its name and arguments: reads, searches, edits, runs, plans.

Agents name their tools differently, so arguments decide first and names help.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ctxbuild.facts.transcript import Record

DeedKind = Literal["read", "search", "edit", "write", "run", "todo", "other"]

_PATHS = ("file_path", "path", "filePath", "filename", "target_file", "notebook_path", "file")
_OLD = ("old_string", "old_str", "oldString", "oldText", "old_text", "search")
_NEW = (
    "new_string",
    "new_str",
    "newString",
    "newText",
    "new_text",
    "replace",
    "new_source",
    "insert_text",
)
_DIFF = ("diff", "patch", "input")
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
        part: which lines are read, "" for all; of a plan "" for all of it, "more" for an
            item more, "one" for what became of the item whose number is its text.
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
    if todos.lstrip("-* ").startswith("[") and ("todo" in name or "plan" in name):
        return (Deed("todo", todos=_todos(todos)),)
    if name in {"taskcreate", "taskupdate"}:
        return (_task(call),)
    patch = _patch_in(call)
    if patch:
        return _patched(patch)
    path = call.argument(*_PATHS)
    changed = _changed(call, path)
    if changed:
        return changed
    if name in _SEARCHES or call.argument("pattern", "query", "glob"):
        return (Deed("search", path, command=call.argument("pattern", "query", "glob") or path),)
    command = call.argument(*_COMMAND)
    if path and command == "undo_edit":
        return (Deed("edit", path, hunk="(the last edit undone)"),)
    if command and not (path and command in {"view", "open", "read"}):
        return _run(_plain(command))
    if path:
        return (Deed("read", path, part=_part_of(call)),)
    return (Deed("other"),)


def _changed(call: Record, path: str) -> tuple[Deed, ...]:
    """The files that arguments change: old and new texts, a content, or a diff."""
    given = dict(call.arguments)
    if path and "edits" in given:
        return _several(path, given["edits"])
    if "replacements" in given:
        return _elsewhere(given["replacements"])
    if path and any(key in given for key in (*_OLD, *_NEW)):
        hunk = hunk_of(call.argument(*_OLD), call.argument(*_NEW))
        return (Deed("edit", path, hunk=hunk),)
    if path and any(key in given for key in _CONTENT):
        return (Deed("write", path, hunk=call.argument(*_CONTENT)),)
    diff = call.argument(*_DIFF)
    if path and diff and "\n" in diff:
        return (Deed("edit", path, hunk=diff),)
    return _unified(diff)


def _task(call: Record) -> Deed:
    """An item of a plan whose items are numbered one by one."""
    subject = " ".join(call.argument("subject", "description").split())
    number = call.argument("taskId", "id")
    if number:
        return Deed("todo", todos=(Todo(f"#{number}", call.argument("status")),), part="one")
    return Deed("todo", todos=(Todo(subject, "pending"),) if subject else (), part="more")


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
    words = _words(command)
    if not words:
        return command
    return words[-1] if len(words) == 3 and words[1] in {"-lc", "-c"} else " ".join(words)


def _words(text: str) -> list[str]:
    """The words of a JSON list of texts; none where a text is no such list."""
    if not text.startswith("["):
        return []
    import orjson

    try:
        words = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    sound = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return words if sound else []


_HEREDOC = re.compile(
    r"(?:cat|tee)[^\n|;&]{0,200}?>{1,2}\s*(['\"]?)([^\s'\"<>|;&]{1,300})\1\s*<<-?\s*(['\"]?)(\w{1,40})\3"
    r"|(?:cat|tee)\s*<<-?\s*(['\"]?)(\w{1,40})\5\s*>{1,2}\s*(['\"]?)([^\s'\"<>|;&]{1,300})\7"
)


def _run(command: str) -> tuple[Deed, ...]:
    written = (*_written_by(command), *_unified(command))
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
            text = next((w for w in _words(value) if "*** Begin Patch" in w), value)
            return text[text.find("*** Begin Patch") :]
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


_UNIFIED = re.compile(r"^--- (\S+)(?:[ \t][^\n]*)?\n\+\+\+ (\S+)(?:[ \t][^\n]*)?\n", re.MULTILINE)


def _unified(text: str) -> tuple[Deed, ...]:
    """The files of a unified diff, each with its hunks."""
    if "\n+++ " not in text:
        return ()
    found = []
    heads = list(_UNIFIED.finditer(text))
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        rows = [row for row in text[head.end() : end].split("\n") if row[:1] in _DIFF_ROWS]
        path = head[1] if head[2] == "/dev/null" else head[2]
        hunk = "\n".join(rows) or "(no hunk)"
        found.append(Deed("edit", path.removeprefix("a/").removeprefix("b/"), hunk=hunk))
    return tuple(found)


_DIFF_ROWS = frozenset("@+- ")


def _elsewhere(edits: str) -> tuple[Deed, ...]:
    """Edits that each name a file of their own."""
    import orjson

    try:
        listed = orjson.loads(edits)
    except orjson.JSONDecodeError:
        return ()
    found: list[Deed] = []
    for edit in listed if isinstance(listed, list) else ():
        if isinstance(edit, dict):
            pairs = tuple((key, value) for key, value in edit.items() if isinstance(value, str))
            found += _changed(Record("call", arguments=pairs), dict(pairs).get("filePath", ""))
    return tuple(found)


def _several(path: str, edits: str) -> tuple[Deed, ...]:
    import orjson

    try:
        listed = orjson.loads(edits)
    except orjson.JSONDecodeError:
        listed = []
    hunks = []
    for edit in listed if isinstance(listed, list) else ():
        if isinstance(edit, dict):
            given = {key: value for key, value in edit.items() if isinstance(value, str)}
            old = next((given[key] for key in _OLD if key in given), "")
            new = next((given[key] for key in _NEW if key in given), "")
            hunks.append(hunk_of(old, new))
    # One deed, so that a note on the last change of a file has every part of it.
    return (Deed("edit", path, hunk="\n@@\n".join(hunks)),)


_BOX = re.compile(r"[-*\s]{0,8}\[(.)\] (.+)")
_MARKS = {"x": "completed", "X": "completed", " ": "pending"}


def _todos(text: str) -> tuple[Todo, ...]:
    import orjson

    try:
        listed = orjson.loads(text)
    except orjson.JSONDecodeError:
        rows = (_BOX.match(row) for row in text.split("\n"))
        return tuple(Todo(row[2].strip(), _MARKS.get(row[1], "in_progress")) for row in rows if row)
    found = []
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict):
            said = next((item[k] for k in ("content", "step", "text", "title") if k in item), "")
            status = item.get("status", "pending")
            if isinstance(said, str) and said:
                found.append(Todo(" ".join(said.split()), str(status)))
    return tuple(found)
