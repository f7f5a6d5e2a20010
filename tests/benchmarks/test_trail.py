"""What a target's reader reuses and pays, on packs made by hand."""

from __future__ import annotations

from hashlib import sha256

import pytest

from benchmarks.trail import PROMPTS, SESSION, TALKS, Bill, Reader, Session, Step, best_order
from ctxbuild.compare.prices import price_of, prompt
from ctxbuild.model import Block, Pack
from ctxbuild.pack import render
from ctxbuild.pack.tokens import counter

PRICE = price_of("")


def block(unit: str, text: str, section: str = "used", form="skeleton") -> Block:
    path, _, symbol = unit.partition("::")
    digest = sha256(text.encode()).hexdigest()
    return Block(unit, path, symbol, form, "entry", section, "python", text, 1, digest, 0.5, ())


def pack(*blocks: Block) -> Pack:
    text = render.markdown("app", blocks)
    digest = f"sha256:{sha256(text.encode()).hexdigest()}"
    (tokens,) = counter("o200k_base")([text])
    return Pack("app", digest, "o200k_base", 4_000, 0, tokens, text, blocks)


def function(name: str, lines: int = 12) -> str:
    return f"def {name}():\n" + "".join(f"    {name}_{n} = {n}\n" for n in range(lines))


A, B, C = (block(f"{name}.py::{name}", function(name)) for name in "abc")
ENTRY = block("app.py", function("main", 40), "entry", "full")


def changed(one: Block, old: str, new: str) -> Block:
    return block(one.unit, one.text.replace(old, new), one.section, one.form)


def test_the_best_order_retains_all_but_the_block_that_changed_wherever_it_stands():
    before, after = pack(A, B, C, ENTRY), pack(changed(A, "a_0 = 0", "a_0 = 7"), B, C, ENTRY)
    (lost,) = counter("o200k_base")([A.text])
    assert 1 - 1.5 * lost / after.tokens < best_order(before, after) < 1


def test_the_best_order_retains_the_beginning_of_a_block_that_changed_at_its_end():
    before = pack(A, ENTRY)
    early = best_order(before, pack(A, changed(ENTRY, "main_1 = 1", "main_1 = 7")))
    late = best_order(before, pack(A, changed(ENTRY, "main_39 = 39", "main_39 = 7")))
    assert early < 0.5
    assert 0.9 < late < 1


def test_the_best_order_puts_the_block_with_most_in_common_behind_what_is_the_same():
    before = pack(A, B, ENTRY)
    new = (changed(A, "a_0 = 0", "a_0 = 7"), B, changed(ENTRY, "main_39 = 39", "main_39 = 7"))
    assert best_order(before, pack(*new)) > 0.7


def test_a_reader_notes_what_each_way_keeps():
    reader = Reader(PRICE, best=True)
    packs = [
        pack(A, B, C, ENTRY),
        pack(A, B, C, ENTRY),
        pack(changed(A, "a_0 = 0", "a_0 = 7"), B, C, ENTRY),
    ]
    for each, touched in zip(packs, ({"x"}, {"y"}, {"a.py"}), strict=True):
        reader.step(each, frozenset(touched))
    trail = reader.trail
    assert (trail.steps, trail.same, trail.untouched, trail.kept) == (2, 1, 1, 1)
    assert trail.broken == {("used", "skeleton", "changed"): 1}
    (retained,), (bound,), (followed,) = trail.retained, trail.bound, trail.followed
    assert retained < followed < 1
    assert retained < bound < 1


@pytest.mark.parametrize("talk", TALKS)
def test_a_session_is_billed_by_the_prices_of_its_prompts(talk):
    bill = Bill()
    session = Session(PRICE, talk, bill)
    session.begin(4_000)
    session.go_on(Step(4_000, 4_000, 0), 1)
    session.go_on(Step(4_100, 2_000, 300), 2)
    said = [talk * PROMPTS * place for place in range(3)]
    others = PROMPTS - 1
    start = prompt(PRICE, 0, 4_000) + others * prompt(PRICE, 4_000, 0)
    second = PROMPTS * prompt(PRICE, 4_000 + said[1], 0)
    fresh = prompt(PRICE, 2_000, 2_100 + said[2]) + others * prompt(PRICE, 4_100 + said[2], 0)
    delta = prompt(PRICE, 4_000 + said[2], 300) + others * prompt(PRICE, 4_300 + said[2], 0)
    assert bill.fresh == pytest.approx(start + second + fresh)
    assert bill.always == bill.cheaper == pytest.approx(start + second + delta)
    assert (bill.anew, session.always) == (0, 4_300)


def test_a_session_begins_anew_where_a_delta_would_be_read_too_often():
    bill = Bill()
    session = Session(PRICE, 0, bill)
    session.begin(4_000)
    session.go_on(Step(4_000, 2_000, 3_500), 1)
    assert bill.anew == 1
    assert bill.cheaper == bill.fresh < bill.always


def test_what_a_session_has_grown_to_is_noted_at_its_end():
    reader = Reader(PRICE)
    for number in range(SESSION):
        last = pack(changed(A, "a_0 = 0", f"a_0 = {number}"), B, C, ENTRY)
        reader.step(last, frozenset({"a.py"}))
    (grown,) = reader.trail.grown
    assert grown > 1
