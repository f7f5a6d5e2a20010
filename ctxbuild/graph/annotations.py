"""The source of an annotation, read: a small tree of names, unions and arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import ast

_LONGEST = 4000  # characters of an annotation that is read
_DEEPEST = 12
_TYPE = r"[:~`]*([A-Za-z_][\w.]*(?:\[[\w., \[\]]*\])?)`?"
_RETURNED = re.compile(rf":rtype:[ \t]*(?::\w+:)?{_TYPE}")
_PARAMETER = re.compile(
    rf":type[ \t]+\**(\w+):[ \t]*(?::\w+:)?{_TYPE}|:param[ \t]+{_TYPE}[ \t]+\**(\w+):"
)


@dataclass(frozen=True, slots=True)
class Form:
    """A part of an annotation.

    Attributes:
        kind: a dotted `name`, with `parts` as its arguments; a `union` of its parts;
            a `list` of its parts (of a Callable); or `other`.
        name: the dotted name.
    """

    kind: Literal["name", "union", "list", "other"]
    name: str = ""
    parts: tuple[Form, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Every dotted name in it, in source order."""
        own = (self.name,) if self.name else ()
        return tuple(dict.fromkeys([*own, *(name for part in self.parts for name in part.names())]))


_OTHER = Form("other")


@lru_cache(maxsize=32768)
def read(source: str) -> Form:
    """Read the source of an annotation; what is no type is `other`."""
    tree = _expression(source)
    return _OTHER if tree is None else _form(tree, 0)


@lru_cache(maxsize=8192)
def assigned(statement: str) -> Form:
    """Read the right side of `Alias = ...`, `Alias: TypeAlias = ...` or `type Alias = ...`."""
    left, equals, right = statement.partition("=")
    if not equals or left.rstrip().endswith(("!", "<", ">")):
        return _OTHER
    return read(right.strip())


@lru_cache(maxsize=4096)
def type_variable(statement: str) -> tuple[Form, ...] | None:
    """The bound or the constraints of `T = TypeVar("T", ...)`; None if it is something else."""
    import ast

    tree = _expression(statement.partition("=")[2].strip())
    if not isinstance(tree, ast.Call):
        return None
    if not _dotted(tree.func).endswith(("TypeVar", "NewType")):
        return None
    bound = [keyword.value for keyword in tree.keywords if keyword.arg == "bound"]
    return tuple(_form(each, 0) for each in (bound or tree.args[1:]))


def returned_in(docstring: str) -> str:
    """The type after `:rtype:` in a docstring, or ""."""
    found = _RETURNED.search(docstring) if ":rtype:" in docstring else None
    return found[1] if found else ""


def parameter_in(docstring: str, name: str) -> str:
    """The type of a parameter by `:type name:` or `:param type name:` in a docstring, or ""."""
    if ":type" not in docstring and ":param" not in docstring:
        return ""
    for found in _PARAMETER.finditer(docstring):
        if name in (found[1], found[4]):
            return found[2] or found[3]
    return ""


def _expression(source: str) -> ast.expr | None:
    import ast

    if len(source) > _LONGEST:
        return None
    try:
        return ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _form(node: ast.expr, depth: int) -> Form:
    import ast

    if depth > _DEEPEST:
        return _OTHER
    if isinstance(node, ast.Constant):
        return _constant(node.value, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides: list[ast.expr] = []
        rest: ast.expr = node
        while isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.BitOr):
            sides.append(rest.right)
            rest = rest.left
        return Form("union", "", tuple(_form(side, depth + 1) for side in (rest, *sides[::-1])))
    if isinstance(node, ast.List):
        return Form("list", "", tuple(_form(each, depth + 1) for each in node.elts))
    if isinstance(node, ast.Subscript):
        return _subscript(node, depth)
    if isinstance(node, ast.Starred):
        return _form(node.value, depth + 1)
    name = _dotted(node)
    return Form("name", name) if name else _OTHER


def _constant(value: object, depth: int) -> Form:
    if value is None:
        return Form("name", "None")
    inner = _expression(value) if isinstance(value, str) else None
    return _OTHER if inner is None else _form(inner, depth + 1)


def _subscript(node: ast.Subscript, depth: int) -> Form:
    import ast

    name = _dotted(node.value)
    if not name:
        return _OTHER
    if name.endswith("Literal"):
        return Form("name", name)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name.endswith("Annotated"):
        parts = parts[:1]
    return Form("name", name, tuple(_form(each, depth + 1) for each in parts))


def _dotted(node: ast.expr) -> str:
    import ast

    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _DEEPEST:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])
