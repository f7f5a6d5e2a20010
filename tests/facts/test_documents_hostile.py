"""Whatever the bytes, a document comes of them: never an exception, in bounded time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.facts.documents import FORMATS, extract, read

EVERY = sorted({*FORMATS.values(), "text"})
PIECES = (
    "[", "![a](", "*a ", "**", "__a", "<a ", '<a x=">" ', "`a", "``", "[a][b ", "<!--", "<![", "<?",
    "{{", "{: #a}", "must ", "MUST:\n- ", '"MUST" ', "need to ", "e.g. ", "* * * a\n", "> > a\n",
    "a\n", "\n\n", "# a\n", "[a]: b\n", "|a|b|\n|-|-|\n|c|d|\n", "<table><tr><td>", "<li>", "<pre>",
    ".. x::\n   ", "`a`_ ", "a\n=\n", "  ", "::\n\n a\n", "====\n", "----\n", "|===\n", "[[a]]\n",
    ". a\n", "a:: b\n", "1. a\n", "see also ", "overrides ", "X is 1 ", "{ref}`", "<<a,", "---\n",
    "!!! note\n    ", ":::note\n", "x\n: y\n\n", "é", "\x0b", "\u2028", "\r\n", "\x00", "+++\n",
)  # fmt: skip


@given(st.sampled_from(EVERY), st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_mixture_of_markup_gives_a_document_whose_places_are_right(form, pieces):
    text = "".join(pieces)
    found = extract(form, text.encode())
    rows = text.count("\n") + text.count("\r") + 1
    assert len({section.slug for section in found.sections}) == len(found.sections)
    assert len(found.places) == len(found.sections)
    for section, (first, last) in zip(found.sections, found.places, strict=True):
        assert 1 <= first <= last <= rows
        assert [item.ordinal for item in section.items] == list(range(1, len(section.items) + 1))
        for item in section.items:
            assert 0 <= item.lines[0] <= item.lines[1]
            assert all(each.at < len(item.text) for each in item.keywords)


@given(st.binary(max_size=300), st.sampled_from(EVERY))
def test_any_bytes_give_a_document(data, form):
    assert extract(form, data).format == ("markdown" if form == "mdx" else form)


@pytest.mark.parametrize("form", EVERY)
def test_hostile_repetition_takes_time_in_proportion(form):
    pieces = ("[", "![a](", "*a ", '<a x=">" ', "`a`_ ", "|===\n", "x\n: y\n\n", "must ", "<a ")
    for piece in pieces:
        data = (piece * 10_000)[:10_000].encode()
        start = time.process_time()
        extract(form, data)
        assert time.process_time() - start < 6, piece


def test_what_is_too_large_or_broken_says_so():
    assert [p.kind for p in read("a.md", b"a\0b").problems] == ["binary"]
    assert [p.kind for p in read("a.md", b"a \xff b").problems] == ["encoding"]
    assert [p.kind for p in extract("rst", b"`a`_ " * 20_000).problems] == ["too-large"]
    many = ("# A\n\nYou must.\n\n" + "x" * 3_000_000).encode()
    found = read("a.md", many)
    assert [p.kind for p in found.problems] == ["too-large"]
    assert [i.modality for s in found.sections for i in s.items] == ["MUST", ""]
    assert read("a.md", b"a" * 11_000_000).sections == ()


def test_a_paragraph_with_too_many_brackets_keeps_its_words():
    found = read("a.md", b"You must. " + b"[" * 2_000)
    assert [p.kind for p in found.problems] == ["too-large"]
    assert found.sections[0].items[0].text == "You must."
