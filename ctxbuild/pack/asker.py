"""Puts questions to a running query's context: the `View` of the graph, the `Texts` of the forms.

Every answer goes through the context, so that nothing is read, listed or probed
without being recorded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from ctxbuild.engine.query import Facet
from ctxbuild.errors import SourceChanged
from ctxbuild.model import Binding, Flow, Import, Lines, Outline, Problem, Reference, Symbol
from ctxbuild.pack.codec import decode
from ctxbuild.pack.diffs import key_for
from ctxbuild.pack.finding import key_of as key_of_search
from ctxbuild.pack.packets import key_of as key_of_match
from ctxbuild.source.outside import key_of

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context
    from ctxbuild.facts.change import Changed
    from ctxbuild.facts.document import Document
    from ctxbuild.facts.transcript import Turn
    from ctxbuild.graph.uses import Uses
    from ctxbuild.graph.view import Edge
    from ctxbuild.model import Candidate
    from ctxbuild.pack.compaction import Compacted
    from ctxbuild.pack.documents import Documents
    from ctxbuild.pack.questions import Questions
    from ctxbuild.pack.session_steps import Standing
    from ctxbuild.select.realm.match import Counted
    from ctxbuild.select.realm.query import Aspect
    from ctxbuild.select.retrieval.model import Found
    from ctxbuild.source.diffs import Differences
    from ctxbuild.source.model_client import ModelClient

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

    def uses(self, path: str) -> Uses:
        """What a whole file uses: worked out once for all who ask."""
        return self._ctx.get(Facet(self._q.uses, "", _used), path)

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

    def outside(self, kind: str, argument: str) -> bytes:
        """The value of an input that is no source, b"" if it is absent (`source/outside.py`)."""
        return self._ctx.get(self._q.outside_value, key_of(kind, argument))

    def outside_digest(self, path: str) -> bytes:
        """The SHA-256 digest of a file anywhere, b"" if there is none."""
        return self._ctx.get(self._q.outside_digest, path)

    def outside_bytes(self, path: str) -> bytes:
        """The content of a file anywhere, b"" if there is none.

        Raises:
            SourceChanged: it changed since the look at the tree.
        """
        known = self.outside_digest(path)
        data = self._q.read_outside(path) if known else b""
        if known and sha256(data).digest() != known:
            raise SourceChanged(path)
        return data

    def differences(self, said: str) -> Differences:
        """What differs, file by file, as a `diff` layer says it."""
        return self._ctx.get(self._q.diffs.differences, said)

    def changed(self, said: str, path: str) -> Changed | None:
        """What changed inside a file that differs; None if it is no source."""
        return self._ctx.get(self._q.diffs.changed, key_for(said, path))

    def concerned(self, said: str, path: str) -> tuple[Candidate, ...]:
        """What the definitions that a file's change touches concern."""
        return self._ctx.get(self._q.diffs.concerned, key_for(said, path))

    def history(self, said: str, commits: int) -> dict[str, tuple[str, ...]]:
        """Path to the last commits that changed it, before what differs."""
        data = self.outside("history", f"{commits} {said}")
        return {path: tuple(rows) for path, rows in json.loads(data or b"{}").items()}

    def session(
        self, path: str, threshold: int, recent: int, how: str
    ) -> tuple[Compacted, tuple[Problem, ...]]:
        """A transcript with its old turns compacted while it went on, and what is wrong with it."""
        from ctxbuild.pack.compaction import Policy

        policy = Policy(threshold, recent)
        compacted, standing = self._q.sessions.standing(self._ctx, path, policy, how)
        return compacted, standing.problems

    @property
    def documents(self) -> Documents:
        """Questions about documents: headings, sections, what leads where."""
        from ctxbuild.pack.documents import Documents

        return Documents(self._q.documents, self._ctx)

    def document(self, path: str) -> Document:
        """Everything that a document says."""
        return self.documents.document(path)

    def talk(self, path: str) -> tuple[Turn, ...]:
        """All turns of a transcript."""
        return self._q.sessions.turns(self._ctx, path)

    def _session(self, path: str, threshold: int, recent: int) -> tuple[Compacted, Standing]:
        from ctxbuild.pack.compaction import Policy

        return self._q.sessions.standing(self._ctx, path, Policy(threshold, recent))

    def body(self, path: str, name: str) -> str:
        """The source of a definition, at the margin."""
        return self._ctx.get(self._q.body_text, f"{path}\0{name}")

    def counted(self, path: str, aspects: tuple[Aspect, ...]) -> tuple[Mapping[str, Counted], ...]:
        """Per aspect of a task: slug to what the text of a document's section has of it."""
        return self._ctx.get(self._q.packets.matched, key_of_match(path, aspects))

    def signs(self, path: str) -> Mapping[str, tuple[str, ...]]:
        """Slug to the signs of a document's sections that have any."""
        return self._ctx.get(self._q.packets.signed, path)

    def bulk(self, path: str) -> int:
        """The length of a document, as the power of two that is above it."""
        return self._ctx.get(self._q.packets.size, path)

    def tokens(self, path: str) -> int:
        """The tokens of a file."""
        return self._ctx.get(self._q.size, path)

    @property
    def model(self) -> ModelClient:
        """The model that the environment names; its answers are kept."""
        from ctxbuild.source.model_client import ModelClient

        return ModelClient(None, self._q.answers)

    def count(self, texts: list[str]) -> list[int]:
        """Tokens of each text in the project's encoding."""
        return self._q.counter(self._q.tokenizer)(texts)

    def rest(self, path: str) -> str:
        """What stands at a file's top level outside functions and classes."""
        return self._ctx.get(self._q.finding.rest_text, path)

    def search(self, question: str, most: int, vectors: str = "auto") -> Found:
        """The units that answer a question, at most so many; `vectors`: "auto" or "off"."""
        return self._ctx.get(self._q.finding.found, key_of_search(question, most, vectors))


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
    from ctxbuild.pack import documents

    for remembered in (_definitions, _flows, _bindings, _uses):
        remembered.cache_clear()
    documents.forget()


def _used(parts: Mapping[str, bytes]) -> Uses:
    return _uses(parts[""])


@lru_cache(maxsize=512)
def _uses(data: bytes) -> Uses:
    from ctxbuild.graph.uses import Uses

    found: Uses = decode(data, Uses)
    return found


def _edges(parts: Mapping[str, bytes]) -> tuple[Edge, ...]:
    from ctxbuild.graph.view import Edge

    edges: tuple[Edge, ...] = decode(parts[""], tuple[Edge, ...])
    return edges
