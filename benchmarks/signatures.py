"""Signatures as Python's own parser sees them: what recall and precision are counted in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

Unit = tuple[str, str]
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Signatures:
    """The signatures of functions, methods and classes in a tree.

    Args:
        tree: its root.
    """

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._files: dict[str, dict[str, tuple[str, bool]]] = {}

    def of(self, path: str, name: str) -> str:
        """The decorators and header of a definition; "" if there is none of that name."""
        return self._file(path).get(name, ("", False))[0]

    def is_class(self, path: str, name: str) -> bool:
        """Whether a definition is a class."""
        return self._file(path).get(name, ("", False))[1]

    def listing(self, units: Iterable[Unit]) -> str:
        """Bare signatures, those of a file below its path."""
        lines = []
        above = ""
        for path, name in sorted(units):
            if path != above:
                lines.append(f"{path}\n")
                above = path
            lines.append(f"{self.of(path, name)}\n")
        return "".join(lines)

    def named(self, units: Iterable[Unit]) -> set[Unit]:
        """Those of some definitions that are classes named in the signature of another."""
        units = set(units)
        words: dict[str, set[Unit]] = {}
        for unit in units:
            for word in re.findall(r"\w+", self.of(*unit)):
                words.setdefault(word, set()).add(unit)
        return {
            unit
            for unit in units
            if self.is_class(*unit) and words.get(unit[1].rpartition(".")[2], set()) - {unit}
        }

    def _file(self, path: str) -> dict[str, tuple[str, bool]]:
        if path not in self._files:
            self._files[path] = dict(self._read(path))
        return self._files[path]

    def _read(self, path: str) -> dict[str, tuple[str, bool]]:
        found: dict[str, tuple[str, bool]] = {}
        try:
            text = (self._tree / path).read_text(encoding="utf-8")
            module = ast.parse(text)
        except (OSError, SyntaxError, ValueError):
            return found
        rows = text.splitlines()
        waiting: list[tuple[ast.AST, str]] = [(module, "")]
        while waiting:
            node, above = waiting.pop(0)
            for child in ast.iter_child_nodes(node):
                if isinstance(child, _Definition):
                    name = f"{above}{child.name}"
                    is_class = isinstance(child, ast.ClassDef)
                    found[name] = (_header(rows, child), is_class)
                    if is_class:
                        waiting.append((child, f"{name}."))
                elif not isinstance(child, ast.expr):
                    waiting.append((child, above))
        return found


def _header(rows: list[str], node: _Definition) -> str:
    """Decorators and header, dedented, without comments after it."""
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    body = node.body[0]
    decorators = getattr(body, "decorator_list", [])
    start = min([body.lineno, *(each.lineno for each in decorators)])
    if start == node.lineno:  # def f(): ...
        return rows[node.lineno - 1][: body.col_offset].strip()
    lines = [row[node.col_offset :] for row in rows[first - 1 : start - 1]]
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return "\n".join(lines)
