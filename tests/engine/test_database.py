"""The engine, driven by a toy: cells of a spreadsheet and texts, no files and no code."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbuild.engine.codec import digest, facets_of, pack, unpack
from ctxbuild.engine.database import Context, Database
from ctxbuild.engine.events import Event, Invalidated, Node, Ran, Reused
from ctxbuild.engine.probe import is_settled
from ctxbuild.engine.query import (
    Collection,
    ContentQuery,
    Facet,
    Index,
    Input,
    Prepared,
    Query,
    Result,
)


class Memory:
    """A value store that can lose things."""

    def __init__(self) -> None:
        self.held: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        return self.held.get(key)

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        return {key: self.held[key] for key in keys if key in self.held}

    def put_many(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        self.held.update(items)


def count_words(task: str) -> Result:
    """The work of the content query: words, and one digest per word's count."""
    words = task.split()
    parts = {"words": "\0".join(sorted(set(words))).encode(), "text": task.encode()}
    return Result(parts, {f"count/{w}": digest(b"%d" % words.count(w)) for w in set(words)})


class World:
    """Texts by name; `report(a,b)` joins facts of them; `busiest` asks an index."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.values = Memory()
        self.events: list[Event] = []
        self.version = "1"
        self.open()

    def __del__(self) -> None:
        self.connection.close()

    def open(self) -> None:
        """A new process: nothing in memory."""
        self.text = Input("text", self._read)
        self.facts = ContentQuery("facts", self.version, self._prepare, count_words)
        self.words = Facet(self.facts, "words", lambda p: p.get("words", b"").decode().split("\0"))
        self.index = Index("mentions", self.facts, "words", _terms, lambda: sorted(self.texts))
        self.report = Query("report", "1", self._report)
        self.total = Query("total", "1", self._total, stage=False)
        self.where = Query("where", "1", self._where)
        declared = (self.text, self.facts, self.index, self.report, self.total, self.where)
        self.db = Database(
            self.connection,
            self.values,
            declared,
            self.version,
            on_event=self.events.append,
        )
        self.db.apply(())

    def _read(self, key: str, facet: str) -> bytes:
        text = self.texts.get(key)
        if facet == "exists":
            return b"1" if text is not None else b""
        return digest(text.encode()) if text is not None else b""

    def _prepare(self, ctx: Context, key: str) -> Prepared | None:
        content = ctx.get(Facet(self.text, "", lambda p: p[""]), key)
        return Prepared(content, lambda: self.texts[key]) if content else None

    def _report(self, ctx: Context, key: str) -> Result:
        lines = []
        for name in key.split(","):
            if ctx.get(Facet(self.text, "exists", lambda p: p["exists"]), name):
                count = Facet(
                    self.facts, "count/a", lambda p: p["text"].decode().split().count("a")
                )
                lines.append(f"{name}:{ctx.get(count, name)}")
            else:
                lines.append(f"{name}:missing")
        return Result({"": ";".join(lines).encode()})

    def _total(self, ctx: Context, key: str) -> Result:
        report = ctx.get(Facet(self.report, "", lambda p: p[""].decode()), key)
        return Result({"": b"%d" % report.count("missing")})

    def _where(self, ctx: Context, key: str) -> Result:
        return Result({"": ",".join(n for n, _ in ctx.postings(self.index, key)).encode()})

    def ask(self, query: Query, key: str) -> str:
        return self.db.get(Facet(query, "", lambda p: p[""].decode()), key)

    def edit(self, **texts: str | None) -> None:
        for name, text in texts.items():
            if text is None:
                self.texts.pop(name, None)
            else:
                self.texts[name] = text
        self.db.apply((self.text, name) for name in texts)
        self.db.settle()

    def ran(self) -> list[str]:
        ran = [str(e.node) for e in self.events if isinstance(e, Ran)]
        self.events.clear()
        return ran


def _terms(part: bytes) -> list[tuple[str, str]]:
    return [(word, "") for word in part.decode().split("\0") if word]


@pytest.fixture
def world() -> World:
    world = World()
    world.edit(x="a b a", y="b c")
    world.ask(world.report, "x,y")
    assert world.ran() == ["facts(x)", "facts(y)", "report(x,y)"]
    return world


def test_asking_again_runs_nothing(world: World) -> None:
    assert world.ask(world.report, "x,y") == "x:2;y:0"
    assert world.ran() == []


def test_a_new_process_runs_nothing_and_looks_at_the_root_alone(world: World) -> None:
    world.db.commit()
    world.open()
    assert world.db.is_fresh(world.report, "x,y")
    assert world.ask(world.report, "x,y") == "x:2;y:0"
    assert world.events == []


def test_a_change_that_leaves_the_facet_equal_stops_early(world: World) -> None:
    world.edit(x="a a c c c")
    assert world.ask(world.report, "x,y") == "x:2;y:0"
    assert world.events == [
        Invalidated(Node("text", "x"), ""),
        world.events[1],
        Reused(Node("report", "x,y"), "verified", True),
    ]
    assert world.ran() == ["facts(x)"]


def test_a_change_of_the_facet_runs_what_asked_for_it(world: World) -> None:
    world.edit(x="a a a")
    assert world.ask(world.report, "x,y") == "x:3;y:0"
    assert world.ran() == ["facts(x)", "report(x,y)"]


def test_undoing_a_change_before_asking_runs_nothing(world: World) -> None:
    world.edit(x="a a a")
    world.edit(x="a b a")
    assert world.ask(world.report, "x,y") == "x:2;y:0"
    assert world.ran() == []


def test_going_back_takes_the_stored_content(world: World) -> None:
    world.edit(x="a")
    world.ask(world.report, "x,y")
    world.ran()
    world.edit(x="a b a")
    assert world.ask(world.report, "x,y") == "x:2;y:0"
    assert next(e for e in world.events if isinstance(e, Reused)).where == "content"
    assert world.ran() == ["report(x,y)"]


def test_a_rename_takes_the_stored_content(world: World) -> None:
    world.edit(x=None, z="a b a")
    assert world.ask(world.report, "z") == "z:2"
    assert world.ran() == ["report(z)"]


def test_what_is_missing_is_a_dependency(world: World) -> None:
    assert world.ask(world.report, "x,new") == "x:2;new:missing"
    world.ran()
    world.edit(unrelated="a")
    assert world.ask(world.report, "x,new") == "x:2;new:missing"
    assert world.ran() == []
    world.edit(new="a")
    assert world.ask(world.report, "x,new") == "x:2;new:1"
    assert world.ran() == ["facts(new)", "report(x,new)"]


def test_dependencies_may_differ_from_run_to_run(world: World) -> None:
    world.edit(y=None)
    assert world.ask(world.report, "x,y") == "x:2;y:missing"
    world.ran()
    world.edit(y="b c")
    assert world.ask(world.report, "x,y") == "x:2;y:0"
    assert world.ran() == ["report(x,y)"]


def test_an_equal_result_is_backdated_for_those_above(world: World) -> None:
    world.edit(w="")
    assert world.ask(world.total, "x,gone") == "1"
    world.ran()
    world.edit(x="a")
    assert world.ask(world.total, "x,gone") == "1"
    assert world.ran() == ["facts(x)", "report(x,gone)", "total(x,gone)"]


def test_an_index_answers_and_only_its_term_invalidates(world: World) -> None:
    assert world.ask(world.where, "b") == "x,y"
    world.ran()
    world.edit(x="a d")
    assert world.ask(world.where, "b") == "y"
    assert world.ran() == ["facts(x)", "where(b)"]
    world.edit(x="a e")
    assert world.ask(world.where, "b") == "y"
    assert world.ran() == ["facts(x)"]
    world.edit(y=None)
    assert world.ask(world.where, "b") == ""
    assert world.ran() == ["where(b)"]
    world.edit(fresh="b")
    assert world.ask(world.where, "b") == "fresh"


def test_a_collection_holds_every_key_and_a_run_that_comes_out_equal_stops_there() -> None:
    world = World()
    world.edit(x="a b", y="b")
    held: dict[str, bytes] = {}

    def keep(_: sqlite3.Connection, node: int, key: str, part: bytes | None) -> bool:
        assert node > 0
        before = held.get(key)
        if part is None:
            held.pop(key, None)
        else:
            held[key] = part
        return before != part

    collection = Collection("all", world.facts, "words", keep, lambda: sorted(world.texts))
    most = Query("most", "1", lambda ctx, _: Result({"": _longest(ctx, collection, held)}))
    above = Query("above", "1", lambda ctx, key: Result({"": ctx.get(_plain(most), key).encode()}))
    declared = (world.text, world.facts, collection, most, above)
    world.db = Database(
        world.connection, world.values, declared, world.version, on_event=world.events.append
    )
    world.db.apply(())
    assert world.ask(above, "") == "x"
    assert world.ran() == ["facts(x)", "facts(y)", "most()", "above()"]
    world.edit(y="c")  # another text, the same answer
    assert (world.ask(above, ""), world.ran()) == ("x", ["facts(y)", "most()"])
    world.edit(z="a b c")
    assert (world.ask(above, ""), world.ran()) == ("z", ["facts(z)", "most()", "above()"])
    world.edit(z=None)
    assert (world.ask(above, ""), world.ran()) == ("x", ["most()", "above()"])
    assert sorted(held) == ["x", "y"]


def _longest(ctx: Context, collection: Collection, held: dict[str, bytes]) -> bytes:
    ctx.collected(collection)
    return max(sorted(held), key=lambda key: len(held[key])).encode()


def _plain(query: Query) -> Facet[str]:
    return Facet(query, "", lambda p: p[""].decode())


def test_a_lost_value_is_computed_again(world: World) -> None:
    world.db.commit()
    world.values.held.clear()
    world.open()
    assert world.ask(world.report, "x,y") == "x:2;y:0"
    assert world.ran() == ["facts(x)", "facts(y)", "report(x,y)"]


def test_a_garbled_value_is_a_lost_value(world: World) -> None:
    world.db.commit()
    for key in world.values.held:
        world.values.held[key] = world.values.held[key][:-1]
    world.open()
    assert world.ask(world.report, "x,y") == "x:2;y:0"


def test_a_new_version_of_a_query_runs_it_and_cuts_off_above(world: World) -> None:
    world.db.commit()
    world.version = "2"
    world.open()
    assert world.ask(world.report, "x,y") == "x:2;y:0"
    assert world.ran() == ["facts(x)", "facts(y)"]


def test_the_cause_of_a_run_is_remembered(world: World) -> None:
    world.edit(x="a a a")
    world.ask(world.report, "x,y")
    assert world.db.cause(world.report, "x,y") == "changed\0facts(x)\0count/a"
    assert world.db.cause(world.facts, "x") == "changed\0text(x)\0"
    assert world.db.cause(world.facts, "y") == "new\0\0"


def test_a_cycle_is_an_error_that_shows_it(world: World) -> None:
    loop = Query("loop", "1", lambda ctx, key: Result({"": ctx.get(own, key)}))
    own: Facet[bytes] = Facet(loop, "", lambda p: p[""])
    with pytest.raises(RuntimeError, match=r"loop\(k\) -> loop\(k\)"):
        world.db.get(own, "k")


def test_an_interrupt_between_runs_loses_nothing_and_inside_one_nothing_is_torn() -> None:
    world = World()
    world.texts = {"x": "a", "y": "a", "z": "a"}
    asked = []

    def interrupted(ctx: Context, key: str) -> Prepared | None:
        asked.append(key)
        if key == "z":
            raise KeyboardInterrupt
        return World._prepare(world, ctx, key)

    world.db._by_name["facts"] = world.facts = world.facts._replace(prepare=interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.ask(world.report, "x,y,z")
    world.db.commit()
    world.ran()
    world.open()
    assert world.ask(world.report, "x,y,z") == "x:1;y:1;z:1"
    assert world.ran() == ["report(x,y,z)"]


def test_a_packed_result_survives_and_damage_is_noticed() -> None:
    result = Result({"a": b"1", "": b"", "b": b"xyz"}, {"a/1": digest(b"q"), "short": b"12"})
    data = pack(result.parts, facets_of(result))
    assert unpack(data) == (dict(result.parts), facets_of(result))
    assert unpack(data[:-1]) is None
    assert unpack(b"") is None
    assert unpack(pack({}, {})) == ({}, {})


EDITS = st.lists(
    st.dictionaries(
        st.sampled_from("xyzw"),
        st.one_of(st.none(), st.sampled_from(["", "a", "a a", "b", "a b", "b a c"])),
        min_size=1,
    ),
    max_size=8,
)
ASKS = st.lists(st.sampled_from(["x,y", "z", "w,x,z"]), max_size=3)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(EDITS, ASKS, st.booleans()), max_size=4))
def test_incremental_equals_clean(
    steps: list[tuple[list[dict[str, str | None]], list[str], bool]],
) -> None:
    world = World()
    for edits, asks, restart in steps:
        for edit in edits:
            world.edit(**edit)
        clean = World()
        clean.texts = dict(world.texts)
        for key in asks:
            assert world.ask(world.total, key) == clean.ask(clean.total, key)
            assert world.ask(world.report, key) == clean.ask(clean.report, key)
        for term in "abc":
            assert world.ask(world.where, term) == clean.ask(clean.where, term)
        if restart:
            world.db.commit()
            world.open()


def test_what_is_forgotten_is_computed_again_with_its_dependents(world: World) -> None:
    world.db.forget(world.facts, ["x"])
    assert world.ask(world.report, "x,y") == "x:2;y:0"
    assert world.ran() == ["report(x,y)"]


def test_inputs_that_changed_leave_the_indexes_unsettled_until_they_are_brought_up(
    world: World,
) -> None:
    world.ask(world.where, "b")
    assert is_settled(world.connection)
    world.texts["new"] = "b"
    world.db.apply([(world.text, "new")])
    assert not is_settled(world.connection)
    world.db.settle()
    assert is_settled(world.connection)


def test_a_rehearsal_writes_no_values(world: World) -> None:
    world.db.commit()
    before = dict(world.values.held)
    world.db.rehearse()
    world.edit(x="a " * 5_000_000)
    assert world.ask(world.report, "x,y") == "x:5000000;y:0"
    assert world.values.held == before
