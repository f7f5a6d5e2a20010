"""The order of blocks, and keeping it from one pack to the next."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.model import Block
from ctxbuild.pack.layout import Place, arrange, group_of, keep_places


def block(unit: str, section: str = "used", form="skeleton", text: str = "x\n", layer="entry"):
    path, _, symbol = unit.partition("::")
    digest = sha256(text.encode()).hexdigest()
    return Block(unit, path, symbol, form, layer, section, "python", text, 1, digest, 0.5, ())


def places(blocks):
    return [
        Place(b.layer, group_of(b.section, b.path, b.symbol, b.form, b.unit), b.unit, b.digest)
        for b in blocks
    ]


def units(blocks):
    return [each.unit for each in blocks]


def test_what_is_used_comes_first_then_one_liners_and_the_entry_last():
    blocks = [
        block("z.py#names", "names", "summary"),
        block("app.py", "entry", "full"),
        block("far.py", "indirect", "name"),
        block("b.py::B"),
        block("a.py::A"),
        block("app.py#open", "open", "summary"),
        block("t.py::t", "tests"),
    ]
    order = {each.unit: 0 for each in blocks}
    assert units(arrange(blocks, order, ["entry"])) == [
        "a.py::A",
        "b.py::B",
        "t.py::t",
        "far.py",
        "app.py#open",
        "z.py#names",
        "app.py",
    ]


OLD = [block("a.py::A"), block("b.py::B"), block("b.py::B.m"), block("c.py::C")]
ENTRY = block("app.py", "entry", "full")


def test_new_blocks_go_to_the_end_of_their_layer():
    now = [block("a.py::A"), block("aa.py::N"), *OLD[1:], ENTRY]
    assert units(keep_places(now, places([*OLD, ENTRY]))) == [*units([*OLD, ENTRY]), "aa.py::N"]


def test_what_changed_goes_to_the_end_so_that_the_front_grows_stable():
    now = [replace(OLD[0], text="y\n", digest="other"), *OLD[1:], ENTRY]
    kept = units(keep_places(now, places([*OLD, ENTRY])))
    assert kept == [*units([*OLD[1:], ENTRY]), "a.py::A"]


def test_a_class_moves_with_its_members_once_most_of_it_changed():
    other = block("b.py::B.n")
    before = places([*OLD[:3], other, OLD[3]])
    changed = [replace(each, digest="other") for each in (OLD[2], other)]
    now = [OLD[0], OLD[1], *changed, OLD[3]]
    assert units(keep_places(now, before)) == [
        "a.py::A",
        "c.py::C",
        "b.py::B",
        "b.py::B.m",
        "b.py::B.n",
    ]


def test_a_class_of_which_most_is_as_it_was_keeps_its_place():
    now = [OLD[0], OLD[1], replace(OLD[2], digest="other"), OLD[3]]
    assert units(keep_places(now, places(OLD))) == units(OLD)


def test_the_entry_keeps_its_place_whatever_its_text_is():
    names = block("z.py#names", "names", "summary")
    now = [*OLD, replace(ENTRY, digest="other"), names]
    assert units(keep_places(now, places([*OLD, ENTRY, names]))) == units(now)


def test_each_layer_keeps_its_own_places():
    rules = block("rules.md", "", "full", layer="rules")
    new = block("more.md", "", "full", layer="rules")
    kept = keep_places([new, rules, *OLD], places([rules, *OLD]))
    assert units(kept) == ["rules.md", "more.md", *units(OLD)]


CHOSEN = st.lists(
    st.builds(
        block,
        st.sampled_from([f"{p}.py::{s}" for p in "ab" for s in ("F", "F.g", "G")]),
        st.sampled_from(["used", "entry", "tests"]),
        text=st.sampled_from(["1\n", "2\n"]),
        layer=st.sampled_from(["entry", "more"]),
    ),
    unique_by=lambda each: each.unit,
).map(lambda blocks: sorted(blocks, key=lambda each: each.layer))


@given(CHOSEN, CHOSEN)
def test_keeping_places_loses_nothing_and_settles_at_once(before, now):
    kept = keep_places(now, places(before))
    assert sorted(units(kept)) == sorted(units(now))
    assert keep_places(now, places(kept)) == kept
    assert [each.layer for each in kept] == sorted(each.layer for each in now)
