"""A session's transcript as turns: a call never stands apart from its result.

A turn is what one side says before the other answers: the user's message, or an
assistant's message with its calls and what came back. The formats that are read
are in `transcript_formats.py`; lines that are damaged are reported and passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Literal

from ctxbuild.model import Problem

RecordKind = Literal["text", "thinking", "call", "result", "image", "note"]
Role = Literal["system", "user", "assistant", "tool"]

NOTE_MARK = "<!-- ctxbuild:note -->"
"""What the text of a compaction note begins with: it is never compacted again."""


@dataclass(frozen=True, slots=True)
class Record:
    """One piece of a turn.

    Attributes:
        kind: a "note" is a text that compaction made.
        text: as it was said or came back; of a call "", of an image its placeholder.
        tool: of a call and its result: the tool's name.
        call: the id that joins a call and its result; "" for a result without a call.
        arguments: of a call, in order; what is no text is compact JSON.
        failed: the result says that the call failed.
        tokens: of text and arguments; 0 where nobody counted.
    """

    kind: RecordKind
    text: str = ""
    tool: str = ""
    call: str = ""
    arguments: tuple[tuple[str, str], ...] = ()
    failed: bool = False
    tokens: int = 0

    def argument(self, *names: str) -> str:
        """The first argument that has one of these names, or ""."""
        given = dict(self.arguments)
        return next((given[name] for name in names if name in given), "")


@dataclass(frozen=True, slots=True)
class Entry:
    """What one message or line says, before calls and results are joined.

    Attributes:
        group: entries of one group are one message; "" for one of its own; "+" joins
            what stands before it as long as no result has come between.
        source: index of the message, or number of the line.
    """

    role: Role
    records: tuple[Record, ...]
    group: str = ""
    speaker: str = ""
    time: str = ""
    source: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side says before the other answers.

    Attributes:
        number: 1, 2, … in the transcript.
        role: "tool" only for results whose call stands in an earlier turn, or nowhere.
        speaker: where a transcript names people.
        time: as it is written there.
        sources: indices of the messages, or numbers of the lines, it is made of.
    """

    number: int
    role: Role
    records: tuple[Record, ...]
    speaker: str = ""
    time: str = ""
    sources: tuple[int, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of its records, with some for what stands around them."""
        return sum(record.tokens + _AROUND for record in self.records)


_AROUND = 8
"""Tokens that a record's header and fences take."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole transcript.

    Attributes:
        format: what most of it is: "anthropic", "openai", "responses", "claude-code",
            "codex" or "plain"; "" if there is nothing.
    """

    turns: tuple[Turn, ...]
    problems: tuple[Problem, ...] = ()
    format: str = ""


@dataclass(slots=True)
class OpenTurn:
    """A turn that may go on."""

    role: Role
    records: list[Record]
    group: str
    speaker: str
    time: str
    sources: list[int]


@dataclass(frozen=True, slots=True)
class Joining:
    """Where a `Joiner` stands.

    Attributes:
        open: the turn that may go on.
        tools: (id, tool) of the calls that a late result may belong to.
        number: of the last turn that was given away.
    """

    open: OpenTurn | None = None
    tools: tuple[tuple[str, str], ...] = ()
    number: int = 0


class Joiner:
    """Joins entries to turns, as they come; a turn is given away when the next begins.

    Args:
        saved: where an earlier one stood.
    """

    def __init__(self, saved: Joining | None = None) -> None:
        self.problems: list[Problem] = []
        self._open = saved.open if saved else None
        self._tools = dict(saved.tools) if saved else {}
        self._number = saved.number if saved else 0

    def saved(self) -> Joining:
        """Where it stands."""
        return Joining(self._open, tuple(self._tools.items()), self._number)

    def feed(self, entry: Entry) -> Iterator[Turn]:
        """Takes the next entry; gives the turns that it ends."""
        results = [record for record in entry.records if record.kind == "result"]
        others = tuple(record for record in entry.records if record.kind != "result")
        late = [result for result in results if not self._answers(result, entry.source)]
        if late:
            yield from self._end()
            records = tuple(self._named(result, entry.source) for result in late)
            self._open = OpenTurn("tool", [*records], "", entry.speaker, entry.time, [entry.source])
        if not others:
            return
        if self._continues(entry):
            assert self._open is not None
            self._open.records += others
            self._open.sources.append(entry.source)
        else:
            yield from self._end()
            self._open = OpenTurn(
                entry.role, [*others], entry.group, entry.speaker, entry.time, [entry.source]
            )
        for record in others:
            if record.kind == "call":
                self._remember(record)

    def finish(self) -> Iterator[Turn]:
        """The last turn."""
        yield from self._end()

    def _continues(self, entry: Entry) -> bool:
        now = self._open
        if now is None or entry.role != now.role or entry.role != "assistant" or not entry.group:
            return False
        if entry.group == "+":
            return now.group == "+" and not any(r.kind == "result" for r in now.records)
        return entry.group == now.group

    def _answers(self, result: Record, source: int) -> bool:
        """Puts a result behind its call, if that stands in the open turn."""
        if self._open is None:
            return False
        records = self._open.records
        if not result.call:
            if self._open.role != "assistant" or any(r.kind == "call" for r in records):
                return False
            # Plain lines name no calls: what came back belongs to what was said before it.
            records.append(result)
            self._open.sources.append(source)
            return True
        for place, record in enumerate(records):
            if record.kind == "call" and record.call == result.call:
                records.insert(place + 1, replace(result, tool=record.tool))
                self._open.sources.append(source)
                return True
        return False

    def _named(self, result: Record, source: int) -> Record:
        tool = self._tools.get(result.call, "")
        if not tool:
            message = f"record {source}: a result without its call"
            self.problems.append(Problem("orphan-result", message))
            return replace(result, call="")
        return replace(result, tool=tool)

    def _remember(self, call: Record) -> None:
        self._tools[call.call] = call.tool or "tool"
        if len(self._tools) > _REMEMBERED_CALLS:
            del self._tools[next(iter(self._tools))]

    def _end(self) -> Iterator[Turn]:
        if self._open is None:
            return
        now, self._open = self._open, None
        self._number += 1
        sources = tuple(dict.fromkeys(now.sources))
        yield Turn(self._number, now.role, tuple(now.records), now.speaker, now.time, sources)


_REMEMBERED_CALLS = 256
"""How many calls a late result is looked for in."""


def joined(
    entries: Iterable[Entry], problems: Sequence[Problem] = (), form: str = ""
) -> Transcript:
    """All turns of some entries."""
    joiner = Joiner()
    turns = [turn for entry in entries for turn in joiner.feed(entry)]
    turns += joiner.finish()
    return Transcript(tuple(turns), (*problems, *joiner.problems), form)


def read_transcript(data: bytes) -> Transcript:
    """The transcript in a file's bytes: a JSON list, an object with messages, or JSON lines.

    Nothing is raised: what cannot be read becomes a problem.
    """
    from io import BytesIO

    from ctxbuild.facts.transcript_lines import read_entries

    problems: list[Problem] = []
    formats: dict[str, int] = {}
    entries = list(read_entries(BytesIO(data), problems, formats))
    most = max(formats, key=lambda form: (formats[form], form), default="")
    return joined(entries, problems, most)


def read_file(file: BinaryIO) -> Iterator[Turn | Problem]:
    """The turns of a file as they are read, a piece of it in memory at a time."""
    from ctxbuild.facts.transcript_lines import read_entries

    problems: list[Problem] = []
    joiner = Joiner()
    for entry in read_entries(file, problems, {}):
        yield from joiner.feed(entry)
        while problems:
            yield problems.pop(0)
    yield from joiner.finish()
    yield from (*problems, *joiner.problems)


def from_messages(messages: Sequence[Mapping[str, Any]], system: str = "") -> Transcript:
    """The transcript in a list of messages or items of an API.

    Args:
        messages: of the Anthropic API, or of OpenAI's chat completions or responses.
        system: the system text, where the API takes it apart.

    Returns:
        Turns whose `sources` are indices of the list; -1 for the system text.
    """
    from ctxbuild.facts.transcript_formats import entries_of

    problems: list[Problem] = []
    entries: list[Entry] = []
    if system:
        entries.append(Entry("system", (Record("text", system),), source=-1))
    formats: dict[str, int] = {}
    for index, message in enumerate(messages):
        form, found = entries_of(message, index, problems)
        formats[form] = formats.get(form, 0) + 1
        entries += found
    most = max(formats, key=lambda form: (formats[form], form), default="")
    return joined(entries, problems, most)
