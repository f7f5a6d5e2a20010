"""The text of a definition in every form."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.model import Symbol
from ctxbuild.pack.forms import docstring_text, first_sentence, listed, skeleton

DOC = '"""Saves a value.\n\nAnd more.\n"""'


@pytest.mark.parametrize(
    ("symbol", "docstring", "expected"),
    [
        (
            Symbol("f", "function", "def f(a: int) -> int:", DOC),
            "none",
            "def f(a: int) -> int: ...\n",
        ),
        (
            Symbol("f", "function", "def f():", DOC),
            "first",
            'def f():\n    """Saves a value."""\n',
        ),
        (
            Symbol("f", "function", "def f():", '"""One."""'),
            "full",
            'def f():\n    """One."""\n',
        ),
        (
            Symbol("f", "function", "@cached\ndef f(\n    a,\n    b,\n):"),
            "full",
            "@cached\ndef f(\n    a,\n    b,\n): ...\n",
        ),
        (Symbol("f", "function", "def f():  # why"), "none", "def f():  # why\n    ...\n"),
        (Symbol("C", "class", "class C(Base):"), "none", "class C(Base): ...\n"),
        (Symbol("X", "constant", "X: int = 3"), "none", "X: int = 3\n"),
    ],
)
def test_a_skeleton_is_a_whole_signature_and_no_body(symbol, docstring, expected):
    made = skeleton(symbol, docstring)
    assert made == expected
    ast.parse(made)


def test_a_class_with_members_below_has_an_open_header():
    assert skeleton(Symbol("C", "class", "class C:"), "none", hollow=False) == "class C:\n"


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("One line", "One line"),
        ("\n    Begins late. Goes on.\n    ", "Begins late."),
        ("A sentence that\n    goes on. Another.", "A sentence that goes on."),
        ("Takes e.g. paths. Yes.", "Takes e.g. paths."),
        ("No end\n\nAnother paragraph.", "No end"),
        ("A line\nand another " + "very long " * 30, "A line"),
        ("", ""),
    ],
)
def test_a_docstring_begins_with_its_first_sentence_or_else_its_first_line(docstring, expected):
    assert first_sentence(docstring) == expected


@given(st.text(alphabet="ab.\\\"' \n\t", max_size=40))
def test_the_first_sentence_is_a_literal_again(content):
    made = docstring_text(repr(content), "first")
    if made:
        assert ast.literal_eval(made) == first_sentence(content)


@pytest.mark.parametrize("literal", ["f'{x}'", "b'x'", "'unclosed", "x"])
def test_what_is_no_string_literal_has_no_first_sentence(literal):
    assert docstring_text(literal, "first") == ""


def test_a_long_list_of_names_says_how_many_are_left_out():
    assert listed(f"n{i}" for i in range(42)).endswith("n38, n39, +2 more")
