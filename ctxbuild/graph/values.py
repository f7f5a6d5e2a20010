"""The types that inference knows, and the parts of a chain.

A value is a tuple of types, what it may be; the empty value is open: nothing is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_WIDTH = 12  # types of one value that are followed
MAX_NESTING = 3  # levels of type arguments
MAX_CHAIN = 40  # steps of one chain that are followed
_TOKEN = re.compile(r"\.(\w+|\?)|(\(\))|(\[\])")


@dataclass(frozen=True, slots=True)
class Type:
    """One possibility of what a value is.

    Attributes:
        kind: an `instance` of a class or the `class` itself, a `function`, a `module`,
            a `namespace` package, something `external`, or what `super()` gives.
        path: the file of the class, function or module.
        name: qualified name, or the dotted name of something external.
        args: type arguments, one value each.
        owner: of a function: the receiver it was looked up on; of `super`: `self`.
    """

    kind: Literal["instance", "class", "function", "module", "namespace", "external", "super"]
    path: str = ""
    name: str = ""
    args: tuple[tuple[Type, ...], ...] = ()
    owner: Type | None = None


Value = tuple[Type, ...]
OPEN: Value = ()


def external(name: str, *args: Value) -> Type:
    """Something of another distribution, or of Python itself, not too deeply nested."""
    return Type("external", "", name, tuple(_trimmed(each, MAX_NESTING) for each in args))


def _trimmed(value: Value, depth: int) -> Value:
    """A value whose type arguments end `depth` levels down: recursive code nests without end."""
    if not any(each.args for each in value):
        return value
    if not depth:
        return OPEN
    return tuple(
        replace(each, args=tuple(_trimmed(inner, depth - 1) for inner in each.args))
        if each.args
        else each
        for each in value
    )


def last(dotted: str) -> str:
    """The last part of a dotted name."""
    return dotted.rpartition(".")[2]


def union(values: Iterable[Value]) -> Value:
    """One value of all possibilities, in order, at most `MAX_WIDTH`."""
    known = [value for value in values if value]
    if len(known) <= 1:
        return known[0] if known else OPEN
    return tuple(dict.fromkeys(each for value in known for each in value))[:MAX_WIDTH]


@lru_cache(maxsize=65536)
def steps(chain: str) -> tuple[str, ...]:
    """The parts of a chain: `super().a.b()[]` is ("super()", "a", "b", "()", "[]")."""
    found = _TOKEN.search(chain)
    if found is None:
        return (chain,)
    head = chain[: found.start()]
    parts = [match.group(1) or match.group(0) for match in _TOKEN.finditer(chain)]
    if head == "super" and parts[0] == "()":
        head, parts = "super()", parts[1:]
    return (head, *parts[:MAX_CHAIN])
