"""Counts are exact: toktok and tiktoken agree on every kind of text, offline."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbuild.errors import UsageError
from ctxbuild.pack import tokens
from ctxbuild.pack.tokens import BY_TOKTOK, counter

ENCODINGS = ("o200k_base", "cl100k_base")
TEXTS = [
    "",
    "hello world",
    "def f(x: int) -> str:\n    return f'{x}'\n\n\nclass A:\n\t...\n",
    "  \n\n \t\r\n  x\r\n",
    "日本語のテキスト、中文文本 and العربية with emoji 🧠👩‍👩‍👧",
    "<|endoftext|> <|im_start|>",
    "a" * 3000 + "!" * 3000 + " " * 3000 + "\n" * 300,
    "0123456789" * 40,
    "camelCase snake_case SCREAMING_CASE http://x.y/z?a=b#c",
]


def exact(encoding, text):
    return len(encoding.encode_ordinary(text))


@pytest.mark.parametrize("name", ENCODINGS)
def test_counts_are_those_of_tiktoken(oracle, name):
    assert counter(name)(TEXTS) == [exact(oracle[name], text) for text in TEXTS]


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=400))
def test_any_text_counts_the_same(oracle, text):
    assert counter("o200k_base")([text]) == [exact(oracle["o200k_base"], text)]


def test_without_toktok_tiktoken_counts_the_same(oracle, monkeypatch):
    counter.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "toktok", None)
    assert counter("o200k_base")(TEXTS) == [exact(oracle["o200k_base"], t) for t in TEXTS]
    counter.cache_clear()


def test_a_huge_text_is_cut_where_the_encodings_split_anyway(oracle, monkeypatch):
    monkeypatch.setattr(tokens, "_LONG_RUN", 200)
    text = "".join(f"line {n} of code(x)\n    more\n\n" for n in range(400))
    pieces = tokens._tame(text)
    assert len(pieces) > 10
    assert "".join(pieces) == text
    count = sum(exact(oracle["o200k_base"], piece) for piece in pieces)
    assert count == exact(oracle["o200k_base"], text)


def test_pieces_of_a_pack_add_up(oracle):
    pieces = [
        "# pkg/a.py\n",
        "class A:\n",
        "    def f(self): ...\n",
        "- b.py: x, y\n",
        "\n## T\n\n",
    ]
    whole = exact(oracle["o200k_base"], "".join(pieces[:4]))
    assert whole == sum(counter("o200k_base")(pieces[:4]))


def test_an_encoding_that_nobody_knows_is_an_error_that_lists_those_known():
    with pytest.raises(UsageError, match="unknown tokenizer 'o200k'") as error:
        counter("o200k")
    assert "o200k_base" in error.value.hint


def test_the_usual_encodings_need_no_network():
    assert {"o200k_base", "cl100k_base"} <= BY_TOKTOK
