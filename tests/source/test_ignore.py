"""Ignore rules mean what git means, and globs mean what the reference says."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbuild.source.ignore import glob
from ctxbuild.source.scan import Changes, Scope, prepare, scan

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed")
ALL = Scope(hidden=True, vendored=True, secrets=True)

NAMES = ["a", "b", "ab", "foo", "foo.py", "b.c", "é", " x", "x ", "#a", "!b", "[a]", "a\\b", "a*"]
PIECES = [
    *["*", "**", "?", "/", "a", "b", "foo", ".py", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "***"],
    *["[[:alpha:]]", "[a/b]", "\\", "\\*", " ", "\\ ", "!", "#", "é", "[", "]", "-", "**/", "/**"],
    *["/**/", "[é]", "[\\]]", "[!]", "[[:bad:]]", "[b-a]", "[--a]", "\\/", "\t"],
]
SEGMENTS = st.sampled_from([*NAMES, "*", "**", "?", "*.c", "a*", "*b"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)
PATTERNS = st.tuples(
    st.sampled_from(["", "", "!", "/"]),
    st.one_of(PATHS, st.lists(st.sampled_from(PIECES), max_size=5).map("".join)),
    st.sampled_from(["", "", "/", " ", "\r"]),
).map("".join)
RULES = st.lists(PATTERNS, min_size=1, max_size=4).map("\n".join)
FILES = st.lists(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join), min_size=1, max_size=9
)
PLACES = st.sampled_from(["", "a", "b", "foo", "a/b"])


def listed_by_git(root):
    command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    return sorted(os.fsdecode(part) for part in output.split(b"\0") if part)


def scanned(root, scope=ALL):
    connection = sqlite3.connect(":memory:", isolation_level=None)
    prepare(connection)
    try:
        return list(scan(str(root), scope, connection)[0].paths)
    finally:
        connection.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A repository that every example empties and fills anew."""
    root = tmp_path_factory.mktemp("bench")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@needs_git
@settings(max_examples=100)
@given(
    files=FILES,
    rules=st.dictionaries(PLACES, RULES, min_size=1, max_size=3),
    exclude=st.one_of(st.just(""), RULES),
    tracked=st.sets(st.integers(0, 8), max_size=2),
)
def test_the_selection_equals_that_of_git(bench, files, rules, exclude, tracked):
    for entry in bench.iterdir():
        if entry.name == ".git":
            (entry / "index").unlink(missing_ok=True)
        elif entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    (bench / ".git/info/exclude").write_text(exclude)
    for path in files:
        target = bench / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        except (FileExistsError, NotADirectoryError):
            continue
    for place, text in rules.items():
        if (bench / place).is_dir():
            (bench / place / ".gitignore").write_bytes(text.encode())
    chosen = [path for n, path in enumerate(files) if n in tracked and (bench / path).is_file()]
    if chosen:
        command = ["git", "--literal-pathspecs", "-C", str(bench), "add", "-f", "--", *chosen]
        subprocess.run(command, check=True, capture_output=True)
    assert scanned(bench) == listed_by_git(bench)


@pytest.mark.parametrize(
    ("rules", "out"),
    [
        ("*.log", ["a.log", "d/b.log"]),
        ("/*.log", ["a.log"]),
        ("*.log\n!b.log", ["a.log"]),
        ("d/\n!d/b.log", ["d"]),
        ("d/*\n!d/b.log", ["d/c.py"]),
        ("d/**\n!d/b.log", ["d/c.py"]),
        ("**/b.log", ["d/b.log"]),
        ("\ufeff*.log", ["a.log", "d/b.log"]),
        ("*.log\r\n", ["a.log", "d/b.log"]),
        ("a.log   ", ["a.log"]),
        ("a.log\\ ", []),
        ("[!a].py", ["d/c.py"]),
        ("d*/[[:alpha:]].py", ["d/c.py"]),
        ("a.log/", []),
        ("\\#x\n# a.log", ["#x"]),
    ],
)
def test_rules_in_a_tree_without_git(tree, rules, out):
    tree.write({"a.log": "", "#x": "", "d/b.log": "", "d/c.py": "", ".gitignore": rules})
    ignored = [path for path, reason, _ in tree.left() if reason == "ignored"]
    assert ignored == out


def test_a_nested_gitignore_scopes_to_its_directory(tree):
    tree.write({".gitignore": "*.txt", "a/.gitignore": "!/x.txt\n/y.py"})
    tree.write({"x.txt": "", "y.py": "", "a/x.txt": "", "a/y.py": "", "a/b/x.txt": ""})
    assert tree.paths() == ["a/x.txt", "y.py"]


def test_a_ctxignore_wins_over_the_gitignore_beside_it(repository):
    repository.write(
        {
            ".gitignore": "generated.py\n",
            ".ctxignore": "!generated.py\nlocked.py\n",
            "generated.py": "",
            "locked.py": "",
            "other.py": "",
        }
    )
    repository.git("add", "-f", "locked.py")
    assert repository.paths() == ["generated.py", "other.py"]
    assert ("locked.py", "ignored", ".ctxignore:2: locked.py") in repository.left()


@pytest.mark.parametrize("path", [".gitignore", "a/.gitignore", ".ctxignore"])
def test_a_changed_rule_file_decides_anew(repository, path):
    repository.write({"a/x.py": "", "a/b/y.py": "", path: "nothing"})
    repository.settle()
    repository.write({path: "*.py"})
    snapshot, changes = repository.scan()
    assert changes == Changes(removed=("a/b/y.py", "a/x.py"))
    snapshot.save()
    (repository.root / path).unlink()
    assert repository.scan()[1] == Changes(added=("a/b/y.py", "a/x.py"))


@needs_git
def test_info_exclude_and_the_users_excludes_file_count(repository, monkeypatch, tmp_path):
    repository.write({"a.py": "", "b.tmp": "", "c.swp": ""})
    repository.settle()
    (repository.root / ".git/info/exclude").write_text("*.tmp")
    snapshot, changes = repository.scan()
    assert changes == Changes(removed=("b.tmp",))
    snapshot.save()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "git").mkdir()
    (tmp_path / "git/ignore").write_text("*.swp")
    assert repository.scan()[1] == Changes(removed=("c.swp",))
    (tmp_path / "mine").write_text("a.*")
    repository.git("config", "core.excludesFile", str(tmp_path / "mine"))
    snapshot, changes = repository.scan()
    assert snapshot.paths == ("c.swp",)
    assert snapshot.paths == tuple(listed_by_git(repository.root))
    assert snapshot.left_out()[0].detail == "core.excludesFile:1: a.*"


@needs_git
def test_tracked_files_are_sources_although_ignored(repository):
    repository.write(
        {".gitignore": "build/\n*.log", "build/a.py": "", "build/b.py": "", "x.log": ""}
    )
    repository.settle()
    assert repository.paths() == []
    repository.git("add", "-f", "build/a.py", "x.log")
    snapshot, changes = repository.scan()
    assert changes == Changes(added=("build/a.py", "x.log"))
    assert ("build/b.py", "ignored", ".gitignore:1: build/") in repository.left()
    snapshot.save()
    repository.git("rm", "-q", "--cached", "build/a.py")
    assert repository.scan()[1] == Changes(removed=("build/a.py",))


@needs_git
def test_a_subfolder_of_a_repository_obeys_the_rules_above_it(repository):
    repository.write(
        {".gitignore": "*.log\n/sub/x.py", "sub/x.py": "", "sub/y.py": "", "sub/z.log": ""}
    )
    sub = repository.root / "sub"
    assert scanned(sub) == listed_by_git(sub) == ["y.py"]
    repository.root = sub
    assert ("z.log", "ignored", "../.gitignore:1: *.log") in repository.left()


@needs_git
def test_a_root_that_its_repository_ignores_stands_for_itself(repository):
    repository.write(
        {".gitignore": "work/", "work/a.py": "", "work/b.log": "", "work/.gitignore": "*.log"}
    )
    assert scanned(repository.root / "work", Scope()) == ["a.py"]
    repository.git("add", "-f", "work/b.log")
    assert scanned(repository.root / "work", Scope()) == ["b.log"]


@needs_git
def test_a_linked_worktree_has_the_excludes_of_its_repository(repository, tmp_path):
    repository.write({"a.py": "", "b.tmp": ""})
    repository.git("add", "a.py")
    repository.git("commit", "-qm", "first")
    (repository.root / ".git/info/exclude").write_text("*.tmp")
    repository.git("worktree", "add", "-q", str(tmp_path / "linked"))
    (tmp_path / "linked/c.tmp").touch()
    assert scanned(tmp_path / "linked", Scope()) == ["a.py"]


@needs_git
def test_nested_repositories_and_submodules_are_left_out_once(repository, tmp_path):
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    (other / "x.py").touch()
    for arguments in (["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(other), *arguments], check=True)
    repository.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub"
    )
    subprocess.run(["git", "init", "-q", str(repository.root / "nested")], check=True)
    repository.write({"nested/y.py": "", "a.py": ""})
    assert repository.paths() == ["a.py"]
    left = repository.left()
    assert ("nested", "nested repository", "") in left
    assert ("sub", "submodule", "") in left
    assert scanned(repository.root / "sub", Scope()) == ["x.py"]


@needs_git
def test_without_a_git_program_the_rules_still_hold(repository, monkeypatch):
    repository.write({".gitignore": "*.log", "a.py": "", "b.log": ""})
    repository.git("add", "-f", "b.log")
    monkeypatch.setenv("PATH", "/nonexistent")
    snapshot, _ = repository.scan()
    assert snapshot.paths == ("a.py",)
    assert snapshot.warnings == (
        "git: git is not installed; files that git tracks although they are ignored stay out",
    )


@needs_git
def test_no_program_of_the_repositorys_configuration_runs(repository, tmp_path):
    repository.write({".gitignore": "*.log", "b.log": ""})
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    repository.git("config", "core.fsmonitor", str(hook))
    assert repository.paths() == []
    assert not (tmp_path / "ran").exists()


# --- globs ------------------------------------------------------------------------------

TREE = ["a.py", "src/a.py", "src/b/c.py", "src/b/c.txt", "lib/src/a.py", "src.py"]


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("*.py", ["a.py", "src.py"]),
        ("**/*.py", ["a.py", "src/a.py", "src/b/c.py", "lib/src/a.py", "src.py"]),
        ("src/**/*.py", ["src/a.py", "src/b/c.py"]),
        ("src", ["src/a.py", "src/b/c.py", "src/b/c.txt"]),
        ("src/", ["src/a.py", "src/b/c.py", "src/b/c.txt"]),
        ("./src/b", ["src/b/c.py", "src/b/c.txt"]),
        ("src/*", ["src/a.py"]),
        ("src/**", ["src/a.py", "src/b/c.py", "src/b/c.txt"]),
        ("**/src/", ["src/a.py", "src/b/c.py", "src/b/c.txt", "lib/src/a.py"]),
        ("?.py", ["a.py"]),
        ("[!a-b].py", []),
        ("[a-b].py", ["a.py"]),
        (".", TREE),
        ("**", TREE),
        ("src/[", []),
    ],
)
def test_globs_of_layers(pattern, matched):
    assert [path for path in TREE if glob(pattern).matches(path)] == matched


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 200 + "b", "a" * 4000),
        ("**/a/" * 100 + "b", "a/" * 1500),
        ("**/*a*a*a*a/" * 30 + "b", "aaaaaaaa/" * 300),
        ("[[]" * 3000 + "*" * 3000 + "x", "[" * 3000),
    ],
)
def test_hostile_patterns_take_no_time(pattern, path):
    start = time.process_time()
    assert not glob(pattern).matches(path)
    assert time.process_time() - start < 2
