"""What may be asked of a repository, declared for the engine: from files to facts to edges.

`Questions` declares the inputs and queries over one snapshot after another;
`pack/asker.py` puts them to a running query's context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from ctxbuild.engine.codec import digest
from ctxbuild.engine.query import ABSENT, ContentQuery, Facet, Index, Input, Prepared, Query, Result
from ctxbuild.errors import SourceChanged, SourceError
from ctxbuild.model import Binding, Facts, Import, Lines, Outline, Problem, Reference
from ctxbuild.pack.codec import decode as decoded
from ctxbuild.pack.codec import encode, part
from ctxbuild.pack.diffs import DiffQueries, at_commit
from ctxbuild.pack.documents import DocumentQueries
from ctxbuild.pack.finding import Finding
from ctxbuild.pack.packets import PacketQueries
from ctxbuild.pack.sessions import Sessions
from ctxbuild.pack.tokens import Counter, counter
from ctxbuild.source.outside import key_of, open_file

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context
    from ctxbuild.select.retrieval.vectors import Vectors
    from ctxbuild.source.model_client import Answers

_PYTHON = (".py", ".pyi")


class Sources(Protocol):
    """The files of one snapshot."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The selected files, sorted."""

    def has(self, path: str) -> bool:
        """Whether a file is selected."""

    def has_dir(self, path: str) -> bool:
        """Whether some selected file lies below a directory."""

    def digest(self, path: str) -> bytes | None:
        """The digest of a file's content, None if it is not selected."""

    def read(self, path: str) -> bytes:
        """The content of a selected file."""


# --- facts as parts ---------------------------------------------------------------------


UNREADABLE = b"unreadable"
"""Stands for the digest of a file that is there but cannot be read."""


def work(task: tuple[bytes | None, str | None]) -> Result:
    """Bytes (None: unreadable) and language to the parts of their facts; in any process."""
    from ctxbuild.facts import extract

    data, language = task
    if data is None:
        problem = Problem("unreadable", "no permission to read it")
        facts = Facts(Outline(language or ""), problems=(problem,))
    else:
        facts = extract(data, language)
    names = [name for name, _ in facts.outline.symbols]
    digests: dict[str, bytes] = {}
    by_name: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        by_name.setdefault(name, []).append(place)
    for name, places in by_name.items():
        digests[f"symbol/{name}"] = digest(encode([facts.definitions[i] for i in places]))
    bound: dict[tuple[str, str], list[Binding]] = {}
    for binding in facts.bindings:
        bound.setdefault((binding.scope, binding.target), []).append(binding)
    for (scope, target), bindings in bound.items():
        digests[f"bindings/{scope}/{target}"] = digest(encode(bindings))
    for name, flow in facts.flows:
        digests[f"flow/{name}"] = digest(encode(flow))
    return Result(_parts(facts), digests)


def measure(task: tuple[bytes, str]) -> Result:
    """Bytes and tokenizer to the number of tokens of the text."""
    from ctxbuild.facts.decode import decode
    from ctxbuild.pack.tokens import counter

    data, tokenizer = task
    return Result({"": b"%d" % counter(tokenizer)([decode(data)[0]])[0]})


_FIELDS = (
    "outline",
    "imports",
    "definitions",
    "flows",
    "references",
    "bindings",
    "lines",
    "problems",
)


def _parts(facts: Facts) -> dict[str, bytes]:
    parts = {name: encode(getattr(facts, name)) for name in _FIELDS}
    parts["skeleton"] = facts.skeleton.encode()
    return parts


def _definers(part: bytes) -> Iterable[tuple[str, str]]:
    """Last part of the name to qualified name, for what can be called or reached by attribute."""
    for name, kind in decoded(part, Outline).symbols:
        if kind in ("class", "function", "method", "property"):
            yield name.rpartition(".")[2], name


def _mentions(part: bytes) -> Iterable[tuple[str, str]]:
    """The last part of every module and name that a file imports."""
    for each in decoded(part, tuple[Import, ...]):
        yield each.module.rpartition(".")[2], ""
        if each.name and each.name != "*":
            yield each.name, ""


_EMPTY = Outline("")


class _Endings(dict[str, bool]):
    """Whether files of an ending are parsed: the ending decides, and there are few."""

    def __init__(self, language_of: Callable[[str], str | None]) -> None:
        self._language_of = language_of

    def __missing__(self, ending: str) -> bool:
        self[ending] = parsed = self._language_of(ending) is not None
        return parsed


class Questions:
    """The declared inputs and queries over one snapshot after another.

    Args:
        versions: version per stage: "facts", "resolve".
        language_of: path to the name of its language.
        tokenizer: name of the encoding in which files are counted.
        outside: key of what is not a source (`source/outside.py`) to its present value.
        read_outside: path of a file anywhere to its content, b"" if it cannot be read.
        blobs: names of git's objects to their contents, those that are missing left out.
        open_outside: path of a file anywhere to the file, open for reading.

    Attributes:
        sources: the present snapshot; replaced when a new one is scanned.
        answers: keeps what models answered; None to ask every time.
        vectors: state of the embedder to what compares texts by it, None without one.
        counter: tokenizer to its counter; a pipeline puts one there that remembers.
    """

    def __init__(
        self,
        sources: Sources,
        versions: Mapping[str, str],
        language_of: Callable[[str], str | None],
        tokenizer: str,
        outside: Callable[[str], bytes] = lambda _: ABSENT,
        read_outside: Callable[[str], bytes] = lambda _: b"",
        blobs: Callable[[Sequence[str]], Mapping[str, bytes]] = lambda _: {},
        open_outside: Callable[[str], BinaryIO] = lambda path: open_file("", path),
    ) -> None:
        self.sources = sources
        self.read_outside = read_outside
        behind = f"{versions.get('plan', '')} {versions['facts']}"
        self.sessions = Sessions(self, behind, open_outside)
        self.tokenizer = tokenizer
        self._language_of = language_of
        # Both hold as long as the snapshots name the very same paths.
        self._homes: tuple[tuple[str, ...], dict[str, tuple[str, ...]]] | None = None
        self._parsed: tuple[tuple[str, ...], list[str]] | None = None
        self.file = Input("file", self._read_file)
        self.directory = Input("directory", lambda key, _: _flag(self.sources.has_dir(key)))
        self.home = Input("home", lambda key, _: _joined(self.homes(key)))
        self.glob = Input("glob", lambda key, _: _joined(self.matching(key)))
        self.outside = Input("outside", lambda key, _: outside(at_commit(key, self.sources)))
        self.outside_file = Query(
            "outside-file", versions["facts"], self._outside_file, stage=False
        )
        self.facts = ContentQuery("facts", versions["facts"], self._prepare, work)
        self.finding = Finding(self, versions)
        self.counter: Callable[[str], Counter] = counter
        self.diffs = DiffQueries(self, versions, blobs)
        self.documents = DocumentQueries(self, versions)
        self.packets = PacketQueries(self, versions)
        self.answers: Answers | None = None
        self.vectors: Callable[[bytes], Vectors | None] = lambda _: None
        self.resolve = Query("resolve", versions["resolve"], self._resolve, stage=False)
        self.uses = Query("uses", versions["resolve"], self._uses, stage=False)
        # Apart from the facts: the tokenizer takes longer to load than a file to parse.
        self.tokens = ContentQuery(
            "tokens", versions["facts"], self._prepare_tokens, measure, stage=False
        )
        self.text = Query("text", versions["facts"], self._text, stage=False)
        self.body = Query("body", versions["facts"], self._body, stage=False)
        self.definers = Index("definers", self.facts, "outline", _definers, self._parsed_paths)
        self.mentions = Index("mentions", self.facts, "imports", _mentions, self._parsed_paths)
        self.content = Facet(self.file, "", lambda p: p[""])
        self.exists = Facet(self.file, "exists", lambda p: bool(p["exists"]))
        self.is_dir = Facet(self.directory, "", lambda p: bool(p[""]))
        self.home_list = Facet(self.home, "", lambda p: _split(p[""]))
        self.matches = Facet(self.glob, "", lambda p: _split(p[""]))
        self.outside_value = Facet(self.outside, "", lambda p: p[""])
        self.outside_digest = Facet(self.outside_file, "", lambda p: p.get("", b""))
        self.outline = Facet(self.facts, "outline", part("outline", Outline, _EMPTY))
        self.imports = Facet(self.facts, "imports", part("imports", tuple[Import, ...], ()))
        self.references = Facet(
            self.facts, "references", part("references", tuple[Reference, ...], ())
        )
        self.lines = Facet(self.facts, "lines", part("lines", Lines, Lines()))
        self.problems = Facet(self.facts, "problems", part("problems", tuple[Problem, ...], ()))
        self.size = Facet(self.tokens, "", lambda p: int(p.get("", b"0")))
        self.skeleton = Facet(self.facts, "skeleton", lambda p: p.get("skeleton", b"").decode())
        self.whole_text = Facet(self.text, "", lambda p: p.get("", b"").decode())
        self.body_text = Facet(self.body, "", lambda p: p.get("", b"").decode())

    @property
    def declared(self) -> tuple[Any, ...]:
        """Everything that the engine has to know of."""
        inputs = (self.file, self.directory, self.home, self.glob, self.outside)
        return (
            *inputs,
            self.outside_file,
            self.facts,
            self.tokens,
            self.resolve,
            self.uses,
            self.text,
            self.body,
            self.definers,
            self.mentions,
            *self.diffs.declared,
            *self.documents.declared,
            *self.packets.declared,
            *self.finding.declared,
            *self.sessions.declared,
        )

    @property
    def membership(self) -> tuple[Input, ...]:
        """The inputs that a file's coming or going may change."""
        return (self.directory, self.home, self.glob)

    # --- inputs -------------------------------------------------------------------------

    def _read_file(self, path: str, facet: str) -> bytes:
        if facet == "exists":
            return _flag(self.sources.has(path))
        try:
            return self.sources.digest(path) or b""
        except SourceChanged:
            raise
        except SourceError:
            return UNREADABLE

    def homes(self, module: str) -> tuple[str, ...]:
        """Directories from which a top-level module could be imported, sorted."""
        paths = self.sources.paths
        if self._homes is None or self._homes[0] is not paths:
            self._homes = (paths, _find_homes(self.sources))
        return self._homes[1].get(module, ())

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The selected files that a layer's pattern matches, sorted."""
        if self.sources.has(pattern):
            return (pattern,)
        from ctxbuild.source.ignore import glob

        matcher = glob(pattern)
        return tuple(path for path in self.sources.paths if matcher.matches(path))

    def language_of(self, path: str) -> str:
        """The language that a path speaks, "" for text that is not parsed."""
        return self._language_of(path) or ""

    def _parsed_paths(self) -> list[str]:
        paths = self.sources.paths
        if self._parsed is None or self._parsed[0] is not paths:
            parsed = _Endings(self._language_of)
            self._parsed = (paths, [p for p in paths if parsed[p[p.rfind(".") :]]])
        return self._parsed[1]

    # --- queries ------------------------------------------------------------------------

    def _prepare(self, ctx: Context, path: str) -> Prepared | None:
        content = ctx.get(self.content, path)
        if not content:
            return None
        language = self._language_of(path)
        if content == UNREADABLE:
            return Prepared(content, lambda: (None, language))
        key = content + (language or "").encode()
        return Prepared(key, lambda: (self.sources.read(path), language))

    def _prepare_tokens(self, ctx: Context, path: str) -> Prepared | None:
        content = ctx.get(self.content, path)
        if content in (b"", UNREADABLE):
            return None
        key = content + self.tokenizer.encode()
        return Prepared(key, lambda: (self.sources.read(path), self.tokenizer))

    def _resolve(self, ctx: Context, path: str) -> Result:
        from ctxbuild.graph.resolve import resolve_imports
        from ctxbuild.pack.asker import Asker

        return Result({"": encode(resolve_imports(Asker(self, ctx), path))})

    def _uses(self, ctx: Context, path: str) -> Result:
        from ctxbuild.graph.uses import uses
        from ctxbuild.pack.asker import Asker

        return Result({"": encode(uses(Asker(self, ctx), path))})

    def _outside_file(self, ctx: Context, path: str) -> Result:
        if not ctx.get(self.outside_value, key_of("file", path)):
            return Result({})
        return Result({"": sha256(self.read_outside(path)).digest()})

    def _text(self, ctx: Context, path: str) -> Result:
        from ctxbuild.facts.decode import decode

        if ctx.get(self.content, path) in (b"", UNREADABLE):
            return Result({})
        return Result({"": decode(self.sources.read(path))[0].encode()})

    def _body(self, ctx: Context, key: str) -> Result:
        path, _, name = key.partition("\0")
        text = ctx.get(self.whole_text, path).encode()
        outline, lines = ctx.get(self.outline, path), ctx.get(self.lines, path)
        pieces = [
            _dedent(text[spot[2] : spot[3]].decode(errors="replace"), text, spot[2])
            for (symbol, _), spot in zip(outline.symbols, lines.symbols, strict=True)
            if symbol == name
        ]
        return Result({"": "".join(pieces).encode()})


def _dedent(piece: str, text: bytes, start: int) -> str:
    """A symbol's source moved to the margin, by the indentation of its first line."""
    margin = start - (text.rfind(b"\n", 0, start) + 1)
    rows = piece.split("\n")
    moved = [rows[0], *(row[margin:] if not row[:margin].strip() else row for row in rows[1:])]
    return "\n".join(moved) + "\n"


def _find_homes(sources: Sources) -> dict[str, tuple[str, ...]]:
    """Top-level module name to the directories that hold it, outside regular packages."""
    packaged: dict[str, bool] = {"": False}

    def inside_package(directory: str) -> bool:
        known = packaged.get(directory)
        if known is None:
            known = sources.has(f"{directory}/__init__.py") or inside_package(
                directory.rpartition("/")[0]
            )
            packaged[directory] = known
        return known

    homes: dict[str, set[str]] = {}
    seen: set[str] = set()
    for path in sources.paths:
        if not path.endswith(_PYTHON):
            continue
        directory, _, file = path.rpartition("/")
        stem = file.rpartition(".")[0]
        if stem != "__init__" and not inside_package(directory):
            homes.setdefault(stem, set()).add(directory)
        while directory and directory not in seen:
            seen.add(directory)
            above, _, name = directory.rpartition("/")
            if not inside_package(above):
                homes.setdefault(name, set()).add(above)
            directory = above
    return {name: tuple(sorted(found)) for name, found in homes.items()}


def _flag(value: bool) -> bytes:
    return b"1" if value else b""


def _joined(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\0" for name in names).encode()


def _split(data: bytes) -> tuple[str, ...]:
    return tuple(data.decode().split("\0")[:-1])
