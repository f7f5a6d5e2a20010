"""A repository made of a dict of small files; it answers the graph's questions and notes them."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from ctxbuild.facts import extract, language_of
from ctxbuild.graph import resolve_imports
from ctxbuild.model import Facts, Flow, Outline

if TYPE_CHECKING:
    from ctxbuild.graph import Edge
    from ctxbuild.model import Binding, Import, Reference, Symbol

PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")


class Tree:
    """A `View` over texts.

    Args:
        files: path to text; texts are dedented.

    Attributes:
        asked: every question that was asked: its name and its arguments.
    """

    def __init__(self, files: dict[str, str]) -> None:
        self.asked: set[tuple[str, ...]] = set()
        self._facts = {
            path: extract(dedent(text).encode(), language_of(path)) for path, text in files.items()
        }
        self._directories = {""}
        for path in files:
            parts = path.split("/")[:-1]
            self._directories.update("/".join(parts[: end + 1]) for end in range(len(parts)))
        self._homes: dict[str, set[str]] = {}
        for path in files:
            if path.endswith((".py", ".pyi")):
                self._add_homes(path)
        self._definers: dict[str, set[tuple[str, str]]] = {}
        for path, facts in self._facts.items():
            for symbol in facts.definitions:
                name = symbol.name.rpartition(".")[2]
                self._definers.setdefault(name, set()).add((path, symbol.name))
        self._symbols: dict[str, dict[str, list[Symbol]]] = {}
        for path, facts in self._facts.items():
            table = self._symbols.setdefault(path, {})
            for symbol in facts.definitions:
                table.setdefault(symbol.name, []).append(symbol)
        self._flows = {path: dict(facts.flows) for path, facts in self._facts.items()}
        self._edges: dict[str, tuple[Edge, ...]] = {}

    def _add_homes(self, path: str) -> None:
        parts = path.split("/")
        for depth in range(len(parts)):
            above = "/".join(parts[:depth])
            if above and any(f"{above}/__init__{end}" in self._facts for end in (".py", ".pyi")):
                break
            name = parts[depth] if depth + 1 < len(parts) else parts[depth].rpartition(".")[0]
            self._homes.setdefault(name, set()).add(above)

    def exists(self, path: str) -> bool:
        self.asked.add(("exists", path))
        return path in self._facts

    def is_dir(self, path: str) -> bool:
        self.asked.add(("is_dir", path))
        return path in self._directories

    def homes(self, module: str) -> tuple[str, ...]:
        self.asked.add(("homes", module))
        return tuple(sorted(self._homes.get(module, ())))

    def marked(self, directory: str) -> bool:
        self.asked.add(("marked", directory))
        prefix = f"{directory}/" if directory else ""
        return any(prefix + name in self._facts for name in PROJECT_FILES)

    def imports(self, path: str) -> tuple[Import, ...]:
        self.asked.add(("imports", path))
        return self._of(path).imports

    def outline(self, path: str) -> Outline:
        self.asked.add(("outline", path))
        return self._of(path).outline

    def symbol(self, path: str, name: str) -> tuple[Symbol, ...]:
        self.asked.add(("symbol", path, name))
        return tuple(self._symbols.get(path, {}).get(name, ()))

    def flow(self, path: str, name: str) -> Flow:
        self.asked.add(("flow", path, name))
        return self._flows.get(path, {}).get(name) or Flow()

    def references(self, path: str) -> tuple[Reference, ...]:
        self.asked.add(("references", path))
        return self._of(path).references

    def bindings(self, path: str, scope: str, target: str) -> tuple[Binding, ...]:
        self.asked.add(("bindings", path, scope, target))
        wanted = (scope, target)
        return tuple(b for b in self._of(path).bindings if (b.scope, b.target) == wanted)

    def definers(self, name: str) -> tuple[tuple[str, str], ...]:
        self.asked.add(("definers", name))
        return tuple(sorted(self._definers.get(name, ())))

    def resolved(self, path: str) -> tuple[Edge, ...]:
        self.asked.add(("resolved", path))
        if path not in self._edges:
            self._edges[path] = resolve_imports(self, path)
        return self._edges[path]

    def _of(self, path: str) -> Facts:
        return self._facts.get(path) or Facts(Outline("text"))


@pytest.fixture(scope="session")
def tree():
    """Make a repository of a dict of files; a list of paths makes empty ones."""

    def make(files):
        return Tree(files if isinstance(files, dict) else dict.fromkeys(files, ""))

    return make
