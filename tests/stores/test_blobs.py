"""Content-addressed files."""

import os
from hashlib import sha256

import pytest

from ctxbuild.stores.blobs import Blobs


def test_a_file_is_named_by_the_sha256_of_its_bytes(tmp_path):
    blobs = Blobs(tmp_path)
    name = blobs.put(b"hello")
    assert name == sha256(b"hello").hexdigest()
    assert (tmp_path / name[:2] / name[2:]).read_bytes() == b"hello"
    assert blobs.get(name) == b"hello"
    assert list(blobs.names()) == [name]
    assert blobs.volume() == 5


def test_equal_bytes_are_written_once(tmp_path):
    blobs = Blobs(tmp_path)
    path = blobs.path(blobs.put(b"hello"))
    os.utime(path, ns=(1, 1))
    blobs.put(b"hello")
    assert path.stat().st_mtime_ns == 1


@pytest.mark.parametrize("name", ["", "ab", "../../etc/passwd", "A" * 64, "0" * 63 + "/"])
def test_what_is_no_name_is_not_looked_for(tmp_path, name):
    assert Blobs(tmp_path).get(name) is None


def test_a_damaged_file_goes_so_that_it_can_be_written_again(tmp_path):
    blobs = Blobs(tmp_path)
    name = blobs.put(b"hello")
    blobs.path(name).write_bytes(b"hellO")
    assert blobs.get(name) is None
    assert list(blobs.names()) == []
    assert blobs.get(blobs.put(b"hello")) == b"hello"


def test_nothing_is_left_when_writing_fails(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ctxbuild.stores.blobs.os.replace", full)
    with pytest.raises(OSError, match="No space"):
        Blobs(tmp_path).put(b"hello")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_sweeping_spares_what_is_kept_young_or_linked(tmp_path):
    blobs = Blobs(tmp_path)
    kept, dropped, young = blobs.put(b"kept"), blobs.put(b"dropped"), blobs.put(b"young")
    crashed = tmp_path / "ab" / "tmp-1-2"
    crashed.parent.mkdir(exist_ok=True)
    crashed.write_bytes(b"part")
    (tmp_path / "cd").symlink_to("/")
    for path in (blobs.path(kept), blobs.path(dropped), crashed):
        os.utime(path, (1, 1))
    assert blobs.sweep({kept}) == (2, len(b"dropped") + len(b"part"))
    assert sorted(blobs.names()) == sorted([kept, young])


def test_a_missing_directory_holds_nothing(tmp_path):
    blobs = Blobs(tmp_path / "missing")
    assert (list(blobs.names()), blobs.volume(), blobs.sweep(())) == ([], 0, (0, 0))
