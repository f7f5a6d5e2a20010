"""Plain retrieval, to compare with."""

from __future__ import annotations

from ctxbuild.compare.baselines import (
    Chunk,
    Lexical,
    fill,
    fixed_chunks,
    fuse,
    named,
    plain_words,
    syntax_chunks,
)
from ctxbuild.facts import extract
from ctxbuild.pack.tokens import counter

COUNT = counter("o200k_base")
CODE = '''"""Sells."""

LIMIT = 3


class Cart:
    """Things."""

    def add(self, name):
        def inner():
            return name
        return inner


def sell():
    return Cart()
'''


def places(chunks):
    return [(chunk.first, chunk.last, chunk.symbol) for chunk in chunks]


def test_fixed_chunks_are_so_many_lines_without_blank_ones():
    text = "a\n" * 45 + "\n" * 50 + "b\n"
    assert places(fixed_chunks("a.py", text)) == [(1, 40, ""), (41, 80, ""), (81, 97, "")]


def test_syntax_chunks_are_outermost_functions_and_what_is_between():
    facts = extract(CODE.encode(), "python")
    found = syntax_chunks("a.py", CODE, facts.outline, facts.lines)
    assert places(found) == [(1, 8, ""), (9, 12, "Cart.add"), (15, 16, "sell")]
    assert found[2].text == "def sell():\n    return Cart()\n"


def test_every_line_with_text_is_in_exactly_one_chunk():
    facts = extract(CODE.encode(), "python")
    found = syntax_chunks("a.py", CODE, facts.outline, facts.lines)
    lines = [line for chunk in found for line in range(chunk.first, chunk.last + 1)]
    assert len(lines) == len(set(lines))
    assert {n for n, row in enumerate(CODE.split("\n"), 1) if row.strip()} <= set(lines)


def test_a_rare_word_weighs_more_and_a_long_text_less():
    texts = ["pay the order", "pay pay pay " + "and so on " * 50, "refund", "pay"]
    chunks = [Chunk(f"{n}.md", 1, 1, text) for n, text in enumerate(texts)]
    assert Lexical(chunks, plain_words).rank("pay refund") == [2, 3, 0, 1]
    assert Lexical(chunks, plain_words).rank("nothing of it") == []
    assert Lexical([], plain_words).rank("pay") == []


def test_fusion_prefers_what_several_rankings_name():
    assert fuse([[1, 2, 3], [4, 3]]) == [3, 1, 4, 2]


def test_filling_takes_the_best_that_fit_and_counts_headers():
    chunks = [Chunk("a.py", 1, 1, "x = 1\n" * n, f"f{n}") for n in (10, 2_000, 5)]
    taken, text = fill(chunks, [1, 0, 2], 200, COUNT, {"a.py": "python"})
    assert [chunk.symbol for chunk in taken] == ["f10", "f5"]
    assert text.startswith("# question\n\n## a.py :: f10 (lines 1-1)\n\n```python\nx = 1\n")
    assert COUNT([text])[0] <= 200


def test_nothing_fits_into_nothing():
    assert fill([Chunk("a", 1, 1, "x\n")], [0], 0, COUNT, {})[0] == []


def test_what_is_written_like_code_is_a_name():
    question = "Why does HTTPServer call `stop` and my_func() twice, but not Session.get in Python?"
    assert named(question) == ["HTTPServer", "stop", "my_func", "Session.get"]
