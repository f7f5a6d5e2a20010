"""Imports: each name, its kind, its scope; and what is dynamic."""

from textwrap import dedent

import pytest

from ctxbuild.facts import extract
from ctxbuild.model import Facts, Import


def facts_of(source: str) -> Facts:
    return extract(dedent(source).encode(), "python")


def test_every_form_of_import_statement():
    facts = facts_of(
        """\
        from __future__ import annotations
        import a.b, c as d
        import e.f as g
        from h.i import (
            j,
            k as l,
        )
        from . import m
        from ..n import *
        """
    )
    assert facts.imports == (
        Import("__future__", "annotations", "annotations"),
        Import("a.b", None, "a"),
        Import("c", None, "d"),
        Import("e.f", None, "g"),
        Import("h.i", "j", "j"),
        Import("h.i", "k", "l"),
        Import("", "m", "m", level=1),
        Import("n", "*", "*", level=2),
    )
    assert facts.lines.imports == (1, 2, 2, 3, 5, 6, 8, 9)
    assert facts.references == ()


def test_kinds_of_imports():
    facts = facts_of(
        """\
        import top
        if typing.TYPE_CHECKING:
            import checking
        else:
            import running
        if not TYPE_CHECKING:
            import running2
        else:
            import checking2
        if sys.platform == "win32": import windows
        try:
            import fast
        except (ImportError, AttributeError):
            import slow as fast
        try:
            import plain
        except ValueError:
            pass
        class A:
            import inside
            def method(self):
                if x:
                    from lazy import y
                if TYPE_CHECKING:
                    import late
        """
    )
    assert [(each.alias, each.kind, each.scope) for each in facts.imports] == [
        ("top", "top", ""),
        ("checking", "type-checking", ""),
        ("running", "conditional", ""),
        ("running2", "conditional", ""),
        ("checking2", "type-checking", ""),
        ("windows", "conditional", ""),
        ("fast", "fallback", ""),
        ("fast", "fallback", ""),
        ("plain", "top", ""),
        ("inside", "top", ""),
        ("y", "lazy", "A.method"),
        ("late", "type-checking", "A.method"),
    ]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('importlib.import_module("a.b")', Import("a.b", None, "m", kind="dynamic")),
        ("import_module('a')", Import("a", None, "m", kind="dynamic")),
        ("__import__('a')", Import("a", None, "m", kind="dynamic")),
        ('import_module(".x", package="p.q")', Import("p.q.x", None, "m", kind="dynamic")),
        ('import_module("..x", "p.q")', Import("p.x", None, "m", kind="dynamic")),
        ('import_module(".x", __package__)', Import("x", None, "m", 1, kind="dynamic")),
    ],
)
def test_a_call_with_a_literal_module_is_an_import(call, expected):
    facts = facts_of(f"m = {call}\n")
    assert facts.imports == (expected,)
    assert facts.outline.dynamic == ()


@pytest.mark.parametrize(
    ("source", "dynamic"),
    [
        ("importlib.import_module(name)", ("import_module",)),
        ("from importlib import import_module as load\nload(f'{x}')", ("import_module",)),
        ("import importlib as il\nil.import_module('a' + b)", ("import_module",)),
        ("__import__(name)", ("__import__",)),
        ("eval('1'); builtins.exec(code)", ("eval", "exec")),
        ("def __getattr__(name): ...", ("__getattr__",)),
        ("class A:\n    def __getattr__(self, name): ...", ()),
        ("model.eval(); self.exec(1); re.eval", ()),
        ("from simpleeval import eval\neval('1')", ()),
        ("def exec(x): ...\nexec(1)", ()),
    ],
)
def test_what_makes_a_file_dynamic(source, dynamic):
    assert facts_of(source + "\n").outline.dynamic == dynamic
