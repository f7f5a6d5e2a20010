"""What a query reads, lists or probes below the root is recorded as a dependency."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

import pytest

from ctxbuild.pack.pipeline import Pipeline
from ctxbuild.source import ctxfile as ctxfiles
from ctxbuild.source import scan as scanning
from tests.serve.conftest import ProjectOnDisk

OPENED = "open"
LISTED = frozenset({"os.listdir", "os.scandir", "os.walk", "glob.glob"})
PROBES = ("stat", "lstat", "access", "readlink")


class Watch:
    """Notes every path below a root that is opened, listed or probed while nobody scans.

    Reading and listing are told by the interpreter's audit events; probing has
    none, so `os.stat` and its like are wrapped. An audit hook cannot be removed.
    """

    root = ""
    scanning = 0

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __call__(self, event, arguments):
        if self.root and (event == OPENED or event in LISTED):
            self.note(arguments[0])

    def note(self, path):
        if not self.root or self.scanning or not isinstance(path, str | bytes | os.PathLike):
            return
        full = os.path.abspath(os.fsdecode(path))
        inside = full[len(self.root) + 1 :]
        ours = inside == "ctxfile.toml" or inside.startswith((".ctxbuild", "packs"))
        if full.startswith(self.root + "/") and not ours:
            self.seen.add(inside)


WATCH = Watch()
sys.addaudithook(WATCH)


@pytest.fixture
def watched(monkeypatch):
    """Watches builds of a project; gives a function for what was touched outside of scans."""
    real_scan = scanning.scan

    def scan(*arguments, **options):
        WATCH.scanning += 1
        try:
            return real_scan(*arguments, **options)
        finally:
            WATCH.scanning -= 1

    @contextmanager
    def watching(project):
        WATCH.root, WATCH.seen = os.path.realpath(project.root), set()
        with monkeypatch.context() as patch:
            patch.setattr(scanning, "scan", scan)
            for name in PROBES:
                patch.setattr(os, name, _noting(getattr(os, name)))
            try:
                yield
            finally:
                WATCH.root = ""

    def touched(project):
        with watching(project):
            result = project.build()
        assert not result.failed, [target.error for target in result.targets]
        return WATCH.seen

    yield touched
    WATCH.root = ""


def _noting(real):
    def call(path, *arguments, **options):
        WATCH.note(path)
        return real(path, *arguments, **options)

    return call


def recorded(project):
    """Paths of every `file(...)` input that the engine knows."""
    with project.session().asking() as workspace:
        return set(workspace.database.recorded(workspace.pipeline.questions.file))


MORE = """
[targets.files]
files = ["**/*.md", "shop/*.py"]
[targets.method]
entry = ["shop/store.py::Store.save"]
dependents = 2
tests = true
bodies = true
[targets.glob]
entry = ["shop/p*.py"]
formats = ["md", "xml", "json"]
"""


@pytest.fixture
def various(shop):
    """Files and layers of every kind that queries deal with."""
    shop.put("ctxfile.toml", (shop.root / "ctxfile.toml").read_text() + MORE)
    shop.put("README.md", "# Read me\n")
    shop.put("pyproject.toml", "[project]\nname = 'shop'\n")
    shop.put("tests/test_store.py", "from shop.store import Store\n\ndef test_it(): Store('x')\n")
    shop.put("lib/other/deep.py", "def deep(): ...\n")
    shop.put("shop/odd.py", b"x = 1\0")
    shop.put("shop/links.py", "from shop import nothing\nimport other.deep, absent.module\n")
    shop.replace("shop/app.py", "return store.size", "return odd.frobnicate(store.size)")
    shop.replace("shop/app.py", "from shop import prices", "from shop import prices, links")
    (shop.root / "shop/link.py").symlink_to("prices.py")
    return shop


def test_every_file_that_a_first_build_touches_is_recorded(various, watched):
    seen = watched(various)
    assert {"shop/app.py", "shop/store.py", "README.md", "tests/test_store.py"} <= seen
    assert seen - recorded(various) == set()


@pytest.mark.parametrize(
    "edit",
    [
        lambda p: p.replace("shop/store.py", "value: int", "value: float"),
        lambda p: p.put("shop/prices/__init__.py", "def total(prices): ...\n"),
        lambda p: p.put("shop/nothing.py", "x = 1\n"),
        lambda p: p.remove("shop/disk.py"),
        lambda p: p.rename("shop/lonely.py", "lib/lonely.py"),
        lambda p: p.replace("ctxfile.toml", "dependents = 2", "dependents = 1"),
    ],
    ids=["edit", "shadow", "new", "delete", "rename", "option"],
)
def test_every_file_that_a_later_build_touches_is_recorded(various, watched, edit):
    various.build()
    edit(various)
    seen = watched(various)
    assert seen - recorded(various) == set()


def test_a_build_with_nothing_to_do_touches_no_source_outside_of_its_scan(various, watched):
    various.build()
    assert watched(various) == set()


def unrecorded_read(root):
    with open(root / "pyproject.toml", "rb") as file:
        file.read()


@pytest.mark.parametrize(
    ("touch", "path"),
    [
        (unrecorded_read, "pyproject.toml"),
        (lambda root: os.listdir(root / "lib"), "lib"),
        (lambda root: list(os.scandir(root / "lib/other")), "lib/other"),
        (lambda root: (root / "missing.py").exists(), "missing.py"),
        (lambda root: os.path.isfile(root / "setup.cfg.d"), "setup.cfg.d"),
    ],
    ids=["read", "list", "scan", "exists", "isfile"],
)
def test_the_watch_would_notice_an_unrecorded_touch(shop, watched, monkeypatch, touch, path):
    shop.put("pyproject.toml", "[project]\n")
    shop.put("lib/other/deep.py", "def deep(): ...\n")
    real = Pipeline._plan

    def careless(self, ctx, name):
        touch(shop.root)
        return real(self, ctx, name)

    monkeypatch.setattr(Pipeline, "_plan", careless)
    seen = watched(shop)
    monkeypatch.setattr(Pipeline, "_plan", real)
    assert path in seen - recorded(shop)


def test_a_file_that_is_edited_is_noticed_by_every_node_that_read_it(various):
    """The dependencies of each node that stands on a file's bytes name that file."""
    various.build()
    with various.session().asking() as workspace:
        database, questions = workspace.database, workspace.pipeline.questions
        for path in ("shop/app.py", "shop/store.py", "shop/prices.py", "shop/odd.py"):
            nodes = [str(node) for node, _ in database.dependencies(questions.facts, path)]
            assert nodes == [f"file({path})"]


def test_the_root_may_be_reached_through_a_link(various, watched, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(various.root)
    linked = ProjectOnDisk(link)
    seen = watched(linked)
    assert seen - recorded(linked) == set()
    assert ctxfiles.load(link / "ctxfile.toml").root == str(link)
