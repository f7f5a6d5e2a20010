"""The library: what it exports, and what a user of it meets."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ctxbuild

CTXFILE = """\
version = 1
[targets.app]
entry = ["app.py"]
budget = 1000
[targets.lost]
files = ["nowhere/**"]
[targets.tight]
budget = 20
[[targets.tight.layers]]
files = ["app.py"]
pin = true
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "ctxfile.toml").write_text(CTXFILE)
    (tmp_path / "app.py").write_text("def run(a: int) -> int:\n    return a + 1\n" * 9)
    return tmp_path


def test_it_exports_exactly_what_it_lists():
    for name in ctxbuild.__all__:
        assert getattr(ctxbuild, name) is not None
    typed = {
        "Block",
        "CtxbuildError",
        "Pack",
        "Plan",
        "Project",
        "Reason",
        "Verdict",
        "__version__",
        "assemble",
        "compact",
        "load",
        "messages",
        "remember",
    }
    assert set(ctxbuild.__all__) == typed
    public = {name for name in vars(ctxbuild) if not name.startswith("_")}
    # What is left are submodules and the names that the module itself imports.
    assert {
        n for n in public if getattr(vars(ctxbuild)[n], "__module__", "") == "ctxbuild"
    } == set()


def test_a_name_that_is_not_exported_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'ctxbuild' has no attribute 'paack'"):
        ctxbuild.paack  # noqa: B018


def test_importing_it_imports_nothing_heavy():
    program = (
        "import ctxbuild, sys; "
        "print(sorted(m for m in sys.modules if m.partition('.')[0] in "
        "('sqlite3', 'argparse', 'msgspec', 'orjson', 'tree_sitter', 'diskcache', 'toktok')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_pack_is_built_and_nothing_but_the_cache_is_written(root):
    project = ctxbuild.load(root)
    pack = project.build("app")
    assert isinstance(pack, ctxbuild.Pack)
    assert project.root == root
    assert project.targets == ("app", "lost", "tight")
    assert (pack.target, pack.tokens <= 1000, pack.text.startswith("# app\n")) == (
        "app",
        True,
        True,
    )
    assert [block.unit for block in pack.blocks if block.form == "full"] == ["app.py"]
    assert sorted(path.name for path in root.iterdir()) == [".ctxbuild", "app.py", "ctxfile.toml"]
    assert not (root / ".ctxbuild" / "packs").exists()


def test_a_ctxfile_is_found_from_below_and_taken_as_it_is_named(root):
    below = root / "a" / "b"
    below.mkdir(parents=True)
    assert ctxbuild.load(below).root == root
    assert ctxbuild.load(root / "ctxfile.toml").root == root


def test_the_plan_says_what_became_of_every_candidate(root):
    plan = ctxbuild.load(root).plan("app")
    assert isinstance(plan, ctxbuild.Plan)
    assert [(verdict.unit, verdict.verdict) for verdict in plan.verdicts] == [("app.py", "kept")]
    assert plan.verdicts[0].reasons == (ctxbuild.Reason("entry", detail="app.py"),)


def test_writing_gives_the_files_of_the_pack(root):
    project = ctxbuild.load(root)
    written = project.write("app")
    assert [path.name for path in written] == ["app.md", "app.pack.json", "app.plan.json"]
    assert written[0].read_text() == project.build("app").text


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("appp", "ctxfile.toml: no target 'appp', did you mean 'app'?"),
        ("lost", "layer 'files': 'nowhere/**' matches no file"),
        ("tight", "target 'tight': what is pinned needs "),
    ],
)
def test_what_cannot_be_built_is_one_error_that_says_what_and_where(root, target, message):
    project = ctxbuild.load(root)
    for ask in (project.build, project.plan, project.write):
        with pytest.raises(ctxbuild.CtxbuildError) as caught:
            ask(target)
        assert message in str(caught.value)


def test_a_directory_without_a_ctxfile_and_a_wrong_one_are_errors(tmp_path):
    with pytest.raises(ctxbuild.CtxbuildError, match=r"no ctxfile\.toml here or above"):
        ctxbuild.load(tmp_path)
    (tmp_path / "ctxfile.toml").write_text("version = 1\nbugdet = 3\n")
    with pytest.raises(ctxbuild.CtxbuildError, match=r"ctxfile\.toml:2: unknown key 'bugdet'"):
        ctxbuild.load(tmp_path)
