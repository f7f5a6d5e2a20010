"""Bad input: a clear line or an entry in the plan, and the rest of the build is right."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from ctxbuild.cli.main import main
from ctxbuild.errors import StoreError
from ctxbuild.source import scan as scanning
from ctxbuild.source import walk

PACKAGE_ROOT = Path(__file__).parents[2]
FILES = 'version = 1\n[targets.all]\nfiles = ["**"]\nbudget = 20000\n'


def command(capsys, project, *arguments):
    """Exit code, stdout and stderr of the command line on a project."""
    code = main(["-C", str(project.root), "build", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def failure(project, *targets):
    """The error of the only target."""
    (target,) = project.build(*targets).targets
    assert target.status == "failed"
    return target.error


# --- the request --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version = 1\n[targets.app\n", ":2: is not TOML: expected ']' at the end of a table"),
        (
            'version = 1\n[targets.app]\nentry = ["shop/app.py"]\nbugdet = 1\n',
            ":4: unknown key 'bugdet' in target 'app', did you mean 'budget'?",
        ),
        (
            'version = 1\n[targets.app]\nentry = ["shop/app.py"]\nbudget = 0\n',
            ":4: key 'budget' in target 'app' must be at least 1, not 0",
        ),
        (
            'version = 1\n[targets.app]\nentry = ["shop/app.py"]\nbudget = "much"\n',
            ":4: key 'budget' in target 'app' must be",
        ),
        ("", ":1: version is missing: add `version = 1`"),
        ("version = 1\n", ":1: no target is declared: add `[targets.NAME]`"),
    ],
)
def test_a_malformed_ctxfile_is_named_with_its_line(shop, capsys, text, message):
    shop.put("ctxfile.toml", text)
    code, out, err = command(capsys, shop)
    assert (code, out) == (2, "")
    assert f"{shop.root}/ctxfile.toml{message}" in err
    assert "Traceback" not in err


def test_an_unknown_target_gets_a_suggestion(shop, capsys):
    code, out, err = command(capsys, shop, "apq")
    assert (code, out) == (2, "")
    assert "no target 'apq', did you mean 'app'?" in err


def test_an_entry_that_matches_nothing_fails_its_target_and_no_other(shop, capsys):
    shop.put("ctxfile.toml", 'version = 1\n[targets.gone]\nentry = ["shop/ap.py"]\n' + APP)
    code, _, err = command(capsys, shop)
    assert code == 2
    assert "'shop/ap.py'" in err
    assert sorted(shop.outputs()) == ["app.md", "app.pack.json", "app.plan.json"]
    shop.put("shop/ap.py", "x = 1\n")
    assert not shop.build().failed


APP = '[targets.app]\nentry = ["shop/app.py"]\nbudget = 4000\n'


def test_a_symbol_that_its_file_does_not_have_is_named(shop):
    shop.put("ctxfile.toml", 'version = 1\n[targets.a]\nentry = ["shop/store.py::Store.sav"]\n')
    error = failure(shop)
    assert "Store.sav" in error
    assert "Store.save" in error


def test_pins_that_do_not_fit_are_named_with_the_excess(shop):
    shop.put(
        "ctxfile.toml",
        "version = 1\n[targets.app]\nbudget = 40\n[[targets.app.layers]]\n"
        'files = ["shop/app.py", "shop/store.py"]\npin = true\n',
    )
    error = failure(shop)
    assert "shop/app.py" in error
    assert "shop/store.py" in error
    assert re.search(r"\d+ tokens", error)
    assert shop.outputs() == {}


def test_a_target_that_fails_keeps_its_old_pack_and_recovers_without_work(built):
    before = built.outputs()
    text = (built.root / "shop/app.py").read_text()
    built.remove("shop/app.py")
    assert "shop/app.py" in failure(built)
    assert built.outputs() == before
    built.put("shop/app.py", text)
    assert built.ran() == []
    assert built.outputs() == before


def test_a_tokenizer_that_nobody_knows_is_refused_with_the_known_ones(shop):
    shop.replace("ctxfile.toml", "version = 1\n", 'version = 1\n[project]\ntokenizer = "tok9"\n')
    error = failure(shop)
    assert "unknown tokenizer 'tok9'" in error
    assert "o200k_base" in error


# --- files that do not hold still -----------------------------------------------------------


@pytest.fixture
def on_read(monkeypatch):
    """Calls a function just before a file of the snapshot is read, at its first reads."""

    def install(path, action, times=1):
        left = [times]
        real = scanning.Snapshot.read

        def read(self, wanted):
            if wanted == path and left[0]:
                left[0] -= 1
                action()
            return real(self, wanted)

        monkeypatch.setattr(scanning.Snapshot, "read", read)
        return left

    return install


def test_a_file_that_vanishes_during_the_build_is_as_if_it_had_never_been(shop, on_read, tmp_path):
    fired = on_read("shop/prices.py", lambda: shop.remove("shop/prices.py"))
    assert not shop.build().failed
    assert fired == [0]
    assert "prices [UNRESOLVED]" in shop.pack()
    assert shop.outputs() == shop.clean_outputs(tmp_path / "clean")


def test_a_file_that_changes_during_the_build_is_taken_as_it_is_in_the_end(shop, on_read, tmp_path):
    changed = lambda: shop.replace("shop/store.py", "value: int", "value: float")  # noqa: E731
    fired = on_read("shop/store.py", changed)
    assert not shop.build().failed
    assert fired == [0]
    assert "value: float" in shop.pack()
    assert shop.outputs() == shop.clean_outputs(tmp_path / "clean")
    assert shop.ran() == []


def test_a_file_that_changes_for_ever_is_an_error_and_the_next_build_is_right(
    shop, on_read, tmp_path
):
    edits = iter(range(1000))
    left = on_read(
        "shop/store.py", lambda: shop.put("shop/store.py", f"x = {next(edits)}\n"), times=999
    )
    shop.put("ctxfile.toml", 'version = 1\n[targets.calm]\nfiles = ["shop/disk.py"]\n' + APP)
    results = {target.name: target for target in shop.build().targets}
    assert results["calm"].status == "built"
    assert results["app"].status == "failed"
    assert "shop/store.py: changes faster than it can be read" in results["app"].error
    left[0] = 0
    assert not shop.build().failed
    assert shop.outputs() == shop.clean_outputs(tmp_path / "clean")


def test_an_edit_undone_during_the_build_and_made_again_later_is_seen(built, on_read, tmp_path):
    old = (built.root / "shop/store.py").read_text()
    built.replace("shop/store.py", "value: int", "value: float")
    new = (built.root / "shop/store.py").read_text()
    on_read("shop/store.py", lambda: built.put("shop/store.py", old))
    assert built.ran() == []
    built.put("shop/store.py", new)
    built.ran()
    assert "value: float" in built.pack()
    assert built.outputs() == built.clean_outputs(tmp_path / "clean")


def test_a_file_that_came_and_went_during_the_build_is_noticed_when_it_comes_again(
    built, on_read, tmp_path
):
    built.replace("shop/app.py", "from shop import prices", "from shop import prices, taxes")
    built.replace("shop/app.py", "return store.size", "return taxes.add(store.size)")
    built.ran()
    built.put("shop/taxes.py", "def add(x: int) -> int: ...\n")
    on_read("shop/taxes.py", lambda: built.remove("shop/taxes.py"))
    assert not built.build().failed
    assert built.outputs() == built.clean_outputs(tmp_path / "clean")
    built.put("shop/taxes.py", "def add(x: int) -> int: ...\n")
    assert not built.build().failed
    assert "def add(x: int) -> int: ..." in built.pack()
    assert built.outputs() == built.clean_outputs(tmp_path / "clean")


def test_a_file_that_changes_just_after_it_was_first_read_is_read_again(built, on_read, tmp_path):
    built.replace("shop/app.py", "from shop import prices", "from shop import prices, lonely")
    reads = []

    def at_the_second_read():
        reads.append(1)
        if len(reads) == 2:
            built.replace("shop/lonely.py", "def nobody()", "def somebody(a: int)")

    on_read("shop/lonely.py", at_the_second_read, times=2)
    built.replace("shop/app.py", "return store.size", "return lonely.somebody(store.size)")
    assert not built.build().failed
    assert len(reads) == 2
    assert "def somebody(a: int)" in built.pack()
    assert built.outputs() == built.clean_outputs(tmp_path / "clean")


def test_a_file_that_changes_while_the_scan_is_told_is_scanned_again(built, on_read, tmp_path):
    built.replace("shop/store.py", "value: int", "value: float")
    built.replace("shop/disk.py", "path: str", "path: bytes")
    fired = on_read("shop/disk.py", lambda: built.replace("shop/disk.py", "bytes", "object"))
    assert not built.build().failed
    assert fired == [0]
    assert built.outputs() == built.clean_outputs(tmp_path / "clean")


# --- files that cannot be read ------------------------------------------------------------


@pytest.fixture
def denied(monkeypatch):
    """Files whose opening is refused, whoever runs the tests."""
    names: set[str] = set()
    real = walk.open_file

    def open_file(full):
        if full.rpartition("/")[2] in names:
            raise PermissionError(13, "Permission denied", full)
        return real(full)

    monkeypatch.setattr(walk, "open_file", open_file)
    monkeypatch.setattr(scanning, "open_file", open_file)
    return names


def test_a_file_without_permission_is_warned_about_and_the_rest_is_right(shop, denied):
    shop.put("ctxfile.toml", FILES.replace('"**"', '"shop/*.py"'))
    denied.add("store.py")
    (result,) = shop.build().targets
    assert result.status == "built"
    assert result.warnings == ("shop/store.py: unreadable: no permission to read it",)
    assert "def total(prices: list[int]) -> int:" in shop.pack("all")
    assert "class Store" not in shop.pack("all")


def test_a_dependency_without_permission_is_warned_about(shop, denied):
    denied.add("store.py")
    (result,) = shop.build().targets
    assert result.status == "built"
    assert result.warnings == ("shop/store.py: unreadable: no permission to read it",)


@pytest.mark.parametrize("first", ["denied", "allowed"])
def test_a_file_that_may_be_read_later_is_read_then(shop, denied, tmp_path, first):
    if first == "allowed":
        shop.build()
        os.chmod(shop.root / "shop/store.py", 0o200)
    denied.add("store.py")
    shop.build()
    assert "class Store" not in shop.pack()
    assert shop.ran() == []
    denied.clear()
    os.chmod(shop.root / "shop/store.py", 0o640)
    shop.build()
    assert "class Store" in shop.pack()
    assert shop.outputs() == shop.clean_outputs(tmp_path / "clean")
    assert shop.ran() == []


def test_a_directory_without_permission_is_listed_as_left_out(shop, monkeypatch):
    real = os.scandir

    def scandir(path="."):
        if str(path).endswith("/shop"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    shop.put("other.py", "x = 1\n")
    shop.put("ctxfile.toml", FILES.replace('"**"', '"**/*.py"'))
    monkeypatch.setattr(os, "scandir", scandir)
    assert not shop.build().failed
    assert "x = 1" in shop.pack("all")
    with shop.session().asking() as workspace:
        left = {left.path: left.reason for left in workspace.snapshot.left_out()}
    assert left["shop"] == "no permission"


# --- bytes --------------------------------------------------------------------------------


def problems(project, **files):
    """Warnings and text of a pack of all these files."""
    for stem, data in files.items():
        project.put(f"odd/{stem}.py", data)
    project.put("ctxfile.toml", FILES.replace("**", "odd/*.py"))
    (result,) = project.build().targets
    assert result.status == "built"
    return result.warnings, project.pack("all")


def test_odd_encodings_are_decoded_and_what_cannot_be_is_told(shop):
    warnings, pack = problems(
        shop,
        bom=b"\xef\xbb\xbfbom = 1\n",
        crlf=b"one = 1\r\ntwo = 2\r\n",
        invalid=b"bad = 1\nname = '\xff\xfe'\n",
        latin="# -*- coding: latin-1 -*-\nlatin = 'caf\xe9'\n".encode("latin-1"),
        nul=b"nul = 1\0\n",
        utf16="wide = 'caf\xe9'\n".encode("utf-16"),
    )
    assert warnings == (
        "odd/invalid.py: encoding: not valid utf-8: line 2",
        "odd/nul.py: binary: holds NUL bytes",
    )
    assert "```python\nbom = 1\n```" in pack
    assert "```python\none = 1\ntwo = 2\n```" in pack
    assert "latin = 'caf\xe9'" in pack
    assert "wide = 'caf\xe9'" in pack
    assert "bad = 1\nname = '\ufffd\ufffd'" in pack
    assert "\r" not in pack
    assert "\0" not in pack


def test_a_huge_file_is_left_unparsed_and_told(shop, tmp_path):
    shop.put("shop/store.py", b"x = 1\n" * (50_000_000 // 6))
    (result,) = shop.build().targets
    assert result.status == "built"
    assert any("shop/store.py: too-large" in warning for warning in result.warnings)
    assert len(shop.pack()) < 10_000
    assert "def main(path: str) -> int:" in shop.pack()


def test_an_expression_nested_200_000_deep_is_told_and_the_rest_is_right(shop):
    shop.put("shop/store.py", "x = " + "(" * 200_000 + ")" * 200_000 + "\n")
    (result,) = shop.build().targets
    assert result.status == "built"
    assert any(warning.startswith("shop/store.py: ") for warning in result.warnings)
    assert "def main(path: str) -> int:" in shop.pack()
    assert "def total(prices: list[int]) -> int:" in shop.pack()


def test_broken_syntax_is_told_and_what_can_be_read_is_shown(shop):
    shop.replace("shop/store.py", "def unused(a: int) -> int:", "def unused(a: int -> int:")
    (result,) = shop.build().targets
    assert any("shop/store.py: syntax" in warning for warning in result.warnings)
    assert "def save(self, key: str, value: int) -> None:" in shop.pack()


# --- names --------------------------------------------------------------------------------

ODD_NAMES = [
    "a b.py",
    "new\nline.py",
    "``` fence.py",
    "# head.py",
    'quote"<&>.py',
    "tab\there.py",
    "caf\xe9.py",
    "line\u2028sep.py",
    "back\\slash.py",
    "-dash.py",
    "[x](y).py",
    "curly{brace}.py",
]


@pytest.mark.parametrize("headers", ["lean", "full"])
def test_odd_names_break_no_rendering(shop, headers):
    for number, name in enumerate(ODD_NAMES):
        shop.put(f"odd/{name}", f"def f{number}(a): return {number}\n")
    shop.put(
        "ctxfile.toml",
        "version = 1\n"
        f'[targets.all]\nfiles = ["odd/*"]\nheaders = "{headers}"\nformats = ["md", "xml"]\n'
        f'[targets.parts]\nentry = ["odd/*::f*"]\nheaders = "{headers}"\nformats = ["md", "xml"]\n'
        f'[targets.lines]\nheaders = "{headers}"\nformats = ["md", "xml"]\n'
        '[[targets.lines.layers]]\nfiles = ["odd/*"]\nform = "name"\n',
    )
    shop.replace("ctxfile.toml", 'entry = ["odd/*::f*"]', 'entry = ["odd/*"]')
    result = shop.build()
    assert not result.failed, [target.error for target in result.targets]
    escaped = [
        json.dumps(name)[1:-1] if "\n" in name or "\t" in name else name for name in ODD_NAMES
    ]
    for target in ("all", "parts", "lines"):
        lines = shop.pack(target).splitlines()
        assert not any(line in ("line.py", "sep.py") for line in lines)
        assert shop.pack(target).count("\n```python\n") == shop.pack(target).count("\n```\n")
        data = json.loads(shop.outputs()[f"{target}.pack.json"])
        assert {block["path"] for block in data["blocks"]} == {f"odd/{n}" for n in ODD_NAMES}
        tree = ET.fromstring(shop.outputs()[f"{target}.xml"])
        if target == "all":
            assert {file.get("path") for file in tree} == {f"odd/{n}" for n in ODD_NAMES}
            headings = [line for line in lines if line.startswith("## ")]
            assert len(headings) == len(ODD_NAMES)
            for name in escaped[:8]:
                if "\u2028" not in name:
                    assert any(name in heading for heading in headings)


def test_a_name_that_is_no_utf8_is_left_out_with_its_reason(shop):
    with open(os.fsencode(shop.root) + b"/shop/bad\xff.py", "w") as file:
        file.write("x = 1\n")
    assert not shop.build().failed
    with shop.session().asking() as workspace:
        left = {left.path: left.reason for left in workspace.snapshot.left_out()}
    assert left["shop/bad\\xff.py"] == "name is not UTF-8"


def test_a_root_whose_path_is_no_utf8_is_refused(shop, tmp_path):
    root = os.fsencode(tmp_path) + b"/r\xfft"
    shop.root.rename(os.fsdecode(root))
    done = subprocess.run(
        [sys.executable, "-m", "ctxbuild", "-C", root, "build"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_ROOT)},
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"t: the path is not UTF-8: rename the directory" in done.stderr


# --- things in the tree that are no files -----------------------------------------------------


def test_the_root_must_be_there(shop):
    session = shop.session()
    for path in sorted(shop.root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    shop.root.rmdir()
    with pytest.raises((StoreError, scanning.SourceError)):
        session.build()
