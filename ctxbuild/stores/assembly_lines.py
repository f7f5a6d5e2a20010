"""A line of the log of builds: as data, as JSON, and read back whatever somebody did to it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

VERSION: Final = 1
_SHOWN: Final = 5

Mark = Literal["success", "retry", "failure"]
MARKS: Final[tuple[Mark, ...]] = get_args(Mark)


@dataclass(frozen=True, slots=True)
class Build:
    """A build as its line has it.

    Attributes:
        build: its name: first digits of the digest of its inputs, and its number.
        number: 1, 2, … in the log of a project.
        at: seconds since 1970 when it was made.
        inputs: SHA-256 of all that it was made of.
        record: name of the first part of its record.
        plan: name of the part that is its plan as JSON.
        files: (name of an output, SHA-256 of its content).
        parts: bytes of the parts that came with it.
        total: bytes of the parts of all builds that the log holds, as far as known.
        count: builds that the log holds.
        metrics: see `compare/metrics.py`.
    """

    build: str
    number: int
    at: int
    target: str
    digest: str
    inputs: str
    record: str
    plan: str
    files: tuple[tuple[str, str], ...]
    parts: int
    total: int
    count: int
    metrics: dict[str, Any] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """As plain data."""
        shown = ("build", "number", "at", "target", "digest", "inputs")
        return {**{name: getattr(self, name) for name in shown}, **self.metrics}


@dataclass(frozen=True, slots=True)
class Marked:
    """What somebody said of a build afterwards."""

    build: str
    mark: Mark
    note: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class Story:
    """What the log holds, oldest first.

    Attributes:
        damaged: how many lines could not be read.
        foreign: how many lines another version of ctxbuild wrote.
    """

    lines: tuple[Build | Marked, ...]
    damaged: int = 0
    foreign: int = 0

    @property
    def builds(self) -> tuple[Build, ...]:
        """The builds alone."""
        return tuple(each for each in self.lines if isinstance(each, Build))

    def marks(self, build: str) -> tuple[Marked, ...]:
        """The marks of a build."""
        return tuple(e for e in self.lines if isinstance(e, Marked) and e.build == build)


def row_of(data: dict[str, Any]) -> bytes:
    """A line as bytes, its version first."""
    return json.dumps({"v": VERSION, **data}, separators=(",", ":")).encode() + b"\n"


def build_data(build: Build) -> dict[str, Any]:
    """A build as the plain data of its line."""
    names = [name for name in Build.__slots__ if name != "files"]
    data = {name: getattr(build, name) for name in names}
    return {"kind": "build", **data, "files": dict(build.files)}


def mark_data(line: Marked) -> dict[str, Any]:
    """A mark as plain data."""
    return {"build": line.build, "mark": line.mark, "note": line.note, "at": line.at}


def line_in(row: bytes) -> Build | Marked | int | None:
    """A line; the version of one that another ctxbuild wrote; None for a damaged one."""
    try:
        data = json.loads(row)
        version = data["v"]
        if version != VERSION:
            return int(version)
        kind = data["kind"]
        if kind == "mark":
            mark = Marked(str(data["build"]), data["mark"], str(data["note"]), int(data["at"]))
            return mark if mark.mark in MARKS else None
        return _build(data) if kind == "build" else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _build(data: dict[str, Any]) -> Build:
    return Build(
        build=str(data["build"]),
        number=int(data["number"]),
        at=int(data["at"]),
        target=str(data["target"]),
        digest=str(data["digest"]),
        inputs=str(data["inputs"]),
        record=str(data["record"]),
        plan=str(data["plan"]),
        parts=int(data["parts"]),
        total=int(data["total"]),
        count=int(data["count"]),
        files=tuple((str(name), str(digest)) for name, digest in data["files"].items()),
        metrics=dict(data["metrics"]),
    )


def listed(builds: Iterable[Build]) -> str:
    """Names of builds for people, the last ones first."""
    some = list(builds)
    names = ", ".join(f"{each.build} ({each.target})" for each in some[-_SHOWN:][::-1])
    return names + (f" and {len(some) - _SHOWN} more" if len(some) > _SHOWN else "")


def near(builds: tuple[Build, ...], wanted: str) -> str:
    """What may be meant: names and targets that are like it, else the last builds."""
    if not builds:
        return "`ctxbuild build` logs what it builds"
    from difflib import get_close_matches

    names = {name: b for b in builds for name in (b.build, b.build.partition("-")[0], b.target)}
    near = [names[name] for name in get_close_matches(wanted, names, _SHOWN, 0.5)]
    meant = list(dict.fromkeys(each.build for each in near))
    if meant:
        return f"did you mean {', '.join(meant)}?"
    return f"the last ones are {listed(builds)}"
