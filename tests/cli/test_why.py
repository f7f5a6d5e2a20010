"""`ctxbuild why`: every verdict with its reasons, costs and way from the entry."""

from __future__ import annotations

import pytest

ALL = """\
app: 144 / 1,000 tokens

kept: 6, 107 tokens
  shop/app.py: full, 41 tokens; 5 as name, 10 as skeleton, 41 as full
      it is the entry 'shop/app.py'
  shop/cart.py::Cart: skeleton, 10 tokens; 3 or 10 as skeleton
      called by shop/app.py:8
  shop/cart.py::Cart.add: skeleton, 20 tokens; 13 or 20 as skeleton
      called by shop/app.py:10
  shop/cart.py::Cart.total: skeleton, 16 tokens; 9 or 16 as skeleton
      called by shop/app.py:11
  shop/money.py::Money: name, 8 tokens
      named in the signature of shop/cart.py::Cart.total
  shop/money.py: summary, 12 tokens; 6 as name, 12 as summary
      imported by shop/cart.py:3, 2 steps from the entry
"""
TOTAL = """\
shop/cart.py::Cart.total (lines 13-15): kept as skeleton, 16 tokens
  costs: 9 or 16 as skeleton
  reason: called by shop/app.py:11
  way: shop/app.py:11 uses shop/cart.py::Cart.total
"""
MONEY = """\
shop/money.py (lines 1-5): kept as summary, 12 tokens
  costs: 6 as name, 12 as summary
  reason: imported by shop/cart.py:3, 2 steps from the entry
shop/money.py::Money (lines 4-5): kept as name, 8 tokens
  costs: 8 as name
  reason: named in the signature of shop/cart.py::Cart.total
  way: shop/app.py:4 imports shop/cart.py
  way: shop/cart.py:3 imports shop/money.py
"""


def test_without_a_unit_every_candidate_is_told(shop):
    assert shop("why", "app").out == ALL


def test_a_symbol_is_told_with_its_lines_costs_reasons_and_the_way_to_it(shop):
    assert shop("why", "app", "shop/cart.py::Cart.total").out == TOTAL


def test_a_file_is_told_with_its_parts(shop):
    assert shop("why", "app", "shop/money.py").out == MONEY
    assert shop("why", "app", "money.py", at="shop").out == MONEY
    assert shop("why", "app", "./shop/../shop/money.py").out == MONEY


def test_what_is_dropped_or_trimmed_says_that_the_budget_is_spent(shop):
    shop.edit("ctxfile.toml", "budget = 1000", "budget = 75")
    told = shop("why", "app").out
    assert "\ndropped: " in told
    assert "would cost" in told
    one = shop("why", "app", "shop/money.py").out.splitlines()
    assert one[0] == (
        "shop/money.py (lines 1-5): dropped: "
        "the share of its section was spent on what matters more"
    )


@pytest.mark.parametrize(
    ("target", "unit", "sentence"),
    [
        ("app", "shop/unused.py", "is no candidate: it is not reached from shop/app.py"),
        ("app", "shop/app.py::sell", "is no candidate of its own: shop/app.py is one as a whole"),
        ("app", "built/out.py", "is left out of the sources: ignored (.gitignore:1: built/)"),
        ("app", ".gitignore", "is left out of the sources: hidden"),
        ("notes", "shop/app.py", "is no candidate: no layer of notes lists it"),
    ],
)
def test_what_is_no_candidate_says_why(shop, target, unit, sentence):
    outcome = shop("why", target, unit)
    assert (outcome.code, outcome.out) == (0, f"{unit} {sentence}\n")


@pytest.mark.parametrize(
    ("unit", "line"),
    [
        ("shop/cat.py", "shop/cat.py: no such file; did you mean shop/cart.py?"),
        ("cart.py", "cart.py: no such file; did you mean shop/cart.py?"),
        ("built/zzz.txt", "built/zzz.txt: no such file"),
        (
            "shop/cart.py::add",
            (
                "shop/cart.py::add: shop/cart.py has no such symbol; "
                "did you mean shop/cart.py::Cart.add?"
            ),
        ),
    ],
)
def test_a_unit_that_is_not_there_is_an_error_with_what_may_be_meant(shop, unit, line):
    outcome = shop("why", "app", unit)
    assert (outcome.code, outcome.out) == (2, f"{line}\n")


def test_a_definition_that_the_entry_does_not_use_is_told_apart(shop):
    shop.edit("shop/cart.py", "class Cart:", "def other():\n    pass\n\n\nclass Cart:")
    assert shop("why", "app", "shop/cart.py::other").out == (
        "shop/cart.py::other is no candidate: its file is reached, "
        "but shop/app.py does not use it\n"
        "  way: shop/app.py:4 imports shop/cart.py\n"
    )


def test_json_holds_the_same(shop):
    data = shop("why", "app", "shop/cart.py::Cart.total", "--json").data
    assert data == {
        "target": "app",
        "budget": 1000,
        "reserve": 0,
        "tokens": 144,
        "unit": "shop/cart.py::Cart.total",
        "findings": [
            {
                "unit": "shop/cart.py::Cart.total",
                "layer": "entry",
                "verdict": "kept",
                "form": "skeleton",
                "tokens": 16,
                "costs": [["skeleton", 9], ["skeleton", 16]],
                "lines": [13, 15],
                "score": 0.7,
                "why": "",
                "reasons": [
                    {
                        "kind": "call",
                        "unit": "shop/app.py",
                        "path": "shop/app.py",
                        "line": 11,
                        "detail": "",
                    }
                ],
            }
        ],
        "chain": [
            {
                "path": "shop/app.py",
                "line": 11,
                "kind": "reference",
                "unit": "shop/cart.py::Cart.total",
            }
        ],
        "absence": None,
    }
    absent = shop("why", "app", "built/out.py", "--json").data
    assert (absent["findings"], absent["absence"]) == (
        [],
        {"kind": "left-out", "detail": "ignored (.gitignore:1: built/)", "near": []},
    )


def test_asking_why_leaves_the_next_build_right(shop):
    """What a look-up scanned must not make a stale pack pass for fresh."""
    shop("build")
    shop.write({"shop/late.py": "class Late:\n    def append(self): ...\n"})
    shop.edit("shop/cart.py", "def add(self, name: str)", "def add(self, name: bytes)")
    shop("why", "app", "shop/unused.py")
    ran = shop("build", "--json").data["ran"]
    clean = shop.bytes_of("show", "app")
    shop("clean", "--all")
    assert shop.bytes_of("show", "app") == clean
    assert ran == ["pack(app)"]  # the question had the plan made
