"""The snapshot of a commit: the working tree's selection, read from git's objects."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from ctxbuild.errors import RevisionError
from ctxbuild.source.head import digest_of
from ctxbuild.source.revision import Revision, find_commit
from ctxbuild.source.scan import Scope


def commit(tree, message="all"):
    tree.git("add", "--all", "--force")
    tree.git("commit", "--quiet", "--allow-empty", "--message", message)
    return tree


OPENED = []


def at(tree, revision="HEAD", scope=None, below=""):
    root = os.path.join(tree.root, below)
    OPENED.append(Revision(root, scope or Scope(), find_commit(root, revision)))
    return OPENED[-1]


@pytest.fixture(autouse=True)
def _closed():
    yield
    while OPENED:
        OPENED.pop().close()


def same_as_the_tree(tree, scope=None):
    """Asserts that HEAD and the clean tree have the same files, bytes and reasons."""
    found, snapshot = at(tree, scope=scope), tree.scan(scope)[0]
    assert found.paths == snapshot.paths
    assert found.count == snapshot.count
    assert found.left_out() == snapshot.left_out()
    for path in found.paths:
        assert found.digest(path) == snapshot.digest(path)
        assert found.read(path) == snapshot.read(path)
    for directory in {path.rpartition("/")[0] for path in found.paths} | {"", "nowhere"}:
        assert found.has_dir(directory) == snapshot.has_dir(directory)
    return found


FILES = {
    "a.py": "x = 1\n",
    "p/b.py": "y = 2\n",
    "p/bytes.bin": b"\x00\xff\r\n",
    "p/ünïcode.py": "z = 3\n",
    "p/with space and \n line.py": "",
    ".hidden/c.py": "",
    ".gitignore": "built/\n*.log\n",
    "built/tracked.py": "tracked = True\n",
    "noise.log": "tracked although ignored\n",
    "node_modules/m.js": "",
    "secrets.json": "{}",
    "keys/id_rsa": "",
    ".ctxignore": "generated.py\n/p/skip/\n",
    "generated.py": "",
    "p/skip/d.py": "",
    "envs/CACHEDIR.TAG": "",
    "envs/e.py": "",
}


def test_the_files_of_head_are_those_of_the_clean_tree(repository):
    commit(repository.write(FILES))
    found = same_as_the_tree(repository)
    assert found.paths == (
        "a.py",
        "built/tracked.py",
        "noise.log",
        "p/b.py",
        "p/bytes.bin",
        "p/with space and \n line.py",
        "p/ünïcode.py",
    )


@pytest.mark.parametrize(
    "scope",
    [
        Scope(include=("p/**",)),
        Scope(exclude=("p/**", "!p/b.py")),
        Scope(hidden=True, vendored=True, secrets=True),
        Scope(own=("p",)),
    ],
)
def test_the_ctxfile_selects_as_in_the_tree(repository, scope):
    commit(repository.write(FILES))
    same_as_the_tree(repository, scope)


def test_a_deeper_gitignore_takes_a_file_back_from_a_ctxignore_above_as_in_the_tree(repository):
    commit(repository.write({".ctxignore": "*.txt\n", "a.txt": "", "d/.gitignore": "!b.txt\n"}))
    commit(repository.write({"d/b.txt": ""}))
    assert same_as_the_tree(repository).paths == ("d/b.txt",)


def test_a_commit_holds_what_it_held_whatever_happened_since(repository):
    commit(repository.write({"a.py": "old\n", "gone.py": ""}))
    repository.write({"a.py": "new\n"})
    (repository.root / "gone.py").unlink()
    commit(repository)
    repository.write({"a.py": "not committed\n", "untracked.py": ""})
    found = at(repository, "HEAD~1")
    assert found.paths == ("a.py", "gone.py")
    assert found.read("a.py") == b"old\n"
    assert found.digest("a.py") == digest_of(b"old\n")
    assert (found.digest("untracked.py"), found.has("untracked.py")) == (None, False)


def test_what_differs_between_two_commits(repository):
    commit(repository.write({"a.py": "1\n", "b.py": "", "c.py": ""}))
    (repository.root / "b.py").unlink()
    commit(repository.write({"a.py": "2\n", "d.py": ""}))
    changes = at(repository).changes_since(at(repository, "HEAD~1"))
    assert changes == (("d.py",), ("b.py",), ("a.py",))


def test_a_subfolder_of_a_repository_is_a_root_of_its_own(repository):
    files = {"top.py": "", ".ctxignore": "skipped.py\n", "sub/a.py": "1\n", "sub/skipped.py": ""}
    commit(repository.write(files))
    found = at(repository, below="sub")
    assert found.paths == ("a.py",)
    assert [(left.path, left.detail) for left in found.left_out()] == [
        ("skipped.py", "../.ctxignore:1: skipped.py")
    ]


def test_a_subfolder_that_came_later_is_named(repository):
    commit(repository.write({"a.py": ""}), "first")
    commit(repository.write({"sub/a.py": ""}))
    with pytest.raises(RevisionError, match="revision 'HEAD~1' has no directory 'sub'"):
        at(repository, "HEAD~1", below="sub")


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_links_lead_where_they_lead_in_the_tree(repository):
    repository.write({"a.py": "x = 1\n", "d/b.py": "y = 1\n", "secrets.json": "{}"})
    for link, target in {
        "to_a.py": "a.py",
        "d/up.py": "../a.py",
        "through.py": "dir/b.py",
        "dir": "d",
        "chain.py": "to_a.py",
        "out.py": "../elsewhere.py",
        "absolute.py": "/etc/hostname",
        "nothing.py": "missing.py",
        "loop1.py": "loop2.py",
        "loop2.py": "loop1.py",
        "secret.py": "secrets.json",
    }.items():
        (repository.root / link).symlink_to(target)
    commit(repository)
    found = at(repository)
    expected = ("a.py", "chain.py", "d/b.py", "d/up.py", "through.py", "to_a.py")
    assert found.paths == expected == repository.scan()[0].paths
    assert found.read("d/up.py") == b"x = 1\n"
    reasons = {left.path: left.reason for left in found.left_out()}
    assert reasons == {
        "absolute.py": "link outside",
        "dir": "link to directory",
        "loop1.py": "link loop",
        "loop2.py": "link loop",
        "nothing.py": "dangling link",
        "out.py": "link outside",
        "secret.py": "link to something left out",
        "secrets.json": "secret",
    }


def test_a_submodule_stays_out(repository, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for arguments in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x")):
        subprocess.run(["git", *arguments], cwd=other, check=True)
    repository.write({"a.py": ""})
    allowed = "-c", "protocol.file.allow=always"
    repository.git(*allowed, "submodule", "--quiet", "add", str(other), "vendored")
    commit(repository)
    found = at(repository)
    assert found.paths == ("a.py",)
    assert ("vendored", "submodule") in [(left.path, left.reason) for left in found.left_out()]


def test_line_ends_that_git_converts_are_read_as_they_are_stored(repository):
    commit(repository.write({"a.py": "x = 1\n", ".gitattributes": "*.py export-ignore\n"}))
    repository.git("config", "core.autocrlf", "true")
    (repository.root / "a.py").unlink()
    repository.git("checkout", "--", "a.py")
    assert (repository.root / "a.py").read_bytes() == b"x = 1\r\n"
    found = at(repository)
    assert found.read("a.py") == b"x = 1\n"


# --- bad input --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("mian", "no revision 'mian' in .*: did you mean 'main'"),
        ("HAED~2", "no revision 'HAED~2' in .*: did you mean 'HEAD'"),
        ("v1.O", "no revision 'v1.O' in .*: did you mean 'v1.0'"),
        ("HEAD~99", "no revision 'HEAD~99' in .*: `git log`"),
        ("0123456789", "no revision '0123456789'"),
        ("", "the revision is empty"),
        ("--help", "no revision '--help'"),
        ("HEAD:a.py", "no revision 'HEAD:a.py'"),
        ("a\0b", "the revision is empty"),
        ("main..main", "no revision 'main..main'"),
    ],
)
def test_a_revision_that_is_none_is_refused_with_what_is_near(repository, revision, message):
    commit(repository.write({"a.py": ""}))
    repository.git("branch", "--force", "--move", "main")
    repository.git("tag", "v1.0")
    with pytest.raises(RevisionError, match=message):
        find_commit(str(repository.root), revision)


def test_a_directory_that_is_no_repository_has_no_revisions(tmp_path):
    with pytest.raises(RevisionError, match="is not in a git repository"):
        find_commit(str(tmp_path), "HEAD")


def test_a_repository_without_a_commit_has_no_head(repository):
    with pytest.raises(RevisionError, match="no revision 'HEAD'"):
        find_commit(str(repository.root), "HEAD")


def test_a_shallow_clone_says_that_it_is_shallow(repository, tmp_path):
    for number in range(3):
        commit(repository.write({"a.py": f"{number}\n"}))
    clone = tmp_path / "clone"
    url = f"file://{repository.root}"
    subprocess.run(["git", "clone", "-q", "--depth=1", url, str(clone)], check=True)
    with pytest.raises(RevisionError, match="shallow: `git fetch --unshallow`"):
        find_commit(str(clone), "HEAD~2")


def test_a_content_that_the_clone_lacks_is_named(repository):
    commit(repository.write({"a.py": "here\n", "p/gone.py": "gone\n"}))
    name = repository.git("rev-parse", "HEAD:p/gone.py").strip()
    (repository.root / ".git/objects" / name[:2] / name[2:]).unlink()
    found = at(repository)
    assert found.paths == ("a.py", "p/gone.py")
    with pytest.raises(
        RevisionError, match=r"p/gone\.py: its content at 'HEAD' is not in this clone"
    ):
        found.digest("p/gone.py")
    assert found.read("a.py") == b"here\n"  # it goes on after that


def test_a_partial_clone_says_what_it_lacks_and_reaches_for_no_network(repository, tmp_path):
    repository.git("config", "uploadpack.allowFilter", "true")
    commit(repository.write({"a.py": "here\n"}))
    clone = tmp_path / "clone"
    url = f"file://{repository.root}"
    command = ["git", "clone", "-q", "--no-checkout", "--filter=blob:none", url, str(clone)]
    subprocess.run(command, check=True)
    shutil.rmtree(repository.root)  # what an old git would fetch from is gone
    repository.root = clone
    found = at(repository)
    assert found.paths == ("a.py",)
    with pytest.raises(RevisionError, match=r"a\.py: its content at 'HEAD' is not in this clone"):
        found.read("a.py")
