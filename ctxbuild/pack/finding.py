"""The queries behind question layers: units of every file, their index, and searches in it.

A search depends on the index as a whole and is verified again after every change.
What it finds are ranks, so that mostly nothing changes for who asked. Where an embedder
is configured, units have passages too, whose vectors are a ranking of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ctxbuild.engine.query import Collection, ContentQuery, Facet, Prepared, Query, Result
from ctxbuild.errors import ModelError
from ctxbuild.pack.codec import encode, whole
from ctxbuild.select.retrieval.model import Found
from ctxbuild.source.ctxfile import FILE_NAME
from ctxbuild.source.outside import key_of as key_outside

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context
    from ctxbuild.graph.index import Corpus
    from ctxbuild.pack.questions import Questions
    from ctxbuild.select.retrieval.search import Likeness

_PARTS = ("outline", "lines", "definitions", "references")
"""Of a file's facts: what its units are made of."""


def work(task: tuple[bytes, str, dict[str, bytes]]) -> Result:
    """Bytes, language and parts of the facts to the file's units; in any process."""
    from ctxbuild.facts.decode import LIMIT, decode
    from ctxbuild.graph import index
    from ctxbuild.graph.units import units_of
    from ctxbuild.model import Lines, Outline, Reference, Symbol
    from ctxbuild.pack.codec import decode as decoded

    data, language, parts = task
    if len(data) > LIMIT:
        return Result({})
    text = decode(data)[0]
    if not parts:
        return Result({"units": index.encode(units_of(text, Outline(language), Lines(), (), ()))})
    units = units_of(
        text,
        decoded(parts["outline"], Outline),
        decoded(parts["lines"], Lines),
        decoded(parts["definitions"], tuple[Symbol, ...]),
        decoded(parts["references"], tuple[Reference, ...]),
    )
    return Result({"units": index.encode(units)})


def split(task: tuple[bytes, bytes]) -> Result:
    """Bytes of a file and its units to the units' passages; in any process."""
    from ctxbuild.facts.decode import decode
    from ctxbuild.graph import index, passages

    data, units = task
    found = passages.passages_of(decode(data)[0], index.decode(units))
    return Result({"passages": passages.encode(found)})


class Finding:
    """The declared queries of question layers.

    Args:
        questions: what may be asked of the repository.
        versions: version per stage.
    """

    def __init__(self, questions: Questions, versions: Mapping[str, str]) -> None:
        self._q = questions
        version = f"{versions['facts']} {versions['resolve']}"
        self.units = ContentQuery("units", version, self._prepare, work, stage=False)
        self.index = Collection("index", self.units, "units", _keep, self._paths)
        self.passages = ContentQuery(
            "passages", version, self._prepare_passages, split, stage=False
        )
        self.texts = Collection("texts", self.passages, "passages", _keep_text, self._paths)
        self.rest = Query("rest", version, self._rest, stage=False)
        self.rest_text = Facet(self.rest, "", lambda p: p.get("", b"").decode())
        self._held: tuple[tuple[str, ...], list[str]] = ((), [])
        self.search = Query("search", versions["plan"], self._search, stage=False)
        self.found: Facet[Found] = Facet(self.search, "found", whole("found", Found))

    @property
    def declared(self) -> tuple[Any, ...]:
        """Everything that the engine has to know of."""
        return (self.units, self.index, self.passages, self.texts, self.rest, self.search)

    def _paths(self) -> list[str]:
        """The files that are searched: data is not, nor is the ctxfile, which holds questions."""
        paths = self._q.sources.paths
        if self._held[0] is not paths:
            self._held = (paths, [path for path in paths if _is_searched(path)])
        return self._held[1]

    def _rest(self, ctx: Context, path: str) -> Result:
        from ctxbuild.graph.units import rest_of

        text = ctx.get(self._q.whole_text, path)
        outline, lines = ctx.get(self._q.outline, path), ctx.get(self._q.lines, path)
        return Result({"": rest_of(text, outline, lines).encode()})

    def _prepare(self, ctx: Context, path: str) -> Prepared | None:
        from ctxbuild.pack.questions import UNREADABLE

        questions = self._q
        content = ctx.get(questions.content, path)
        if content in (b"", UNREADABLE):
            return None
        language = questions.language_of(path)
        if not language:
            return Prepared(content, lambda: (questions.sources.read(path), "", {}))
        parts = {name: ctx.part(questions.facts, name, path) for name in _PARTS}

        def load() -> tuple[bytes, str, dict[str, bytes]]:
            return questions.sources.read(path), language, parts

        return Prepared(content + language.encode(), load)

    def _prepare_passages(self, ctx: Context, path: str) -> Prepared | None:
        content = ctx.get(self._q.content, path)
        units = ctx.part(self.units, "units", path)
        if not units:
            return None
        key = content + self._q.language_of(path).encode()
        return Prepared(key, lambda: (self._q.sources.read(path), units))

    def _search(self, ctx: Context, key: str) -> Result:
        from ctxbuild.graph.index import Corpus
        from ctxbuild.select.retrieval.search import search

        # First of all the facts of all files at once, which fan out.
        ctx.postings(self._q.definers, "")
        corpus = Corpus(ctx.collected(self.index))
        most, vectors, question = key.split("\0", 2)
        like = self._likeness(ctx, corpus, question, vectors)
        return Result({"found": encode(search(corpus, question, int(most), like=like))})

    def _likeness(self, ctx: Context, corpus: Corpus, question: str, vectors: str) -> Likeness:
        """How alike the question and each unit are; or why that is left out."""
        from ctxbuild.select.retrieval.search import Likeness

        if vectors == "off":
            return Likeness(left_out="switched off")
        state = ctx.get(self._q.outside_value, key_outside("embedder", ""))
        if not state:
            return Likeness(left_out="not configured")
        from ctxbuild.graph import passages

        try:
            found = self._q.vectors(state)
            if found is None:
                return Likeness(left_out="not configured")
            connection = ctx.collected(self.texts)
            places = passages.places(connection, corpus)
            alike = found.likeness(
                question,
                [place.digest for place in places],
                lambda some: passages.texts(connection, [places[place] for place in some]),
            )
        except ModelError as error:
            # Asked for only now: another answer makes the search run again.
            ctx.get(self._q.outside_value, key_outside("embedder-up", ""))
            return Likeness(left_out="no answer from the embedder", warning=f"{error}")
        units = [place.unit for place in places]
        return Likeness(dict(zip(units, alike, strict=True)), found.label)


def key_of(question: str, most: int, vectors: str = "auto") -> str:
    """The key of a search.

    Args:
        vectors: "auto" to use them where an embedder is configured, or "off".
    """
    return f"{most}\0{vectors}\0{question}"


_DATA = frozenset({"csv", "jsonl", "lock", "map", "mo", "po", "svg", "tsv"})


def _is_searched(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name != FILE_NAME and name.rpartition(".")[2].lower() not in _DATA


def _keep(connection: Any, node: int, path: str, part: bytes | None) -> bool:
    from ctxbuild.graph.index import keep

    return keep(connection, node, path, part)


def _keep_text(connection: Any, _node: int, path: str, part: bytes | None) -> bool:
    from ctxbuild.graph.passages import keep

    return keep(connection, path, part)
