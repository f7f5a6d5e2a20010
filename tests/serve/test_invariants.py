"""Clean equals incremental; same inputs, same bytes; the budget is a promise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxbuild.pack.tokens import counter

PACKAGE_ROOT = Path(__file__).parents[2]

CTXFILE = """version = 1
[targets.app]
entry = ["pkg/app.py"]
budget = 900
[targets.method]
entry = ["pkg/app.py::App.run"]
budget = 400
[targets.all]
budget = 700
reserve = 50
[[targets.all.layers]]
name = "texts"
files = ["*.md", "**/*.txt"]
budget = 200
[[targets.all.layers]]
entry = ["pkg/b.py", "pkg/app.py"]
"""
APP = """from pkg.a import Base, helper
from pkg import b
import pkg.sub.c as c
from .missing import gone

class App(Base):
    def run(self, thing, other: c.Thing):
        helper(1)
        self.base_method()
        thing.odd_name()
        other.size()
        return b.make().value()
"""
BASE = '''class Base:
    """Doc."""
    def base_method(self): return 1

def helper(x): return x
'''
VARIANTS = {
    "pkg/app.py": [APP, APP.replace("helper(1)", "helper(2)"), "import pkg.a\n", "def broken(:\n"],
    "pkg/__init__.py": ["", "from pkg.a import *\n", "from .b import make as helper\n"],
    "pkg/a.py": [
        BASE,
        '"""Moved."""\n\n\n' + BASE.replace("return 1", "return 2"),
        "class Base:\n    def base_method(self, n: int): ...\n\ndef helper(x, y=1): ...\n",
        "from pkg.b import Made as Base\nhelper = None\n",
    ],
    "pkg/b.py": [
        "class Made:\n    def value(self) -> int: return 1\n\ndef make() -> Made: return Made()\n",
        "from pkg.sub.c import Thing\n\ndef make() -> Thing: ...\n",
        "import importlib\nimportlib.import_module(name)\n",
    ],
    "pkg/sub/c.py": ["class Thing:\n    def size(self): ...\n    def value(self): ...\n", ""],
    "pkg/sub/c/__init__.py": ["class Thing:\n    def size(self, deep): ...\n"],
    "pkg/missing.py": ["gone = 1\n", "def gone(): ...\n"],
    "other/odd.py": ["class Odd:\n    def odd_name(self): ...\n", "def odd_name(): ...\n"],
    "README.md": ["# Read me\n\ntext\n", "# Read me\n\n" + "word " * 300 + "\n"],
    "docs/x.txt": ["plain\n", "\ufeffmark\r\n"],
    ".gitignore": ["other/\n", "*.txt\n!docs/x.txt\n"],
}
EDIT = st.sampled_from(sorted(VARIANTS)).flatmap(
    lambda path: st.tuples(
        st.just(path), st.one_of(st.none(), st.integers(0, len(VARIANTS[path]) - 1))
    )
)


def apply(project, path, variant):
    target = project.root / path
    if variant is None:
        target.unlink(missing_ok=True)
        return
    if target.is_dir() or any(parent.is_file() for parent in target.parents):
        return
    project.put(path, VARIANTS[path][variant])


def start(tmp_path_factory):
    from tests.serve.conftest import ProjectOnDisk

    project = ProjectOnDisk(tmp_path_factory.mktemp("p") / "root")
    project.put("ctxfile.toml", CTXFILE)
    project.put("pkg/app.py", APP)
    project.put("pkg/b.py", VARIANTS["pkg/b.py"][0])
    project.put("README.md", "hello\n")
    project.put("docs/x.txt", "plain\n")
    return project


def check_incremental(tmp_path_factory, rounds):
    project = start(tmp_path_factory)
    for edits in rounds:
        for path, variant in edits:
            apply(project, path, variant)
        result = project.build()
        clean = project.clean_outputs(project.root.parent / "clean")
        built = {t.name for t in result.targets if t.status != "failed"}
        ours = {n: d for n, d in project.outputs().items() if n.partition(".")[0] in built}
        assert ours == clean


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(EDIT, min_size=1, max_size=4), min_size=1, max_size=8))
def test_incremental_packs_equal_clean_ones(tmp_path_factory, rounds):
    check_incremental(tmp_path_factory, rounds)


@pytest.mark.slow
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(EDIT, min_size=1, max_size=5), min_size=4, max_size=12))
def test_incremental_packs_equal_clean_ones_over_long_histories(tmp_path_factory, rounds):
    check_incremental(tmp_path_factory, rounds)


def test_the_same_bytes_for_every_hash_seed_root_and_number_of_workers(tmp_path_factory):
    found = []
    for seed, workers in (("0", "1"), ("1", "2"), ("2", "1"), ("3", "3"), ("4", "1")):
        project = start(tmp_path_factory)
        names = sorted(VARIANTS, reverse=seed in "13")
        for path in names:
            apply(project, path, 0)
        subprocess.run(
            [
                sys.executable,
                "-m",
                "ctxbuild",
                "-C",
                str(project.root),
                "build",
                "-q",
                "-j",
                workers,
            ],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(PACKAGE_ROOT)},
            stdout=subprocess.DEVNULL,
        )
        found.append(project.outputs())
    assert all(each == found[0] for each in found)
    assert len(found[0]) == 9


def test_a_moved_repository_hits_its_cache(tmp_path_factory):
    project = start(tmp_path_factory)
    project.build()
    before = project.outputs()
    moved = project.root.parent / "elsewhere"
    project.root.rename(moved)
    project.root = moved
    assert project.ran() == []
    assert project.outputs() == before


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.dictionaries(st.sampled_from(sorted(VARIANTS)), st.integers(0, 3), min_size=3),
    st.integers(12, 1200),
    st.sampled_from(["lean", "full"]),
    st.sampled_from(["stable", "edges", "score"]),
)
def test_the_rendered_text_never_exceeds_the_budget(
    tmp_path_factory, files, budget, headers, layout
):
    project = start(tmp_path_factory)
    for path, variant in files.items():
        apply(project, path, variant % len(VARIANTS[path]))
    project.put(
        "ctxfile.toml",
        f'version = 1\n[targets.t]\nbudget = {budget}\nheaders = "{headers}"\nlayout = "{layout}"\n'
        '[[targets.t.layers]]\nfiles = ["**"]\n[[targets.t.layers]]\nentry = ["pkg/app.py"]\n',
    )
    result = project.build().targets[0]
    if result.status == "failed":
        assert "nothing fits" in result.error
        assert budget < 30
        return
    text = project.pack("t")
    artifact = json.loads(project.outputs()["t.pack.json"])
    assert counter("o200k_base")([text])[0] == artifact["tokens"] == result.tokens <= budget


def test_the_plan_accounts_for_every_candidate(tmp_path_factory):
    project = start(tmp_path_factory)
    for path in VARIANTS:
        apply(project, path, 0)
    project.build()
    plan = json.loads(project.outputs()["all.plan.json"])
    pack = json.loads(project.outputs()["all.pack.json"])
    verdicts = {c["unit"]: c for c in plan["candidates"]}
    assert len(verdicts) == len(plan["candidates"])
    kept = {unit for unit, c in verdicts.items() if c["verdict"] != "dropped"}
    assert {block["unit"] for block in pack["blocks"]} == kept
    assert all(c["why"] for c in verdicts.values() if c["verdict"] != "kept")
    assert all(c["reasons"] for c in verdicts.values())
