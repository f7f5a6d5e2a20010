"""One step of a session: from where it stood before a piece to where it stands after.

Apart from `sessions.py`, which is imported by every build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ctxbuild.facts.transcript import Entry, Joiner, Joining, Turn
from ctxbuild.model import Problem
from ctxbuild.pack.compaction import Compacted, Policy, Saved, Session
from ctxbuild.pack.compaction_facts import Extractor
from ctxbuild.pack.compaction_room import Count

Keep = Callable[[str, str], None]

_MOST_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a session stands after a piece.

    Attributes:
        joining: the turn that may go on.
        session: what stands, and the note.
        problems: the first of them.
        formats: (format, how many records).
    """

    joining: Joining
    session: Saved
    problems: tuple[Problem, ...] = ()
    formats: tuple[tuple[str, int], ...] = ()


START = Standing(Joining(), Saved())


def step(
    before: Standing,
    entries: Iterable[Entry],
    problems: list[Problem],
    formats: dict[str, int],
    policy: Policy,
    count: Count,
    extractor: Extractor,
    keep: Keep = lambda *_: None,
) -> Standing:
    """Where a session stands after some entries.

    Args:
        before: where it stood.
        entries: of the next piece; reading them fills the two that follow.
        problems: what is wrong with the piece.
        formats: format to how many records.
        policy: when and how it is compacted.
        count: texts to tokens.
        extractor: finds what is worth keeping.
        keep: takes (name, text) of what hashes stand for.
    """
    joiner = Joiner(before.joining)
    session = Session(policy, count, extractor, keep, before.session)
    session.play(turn for entry in entries for turn in joiner.feed(entry))
    problems += joiner.problems
    found = dict(before.formats)
    for form, number in formats.items():
        found[form] = found.get(form, 0) + number
    return Standing(
        joiner.saved(),
        session.saved(),
        (*before.problems, *problems)[:_MOST_PROBLEMS],
        tuple(found.items()),
    )


def finished(
    now: Standing,
    policy: Policy,
    count: Count,
    extractor: Extractor,
    keep: Keep | None = None,
) -> Compacted:
    """What stands when nothing follows: the turn that may go on counts as it is."""
    session = Session(policy, count, extractor, keep, now.session)
    session.play(Joiner(now.joining).finish())
    return session.compacted()


def talked(joining: Joining, entries: Iterable[Entry]) -> tuple[tuple[Turn, ...], Joining]:
    """The turns that some entries end, and the one that may go on."""
    joiner = Joiner(joining)
    turns = tuple(turn for entry in entries for turn in joiner.feed(entry))
    return turns, joiner.saved()
