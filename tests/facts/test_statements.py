from __future__ import annotations

from ctxbuild.facts.statements import statements_at

TEXT = '''import a

def f(x):
    y = call(
        x,
        1,
    )
    if (y and
            x):
        return """
text
"""
    z = 1; w = 2
'''


def test_a_statement_over_several_lines_is_found_from_each_of_them():
    assert [statements_at(TEXT, "python", [line]) for line in (4, 5, 7)] == [((4, 7),)] * 3


def test_a_compound_statement_counts_with_its_header():
    assert statements_at(TEXT, "python", [3, 8, 9]) == ((3, 3), (8, 9))


def test_a_string_over_several_lines_is_not_cut():
    assert statements_at(TEXT, "python", [11]) == ((10, 12),)


def test_statements_that_overlap_are_one():
    assert statements_at(TEXT, "python", [4, 6, 13, 13]) == ((4, 7), (13, 13))


def test_text_without_a_language_has_lines():
    assert statements_at("a\nb\n", "", [2, 1, 2]) == ((1, 1), (2, 2))


def test_a_line_beyond_the_end_is_no_statement():
    assert statements_at(TEXT, "python", [99]) == ()
