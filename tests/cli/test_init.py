"""`ctxbuild init`: a ctxfile whose targets build, whatever the repository is like."""

from __future__ import annotations

import pytest

WRITTEN = """\
# What ctxbuild compiles for this repository. `ctxbuild build` writes each target as
# a pack to .ctxbuild/packs; `ctxbuild why TARGET` tells why something is in it.
# `ctxbuild schema` prints the JSON Schema of this file, for editors.
version = 1

[project]
# What may be a source: globs as in a .gitignore. What git ignores, hidden files,
# vendored directories and secrets stay out in any case.
include = ["**"]
# exclude = ["**/fixtures/**"]
# The encoding that counts tokens.
tokenizer = "o200k_base"

# To work on shop/app.py.
[targets.app]
# Paths, globs or `path::symbol`: shown in full, and what they use as signatures.
entry = ["shop/app.py"]
# Most tokens the pack may have. What matters least is shortened or left out first.
budget = 4_000

# What the project is and how it is built.
[targets.overview]
# Paths or globs. A directory means everything below it.
files = ["README.md"]
budget = 4_000
"""


def built(repository):
    """Names of the targets, after all of them were built within their budgets."""
    result = repository("build", "--json")
    assert result.code == 0, result.err
    targets = result.data["targets"]
    assert all(0 < target["tokens"] <= target["budget"] for target in targets)
    return [target["name"] for target in targets]


def long(lines):
    return "".join(f"def f{n}(a: int) -> int:\n    return a + {n}\n" for n in range(lines))


def test_a_commented_ctxfile_is_written_and_its_targets_build(shop):
    (shop.root / "ctxfile.toml").unlink()
    shop.edit("shop/app.py", "def sell", long(40) + "\n\ndef sell")
    outcome = shop("init")
    assert (outcome.code, outcome.out, outcome.err) == (
        0,
        "wrote ROOT/ctxfile.toml with 2 targets: app, overview\n",
        "now run `ctxbuild build`\n",
    )
    assert (shop.root / "ctxfile.toml").read_text() == WRITTEN
    assert built(shop) == ["app", "overview"]


def test_an_existing_ctxfile_is_not_replaced_without_force(shop):
    before = (shop.root / "ctxfile.toml").read_text()
    outcome = shop("init")
    assert (outcome.code, outcome.err) == (
        2,
        "ctxbuild: ROOT/ctxfile.toml: exists already: edit it, or replace it with --force\n",
    )
    assert (shop.root / "ctxfile.toml").read_text() == before
    assert shop("init", "--force").code == 0
    assert (shop.root / "ctxfile.toml").read_text() != before
    built(shop)


def test_a_dry_run_prints_it_and_writes_nothing(shop):
    (shop.root / "ctxfile.toml").unlink()
    outcome = shop("init", "-n")
    assert outcome.out.startswith("# What ctxbuild compiles for this repository.")
    assert sorted(path.name for path in shop.root.iterdir()) == [
        ".gitignore",
        "README.md",
        "built",
        "shop",
    ]
    assert shop("init", "--json").data["written"] is True


def test_what_many_files_import_comes_before_what_none_does(empty):
    empty.write(
        {
            "src/pkg/__init__.py": "",
            "src/pkg/core.py": long(60),
            "src/pkg/alone.py": long(61),
            **{f"src/pkg/u{n}.py": "from .core import f1\n" for n in range(4)},
            **{f"src/pkg/sub/v{n}.py": "from pkg import core\n" for n in range(3)},
            "src/pkg/sub/__init__.py": "import pkg.core as c\n",
            "tests/test_core.py": long(500),
        }
    )
    empty("init")
    text = (empty.root / "ctxfile.toml").read_text()
    assert "# To work on src/pkg/core.py, which 8 other files import.\n[targets.core]\n" in text
    assert "tests/" not in text
    assert built(empty) == ["core", "alone"]


def test_ignored_files_and_caches_are_not_picked(empty):
    empty.write(
        {
            ".gitignore": "gen/\n",
            "gen/big.py": long(900),
            "app.py": long(30),
            "node_modules/a/index.py": long(900),
        }
    )
    empty("init")
    assert built(empty) == ["app"]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({"README.md": "# A\n", "src/a.js": "let a = 1\n"}, ["overview", "sources"]),
        ({"a.go": "package a\n"}, ["sources"]),
        ({"only.py": "x = 1\n"}, ["only"]),
        ({"only.py": ""}, ["only"]),
        ({"tests/test_a.py": long(50)}, ["test_a"]),
        ({"broken.py": "def (:\n" * 90}, ["broken"]),
        ({"huge.py": long(2000)}, ["huge"]),
        ({"a.b-c d.py": long(30), "overview.py": long(30)}, ["a.b-c-d", "overview-entry"]),
        ({"läs/mig.py": long(30), "läs/[a].py": long(60)}, ["mig"]),
        ({"a/__init__.py": long(50), "b/__main__.py": long(40)}, ["a"]),
    ],
)
def test_targets_build_in_repositories_of_every_kind(empty, files, names):
    empty.write(files)
    assert empty("init").code == 0
    assert built(empty) == names


@pytest.mark.parametrize("files", [{}, {".hidden": "x"}, {"picture.bin": "\0\0"}])
def test_where_nothing_can_be_packed_it_says_so_and_writes_nothing(empty, files):
    empty.write(files)
    outcome = empty("init")
    assert outcome.code == 2
    assert outcome.err.endswith(
        ", so there is nothing to put into a pack: "
        "`ctxbuild doctor --left-out` lists what is left out and why\n"
    )
    assert not (empty.root / "ctxfile.toml").exists()
