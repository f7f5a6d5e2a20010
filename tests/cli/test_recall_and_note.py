"""`ctxbuild recall` and `ctxbuild note add` on the command line."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from ctxbuild.cli.main import main
from ctxbuild.serve.recall import keep

CTXFILE = 'version = 1\n[targets.notes]\nmemory = "docs/NOTES.md"\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "ctxfile.toml").write_text(CTXFILE)
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_recall_prints_the_original_byte_for_byte(project, capsysbinary):
    text = "no line feed at the end, and é"
    keep(project / ".ctxbuild", [text])
    from ctxbuild.select.transcript_forms import short_digest

    assert main(["recall", short_digest(text)]) == 0
    assert capsysbinary.readouterr().out == text.encode()
    assert main(["recall", "--json", short_digest(text)]) == 0
    told = json.loads(capsysbinary.readouterr().out)
    assert told == {"hash": sha256(text.encode()).hexdigest(), "text": text}


def test_recall_of_what_nobody_kept_exits_with_2(project, capsys):
    assert main(["recall", "0123456789ab"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "ctxbuild: 0123456789ab: no original has this hash: nothing was compacted here\n"
    )


def test_a_note_is_added_and_merged(project, capsys):
    assert main(["note", "add", "a.py: found a wrong sign"]) == 0
    assert capsys.readouterr().out == "added to docs/NOTES.md: a.py: found a wrong sign\n"
    assert main(["note", "add", "a.py: found a wrong sign; severity high"]) == 0
    said = capsys.readouterr().out
    assert said == "merged in docs/NOTES.md: a.py: found a wrong sign; severity high\n"
    text = (project / "docs" / "NOTES.md").read_text()
    assert text.startswith(
        "# Notes\n\n## Findings\n\n- a.py: found a wrong sign; severity high <!--"
    )
    assert text.count("wrong sign") == 1


def test_a_note_as_json_elsewhere_about_a_file_that_is_not_there(project, capsys):
    assert main(["note", "add", "--json", "--to", "X.md", "b.py: found y; suggest z"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "file": "X.md",
        "new": True,
        "path": "b.py",
        "found": "y",
        "severity": "",
        "suggest": "z",
        "digest": "",
    }
    assert said.err == "warning: b.py: no such file; nothing tells when it changes\n"


def test_what_is_no_finding_exits_with_2(project, capsys):
    assert main(["note", "add", "a.py is odd"]) == 2
    assert "is no finding: write 'PATH: found X; severity Y; suggest Z'" in capsys.readouterr().err
    assert not (project / "docs").exists()


def test_a_note_without_a_ctxfile_goes_to_notes_md(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("")
    assert main(["note", "add", "a.py: found nothing"]) == 0
    assert (
        "a.py: found nothing <!-- sha256:e3b0c44298fc1c14 -->"
        in (tmp_path / "NOTES.md").read_text()
    )
