"""Imports to files."""

from __future__ import annotations

import pytest

from ctxbuild.graph import Edge, resolve_imports


def leads(tree, path, files):
    """The edges of `path` as short texts: status, target or alternatives, name."""
    found = []
    for edge in resolve_imports(tree(files), path):
        if edge.kind == "package":
            found.append(f"package {edge.target}")
        else:
            where = edge.target or "|".join(edge.alternatives)
            name = f"::{edge.name}" if edge.name else ""
            found.append(f"{edge.status} {where}{name}".rstrip())
    return found


def test_an_edge_carries_ordinal_kind_status_target_and_name(tree):
    files = {"a.py": "import os\nif x:\n    from b import c\n", "b.py": "c = 1\n"}
    assert resolve_imports(tree(files), "a.py") == (
        Edge(0, "top", "external"),
        Edge(1, "conditional", "file", "b.py", "c"),
    )


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import p.q.m", ["file p/q/m.py", "package p/__init__.py", "package p/q/__init__.py"]),
        (
            "import p.q.m as z",
            ["file p/q/m.py", "package p/__init__.py", "package p/q/__init__.py"],
        ),
        ("import p.q", ["file p/q/__init__.py", "package p/__init__.py"]),
        (
            "from p.q import m",
            ["file p/q/m.py", "package p/__init__.py", "package p/q/__init__.py"],
        ),
        ("from p.q import x", ["file p/q/__init__.py::x", "package p/__init__.py"]),
        (
            "from p.q.m import x as y",
            ["file p/q/m.py::x", "package p/__init__.py", "package p/q/__init__.py"],
        ),
        ("from p import *", ["file p/__init__.py::*"]),
        ("import p.missing", ["unresolved"]),
        ("import p.q.m.deeper", ["unresolved"]),
        ("import nowhere", ["external"]),
        ("import nowhere.at.all", ["external"]),
        ("from nowhere import x", ["external ::x"]),
    ],
)
def test_absolute_imports_lead_to_files(tree, statement, expected):
    files = {
        "main.py": statement,
        "p/__init__.py": "",
        "p/q/__init__.py": "",
        "p/q/m.py": "",
    }
    assert leads(tree, "main.py", files) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("from . import n", ["file p/q/n.py"]),
        ("from . import x", ["file p/q/__init__.py::x"]),
        ("from .n import x", ["file p/q/n.py::x"]),
        ("from .. import o", ["file p/o.py"]),
        ("from ..o import x", ["file p/o.py::x"]),
        ("from ..r.s import x", ["file p/r/s.py::x", "package p/r/__init__.py"]),
        ("from .missing import x", ["unresolved ::x"]),
        ("from ...beside import x", ["unresolved ::x"]),
        ("from .... import x", ["unresolved ::x"]),
        ("from .......... import x", ["unresolved ::x"]),
    ],
)
def test_relative_imports_stay_inside_their_top_package(tree, statement, expected):
    files = {
        "beside.py": "",
        "p/__init__.py": "",
        "p/o.py": "",
        "p/q/__init__.py": "",
        "p/q/m.py": statement,
        "p/q/n.py": "",
        "p/r/__init__.py": "",
        "p/r/s.py": "",
    }
    assert leads(tree, "p/q/m.py", files) == expected


def test_an_init_file_imports_relative_to_its_own_directory(tree):
    files = {"p/__init__.py": "from .m import x\nfrom . import m", "p/m.py": ""}
    assert leads(tree, "p/__init__.py", files) == ["file p/m.py::x", "file p/m.py"]


def test_a_script_has_no_package_to_be_relative_to(tree):
    files = {"a.py": "from . import b", "b.py": "", "src/c.py": "from . import d", "src/d.py": ""}
    assert leads(tree, "a.py", files) == ["unresolved ::b"]
    assert leads(tree, "src/c.py", files) == ["unresolved ::d"]


@pytest.mark.parametrize("home", ["", "src/", "lib/", "python/"])
def test_tests_find_the_package_in_flat_and_src_layouts(tree, home):
    files = {"tests/test_a.py": "from p import m", f"{home}p/__init__.py": "", f"{home}p/m.py": ""}
    assert leads(tree, "tests/test_a.py", files) == [
        f"file {home}p/m.py",
        f"package {home}p/__init__.py",
    ]


def test_of_several_roots_the_nearest_wins(tree):
    files = {
        "one/src/p/__init__.py": "",
        "one/tests/t.py": "import p",
        "two/p/__init__.py": "",
        "two/t.py": "import p",
        "p/__init__.py": "",
        "t.py": "import p",
    }
    assert leads(tree, "one/tests/t.py", files) == ["file one/src/p/__init__.py"]
    assert leads(tree, "two/t.py", files) == ["file two/p/__init__.py"]
    assert leads(tree, "t.py", files) == ["file p/__init__.py"]


def test_a_project_elsewhere_is_importable_if_a_project_file_marks_it(tree):
    files = {
        "app/main.py": "import p, q, r",
        "libs/p/p/__init__.py": "",
        "libs/p/pyproject.toml": "",
        "libs/q/src/q/__init__.py": "",
        "libs/q/setup.py": "",
        "libs/r/r/__init__.py": "",
    }
    assert leads(tree, "app/main.py", files) == [
        "file libs/p/p/__init__.py",
        "file libs/q/src/q/__init__.py",
        "external",
    ]


def test_two_projects_of_equal_rank_are_ambiguous(tree):
    files = {
        "app/main.py": "import p",
        "one/pyproject.toml": "",
        "one/p/__init__.py": "",
        "two/pyproject.toml": "",
        "two/p/__init__.py": "",
    }
    assert leads(tree, "app/main.py", files) == ["ambiguous one/p/__init__.py|two/p/__init__.py"]


def test_a_module_elsewhere_does_not_capture_the_standard_library(tree):
    files = {
        "pyproject.toml": "",
        "src/p/__init__.py": "",
        "src/p/a.py": "import json, types",
        "src/p/types.py": "",
        "tests/json.py": "",
        "tests/helpers/json.py": "",
    }
    assert leads(tree, "src/p/a.py", files) == ["external", "external"]


def test_a_script_imports_its_neighbour(tree):
    files = {"tools/a.py": "import b", "tools/b.py": "", "b.py": ""}
    assert leads(tree, "tools/a.py", files) == ["file tools/b.py"]


def test_a_package_shadows_a_module_and_a_module_shadows_a_directory(tree):
    files = {
        "main.py": "import a, b",
        "a.py": "",
        "a/__init__.py": "",
        "b.py": "",
        "b/c.py": "",
    }
    assert leads(tree, "main.py", files) == ["file a/__init__.py", "file b.py"]


def test_a_stub_counts_only_without_the_file_it_describes(tree):
    files = {"main.py": "import a, b", "a.py": "", "a.pyi": "", "b.pyi": ""}
    assert leads(tree, "main.py", files) == ["file a.py", "file b.pyi"]


def test_a_namespace_package_spans_two_roots(tree):
    files = {
        "main.py": "import n.one\nfrom n import two\nimport n\nfrom n import three",
        "n/one.py": "",
        "src/n/two.py": "",
    }
    assert leads(tree, "main.py", files) == [
        "file n/one.py",
        "file src/n/two.py",
        "namespace n|src/n",
        "unresolved ::three",
    ]


def test_a_regular_package_wins_over_a_directory_of_the_same_name_nearer_by(tree):
    files = {"tools/main.py": "import p", "tools/p/x.py": "", "p/__init__.py": ""}
    assert leads(tree, "tools/main.py", files) == ["file p/__init__.py"]


def test_a_directory_of_the_same_name_does_not_claim_another_distribution(tree):
    files = {"main.py": "import yaml.loader", "yaml/helper.py": ""}
    assert leads(tree, "main.py", files) == ["external"]


def test_a_directory_without_python_does_not_hide_an_attribute(tree):
    files = {
        "main.py": "from p import templates",
        "p/__init__.py": "templates = 1",
        "p/templates/a.html": "",
    }
    assert leads(tree, "main.py", files) == ["file p/__init__.py::templates"]


def test_kinds_are_kept(tree):
    source = """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import a
        try:
            import b
        except ImportError:
            import c
        def f():
            import d
        import importlib
        e = importlib.import_module("e")
    """
    files = {"main.py": source, **dict.fromkeys(("a.py", "b.py", "c.py", "d.py", "e.py"), "")}
    edges = resolve_imports(tree(files), "main.py")
    assert [(edge.kind, edge.target) for edge in edges if edge.status == "file"] == [
        ("type-checking", "a.py"),
        ("fallback", "b.py"),
        ("fallback", "c.py"),
        ("lazy", "d.py"),
        ("dynamic", "e.py"),
    ]


def test_import_module_understands_relative_names(tree):
    source = """
        from importlib import import_module
        import_module(".m", __package__)
        import_module(".m", package="p")
        import_module("p.missing")
    """
    files = {"p/__init__.py": "", "p/a.py": source, "p/m.py": ""}
    assert leads(tree, "p/a.py", files)[1:] == ["file p/m.py", "file p/m.py", "unresolved"]


def test_cycles_are_only_edges(tree):
    files = {"a.py": "import b", "b.py": "import a"}
    assert leads(tree, "a.py", files) == ["file b.py"]
    assert leads(tree, "b.py", files) == ["file a.py"]


def test_a_failed_probe_is_asked_so_that_a_new_file_is_noticed(tree):
    view = tree({"main.py": "from p import x", "p/__init__.py": ""})
    resolve_imports(view, "main.py")
    assert ("exists", "p/x.py") in view.asked
    assert ("exists", "p/x/__init__.py") in view.asked


def test_only_imports_of_the_file_itself_are_asked_for(tree):
    view = tree({"main.py": "from p.m import x", "p/__init__.py": "", "p/m.py": "x = 1"})
    resolve_imports(view, "main.py")
    asked = {question[:2] for question in view.asked if question[0] not in ("exists", "marked")}
    assert asked == {("imports", "main.py"), ("homes", "p")}
