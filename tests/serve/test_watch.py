"""The watcher knows what may be dirty, watches no more than it must, and says when it cannot."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.serve import inotify as listening
from ctxbuild.serve.collector import Collector, Dirt
from ctxbuild.serve.mounts import silent_file_system
from ctxbuild.serve.resident import Resident
from ctxbuild.serve.watch import Watcher
from ctxbuild.source import ctxfile
from ctxbuild.source.scan import Scope, prepare, scan
from ctxbuild.stores import cachedir

linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
SCOPE = Scope(own=(".ctxbuild",))


class Watched:
    """A tree, its watcher, and the snapshot that both agree on."""

    def __init__(self, root: Path, **options: object) -> None:
        self.root = root
        self.said: list[str] = []
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        prepare(self.connection)
        cache = root / ".ctxbuild"
        cachedir.prepare(cache, self.said.append)
        self.watcher = Watcher(str(root), cache, cache / "packs", say=self.said.append, **options)
        self.snapshot, _ = scan(str(root), SCOPE, self.connection)
        self.settle()

    def __del__(self) -> None:
        self.connection.close()

    def settle(self) -> Dirt:
        """Looks at what is dirty until nothing is; what was dirty first."""
        self.watcher.sync()
        first = dirt = self.watcher.take()
        while True:
            places = None if dirt.everything else [*dirt.content, *dirt.entries]
            self.snapshot, _ = scan(
                str(self.root), SCOPE, self.connection, dirty=places, previous=self.snapshot
            )
            younger = self.watcher.follow(self.snapshot, dirt)
            dirt = Dirt(entries=frozenset(younger))
            if not younger:
                return first

    def is_right(self) -> bool:
        """Whether the snapshot is what a look at everything gives."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            prepare(connection)
            fresh, _ = scan(str(self.root), SCOPE, connection)
            same = self.snapshot.paths == fresh.paths
            return same and all(self.snapshot.digest(p) == fresh.digest(p) for p in fresh.paths)


@pytest.fixture
def tree(tmp_path):
    root = tmp_path.resolve() / "tree"
    for path in ("a.py", "pkg/b.py", "pkg/deep/c.py", "node_modules/x/y.js", ".hidden/z.py"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("first\n")
    return root


@pytest.fixture
def watched(tree):
    watched = Watched(tree)
    yield watched
    watched.watcher.close()
    watched.connection.close()


@linux
def test_only_directories_that_can_hold_sources_are_watched(watched):
    assert watched.watcher._inotify.watched() == {"", "pkg", "pkg/deep"}


@linux
def test_a_save_makes_its_file_dirty_and_nothing_else(watched):
    (watched.root / "pkg/b.py").write_text("second\n")
    dirt = watched.settle()
    assert (dirt.content, dirt.entries, dirt.everything) == ({"pkg/b.py"}, frozenset(), False)
    assert watched.is_right()


@linux
def test_ignored_directories_are_never_heard_of(watched):
    (watched.root / "node_modules/x/y.js").write_text("second\n")
    (watched.root / ".hidden/new.py").write_text("second\n")
    assert not watched.settle()


def test_a_new_tree_of_directories_is_followed_to_the_end(watched):
    for number in range(20):
        path = watched.root / f"new/{number}/deep/er"
        path.mkdir(parents=True)
        (path / "x.py").write_text("x\n")
    watched.settle()
    assert watched.is_right()
    (watched.root / "new/7/deep/er/x.py").write_text("y\n")
    watched.settle()
    assert watched.is_right()


def test_a_directory_that_moves_is_heard_of_under_its_new_name(watched, tmp_path):
    (watched.root / "pkg").rename(watched.root / "moved")
    watched.settle()
    assert watched.is_right()
    (watched.root / "moved/deep/c.py").write_text("again\n")
    watched.settle()
    assert watched.is_right()
    (watched.root / "moved").rename(tmp_path / "outside")
    watched.settle()
    (tmp_path / "outside/b.py").write_text("ghost\n")
    (tmp_path / "outside").rename(watched.root / "back")
    watched.settle()
    assert watched.is_right()


def test_a_directory_that_takes_the_place_of_another_is_watched_itself(watched):
    (watched.root / "other").mkdir()
    (watched.root / "other/o.py").write_text("o\n")
    watched.settle()
    (watched.root / "pkg").rename(watched.root / "old")
    (watched.root / "other").rename(watched.root / "pkg")
    watched.settle()
    (watched.root / "pkg/o.py").write_text("changed\n")
    (watched.root / "old/b.py").write_text("changed\n")
    watched.settle()
    assert watched.is_right()


def test_a_directory_deleted_and_made_again_in_one_breath_is_watched_again(watched):
    shutil.rmtree(watched.root / "pkg")
    (watched.root / "pkg").mkdir()
    (watched.root / "pkg/new.py").write_text("new\n")
    watched.settle()
    assert watched.is_right()
    (watched.root / "pkg/new.py").write_text("newer\n")
    watched.settle()
    assert watched.is_right()


def test_the_same_size_and_the_same_mtime_hide_no_edit(watched):
    path = watched.root / "a.py"
    before = path.stat()
    path.write_text("FIRST\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    watched.settle()
    assert watched.is_right()


@linux
def test_more_events_than_the_queue_holds_mean_that_everything_may_be_dirty(watched, monkeypatch):
    collector = Collector()
    ear = listening.Inotify(str(watched.root), collector)
    try:
        ear._hear(listening._HEAD.pack(-1, listening._OVERFLOW, 0, 0))
    finally:
        ear.close()
    dirt = collector.take()
    assert dirt.everything
    assert dirt.why == "more changes at once than the system could tell"


@linux
def test_thousands_of_paths_are_given_as_everything(watched):
    collector = Collector()
    collector.add(content=[f"f{number}" for number in range(6_000)])
    dirt = collector.take()
    assert (dirt.everything, dirt.content, dirt.why) == (True, frozenset(), "")


@linux
@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "the system's limit of watches is reached (fs.inotify.max_user_watches)"),
        (errno.EMFILE, "the system's limit of watchers is reached (fs.inotify.max_user_instances)"),
    ],
)
def test_without_enough_watches_it_scans_and_says_so(tree, monkeypatch, number, told):
    real = listening.Inotify.watch

    def watch(self, path):
        if path == "pkg/deep":
            raise OSError(number, os.strerror(number))
        real(self, path)

    monkeypatch.setattr(listening.Inotify, "watch", watch)
    watched = Watched(tree)
    assert watched.said == [f"watching by scanning: {told}"]
    assert watched.watcher.mode == "scanning"
    (tree / "pkg/deep/c.py").write_text("second\n")
    assert watched.settle().everything
    assert watched.is_right()


def test_polling_asks_the_system_for_nothing(tree):
    watched = Watched(tree, poll=True)
    assert watched.said == ["watching by scanning: as asked for"]
    (tree / "a.py").write_text("second\n")
    assert watched.settle().everything
    assert watched.is_right()


@linux
def test_a_cookie_that_does_not_come_makes_everything_dirty_and_thrice_ends_events(
    watched, monkeypatch
):
    monkeypatch.setattr("ctxbuild.serve.watch.SYNC_SECONDS", 0.01)
    monkeypatch.setattr(watched.watcher, "_lay", lambda cookie: True)
    for _ in range(3):
        watched.watcher.sync()
        assert watched.watcher.take().everything
    assert watched.said == ["watching by scanning: file events do not come"]


def test_a_deleted_cache_is_made_again_and_cookies_come(watched):
    shutil.rmtree(watched.root / ".ctxbuild")
    (watched.root / "a.py").write_text("second\n")
    watched.settle()
    assert watched.is_right()
    assert watched.watcher.mode == "events"
    assert not watched.settle()


@linux
def test_the_end_of_the_thread_that_hears_is_noticed(watched):
    os.write(watched.watcher._inotify._ender, b"!")
    watched.watcher._inotify._thread.join()
    assert not watched.watcher.is_alive()
    watched.watcher.restart()
    assert watched.watcher.is_alive()
    (watched.root / "a.py").write_text("second\n")
    watched.settle()
    assert watched.is_right()


@linux
def test_what_decides_from_outside_the_tree_is_watched(watched, tmp_path):
    rules = tmp_path / "settings" / "git" / "ignore"
    watched.watcher._watch_outside(watched.watcher._inotify, [str(rules)])
    for step in (rules.parent.parent, rules.parent):
        step.mkdir()
        time.sleep(0.02)
        assert watched.watcher.take().outside
        watched.watcher._watch_outside(watched.watcher._inotify, [str(rules)])
    (rules.parent / "other").write_text("")
    watched.watcher.sync()
    assert not watched.watcher.take().outside
    rules.write_text("*.log\n")
    watched.watcher.sync()
    assert watched.watcher.take().outside


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "remove", "mkdir", "move", "rmtree", "link"]),
        st.sampled_from(
            ["a.py", "p/a.py", "p/q/a.py", "r/a.py", "node_modules/a.py", "p/.gitignore"]
        ),
        st.sampled_from(["p", "q", "p/q", "r", "p/r", "node_modules"]),
        st.sampled_from(["", "one\n", "two\n", "a.py\n", "q/\n"]),
    ),
    max_size=8,
)


@given(STEPS)
def test_after_any_steps_the_snapshot_is_that_of_a_look_at_everything(tmp_path_factory, steps):
    root = tmp_path_factory.mktemp("any").resolve()
    (root / "p/q").mkdir(parents=True)
    watched = Watched(root)
    try:
        for number, step in enumerate(steps):
            apply(root, *step)
            if number % 2:
                watched.settle()
        watched.settle()
        assert watched.is_right()
    finally:
        watched.watcher.close()


def apply(root: Path, what: str, file: str, directory: str, text: str) -> None:
    """One step; what is impossible is left out."""
    path, place = root / file, root / directory
    try:
        if what == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif what == "remove":
            path.unlink()
        elif what == "mkdir":
            place.mkdir(parents=True)
        elif what == "move":
            path.parent.rename(place)
        elif what == "rmtree":
            shutil.rmtree(place)
        elif what == "link":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to("../a.py")
    except OSError:
        return


# --- file systems that do not tell ---------------------------------------------------------

TABLE = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /net rw - nfs4 server:/x rw
31 30 0:41 / /net/local rw - tmpfs tmpfs rw
32 22 0:42 / /with\\040space rw - fuse.sshfs me@there rw
33 22 0:43 / /mnt/c rw - 9p C:\\134 rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/project", ""),
        ("/net", "nfs4"),
        ("/net/project", "nfs4"),
        ("/net/local/project", ""),
        ("/network", ""),
        ("/with space/x", "fuse.sshfs"),
        ("/mnt/c/x", "9p"),
    ],
)
def test_a_file_system_that_does_not_tell_of_changes_is_known_by_its_mount(tmp_path, path, kind):
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    assert silent_file_system(path, str(table)) == kind


def test_without_a_table_of_mounts_every_file_system_is_trusted(tmp_path):
    assert silent_file_system("/net", str(tmp_path / "none")) == ""


# --- a session over a watched tree ----------------------------------------------------------


@linux
def test_a_file_that_changes_in_the_middle_of_a_build_leaves_nothing_stale(shop, tmp_path):
    """Every save comes while its project is being built, and no other event follows the last."""
    cache = shop.root / ".ctxbuild"
    cachedir.prepare(cache, lambda line: None)
    watcher = Watcher(str(shop.root.resolve()), cache, cache / "packs")
    resident = Resident(ctxfile.load(shop.root / "ctxfile.toml"), watcher, workers=1)
    done = threading.Event()

    def edit():
        for number in range(300):
            name = ("shop/app.py", "shop/store.py", "shop/prices.py")[number % 3]
            with (shop.root / name).open("a") as file:
                file.write(f"\n\ndef more{number}() -> int:\n    return {number}\n")
        done.set()

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        while not done.is_set():
            resident.build()
        editor.join()
        resident.build()
        assert shop.outputs() == shop.clean_outputs(tmp_path / "clean")
    finally:
        resident.close()
        watcher.close()
