"""Compaction: at a threshold, old turns become a note, and the last ones stay as they are.

It happens when the tokens pass the threshold, not when the window overflows, and
between two times nothing that stands is touched: what is sent grows at its end
only, so that a provider's cached prefix stays whole. A call goes with its result.
System text and the task (the first thing the user says) stay byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ctxbuild.facts.transcript import Record, Turn
from ctxbuild.pack.compaction_facts import RULES, Extractor
from ctxbuild.pack.compaction_note import Item, Note, in_order, parse_note, render_note
from ctxbuild.pack.compaction_room import Count, fit_note
from ctxbuild.select.transcript_forms import (
    SHORT,
    Form,
    digest_of,
    render,
    shortened,
    superseded,
)


@dataclass(frozen=True, slots=True)
class Policy:
    """When and how turns are compacted.

    Attributes:
        threshold: tokens above which old turns become a note.
        recent: how many of the last turns stay verbatim.
        note: tokens that the note may have; what does not fit stands in it by hash.
        pins: numbers of turns that stay besides system text and task.
    """

    threshold: int = 80_000
    recent: int = 6
    note: int = 6_000
    pins: tuple[int, ...] = ()

    @property
    def note_limit(self) -> int:
        """Tokens of the note: never more than a quarter of the threshold."""
        return min(self.note, max(_SMALLEST_NOTE, self.threshold // 4))


_SMALLEST_NOTE = 400


@dataclass(frozen=True, slots=True)
class Shown:
    """A turn that stands, and in which form; `gone` are calls whose results are left out."""

    turn: Turn
    form: Form = "full"
    gone: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """The turn as Markdown."""
        return render(self.turn, self.form, self.gone)


@dataclass(frozen=True, slots=True)
class Dropped:
    """Turns that became part of the note.

    Attributes:
        first, last: their numbers.
        tokens: what they took.
        hash: under which they can be recalled, as one text.
    """

    first: int
    last: int
    tokens: int
    hash: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """A session with its old turns compacted.

    Attributes:
        pinned: system text and task, byte for byte.
        note: what the turns between them and the recent ones became; None if nothing did.
        recent: the turns behind the note.
        dropped: what this compaction, and in a `Session` every one before it, folded.
        originals: (SHA-256 in hexadecimal, text) of what hashes in it stand for.
        before: tokens of the turns given.
        after: tokens of what stands.
        warnings: why an extractor was not used.
        last: the name of the last original that was given away, "" if there is none.
    """

    pinned: tuple[Shown, ...]
    note: Note | None
    recent: tuple[Shown, ...]
    dropped: tuple[Dropped, ...] = ()
    originals: tuple[tuple[str, str], ...] = ()
    before: int = 0
    after: int = 0
    warnings: tuple[str, ...] = ()
    last: str = ""

    @property
    def text(self) -> str:
        """All that stands, as Markdown."""
        note = self.note.text if self.note else ""
        pieces = (*(each.text for each in self.pinned), note, *(e.text for e in self.recent))
        return "".join(pieces)


def counted(turns: Iterable[Turn], count: Count) -> list[Turn]:
    """Turns whose records know their tokens."""
    listed = list(turns)
    texts = [sound(measured(record)) for turn in listed for record in turn.records]
    tokens = iter(count(texts) if texts else [])
    return [
        replace(turn, records=tuple(replace(r, tokens=next(tokens)) for r in turn.records))
        for turn in listed
    ]


def sound(text: str) -> str:
    """A text that can be encoded: halves of surrogate pairs become question marks."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


def measured(record: Record) -> str:
    """The text by which a record is counted."""
    if record.kind != "call":
        return record.text
    return "\n".join([record.tool, *(f"{name}: {value}" for name, value in record.arguments)])


def compact(
    turns: Sequence[Turn], policy: Policy, count: Count, extractor: Extractor = RULES
) -> Compacted:
    """Compacts a session once, if it has passed the threshold.

    Compacting what was compacted changes nothing, and a note that stands among the
    turns is merged with what came since.

    Args:
        turns: of a transcript, notes of earlier compactions included.
        policy: when and how.
        count: texts to tokens.
        extractor: finds what is worth keeping.
    """
    session = Session(policy, count, extractor)
    for turn in counted(turns, count):
        session.take(turn)
    if session.tokens > policy.threshold:
        session.compact()
    return session.compacted()


def play(
    turns: Iterable[Turn], policy: Policy, count: Count, extractor: Extractor = RULES
) -> Compacted:
    """Compacts a whole transcript as if it had been compacted while it went on.

    Args:
        turns: of a transcript, one after another.
        policy, count, extractor: as for `compact`.
    """
    session = Session(policy, count, extractor)
    session.play(turns)
    return session.compacted()


@dataclass(frozen=True, slots=True)
class Saved:
    """Where a session stands, as plain data.

    Attributes:
        last: the name of the last original that was given away, "" before the first.
    """

    pinned: tuple[Shown, ...] = ()
    recent: tuple[Shown, ...] = ()
    sizes: tuple[int, ...] = ()
    items: tuple[Item, ...] = ()
    note_tokens: int = 0
    dropped: tuple[Dropped, ...] = ()
    tokens: int = 0
    before: int = 0
    has_task: bool = False
    warnings: tuple[str, ...] = ()
    last: str = ""


class Session:
    """A session that goes on: takes turns, and compacts when it has passed the threshold.

    Args:
        policy: how much stays.
        count: texts to tokens.
        extractor: finds what is worth keeping.
        keep: takes (name, text) of every original that a hash stands for; None to
            collect them for `compacted`.
        saved: where an earlier one stood.
    """

    def __init__(
        self,
        policy: Policy,
        count: Count,
        extractor: Extractor = RULES,
        keep: Callable[[str, str], None] | None = None,
        saved: Saved | None = None,
    ) -> None:
        was = saved or Saved()
        self._policy = policy
        self._count: Count = lambda texts: count([sound(text) for text in texts])
        self._extractor = extractor
        self._pinned, self._recent = [*was.pinned], [*was.recent]
        self._sizes = [*was.sizes]
        self._items, self._note_tokens = was.items, was.note_tokens
        self._dropped = [*was.dropped]
        self._tokens, self._before, self._has_task = was.tokens, was.before, was.has_task
        self._warnings = [*was.warnings]
        self._last = was.last
        self._originals: dict[str, str] = {}
        self._give = keep or self._originals.__setitem__

    def saved(self) -> Saved:
        """Where it stands."""
        return Saved(
            tuple(self._pinned),
            tuple(self._recent),
            tuple(self._sizes),
            self._items,
            self._note_tokens,
            tuple(self._dropped),
            self._tokens,
            self._before,
            self._has_task,
            tuple(dict.fromkeys(self._warnings)),
            self._last,
        )

    @property
    def tokens(self) -> int:
        """Tokens of what stands now."""
        return self._tokens

    def play(self, turns: Iterable[Turn]) -> None:
        """Takes turns, and compacts each time the threshold is passed."""
        for some in _batches(turns):
            for turn in counted(some, self._count):
                self.take(turn)
                if self._tokens > self._policy.threshold:
                    self.compact()

    def _keep(self, text: str) -> str:
        name = digest_of(text)
        self._give(name, text)
        self._last = name
        return name

    def take(self, turn: Turn) -> None:
        """Takes the next turn; its records must know their tokens."""
        note = _note_in(turn)
        self._before += turn.tokens
        self._tokens += turn.tokens
        if note is not None:
            self._items = in_order((*self._items, *note.items))
            self._note_tokens += turn.tokens
        elif self._is_pinned(turn):
            self._pinned.append(Shown(turn))
        else:
            self._recent.append(Shown(turn))
            self._sizes.append(turn.tokens)

    def _is_pinned(self, turn: Turn) -> bool:
        if turn.role == "system" or turn.number in self._policy.pins:
            return True
        if self._has_task or turn.role != "user":
            return False
        self._has_task = True
        return True

    def compact(self) -> None:
        """Folds all but the last turns into the note, and shrinks what is too large to stay."""
        cut = self._cut()
        if cut:
            self._fold(cut)
        self._shrink()

    def _cut(self) -> int:
        """How many turns are old; a result whose call is old is old as well."""
        turns = [each.turn for each in self._recent]
        cut = max(0, len(turns) - self._policy.recent)
        if turns and _awaits(turns[-1]):
            cut = min(cut, len(turns) - 1)
        while cut:
            left = {r for t in turns[cut:] for r in _late(t)}
            old = {r.call for t in turns[:cut] for r in t.records if r.kind == "call"}
            split = next((at for at, t in enumerate(turns[:cut]) if _calls(t) & left & old), None)
            if split is None:
                return cut
            cut = split
        return cut

    def _fold(self, cut: int) -> None:
        old = [each.turn for each in self._recent[:cut]]
        extracted = self._extractor.extract(old, self._items)
        self._warnings += getattr(self._extractor, "warnings", ())
        for text in extracted.originals:
            self._keep(text)
        name = self._keep("".join(render(turn, "full") for turn in old))
        tokens = sum(self._sizes[:cut])
        dropped = Dropped(old[0].number, old[-1].number, tokens, name[:SHORT])
        self._dropped.append(dropped)
        kept = tuple(item for item in extracted.items if item.kind != "dropped")
        folds = [*(item for item in self._items if item.kind == "dropped"), _fold_item(dropped)]
        fitted, more = fit_note((*kept, *folds), self._policy.note_limit, self._count)
        for text in more:
            self._keep(text)
        self._items = fitted
        (size,) = self._count([render_note(fitted)])
        self._tokens += size - self._note_tokens - tokens
        self._note_tokens = size
        del self._recent[:cut], self._sizes[:cut]

    def _shrink(self) -> None:
        """Shortens turns that stay: large ones to leave room, any rather than overflow.

        Where a quarter of the window is free, the next compaction is some way off.
        """
        threshold = self._policy.threshold
        gone = superseded(each.turn for each in self._recent)
        self._shrink_to(threshold * 3 // 4, "slice", gone, threshold // _LARGE)
        self._shrink_to(threshold, "slice", gone, 0)
        self._shrink_to(threshold, "line", gone, 0)

    def _shrink_to(self, goal: int, form: Form, gone: frozenset[str], least: int) -> None:
        """Shortens turns of more than `least` tokens, the largest first, until the goal is met."""
        order = sorted(range(len(self._recent)), key=lambda at: (-self._sizes[at], at))
        for at in order:
            if self._tokens <= goal or self._sizes[at] <= least:
                return
            if form != "line" or self._recent[at].turn.role != "user":
                self._shorten(at, form, gone)

    def _shorten(self, at: int, form: Form, gone: frozenset[str]) -> None:
        turn = self._recent[at].turn
        calls = gone & _calls(turn)
        text = render(turn, form, calls)
        (size,) = self._count([text])
        if size >= self._sizes[at]:
            return
        longer = shortened(turn, calls).originals if form == "slice" else (render(turn, "full"),)
        for original in longer:
            self._keep(original)
        self._recent[at] = Shown(turn, form, calls)
        self._tokens += size - self._sizes[at]
        self._sizes[at] = size

    def compacted(self) -> Compacted:
        """What stands now."""
        return Compacted(
            tuple(self._pinned),
            Note(self._items) if self._items else None,
            tuple(self._recent),
            tuple(self._dropped),
            tuple(self._originals.items()),
            self._before,
            self._tokens,
            tuple(dict.fromkeys(self._warnings)),
            self._last,
        )


_LARGE = 16
"""A turn is large if it takes more than one part in so many of the threshold."""

_BATCH = 64


def _batches(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    """Turns in lists, since texts are counted faster together."""
    iterator = iter(turns)
    while some := list(islice(iterator, _BATCH)):
        yield some


def _awaits(turn: Turn) -> bool:
    """Whether a call of a turn has no result yet."""
    answered = {record.call for record in turn.records if record.kind == "result"}
    return not _calls(turn) <= answered


def _late(turn: Turn) -> frozenset[str]:
    """The calls of earlier turns whose results stand in this one."""
    return frozenset(r.call for r in turn.records if r.kind == "result") - _calls(turn)


def _calls(turn: Turn) -> frozenset[str]:
    return frozenset(record.call for record in turn.records if record.kind == "call")


def _note_in(turn: Turn) -> Note | None:
    """The note that a turn is, if it is one."""
    if turn.role != "user" or len(turn.records) != 1 or turn.records[0].kind != "note":
        return None
    return parse_note(turn.records[0].text)


def _fold_item(dropped: Dropped) -> Item:
    what = f"these turns, {dropped.tokens:,} tokens"
    return Item("dropped", what, dropped.last, dropped.hash, dropped.first)
