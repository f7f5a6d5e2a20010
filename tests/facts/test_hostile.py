"""Broken, huge and hostile input: facts with problems, and no exception."""

import time

import pytest

from ctxbuild.facts import extract
from ctxbuild.model import Problem

MANY = 200_000
DEEP = Problem("too-deep", "nests over 10,000 levels: kept as text")


def test_what_is_well_formed_around_an_error_is_still_there():
    facts = extract(
        b"import a\n\ndef good(x: int):\n    return a.b(x)\n\ndef bad(:\n    pass\n\n"
        b"class Late:\n    y = 1\n",
        "python",
    )
    assert facts.problems == (Problem("syntax", "line 6: does not parse"),)
    assert [each.alias for each in facts.imports] == ["a"]
    assert facts.skeleton == "def good(x: int): ...\n\nclass Late:\n    y = 1\n"


@pytest.mark.parametrize(
    "source",
    [
        b"x = " + b"(" * MANY + b"1" + b")" * MANY,
        b"[" * MANY + b"]" * MANY,
        b"f(" * MANY + b")" * MANY,
        b"x" + b".a()" * MANY,
        b"x = 1" + b" + a" * MANY,
        b"x = " + b"not " * MANY + b"a",
    ],
    ids=["parentheses", "lists", "calls", "chain", "sum", "not"],
)
def test_nesting_of_two_hundred_thousand_levels_is_kept_as_text(source):
    start = time.process_time()
    facts = extract(source, "python")
    assert facts.problems == (DEEP,)
    assert facts.text == source.decode()
    assert facts.outline.symbols == ()
    assert time.process_time() - start < 20  # seconds; wrong algorithms take hours


def test_unclosed_brackets_are_kept_as_text():
    facts = extract(b"(" * MANY, "python")
    assert facts.problems == (Problem("syntax", "line 1: does not parse: kept as text"),)


def test_definitions_nested_too_deeply_are_left_out():
    depth = 20
    source = "".join(f"{' ' * each}class C{each}:\n" for each in range(depth))
    facts = extract(f"{source}{' ' * depth}pass\n".encode(), "python")
    assert len(facts.outline.symbols) == 12
    assert [each.kind for each in facts.problems] == ["too-deep"]


def test_a_line_of_a_million_characters_is_fine():
    facts = extract(b"x = '" + b"a" * 1_000_000 + b"'\ny = 1\n", "python")
    assert [each.signature for each in facts.definitions] == ["x = ...", "y = 1"]
    assert facts.problems == ()


def test_source_of_more_than_two_megabytes_is_kept_as_text():
    source = b"x = 1\n" * 400_000
    facts = extract(source, "python")
    assert facts.problems == (Problem("too-large", "2,400,000 bytes: over 2,000,000 kept as text"),)
    assert (len(facts.text), facts.definitions, facts.lines.total) == (2_400_000, (), 400_000)


def test_binary_content_has_neither_text_nor_symbols():
    facts = extract(b"\0\1\2def f(): pass", "python")
    assert (facts.text, facts.skeleton, facts.definitions) == ("", "", ())
    assert [each.kind for each in facts.problems] == ["binary"]


def test_a_chain_is_cut_after_sixty_four_links():
    facts = extract(b"x" + b".a" * 1000 + b"\n", "python")
    assert [each.chain for each in facts.references] == ["x" + ".a" * 64]


def test_a_tuple_of_very_many_targets_makes_few_symbols():
    names = ", ".join(f"n{each}" for each in range(1000))
    assert len(extract(f"{names} = x\n".encode(), "python").outline.symbols) == 50
