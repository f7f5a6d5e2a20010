"""The engine: answers queries, remembers how, and after a change recomputes only what it reaches.

A demand for a node goes one of four ways:

1. nothing that it depends on changed: it is not even looked at (`dirty` is 0);
2. something may have changed: its dependencies are brought up to date in the
   order in which it asked for them, and if each still has the digest that the
   node saw, the node is right (a verifying trace);
3. one differs: the node is computed again, and if its own digests come out
   equal, its dependents see no change (backdating, early cutoff);
4. a content query whose content was seen before, anywhere: the stored result
   is taken (a constructive trace).

The models are Salsa and "Build Systems à la Carte" (Mokhov, Mitchell, Peyton
Jones, 2018). Dirtiness is pushed along recorded edges when inputs change, so
that a build with nothing to do costs one look-up per root.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from ctxbuild.engine.codec import (
    digest,
    facets_of,
    pack,
    pack_facets,
    pack_with,
    short,
    unpack,
    unpack_parts,
)
from ctxbuild.engine.events import Cause, Event, Invalidated, Node, Ran, Reused
from ctxbuild.engine.executor import Fanout
from ctxbuild.engine.query import (
    ABSENT,
    AnyQuery,
    Collection,
    ContentQuery,
    Facet,
    Index,
    Input,
    Prepared,
    Query,
    Result,
)
from ctxbuild.engine.rows import Cell, Rows, code_number

T = TypeVar("T")
Gathered = Index | Collection
Parts = dict[str, bytes]

_FLUSH_BYTES = 8_000_000
# What has happened since the indexes were last brought up to date.
_CHANGED, _MOVED = 1, 2


class Values(Protocol):
    """Where results are stored: bytes by key; a key may be gone at any time."""

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, None if it has none (any more)."""

    def get_many(self, keys: Iterable[bytes]) -> Mapping[bytes, bytes]:
        """The values of those keys that have one."""

    def put_many(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Stores values; what cannot be stored is kept for this run."""


class Context:
    """What a running query may ask; every question becomes a dependency."""

    __slots__ = ("_database", "edges")

    def __init__(self, database: Database) -> None:
        self._database = database
        self.edges: dict[tuple[int, str], bytes] = {}

    def get(self, facet: Facet[T], key: str) -> T:
        """The present value of a facet of a query or input."""
        database, name = self._database, facet.name
        cell = database.fresh_cell(facet.source, key, name)
        edge = cell.id, name
        self.edges[edge] = cell.facets.get(name, ABSENT)
        # A plan asks thousands of times, mostly for what is there.
        held = database.decoded.get(edge)
        if held is not None and held[0] == cell.value:
            return held[1]  # type: ignore[no-any-return]  # stored for this facet
        return database.value_of(cell, facet)

    def part(self, query: AnyQuery, name: str, key: str) -> bytes:
        """A part of a query's result as it is stored, b"" if it has none."""
        cell = self._database.fresh_cell(query, key, name)
        self.edges[cell.id, name] = cell.facets.get(name, ABSENT)
        return self._database.parts_of(cell, query).get(name, b"")

    def postings(self, index: Index, term: str) -> tuple[tuple[str, str], ...]:
        """(key, item) of each place that mentions a term, sorted."""
        cell = self._database.fresh_term(index, term)
        self.edges[cell.id, ""] = cell.facets[""]
        return self._database.held_postings(cell, index)

    def collected(self, collection: Collection) -> sqlite3.Connection:
        """The connection to a collection's tables, brought up to date; for reading only."""
        cell = self._database.fresh_term(collection, "")
        self.edges[cell.id, ""] = cell.facets[""]
        return self._database.connection


class Database:
    """Cells, values and the present revision of one set of inputs.

    Args:
        connection: SQLite in autocommit mode, for this engine's tables.
        values: the value store.
        declared: every input, query and index that will be asked for.
        code: identifies the versions of all queries together.
        fanout: runs the work of content queries.
        on_event: told what happens, as it happens.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        values: Values,
        declared: Iterable[Input | Query | ContentQuery | Gathered],
        code: str = "",
        fanout: Fanout | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._rows = Rows(connection)
        self._values = values
        self._by_name = {source.name: source for source in declared}
        self._indexes = [s for s in self._by_name.values() if isinstance(s, Gathered)]
        self._fanout = fanout or Fanout(1)
        self._on_event = on_event or _unheard
        self._cells: dict[tuple[str, str], Cell] = {}
        self._by_id: dict[int, Cell] = {}
        self._parts: dict[bytes, Parts] = {}
        # Decoded values by cell and facet, each with the key of the value it was decoded from.
        self.decoded: dict[tuple[int, str], tuple[bytes, Any]] = {}
        # By cell of a term, with the digest of its postings.
        self._postings: dict[int, tuple[bytes, tuple[tuple[str, str], ...]]] = {}
        self._unwritten: dict[bytes, bytes] = {}
        self._unwritten_bytes = 0
        self._running: list[Node] = []
        self._durable = True
        self._runs = 0
        self._settled: dict[str, int] = {}
        self._keys: dict[str, tuple[Iterable[str], int]] = {}
        self._marked: list[int] = []
        self._foreseen: set[int] = set()  # cells of which what they asked for is in memory
        self._asked = {i.name for i in self._indexes if self._rows.number(f"asked:{i.name}")}
        self._torn = False
        self.revision = self._rows.number("revision")
        self._code = code_number(code)

    # --- the outside ------------------------------------------------------------------

    def get(self, facet: Facet[T], key: str) -> T:
        """The present value of a facet, brought up to date first."""
        return self.value_of(self.fresh_cell(facet.source, key, facet.name), facet)

    def is_fresh(self, query: AnyQuery, key: str) -> bool:
        """Whether a node is known to be right without looking at anything else.

        After an `apply` that is only so once `settle` has run.
        """
        cell = self._load(query.name, key)
        return cell is not None and not cell.dirty and cell.version == query.version

    def apply(self, touched: Iterable[tuple[Input, str]], *, moved: bool = True) -> None:
        """Starts a new revision in which these inputs may have other values.

        Inputs that nobody ever asked for are ignored. Indexes in use are brought
        up to date with the next `settle`.

        Args:
            touched: inputs and their keys.
            moved: whether the keys of an index may be others than before.
        """
        touched = list(touched)
        changed = [
            (cell, facets) for source, key in touched for cell, facets in self._reread(source, key)
        ]
        unknown = any(self._load(source.name, key) is None for source, key in touched)
        self._settled.clear()
        with self.atomic():
            self._accept_code()
            if changed or unknown:
                grade = _MOVED if moved else _CHANGED
                self._rows.set_number("unsettled", max(grade, self._rows.number("unsettled")))
            if changed:
                self._next_revision()
            for cell, facets in changed:
                self._publish(cell, facets)

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection to the state, for the tables of collections."""
        return self._rows.connection

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """What is written inside becomes durable as a whole or, after an exception, not at all."""
        outer, self._torn = self._torn, True
        yield
        self._torn = outer

    def settle(self) -> None:
        """Brings every index that has been asked for up to date."""
        for index in self._indexes:
            if index.name in self._asked:
                self._bring_up(index)
        if self._rows.number("unsettled"):
            self._rows.set_number("unsettled", 0)

    def recorded(self, source: Input) -> tuple[str, ...]:
        """Every key of an input that some query has asked for, sorted."""
        return self._rows.keys(source.name)

    def cause(self, query: AnyQuery, key: str) -> str:
        """Why a node was last computed, as stored text: kind, node and facet joined by NUL."""
        cell = self._load(query.name, key)
        return cell.cause if cell else ""

    def dependencies(self, query: AnyQuery, key: str) -> list[tuple[Node, str]]:
        """(node, facet) of everything that a node asked for, in order."""
        cell = self._load(query.name, key)
        if cell is None:
            return []
        return [(Node(q, k), facet) for q, k, facet in self._rows.dependencies(cell.id)]

    def live_values(self) -> set[bytes]:
        """Keys of all values that a remembered node points to."""
        rows = self._rows.connection.execute("SELECT value FROM nodes WHERE value IS NOT NULL")
        return {row[0] for row in rows}

    def forget(self, query: AnyQuery, keys: Iterable[str]) -> None:
        """Drops nodes; who depended on them is computed again when needed."""
        cells = [cell for key in keys if (cell := self._load(query.name, key))]
        self._rows.forget(cell.id for cell in cells)
        self._cells.clear()
        self._by_id.clear()

    def commit(self) -> None:
        """Makes all that was computed so far durable: values first, then what points to them.

        Right after an interrupt too: if it struck in the middle of a write, all
        since the last commit is undone, and this object must not be used again.
        """
        self._flush()
        if self._rows.connection.in_transaction:
            self._rows.connection.execute("ROLLBACK" if self._torn else "COMMIT")

    def rehearse(self) -> None:
        """From now on nothing reaches the value store; the caller rolls back the rest."""
        self._durable = False

    # --- inputs -----------------------------------------------------------------------

    def _reread(self, source: Input, key: str) -> Iterator[tuple[Cell, list[tuple[str, bytes]]]]:
        cell = self._load(source.name, key)
        if cell is None:
            return
        now = {facet: short(source.read(key, facet)) for facet in cell.facets}
        differing = [(facet, seen) for facet, seen in now.items() if seen != cell.facets[facet]]
        if differing:
            yield cell, differing

    def _publish(self, cell: Cell, differing: list[tuple[str, bytes]]) -> None:
        """Gives an input or term its new digests and marks who saw the old ones."""
        cell.facets = cell.facets | dict(differing)
        cell.changed = cell.verified = self.revision
        self._rows.write(cell)
        self._mark(cell, differing)
        for facet, _ in differing:
            self._on_event(Invalidated(Node(cell.query, cell.key), facet))

    def _mark(self, cell: Cell, facets: Iterable[tuple[str, bytes]]) -> None:
        for identity in self._rows.mark(cell.id, facets):
            self._marked.append(identity)
            if identity in self._by_id:
                self._by_id[identity].dirty = 1

    def _next_revision(self) -> None:
        self.revision += 1
        self._rows.set_number("revision", self.revision)

    def _accept_code(self) -> None:
        """After an upgrade every derived node is suspect: its code may answer differently."""
        if self._rows.number("code") != self._code:
            self._rows.begin()
            self._rows.connection.execute("UPDATE nodes SET dirty = 1 WHERE value IS NOT NULL")
            self._rows.set_number("unsettled", _MOVED)
            self._rows.set_number("code", self._code)
            self._cells.clear()
            self._by_id.clear()
            self._keys.clear()

    # --- cells ------------------------------------------------------------------------

    def _load(self, query: str, key: str) -> Cell | None:
        cell = self._cells.get((query, key))
        if cell is None:
            cell = self._rows.cell(query, key)
            if cell is not None:
                self._keep(cell)
        return cell

    def _keep(self, cell: Cell) -> None:
        self._cells[cell.query, cell.key] = cell
        self._by_id[cell.id] = cell

    def _new(self, query: str, key: str, version: str) -> Cell:
        cell = Cell(
            (
                self._rows.next_id,
                query,
                key,
                version,
                1,
                self.revision,
                self.revision,
                None,
                b"",
                "",
            )
        )
        self._rows.next_id += 1
        self._keep(cell)
        return cell

    def fresh_cell(self, source: AnyQuery | Input, key: str, facet: str) -> Cell:
        """The cell of a node, brought up to date."""
        cell = self._cells.get((source.name, key))
        if isinstance(source, Input):
            return self._fresh_input(source, key, facet)
        if cell is not None and not cell.dirty and cell.version == source.version:
            return cell
        return self._fresh_query(source, key)

    def _fresh_input(self, source: Input, key: str, facet: str) -> Cell:
        cell = self._load(source.name, key)
        if cell is None:
            cell = self._new(source.name, key, "")
            cell.dirty = 0
        if facet not in cell.facets:
            cell.facets = {**cell.facets, facet: short(source.read(key, facet))}
            self._rows.write(cell)
        return cell

    def _fresh_query(self, query: AnyQuery, key: str) -> Cell:
        cell = self._load(query.name, key)
        if cell is not None and not cell.dirty and cell.version == query.version:
            return cell
        node = Node(query.name, key)
        if node in self._running:
            chain = " -> ".join(map(str, [*self._running, node]))
            raise RuntimeError(f"query cycle: {chain}")
        cause = self._stale(query, key, cell)
        if cause is None:
            assert cell is not None
            self._verified(query, cell)
            return cell
        return self._run(query, key, cell, cause)

    def _stale(self, query: AnyQuery, key: str, cell: Cell | None) -> Cause | None:
        """Why a node must be computed, None if it is right as it is."""
        if cell is None:
            return Cause("new")
        if cell.version != query.version:
            return Cause("version")
        self._running.append(Node(query.name, key))
        try:
            return self._first_change(cell)
        finally:
            self._running.pop()

    def _first_change(self, cell: Cell) -> Cause | None:
        """Brings dependencies up to date, in the order asked, until one differs."""
        checked: set[tuple[int, str]] = set()
        while True:
            runs = self._runs
            for dep, facet, seen in self._rows.suspects(cell):
                if (dep, facet) in checked:
                    continue
                checked.add((dep, facet))
                now = self._fresh_id(dep, facet)
                if now.facets.get(facet, ABSENT) != seen:
                    return Cause("changed", Node(now.query, now.key), facet)
                if self._runs != runs:
                    break  # a run may have made others suspect
            else:
                return None

    def _fresh_id(self, identity: int, facet: str) -> Cell:
        cell = self._by_id.get(identity)
        if cell is None:
            cell = self._rows.cell_by_id(identity)
            self._keep(cell)
        source = self._by_name[cell.query]
        if isinstance(source, Gathered):
            return self.fresh_term(source, cell.key)
        return self.fresh_cell(source, cell.key, facet)

    def _verified(self, query: AnyQuery, cell: Cell) -> None:
        cell.dirty, cell.verified = 0, self.revision
        self._rows.write_verified(cell)
        self._on_event(Reused(Node(cell.query, cell.key), "verified", query.stage))

    # --- running ----------------------------------------------------------------------

    def _run(self, query: AnyQuery, key: str, cell: Cell | None, cause: Cause) -> Cell:
        self._running.append(Node(query.name, key))
        context = Context(self)
        try:
            if isinstance(query, Query):
                if cell is not None:
                    self._foresee(cell)
                result = query.compute(context, key)
                return self._finish(query, key, cell, context, result, cause)
            prepared = query.prepare(context, key)
            stored = self._stored(query, prepared)
            if stored is not None:
                return self._adopt(query, key, cell, context, *stored)
            if prepared is None:
                return self._absent(query, key, cell, context)
            result = query.work(prepared.load())
            content = _content_key(query, prepared)
            return self._finish(query, key, cell, context, result, cause, content)
        finally:
            self._running.pop()

    def _stored(
        self, query: ContentQuery, prepared: Prepared | None
    ) -> tuple[bytes, Parts, dict[str, bytes]] | None:
        if prepared is None:
            return None
        value = _content_key(query, prepared)
        data = self._unwritten.get(value) or self._values.get(value)
        unpacked = unpack(data) if data else None
        return (value, *unpacked) if unpacked else None

    def _adopt(
        self,
        query: AnyQuery,
        key: str,
        cell: Cell | None,
        context: Context,
        value: bytes,
        parts: Parts,
        facets: dict[str, bytes],
    ) -> Cell:
        self._on_event(Reused(Node(query.name, key), "content", query.stage))
        return self._record(query, key, cell, context, value, facets, "content\0\0", parts)

    def _absent(self, query: AnyQuery, key: str, cell: Cell | None, context: Context) -> Cell:
        """Records that a key has no content: an empty result, and no work to tell of."""
        data = pack({}, {})
        self._put(digest(data), data)
        return self._record(query, key, cell, context, digest(data), {}, "absent\0\0", {})

    def _finish(
        self,
        query: AnyQuery,
        key: str,
        cell: Cell | None,
        context: Context,
        result: Result,
        cause: Cause,
        value: bytes | None = None,
    ) -> Cell:
        facets = facets_of(result)
        packed = pack_facets(facets)
        data = pack_with(result.parts, packed)
        if value is None:
            value = digest(query.name.encode() + b"\0" + data)
        self._put(value, data)
        self._on_event(Ran(Node(query.name, key), cause, query.stage))
        text = f"{cause.kind}\0{cause.node or ''}\0{cause.facet}"
        return self._record(query, key, cell, context, value, facets, text, result.parts, packed)

    def _record(
        self,
        query: AnyQuery,
        key: str,
        cell: Cell | None,
        context: Context,
        value: bytes,
        facets: dict[str, bytes],
        cause: str,
        parts: Mapping[str, bytes],
        packed: bytes | None = None,
    ) -> Cell:
        fresh = cell is None
        if cell is None:
            cell = self._new(query.name, key, query.version)
        changed = [] if fresh else _differing(cell.facets, facets)
        with self.atomic():
            cell.version, cell.value, cell.cause = query.version, value, cause
            cell.dirty, cell.verified = 0, self.revision
            if changed or fresh:
                cell.set_facets(facets, packed)
                cell.changed = self.revision
            self._rows.write(cell)
            edges = [(dep, facet, seen) for (dep, facet), seen in context.edges.items()]
            self._rows.write_edges(cell.id, edges, fresh=fresh)
            if changed:
                self._mark(cell, changed)
            for index in self._indexes:
                if index.name in self._asked and index.source.name == query.name:
                    self._contribute(index, cell, parts, fresh=fresh)
        self._runs += 1
        return cell

    # --- values -----------------------------------------------------------------------

    def _put(self, key: bytes, data: bytes) -> None:
        self._unwritten[key] = data
        self._unwritten_bytes += len(data)
        if self._durable and self._unwritten_bytes > _FLUSH_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._unwritten:
            self._values.put_many(self._unwritten.items())
        self._unwritten, self._unwritten_bytes = {}, 0

    def value_of(self, cell: Cell, facet: Facet[T]) -> T:
        """The decoded value of a facet, kept while the cell's value stays."""
        if isinstance(facet.source, Input):
            return facet.decode({facet.name: facet.source.read(cell.key, facet.name)})
        assert cell.value is not None
        held = self.decoded.get((cell.id, facet.name))
        if held is not None and held[0] == cell.value:
            return held[1]  # type: ignore[no-any-return]  # stored below for this facet
        value = facet.decode(self.parts_of(cell, facet.source))
        self.decoded[cell.id, facet.name] = (cell.value, value)
        return value

    def parts_of(self, cell: Cell, query: AnyQuery) -> Parts:
        """All parts of a node's result as they are stored, by name."""
        assert cell.value is not None
        parts = self._parts.get(cell.value)
        if parts is None:
            parts = self._fetch(cell.value)
            if parts is None:
                # The store lost it (evicted, damaged): the node must be computed again.
                cell.dirty = 1
                self._run(query, cell.key, cell, Cause("lost"))
                parts = self._fetch(cell.value) or {}
            self._parts[cell.value] = parts
        return parts

    def _fetch(self, key: bytes) -> Parts | None:
        data = self._unwritten.get(key) or self._values.get(key)
        return unpack_parts(data) if data else None

    def _foresee(self, cell: Cell) -> None:
        """Reads at once what a node asked for last time: it will mostly ask for it again."""
        if cell.id in self._foreseen:
            return
        wanted: list[bytes] = []
        self._foreseen.add(cell.id)
        for below in self._rows.cells_below(cell.id):
            if below.id not in self._by_id:
                self._keep(below)
                if below.value is not None and not below.dirty:
                    wanted.append(below.value)
        absent = [key for key in wanted if key not in self._parts and key not in self._unwritten]
        for key, data in self._values.get_many(absent).items():
            parts = unpack_parts(data)
            if parts is not None:
                self._parts[key] = parts

    # --- indexes ----------------------------------------------------------------------

    def fresh_term(self, index: Gathered, term: str) -> Cell:
        """The cell of an index's term ("" for a collection), after it is brought up to date."""
        if index.name not in self._asked:
            self._asked.add(index.name)
            self._rows.set_number(f"asked:{index.name}", 1)
        self._bring_up(index)
        cell = self._load(index.name, term)
        if cell is None:
            cell = self._new(index.name, term, "")
            cell.dirty = 0
            cell.facets = {"": self._posting_digest(index, term)}
            self._rows.write(cell)
        return cell

    def postings_of(self, index: Index, term: str) -> list[tuple[str, str]]:
        """(key, item) of each place that mentions a term, as the index stands."""
        return self._rows.postings(index.name, term)

    def held_postings(self, cell: Cell, index: Index) -> tuple[tuple[str, str], ...]:
        """The postings of a term's cell, kept while its digest stays."""
        held = self._postings.get(cell.id)
        if held is None or held[0] != cell.facets[""]:
            held = (cell.facets[""], tuple(self.postings_of(index, cell.key)))
            self._postings[cell.id] = held
        return held[1]

    def _posting_digest(self, index: Gathered, term: str) -> bytes:
        if isinstance(index, Collection):
            return b"%d" % self._rows.number(f"changes:{index.name}")
        rows = self._rows.postings(index.name, term)
        return digest("\0".join(f"{key}\0{item}" for key, item in rows).encode())

    def _contribute(
        self, index: Gathered, cell: Cell, parts: Mapping[str, bytes], *, fresh: bool
    ) -> None:
        """Gives an index what one node contributes to it."""
        part = parts.get(index.facet)
        if isinstance(index, Collection):
            self._rows.begin()
            if index.keep(self.connection, cell.id, cell.key, part):
                changes = f"changes:{index.name}"
                self._rows.set_number(changes, self._rows.number(changes) + 1)
                self._invalidate_terms(index, ("",))
            return
        pairs = set(index.terms(part)) if part is not None else set()
        self._invalidate_terms(
            index, self._rows.replace_postings(index.name, cell.id, pairs, fresh=fresh)
        )

    def _invalidate_terms(self, index: Gathered, terms: Iterable[str]) -> None:
        if index.name not in self._asked:
            return
        for term in sorted(terms):
            cell = self._load(index.name, term)
            if cell is not None:
                now = self._posting_digest(index, term)
                if now != cell.facets[""]:
                    self._publish(cell, [("", now)])

    def _bring_up(self, index: Gathered) -> None:
        """Computes every key of an index that is stale and drops those that are gone."""
        if self._settled.get(index.name) == self.revision:
            return
        self._settled[index.name] = self.revision
        whole = f"whole:{index.name}"
        if self._rows.number(whole) and self._rows.number("unsettled") < _MOVED:
            # Its keys are those of last time, when all of them were right.
            todo: list[str] | None = self._rows.dirty_keys(index.source.name)
            given: Iterable[str] = ()
        else:
            given = index.keys()
            todo = self._stale_since(index, given)
        if todo is None:
            wanted = list(given)
            known, stale = self._rows.stale_keys(index.source.name, index.source.version)
            todo = [key for key in wanted if key in stale or key not in known]
            todo += sorted(stale.difference(wanted))  # gone: their contribution goes too
        marked = len(self._marked)
        if todo:
            self._next_revision()
            self._settled[index.name] = self.revision
            self._run_all(index.source, todo)
        self._keys[index.name] = given, marked
        if not self._rows.number(whole):
            self._gather(index, set(given).difference(todo))
            self._rows.set_number(whole, 1)

    def _gather(self, index: Gathered, keys: Iterable[str]) -> None:
        """On the first question to an index: what the nodes that are right contribute."""
        for key in sorted(keys):
            cell = self._load(index.source.name, key)
            if cell is not None:
                self._contribute(index, cell, self.parts_of(cell, index.source), fresh=False)
                self._parts.pop(cell.value or b"", None)

    def _stale_since(self, index: Gathered, given: Iterable[str]) -> list[str] | None:
        """The stale keys of an index whose keys are those of last time; None if they are not.

        All were right then, so that only what was marked since has to be looked at.
        """
        before, marked = self._keys.pop(index.name, ((), 0))
        if before is not given or marked > len(self._marked):
            return None
        keys = set()
        for identity in self._marked[marked:]:
            cell = self._by_id.get(identity) or self._rows.cell_by_id(identity)
            if cell.query == index.source.name and cell.dirty:
                keys.add(cell.key)
        return sorted(keys)

    def trim(self) -> None:
        """Drops from memory what no node of the present revision needs."""
        live = {cell.value for cell in self._cells.values()}
        self._parts = {key: parts for key, parts in self._parts.items() if key in live}
        if len(self._marked) > 10_000:
            self._marked.clear()
            self._keys.clear()

    def _run_all(self, query: ContentQuery, keys: list[str]) -> None:
        """Brings many keys of a content query up to date; the work fans out."""
        waiting: deque[tuple[str, Cell | None, Cause, Context, bytes]] = deque()

        def tasks() -> Iterator[Any]:
            for key in keys:
                cell = self._load(query.name, key)
                cause = self._stale(query, key, cell)
                if cause is None:
                    assert cell is not None
                    self._verified(query, cell)
                    continue
                context = Context(self)
                prepared = query.prepare(context, key)
                stored = self._stored(query, prepared)
                if stored is not None:
                    self._adopt(query, key, cell, context, *stored)
                elif prepared is None:
                    self._absent(query, key, cell, context)
                else:
                    waiting.append((key, cell, cause, context, _content_key(query, prepared)))
                    yield prepared.load()

        for result in self._fanout.map(query.work, tasks(), len(keys)):
            key, cell, cause, context, value = waiting.popleft()
            self._finish(query, key, cell, context, result, cause, value)


def _unheard(event: Event) -> None:  # the null object of `on_event`
    """Nobody listens."""


def _differing(old: dict[str, bytes], new: dict[str, bytes]) -> list[tuple[str, bytes]]:
    return [
        (facet, new.get(facet, ABSENT))
        for facet in {**old, **new}
        if old.get(facet, ABSENT) != new.get(facet, ABSENT)
    ]


def _content_key(query: ContentQuery, prepared: Prepared) -> bytes:
    return digest(f"{query.name}\0{query.version}\0".encode() + prepared.content)
