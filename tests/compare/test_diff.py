"""Two artifacts, block by block."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbuild.compare.artifact import Cause
from ctxbuild.compare.diff import difference, moved_units


def kinds(before, after):
    return [(change.kind, change.unit) for change in difference(before, after).changes]


def test_equal_packs_do_not_differ(make):
    block, artifact = make
    pack = artifact(block("a.py::f"), block("b.py"))
    found = difference(pack, pack)
    assert (found.changes, found.same, found.differs) == ((), 2, False)


def test_every_kind_of_change_is_told_apart(make):
    block, artifact = make
    stays, goes, comes = block("a.py::stays"), block("a.py::goes"), block("z.py::comes")
    text, form = block("b.py::text"), block("b.py::form")
    because = block("c.py::because")
    before = artifact(stays, goes, text, form, because)
    after = artifact(
        stays,
        replace(text, text="def text(a): ...\n"),
        replace(form, form="full", tokens=90),
        replace(because, reasons=(Cause("read", "app.py"),)),
        comes,
    )
    assert kinds(before, after) == [
        ("removed", "a.py::goes"),
        ("text", "b.py::text"),
        ("form", "b.py::form"),
        ("reasons", "c.py::because"),
        ("added", "z.py::comes"),
    ]
    found = difference(before, after)
    assert [change.tokens for change in found.changes[:3]] == [-goes.tokens, 0, 90 - form.tokens]
    assert found.changes[3].gained == (Cause("read", "app.py"),)
    assert found.changes[3].lost == (Cause("call", "app.py", "app.py"),)
    assert (found.same, found.differs) == (1, True)


def test_a_reason_whose_line_moved_is_the_same_reason(make):
    block, artifact = make
    one = block("a.py::f")
    other = replace(one, reasons=(replace(one.reasons[0], line=99),), lines=(7, 8))
    assert kinds(artifact(one), artifact(other)) == []


def test_other_reasons_alone_are_no_difference_to_a_model(make):
    block, artifact = make
    found = difference(artifact(block("a.py")), artifact(block("a.py", reasons=())))
    assert ([change.kind for change in found.changes], found.differs) == (["reasons"], False)


def test_one_block_that_moved_is_one_change(make):
    block, artifact = make
    a, b, c, d = (block(f"{name}.py") for name in "abcd")
    assert kinds(artifact(a, b, c, d), artifact(b, c, d, a)) == [("moved", "a.py")]
    assert kinds(artifact(a, b, c, d), artifact(d, a, b, c)) == [("moved", "d.py")]


def test_a_block_in_another_section_has_moved(make):
    block, artifact = make
    one = block("a.py")
    assert kinds(artifact(one), artifact(replace(one, section="tests"))) == [("moved", "a.py")]


def test_what_went_stands_where_it_stood(make):
    block, artifact = make
    a, b, c = (block(f"{name}.py") for name in "abc")
    assert kinds(artifact(a, b, c), artifact(c)) == [("removed", "a.py"), ("removed", "b.py")]
    assert kinds(artifact(a, b, c), artifact(a)) == [("removed", "b.py"), ("removed", "c.py")]


@given(st.permutations(range(8)))
def test_moving_what_is_called_moved_is_enough(order):
    old, new = list(map(str, range(8))), list(map(str, order))
    moved = moved_units(old, new)
    assert [u for u in old if u not in moved] == [u for u in new if u not in moved]


@settings(max_examples=60)
@given(st.data())
def test_the_way_back_is_the_way_there_reversed(any_artifact, data):
    before, after = data.draw(any_artifact), data.draw(any_artifact)
    there, back = difference(before, after), difference(after, before)
    turned = {"added": "removed", "removed": "added"}
    # Of two blocks that changed places either may be called the one that moved.
    either = ("moved", "reasons")
    plain = {c.unit: turned.get(c.kind, c.kind) for c in there.changes if c.kind not in either}
    assert plain == {c.unit: c.kind for c in back.changes if c.kind not in either}
    causes = {c.unit: (c.lost, c.gained) for c in there.changes if c.gained or c.lost}
    assert causes == {c.unit: (c.gained, c.lost) for c in back.changes if c.gained or c.lost}
    gained = sum(block.tokens for block in after.blocks)
    lost = sum(block.tokens for block in before.blocks)
    assert sum(change.tokens for change in there.changes) == gained - lost
