"""Sessions: what compaction keeps and saves of real transcripts, what a question finds in talks.

`python -m benchmarks transcripts DIR` takes a directory of Claude Code's JSONL files,
`python -m benchmarks locomo FILE` the JSON of the LoCoMo dialogues. What has to be kept
is read from the raw lines here, not by the code that is measured.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.table import Row, render, write_json
from ctxbuild.facts.transcript import Turn, read_transcript
from ctxbuild.facts.transcript_calls import after_of
from ctxbuild.pack.budget import Limits, Style, fit
from ctxbuild.pack.compaction import Compacted, Policy, counted, play
from ctxbuild.pack.compaction_messages import compact_messages
from ctxbuild.pack.compaction_note import Item
from ctxbuild.pack.tokens import counter
from ctxbuild.select.recollection import about

THRESHOLD = 20_000
MEMORY = 4_000
_ENCODING = "o200k_base"


def main(arguments: Sequence[str]) -> int:
    """Runs one of the two and prints its table.

    Returns:
        0, or 2 where the files are not what they should be.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=("transcripts", "locomo"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--dialogues", type=int, metavar="N", help="the first N of LoCoMo only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args(arguments)
    try:
        if options.name == "locomo":
            rows = list(locomo(options.path, options.dialogues))
        else:
            rows = list(transcripts(options.path))
    except (OSError, ValueError, KeyError) as error:
        print(f"{options.path}: {error}", file=sys.stderr)
        return 2
    print(render(options.name, rows))
    if options.json:
        write_json(options.json, {options.name: rows})
    return 0


# --- what a session must not lose -------------------------------------------------------


@dataclass(slots=True)
class Durable:
    """What the raw lines of a transcript say that must still be there.

    Attributes:
        words: what the user said.
        files: path to (whether it was written as a whole, the text of the last change).
        todos: item of the plan to its last state.
        error: what the last command that failed gave back.
    """

    words: list[str] = field(default_factory=list)
    files: dict[str, tuple[bool, str]] = field(default_factory=dict)
    todos: dict[str, str] = field(default_factory=dict)
    error: str = ""


def durable_in(lines: Iterable[bytes]) -> Durable:
    """Reads it from the lines of a Claude Code transcript, damaged ones passed over."""
    found = Durable()
    calls: dict[str, Mapping[str, Any]] = {}
    for block, role in _blocks(lines):
        if block["type"] == "text" and role == "user" and block["text"].strip():
            found.words.append(block["text"])
        elif block["type"] == "tool_use":
            calls[block["id"]] = block
        elif block["type"] == "tool_result":
            call = calls.get(block["tool_use_id"])
            if call is not None:
                _happened(found, call, block)
    return found


def _blocks(lines: Iterable[bytes]) -> Iterator[tuple[Mapping[str, Any], str]]:
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        message = record.get("message") if isinstance(record, dict) else None
        if not isinstance(message, dict) or record.get("isSidechain") or record.get("isMeta"):
            continue
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and "type" in block:
                yield block, message.get("role", "")


def _happened(found: Durable, call: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    given, name = call.get("input") or {}, call.get("name")
    path = given.get("file_path", "")
    if result.get("is_error"):
        if name == "Bash":
            found.error = _plain(result.get("content"))
    elif name == "Edit" and path:
        found.files[path] = (False, given.get("new_string", ""))
    elif name == "Write" and path:
        found.files[path] = (True, given.get("content", ""))
    elif name == "TodoWrite" and isinstance(given.get("todos"), list):
        found.todos |= {each["content"]: each["status"] for each in given["todos"]}


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or ())


class Kept(NamedTuple):
    """How many durable things there are, and how they are kept.

    Attributes:
        verbatim: they stand in what is sent.
        by_hash: their own hash stands there.
        inside: only the hash of all old turns together stands there.
    """

    all: int = 0
    verbatim: int = 0
    by_hash: int = 0
    inside: int = 0

    def __add__(self, other: object) -> Kept:
        assert isinstance(other, Kept)
        return Kept(*(one + more for one, more in zip(self, other, strict=True)))


def kept(durable: Durable, compacted: Compacted) -> Kept:
    """Looks for each durable thing in what a compaction left standing."""
    items = compacted.note.items if compacted.note else ()
    standing = [*compacted.pinned, *compacted.recent]
    shown = "".join(each.text for each in standing)
    originals = dict(compacted.originals)
    named = {
        name: text
        for name, text in originals.items()
        if any(name.startswith(digits) for digits in _hashes(items, shown))
    }
    own = {item.hash for item in items if item.kind != "dropped"}
    total = Kept()
    for text, change in _wanted(durable):
        verbatim = text in shown or any(_says(item, text) for item in items)
        single = any(
            name[:12] in own and (text in each or (change and after_of(each) == text))
            for name, each in named.items()
        )
        whole = any(text in each for each in named.values())
        total += Kept(1, verbatim, not verbatim and single, not verbatim and not single and whole)
    marks = {"completed": "x", "in_progress": ">", "pending": " "}
    plan = "\n".join(item.text for item in items if item.kind == "todo")
    later = [each.turn for each in compacted.recent if each.form == "full"]
    for todo, status in durable.todos.items():
        row = f"[{marks.get(status, ' ')}] {' '.join(todo.split())}"
        told = row in plan or any(_plans(turn, todo, status) for turn in later)
        total += Kept(1, told, 0, 0)
    return total


def _wanted(durable: Durable) -> Iterator[tuple[str, bool]]:
    yield from ((words.strip("\n").rstrip(), False) for words in durable.words)
    yield from ((text.rstrip("\n"), not whole) for whole, text in durable.files.values())
    if durable.error:
        yield durable.error.rstrip("\n"), False


def _hashes(items: Iterable[Item], shown: str) -> set[str]:
    found = {item.hash for item in items if item.hash}
    for item in items:
        found.update(re.findall(r"\b[0-9a-f]{12}\b", item.text.rpartition("\n")[2]))
    return found | set(re.findall(r"recall ([0-9a-f]{12})", shown))


def _says(item: Item, text: str) -> bool:
    """Whether an item shows a text; a hunk shows what an edit left."""
    if text in item.text:
        return True
    if item.kind != "edit" or "```" not in item.text:
        return False
    rows = item.text.split("\n")
    inside = rows[2 : max(at for at, row in enumerate(rows) if row.startswith("```"))]
    return after_of("\n".join(inside)).rstrip("\n") == text or "\n".join(inside) == text


def _plans(turn: Turn, todo: str, status: str) -> bool:
    calls = (record for record in turn.records if record.kind == "call")
    return any(
        isinstance(each, dict) and each.get("content") == todo and each.get("status") == status
        for call in calls
        for each in _plain_data(call.argument("todos"))
    )


def _plain_data(text: str) -> Any:
    """What a JSON text says; the text itself where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


# --- transcripts ------------------------------------------------------------------------


class Played(NamedTuple):
    """A session played message by message.

    Attributes:
        naive: tokens sent if everything is appended.
        compacted: tokens sent with compaction.
        again: share of what was sent before that is sent again from the beginning, per
            request between compactions.
        retained: share of what is sent that the common beginning makes up, likewise.
        across: the same at compactions.
    """

    naive: int
    compacted: int
    again: list[float]
    retained: list[float]
    across: list[float]


def transcripts(directory: Path) -> Iterator[Row]:
    """What compaction at 20,000 tokens keeps and saves."""
    count = counter(_ENCODING)
    policy = Policy(THRESHOLD)
    files = sorted(directory.glob("*.jsonl"))
    if not files:
        raise ValueError("holds no JSONL file")
    total, before, after, folded, problems = Kept(), 0, 0, 0, 0
    played: list[Played] = []
    for file in files:
        data = file.read_bytes()
        transcript = read_transcript(data)
        problems += len(transcript.problems)
        turns = counted(transcript.turns, count)
        compacted = play(turns, policy, count)
        if compacted.note:
            folded += 1
            before += sum(count([Compacted(tuple_of(turns), None, ()).text]))
            after += sum(count([compacted.text]))
        total += kept(durable_in(data.split(b"\n")), compacted)
        played.append(_play(messages_of(turns), turns, policy))
    yield Row("transcripts", len(files), "", note=f"{folded} compacted, {problems} problems")
    yield Row("durable things", total.all, "")
    share = (total.verbatim + total.by_hash) / max(1, total.all)
    yield Row("  verbatim or by their own hash", share, "", note="the goal is 1")
    yield Row("  verbatim", total.verbatim / max(1, total.all), "")
    yield Row("  only inside the whole of the old turns", total.inside, "")
    yield Row("tokens at the end", after, "tokens", f"{before:,} before", after / max(1, before))
    naive = sum(each.naive for each in played)
    sent = sum(each.compacted for each in played)
    yield Row("tokens sent over all requests", sent, "tokens", "appending", sent / max(1, naive))
    retained = [share for each in played for share in each.retained]
    across = [share for each in played for share in each.across]
    again = [share for each in played for share in each.again]
    if again:
        note = "of the text before"
        yield Row("sent again between compactions, least", min(again), "", note=note)
        note = "of the new text"
        yield Row("retained between compactions, median", median(retained), "", note=note)
    if across:
        note = f"{len(across)} compactions"
        yield Row("retained at a compaction, median", median(across), "", note=note)


def tuple_of(turns: Sequence[Turn]) -> tuple[Any, ...]:
    """Turns as they stand without compaction."""
    from ctxbuild.pack.compaction import Shown

    return tuple(Shown(turn) for turn in turns)


def messages_of(turns: Sequence[Turn]) -> list[list[dict[str, Any]]]:
    """Turns as messages of the Anthropic API, those of a turn together."""
    found = []
    for turn in turns:
        said: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        for record in turn.records:
            if record.kind == "call":
                given = {k: _plain_data(v) if k == "todos" else v for k, v in record.arguments}
                block = {"type": "tool_use", "id": record.call, "name": record.tool}
                said.append({**block, "input": given})
            elif record.kind == "result":
                block = {"type": "tool_result", "tool_use_id": record.call, "content": record.text}
                results.append({**block, "is_error": record.failed})
            elif record.kind == "thinking":
                said.append({"type": "thinking", "thinking": record.text, "signature": ""})
            else:
                said.append({"type": "text", "text": record.text})
        role = "assistant" if turn.role == "assistant" else "user"
        messages = [{"role": role, "content": said}] if said else []
        found.append(messages + ([{"role": "user", "content": results}] if results else []))
    return found


def _play(parts: Sequence[list[dict[str, Any]]], turns: Sequence[Turn], policy: Policy) -> Played:
    """Sends a request after every turn, compacting when the threshold is passed."""
    count = counter(_ENCODING)
    now: list[dict[str, Any]] = []
    was = ""
    naive = sent = total = 0
    again: list[float] = []
    retained: list[float] = []
    across: list[float] = []
    for messages, turn in zip(parts, turns, strict=True):
        total += turn.tokens
        naive += total
        grown = [*now, *messages]
        now, compacted = compact_messages(grown, policy, count)
        sent += compacted.after
        text = "\n".join(json.dumps(message) for message in now)
        if was:
            common = _common(was, text)
            (retained if now == grown else across).append(common / len(text))
            if now == grown:
                again.append(common / len(was))
        was = text
    return Played(naive, sent, again, retained, across)


def _common(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


# --- talks ------------------------------------------------------------------------------


class Talk(NamedTuple):
    """A dialogue and the questions about it.

    Attributes:
        names: the dialogue's own name of each turn.
        turns: as they are read from a transcript.
        asked: (question, names of the turns that hold the evidence, kind).
    """

    names: tuple[str, ...]
    turns: tuple[Turn, ...]
    asked: tuple[tuple[str, frozenset[str], int], ...]


def locomo(file: Path, first: int | None = None) -> Iterator[Row]:
    """How many questions find all their evidence in 4,000 tokens of memory."""
    talks = [_talk(data) for data in json.loads(file.read_bytes())[:first]]
    found: dict[str, list[bool]] = {"question": [], "recency": []}
    kinds: dict[int, list[bool]] = {}
    for talk in talks:
        latest = _shown(talk, "")
        for question, evidence, kind in talk.asked:
            asked = evidence <= _shown(talk, question)
            found["question"].append(asked)
            found["recency"].append(evidence <= latest)
            kinds.setdefault(kind, []).append(asked)
    total = len(found["question"])
    yield Row("questions", total, "", note=f"{len(talks)} dialogues")
    recency = sum(found["recency"]) / max(1, total)
    share = sum(found["question"]) / max(1, total)
    yield Row("all evidence in 4,000 tokens, the latest turns", recency, "")
    against = share / recency if recency else None
    yield Row("all evidence in 4,000 tokens, by question", share, "", "the latest turns", against)
    for kind in sorted(kinds):
        share = sum(kinds[kind]) / len(kinds[kind])
        yield Row(f"  kind {kind}", share, "", note=f"{len(kinds[kind])} questions")


_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


def _talk(data: Mapping[str, Any]) -> Talk:
    conversation, session = data["conversation"], 1
    names: list[str] = []
    lines: list[bytes] = []
    while f"session_{session}" in conversation:
        time = conversation[f"session_{session}_date_time"]
        for turn in conversation[f"session_{session}"]:
            picture = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            names.append(turn["dia_id"])
            line = {"speaker": turn["speaker"], "time": time, "text": turn["text"] + picture}
            lines.append(json.dumps(line).encode())
        session += 1
    turns = read_transcript(b"\n".join(lines)).turns
    asked = []
    for each in data["qa"]:
        pairs = _EVIDENCE.findall(" ".join(each.get("evidence", ())))
        evidence = frozenset(f"D{int(one)}:{int(two)}" for one, two in pairs) & set(names)
        if evidence:
            asked.append((each["question"], evidence, each["category"]))
    return Talk(tuple(names), turns, tuple(asked))


def _shown(talk: Talk, question: str) -> set[str]:
    """The turns that stand in a pack about a question; the latest where there is none."""
    proposal = about("memory", "talk.jsonl", talk.turns, question)
    style = Style("talk", ("memory",), {"talk.jsonl": ""})
    fitted = fit(proposal.candidates, _NoTexts(), counter(_ENCODING), Limits(MEMORY, 0, {}), style)
    numbers = (b.symbol.removeprefix("turn-") for b in fitted.blocks if "turn-" in b.symbol)
    return {talk.names[int(number) - 1] for number in numbers}


class _NoTexts:
    """Every text here is supplied by the layer."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)
