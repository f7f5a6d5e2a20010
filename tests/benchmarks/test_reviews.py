"""The benchmark of large changes: it takes the right commits and counts what it should."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks import reviews


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "r"
    root.mkdir()

    def git(*arguments):
        subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)

    git("init", "-q", "-b", "main", ".")
    git("config", "user.email", "a@example.org")
    git("config", "user.name", "A")
    for step in range(3):
        for number in range(6):
            (root / f"m{number}.py").write_text(f"def f():\n    return {step}\n")
        git("add", "-A")
        git("commit", "-qm", f"step {step}")
    (root / "m0.py").unlink()
    git("commit", "-qam", "one gone")
    return root


def test_only_commits_that_change_enough_files_are_taken(repository):
    assert len(reviews.large_commits(repository, 6, 9)) == 3
    assert len(reviews.large_commits(repository, 6, 2)) == 2
    assert reviews.large_commits(repository, 7, 9) == []


def test_a_change_that_fits_is_shown_whole_and_its_beginning_is_what_fits(repository):
    (commit,) = reviews.large_commits(repository, 6, 1)
    found = reviews.measure(repository, commit, 2_000)
    assert (found.files, found.shown, found.lines, found.named) == (6, 1.0, 1.0, 1.0)
    assert found.tokens <= 2_000
    small = reviews.measure(repository, commit, 120)
    assert small.tokens <= 120
    assert small.head_shown < 1


def test_changed_lines_are_those_of_each_file():
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n+\n"
    assert reviews.changed_lines(diff) == {"x": {"-b", "+c"}}
    assert reviews.covered({"x": {"-b", "+c"}, "y": {"+d"}}, {"x": {"-b"}}) == (0.5, 1 / 3)


def test_the_command_prints_a_table_and_says_when_there_is_nothing(repository, capsys):
    assert reviews.main([str(repository), "--files", "6", "--commits", "1"]) == 0
    assert "files shown, mean" in capsys.readouterr().out
    assert reviews.main([str(repository), "--files", "60"]) == 1
