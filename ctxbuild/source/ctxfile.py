"""The ctxfile as data: targets and their layers; found, loaded, and declared to the engine."""

from __future__ import annotations

import os
from typing import Any, Literal, NamedTuple

from ctxbuild.errors import CtxfileError, UnknownTarget
from ctxbuild.source.defaults import DEFAULT_BUDGET
from ctxbuild.source.selection import Scope

FILE_NAME = "ctxfile.toml"

Form = Literal["full", "skeleton", "summary", "name"]
Docstrings = Literal["auto", "full", "first", "none"]
Source = Literal["files", "entry", "question", "docs", "diff", "transcript", "memory"]


class Layer(NamedTuple):
    """An ordered part of a target.

    Attributes:
        name: unique in its target.
        source: which kind of source it is drawn from.
        patterns: what the source key says: globs, or the one text of a `question`, `diff`,
            `transcript` or `memory`.
        budget: most tokens it may have, None for what its target has left.
        pin: nothing of it is dropped or shortened.
        priority: layers are filled from high to low; above 0, what others leave unused flows
            on to it.
        position: where it stands; None where it is declared, between prefix and suffix.
        restate: turns of a session from which on it is said once more at the end; 0 never.
        hydrate: whether units that a session is about to change stand in it in full.
        form: how much of each file is shown at best; None for `entry`.
        docstrings, dependents, tests, bodies: for `entry`; the target's unless it has its own.
        options: (name, value) of the options that only layers of its source have, in the
            order of `schema.OPTIONS`, defaults filled in.
    """

    name: str
    source: Source
    patterns: tuple[str, ...]
    budget: int | None = None
    pin: bool = False
    form: Form | None = None
    docstrings: Docstrings = "auto"
    dependents: int = 0
    tests: bool = False
    bodies: bool = False
    options: tuple[tuple[str, Any], ...] = ()
    priority: int = 0
    position: Literal["prefix", "middle", "suffix"] | None = None
    restate: int = 0
    hydrate: bool = False

    def option(self, name: str) -> Any:
        """The value of an option that layers of this source have."""
        return dict(self.options)[name]


class CheckRule(NamedTuple):
    """A check of outputs that a target declares.

    Attributes:
        pattern: a regular expression that is tried on every line.
        path: a glob of the outputs that are meant, "" for all.
        language: of the outputs that are meant, "" for all.
        required: the pattern must be found, where else it must not.
        target: whose rule it is.
    """

    name: str
    pattern: str
    path: str = ""
    language: str = ""
    message: str = ""
    level: Literal["error", "warning", "note"] = "error"
    required: bool = False
    target: str = ""


class Target(NamedTuple):
    """One pack to build; `extends` is resolved.

    Attributes:
        name: also the stem of its output files.
        layers: in the order they are shown; at least one.
        budget: most tokens, the reserve included.
        reserve: tokens of the budget that are kept free for the answer.
        headers, layout: see the reference of the ctxfile.
        formats: renderings to write: "md", "xml", "json".
        prefer: path of an earlier pack whose layout is kept, relative to the ctxfile; None
            for a layout that depends on the sources alone.
        docstrings, dependents, tests, bodies: what its `entry` layers have by default.
        rules: what `ctxbuild lint` checks besides the packet's items.
        forbid: signs of rot for which a check fails.
        oversized, noise, duplication, domination: their thresholds, see `pack/rot.py`.
    """

    name: str
    layers: tuple[Layer, ...]
    budget: int = DEFAULT_BUDGET
    reserve: int = 0
    headers: Literal["lean", "full"] = "lean"
    layout: Literal["stable", "edges", "score"] = "stable"
    formats: tuple[Literal["md", "xml", "json"], ...] = ("md",)
    docstrings: Docstrings = "auto"
    dependents: int = 0
    tests: bool = False
    bodies: bool = False
    prefer: str | None = None
    rules: tuple[CheckRule, ...] = ()
    forbid: tuple[str, ...] = ()
    oversized: float = 0.9
    noise: float = 0.3
    duplication: int = 2
    domination: float = 0.6


class Project(NamedTuple):
    """What holds for every target.

    Attributes:
        include, exclude: gitignore-style globs.
        tokenizer: the encoding that counts tokens.
        cache, out: directories as written, relative to the ctxfile or absolute.
        hidden, vendored, secrets: whether such files are let in.
    """

    include: tuple[str, ...] = ("**",)
    exclude: tuple[str, ...] = ()
    tokenizer: str = "o200k_base"
    cache: str = ".ctxbuild"
    out: str = ".ctxbuild/packs"
    hidden: bool = False
    vendored: bool = False
    secrets: bool = False

    def scope(self) -> Scope:
        """What of it affects the selection of sources."""
        inside = (os.path.normpath(path).replace(os.sep, "/") for path in (self.cache, self.out))
        own = tuple(p for p in inside if not os.path.isabs(p) and p != "." and p[:3] != "../")
        flags = (self.hidden, self.vendored, self.secrets)
        return Scope(self.include, self.exclude, tuple(sorted(set(own))), *flags)


class Ctxfile(NamedTuple):
    """A checked ctxfile.

    Attributes:
        path: the file as given; "" if there is none.
        root: its directory, absolute.
        project: what holds for every target.
        targets: in file order.
    """

    path: str
    root: str
    project: Project
    targets: tuple[Target, ...]

    def target(self, name: str) -> Target:
        """The target of that name.

        Raises:
            UnknownTarget: there is none; the message suggests a similar one.
        """
        for target in self.targets:
            if target.name == name:
                return target
        from ctxbuild.source.check import suggestion

        names = [target.name for target in self.targets]
        raise UnknownTarget(
            f"{self.path or FILE_NAME}: no target {name!r}{suggestion(name, names)}",
            "it declares " + ", ".join(names),
        )


def declaration(target: Target, tokenizer: str) -> bytes:
    """All that a target's pack depends on besides its sources: equal bytes, equal meaning."""
    # Rules check outputs: no pack depends on them.
    return repr((target._replace(rules=()), tokenizer)).encode()


def find(start: str) -> str | None:
    """The nearest `ctxfile.toml` in directory `start` or above it."""
    directory = os.path.abspath(start)
    while True:
        path = os.path.join(directory, FILE_NAME)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above


def load(path: str | os.PathLike[str]) -> Ctxfile:
    """Read and check a ctxfile.

    Raises:
        CtxfileError: it cannot be read, or something in it is wrong.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except FileNotFoundError as error:
        raise CtxfileError(f"{name}: no such file", "`ctxbuild init` writes one") from error
    except OSError as error:
        raise CtxfileError(f"{name}: cannot be read: {error.strerror}") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CtxfileError(f"{name}:1: is UTF-16", "save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CtxfileError(f"{name}:{line}: is not UTF-8", "save it as UTF-8") from error
    return parse(text, name)


def parse(text: str, name: str = FILE_NAME) -> Ctxfile:
    """Check the text of a ctxfile.

    Args:
        text: TOML.
        name: the file's path, for messages and as the place of the root.

    Raises:
        CtxfileError: something is wrong; the message begins with `name:line:`.
    """
    from ctxbuild.source.reading import parse as read

    return read(text, name)
