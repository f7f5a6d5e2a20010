"""What becomes of a unit that is too large."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.facts.words import words
from ctxbuild.pack.tokens import counter
from ctxbuild.select.retrieval.slicer import slice_lines

COUNT = counter("o200k_base")


def long_function(filler=60):
    """A function whose middle is about refunds, with much that is not above and below it."""
    rows = ["class Shop:", '    """Sells."""', "", "    def run(self, orders):"]
    rows += [f"        step_{n} = self.prepare(orders, {n})" for n in range(filler)]
    rows += [
        "        for order in orders:",
        "            if order.refunded:",
        "                self.ledger.refund(",
        "                    order.customer,",
        "                    amount=order.total,",
        "                )",
    ]
    rows += [f"        done_{n} = self.finish(orders, {n})" for n in range(filler)]
    return "\n".join(rows) + "\n"


def asked(question):
    return dict.fromkeys(words(question), 1.0)


def sliced(text, question, limit, *, lines=None, language="python", **options):
    lines = lines or (1, text.count("\n"))
    return slice_lines(text, language, lines, asked(question), limit, COUNT, **options)


def test_the_densest_statements_stand_under_the_headers_that_enclose_them():
    found = sliced(long_function(), "where is a customer refunded?", 200, lines=(4, 130))
    assert found.text == dedent(
        """\
        def run(self, orders):
            ...
            for order in orders:
                if order.refunded:
                    self.ledger.refund(
                        order.customer,
                        amount=order.total,
                    )
            ...
        """
    ).replace("\n", "\n    ").rstrip(" ").replace("def run", "    def run", 1)


def test_the_lines_of_a_slice_are_those_of_the_file_both_ends_included():
    text = long_function()
    found = sliced(text, "where is a customer refunded?", 200, lines=(4, 130))
    rows = text.split("\n")
    shown = [rows[n - 1] for first, last in found.lines for n in range(first, last + 1)]
    assert found.lines == ((4, 4), (65, 70))
    assert shown == [row for row in found.text.splitlines() if row.strip() != "..."]


def test_no_statement_is_cut_even_where_only_a_part_of_it_would_fit():
    big = "x = [\n" + "".join(f"    'refund number {n}',\n" for n in range(400)) + "]\n"
    text = f"def f():\n    refund = 1\n{''.join('    ' + row for row in big.splitlines(True))}"
    found = sliced(text, "refund", 100)
    assert found.text == "def f():\n    refund = 1\n    ...\n"
    assert found.tokens == COUNT([found.text])[0]


def test_what_fits_is_left_whole():
    text = "def f():\n    return 1\n"
    found = sliced(text, "anything", 100)
    assert (found.text, found.lines) == (text, ((1, 2),))


def test_without_a_word_of_the_question_it_is_the_beginning():
    found = sliced(long_function(), "weather", 120, lines=(4, 130))
    assert found.text.startswith("    def run(self, orders):\n        step_0 = ")
    assert found.text.endswith("        ...\n")
    assert found.tokens <= 120


def test_a_unit_of_which_nothing_fits_is_no_slice():
    assert sliced(long_function(), "refund", 3, lines=(4, 130)) is None


@pytest.mark.parametrize("limit", [40, 100, 500])
def test_a_very_long_line_never_makes_a_slice_exceed_its_share(limit):
    line = "values = [" + ", ".join(f"'refund {n}'" for n in range(3000)) + "]"
    text = f"def f():\n    {line}\n    refund = 2\n    return refund\n"
    found = sliced(text, "refund", limit)
    assert found.text == "def f():\n    ...\n    refund = 2\n    return refund\n"


@pytest.mark.parametrize("limit", [10, 100, 1500])
def test_a_paragraph_on_one_line_is_cut_where_a_word_ends_and_by_tokens(limit):
    text = "Something else. " * 2000 + "退款说明" * 3000 + " refund policy " + "end. " * 900 + "\n"
    found = sliced(text, "refund policy", limit, language="")
    assert found.text.startswith("... refund policy")
    assert found.lines == ((1, 1),)
    assert found.tokens == COUNT([found.text])[0] <= limit


def test_a_statement_that_a_stack_trace_names_comes_first():
    text = long_function()
    found = sliced(text, "refund", 90, lines=(4, 130), marked=[100])
    assert "done_29" in found.text


def test_a_slice_stands_at_the_depth_at_which_it_is_shown():
    text = "class A:\n\tdef f(self):\n\t\tif self.a:\n\t\t\treturn refund\n" + "\t\tx = 1\n" * 400
    found = sliced(text, "refund", 60, lines=(2, 404), depth=1)
    assert found.text.startswith("    def f(self):\n    \tif self.a:\n    \t\treturn refund\n")


@given(
    st.lists(
        st.sampled_from(["x = refund", "y = 1", "if a:\n    b = 2", "z = '" + "w " * 50 + "'"])
    ),
    st.integers(8, 200),
)
def test_whatever_the_code_a_slice_keeps_its_limit_and_shows_lines_of_the_file(pieces, limit):
    body = "\n".join(pieces) or "pass"
    text = "def f():\n" + "\n".join(f"    {row}" for row in body.split("\n")) + "\n"
    found = sliced(text, "refund", limit)
    if found is not None:
        rows = text.split("\n")
        shown = [rows[n - 1] for first, last in found.lines for n in range(first, last + 1)]
        assert found.tokens == COUNT([found.text])[0] <= limit
        assert shown == [row for row in found.text.splitlines() if row.strip() != "..."]


@pytest.mark.parametrize(
    "hostile", ["refund " * 60_000, "refund\n" * 40_000, "((((" * 20_000, "x = [\n" * 20_000]
)
@pytest.mark.parametrize("language", ["python", ""])
def test_hostile_texts_take_bearable_time(hostile, language):
    started = time.perf_counter()
    found = sliced(hostile, "refund", 500, lines=(1, hostile.count("\n") + 1), language=language)
    assert found is None or found.tokens <= 500
    assert time.perf_counter() - started < 8
