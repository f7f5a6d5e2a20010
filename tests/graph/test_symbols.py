"""Names to definitions."""

from __future__ import annotations

import pytest

from ctxbuild.graph import find
from ctxbuild.graph.symbols import Names


def leads(tree, files, path, dotted):
    """What a name stands for, as short texts."""
    found = []
    for each in find(tree(files), path, dotted):
        if each.status == "symbol":
            found.append(f"{each.kind} {each.path}::{each.name}")
        else:
            found.append(f"{each.status} {each.name or each.path}")
    return found


PACKAGE = {
    "p/__init__.py": """
        from .core import Base as Root, make
        from . import tools
        from .stars import *
        from .sub.deep import Deep
    """,
    "p/core.py": """
        class Base:
            def run(self): ...
            class Inner:
                def act(self): ...
        class Child(Base):
            def walk(self): ...
        def make(): ...
        alias = make
        Alias = Child
        LIMIT = 3
    """,
    "p/tools.py": """
        from p.core import make as build
        import p.core
        import p.core as c
        def saw(): ...
    """,
    "p/stars.py": """
        from p.core import Child
        __all__ = ["Child", "shown"]
        def shown(): ...
        def kept(): ...
    """,
    "p/sub/__init__.py": "",
    "p/sub/deep.py": "from .. import Root\nclass Deep(Root): ...",
    "main.py": """
        import p
        import p.sub.deep
        from p import Root, tools as t, Child, shown, make
        from outside import thing
        from p.core import missing
    """,
}


@pytest.mark.parametrize(
    ("dotted", "expected"),
    [
        ("Root", ["class p/core.py::Base"]),
        ("Root.run", ["method p/core.py::Base.run"]),
        ("Root.Inner.act", ["method p/core.py::Base.Inner.act"]),
        ("Child.walk", ["method p/core.py::Child.walk"]),
        ("Child.run", ["method p/core.py::Base.run"]),
        ("p.Deep.run", ["method p/core.py::Base.run"]),
        ("make", ["function p/core.py::make"]),
        ("shown", ["function p/stars.py::shown"]),
        ("t", ["module p/tools.py"]),
        ("t.saw", ["function p/tools.py::saw"]),
        ("t.build", ["function p/core.py::make"]),
        ("t.p.core.make", ["function p/core.py::make"]),
        ("t.c.make", ["function p/core.py::make"]),
        ("p.tools.saw", ["function p/tools.py::saw"]),
        ("p.core.LIMIT", ["constant p/core.py::LIMIT"]),
        ("p.core.alias", ["function p/core.py::make"]),
        ("p.core.Alias.run", ["method p/core.py::Base.run"]),
        ("p.sub.deep.Deep", ["class p/sub/deep.py::Deep"]),
        ("p", ["module p/__init__.py"]),
        ("thing", ["external outside.thing"]),
        ("thing.more", ["external outside.thing.more"]),
        ("p.kept", ["unresolved p.kept"]),
        ("missing", ["unresolved missing"]),
        ("nothing", ["unresolved nothing"]),
        ("p.nothing", ["unresolved p.nothing"]),
        ("Root.nothing", ["unresolved Root.nothing"]),
    ],
)
def test_names_are_followed_to_where_they_are_defined(tree, dotted, expected):
    assert leads(tree, PACKAGE, "main.py", dotted) == expected


def test_without_all_a_star_brings_public_names_only(tree):
    files = {
        "a.py": "from b import *",
        "b.py": "from c import given\ndef seen(): ...\ndef _hidden(): ...",
        "c.py": "def given(): ...",
    }
    assert leads(tree, files, "a.py", "seen") == ["function b.py::seen"]
    assert leads(tree, files, "a.py", "given") == ["function c.py::given"]
    assert leads(tree, files, "a.py", "_hidden") == ["unresolved _hidden"]


def test_a_star_from_outside_may_bring_anything(tree):
    files = {"a.py": "from outside import *\nfrom b import *", "b.py": "def ours(): ..."}
    assert leads(tree, files, "a.py", "ours") == ["function b.py::ours"]
    assert leads(tree, files, "a.py", "theirs") == ["external theirs"]


def test_fallbacks_lead_to_both(tree):
    source = "try:\n    from fast import f\nexcept ImportError:\n    from slow import f\n"
    files = {"a.py": source, "fast.py": "def f(): ...", "slow.py": "def f(): ..."}
    assert leads(tree, files, "a.py", "f") == ["function fast.py::f", "function slow.py::f"]


def test_definitions_in_branches_are_one_name(tree):
    source = "if x:\n    def f(): ...\nelse:\n    def f(a): ...\n"
    assert leads(tree, {"a.py": source}, "a.py", "f") == ["function a.py::f"]


def test_an_attribute_of_a_package_wins_over_its_submodule(tree):
    files = {
        "a.py": "from p import bar, other",
        "p/__init__.py": "from .bar import bar",
        "p/bar.py": "def bar(): ...",
        "p/other.py": "",
    }
    assert leads(tree, files, "a.py", "bar") == ["function p/bar.py::bar"]
    assert leads(tree, files, "a.py", "other") == ["module p/other.py"]


def test_a_module_getattr_makes_missing_names_dynamic(tree):
    files = {
        "a.py": "from b import anything, real",
        "b.py": "def __getattr__(name): ...\ndef real(): ...",
    }
    assert leads(tree, files, "a.py", "anything") == ["dynamic anything"]
    assert leads(tree, files, "a.py", "real") == ["function b.py::real"]


def test_cycles_of_imports_end(tree):
    files = {"a.py": "from b import x", "b.py": "from a import x", "c.py": "from c import *"}
    assert leads(tree, files, "a.py", "x") == ["unresolved x"]
    assert leads(tree, files, "c.py", "x") == ["unresolved x"]
    stars = {"a.py": "from b import *", "b.py": "from a import *\ndef f(): ..."}
    assert leads(tree, stars, "a.py", "f") == ["function b.py::f"]


def test_cycles_of_aliases_and_bases_end(tree):
    files = {"a.py": "A = B\nB = A\nclass C(D): ...\nclass D(C):\n    def m(self): ...\n"}
    assert leads(tree, files, "a.py", "A")
    assert leads(tree, files, "a.py", "C.m") == ["method a.py::D.m"]


def test_a_re_export_a_thousand_modules_deep_is_no_recursion_error(tree):
    files = {f"m{number}.py": f"from m{number + 1} import x" for number in range(1000)}
    files["m1000.py"] = "def x(): ..."
    assert leads(tree, files, "m0.py", "x") == ["unresolved x"]
    assert leads(tree, files, "m960.py", "x") == ["function m1000.py::x"]


def test_a_line_of_bases_a_thousand_classes_deep_is_no_recursion_error(tree):
    source = "class C0:\n    def m(self): ...\n"
    source += "".join(f"class C{number}(C{number - 1}): ...\n" for number in range(1, 1001))
    assert leads(tree, {"a.py": source}, "a.py", "C30.m") == ["method a.py::C0.m"]
    assert leads(tree, {"a.py": source}, "a.py", "C1000.m") == ["unresolved C1000.m"]


def test_bases_are_linearised_as_python_does(tree):
    source = """
        from outside import Outside
        class O: ...
        class A(O): ...
        class B(O): ...
        class C(A, B): ...
        class D(A, B, Outside): ...
    """
    names = Names(tree({"a.py": source}))
    assert [name for _path, name in names.line("a.py", "C")] == ["C", "A", "B", "O"]
    assert [name for _path, name in names.line("a.py", "D")] == [
        "D",
        "A",
        "B",
        "O",
        "outside.Outside",
    ]


def test_an_edit_elsewhere_in_the_module_is_not_asked_for(tree):
    view = tree({"a.py": "from b import f", "b.py": "def f(): ...\ndef g(): ..."})
    find(view, "a.py", "f")
    assert {question for question in view.asked if question[1] == "b.py"} == {
        ("exists", "b.py"),
        ("symbol", "b.py", "f"),
    }
