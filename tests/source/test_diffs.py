"""What git says has changed, whatever a user's configuration says, and why it cannot say it."""

from __future__ import annotations

import json
import os

import pytest

from ctxbuild.source import diffs, outside


@pytest.fixture
def repository(tree):
    tree.git("init", "-q", "-b", "main", ".")
    tree.git("config", "user.email", "a@example.org")
    tree.git("config", "user.name", "A")
    tree.write({"a.py": "one\ntwo\nthree\nfour\n", "b.py": "b\n", "c/d.py": "d\n"})
    tree.git("add", "-A")
    tree.git("commit", "-qm", "first")
    return tree


def told(tree, said, directory=""):
    found = diffs.listed(str(tree.root / directory), said)
    assert not found.problem, found.problem
    return [(e.status, e.path, e.before) for e in found.files]


def problem(tree, said):
    found = diffs.listed(str(tree.root), said)
    return found.problem, found.hint


def test_a_revision_is_compared_with_the_working_tree(repository):
    assert told(repository, "HEAD") == []
    repository.git("mv", "a.py", "moved.py")
    repository.write({"b.py": "B\n", "new.py": "n\n", "staged.py": "s\n"})
    repository.git("add", "staged.py")
    (repository.root / "c/d.py").unlink()
    assert told(repository, "HEAD") == [
        ("M", "b.py", "b.py"),
        ("D", "c/d.py", "c/d.py"),
        ("R", "moved.py", "a.py"),
        ("?", "new.py", "new.py"),
        ("A", "staged.py", "staged.py"),
    ]
    assert told(repository, "staged") == [
        ("R", "moved.py", "a.py"),
        ("A", "staged.py", "staged.py"),
    ]


def test_a_branch_counts_from_the_merge_base(repository):
    repository.git("checkout", "-qb", "topic")
    repository.write({"b.py": "topic\n"})
    repository.git("commit", "-qam", "topic")
    repository.git("checkout", "-q", "main")
    repository.write({"c/d.py": "main\n"})
    repository.git("commit", "-qam", "main goes on")
    repository.git("checkout", "-q", "topic")
    assert told(repository, "main") == [("M", "b.py", "b.py")]
    assert told(repository, "main...topic") == [("M", "b.py", "b.py")]
    assert told(repository, "main..topic") == [("M", "b.py", "b.py"), ("M", "c/d.py", "c/d.py")]
    assert told(repository, "main..") == told(repository, "main..topic")


def test_the_state_tells_when_base_head_or_index_move_and_not_when_contents_do(repository):
    def state(said):
        return outside.state(str(repository.root), outside.key_of("diff", said))

    repository.git("branch", "base")
    repository.write({"b.py": "B\n"})
    head, base, staged = state("HEAD"), state("base"), state("staged")
    repository.write({"b.py": "BB\n"})
    assert (state("HEAD"), state("staged")) == (head, staged)
    repository.git("add", "b.py")
    assert (state("HEAD"), state("staged") == staged) == (head, False)
    repository.git("commit", "-qm", "second")
    assert state("HEAD") != head
    assert state("base") == base
    repository.git("branch", "-f", "base", "HEAD")
    assert state("base") != base


def test_no_configuration_of_a_user_changes_what_is_told(repository, tmp_path):
    (repository.root / "b.py").unlink()
    repository.git("mv", "a.py", "h\u00e4.py")
    before = diffs.state(str(repository.root), "HEAD")
    (tmp_path / "order").write_text("*\n")
    for key, value in {
        "diff.renames": "false",
        "diff.noprefix": "true",
        "diff.external": "false",
        "diff.orderFile": str(tmp_path / "order"),
        "diff.relative": "false",
        "diff.renameLimit": "1",
        "color.ui": "always",
        "core.quotepath": "true",
        "diff.algorithm": "minimal",
        "core.pager": "false",
    }.items():
        repository.git("config", key, value)
    assert diffs.state(str(repository.root), "HEAD") == before
    assert [e.path for e in diffs.listing(before).files] == ["b.py", "h\u00e4.py"]


def test_attributes_mark_what_is_generated(repository):
    repository.write({".gitattributes": "b.py linguist-generated\nc/* linguist-vendored=true\n"})
    repository.git("add", "-A")
    repository.git("commit", "-qm", "marks")
    repository.write({"a.py": "1\n", "b.py": "1\n", "c/d.py": "1\n"})
    marks = {e.path: e.marks for e in diffs.listed(str(repository.root), "HEAD").files}
    assert marks == {
        "a.py": (),
        "b.py": ("linguist-generated",),
        "c/d.py": ("linguist-vendored",),
    }


def test_below_the_top_of_the_repository_paths_are_relative_to_the_root(repository):
    repository.write({"b.py": "B\n", "c/d.py": "D\n", "c/e.py": "E\n"})
    assert told(repository, "HEAD", "c") == [("M", "d.py", "d.py"), ("?", "e.py", "e.py")]


def test_old_contents_come_from_git_in_one_go(repository):
    names = [
        repository.git("rev-parse", f"HEAD:{path}").strip() for path in ("a.py", "b.py", "c/d.py")
    ]
    found = diffs.contents(str(repository.root), [*names, "0" * 39 + "1"])
    assert found == dict(zip(names, [b"one\ntwo\nthree\nfour\n", b"b\n", b"d\n"], strict=True))


def test_what_does_not_exist_is_named_with_what_is_near(repository, tmp_path):
    repository.git("branch", "feature/login")
    assert problem(repository, "mian") == ("no revision 'mian'", "did you mean 'main'?")
    assert problem(repository, "login") == (
        "no revision 'login'",
        "did you mean 'main' or 'feature/login'?",
    )
    assert problem(repository, "stagd")[1] == "did you mean 'staged'?"
    assert problem(repository, "main..nope")[0] == "no revision 'nope'"
    assert problem(repository, "-x")[0] == "no revision '-x'"
    repository.write({"fix.txt": "--- a\n"})
    assert problem(repository, "fix.txt")[1] == (
        "a patch file is known by its name, which ends in .patch or .diff"
    )


def test_histories_without_a_common_commit_have_no_merge_base(repository):
    repository.git("checkout", "-q", "--orphan", "other")
    repository.git("commit", "-qm", "another beginning")
    assert problem(repository, "main") == (
        "'main' and 'HEAD' have no common ancestor here",
        "compare them as they are with main..HEAD, or fetch more history",
    )


def test_a_repository_without_a_commit_and_a_directory_without_git_are_told(tree, tmp_path):
    bare = tmp_path / "plain"
    bare.mkdir()
    assert diffs.listed(str(bare), "HEAD").problem == "plain/ is not in a git repository"
    assert ".patch" in diffs.listed(str(bare), "HEAD").hint
    tree.git("init", "-q", ".")
    assert problem(tree, "HEAD") == ("there is no commit yet", "commit something first")


def test_the_history_of_what_differs_is_asked_for_in_one_go(repository):
    repository.write({"b.py": "2\n"})
    repository.git("commit", "-qam", "second of b")
    repository.write({"b.py": "3\n", "a.py": "3\n"})
    found = json.loads(diffs.history(str(repository.root), "HEAD", 2))
    assert {path: [row[11:] for row in rows] for path, rows in found.items()} == {
        "a.py": ["first"],
        "b.py": ["second of b", "first"],
    }
    assert diffs.history(os.fspath(repository.root), "x.patch", 2) == b"{}"
