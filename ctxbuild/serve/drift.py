"""Whether targets' packs still state their task, the files under work and the findings.

The task is what a layer named `task` holds and what the user said first in a session.
Under work are the files of a `diff` layer and those that the last turns of a session
edited. The packs are those that a build would give now; nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxbuild.compare.drift import Movement, Wanted, missing, movement, task
from ctxbuild.errors import CtxbuildError, ModelError
from ctxbuild.facts.notes import read_notes
from ctxbuild.facts.transcript import Turn, read_transcript
from ctxbuild.facts.transcript_calls import deeds_of
from ctxbuild.pack.render import markdown
from ctxbuild.serve.fresh import named
from ctxbuild.source.outside import read_file

if TYPE_CHECKING:
    from ctxbuild.serve.check import Made, Rehearsal
    from ctxbuild.source.ctxfile import Ctxfile, Layer, Target
    from ctxbuild.source.model_client import ModelClient

WINDOW = 6
"""Turns at either end of a session that are compared, and whose edits are under work."""

TASK = "task"
_CHANGES = frozenset({"edit", "write"})
_LONGEST = 200_000


class Probe(NamedTuple):
    """What a model says that the pack is about, and whether that is the task."""

    answer: str
    same: bool
    why: str


@dataclass(frozen=True, slots=True)
class Drifted:
    """What was found about one target.

    Attributes:
        wanted: how many things the pack must state, by kind.
        missing: those that it does not, with the rows that are not there.
        movement: per session: (file, how far it has moved from its task).
        probe: None where no model was asked, or none answered.
        warnings: why the model was not heard.
        error: why the target cannot be built, "" if it can.
    """

    name: str
    wanted: dict[str, int]
    missing: tuple[tuple[Wanted, tuple[str, ...]], ...]
    movement: tuple[tuple[str, Movement], ...] = ()
    probe: Probe | None = None
    warnings: tuple[str, ...] = ()
    error: str = ""

    @property
    def bad(self) -> bool:
        """Whether something that must be there is missing."""
        lost = self.probe is not None and not self.probe.same
        return bool(self.missing or self.error or lost)

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "name": self.name,
            "ok": not self.bad,
            "wanted": dict(self.wanted),
            "missing": [
                {"kind": w.kind, "what": w.what, "origin": w.origin, "rows": list(rows)}
                for w, rows in self.missing
            ],
            "movement": [_movement(path, each) for path, each in self.movement],
            "probe": self.probe._asdict() if self.probe else None,
            **({"error": self.error} if self.error else {}),
        }


def _movement(path: str, moved: Movement) -> dict[str, Any]:
    return {
        "transcript": path,
        "terms": moved.terms,
        "turns": moved.turns,
        "window": moved.window,
        "first": moved.first,
        "last": moved.last,
        "moved": moved.moved,
        "gone": list(moved.gone),
    }


def drift(
    session: Rehearsal,
    ctxfile: Ctxfile,
    names: Iterable[str] = (),
    window: int = WINDOW,
    model: ModelClient | None = None,
) -> tuple[Drifted, ...]:
    """Looks at targets' packs as a build would give them now.

    Args:
        session: on the project.
        ctxfile: the project as declared.
        names: targets; none means all that have a task, a session, changes or findings.
        window: turns at either end that are compared.
        model: asked what the pack is about; None to ask none.

    Raises:
        UnknownTarget: a name that the ctxfile does not have.
    """
    wanted = list(names)
    chosen = named(ctxfile, wanted)
    if not wanted:
        chosen = [name for name in chosen if _has_aim(ctxfile.target(name))]
    return tuple(
        _drifted(ctxfile, name, made, window, model) for name, made in session.files(chosen)
    )


def _has_aim(target: Target) -> bool:
    aims = {"diff", "transcript", "memory"}
    return any(each.source in aims or each.name == TASK for each in target.layers)


def _drifted(
    ctxfile: Ctxfile, name: str, made: Made | CtxbuildError, window: int, model: ModelClient | None
) -> Drifted:
    if isinstance(made, CtxbuildError):
        return Drifted(name, {}, (), error=str(made))
    target, root = ctxfile.target(name), ctxfile.root
    talks = {path: _turns(root, path) for path in _sessions(target)}
    wanted = list(dict.fromkeys(_wanted(target, root, made, talks, window)))
    counts = {
        kind: sum(each.kind == kind for each in wanted) for kind in ("task", "file", "finding")
    }
    text = markdown(name, made.pack.blocks, target.headers)
    tasks = [each for each in wanted if each.kind == "task"]
    moved = tuple(_moved(talks, tasks, window))
    found = Drifted(name, counts, missing(text, wanted), moved)
    return _probed(found, text, tasks, model) if model is not None else found


def _sessions(target: Target) -> list[str]:
    return [each.patterns[0] for each in target.layers if each.source == "transcript"]


def _turns(root: str, path: str) -> tuple[Turn, ...]:
    return read_transcript(read_file(root, path)).turns


# --- what must be stated ------------------------------------------------------------------


def _wanted(
    target: Target, root: str, made: Made, talks: dict[str, tuple[Turn, ...]], window: int
) -> Iterator[Wanted]:
    for layer in target.layers:
        if layer.name == TASK and layer.source == "files":
            yield from _told(layer, root)
        if layer.source == "memory" and not layer.option("about"):
            for finding in read_notes(read_file(root, layer.patterns[0])).findings:
                yield Wanted("finding", finding.text, layer.patterns[0], (finding.text,))
    for path, turns in talks.items():
        first = _first_said(turns)
        if first is not None:
            yield task(_said(first), f"{path}#turn-{first.number}")
    yield from _changed(target, made)
    for path, turns in talks.items():
        for turn in turns[-window:]:
            yield from (
                Wanted("file", file, f"{path}#turn-{turn.number}", (file,))
                for file in _edited(turn, root)
            )


def _told(layer: Layer, root: str) -> Iterator[Wanted]:
    for path in layer.patterns:
        text = read_file(root, path).decode("utf-8", "replace")
        if text.strip():
            yield task(text, path)


def _first_said(turns: Iterable[Turn]) -> Turn | None:
    return next((turn for turn in turns if turn.role == "user"), None)


def _said(turn: Turn) -> str:
    return "\n".join(record.text for record in turn.records if record.kind == "text")


def _changed(target: Target, made: Made) -> Iterator[Wanted]:
    """The files of `diff` layers: every hunk is a candidate, shown or left out."""
    import orjson

    layers = {each.name for each in target.layers if each.source == "diff"}
    if not layers:
        return
    plan = orjson.loads(made.files[f"{target.name}.plan.json"])
    for each in plan["candidates"]:
        path, mark, part = each["unit"].rpartition("@")
        if each["layer"] in layers and mark and part.startswith("hunk-"):
            yield Wanted("file", path, each["layer"], (path,))


def _edited(turn: Turn, root: str) -> Iterator[str]:
    for record in turn.records:
        if record.kind == "call":
            for deed in deeds_of(record):
                if deed.kind in _CHANGES and deed.path:
                    yield _inside(deed.path, root)


def _inside(path: str, root: str) -> str:
    """A path as the project has it: a session may name it from another root."""
    parts = path.replace("\\", "/").split("/")
    for start in range(len(parts)):
        rest = "/".join(parts[start:])
        if rest and not os.path.isabs(rest) and os.path.isfile(os.path.join(root, rest)):
            return os.path.normpath(rest).replace(os.sep, "/")
    return path


# --- how far it has moved -----------------------------------------------------------------


def _moved(
    talks: dict[str, tuple[Turn, ...]], tasks: list[Wanted], window: int
) -> Iterator[tuple[str, Movement]]:
    for path, turns in talks.items():
        first = _first_said(turns)
        start = turns.index(first) + 1 if first is not None else 0
        said = "\n".join(row for each in tasks for row in each.rows)
        texts = [_spoken(turn) for turn in turns[start:] if turn.role != "system"]
        moved = movement(said, texts, window)
        if moved is not None and moved.terms:
            yield path, moved


def _spoken(turn: Turn) -> str:
    """What a turn says and calls; not what came back."""
    pieces = []
    for record in turn.records:
        if record.kind in {"text", "thinking"}:
            pieces.append(record.text[:_LONGEST])
        elif record.kind == "call":
            pieces += [value[:_LONGEST] for _, value in record.arguments]
    return "\n".join(pieces)


# --- the probe ----------------------------------------------------------------------------

_QUESTION = "What are you reviewing? Answer in at most three sentences, from the context alone."
_JUDGE = (
    "You compare a task with what somebody says that they are working on. Say whether it is the "
    "same task: the same aim on the same things. Wording does not matter."
)


def _probed(found: Drifted, text: str, tasks: list[Wanted], model: ModelClient) -> Drifted:
    """Asks a model what the pack is about, and whether that is the task."""
    from dataclasses import replace

    if not tasks:
        warning = f"{found.name}: no task is stated anywhere, so no model was asked"
        return replace(found, warnings=(warning,))
    try:
        answer = model.say([("system", text), ("user", _QUESTION)])
        told = "\n".join(row for each in tasks for row in each.rows)
        asked = f"# Task\n\n{told}\n\n# Answer\n\n{answer}\n"
        judged = model.ask([("system", _JUDGE), ("user", asked)], _judgement(), "judgement")
    except ModelError as error:
        return replace(found, warnings=(f"{found.name}: the probe was left out: {error}",))
    return replace(found, probe=Probe(answer.strip(), judged.same, judged.why))


def _judgement() -> Any:
    import msgspec

    return msgspec.defstruct(
        "Judgement", [("same", bool), ("why", str)], forbid_unknown_fields=True
    )
