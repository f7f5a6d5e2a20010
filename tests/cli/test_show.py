"""`ctxbuild show`: the very bytes that a build writes, and tables of plan and blocks."""

from __future__ import annotations

import pytest

PLAN = """\
verdict  form      tokens  unit                      reason
kept     full          41  shop/app.py               entry shop/app.py
kept     skeleton      10  shop/cart.py::Cart        call shop/app.py
kept     skeleton      20  shop/cart.py::Cart.add    call shop/app.py
kept     skeleton      16  shop/cart.py::Cart.total  call shop/app.py
kept     name           8  shop/money.py::Money      named-by shop/cart.py::Cart.total
kept     summary       12  shop/money.py             imported shop/cart.py
144 / 1,000 tokens
"""
BLOCKS = """\
form      tokens  section   unit
skeleton      10  used      shop/cart.py::Cart
skeleton      20  used      shop/cart.py::Cart.add
skeleton      16  used      shop/cart.py::Cart.total
summary       12  indirect  shop/money.py
name           8  names     shop/money.py::Money
full          41  entry     shop/app.py
"""


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        ((), "app.md"),
        (("--format", "md"), "app.md"),
        (("--format", "xml"), "app.xml"),
        (("--format", "json"), "app.pack.json"),
        (("--json",), "app.pack.json"),
        (("--plan", "--format", "json"), "app.plan.json"),
        (("--plan", "--json"), "app.plan.json"),
    ],
)
def test_what_is_shown_is_what_is_written_byte_for_byte(shop, arguments, file):
    shop.edit("ctxfile.toml", "budget = 1000\n", 'budget = 1000\nformats = ["md", "xml"]\n')
    shown = shop.bytes_of("show", "app", *arguments)  # before anything was built
    shop("build")
    assert shown == (shop.root / ".ctxbuild/packs" / file).read_bytes()
    assert shown == shop.bytes_of("show", "app", *arguments)


def test_an_edit_is_in_what_is_shown_next(shop):
    shop("build")
    shop.edit("shop/app.py", "Sells things.", "Sells everything.")
    assert '"""Sells everything."""' in shop("show", "app").out


def test_the_plan_is_a_table(shop):
    assert shop("show", "app", "--plan").out == PLAN


def test_the_blocks_are_a_table_or_json(shop):
    assert shop("show", "app", "--blocks").out == BLOCKS
    data = shop("show", "app", "--blocks", "--json").data
    assert [(block["unit"], block["tokens"]) for block in data][5] == ("shop/app.py", 41)
    assert all("text" not in block for block in data)


def test_what_is_dropped_stands_in_the_plan_with_its_reason(shop):
    shop.edit("ctxfile.toml", "budget = 1000", "budget = 75")
    rows = shop("show", "app", "--plan").out.splitlines()
    dropped = [row.split() for row in rows if row.startswith("dropped")]
    assert [
        "dropped",
        "-",
        "-",
        "shop/money.py",
        "imported",
        "shop/cart.py",
        "[section-share]",
    ] in dropped
    assert all(row[1:3] == ["-", "-"] and row[-1].endswith("]") for row in dropped)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("app", "--plan", "--format", "md"), "--plan is printed as a table or as JSON"),
        (("app", "--blocks", "--format", "xml"), "--blocks is printed as a table or as JSON"),
        (("ap",), "no target 'ap', did you mean 'app'?"),
        (("app", "--plan", "--blocks"), "not allowed with argument"),
    ],
)
def test_a_wrong_request_is_refused(shop, arguments, message):
    outcome = shop("show", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
