"""Skeletons: whole files and chosen symbols, without bodies, still valid."""

import ast
from textwrap import dedent

import pytest

from ctxbuild.facts import extract
from ctxbuild.facts.skeleton import render_symbols, shown_docstring

SOURCE = dedent(
    '''\
    """Module. More."""
    import os

    LIMIT: int = 3

    class A(B):
        """Class.

        Details.
        """

        x: int = 0

        @property
        def p(self) -> int:
            """One line."""
            return 1

        class Inner:
            def deep(self): return 1

    def f(
        a,  # the a
        b,
    ):
        """
        First.

        Rest.
        """
        def nested(): pass
    name = f(1, 2)
    '''
)


def test_the_skeleton_of_a_file():
    assert extract(SOURCE.encode(), "python").skeleton == dedent(
        '''\
        """Module. More."""
        LIMIT: int = 3

        class A(B):
            """Class."""
            x: int = 0
            @property
            def p(self) -> int:
                """One line."""
                ...
            class Inner:
                def deep(self): ...

        def f(
            a,  # the a
            b,
        ):
            """First."""
            ...

        name = f(1, 2)
        '''
    )


def test_chosen_symbols_stand_under_their_class_headers():
    definitions = extract(SOURCE.encode(), "python").definitions
    assert render_symbols(definitions, {"A.Inner.deep", "LIMIT"}, "none") == dedent(
        """\
        LIMIT: int = 3

        class A(B):
            class Inner:
                def deep(self): ...
        """
    )
    assert render_symbols(definitions, {"A"}, "none") == "class A(B): ...\n"
    assert render_symbols(definitions, {"f"}, "full").endswith(
        '    """\n    First.\n\n    Rest.\n    """\n    ...\n'
    )
    assert render_symbols(definitions, set()) == ""
    assert render_symbols(definitions, {"missing"}) == ""


@pytest.mark.parametrize(
    ("literal", "first"),
    [
        ('"""One."""', '"""One."""'),
        ('"""One.\n\nTwo."""', '"""One."""'),
        ("'''\n  One\n'''", "'''One'''"),
        ('r"""\\d "x"\nmore"""', 'r"""\\d "x" """'),
        ('"""ends in \\\nbackslash"""', '"""ends in """'),
        ('"""\n\n"""', ""),
        ('"a"\n"b"', '"a"\n"b"'),
    ],
)
def test_the_first_line_of_a_docstring_stays_a_literal(literal, first):
    assert shown_docstring(literal, "first") == first
    assert shown_docstring(literal, "full") == literal
    assert shown_docstring(literal, "none") == ""
    if first:
        ast.literal_eval(first.replace("\n", " "))
