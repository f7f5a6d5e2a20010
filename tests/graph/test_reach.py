"""Who needs whom from an entry."""

from __future__ import annotations

from ctxbuild.graph import Edge, Reached, chain, reach
from ctxbuild.graph.reach import Link

FILES = {
    "app.py": "import a\nfrom b import f\nf()\n",
    "a.py": "import c\n",
    "b.py": "if TYPE_CHECKING:\n    import d\ndef f():\n    import c\n",
    "c.py": "import e, app\n",
    "d.py": "",
    "e.py": "",
    "unconnected.py": "import a\n",
    "tests/test_app.py": "import app\n",
}


def test_direct_files_come_before_indirect_ones_and_the_rest_is_out(tree):
    found = reach(tree(FILES), ("app.py",))
    assert found.direct == (
        Reached("a.py", 1, "app.py", Edge(0, "top", "file", "a.py")),
        Reached("b.py", 1, "app.py", Edge(1, "top", "file", "b.py", "f")),
    )
    assert found.indirect == (
        Reached("c.py", 2, "a.py", Edge(0, "top", "file", "c.py")),
        Reached("d.py", 2, "b.py", Edge(0, "type-checking", "file", "d.py")),
        Reached("e.py", 3, "c.py", Edge(0, "top", "file", "e.py")),
    )
    assert found.dynamic == ()


def test_a_file_that_holds_a_used_symbol_is_direct_without_an_import(tree):
    found = reach(tree(FILES), ("app.py",), ("unconnected.py", "a.py", "app.py"))
    assert [(each.path, each.edge is None) for each in found.direct] == [
        ("a.py", False),
        ("b.py", False),
        ("unconnected.py", True),
    ]


def test_several_entries_reach_together_and_not_each_other(tree):
    found = reach(tree(FILES), ("app.py", "a.py"))
    assert [each.path for each in found.direct] == ["b.py", "c.py"]


def test_packages_executed_on_the_way_are_indirect_unless_they_are_empty(tree):
    files = {
        "app.py": "import p.q.m\n",
        "p/__init__.py": "",
        "p/q/__init__.py": "from . import helper\n",
        "p/q/m.py": "",
        "p/q/helper.py": "",
    }
    found = reach(tree(files), ("app.py",))
    assert [each.path for each in found.direct] == ["p/q/m.py"]
    assert [(each.path, each.distance) for each in found.indirect] == [
        ("p/q/__init__.py", 2),
        ("p/q/helper.py", 3),
    ]


def test_a_package_does_not_pull_its_own_init_into_its_modules(tree):
    files = {
        "p/__init__.py": "from . import a, b\n",
        "p/a.py": "from . import c\n",
        "p/b.py": "",
        "p/c.py": "",
    }
    found = reach(tree(files), ("p/a.py",))
    assert [each.path for each in (*found.direct, *found.indirect)] == ["p/c.py"]


def test_dynamic_code_is_flagged_and_does_not_explode(tree):
    files = {
        "app.py": "import a, b\n",
        "a.py": "eval('1')\n",
        "b.py": "import c\n",
        "c.py": "eval('1')\n",
    }
    found = reach(tree(files), ("app.py",))
    assert found.dynamic == ("a.py",)


def test_the_chain_to_a_used_symbol_is_its_reference(tree):
    assert chain(tree(FILES), ("app.py",), "b.py", "f") == (
        Link("app.py", "reference", 0, "b.py", "f"),
    )


def test_the_chain_to_a_file_is_the_imports_that_lead_there(tree):
    assert chain(tree(FILES), ("app.py",), "e.py") == (
        Link("app.py", "import", 0, "a.py"),
        Link("a.py", "import", 0, "c.py"),
        Link("c.py", "import", 0, "e.py"),
    )


def test_the_chain_ends_in_the_reference_where_the_last_file_uses_the_symbol(tree):
    files = {
        "app.py": "import a\n",
        "a.py": "from b import f\nf()\n",
        "b.py": "def f(): ...\n",
    }
    assert chain(tree(files), ("app.py",), "b.py", "f") == (
        Link("app.py", "import", 0, "a.py"),
        Link("a.py", "reference", 0, "b.py", "f"),
    )


def test_there_is_no_chain_to_what_is_not_connected(tree):
    assert chain(tree(FILES), ("app.py",), "unconnected.py") == ()
