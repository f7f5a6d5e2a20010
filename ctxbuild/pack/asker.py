"""Puts questions to a running query's context: the `View` of the graph, the `Texts` of the forms.

Every answer goes through the context, so that nothing is read, listed or probed
without being recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from ctxbuild.engine.query import Facet
from ctxbuild.model import Binding, Flow, Import, Lines, Outline, Problem, Reference, Symbol
from ctxbuild.pack.codec import decode

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context
    from ctxbuild.graph.view import Edge
    from ctxbuild.pack.questions import Questions

_MARKS = ("pyproject.toml", "setup.py", "setup.cfg")


class Asker:
    """Puts questions to the context of a running query."""

    def __init__(self, questions: Questions, ctx: Context) -> None:
        self._q = questions
        self._ctx = ctx

    def exists(self, path: str) -> bool:
        """Whether a path is a selected file."""
        return self._ctx.get(self._q.exists, path)

    def is_dir(self, path: str) -> bool:
        """Whether some selected file lies below a path."""
        return self._ctx.get(self._q.is_dir, path)

    def homes(self, module: str) -> tuple[str, ...]:
        """Directories from which a top-level module could be imported."""
        return self._ctx.get(self._q.home_list, module)

    def marked(self, directory: str) -> bool:
        """Whether a directory holds a project file."""
        prefix = f"{directory}/" if directory else ""
        return any(self.exists(prefix + mark) for mark in _MARKS)

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The selected files that a pattern matches."""
        return self._ctx.get(self._q.matches, pattern)

    def imports(self, path: str) -> tuple[Import, ...]:
        """The imports of a file in source order."""
        return self._ctx.get(self._q.imports, path)

    def outline(self, path: str) -> Outline:
        """The names of a file in source order."""
        return self._ctx.get(self._q.outline, path)

    def symbol(self, path: str, name: str) -> tuple[Symbol, ...]:
        """All definitions of a qualified name in a file."""

        def read(parts: Mapping[str, bytes]) -> tuple[Symbol, ...]:
            if "definitions" not in parts:
                return ()
            return _definitions(parts["definitions"]).get(name, ())

        return self._ctx.get(Facet(self._q.facts, f"symbol/{name}", read), path)

    def flow(self, path: str, name: str) -> Flow:
        """What a definition's body says about types."""

        def read(parts: Mapping[str, bytes]) -> Flow:
            return _flows(parts["flows"]).get(name, Flow()) if "flows" in parts else Flow()

        return self._ctx.get(Facet(self._q.facts, f"flow/{name}", read), path)

    def references(self, path: str) -> tuple[Reference, ...]:
        """The references of a file in source order."""
        return self._ctx.get(self._q.references, path)

    def bindings(self, path: str, scope: str, target: str) -> tuple[Binding, ...]:
        """What is bound to a target in one scope of a file."""

        def read(parts: Mapping[str, bytes]) -> tuple[Binding, ...]:
            if "bindings" not in parts:
                return ()
            return _bindings(parts["bindings"]).get((scope, target), ())

        return self._ctx.get(Facet(self._q.facts, f"bindings/{scope}/{target}", read), path)

    def definers(self, name: str) -> tuple[tuple[str, str], ...]:
        """(path, qualified name) of every symbol whose last part is this name."""
        return self._ctx.postings(self._q.definers, name)

    def mentions(self, name: str) -> tuple[str, ...]:
        """Files that import a module or name whose last part is this."""
        return tuple(dict.fromkeys(path for path, _ in self._ctx.postings(self._q.mentions, name)))

    def resolved(self, path: str) -> tuple[Edge, ...]:
        """The resolved imports of a file."""
        return self._ctx.get(Facet(self._q.resolve, "", _edges), path)

    def problems(self, path: str) -> tuple[Problem, ...]:
        """What is wrong with a file."""
        return self._ctx.get(self._q.problems, path)

    def skeleton(self, path: str) -> str:
        """The whole file without bodies."""
        return self._ctx.get(self._q.skeleton, path)

    def text(self, path: str) -> str:
        """The whole text of a file."""
        return self._ctx.get(self._q.whole_text, path)

    def lines(self, path: str) -> Lines:
        """Where the symbols, imports and references of a file stand."""
        return self._ctx.get(self._q.lines, path)

    def body(self, path: str, name: str) -> str:
        """The source of a definition, at the margin."""
        return self._ctx.get(self._q.body_text, f"{path}\0{name}")


@lru_cache(maxsize=4096)
def _definitions(definitions: bytes) -> dict[str, tuple[Symbol, ...]]:
    found: dict[str, tuple[Symbol, ...]] = {}
    for symbol in decode(definitions, tuple[Symbol, ...]):
        found[symbol.name] = (*found.get(symbol.name, ()), symbol)
    return found


@lru_cache(maxsize=4096)
def _flows(flows: bytes) -> dict[str, Flow]:
    return dict(decode(flows, tuple[tuple[str, Flow], ...]))


@lru_cache(maxsize=4096)
def _bindings(bindings: bytes) -> dict[tuple[str, str], tuple[Binding, ...]]:
    found: dict[tuple[str, str], tuple[Binding, ...]] = {}
    for binding in decode(bindings, tuple[Binding, ...]):
        key = (binding.scope, binding.target)
        found[key] = (*found.get(key, ()), binding)
    return found


def forget() -> None:
    """Drops what was decoded so far: in a process that lives long most of it is of the past."""
    for remembered in (_definitions, _flows, _bindings):
        remembered.cache_clear()


def _edges(parts: Mapping[str, bytes]) -> tuple[Edge, ...]:
    from ctxbuild.graph.view import Edge

    edges: tuple[Edge, ...] = decode(parts[""], tuple[Edge, ...])
    return edges
