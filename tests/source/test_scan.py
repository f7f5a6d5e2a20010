"""The snapshot: what is selected, what has changed, what is read."""

from __future__ import annotations

import os
import socket
import sqlite3
import sys
import time

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbuild.errors import SourceChanged, SourceError
from ctxbuild.source.scan import Changes, Scope, prepare, scan


def no_reads(monkeypatch):
    """From now on opening or listing anything is a failure."""

    def refuse(*arguments, **_):
        raise AssertionError(f"touched {arguments}")

    monkeypatch.setattr("ctxbuild.source.walk.open_file", refuse)
    monkeypatch.setattr("ctxbuild.source.scan.open_file", refuse)
    monkeypatch.setattr("ctxbuild.source.walk.read_rules_file", refuse)
    monkeypatch.setattr("ctxbuild.source.git.run", refuse)
    monkeypatch.setattr(os, "scandir", refuse)


# --- changes ---------------------------------------------------------------------------


def test_a_first_scan_adds_every_file(tree):
    tree.write({"b.py": "b", "a/x.py": "x", "a/b/y.py": "y", "a b\nc.py": "odd"})
    snapshot, changes = tree.scan()
    paths = ("a b\nc.py", "a/b/y.py", "a/x.py", "b.py")
    assert snapshot.paths == paths
    assert changes == Changes(added=paths)


def test_an_unchanged_tree_is_stated_and_nothing_else(repository, monkeypatch):
    repository.write({"a.py": "a", "pkg/b.py": "b", ".gitignore": "*.log\n", "x.log": ""})
    repository.git("add", ".")
    repository.settle()
    repository.age()
    repository.settle()
    no_reads(monkeypatch)
    snapshot, changes = repository.scan()
    assert changes == Changes()
    assert snapshot.paths == ("a.py", "pkg/b.py")
    before = repository.connection.total_changes
    snapshot.save()
    assert repository.connection.total_changes == before


def test_changes_name_what_was_added_removed_and_modified(tree):
    tree.write({"same.py": "1", "edited.py": "1", "old/gone.py": "1", "moved.py": "m"})
    tree.settle()
    (tree.root / "edited.py").write_text("2")
    (tree.root / "old/gone.py").unlink()
    (tree.root / "moved.py").rename(tree.root / "old/new.py")
    _, changes = tree.scan()
    assert changes == Changes(("old/new.py",), ("moved.py", "old/gone.py"), ("edited.py",))


def test_a_removed_directory_removes_all_below_it(tree):
    tree.write({"a/b/x.py": "x", "a/y.py": "y", "z.py": "z"})
    tree.settle()
    (tree.root / "a/b/x.py").unlink()
    (tree.root / "a/y.py").unlink()
    (tree.root / "a/b").rmdir()
    (tree.root / "a").rmdir()
    snapshot, changes = tree.scan()
    assert changes == Changes(removed=("a/b/x.py", "a/y.py"))
    snapshot.save()
    assert tree.scan()[1] == Changes()


def test_a_file_that_is_only_touched_is_not_modified(tree):
    tree.write({"a.py": "a"})
    tree.settle()
    os.utime(tree.root / "a.py")
    assert tree.scan()[1] == Changes()


def test_a_file_without_a_known_digest_is_never_modified(tree):
    tree.write({"a.py": "a"})
    tree.scan()[0].save()
    (tree.root / "a.py").write_text("other")
    assert tree.scan()[1] == Changes()


def test_an_edit_that_keeps_size_and_mtime_is_seen(tree):
    tree.write({"a.py": "aaa"})
    tree.settle()
    stamp = (tree.root / "a.py").stat().st_mtime_ns
    (tree.root / "a.py").write_text("bbb")
    os.utime(tree.root / "a.py", ns=(stamp, stamp))
    assert tree.scan()[1] == Changes(modified=("a.py",))


def test_a_file_edited_in_the_tick_of_the_snapshot_is_read_again(tree, monkeypatch):
    tree.write({"a.py": "aaa"})
    snapshot, _ = tree.scan()
    snapshot.digest("a.py")
    snapshot.save()
    stored = tree.connection.execute("SELECT stats FROM scan_directory").fetchone()[0]
    (tree.root / "a.py").write_text("bbb")
    # The same stat row as before: as if both edits fell into one tick of the clock.
    real = os.lstat

    class Same:
        def __init__(self, st):
            import array

            size, mtime, ctime, inode = array.array("q", stored)
            self.st_mode, self.st_dev = st.st_mode, st.st_dev
            self.st_size, self.st_mtime_ns, self.st_ctime_ns = size, mtime, ctime
            self.st_ino = inode

    def lstat(path, **options):
        found = real(path, **options)
        return Same(found) if str(path).endswith("a.py") else found

    monkeypatch.setattr(os, "lstat", lstat)
    assert tree.scan()[1] == Changes(modified=("a.py",))


def test_young_entries_stop_being_racy_once_saved_again(tree, monkeypatch):
    tree.write({"a.py": "a"})
    snapshot, _ = tree.scan()
    snapshot.digest("a.py")
    snapshot.save()
    time.sleep(0.07)
    tree.scan()[0].save()
    no_reads(monkeypatch)
    assert tree.scan()[1] == Changes()


def test_a_scan_writes_nothing_until_it_is_saved(tree):
    tree.write({"a.py": "a"})
    before = tree.connection.total_changes
    snapshot, _ = tree.scan()
    snapshot.read("a.py")
    assert tree.connection.total_changes == before
    assert tree.scan()[1] == Changes(added=("a.py",))
    snapshot.save()
    assert tree.scan()[1] == Changes()


def test_digests_learnt_by_reading_survive(tree, monkeypatch):
    tree.write({"a.py": "text", "b.py": ""})
    tree.age()
    snapshot, _ = tree.scan()
    assert snapshot.read("a.py") == b"text"
    snapshot.save()
    later, _ = tree.scan()
    no_reads(monkeypatch)
    assert later.digest("a.py") == xxhash.xxh3_128_digest(b"text")
    assert later.digest("missing.py") is None
    assert later.size("a.py") == 4


def test_a_changed_scope_decides_anew_and_keeps_digests(tree, monkeypatch):
    tree.write({"a.py": "a", "b/c.py": "c"})
    tree.settle()
    _, changes = tree.scan(Scope(exclude=("b/",)))
    assert changes == Changes(removed=("b/c.py",))
    _, changes = tree.scan(Scope(include=("b",)))
    assert changes == Changes(removed=("a.py",))


def test_only_dirty_paths_are_looked_at(tree):
    tree.write({"a/x.py": "1", "b/y.py": "1", "c/d/z.py": "1"})
    tree.settle()
    for path in ("a/x.py", "b/y.py", "c/d/z.py"):
        (tree.root / path).write_text("22")
    assert tree.scan(dirty=["a/x.py"])[1] == Changes(modified=("a/x.py",))
    assert tree.scan(dirty=["c"])[1] == Changes(modified=("c/d/z.py",))
    assert tree.scan(dirty=[])[1] == Changes()
    assert tree.scan(dirty=[""])[1].modified == ("a/x.py", "b/y.py", "c/d/z.py")


def test_a_dirty_directory_that_is_new_is_found(tree):
    tree.write({"a.py": "1"})
    tree.settle()
    tree.write({"new/deep/b.py": "b"})
    assert tree.scan(dirty=["new/deep/b.py"])[1].added == ()
    assert tree.scan(dirty=["new"])[1] == Changes(added=("new/deep/b.py",))


def test_a_moved_tree_is_the_same_tree(tree):
    tree.write({"a.py": "a", "b/c.py": "c"})
    tree.settle()
    moved = tree.root.with_name("elsewhere")
    tree.root.rename(moved)
    tree.root = moved
    assert tree.scan()[1] == Changes()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "rename", "ignore", "mkdir", "save"]),
        st.sampled_from(["a.py", "b.py", "d/a.py", "d/e/c.py", "d"]),
        st.sampled_from(["x", "y", "*.py", "d/", "!a.py"]),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(STEPS)
def test_a_scan_with_memory_equals_one_without(tmp_path_factory, steps):
    root = tmp_path_factory.mktemp("tree")
    connection = sqlite3.connect(":memory:", isolation_level=None)
    prepare(connection)
    for action, path, text in steps:
        target = root / path
        try:
            if action == "write":
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            elif action == "delete":
                target.unlink()
            elif action == "rename":
                target.rename(root / "renamed")
            elif action == "mkdir":
                target.mkdir(parents=True)
            elif action == "ignore":
                (root / ".gitignore").write_text(text)
        except OSError:
            continue
        snapshot, _ = scan(str(root), Scope(), connection)
        fresh = sqlite3.connect(":memory:", isolation_level=None)
        prepare(fresh)
        clean, _ = scan(str(root), Scope(), fresh)
        assert snapshot.paths == clean.paths
        assert [snapshot.digest(p) for p in clean.paths] == [clean.digest(p) for p in clean.paths]
        assert snapshot.left_out() == clean.left_out()
        if action == "save":
            snapshot.save()
        fresh.close()
    connection.close()


# --- reading ---------------------------------------------------------------------------


def test_reading_a_file_that_has_changed_since_says_so(tree):
    tree.write({"a.py": "a", "b.py": "b"})
    snapshot, _ = tree.scan()
    (tree.root / "a.py").write_text("longer")
    (tree.root / "b.py").unlink()
    for path in ("a.py", "b.py"):
        with pytest.raises(SourceChanged) as caught:
            snapshot.read(path)
        assert caught.value.path == path


def test_a_file_replaced_by_a_pipe_or_a_link_is_not_read(tree):
    tree.write({"a.py": "a", "b.py": "b", "secret.pem": "b"})
    snapshot, _ = tree.scan()
    (tree.root / "a.py").unlink()
    os.mkfifo(tree.root / "a.py")
    (tree.root / "b.py").unlink()
    (tree.root / "b.py").symlink_to("secret.pem")
    for path in ("a.py", "b.py"):
        with pytest.raises(SourceChanged):
            snapshot.read(path)


def test_reading_what_is_not_selected_is_an_error(tree):
    tree.write({"a.py": "a", ".env": "TOKEN=1"})
    snapshot, _ = tree.scan()
    with pytest.raises(SourceError, match="not among the sources"):
        snapshot.read(".env")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_found_out_when_it_is_read(tree):
    tree.write({"a.py": "a"})
    (tree.root / "a.py").chmod(0)
    snapshot, _ = tree.scan()
    with pytest.raises(SourceError, match=r"a\.py: no permission to read it"):
        snapshot.read("a.py")


def test_no_permission_to_open_is_a_source_error(tree, monkeypatch):
    tree.write({"a.py": "a"})
    snapshot, _ = tree.scan()

    def refuse(_):
        raise PermissionError(13, "denied")

    monkeypatch.setattr("ctxbuild.source.scan.open_file", refuse)
    with pytest.raises(SourceError, match=r"a\.py: no permission to read it"):
        snapshot.read("a.py")


def test_a_missing_root_is_an_error(tree):
    tree.root.rmdir()
    with pytest.raises(SourceError, match="is not a directory"):
        tree.scan()


def test_directories_are_known_by_what_is_below_them(tree):
    tree.write({"a/b/x.py": "x", "empty/.hidden": ""})
    snapshot, _ = tree.scan()
    assert [p for p in ("", "a", "a/b", "a/b/x.py", "empty", "b") if snapshot.has_dir(p)] == [
        "",
        "a",
        "a/b",
    ]
    assert snapshot.has("a/b/x.py")
    assert not snapshot.has("a/b")


# --- what is left out --------------------------------------------------------------------


def test_everything_left_out_has_a_reason(tree):
    tree.write(
        {
            "src/app.py": "",
            "src/vendor/real.py": "",
            "src/skip.log": "",
            ".gitignore": "# comment\n*.log\nbuild/\n",
            "build/a.py": "",
            "build/b.py": "",
            ".hidden/x.py": "",
            "node_modules/x/index.js": "",
            "env/pyvenv.cfg": "",
            "env/lib/x.py": "",
            "pkg.egg-info/PKG-INFO": "",
            "tmp/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55",
            ".env": "",
            ".env.example": "",
            "prod.env": "",
            "keys/server.pem": "",
            "keys/id_ed25519": "",
            "out/pack.md": "",
            "docs/big.md": "",
        }
    )
    scope = Scope(exclude=("docs/**",), own=("out",))
    assert tree.paths(scope) == ["src/app.py", "src/vendor/real.py"]
    assert tree.left(scope) == [
        (".env", "secret", ".env"),
        (".env.example", "hidden", ""),
        (".gitignore", "hidden", ""),
        (".hidden", "hidden", ""),
        ("build", "ignored", ".gitignore:3: build/"),
        ("docs", "excluded", "docs/**"),
        ("env", "vendored", "pyvenv.cfg"),
        ("keys/id_ed25519", "secret", "id_ed25519"),
        ("keys/server.pem", "secret", "server.pem"),
        ("node_modules", "vendored", "node_modules"),
        ("out", "own output", ""),
        ("pkg.egg-info", "vendored", "pkg.egg-info"),
        ("prod.env", "secret", "prod.env"),
        ("src/skip.log", "ignored", ".gitignore:2: *.log"),
        ("tmp", "vendored", "CACHEDIR.TAG"),
    ]
    tree.scan(scope)[0].save()
    assert len(tree.left(scope)) == 15
    assert tree.paths(Scope(hidden=True, vendored=True, secrets=True, own=("out",))) == [
        ".env",
        ".env.example",
        ".gitignore",
        ".hidden/x.py",
        "docs/big.md",
        "env/lib/x.py",
        "env/pyvenv.cfg",
        "keys/id_ed25519",
        "keys/server.pem",
        "node_modules/x/index.js",
        "pkg.egg-info/PKG-INFO",
        "prod.env",
        "src/app.py",
        "src/vendor/real.py",
        "tmp/CACHEDIR.TAG",
    ]


def test_an_ignored_directory_is_never_listed(tree, monkeypatch):
    tree.write({".gitignore": "data/\n", "data/huge/x": "", "a.py": ""})
    listed = []
    real = os.scandir

    def scandir(path):
        listed.append(os.path.relpath(path, tree.root))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert tree.paths() == ["a.py"]
    assert listed == ["."]


def test_include_takes_subtrees_and_prunes_the_rest(tree):
    tree.write({"src/a/x.py": "", "src/b/y.py": "", "docs/z.md": "", "top.py": ""})
    assert tree.paths(Scope(include=("src/a", "*.md"))) == ["docs/z.md", "src/a/x.py"]
    assert tree.left(Scope(include=("/src/a/**",))) == [
        ("docs", "not included", ""),
        ("src/b", "not included", ""),
        ("top.py", "not included", ""),
    ]
    assert tree.paths(Scope(include=("**", "!src"))) == ["docs/z.md", "top.py"]


def test_special_files_are_survived(tree, monkeypatch):
    tree.write({"a.py": ""})
    os.mkfifo(tree.root / "pipe")
    monkeypatch.chdir(tree.root)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("sock")
        assert tree.paths() == ["a.py"]
        assert tree.left() == [("pipe", "special file", ""), ("sock", "special file", "")]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_no_utf8_are_shown_escaped(tree):
    tree.write({"ü.py": ""})
    with open(os.path.join(os.fsencode(tree.root), b"caf\xe9.py"), "w"):
        pass
    assert tree.paths() == ["ü.py"]
    assert tree.left() == [("caf\\xe9.py", "name is not UTF-8", "")]


def test_a_directory_that_cannot_be_listed_is_left_out(tree, monkeypatch):
    tree.write({"a.py": "", "closed/b.py": ""})
    real = os.scandir

    def scandir(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert tree.paths() == ["a.py"]
    assert tree.left() == [("closed", "no permission", "")]


# --- links -------------------------------------------------------------------------------


def test_a_link_to_a_selected_file_is_that_file(tree):
    tree.write({"real/a.py": "a"})
    (tree.root / "link.py").symlink_to("real/a.py")
    (tree.root / "chain.py").symlink_to("link.py")
    snapshot, _ = tree.scan()
    assert snapshot.paths == ("chain.py", "link.py", "real/a.py")
    assert snapshot.read("chain.py") == b"a"
    assert snapshot.digest("link.py") == snapshot.digest("real/a.py")
    snapshot.save()
    (tree.root / "real/a.py").write_text("bb")
    assert tree.scan()[1] == Changes(modified=("chain.py", "link.py", "real/a.py"))


def test_other_links_are_left_out_and_secrets_do_not_leak(tree, tmp_path):
    (tmp_path / "outside.py").write_text("")
    tree.write({"d/a.py": "", ".env": "TOKEN"})
    for name, target in {
        "dangling": "nowhere",
        "directory": "d",
        "up": "..",
        "outside.py": "../outside.py",
        "leak.py": ".env",
        "loop": "loop",
        "d/self": ".",
        "pipe-link": "pipe",
    }.items():
        (tree.root / name).symlink_to(target)
    os.mkfifo(tree.root / "pipe")
    assert tree.paths() == ["d/a.py"]
    assert tree.left() == [
        (".env", "secret", ".env"),
        ("d/self", "link to directory", "d"),
        ("dangling", "dangling link", ""),
        ("directory", "link to directory", "d"),
        ("leak.py", "link to something left out", ".env"),
        ("loop", "link loop", ""),
        ("outside.py", "link outside", ""),
        ("pipe", "special file", ""),
        ("pipe-link", "special file", ""),
        ("up", "link to directory", ""),
    ]


def test_a_dangling_link_comes_alive_with_its_target(tree):
    tree.write({"d/a.py": ""})
    (tree.root / "link.py").symlink_to("d/b.py")
    tree.settle()
    tree.write({"d/b.py": "b"})
    snapshot, changes = tree.scan()
    assert changes == Changes(added=("d/b.py", "link.py"))
    snapshot.save()
    (tree.root / "d/b.py").unlink()
    assert tree.scan()[1] == Changes(removed=("d/b.py", "link.py"))


def test_a_file_that_becomes_a_link_is_modified(tree):
    tree.write({"a.py": "a", "b.py": "b"})
    tree.settle()
    (tree.root / "b.py").unlink()
    (tree.root / "b.py").symlink_to("a.py")
    assert tree.scan()[1] == Changes(modified=("b.py",))
