"""A pack read back from `NAME.pack.json`, checked, and its text written again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, get_args

from ctxbuild.errors import UsageError
from ctxbuild.facts import language_of
from ctxbuild.model import Block, FormName, Reason
from ctxbuild.pack import render
from ctxbuild.pack.artifact import PACK_SCHEMA

_FORMS = frozenset(get_args(FormName))


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason as the artifact has it: with the line that says so, None where none does."""

    kind: str
    unit: str = ""
    path: str = ""
    line: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A block of an artifact. The fields are those of `model.Block`, and the unit's lines."""

    unit: str
    path: str
    symbol: str
    form: FormName
    layer: str
    section: str
    tokens: int
    digest: str
    score: float
    lines: tuple[int, int] | None
    reasons: tuple[Cause, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Head:
    """What an artifact says of itself besides its blocks."""

    target: str
    digest: str
    tokenizer: str
    budget: int
    reserve: int
    tokens: int
    warnings: tuple[str, ...] = ()
    questions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Artifact:
    """A pack as its artifact has it: blocks in order, each unit once."""

    head: Head
    blocks: tuple[Shown, ...]


def parse(data: bytes, name: str) -> Artifact:
    """An artifact from the bytes of a `NAME.pack.json`.

    Args:
        data: the file's content.
        name: what to call it in messages.

    Raises:
        UsageError: it is no artifact, or one that a newer version made.
    """
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: is not a pack: it is not JSON ({error})", _HINT) from error
    if not isinstance(raw, dict) or not str(raw.get("schema", "")).startswith("ctxbuild.pack/"):
        raise UsageError(f"{name}: is not a pack: it has no schema `{PACK_SCHEMA}`", _HINT)
    if raw["schema"] != PACK_SCHEMA:
        raise UsageError(
            f"{name}: has the schema {raw['schema']!r}, this ctxbuild reads {PACK_SCHEMA!r}",
            "build it again, or upgrade ctxbuild",
        )
    try:
        return from_data(raw)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{name}: is not a whole pack ({error!r})", _HINT) from error


_HINT = "name a NAME.pack.json that `ctxbuild build` wrote"


def from_data(raw: dict[str, Any]) -> Artifact:
    """An artifact from plain data.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: something is missing or wrong.
    """
    blocks = tuple(map(shown_from, raw["blocks"]))
    units = [block.unit for block in blocks]
    if len(set(units)) < len(units):
        twice = next(unit for unit in units if units.count(unit) > 1)
        raise ValueError(f"unit {twice!r} stands in it twice")
    head = Head(
        target=str(raw["target"]),
        digest=str(raw["digest"]),
        tokenizer=str(raw["tokenizer"]),
        budget=int(raw["budget"]),
        reserve=int(raw["reserve"]),
        tokens=int(raw["tokens"]),
        warnings=tuple(map(str, raw.get("warnings", ()))),
        questions=tuple((str(k), str(v)) for k, v in raw.get("questions", {}).items()),
    )
    return Artifact(head, blocks)


def shown_from(raw: dict[str, Any]) -> Shown:
    """A block from plain data; raises as `from_data`."""
    form = raw["form"]
    if form not in _FORMS:
        raise ValueError(f"no form is called {form!r}")
    lines = raw.get("lines")
    return Shown(
        unit=str(raw["unit"]),
        path=str(raw["path"]),
        symbol=raw.get("symbol") or "",
        form=form,
        layer=str(raw["layer"]),
        section=str(raw["section"]),
        tokens=int(raw["tokens"]),
        digest=str(raw["digest"]),
        score=float(raw["score"]),
        lines=None if lines is None else (int(lines[0]), int(lines[1])),
        reasons=tuple(_cause(each) for each in raw["reasons"]),
        text=str(raw["text"]),
    )


def _cause(raw: dict[str, Any]) -> Cause:
    line = raw.get("line")
    return Cause(
        raw["kind"],
        raw.get("unit", ""),
        raw.get("path", ""),
        None if line is None else int(line),
        raw.get("detail", ""),
    )


def data_of(shown: Shown) -> dict[str, Any]:
    """A block as plain data, as `shown_from` takes it."""
    data = asdict(shown)
    data["lines"] = list(shown.lines) if shown.lines else None
    data["symbol"] = shown.symbol or None
    data["reasons"] = [
        {key: value for key, value in asdict(cause).items() if value not in ("", None)}
        for cause in shown.reasons
    ]
    return data


def text_of(artifact: Artifact) -> str | None:
    """What the model read, byte for byte; None where the artifact does not tell.

    The artifact does not say in which format and with which headers: the digest does.
    """
    blocks = [_block(shown) for shown in artifact.blocks]
    for form, headers in (("md", "lean"), ("md", "full"), ("xml", "lean"), ("json", "lean")):
        text = render.rendering(form, artifact.head.target, blocks, headers)
        if f"sha256:{sha256(text.encode()).hexdigest()}" == artifact.head.digest:
            return text
    return None


def _block(shown: Shown) -> Block:
    return Block(
        unit=shown.unit,
        path=shown.path,
        symbol=shown.symbol,
        form=shown.form,
        layer=shown.layer,
        section=shown.section,
        language=language_of(shown.path) or "",
        text=shown.text,
        tokens=shown.tokens,
        digest=shown.digest.removeprefix("sha256:"),
        score=shown.score,
        reasons=tuple(
            Reason(cause.kind, cause.unit, None, cause.detail) for cause in shown.reasons
        ),
        lines=None if shown.unit == shown.path else shown.lines,
    )
