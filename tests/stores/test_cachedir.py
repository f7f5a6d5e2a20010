"""The cache directory: made, labelled, locked, and never somebody else's."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxbuild.errors import StoreError
from ctxbuild.stores import cachedir
from ctxbuild.stores.cachedir import FORMAT, locked, prepare
from ctxbuild.stores.lock import FileLock

ROOT = Path(__file__).parents[2]


def test_a_new_cache_directory_ignores_itself_and_explains_itself(tmp_path):
    said: list[str] = []
    directory = tmp_path / "repository" / ".ctxbuild"
    assert prepare(directory, said.append)
    labels = [".gitignore", "CACHEDIR.TAG", "FORMAT", "README.md", "lock"]
    assert sorted(os.listdir(directory)) == labels
    assert (directory / ".gitignore").read_text() == "*\n"
    assert (directory / "FORMAT").read_text() == FORMAT
    assert "deleting the directory is safe" in (directory / "README.md").read_text()
    tag = (directory / "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert said == []
    if os.name != "nt":
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_tracked_directory_keeps_its_readme_and_ignore_rules(tmp_path):
    (tmp_path / ".gitignore").write_text("*\n!README.md\n")
    (tmp_path / "README.md").write_text("ours\n")
    assert prepare(tmp_path, pytest.fail)
    assert (tmp_path / ".gitignore").read_text() == "*\n!README.md\n"
    assert (tmp_path / "README.md").read_text() == "ours\n"


def test_preparing_again_changes_nothing(tmp_path):
    directory = tmp_path / "cache"
    prepare(directory, pytest.fail)
    (directory / "state").write_text("kept")
    before = {path: path.stat().st_mtime_ns for path in directory.iterdir()}
    assert prepare(directory, pytest.fail)
    assert {path: path.stat().st_mtime_ns for path in directory.iterdir()} == before


@pytest.mark.parametrize("found", [b"ctxbuild-cache 0\n", b"", b"\xff\xfe", None])
def test_a_cache_of_another_version_is_emptied_but_for_its_packs(tmp_path, found):
    said: list[str] = []
    prepare(tmp_path, said.append)
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "engine.md").write_text("a pack")
    (tmp_path / "values").mkdir()
    (tmp_path / "values" / "cache.db").write_text("old")
    (tmp_path / "state.db").write_text("old")
    (tmp_path / "FORMAT").unlink()
    if found is not None:
        (tmp_path / "FORMAT").write_bytes(found)
    assert prepare(tmp_path, said.append)
    assert sorted(os.listdir(tmp_path)) == [
        ".gitignore",
        "CACHEDIR.TAG",
        "FORMAT",
        "README.md",
        "lock",
        "packs",
    ]
    assert (tmp_path / "packs" / "engine.md").read_text() == "a pack"
    assert said == [f"{tmp_path}: the cache is of another version of ctxbuild; starting a new one"]
    assert prepare(tmp_path, pytest.fail)


def test_a_directory_with_foreign_files_is_never_taken_over(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "FORMAT").write_text("LaTeX")
    with pytest.raises(StoreError) as caught:
        prepare(tmp_path, pytest.fail)
    assert caught.value.message == f"{tmp_path}: not a cache of ctxbuild, and not empty"
    assert sorted(os.listdir(tmp_path)) == ["FORMAT", "thesis.tex"]


def test_a_place_that_cannot_be_written_is_said_and_does_not_stop_the_build(tmp_path):
    said: list[str] = []
    (tmp_path / "file").write_text("in the way")
    assert not prepare(tmp_path / "file" / "cache", said.append)
    assert said == [
        (
            f"{tmp_path / 'file' / 'cache'}: cannot be written: a parent of it is a file; "
            "building without a cache"
        )
    ]
    with locked(tmp_path / "file" / "cache") as held:
        assert not held


def test_a_full_disk_is_said_and_does_not_stop_the_build(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ctxbuild.stores.atomic.os.replace", full)
    said: list[str] = []
    assert not prepare(tmp_path, said.append)
    assert len(said) == 1
    assert said[0].endswith(
        "cannot be written: no space left on the disk; building without a cache"
    )


def test_a_read_only_cache_is_said_and_does_not_stop_the_build(tmp_path, monkeypatch):
    prepare(tmp_path, pytest.fail)
    monkeypatch.setattr(cachedir.os, "access", lambda *_: False)
    said: list[str] = []
    assert not prepare(tmp_path, said.append)
    assert said == [f"{tmp_path}: cannot be written: permission denied; building without a cache"]


def test_only_one_holds_the_lock(tmp_path):
    with locked(tmp_path) as held:
        assert held
        assert not FileLock(tmp_path / "lock").acquire()
    with locked(tmp_path, on_wait=pytest.fail) as held:
        assert held


def test_waiting_is_said_once_and_ends_with_an_error(tmp_path):
    said: list[str] = []
    with (
        locked(tmp_path),
        pytest.raises(StoreError, match=r"another build has held the cache for 0.05 seconds"),
        locked(tmp_path, wait=0.05, on_wait=lambda: said.append("waiting")),
    ):
        pytest.fail("two hold the lock")
    assert said == ["waiting"]


def test_the_lock_of_a_killed_process_is_free_and_a_held_one_is_waited_for(tmp_path):
    code = (
        "import sys, time; from pathlib import Path\n"
        "from ctxbuild.stores.cachedir import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    started = time.monotonic()
    with locked(tmp_path, wait=30, on_wait=process.kill) as held:
        assert held
    assert time.monotonic() - started < 10
    process.communicate()
