"""For loops in code: what to send next, from a target and the messages so far.

    messages.append(reply)
    send = ctxbuild.assemble("agent", messages)

A target's pack stands around the messages, which take the place of its `transcript`
layer; together they keep its budget, the reserve left free. See docs/loops.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ctxbuild.serve.session import Session, cache_directory
from ctxbuild.stores import cachedir
from ctxbuild.stores.atomic import write_if_changed

if TYPE_CHECKING:
    from ctxbuild.model import Block, Pack
    from ctxbuild.pack.assembling import Assembled
    from ctxbuild.pack.compaction_facts import Extractor
    from ctxbuild.serve.library import Project
    from ctxbuild.source.ctxfile import Ctxfile, Layer, Target

Message = Mapping[str, Any]

THRESHOLD = 80_000
RECENT = 6
NOTE = 6_000
TOKENIZER = "o200k_base"

SHARE = 0.5
"""The part of a target's room that messages have where its layers do not say."""

_LATE = 0.8
"""The part of the messages' room at which they are compacted at the latest."""

_LIVE = " messages"
"""Ends the name under which a target is built whose `transcript` layer is in memory."""

SESSIONS = "sessions"
"""The folder of the cache with sessions as they were assembled last."""


def compact(
    messages: Sequence[Message],
    *,
    threshold: int = THRESHOLD,
    recent: int = RECENT,
    note: int = NOTE,
    pins: Sequence[int] = (),
    system: str = "",
    tokenizer: str = TOKENIZER,
    extractor: Extractor | None = None,
    keep: Callable[[str, str], None] | None = None,
) -> list[dict[str, Any]]:
    """Compacts a session's messages, if they have passed a threshold.

    Old turns become one note: verified facts, actions, the last hunk of every changed
    file, decisions with their why, open questions, and the user's own words. System
    text and the first thing that the user says stay as they are, and so do the last
    turns; a call is never parted from its result. Compacting the result again changes
    nothing. Nothing is read or written.

    Args:
        messages: of the Anthropic API, of OpenAI's chat completions, or items of its
            responses; what comes out is of the same API.
        threshold: tokens above which it happens.
        recent: how many of the last turns stay.
        note: tokens that the note may have, at most a quarter of the threshold.
        pins: numbers of turns that stay besides, counted from 1.
        system: the system text, where the API takes it apart: it counts.
        tokenizer: name of the encoding that counts.
        extractor: what finds what is worth keeping; None for rules.
        keep: takes (SHA-256, text) of what the hashes in the note stand for.

    Returns:
        The messages to go on with; equal to those given as long as nothing had to go.

    Raises:
        UsageError: nobody knows the tokenizer.
    """
    from ctxbuild.pack.compaction import Policy
    from ctxbuild.pack.compaction_facts import RULES
    from ctxbuild.pack.compaction_messages import compact_messages
    from ctxbuild.pack.tokens import counter

    policy = Policy(threshold, recent, note, tuple(pins))
    made, done = compact_messages(messages, policy, counter(tokenizer), extractor or RULES, system)
    if keep is not None:
        for name, text in done.originals:
            keep(name, text)
    return made


def assemble(
    target: str | Pack,
    messages: Sequence[Message],
    *,
    project: Project | str | os.PathLike[str] = ".",
    system: str = "",
    extractor: Extractor | None = None,
    keep: Callable[[str, str], None] | None = None,
) -> list[dict[str, Any]]:
    """The messages to send next: a target's pack around the session, within the budget.

    The layers before a target's `transcript` layer begin the list, those behind it end it.
    The session stands between them, compacted as if it had been while it went on, so
    that a turn more changes nothing above it. The whole has at most the target's budget
    without its reserve. The same messages and sources give the same bytes.

    Args:
        target: a target's name, brought up to date first; or a pack, which stands before
            the messages as it is, and then nothing is read or written.
        messages: the whole session so far, of the Anthropic API, of OpenAI's chat
            completions, or items of its responses.
        project: where the target is declared: a project, a ctxfile, or a directory: it
            and those above it are searched for one.
        system: the system text, where the API takes it apart: it counts.
        extractor: what finds what is worth keeping of old turns; None for rules.
        keep: takes (SHA-256, text) of what hashes in the messages stand for.

    Returns:
        Messages of the same API, ready to be sent.

    Raises:
        UnknownTarget: the ctxfile has no such target.
        UsageError: the messages are of no API, or of several.
        BudgetError: what is pinned does not fit.
        CtxbuildError: the target cannot be built, or the cache not be written.
    """
    done = assembled_for(target, messages, project, system, extractor)
    if keep is not None:
        for name, text in done.compacted.originals:
            keep(name, text)
    return done.messages


def assembled_for(
    target: str | Pack,
    messages: Sequence[Message],
    project: Project | Ctxfile | str | os.PathLike[str] = ".",
    system: str = "",
    extractor: Extractor | None = None,
    workers: int = 0,
) -> Assembled:
    """As `assemble`, with what became of the session; raises what it raises."""
    from ctxbuild.pack.assembling import Room, assembled
    from ctxbuild.pack.compaction_facts import RULES
    from ctxbuild.pack.tokens import counter

    rules = extractor or RULES
    if not isinstance(target, str):
        count = counter(target.tokenizer)
        head = _marked(target.target, target.text)
        left = target.budget - target.reserve - count([head])[0]
        room = Room(_threshold(left, None), left)
        return assembled(head, "", messages, room, count, system=system, extractor=rules)
    ctxfile = _ctxfile(project)
    declared = ctxfile.target(target)
    count = counter(ctxfile.project.tokenizer)
    head, tail = _around(ctxfile, declared, messages, workers)
    total = declared.budget - declared.reserve
    layer = _session(declared)
    threshold = _threshold(_slice(declared), layer)
    recent = layer.option("recent") if layer else RECENT
    room = Room(threshold, total - sum(count([head, tail])), recent)
    done = assembled(head, tail, messages, room, count, system=system, extractor=rules)
    if done.compacted.originals:
        from ctxbuild.serve.recall import keep

        # So that `ctxbuild recall` finds what the note's hashes stand for.
        keep(cache_directory(ctxfile), (text for _, text in done.compacted.originals))
    return done


def _ctxfile(project: Project | Ctxfile | str | os.PathLike[str]) -> Ctxfile:
    from ctxbuild.serve.library import Project, load
    from ctxbuild.source.ctxfile import Ctxfile

    if isinstance(project, Ctxfile):
        return project
    found = project if isinstance(project, Project) else load(project)
    return found.ctxfile


def _session(target: Target) -> Layer | None:
    """The layer whose place the messages take."""
    return next((each for each in target.layers if _takes_place(each)), None)


def _takes_place(layer: Layer) -> bool:
    return layer.source == "transcript" and not layer.option("about")


def _slice(target: Target) -> int:
    """Tokens that the messages have in any case: their layer's, or what declared ones leave."""
    total = target.budget - target.reserve
    layer = _session(target)
    if layer is not None and layer.budget:
        return layer.budget
    others = [each.budget for each in target.layers if each is not layer]
    left = total - sum(budget for budget in others if budget)
    if others and all(others) and left > 0:
        return left
    return int(total * SHARE) if others else total


def _threshold(room: int, layer: Layer | None) -> int:
    """Tokens at which the session is compacted: never so many that it no longer fits."""
    latest = int(room * _LATE)
    return min(latest, layer.option("threshold")) if layer else latest


# --- the pack around the messages ---------------------------------------------------------


def _around(
    ctxfile: Ctxfile, target: Target, messages: Sequence[Message], workers: int
) -> tuple[str, str]:
    """What stands before and behind the messages."""
    from ctxbuild.pack.schedule import reading_order

    others = tuple(each for each in target.layers if not _takes_place(each))
    if not others:
        return "", ""
    layer = _session(target)
    live = target
    if layer is not None:
        live = _live(ctxfile, target, layer, others, messages)
    else:
        live = target._replace(budget=max(1 + target.reserve, target.budget - _slice(target)))
    made = ctxfile
    if live != target:
        live = live._replace(name=f"{target.name}{_LIVE}", formats=("md",))
        made = ctxfile._replace(targets=(live,))
    pack = Session(made, workers=workers).artifact(live.name)[0]
    names = list(dict.fromkeys(block.layer for block in pack.blocks))
    order = reading_order(target, names)
    at = order.index(layer.name) if layer else len(order)
    before, behind = set(order[:at]), set(order[at + 1 :])
    head = [block for block in pack.blocks if block.layer in before]
    tail = [block for block in pack.blocks if block.layer in behind]
    return _text(target, head, "head"), _text(target, tail, "tail")


def _live(
    ctxfile: Ctxfile,
    target: Target,
    layer: Layer,
    others: tuple[Layer, ...],
    messages: Sequence[Message],
) -> Target:
    """The target with its session as it is now; without it where nothing looks at it."""
    cache = cache_directory(ctxfile)
    looked_at = any(each.restate or each.hydrate for each in others)
    if not looked_at or not cachedir.prepare(cache, _heard_later):
        budget = target.budget - _slice(target)
        return target._replace(layers=others, budget=max(budget, target.reserve + 1))
    path = cache / SESSIONS / f"{target.name}.jsonl"
    rows = (json.dumps(message, default=str) for message in messages)
    write_if_changed(path, "".join(f"{row}\n" for row in rows).encode())
    now = layer._replace(patterns=(os.fspath(path.absolute()),), budget=_slice(target))
    layers = tuple(now if each is layer else each for each in target.layers)
    return target._replace(layers=layers)


def _heard_later(line: str) -> None:
    """Takes a warning that the session, opened next, gives too."""


def _text(target: Target, blocks: list[Block], where: str) -> str:
    from ctxbuild.pack import render

    if not blocks:
        return ""
    title = render.title(target.name) if where == "head" else ""
    return _marked(target.name, title + render.body(blocks, target.headers))


def _marked(name: str, text: str) -> str:
    from ctxbuild.pack.assembling import MARK

    return f"{MARK} {name} -->\n{text}"


# --- what outlives a session --------------------------------------------------------------


def remember(
    finding: str,
    *,
    project: Project | Ctxfile | str | os.PathLike[str] = ".",
    to: str | None = None,
) -> dict[str, Any]:
    """Adds a finding to the notes file, which later sessions read.

    Args:
        finding: `path: found X; severity Y; suggest Z`; the last two may be left out.
        project: as for `assemble`.
        to: the notes file; None for the one that the ctxfile's `memory` layers read.

    Returns:
        The file, whether the finding was new, and the finding, as plain data.

    Raises:
        UsageError: it is no finding, or a path lies outside the project.
        SourceError, StoreError: the file cannot be read or written.
    """
    from ctxbuild.facts.notes import finding_of
    from ctxbuild.serve.expand import within
    from ctxbuild.serve.noting import note_add, notes_file

    ctxfile = _ctxfile(project)
    path = notes_file(ctxfile, to)
    root = os.path.realpath(ctxfile.root)
    within(root, os.path.realpath(os.path.join(root, within(ctxfile.root, path))))
    told = finding_of(" ".join(finding.split()))
    if told is not None:
        within(ctxfile.root, told.path)
    added = note_add(ctxfile.root, path, finding)
    data = {name: getattr(added.finding, name) for name in ("found", "severity", "suggest")}
    return {"file": added.path, "new": added.new, "path": added.finding.path, **data}
