"""A pack and a session's messages as one list of messages for a provider's API: pure.

What stands before the turns in the pack begins the list, what stands behind them ends
it, and between them the session is compacted as if it had been while it went on. So a
turn more changes nothing before it until the next compaction, and a provider's cached
prefix stays whole. The dialect that comes in goes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ctxbuild.errors import BudgetError, UsageError
from ctxbuild.facts.transcript import NOTE_MARK, Turn, from_messages
from ctxbuild.pack.compaction import Compacted, Policy, counted, play
from ctxbuild.pack.compaction_facts import RULES, Extractor
from ctxbuild.pack.compaction_messages import alternating, parted, rewritten
from ctxbuild.pack.compaction_room import Count

Dialect = Literal["anthropic", "openai", "responses"]
Message = Mapping[str, Any]

MARK = "<!-- ctxbuild:pack"
"""What a text begins with that assembling put there: it is replaced the next time."""

_SMALLER = 0.75
_ROUNDS = 8
_SYSTEM = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class Room:
    """How many tokens the messages have.

    Attributes:
        threshold: tokens of the session above which old turns become a note.
        most: tokens that it may have in any case.
        recent: how many of the last turns stay verbatim in a compaction.
    """

    threshold: int
    most: int
    recent: int = 6


@dataclass(frozen=True, slots=True)
class Assembled:
    """Messages ready to be sent.

    Attributes:
        messages: in the dialect that came in.
        compacted: what became of the session.
        tokens: of the texts, calls and results, and what stands around them, the
            system text that the API takes apart included.
    """

    messages: list[dict[str, Any]]
    compacted: Compacted
    tokens: int


def assembled(
    head: str,
    tail: str,
    messages: Sequence[Message],
    room: Room,
    count: Count,
    *,
    system: str = "",
    extractor: Extractor = RULES,
) -> Assembled:
    """Puts a pack around a session.

    Args:
        head: what stands before the first thing that the user says, or "".
        tail: what stands behind the last turn, or "".
        messages: the whole session so far. What assembling put in an earlier time is
            taken out again, so that assembling its own result changes nothing.
        room: tokens for the session.
        count: texts to tokens.
        system: the system text, where the API takes it apart: it counts, and stays there.
        extractor: finds what is worth keeping of old turns.

    Raises:
        UsageError: a message is none of a known API, or the last one waits for results.
        BudgetError: system text, task and note exceed the room.
    """
    given = _plain(messages)
    if given and _is_waiting(given[-1]):
        raise UsageError(
            f"message {len(given) - 1}: its calls have no results yet", "append them first"
        )
    dialect = dialect_of(given)
    made, compacted = _within(given, room, count, system, extractor)
    made = _with_head(made, head, dialect)
    made = _with_tail(made, tail, dialect)
    if dialect == "anthropic":
        made = alternating(made)
    tokens = sum(count([head, tail])) + compacted.after
    return Assembled(made, compacted, tokens)


def measured(messages: Sequence[Message], count: Count, system: str = "") -> int:
    """Tokens of messages: texts, calls and results, and some for what stands around each."""
    return _tokens(from_messages(messages, system).turns, count)


def _tokens(turns: Sequence[Turn], count: Count) -> int:
    return sum(turn.tokens for turn in counted(turns, count))


def _within(
    messages: list[dict[str, Any]], room: Room, count: Count, system: str, extractor: Extractor
) -> tuple[list[dict[str, Any]], Compacted]:
    """The session within its room: at the threshold, and at lower ones where it must be."""
    turns = from_messages(messages, system).turns
    threshold, recent = room.threshold, room.recent
    for rounds_left in reversed(range(_ROUNDS)):
        done = play(turns, Policy(max(1, threshold), recent), count, extractor)
        made = rewritten(messages, done)
        needs = measured(made, count, system)
        if needs <= room.most:
            return made, replace(done, after=needs)
        if not rounds_left:
            raise _too_much(done, needs, room)
        threshold = min(int(threshold * _SMALLER), room.most)
        recent = max(1, recent - 1)
    raise AssertionError


def _too_much(done: Compacted, needs: int, room: Room) -> BudgetError:
    pinned = ", ".join(f"turn {each.turn.number} ({each.turn.tokens:,})" for each in done.pinned)
    return BudgetError(
        f"the messages need {needs:,} tokens, {needs - room.most:,} more than there are; "
        f"pinned are {pinned or 'none of them'}",
        "raise the budget, or say the task in fewer words",
    )


# --- what was put in before ---------------------------------------------------------------


def _plain(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """The messages without what an earlier time put in, each note a message of its own."""
    made: list[dict[str, Any]] = []
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping) or not {"role", "type"} & message.keys():
            raise UsageError(
                f"message {at}: has neither role nor type",
                "give messages of the Anthropic API or of OpenAI's",
            )
        made += _without_ours(message)
    return made


def _without_ours(message: Message) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [] if content.startswith(MARK) else [dict(message)]
    return parted(message, _is_ours)


def _is_ours(text: str) -> bool:
    return text.startswith((MARK, NOTE_MARK))


# --- dialects -----------------------------------------------------------------------------


def dialect_of(messages: Sequence[Message]) -> Dialect:
    """Whose messages they are; those that any API takes count as Anthropic's.

    Raises:
        UsageError: they are of several.
    """
    found: dict[Dialect, int] = {}
    for at, message in enumerate(messages):
        told = _told(message)
        if told is not None:
            found.setdefault(told, at)
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise UsageError(
            f"message {first} is of {one!r}, message {second} of {other!r}",
            "give messages of one API",
        )
    return next(iter(found), "anthropic")


_ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning"})


def _told(message: Message) -> Dialect | None:
    """Whose a message can only be, None if that does not show."""
    if message.get("type") in _ITEMS:
        return "responses"
    if "tool_calls" in message or message.get("role") in {*_SYSTEM, "tool", "function"}:
        return "openai"
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    kinds = {block.get("type") for block in blocks if isinstance(block, Mapping)}
    if kinds & {"tool_use", "tool_result", "thinking", "image", "document"}:
        return "anthropic"
    if kinds & {"image_url", "input_audio", "refusal"}:
        return "openai"
    return "responses" if kinds & {"input_text", "output_text", "input_image"} else None


def _with_head(messages: list[dict[str, Any]], head: str, dialect: Dialect) -> list[dict[str, Any]]:
    """The pack before the first thing that is said, behind system text in the list."""
    if not head:
        return messages
    at = 0
    while at < len(messages) and messages[at].get("role") in _SYSTEM:
        at += 1
    message = _user(head, dialect)
    return [*messages[:at], message, *messages[at:]]


def _with_tail(messages: list[dict[str, Any]], tail: str, dialect: Dialect) -> list[dict[str, Any]]:
    return [*messages, _user(tail, dialect)] if tail else messages


def _is_waiting(message: Message) -> bool:
    """Whether calls stand in it: nothing but their results may follow."""
    if message.get("tool_calls") or message.get("type") == "function_call":
        return True
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return any(isinstance(each, Mapping) and each.get("type") == "tool_use" for each in blocks)


def _user(text: str, dialect: Dialect) -> dict[str, Any]:
    if dialect == "responses":
        content = [{"type": "input_text", "text": text}]
        return {"type": "message", "role": "user", "content": content}
    return {"role": "user", "content": text}
