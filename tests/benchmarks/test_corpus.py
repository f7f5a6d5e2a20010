"""Pinned source archives."""

import io
import tarfile
from hashlib import sha256

import pytest

from benchmarks import corpus
from benchmarks.corpus import CORPORA, CorpusError, source, unpack


def archive(path, members) -> str:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            if data is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
                tar.addfile(info)
            else:
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return sha256(path.read_bytes()).hexdigest()


def test_a_verified_archive_becomes_a_tree(tmp_path):
    digest = archive(tmp_path / "a.tar.gz", {"pkg-1/pkg/__init__.py": b"x = 1\n"})
    unpack(tmp_path / "a.tar.gz", digest, tmp_path / "tree")
    assert (tmp_path / "tree" / "pkg" / "__init__.py").read_text() == "x = 1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "tree"]


def test_another_hash_is_refused(tmp_path):
    archive(tmp_path / "a.tar.gz", {"pkg-1/x": b""})
    with pytest.raises(CorpusError, match="its SHA-256 is"):
        unpack(tmp_path / "a.tar.gz", "0" * 64, tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize("members", [{"../x": b"out"}, {"/x": b"out"}, {"pkg/link": None}])
def test_nothing_is_unpacked_outside_the_tree(tmp_path, members):
    digest = archive(tmp_path / "a.tar.gz", members)
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises((tarfile.FilterError, CorpusError)):
        unpack(tmp_path / "a.tar.gz", digest, inner / "tree")
    assert list(inner.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "inner"]


def test_what_was_fetched_before_needs_no_network(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "download", lambda *_: pytest.fail("reached for the network"))
    (tmp_path / "Flask-3.1.0").mkdir()
    assert source("flask", tmp_path) == tmp_path / "Flask-3.1.0"


def test_a_fetch_that_fails_says_why_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "_run", lambda _: "no route to host")
    with pytest.raises(CorpusError, match=r"Flask 3\.1\.0 cannot be fetched: no route to host"):
        source("flask", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_build_of_metadata_is_tried_once_more_without_isolation(tmp_path, monkeypatch):
    tried = []

    def pip(command):
        tried.append(command)
        if "--no-build-isolation" in command:
            (tmp_path / "flask-3.1.0.tar.gz").touch()
        return "no backend"

    monkeypatch.setattr(corpus, "_run", pip)
    assert corpus.download(CORPORA["flask"], tmp_path).name == "flask-3.1.0.tar.gz"
    assert len(tried) == 2
    assert (tmp_path / "requirements.txt").read_text() == (
        f"Flask==3.1.0 --hash=sha256:{CORPORA['flask'].sha256}\n"
    )


def test_a_working_copy_is_a_clean_repository(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.py").write_text("")
    copy = corpus.working_copy(tmp_path / "tree", tmp_path / "copy", {"ctxfile.toml": "x"})
    assert sorted(path.name for path in copy.iterdir()) == [".git", "a.py", "ctxfile.toml"]


@pytest.mark.corpus
@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus_can_be_had(name):
    assert (source(name) / CORPORA[name].package / "__init__.py").exists()
