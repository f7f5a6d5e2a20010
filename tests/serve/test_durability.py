"""Whatever happens to a build or its cache, the next build equals a clean one."""

from __future__ import annotations

import errno
import json
import os
import pickle
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxbuild.cli.main import main
from ctxbuild.pack.pipeline import Pipeline
from ctxbuild.source import ctxfile as ctxfiles
from ctxbuild.source import walk
from ctxbuild.stores import disk, rows, state
from ctxbuild.stores.atomic import is_temporary
from tests.serve.conftest import ProjectOnDisk

PACKAGE_ROOT = Path(__file__).parents[2]
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals and limits of POSIX")


def start(project, *arguments, **options):
    """The command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "ctxbuild", "-C", str(project.root), "build", "-q", *arguments],
        env={**os.environ, "PYTHONPATH": str(PACKAGE_ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process):
    """Exit code and stderr."""
    _, err = process.communicate(timeout=120)
    return process.returncode, err


def grow(project, files=40):
    """Enough files that a build takes a while and writes more than once."""
    for number in range(files):
        body = "".join(
            f"def f{number}_{n}(a: int) -> int:\n    return a + {n}\n\n" for n in range(30)
        )
        project.put(f"shop/more/m{number}.py", body)
        project.put(f"shop/more/t{number}.txt", body)
    names = "".join(f"from shop.more.m{number} import f{number}_1\n" for number in range(files))
    text = (project.root / "shop/app.py").read_text()
    project.put(
        "shop/app.py",
        text.replace("from shop import prices\n", "from shop import prices\n" + names),
    )
    project.put(
        "ctxfile.toml",
        (project.root / "ctxfile.toml").read_text()
        + '[targets.more]\nfiles = ["shop/more/*"]\nbudget = 30000\n'
        + '[targets.odd]\nentry = ["shop/more/m1.py"]\n',
    )


def edit(project, number):
    """Some change that reaches a pack."""
    project.put("shop/prices.py", f"def total(prices: list[int], n: int = {number}) -> int: ...\n")
    project.put(f"shop/more/m{number % 40}.py", f"def f{number % 40}_1(a: int) -> str: ...\n")


def assert_right(project, tmp_path):
    """The next build succeeds, and equals a clean one."""
    result = project.build()
    assert not result.failed, [target.error for target in result.targets]
    assert whole(project.outputs()) == project.clean_outputs(tmp_path / "clean")
    assert project.ran() == []
    return result


def whole(outputs):
    """Without what a killed writer left for a minute."""
    return {name: data for name, data in outputs.items() if not is_temporary(name)}


# --- killed and interrupted ------------------------------------------------------------------


def kill_at_random_points(project, tmp_path, times, dice):
    grow(project)
    began = time.monotonic()
    assert finish(start(project)) == (0, "")
    duration = time.monotonic() - began
    shutil.rmtree(project.root / ".ctxbuild")
    unfinished = 0
    for number in range(times):
        if number % 3 == 0:
            shutil.rmtree(project.root / ".ctxbuild", ignore_errors=True)
        edit(project, number)
        process = start(project)
        time.sleep(dice.uniform(0, duration))
        unfinished += process.poll() is None
        process.kill()
        finish(process)
        assert_right(project, tmp_path)
    assert unfinished


@POSIX
def test_a_killed_build_costs_work_and_never_correctness(shop, tmp_path):
    kill_at_random_points(shop, tmp_path, 4, random.Random())


@POSIX
@pytest.mark.slow
def test_fifty_killed_builds_cost_work_and_never_correctness(shop, tmp_path):
    kill_at_random_points(shop, tmp_path, 50, random.Random())


@POSIX
def test_ctrl_c_exits_with_130_and_keeps_what_was_finished(shop, tmp_path):
    grow(shop)
    process = start(shop)
    first = shop.root / ".ctxbuild" / "packs" / "app.plan.json"
    end = time.monotonic() + 60
    while not first.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    code, err = finish(process)
    assert (code, err) in [(130, "ctxbuild: interrupted: what was finished is kept\n"), (0, "")]
    assert not [node for node in shop.build("app").ran if node.startswith("facts(")]
    assert_right(shop, tmp_path)


INTERRUPTED = [
    (walk.Walk, "run", 1),
    (disk.ValueStore, "put_many", 1),
    (disk.ValueStore, "get_many", 1),
    (disk.ValueStore, "get_many", 9),
    (Pipeline, "_plan", 1),
    (Pipeline, "_pack", 1),
    (rows, "run", 5),
]


# An interrupt between two statements may leave a connection to the end of the process.
LEFT_OPEN = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@LEFT_OPEN
@pytest.mark.parametrize(("owner", "name", "at"), INTERRUPTED)
@pytest.mark.parametrize("first", [True, False])
def test_an_interrupt_anywhere_leaves_a_cache_that_is_right(
    shop, tmp_path, monkeypatch, owner, name, at, first
):
    if not first:
        shop.build()
        shop.replace("shop/store.py", "value: int", "value: float")
    real, left = getattr(owner, name), [at]

    def interrupted(*arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, interrupted)
    try:
        code = main(["-C", str(shop.root), "build", "-q"])
    finally:
        monkeypatch.setattr(owner, name, real)
    assert code == (130 if left[0] <= 0 else 0)
    assert_right(shop, tmp_path)


def interrupt_every_statement(project, tmp_path, monkeypatch, step):
    """Ctrl-C at every `step`th statement of the state database, in one build after another."""
    real = state._connect
    count = [0, 0]  # statements so far, the one to stop at

    class Interrupting(sqlite3.Connection):
        def execute(self, *arguments):
            count[0] += 1
            if count[0] == count[1]:
                raise KeyboardInterrupt
            return super().execute(*arguments)

    def connect(path):
        real(path).close()
        connection = sqlite3.connect(path, isolation_level=None, factory=Interrupting)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    number = 0
    while True:
        number += 1
        project.put("shop/prices.py", f"def total(prices: list[int], n: int = {number}): ...\n")
        count[:] = [0, number * step]
        monkeypatch.setattr(state, "_connect", connect)
        code = main(["-C", str(project.root), "build", "-q"])
        monkeypatch.setattr(state, "_connect", real)
        assert code in (0, 130)
        assert not project.build().failed
        assert project.outputs() == project.clean_outputs(tmp_path / "clean")
        if code == 0:
            return number


@LEFT_OPEN
def test_an_interrupt_at_any_statement_leaves_a_state_that_is_right(shop, tmp_path, monkeypatch):
    shop.build()
    assert interrupt_every_statement(shop, tmp_path, monkeypatch, 13) > 3


@LEFT_OPEN
@pytest.mark.slow
def test_an_interrupt_at_every_statement_leaves_a_state_that_is_right(shop, tmp_path, monkeypatch):
    shop.build()
    assert interrupt_every_statement(shop, tmp_path, monkeypatch, 1) > 50


# --- a cache that is no good ------------------------------------------------------------------

CACHE_FILES = ["state.db", "values/cache.db"]


@pytest.mark.parametrize("name", CACHE_FILES)
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data, dice: b"", id="emptied"),
        pytest.param(lambda data, dice: data[: len(data) // 2], id="truncated"),
        pytest.param(lambda data, dice: data[:100], id="cut-to-its-header"),
        pytest.param(lambda data, dice: b"x" * 100 + data[100:], id="header"),
        pytest.param(lambda data, dice: dice.randbytes(len(data)), id="noise"),
        pytest.param(lambda data, dice: data[:4096] + dice.randbytes(len(data) - 4096), id="pages"),
        pytest.param(lambda data, dice: bytes(len(data)), id="zeros"),
        pytest.param(lambda data, dice: b"\x1f\x8b" + data, id="shifted"),
    ],
)
def test_a_damaged_cache_is_started_anew(built, tmp_path, name, damage):
    path = built.root / ".ctxbuild" / name
    path.write_bytes(damage(path.read_bytes(), random.Random(1)))
    built.replace("shop/store.py", "value: int", "value: float")
    assert_right(built, tmp_path)


@pytest.mark.parametrize("name", CACHE_FILES)
def test_damage_in_the_middle_of_a_cache_never_crashes_a_build(built, tmp_path, name):
    """SQLite finds damaged structure; damaged values our checksums find as well."""
    path = built.root / ".ctxbuild" / name
    whole_file = path.read_bytes()
    dice = random.Random()
    for number in range(12):
        data = bytearray(whole_file)
        at = dice.randrange(100, len(data) - 2000)
        data[at : at + 2000] = dice.randbytes(2000)
        path.write_bytes(data)
        built.put("shop/prices.py", f"def total(prices: list[int], n: int = {number}): ...\n")
        assert not built.build().failed
        if name != "state.db":
            assert built.outputs() == built.clean_outputs(tmp_path / "clean")


@pytest.mark.parametrize("name", CACHE_FILES)
def test_a_directory_in_place_of_a_database_does_not_stop_a_build(built, tmp_path, name):
    path = built.root / ".ctxbuild" / name
    path.unlink()
    (path / "sub").mkdir(parents=True)
    built.replace("shop/store.py", "value: int", "value: float")
    result = built.build()
    assert not result.failed
    assert built.outputs() == built.clean_outputs(tmp_path / "clean")


def test_a_damaged_state_is_said_once_and_no_bug(built, capsys):
    (built.root / ".ctxbuild" / "state.db").write_bytes(b"no database" * 1000)
    assert main(["-C", str(built.root), "build"]) == 0
    err = capsys.readouterr().err
    assert err.count("state.db: was damaged") == 1
    assert main(["-C", str(built.root), "build"]) == 0
    assert "damaged" not in capsys.readouterr().err


def test_a_state_of_another_version_is_started_anew(built, tmp_path):
    with sqlite3.connect(built.root / ".ctxbuild" / "state.db") as connection:
        connection.execute("UPDATE state SET value = '0-0-little' WHERE name = 'format'")
    connection.close()
    built.replace("shop/store.py", "value: int", "value: float")
    result = assert_right(built, tmp_path)
    assert any("made by another version" in line for line in result.warnings)


def test_a_cache_directory_of_another_version_is_started_anew(built, tmp_path):
    (built.root / ".ctxbuild" / "FORMAT").write_text("ctxbuild-cache 0\n")
    result = assert_right(built, tmp_path)
    assert any("another version" in line for line in result.warnings)


def test_what_a_killed_build_left_beside_the_packs_goes_after_a_minute(built):
    packs = built.root / ".ctxbuild" / "packs"
    for name, age in ((".ctxbuild-1-old.tmp", 120), (".ctxbuild-1-young.tmp", 5)):
        (packs / name).write_text("half")
        os.utime(packs / name, (time.time() - age,) * 2)
    built.replace("shop/store.py", "value: int", "value: float")
    built.build()
    assert not (packs / ".ctxbuild-1-old.tmp").exists()
    assert (packs / ".ctxbuild-1-young.tmp").exists()


def test_what_a_killed_first_build_leaves_is_no_foreign_file(shop, tmp_path):
    shop.put(".ctxbuild/.ctxbuild-1-0a1b2c3d4e5f.tmp", "half")
    assert_right(shop, tmp_path)


def test_a_cache_that_is_deleted_between_builds_is_made_again(built, tmp_path):
    shutil.rmtree(built.root / ".ctxbuild")
    assert_right(built, tmp_path)


def test_a_cache_that_is_deleted_during_a_build_stops_neither_it_nor_the_next(
    shop, monkeypatch, tmp_path
):
    grow(shop)
    real = Pipeline._plan

    def plan(self, ctx, name):
        shutil.rmtree(shop.root / ".ctxbuild", ignore_errors=True)
        return real(self, ctx, name)

    monkeypatch.setattr(Pipeline, "_plan", plan)
    assert not shop.build().failed
    monkeypatch.undo()
    assert_right(shop, tmp_path)


def test_values_that_are_lost_are_computed_again(built, tmp_path):
    shutil.rmtree(built.root / ".ctxbuild" / "values")
    built.replace("shop/app.py", "return store.size", "return store.size + 1")
    assert_right(built, tmp_path)


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_planted_pickle_is_a_miss_and_never_executed(built, tmp_path):
    proof = tmp_path / "executed"
    bomb = pickle.dumps(Bomb(str(proof)))
    with sqlite3.connect(built.root / ".ctxbuild" / "values" / "cache.db") as connection:
        count = connection.execute("UPDATE Cache SET mode = 4, value = ?", (bomb,)).rowcount
        connection.execute(
            "INSERT INTO Cache (key, raw, store_time, access_time, mode, value) "
            "VALUES (?, 0, 0, 0, 4, ?)",
            (bomb, bomb),
        )
    connection.close()
    assert count > 5
    built.replace("shop/app.py", "return store.size", "return store.size + 1")
    assert_right(built, tmp_path)
    assert main(["-C", str(built.root), "cache", "verify"]) in (0, 1)
    assert not proof.exists()


# --- a cache that cannot be written ------------------------------------------------------------


@pytest.fixture
def read_only(monkeypatch):
    """Makes every way to write below a directory fail, whoever runs the tests."""

    def install(directory):
        below = str(directory)
        refused = PermissionError(errno.EACCES, "Permission denied", below)
        real_open, real_access, real_connect = os.open, os.access, sqlite3.connect
        real_mkdir, real_replace = os.mkdir, os.replace

        def guard(real):
            def call(path, *arguments, **options):
                if str(path).startswith(below):
                    raise refused
                return real(path, *arguments, **options)

            return call

        def opened(path, flags, *arguments, **options):
            if str(path).startswith(below) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                raise refused
            return real_open(path, flags, *arguments, **options)

        def connect(path, *arguments, **options):
            if str(path).startswith(below):
                raise sqlite3.OperationalError("attempt to write a readonly database")
            return real_connect(path, *arguments, **options)

        monkeypatch.setattr(os, "open", opened)
        monkeypatch.setattr(os, "mkdir", guard(real_mkdir))
        monkeypatch.setattr(os, "replace", guard(real_replace))
        monkeypatch.setattr(sqlite3, "connect", connect)
        monkeypatch.setattr(
            os,
            "access",
            lambda path, mode: not str(path).startswith(below) and real_access(path, mode),
        )

    return install


@pytest.mark.parametrize("first", [True, False])
def test_a_read_only_cache_costs_a_warning_and_the_packs_are_written(
    shop, read_only, monkeypatch, tmp_path, first
):
    shop.replace("ctxfile.toml", "version = 1\n", 'version = 1\n[project]\nout = "packs"\n')
    if first:
        (shop.root / ".ctxbuild").mkdir()
    else:
        shop.build()
        shop.replace("shop/store.py", "value: int", "value: float")
    read_only(shop.root / ".ctxbuild")
    result = shop.build()
    assert not result.failed
    assert [line for line in result.warnings if "cannot be written: permission denied" in line]
    assert "class Store" in (shop.root / "packs" / "app.md").read_text()
    monkeypatch.undo()
    again = shop.build()
    assert not again.failed
    shutil.copytree(shop.root, tmp_path / "c", ignore=shutil.ignore_patterns(".ctxbuild", "packs"))
    clean = ProjectOnDisk(tmp_path / "c")
    clean.build()
    assert (shop.root / "packs/app.md").read_bytes() == (clean.root / "packs/app.md").read_bytes()


def test_outputs_that_cannot_be_written_are_an_error_that_says_so(shop, capsys):
    shop.replace("ctxfile.toml", "version = 1\n", 'version = 1\n[project]\nout = "packs"\n')
    shop.put("packs", "a file")
    assert main(["-C", str(shop.root), "build"]) == 2
    err = capsys.readouterr().err
    assert "packs" in err
    assert "a parent of it is a file: move that file away or choose another name" in err


# --- a full disk ------------------------------------------------------------------------------


def test_a_full_disk_while_writing_an_output_is_an_error_and_the_next_build_is_right(
    shop, monkeypatch, tmp_path
):
    real = os.replace
    full = OSError(errno.ENOSPC, "No space left on device")

    def replace(source, target):
        if str(target).endswith("app.pack.json"):
            raise full
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    (target,) = shop.build().targets
    assert target.status == "failed"
    assert "app.pack.json: cannot be written: no space left on the disk" in target.error
    monkeypatch.undo()
    assert_right(shop, tmp_path)


def test_a_full_disk_under_the_values_costs_the_cache_only(shop, monkeypatch, tmp_path):
    grow(shop)
    monkeypatch.setattr(disk, "SETTINGS", {**disk.SETTINGS, "sqlite_max_page_count": 12})
    result = shop.build()
    assert not result.failed
    assert [line for line in result.warnings if "full" in line]
    assert shop.outputs() == shop.clean_outputs(tmp_path / "clean")
    monkeypatch.undo()
    shutil.rmtree(shop.root / ".ctxbuild" / "values")
    assert_right(shop, tmp_path)


def test_a_full_disk_under_the_state_costs_the_cache_only(shop, monkeypatch, tmp_path):
    grow(shop)
    real = state._connect

    def connect(path):
        connection = real(path)
        connection.execute("PRAGMA max_page_count = 30")
        return connection

    monkeypatch.setattr(state, "_connect", connect)
    result = shop.build()
    assert not result.failed
    assert [line for line in result.warnings if "state.db: cannot be used" in line]
    monkeypatch.undo()
    assert shop.outputs() == shop.clean_outputs(tmp_path / "clean")
    assert_right(shop, tmp_path)


@POSIX
@pytest.mark.parametrize("limit", [0, 3_000, 40_000, 200_000])
def test_no_file_may_grow_beyond_a_limit_and_the_next_build_is_right(shop, tmp_path, limit):
    import resource

    grow(shop)

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    code, err = finish(start(shop, "-j1", preexec_fn=limited))
    assert code in (0, 2)
    assert "internal error" not in err
    assert code == 0 or "cannot be written" in err
    assert_right(shop, tmp_path)


# --- at once ----------------------------------------------------------------------------------


def test_four_builds_at_once_all_succeed_and_agree(shop, tmp_path):
    grow(shop)
    for _ in range(2):
        shutil.rmtree(shop.root / ".ctxbuild", ignore_errors=True)
        processes = [start(shop) for _ in range(4)]
        assert [finish(process) for process in processes] == [(0, "")] * 4
        assert_right(shop, tmp_path)


def test_two_roots_with_caches_of_their_own_do_not_meet(shop, tmp_path):
    other = ProjectOnDisk(tmp_path / "other")
    shutil.copytree(shop.root, other.root)
    other.replace("shop/store.py", "value: int", "value: float")
    processes = [start(shop), start(other)]
    assert [finish(process) for process in processes] == [(0, ""), (0, "")]
    assert "value: int" in shop.pack()
    assert "value: float" in other.pack()
    assert (shop.ran(), other.ran()) == ([], [])


def test_one_cache_may_serve_two_ctxfiles_of_one_root(shop):
    """Both declare a target of the same name, each its own way."""
    shop.put("other.toml", 'version = 1\n[targets.app]\nfiles = ["shop/disk.py"]\n')
    mine = [shop.root / "ctxfile.toml", shop.root / "other.toml"]
    texts = []
    for _ in range(2):
        for path in mine:
            result = subprocess_free_build(path)
            assert not result.failed
            texts.append(shop.pack())
    assert texts[0] == texts[2] != texts[1] == texts[3]


def subprocess_free_build(path):
    from ctxbuild.serve.session import Session

    return Session(ctxfiles.load(path), workers=1).build()


def test_another_process_that_keeps_the_state_locked_is_named(built, monkeypatch, capsys):
    built.replace("shop/store.py", "value: int", "value: float")
    real = state._connect

    def hasty(path):
        connection = real(path)
        connection.execute("PRAGMA busy_timeout = 10")
        return connection

    monkeypatch.setattr(state, "_connect", hasty)
    holder = sqlite3.connect(built.root / ".ctxbuild" / "state.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert main(["-C", str(built.root), "build"]) == 2
        assert "another process keeps it locked" in capsys.readouterr().err
    finally:
        holder.close()
    assert not built.build().failed


def test_the_report_as_json_is_whole_after_a_recovery(built, capsys):
    (built.root / ".ctxbuild" / "state.db").write_bytes(b"garbage" * 5000)
    assert main(["-C", str(built.root), "build", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [target["status"] for target in report["targets"]] == ["built"]
    assert report["ran"]


# --- outputs follow the artifact ----------------------------------------------------------------


def test_a_pack_that_was_only_looked_at_is_written_by_the_next_build(built, tmp_path):
    built.replace("shop/store.py", "value: int", "value: float")
    assert "value: float" in built.session().artifact("app")[0].text
    assert "value: float" not in built.pack()
    assert_right(built, tmp_path)


def test_outputs_of_which_only_some_could_be_written_are_written_by_the_next_build(
    built, monkeypatch, tmp_path
):
    old = (built.root / "shop/store.py").read_text()
    built.replace("shop/store.py", "value: int", "value: float")
    real = os.replace

    def replace(source, target):
        if str(target).endswith("app.pack.json"):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    assert built.build().failed
    monkeypatch.undo()
    built.put("shop/store.py", old)
    assert_right(built, tmp_path)


def test_a_format_that_is_given_up_and_deleted_costs_no_later_build(built):
    built.replace("ctxfile.toml", "budget", 'formats = ["md", "xml"]\nbudget')
    built.build()
    built.replace("ctxfile.toml", 'formats = ["md", "xml"]\n', "")
    built.build()
    (built.root / ".ctxbuild" / "packs" / "app.xml").unlink()
    for _ in range(2):
        result = built.build()
    assert (result.ran, result.targets[0].written) == ((), ())
    with sqlite3.connect(built.root / ".ctxbuild" / "state.db") as connection:
        known = connection.execute("SELECT path FROM outputs").fetchall()
    connection.close()
    assert [path for (path,) in known if path.endswith(".xml")] == []
