"""The remembered ctxfile: equal to what is read anew, and never older than the file."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ctxbuild.errors import CtxfileError
from ctxbuild.source import ctxfile
from ctxbuild.stores import parsed
from ctxbuild.stores.state import FORMAT

TEXT = """\
version = 1
[project]
exclude = ["x/**"]
[targets.app]
budget = 9_000
[[targets.app.layers]]
name = "rules"
files = ["README.md"]
pin = true
[[targets.app.layers]]
name = "code"
entry = ["a.py", "b.py::f"]
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / ".ctxbuild").mkdir()
    (tmp_path / ".ctxbuild/FORMAT").write_text(FORMAT)
    found = tmp_path / "ctxfile.toml"
    found.write_text(TEXT)
    return found


def test_what_is_remembered_is_what_was_read(path):
    first = parsed.load(path, remember=True)
    assert (path.parent / ".ctxbuild/ctxfile.json").exists()
    assert repr(parsed.load(path)) == repr(first) == repr(ctxfile.load(path))


def test_an_edit_is_seen(path):
    parsed.load(path, remember=True)
    path.write_text(TEXT.replace("9_000", "8_000"))
    assert parsed.load(path).target("app").budget == 8000
    path.write_text(TEXT.replace("budget", "bugdet"))
    with pytest.raises(CtxfileError, match="did you mean 'budget'"):
        parsed.load(path)


@pytest.mark.parametrize("damage", ["", "{}", "[", '{"key": 1}', None])
def test_a_damaged_memory_is_no_memory(path, damage):
    parsed.load(path, remember=True)
    memory = path.parent / ".ctxbuild/ctxfile.json"
    if damage is None:
        data = json.loads(memory.read_text())
        damage = json.dumps({**data, "targets": [[1]]})
    memory.write_text(damage)
    assert parsed.load(path) == ctxfile.load(path)


def test_without_a_cache_nothing_is_written(tmp_path):
    (tmp_path / "ctxfile.toml").write_text(TEXT)
    assert parsed.load(tmp_path / "ctxfile.toml", remember=True).target("app").budget == 9000
    assert [each.name for each in tmp_path.iterdir()] == ["ctxfile.toml"]


def test_showing_a_fresh_pack_imports_neither_engine_nor_parsers(path):
    (path.parent / "README.md").write_text("# Read\n")
    (path.parent / "a.py").write_text("x = 1\n")
    (path.parent / "b.py").write_text("def f(): ...\n")
    program = (
        "import sys; from ctxbuild.cli.main import main\n"
        "codes = [main(['-C', sys.argv[1], *a]) for a in (['build'], ['show', 'app'])]\n"
    )
    subprocess.run([sys.executable, "-c", program, path.parent], check=True, capture_output=True)
    import time

    time.sleep(0.05)
    subprocess.run([sys.executable, "-c", program, path.parent], check=True, capture_output=True)
    look = (
        "import sys; before = set(sys.modules)  # an editable install brings some\n"
        "from ctxbuild.cli.main import main\n"
        "code = main(['-C', sys.argv[1], 'show', 'app'])\n"
        "heavy = {'argparse', 'tomllib', 'dataclasses', 'msgspec', 'tree_sitter', 'diskcache',"
        " 'pathlib', 'ctxbuild.engine.database', 'ctxbuild.wiring', 'ctxbuild.model'}\n"
        "print(code, sorted(heavy & set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", look, path.parent], check=True, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "0 []"
    assert done.stdout == (path.parent / ".ctxbuild/packs/app.md").read_text()
