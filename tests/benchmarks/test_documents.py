"""The benchmark on documents reads its gold right."""

from __future__ import annotations

from benchmarks.bm25 import rank, terms_of
from benchmarks.documents import keyword_rows, main, numbered, raw_sentences, share, statements
from ctxbuild.facts.documents import read

PROTOCOL = """\
---
title: "A Small Transport"
--- abstract

It is small.

--- middle

# Frames

The key words "MUST" and "MAY" count when, and only when, they appear in all capitals.

## Data

A frame MUST carry
data, e.g. bytes.  It MAY be empty.

~~~
MUST in code
~~~

* An item SHOULD be short.

# Errors

An endpoint MUST send BAD_FRAME if a frame is not known.

--- back

# More

## Deeper
"""
STATEMENTS = """
    it "MUST send BAD_FRAME if an unknown frame is received [Transport 2]" $ do
    it "MUST send BAD_DATA if data is gone [Transport 1.1 and 9.9]" $ do
    {- it "MUST not count as it is a comment [Transport 2]" -}
    it "MUST name a document that is given [Unheard 2]" $ do
"""


def test_sections_have_the_numbers_of_the_published_document():
    assert numbered("p.md", PROTOCOL) == {
        "1": "frames",
        "1.1": "data",
        "2": "errors",
        "A": "more",
        "A.1": "deeper",
    }


def test_raw_lines_and_items_give_the_same_sentences():
    assert list(raw_sentences(PROTOCOL)) == [
        ("A frame MUST carry data, e.g. bytes.", ("MUST",)),
        ("It MAY be empty.", ("MAY",)),
        ("An item SHOULD be short.", ("SHOULD",)),
        ("An endpoint MUST send BAD_FRAME if a frame is not known.", ("MUST",)),
    ]
    (row,) = keyword_rows({"p.md": PROTOCOL})
    assert (row.value, row.ratio, row.right) == (4, 1.0, True)
    # A table's cell is an item but nothing to the raw reading; a rule is part of its sentence.
    more = PROTOCOL.replace("~~~", "***").replace(
        "# Errors", "| A | B |\n|--|--|\n| a | It MAY. |\n"
    )
    (row,) = keyword_rows({"p.md": more})
    assert (row.value, row.right) == (6, False)


def test_statements_find_their_document_and_sections():
    found = list(statements(STATEMENTS, {"p.md": PROTOCOL}))
    assert [(each.text, each.gold) for each in found] == [
        ("MUST send BAD_FRAME if an unknown frame is received", (("p.md", "errors"),)),
        ("MUST send BAD_DATA if data is gone", (("p.md", "data"),)),
    ]


def test_a_share_counts_places_from_one():
    assert (share([1, 3, 0, 5], 1), share([1, 3, 0, 5], 3), share([], 1)) == (0.25, 0.5, 0)


def test_bm25_ranks_by_titles_words_and_the_best_sentence():
    every = [("p.md", terms) for terms in terms_of(read("p.md", PROTOCOL.encode()))]
    found = rank("BAD_FRAME for an unknown frame", every)
    assert [(each.slug, each.strength == 10) for each in found[:1]] == [("errors", True)]
    assert rank("nothing alike", every) == ()
    assert rank("x", []) == ()
    same = [("b.md", every[1][1]), ("a.md", every[1][1])]
    assert [each.path for each in rank("frames", same)] == ["b.md", "a.md"]


def test_packets_are_built_and_judged(tmp_path, capsys):
    (tmp_path / "p.md").write_text(PROTOCOL)
    (tmp_path / "spec.hs").write_text(STATEMENTS)
    out = tmp_path / "out.json"
    files = [str(tmp_path / name) for name in ("p.md", "spec.hs")]
    assert main([*files, "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "p.md: sentences with a keyword" in printed
    assert "packets of 1,000 tokens: section is shown" in printed
    assert '"statements"' in out.read_text()
