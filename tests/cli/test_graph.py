"""`ctxbuild graph`: lines, JSON, DOT and Mermaid, which no name can break."""

from __future__ import annotations

import pytest

LINES = """\
shop/app.py:4 -> shop/cart.py
shop/cart.py:3 -> shop/money.py
shop/__init__.py
shop/unused.py
"""


def test_the_whole_repository_as_lines(shop):
    assert shop("graph").out == LINES
    assert shop("graph", ".").out.splitlines()[:2] == LINES.splitlines()[:2]


def test_depth_counts_steps_from_the_start(shop):
    assert shop("graph", "shop/app.py", "--depth", "1").out == "shop/app.py:4 -> shop/cart.py\n"
    assert shop("graph", "--target", "app").out == "".join(LINES.splitlines(keepends=True)[:2])


def test_a_path_may_be_relative_to_the_directory(shop):
    assert shop("graph", "cart.py", at="shop").out == "shop/cart.py:3 -> shop/money.py\n"


def test_external_and_unresolved_modules_are_marked(shop):
    shop.edit("shop/app.py", "import json\n", "import json\nimport shop.nowhere\n")
    assert shop("graph", "shop/app.py", "--depth", "1", "--external").out == (
        "shop/app.py:3 -> json [external]\n"
        "shop/app.py:4 -> shop.nowhere [unresolved]\n"
        "shop/app.py:5 -> shop/cart.py\n"
    )


def test_json(shop):
    assert shop("graph", "shop/cart.py", "--json").data == {
        "nodes": [
            {"name": "shop/cart.py", "kind": "file"},
            {"name": "shop/money.py", "kind": "file"},
        ],
        "edges": [
            {
                "from": "shop/cart.py",
                "to": "shop/money.py",
                "to_kind": "file",
                "kind": "top",
                "line": 3,
                "ambiguous": False,
            }
        ],
    }


def test_dot(shop):
    assert shop("graph", "shop/app.py", "--depth", "1", "--dot", "--external").out == (
        "digraph imports {\n"
        "  rankdir=LR;\n"
        "  node [shape=box];\n"
        '  "external: json" [style=dashed];\n'
        '  "shop/app.py";\n'
        '  "shop/cart.py";\n'
        '  "shop/app.py" -> "external: json";\n'
        '  "shop/app.py" -> "shop/cart.py";\n'
        "}\n"
    )


def test_mermaid(shop):
    shop.edit("shop/cart.py", "from shop.money", "if 1:\n    from shop.money")
    assert shop("graph", "--target", "app", "--mermaid").out == (
        "flowchart LR\n"
        '  n0["shop/app.py"]\n'
        '  n1["shop/cart.py"]\n'
        '  n2["shop/money.py"]\n'
        "  n0 --> n1\n"
        "  n1 -->|conditional| n2\n"
    )


def test_names_cannot_break_the_formats(empty):
    name = 'a"b\\c\n]; x.py'
    empty.write({name: "import d\n", "d.py": "", "ctxfile.toml": _CTXFILE})
    assert empty("graph").out == 'a"b\\c\\n]; x.py:1 -> d.py\n'
    assert '  "a\\"b\\\\c\\\\n]; x.py" -> "d.py";\n' in empty("graph", "--dot").out
    assert '  n0["a#34;b#92;c#92;n#93;#59; x.py"]\n' in empty("graph", "--mermaid").out
    assert empty("graph", "--json").data["edges"][0]["from"] == name


_CTXFILE = 'version = 1\n[targets.t]\nfiles = ["d.py"]\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("shop/cat.py",), "shop/cat.py: matches no source file: did you mean 'shop/cart.py'?"),
        (("--depth", "2"), "--depth counts from a start: name a PATH or a --target"),
        (("shop/app.py", "--depth", "0"), "--depth 0: must be at least 1"),
        (
            ("--target", "ap"),
            "ROOT/ctxfile.toml: no target 'ap', did you mean 'app'?: it declares app, notes",
        ),
    ],
)
def test_a_wrong_request_is_refused(shop, arguments, message):
    outcome = shop("graph", *arguments)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"ctxbuild: {message}\n")
