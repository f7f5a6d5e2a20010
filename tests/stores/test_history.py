"""Packs that were built, by digest."""

from __future__ import annotations

import os

import pytest

from ctxbuild.errors import UsageError
from ctxbuild.stores import history
from ctxbuild.stores.history import find, is_digest, keep, packs

A, B, C = "a" * 64, "abcd" + "0" * 60, "abcd" + "1" * 60


def test_a_pack_is_found_by_its_digest_or_the_first_digits(tmp_path):
    keep(tmp_path, "app", f"sha256:{A}", b"one")
    keep(tmp_path, "docs", f"sha256:{B}", b"two")
    for name in (A, f"sha256:{A}", "aaaa", "sha256:aaaaa", "AAAAAA"):
        assert find(tmp_path, name) == b"one"
    assert find(tmp_path, "abcd", "docs") == b"two"


def test_digits_of_several_packs_are_refused_with_their_names(tmp_path):
    keep(tmp_path, "app", B, b"1")
    keep(tmp_path, "docs", C, b"2")
    with pytest.raises(UsageError, match=r"'abcd' may mean several packs: abcd.* \(\w+\), abcd"):
        find(tmp_path, "abcd")
    assert find(tmp_path, "abcd1") == b"2"


@pytest.mark.parametrize("wanted", ["beef", "aaab", "a", "", "sha256:", "nothing like it"])
def test_an_unknown_digest_is_refused_with_what_is_near(tmp_path, wanted):
    with pytest.raises(UsageError, match=r"no pack .* is kept: `ctxbuild build` keeps what it"):
        find(tmp_path, wanted)
    keep(tmp_path, "docs", B, b"")
    keep(tmp_path, "app", A, b"")
    with pytest.raises(UsageError, match=r"is kept: kept are .*aaaaaaaaaaaa \(app\)"):
        find(tmp_path, wanted)


def test_what_begins_alike_is_suggested_first(tmp_path):
    for number, digest in enumerate((A, B)):
        keep(tmp_path, "app", digest, b"")
        os.utime(tmp_path / f"history/app/{digest}.json.z", (number, number))
    with pytest.raises(UsageError, match="kept are aaaaaaaaaaaa"):
        find(tmp_path, "aaaab")


def test_only_the_most_recent_packs_of_a_target_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "KEPT", 2)
    for number, digest in enumerate((A, B)):
        keep(tmp_path, "app", digest, b"x")
        os.utime(tmp_path / f"history/app/{digest}.json.z", (number, number))
    keep(tmp_path, "app", A, b"x")  # built again: now B is the oldest
    keep(tmp_path, "app", C, b"x")
    assert {each.digest for each in packs(tmp_path)} == {A, C}


def test_a_damaged_file_is_refused(tmp_path):
    keep(tmp_path, "app", A, b"x")
    (tmp_path / f"history/app/{A}.json.z").write_bytes(b"no zlib")
    with pytest.raises(UsageError, match="cannot be read"):
        find(tmp_path, A)


def test_a_cache_that_cannot_be_written_keeps_nothing_and_says_nothing(tmp_path):
    (tmp_path / "history").write_text("a file where a folder should be")
    keep(tmp_path, "app", A, b"x")
    assert packs(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (A, True),
        (f"sha256:{A}", True),
        ("abcd", True),
        ("abc", False),
        ("app", False),
        ("sha256:", False),
        ("g" * 8, False),
        ("a" * 65, False),
    ],
)
def test_what_can_be_a_digest(text, expected):
    assert is_digest(text) is expected
