"""Outputs that are always whole."""

import errno
import os
import stat

import pytest

from ctxbuild.errors import StoreError
from ctxbuild.stores.atomic import write_if_changed


def test_a_new_file_is_written_with_its_directories(tmp_path):
    path = tmp_path / "a" / "b" / "pack.md"
    assert write_if_changed(path, b"one")
    assert path.read_bytes() == b"one"
    assert os.listdir(path.parent) == ["pack.md"]


def test_an_equal_file_is_not_touched(tmp_path):
    path = tmp_path / "pack.md"
    write_if_changed(path, b"one")
    os.utime(path, ns=(1, 1))
    inode = path.stat().st_ino
    assert not write_if_changed(path, b"one")
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (1, inode)


@pytest.mark.parametrize("altered", [b"two", b"three", b""])
def test_an_altered_file_is_restored(tmp_path, altered):
    path = tmp_path / "pack.md"
    path.write_bytes(altered)
    assert write_if_changed(path, b"one")
    assert path.read_bytes() == b"one"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_the_umask_decides_the_permissions(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_if_changed(tmp_path / "pack.md", b"one")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "pack.md").stat().st_mode) == 0o666 & ~mask


def test_a_link_is_replaced_and_its_target_left_alone(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"theirs")
    link = tmp_path / "pack.md"
    link.symlink_to(target)
    assert write_if_changed(link, b"theirs")
    assert not link.is_symlink()
    assert target.read_bytes() == b"theirs"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no FIFOs")
def test_a_fifo_in_the_way_does_not_hang(tmp_path):
    path = tmp_path / "pack.md"
    os.mkfifo(path)
    assert write_if_changed(path, b"one")
    assert path.read_bytes() == b"one"


def test_a_directory_in_the_way_is_an_error_that_says_so(tmp_path):
    path = tmp_path / "pack.md"
    path.mkdir()
    with pytest.raises(StoreError) as caught:
        write_if_changed(path, b"one")
    assert caught.value.message == f"{path}: cannot be written: it is a directory"
    assert caught.value.hint == "move it away or choose another name"
    assert os.listdir(tmp_path) == ["pack.md"]


def test_a_file_in_place_of_a_parent_is_an_error_that_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written: a parent of it is a file"):
        write_if_changed(tmp_path / "file" / "pack.md", b"one")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "no space left on the disk: free some space and build again"),
        (
            errno.EACCES,
            "permission denied: change its permissions or write somewhere else",
        ),
        (errno.EROFS, "the file system is read-only: write somewhere else"),
    ],
)
def test_what_the_system_refuses_is_said_and_nothing_is_left(tmp_path, monkeypatch, number, words):
    path = tmp_path / "pack.md"
    path.write_bytes(b"old")

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("ctxbuild.stores.atomic.os.replace", refuse)
    with pytest.raises(StoreError) as caught:
        write_if_changed(path, b"new")
    assert str(caught.value) == f"{path}: cannot be written: {words}"
    assert os.listdir(tmp_path) == ["pack.md"]
    assert path.read_bytes() == b"old"
