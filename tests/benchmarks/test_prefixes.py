"""What stays a prefix of other tools' outputs: over commits, with tools made up here."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks import corpus, prefixes
from benchmarks.prefixes import last_steps, retained_by, rows_of_peers, tenth

TEXTS = ("a\nb\n", "a\nb\n", "a\nc\n", "d\nc\n")


@pytest.fixture
def repository(tmp_path):
    for number, text in enumerate(TEXTS):
        (tmp_path / "app.py").write_text(text)
        (tmp_path / "other.txt").write_text(f"{number}")
        corpus.commit(tmp_path)
    return tmp_path


@pytest.fixture
def revisions(repository):
    command = ["git", "-C", str(repository), "log", "--reverse", "--format=%H"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def everything(tree):
    return {"all": (tree / "app.py").read_text()}


def test_the_share_of_a_changed_output_that_is_a_prefix(repository, revisions):
    assert retained_by(everything, repository, revisions) == [0.5, 0.0]


def test_commits_that_touch_nothing_that_is_read_are_left_out():
    touched = {
        "1": frozenset({"src/a.py"}),
        "2": frozenset({"src/a.py"}),
        "3": frozenset({"README.md", ""}),
        "4": frozenset({"src/data.txt"}),
        "5": frozenset({"tests/test_a.py"}),
    }
    assert last_steps(touched, "src") == ["1", "2", "4", "5"]
    assert last_steps(touched, "src", 2) == ["3", "4", "5"]
    assert last_steps({"1": frozenset({"a.py"}), "2": frozenset({""})}, ".") == []


def test_a_tool_that_is_not_installed_is_skipped_with_a_message(
    repository, revisions, monkeypatch, capsys
):
    def missing(*_):
        raise FileNotFoundError("repomix is not installed")

    def made(tree, entry, budget):
        return (tree / entry).read_text() * budget

    monkeypatch.setattr(prefixes, "repomix", missing)
    monkeypatch.setattr(prefixes, "aider_map", made)
    touched = dict.fromkeys(revisions, frozenset({"app.py"}))
    rows = list(rows_of_peers("shop", repository, touched, ["app.py"], [1]))
    assert [(row.what, row.value, row.note) for row in rows] == [
        (
            "shop, aider's map, 1 tokens: prefix retained, median",
            0.25,
            "last 3 commits that touch code; 2 changes",
        ),
        ("shop, aider's map, 1 tokens: prefix retained, p10", 0.0, ""),
    ]
    assert capsys.readouterr().err == "shop, repomix: skipped: repomix is not installed\n"


def test_a_tenth_of_the_values_do_not_exceed_it():
    assert tenth([0.5]) == 0.5
    assert tenth([float(value) for value in range(11)]) == 1.0
