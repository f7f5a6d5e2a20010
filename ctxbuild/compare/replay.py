"""A recorded assembly planned again, as it was or with exactly one thing changed.

Nothing is read but the record: the working tree may have changed since, or be gone.
The plan is made by the code that made it in the build (`pack/planning.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ctxbuild.compare.artifact import parse
from ctxbuild.compare.diff import Difference, difference
from ctxbuild.errors import UsageError
from ctxbuild.facts import language_of
from ctxbuild.model import Candidate, Lines, Outline, Plan, Proposal, Reason, Rung
from ctxbuild.pack import render
from ctxbuild.pack.planning import Gathered, files_of, packed, planned
from ctxbuild.pack.record import Assembly
from ctxbuild.source import schema

if TYPE_CHECKING:
    from ctxbuild.compare.artifact import Artifact, Shown
    from ctxbuild.model import Pack, Symbol
    from ctxbuild.pack.tokens import Counter
    from ctxbuild.source.ctxfile import Layer, Target


@dataclass(frozen=True, slots=True)
class Replayed:
    """What planning a recorded assembly again gave.

    Attributes:
        files: the output files by name.
    """

    pack: Pack
    plan: Plan
    files: dict[str, bytes]

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of every file, in hexadecimal."""
        return {name: sha256(data).hexdigest() for name, data in self.files.items()}

    @property
    def artifact(self) -> Artifact:
        """The pack as an artifact."""
        name = f"{self.pack.target}.pack.json"
        return parse(self.files[name], name)


def replayed(assembly: Assembly, count: Counter) -> Replayed:
    """Plans and renders a recorded assembly.

    Args:
        assembly: as `pack/record.restored` gives it.
        count: counts in its encoding.

    Raises:
        BudgetError: what is pinned does not fit; only after something was changed.
    """
    problems = dict(assembly.problems)
    target = assembly.gathered.target
    made = planned(assembly.gathered, _Recorded(), lambda path: problems.get(path, ()), count)
    pack = packed(target, assembly.tokenizer, made.fitted.blocks, made.rest)
    shown = assembly.placed(pack)
    return Replayed(pack, made.plan, files_of(target, shown, made.plan, assembly.lines_of))


class _Recorded:
    """The texts of an assembly whose rungs bring theirs: nothing else is known."""

    def text(self, path: str) -> str:
        raise _unrecorded(path)

    def skeleton(self, path: str) -> str:
        raise _unrecorded(path)

    def outline(self, path: str) -> Outline:
        raise _unrecorded(path)

    def symbol(self, path: str, name: str) -> tuple[Symbol, ...]:
        raise _unrecorded(f"{path}::{name}")

    def lines(self, path: str) -> Lines:
        raise _unrecorded(path)

    def body(self, path: str, name: str) -> str:
        raise _unrecorded(f"{path}::{name}")


def _unrecorded(unit: str) -> UsageError:
    return UsageError(f"{unit}: the record has no text of it", "build again to record it anew")


def compared(before: Replayed, after: Replayed) -> Difference:
    """What a change made of the pack."""
    return difference(before.artifact, after.artifact)


# --- one layer --------------------------------------------------------------------------


def swapped(assembly: Assembly, name: str, file: str, data: bytes) -> Assembly:
    """An assembly with the content of one layer replaced.

    Args:
        assembly: as recorded.
        name: the layer.
        file: where the content is from: a `NAME.pack.json` gives the blocks of its layer
            of that name, any other file its text as one block.
        data: the content.

    Raises:
        UsageError: there is no such layer, here or in the pack; the file is no text.
    """
    names = [layer.name for layer in assembly.gathered.target.layers]
    if name not in names:
        raise UsageError(f"no layer {name!r} was recorded", _near(name, names))
    old = dict(assembly.gathered.proposals)[name]
    pinned = dict(_layers(assembly.gathered.target))[name].pin
    if file.endswith(".pack.json"):
        candidates = _of_pack(parse(data, file), name, file)
    else:
        candidates = (_of_text(name, file, _text(data, file), old),)
    candidates = tuple(replace(each, pinned=pinned) for each in candidates)
    languages = dict(assembly.gathered.languages)
    languages |= {each.path: language_of(each.path) or "" for each in candidates}
    proposal = Proposal(candidates, record={"swapped": os.path.basename(file)})
    proposals = tuple(
        (layer, proposal if layer == name else one) for layer, one in assembly.gathered.proposals
    )
    gathered = replace(assembly.gathered, proposals=proposals, languages=tuple(languages.items()))
    return replace(assembly, gathered=gathered)


def _text(data: bytes, file: str) -> str:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: is not UTF-8", "swap in a text") from error
    return text if text.endswith("\n") or not text else text + "\n"


def _of_text(layer: str, file: str, text: str, old: Proposal) -> Candidate:
    """A file as the one block of a layer; in prose where the layer's blocks are prose."""
    path = os.path.basename(file)
    sections = [each.section for each in old.candidates]
    prose = next((each for each in sections if each in render.SESSION_TITLES), None)
    return Candidate(
        unit=f"{path}#swapped" if prose else path,
        path=path,
        symbol="swapped" if prose else "",
        layer=layer,
        section=prose or "",
        order=0,
        ladder=(Rung("full", text=text),),
        score=1.0,
        reasons=(Reason("swapped", detail=path),),
        language="" if prose else None,
    )


def _of_pack(artifact: Artifact, layer: str, file: str) -> tuple[Candidate, ...]:
    """The blocks of a layer of another pack."""
    blocks = [block for block in artifact.blocks if block.layer == layer]
    if not blocks:
        names = list(dict.fromkeys(block.layer for block in artifact.blocks))
        raise UsageError(
            f"{file}: its pack shows nothing of a layer {layer!r}", _near(layer, names)
        )
    return tuple(_of_block(block, order, file) for order, block in enumerate(blocks))


def _of_block(block: Shown, order: int, file: str) -> Candidate:
    prose = block.section in render.SECTIONS_AS_PROSE
    return Candidate(
        unit=block.unit,
        path=block.path,
        symbol=block.symbol,
        layer=block.layer,
        section=block.section,
        order=order,
        ladder=(Rung(block.form, text=block.text),),
        score=block.score,
        reasons=(Reason("swapped", detail=os.path.basename(file)),),
        language="" if prose else None,
        lines=block.lines,
    )


# --- one variable -----------------------------------------------------------------------


def varied(assembly: Assembly, key: str, value: str) -> Assembly:
    """An assembly with one variable set to another value.

    Args:
        assembly: as recorded.
        key: `budget` (or `cap`), `reserve`, `headers`, `layout` (or `order`), `formats`;
            `layers`: their names in another order; `LAYER.budget`, `LAYER.pin`,
            `LAYER.priority`, `LAYER.position`, `LAYER.form`: the best form that the layer
            may have.
        value: as text.

    Raises:
        UsageError: there is no such variable or layer, or it cannot have this value.
    """
    layer, dot, variable = key.rpartition(".")
    target = assembly.gathered.target
    if dot:
        return _varied_layer(assembly, layer, variable, value)
    setter = _TARGET.get(_ALIASES.get(key, key))
    if setter is None:
        raise UsageError(f"there is no variable {key!r}", _near(key, [*_TARGET, *_OF_LAYERS]))
    return replace(assembly, gathered=setter(assembly.gathered, target, value))


_ALIASES = {"cap": "budget", "order": "layout", "format": "formats"}


def _with_target(key: str) -> Callable[[Gathered, Target, str], Gathered]:
    declared = {each.name: each for each in schema.TARGET}[key]

    def change(gathered: Gathered, target: Target, value: str) -> Gathered:
        made = target._replace(**{key: _value(declared, key, value)})
        if made.reserve >= made.budget:
            raise UsageError(
                f"{key} {value}: a reserve of {made.reserve} leaves nothing of {made.budget}",
                "set another number of tokens",
            )
        return replace(gathered, target=made)

    return change


def _reordered(gathered: Gathered, target: Target, value: str) -> Gathered:
    names = [name.strip() for name in value.split(",")]
    declared = dict(_layers(target))
    if sorted(names) != sorted(declared):
        raise UsageError(
            f"layers {value}: not the recorded ones in another order",
            f"name each of {', '.join(declared)} once",
        )
    layers = tuple(declared[name]._replace(position=None) for name in names)
    proposals = dict(gathered.proposals)
    return replace(
        gathered,
        target=target._replace(layers=layers),
        # What stands once more at the end is no declared layer, and stays there.
        proposals=tuple({**{name: proposals[name] for name in names}, **proposals}.items()),
    )


_TARGET: Mapping[str, Callable[[Gathered, Target, str], Gathered]] = {
    **{key: _with_target(key) for key in ("budget", "reserve", "headers", "layout", "formats")},
    "layers": _reordered,
}
_OF_LAYER = ("budget", "pin", "priority", "position", "form")
_OF_LAYERS = tuple(f"LAYER.{name}" for name in _OF_LAYER)


def _varied_layer(assembly: Assembly, name: str, variable: str, value: str) -> Assembly:
    target = assembly.gathered.target
    layers = dict(_layers(target))
    if name not in layers:
        raise UsageError(f"no layer {name!r} was recorded", _near(name, list(layers)))
    if variable not in _OF_LAYER:
        raise UsageError(f"layers have no variable {variable!r}", _near(variable, _OF_LAYER))
    declared = {each.name: each for each in schema.LAYER}[variable]
    wanted = _value(declared, f"{name}.{variable}", value)
    layers[name] = layers[name]._replace(**{variable: wanted})
    made = target._replace(layers=tuple(layers.values()))
    proposals = dict(assembly.gathered.proposals)
    if variable == "pin":
        proposals[name] = _pinned(proposals[name], pin=wanted)
    if variable == "form":
        proposals[name] = _at_best(proposals[name], wanted)
    gathered = replace(assembly.gathered, target=made, proposals=tuple(proposals.items()))
    return replace(assembly, gathered=gathered)


def _layers(target: Target) -> list[tuple[str, Layer]]:
    return [(layer.name, layer) for layer in target.layers]


def _pinned(proposal: Proposal, *, pin: bool) -> Proposal:
    candidates = tuple(replace(each, pinned=pin) for each in proposal.candidates)
    return replace(proposal, candidates=candidates)


_FORMS = ("name", "summary", "skeleton", "slice", "full")


def _at_best(proposal: Proposal, form: str) -> Proposal:
    """Candidates without the rungs above a form; one that has only such rungs goes."""
    best = _FORMS.index(form)
    candidates = []
    for each in proposal.candidates:
        ladder = tuple(rung for rung in each.ladder if _FORMS.index(rung.form) <= best)
        if ladder:
            candidates.append(replace(each, ladder=ladder))
    return replace(proposal, candidates=tuple(candidates))


_FLAGS = {"true": True, "false": False}


def _value(key: schema.Key, name: str, value: str) -> Any:
    """A value of a ctxfile's key from its text.

    Raises:
        UsageError: the key cannot have it.
    """
    if key.kind in ("tokens", "count"):
        digits = value.replace("_", "").replace(",", "")
        if not digits.isdecimal() or not key.least <= int(digits) <= schema.MAX_TOKENS:
            raise UsageError(f"{name} {value!r}: is no number of at least {key.least}")
        return int(digits)
    if key.kind == "flag":
        if value not in _FLAGS:
            raise UsageError(f"{name} {value!r}: is neither true nor false")
        return _FLAGS[value]
    words = tuple(value.split(",")) if key.kind == "choices" else (value,)
    for word in words:
        if word not in key.choices:
            raise UsageError(f"{name} {word!r}: there is no such choice", _near(word, key.choices))
    return words if key.kind == "choices" else value


def _near(name: str, names: Any) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
