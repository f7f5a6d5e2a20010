"""What is worth keeping of old turns, found by rules: a fold over turns, one after another.

Kept whole or by hash: the user's words, findings, the last hunk of every file, the
last state of every item of a plan, the last command that failed. Kept as far as
there is room, newest first: facts, decisions with their why, actions, what is not
resolved, open questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from ctxbuild.facts.notes import finding_of
from ctxbuild.facts.transcript import Record, Turn
from ctxbuild.facts.transcript_calls import Deed, Todo, deeds_of, program_of
from ctxbuild.pack.compaction_note import Item, ItemKind
from ctxbuild.select.transcript_forms import digest_of, first_line, short_digest, telling

MOST: dict[ItemKind, int] = {"fact": 12, "decision": 12, "action": 20, "open": 6, "blocker": 6}
"""How many of a kind a note has at most; older ones are in the originals."""

_LONG_HUNK = 40
_LONG_WRITE = 12
_LONG_CHARACTERS = 2_000
_LONG_COMMAND = 160


class Extracted(NamedTuple):
    """Items, and the texts that their hashes stand for."""

    items: tuple[Item, ...]
    originals: tuple[str, ...] = ()


class Extractor(Protocol):
    """Finds what is worth keeping of old turns."""

    def extract(self, turns: Sequence[Turn], before: Sequence[Item]) -> Extracted:
        """What an earlier note says, merged with what turns say.

        Args:
            turns: that become part of the note, in order.
            before: the items of the note that stands before them.
        """


class Rules:
    """Finds it by rules: the same turns give the same items."""

    def extract(self, turns: Sequence[Turn], before: Sequence[Item]) -> Extracted:
        """See `Extractor`."""
        state = State(before)
        for turn in turns:
            state.absorb(turn)
        return Extracted(state.items(), tuple(state.originals))


RULES = Rules()


class State:
    """What the turns so far leave behind.

    Args:
        before: the items of an earlier note.
    """

    def __init__(self, before: Iterable[Item] = ()) -> None:
        self.originals: list[str] = []
        self._kept: dict[ItemKind, dict[str, Item]] = {}
        self._plan: dict[str, tuple[Todo, bool]] = {}
        self._planned = 0
        for item in before:
            if item.kind == "todo":
                self._plan |= _read_plan(item.text)
                self._planned = item.turn
            else:
                self._keep(_key(item), item)

    def items(self) -> tuple[Item, ...]:
        """All items, oldest first within a kind."""
        found: list[Item] = []
        if self._plan:
            found.append(Item("todo", _plan_text(self._plan.values()), self._planned))
        for kind, kept in self._kept.items():
            found += list(kept.values())[-MOST.get(kind, len(kept)) :]
        return tuple(found)

    def absorb(self, turn: Turn) -> None:
        """Takes the next turn."""
        for record in turn.records:
            if record.kind in {"text", "note", "image"} and turn.role == "user":
                self._words(record.text, turn.number)
            elif record.kind in {"text", "thinking"}:
                self._said(record, turn.number)
        results = {r.call: r for r in turn.records if r.kind == "result"}
        if "" in results:
            self._uncalled(turn)
        for call in turn.records:
            if call.kind == "call":
                for deed in deeds_of(call):
                    self._done(deed, call, results.get(call.call), turn.number)

    # --- what was said ------------------------------------------------------------------

    def _words(self, text: str, turn: int) -> None:
        text = text.strip("\n").rstrip()
        if text:
            self._add("words", digest_of(text), Item("words", text, turn, self._original(text)))

    def _said(self, record: Record, turn: int) -> None:
        for row in record.text.split("\n"):
            finding = finding_of(row) if len(row) <= _LONG_CHARACTERS else None
            if finding:
                self._add("finding", finding.key, Item("finding", finding.text, turn))
        spoken = record.kind == "text"
        for sentence in sentences(record.text):
            kind = kind_of(sentence, spoken=spoken)
            if kind:
                self._add(kind, sentence, Item(kind, sentence, turn))

    # --- what was done ------------------------------------------------------------------

    def _done(self, deed: Deed, call: Record, result: Record | None, turn: int) -> None:
        failed = result is not None and result.failed
        if deed.kind == "todo" and not failed:
            self._planned = turn
            self._plans(deed, "" if result is None else result.text)
        elif deed.kind in {"edit", "write"} and not failed:
            self._changed(deed, turn)
        elif deed.kind == "run" and result is not None:
            self._ran(deed, result, turn)
        if result is None:
            return
        command = deed.command if call.argument("command", "cmd") else ""
        name = command or f"{call.tool} {deed.path or deed.command}".strip()
        if failed:
            self._failed(name, result, turn)
        else:
            self._resolve(name, program_of(command))

    def _uncalled(self, turn: Turn) -> None:
        """What failed although no call of it is there: plain lines only say what they do."""
        said = next((r.text for r in turn.records if r.kind == "text"), "")
        for record in turn.records:
            if record.kind == "result" and not record.call and record.failed:
                self._failed(first_line(said) or "a call that is not there", record, turn.number)

    def _plans(self, deed: Deed, answer: str) -> None:
        """A plan as a whole, an item more, or what became of one that its number names."""
        if not deed.part:
            self._plan = {text: (todo, False) for text, (todo, _) in self._plan.items()}
        for todo in deed.todos:
            if deed.part == "one":
                self._update(todo)
                continue
            number = _NUMBER.search(answer)
            named = f"#{number[1] if number else len(self._plan) + 1} " if deed.part else ""
            self._plan.pop(named + todo.text, None)
            self._plan[named + todo.text] = (Todo(named + todo.text, todo.status), True)

    def _update(self, todo: Todo) -> None:
        """What became of the item whose number stands for its text."""
        named = next((text for text in self._plan if text.startswith(f"{todo.text} ")), todo.text)
        was = self._plan[named][0].status if named in self._plan else "pending"
        self._plan[named] = (Todo(named, todo.status or was), True)

    def _changed(self, deed: Deed, turn: int) -> None:
        digits = self._original(deed.hunk)
        before = self._kept.get("edit", {}).get(deed.path)
        earlier = [] if before is None else [*_earlier(before), before.hash]
        text = edit_text(deed)
        if earlier:
            text += f"\n{_EARLIER}{', '.join(dict.fromkeys(earlier))}"
        self._add("edit", deed.path, Item("edit", text, turn, digits))

    def _ran(self, deed: Deed, result: Record, turn: int) -> None:
        command = _one_line(deed.command)
        digits = self._original(result.text) if result.text else ""
        outcome = outcome_of(result)
        self._add("action", command, Item("action", f"`{command}` → {outcome}", turn, digits))

    def _failed(self, command: str, result: Record, turn: int) -> None:
        digits = self._original(result.text)
        rows = telling(result.text.rstrip("\n").split("\n"), result.text)
        if len(result.text) <= _LONG_CHARACTERS:
            rows = result.text.rstrip("\n").split("\n")
        said = "\n".join(rows)
        shown = _one_line(command)
        error = f"`{shown}`\n{_fence(said)}"
        self._kept.pop("error", None)
        self._add("error", "", Item("error", error, turn, digits))
        said_so = [row for row in rows if _FAILURE.search(row[:300])]
        why = next(iter(said_so or [row for row in rows if row.strip()]), "")
        blocker = Item("blocker", f"`{shown}`: {first_line(why, 200)}", turn, digits)
        self._add("blocker", shown, blocker)

    def _resolve(self, name: str, program: str) -> None:
        """What runs well again, or another time with the same program, is resolved."""
        blockers = self._kept.get("blocker", {})
        shown = _one_line(name)
        for key in [k for k in blockers if k == shown or (program and program_of(k) == program)]:
            del blockers[key]

    # --- keeping ------------------------------------------------------------------------

    def _original(self, text: str) -> str:
        self.originals.append(text)
        return short_digest(text)

    def _add(self, kind: ItemKind, key: str, item: Item) -> None:
        self._kept.get(kind, {}).pop(key, None)
        self._keep(key, item)

    def _keep(self, key: str, item: Item) -> None:
        kept = self._kept.setdefault(item.kind, {})
        # White space at its end would not come back when the note is read.
        kept[key] = replace(item, text=item.text.rstrip())
        most = MOST.get(item.kind)
        if most is not None and len(kept) > most:
            del kept[next(iter(kept))]


def _key(item: Item) -> str:
    """What makes a later item of a kind take the place of this one."""
    if item.kind in {"edit", "action", "blocker"}:
        return _unquoted(item.text)
    if item.kind == "finding":
        finding = finding_of(item.text)
        return finding.key if finding else item.text
    if item.kind == "error":
        return ""
    if item.kind == "words":
        # A text that stands by hash only keeps the hash of the whole.
        return digest_of(item.text) if short_digest(item.text) == item.hash else item.hash
    return item.text


def _unquoted(text: str) -> str:
    """What stands between the backquotes that a text begins with."""
    return text[1 : text.find("`", 1)] if text.startswith("`") else text


def _one_line(command: str) -> str:
    """A command in one line without backquotes, cut at a length."""
    row = " ".join(command.replace("`", "'").split())
    return row if len(row) <= _LONG_COMMAND else row[:_LONG_COMMAND].rstrip() + "…"


def _fence(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


_EARLIER = "earlier: "


def _earlier(item: Item) -> list[str]:
    last = item.text.rpartition("\n")[2]
    return last.removeprefix(_EARLIER).split(", ") if last.startswith(_EARLIER) else []


def edit_text(deed: Deed) -> str:
    """A change of a file: its hunk, or its size where it is long."""
    rows = deed.hunk.rstrip("\n").split("\n")
    longest = _LONG_WRITE if deed.kind == "write" else _LONG_HUNK
    if len(rows) > longest or len(deed.hunk) > _LONG_CHARACTERS:
        return f"`{deed.path}` {deed.kind} of {len(rows)} lines"
    return f"`{deed.path}` {deed.kind}\n{_fence(deed.hunk.rstrip(chr(10)))}"


def outcome_of(result: Record) -> str:
    """How a command went, in a line: the line that sums it up, else its last."""
    rows = [row.strip() for row in result.text.split("\n") if row.strip()]
    if not rows:
        return "failed" if result.failed else "ok"
    pattern = _FAILURE if result.failed else _OUTCOME
    told = next((row for row in reversed(rows[-200:]) if pattern.search(row[:300])), rows[-1])
    told = told.strip("=- ") or told
    how = "failed: " if result.failed else "" if _FAILURE.search(told[:300]) else "ok: "
    return how + first_line(told, 120)


_OUTCOME = re.compile(
    r"\b\d+ (?:passed|failed|errors?|skipped)\b|^Ran \d+ test|^OK\b|^Successfully "
)
_FAILURE = re.compile(
    r"(?:Error|Exception)\b|\bFAILED\b|\bfatal:|\berror:|not found|No such|"
    r"\d+ (?:failed|error)"
)


# --- the plan ---------------------------------------------------------------------------

_NUMBER = re.compile(r"#(\d{1,9})\b")
_BOXES = {"completed": "x", "done": "x", "in_progress": ">", "pending": " ", "cancelled": "-"}
_STATUSES = {"x": "completed", ">": "in_progress", " ": "pending", "-": "cancelled"}
_LEFT = " (no longer listed)"
_ENTRY = re.compile(r"\[(.)\] (.+)")


def _plan_text(plan: Iterable[tuple[Todo, bool]]) -> str:
    rows = [
        f"[{_BOXES.get(todo.status, ' ')}] {todo.text}{'' if listed else _LEFT}"
        for todo, listed in plan
    ]
    return "\n".join(rows)


def _read_plan(text: str) -> dict[str, tuple[Todo, bool]]:
    found = {}
    for row in text.split("\n"):
        match = _ENTRY.fullmatch(row)
        if match:
            listed = not match[2].endswith(_LEFT)
            said = match[2].removesuffix(_LEFT)
            found[said] = (Todo(said, _STATUSES.get(match[1], "pending")), listed)
    return found


# --- sentences --------------------------------------------------------------------------

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SHORTEST, _LONGEST = 30, 320
_BECAUSE = re.compile(
    r"\b(?:because|since|so that|so we|due to|to avoid|in order to|rather than|instead of|"
    r"otherwise|therefore|which (?:means|ensures|allows|avoids|would)|"
    r"to (?:ensure|maintain|keep))\b",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"\b(?:I'll|I will|I'm going to|we(?:'ll| will| should| need to)|I (?:should|need to|chose|"
    r"decided|prefer)|let me|let's|decided|(?:best|better|right|proper|simplest|correct|cleanest)"
    r" (?:approach|solution|fix|way|place|option)|"
    r"the (?:fix|solution|approach) (?:is|should|was))\b",
    re.IGNORECASE,
)
_VERIFIED = re.compile(
    r"\b(?:confirm(?:s|ed)?|root cause|the (?:issue|problem|bug|error|cause) (?:is|was)|turns out|"
    r"I (?:can )?(?:now )?see that|I(?:'ve| have)? found (?:that|the)|works? (?:correctly|as)|"
    r"(?:all|the) tests? (?:now )?pass|verified|shows? that|indicates? that|this means|"
    r"(?:was|were|is|are) (?:caused by|missing|wrong|incorrect))\b",
    re.IGNORECASE,
)


_NEXT_STEP = re.compile(
    r"(?:\w+[!,.] ?)?(?:now,? |next,? |first,? |but |so )*(?:let me|let's|I'll|I will|I need to|"
    r"I should|I can)(?: now| also| first| just| try to| need to)* (?:run|test|check|verify|update|"
    r"look|read|see|examine|explore|find|search|create a (?:simple |quick )?(?:test|script)|view|"
    r"understand|generate|continue|start|proceed|review|mark|double)",
    re.IGNORECASE,
)
"""What says no more than what is done next."""

_INTENDED = re.compile(
    r"(?:\w+[!,.] ?)?(?:now,? |next,? |first,? |but |so )*"
    r"(?:let me|let's|I'll|I will|I need to|I should|I want)\b",
    re.IGNORECASE,
)


_SUPPOSED = re.compile(
    r"\b(?:likely|probably|might|maybe|perhaps|seems?|I (?:think|believe|guess)|could be)\b",
    re.IGNORECASE,
)
"""What is a guess, not verified."""


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text that are neither code nor list heads, white space joined."""
    fenced = False
    for row in text.split("\n"):
        if row.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and len(row) > _SHORTEST:
            for sentence in _SENTENCE.split(row[:4_000]):
                said = " ".join(sentence.split()).lstrip("-*#>0123456789. ")
                if _SHORTEST <= len(said) <= _LONGEST and not said.endswith(":"):
                    yield said


def kind_of(sentence: str, *, spoken: bool) -> ItemKind | None:
    """What a sentence of the agent is: a decision with its why, a fact, an open question.

    Args:
        spoken: it was said aloud; what is only thought asks nobody.
    """
    if sentence.endswith("?"):
        return "open" if spoken else None
    if _NEXT_STEP.match(sentence):
        return None
    if _DECIDED.search(sentence) and _BECAUSE.search(sentence):
        return "decision"
    told = _VERIFIED.search(sentence) and not _SUPPOSED.search(sentence)
    return "fact" if told and not _INTENDED.match(sentence) else None
