"""The value store: what it keeps, what it refuses, and how it survives."""

import os
import pickle
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbuild.stores import frame
from ctxbuild.stores.disk import ValueStore

ROOT = Path(__file__).parents[2]
LARGE = os.urandom(frame.INLINE + 1)


class Warnings(list[str]):
    __call__ = list.append


@pytest.fixture
def warnings():
    return Warnings()


@pytest.fixture
def store(tmp_path, warnings):
    with closing(ValueStore(tmp_path / "values", warnings)) as store:
        yield store


def again(store: ValueStore, warnings=None) -> ValueStore:
    store.close()
    return ValueStore(store.directory, [].append if warnings is None else warnings)


def edit(store: ValueStore, statement: str, values=()) -> None:
    store.close()
    with closing(sqlite3.connect(store.directory / "cache.db")) as database, database:
        database.execute(statement, values)


def test_what_was_put_is_found_by_the_next_run(store):
    items = {
        b"empty": b"",
        b"small": b"x",
        b"zeros": bytes(frame.INLINE * 3),
        b"large": LARGE,
        b"": b"even under the empty key",
    }
    store.put_many(items.items())
    with closing(again(store)) as later:
        assert later.get_many([*items, b"missing"]) == items
        assert later.get(b"missing") is None
        assert list(later.keys()) == list(items)
        assert len(later) == len(items)
        assert later.persistent


def test_a_second_value_replaces_the_first(store):
    store.put_many([(b"k", b"one"), (b"k", b"two")])
    store.put_many([(b"k", b"three")])
    assert store.get(b"k") == b"three"
    assert len(store) == 1


def test_more_keys_than_one_query_or_transaction_holds(store):
    items = {index.to_bytes(4, "big"): str(index).encode() for index in range(2_300)}
    store.put_many(items.items())
    assert store.get_many(items) == items


def test_deleted_values_are_gone(store):
    store.put_many([(b"a", b"1"), (b"b", b"2")])
    assert store.delete_many([b"a", b"c"]) == 1
    assert list(store.keys()) == [b"b"]


def test_nothing_is_imported_or_made_before_the_first_use(tmp_path):
    code = (
        "import sys, pathlib\n"
        "from ctxbuild.stores.disk import ValueStore\n"
        "ValueStore(pathlib.Path(sys.argv[1]), print)\n"
        "heavy = {'diskcache', 'pickle', 'xxhash', 'hashlib', 'tempfile'} & set(sys.modules)\n"
        "print(sorted(heavy), pathlib.Path(sys.argv[1]).exists())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "values"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[] False\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_nobody_else_may_look_into_it(store):
    store.put_many([(b"k", LARGE)])
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    (blob,) = (path for path in (store.directory / "blobs").rglob("*") if path.is_file())
    assert stat.S_IMODE(blob.stat().st_mode) == 0o600


# --- what it refuses --------------------------------------------------------------


class Trap:
    """Unpickling it creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("protocol", [0, pickle.HIGHEST_PROTOCOL])
def test_a_planted_pickle_is_a_miss_and_never_runs(store, tmp_path, protocol):
    sprung = tmp_path / "sprung"
    trap = pickle.dumps(Trap(sprung), protocol)
    store.put_many([(b"good", b"value")])
    insert = "INSERT INTO Cache (key, raw, mode, filename, value) VALUES (?, ?, ?, ?, ?)"
    (store.directory / "planted.val").write_bytes(trap)
    edit(store, insert, (b"value", 1, 4, None, trap))
    edit(store, insert, (b"file", 1, 4, "planted.val", None))
    edit(store, insert, (trap, 0, 1, None, b"x"))
    with closing(again(store)) as later:
        assert later.get(b"value") is None
        assert later.get(b"file") is None
        assert later.get(trap) is None
        assert later.refused == 2
        assert list(later.keys()) == [b"good"]
        assert [line.split(":")[0] for line in later.verify().problems] == [
            "row 2",
            "row 3",
            "row 4",
        ]
        later.put_many([(b"value", b"mine now"), (b"file", b"mine too")])
        assert later.get_many([b"value", b"file"]) == {b"value": b"mine now", b"file": b"mine too"}
        assert later.delete_many([b"value"]) == 1
        later.sweep(grace=0)
    assert not sprung.exists()
    pickle.loads(trap)
    assert sprung.exists(), "the trap would have worked"


def test_diskcache_itself_meets_no_pickle_through_our_serializer(store, tmp_path):
    sprung = tmp_path / "sprung"
    store.put_many([(b"good", b"value")])
    insert = "INSERT INTO Cache (key, raw, mode, value) VALUES (?, ?, ?, ?)"
    edit(store, insert, (b"bad", 1, 4, pickle.dumps(Trap(sprung))))
    edit(store, insert, (pickle.dumps(Trap(sprung)), 0, 1, b"x"))
    cache = store._open()
    assert cache.get(b"bad") is None
    with pytest.raises(Exception, match="not ours"):
        list(cache)
    with pytest.raises(TypeError, match="a key must be bytes or str, not tuple"):
        cache.set((1, 2), b"x")
    with pytest.raises(TypeError, match="a value must be bytes, not list"):
        cache.set(b"k", [1])
    assert not sprung.exists()


@pytest.mark.parametrize(
    "garble",
    [
        "UPDATE Cache SET value = substr(value, 1, length(value) - 1)",
        "UPDATE Cache SET value = CAST(value || x'00' AS BLOB)",
        "UPDATE Cache SET value = x''",
        "UPDATE Cache SET value = NULL",
        "UPDATE Cache SET value = 'text'",
        "UPDATE Cache SET value = 42",
        "UPDATE Cache SET key = x'6f74686572'",
        "UPDATE Cache SET value = CAST(x'90' || substr(value, 2) AS BLOB)",
    ],
)
def test_a_garbled_row_is_a_miss_and_can_be_repaired(store, garble):
    store.put_many([(b"k", b"value")])
    edit(store, garble)
    with closing(again(store)) as later:
        assert later.get_many([b"k", b"other"]) == {}
        found = later.verify(repair=True)
        assert (found.rows, len(found.problems), found.removed) == (1, 1, 1)
        assert later.verify() == type(found)(0, (), 0)


@pytest.mark.parametrize("damage", [b"", b"garbage"])
def test_a_damaged_large_value_is_a_miss_and_can_be_stored_again(store, damage):
    store.put_many([(b"k", LARGE)])
    (blob,) = (path for path in (store.directory / "blobs").rglob("*") if path.is_file())
    blob.write_bytes(damage)
    assert store.get(b"k") is None
    store.put_many([(b"k", LARGE)])
    assert store.get(b"k") == LARGE


def test_a_row_cannot_name_a_file_outside(store, tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    body = b"../" * 10 + b"xx"
    edit_row = frame.seal(b"k", frame.filed(frame.pack(b"")[0]), body)
    store.put_many([(b"k", b"value")])
    edit(store, "UPDATE Cache SET value = ?", (edit_row,))
    assert store.get(b"k") is None


# --- a database that is none ----------------------------------------------------------


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def _garble_header(path: Path) -> None:
    path.write_bytes(b"\xff" * 100 + path.read_bytes()[100:])


def _garble_pages(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xaa" * (len(data) - 4096))


def _write_text(path: Path) -> None:
    path.write_text("this is no database\n" * 400)


def _other_schema(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE Cache (name TEXT, value BLOB)")


def _planted_setting(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO Settings VALUES ('_transact', 'gone')")


def _missing_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("ALTER TABLE Cache RENAME COLUMN value TO worth")


@pytest.mark.parametrize(
    "damage",
    [
        _truncate,
        _garble_header,
        _garble_pages,
        _write_text,
        _other_schema,
        _planted_setting,
        _missing_table,
    ],
)
@pytest.mark.parametrize("writes_first", [True, False])
def test_a_malformed_database_is_rebuilt_with_one_warning(store, warnings, damage, writes_first):
    store.put_many((bytes([index]) * 16, b"v" * 3_000) for index in range(50))
    store.close()
    damage(store.directory / "cache.db")
    with closing(again(store, warnings)) as later:
        if not writes_first:
            assert later.get_many([bytes([index]) * 16 for index in range(50)]) == {}
        later.put_many([(b"new", b"value")])
        assert later.get(b"new") == b"value"
        assert later.persistent
        assert len(warnings) == 1
        assert warnings[0].startswith(f"{store.directory / 'cache.db'}: damaged (")
        assert warnings[0].endswith("); starting a new cache")
    with closing(again(store, warnings)) as last:
        assert last.get(b"new") == b"value"
        assert len(warnings) == 1


def test_an_empty_database_file_is_simply_a_new_cache(store, warnings):
    store.directory.mkdir()
    (store.directory / "cache.db").touch()
    store.put_many([(b"k", b"v")])
    assert store.get(b"k") == b"v"
    assert warnings == []


# --- a disk that takes no more --------------------------------------------------------


def test_a_full_disk_keeps_the_rest_in_memory_with_one_warning(store, warnings):
    store.put_many([(b"early", b"on disk")])
    (pages,) = store._open()._sql("PRAGMA page_count").fetchone()
    store._open()._sql(f"PRAGMA max_page_count = {pages + 4}")
    items = {bytes([index]): bytes([index]) * 30_000 for index in range(40)}
    store.put_many(items.items())
    store.put_many([(b"late", b"in memory")])
    everything = {**items, b"late": b"in memory", b"early": b"on disk"}
    assert store.get_many(everything) == everything
    assert sorted(store.keys()) == sorted(everything)
    assert not store.persistent
    assert warnings == [
        (
            f"{store.directory}: the cache cannot be used (database or disk is full); "
            "this run keeps its results in memory"
        )
    ]
    assert store.delete_many([b"late", b"early"]) == 2
    assert store.get_many([b"late", b"early"]) == {}


def test_a_disk_full_while_a_large_value_is_written(store, warnings, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ctxbuild.stores.blobs.os.replace", full)
    store.put_many([(b"k", LARGE), (b"small", b"x")])
    assert store.get_many([b"k", b"small"]) == {b"k": LARGE, b"small": b"x"}
    assert [path for path in store.directory.rglob("*") if path.name.startswith("tmp-")] == []
    assert warnings == [
        (
            f"{store.directory}: the cache cannot be used (no space left on device); "
            "this run keeps its results in memory"
        )
    ]


def test_a_directory_that_cannot_be_made_leaves_a_store_in_memory(tmp_path, warnings):
    (tmp_path / "file").write_text("in the way")
    store = ValueStore(tmp_path / "file" / "values", warnings)
    assert store.get(b"k") is None
    store.put_many([(b"k", b"v")])
    assert store.get(b"k") == b"v"
    assert store.volume() == 0
    assert store.verify().problems == ()
    assert store.sweep() == (0, 0)
    assert len(warnings) == 1


def test_a_read_only_database_leaves_a_store_in_memory(store, warnings, monkeypatch):
    store.put_many([(b"k", b"v")])
    store._open()._sql("PRAGMA query_only = 1")
    store.put_many([(b"new", b"value")])
    assert store.get_many([b"k", b"new"]) == {b"k": b"v", b"new": b"value"}
    assert warnings == [
        (
            f"{store.directory}: the cache cannot be used (attempt to write a readonly database); "
            "this run keeps its results in memory"
        )
    ]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere"
)
def test_a_directory_without_permission_leaves_a_store_in_memory(store, warnings):
    store.put_many([(b"k", b"v")])
    store.close()
    store.directory.chmod(0o500)
    try:
        store.put_many([(b"new", b"value")])
        assert store.get(b"new") == b"value"
    finally:
        store.directory.chmod(0o700)
    assert len(warnings) == 1


def test_a_database_that_stays_locked_leaves_a_store_in_memory(tmp_path, warnings):
    store = ValueStore(tmp_path, warnings, timeout=0.05)
    store.put_many([(b"k", b"v")])
    with closing(sqlite3.connect(tmp_path / "cache.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        store.put_many([(b"new", b"value")])
        assert store.get_many([b"k", b"new"]) == {b"k": b"v", b"new": b"value"}
    assert warnings == [
        (
            f"{tmp_path}: the cache cannot be used (database is locked); "
            "this run keeps its results in memory"
        )
    ]
    store.close()


# --- many processes, sudden ends --------------------------------------------------------

WRITER = """
import os, sys
from pathlib import Path
from ctxbuild.stores.disk import ValueStore

name = sys.argv[2].encode()
store = ValueStore(Path(sys.argv[1]), lambda line: print(line, flush=True))
for round in range(int(sys.argv[3])):
    keys = [b"%s-%d-%d" % (name, round, index) for index in range(50)]
    store.put_many((key, key * 9 if index else key * 5000) for index, key in enumerate(keys))
    print(round, flush=True)
store.close()
"""


def writer(directory: Path, name: str, rounds: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, directory, name, str(rounds)]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_four_processes_write_at_once(tmp_path, warnings):
    writers = [writer(tmp_path / "values", name, 8) for name in "abcd"]
    for process in writers:
        out, _ = process.communicate(timeout=60)
        assert out.split() == [str(index) for index in range(8)]
    with closing(ValueStore(tmp_path / "values", warnings)) as store:
        assert len(store) == 4 * 8 * 50
        assert store.verify() == type(store.verify())(1600, (), 0)
        assert store.get(b"c-7-0") == b"c-7-0" * 5000
    assert warnings == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize(
    "rounds", [6, pytest.param(50, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_a_killed_writer_loses_work_but_harms_nothing(tmp_path, warnings, rounds):
    directory = tmp_path / "values"
    for number in range(rounds):
        process = writer(directory, str(number), 10_000)
        assert process.stdout.readline() == "0\n"
        time.sleep(0.004 * (number % 7))
        process.send_signal(signal.SIGKILL)
        finished = len(process.communicate()[0].split())
        with closing(ValueStore(directory, warnings)) as store:
            done = [b"%d-%d-%d" % (number, step, 7) for step in range(finished + 1)]
            assert store.get_many(done) == {key: key * 9 for key in done}
            assert store.verify().problems == ()
    assert warnings == []


def test_sweeping_keeps_what_rows_name(store):
    other = os.urandom(frame.INLINE * 2)
    store.put_many([(b"kept", LARGE), (b"dropped", other)])
    store.delete_many([b"dropped"])
    (store.directory / "blobs" / "ab").mkdir(exist_ok=True)
    (store.directory / "blobs" / "ab" / "tmp-1-dead").write_bytes(b"left by a crash")
    assert store.sweep() == (0, 0), "all of it is young"
    assert store.sweep(grace=-1) == (2, len(other) + 15)
    assert store.get(b"kept") == LARGE


def test_compacting_gives_space_back(store):
    items = [(bytes([index]), os.urandom(20_000)) for index in range(100)]
    store.put_many(items)
    store.close()
    before = store.volume()
    store.delete_many(key for key, _ in items[1:])
    store.compact()
    store.close()
    assert store.volume() < before / 10
    assert store.get(items[0][0]) == items[0][1]


@given(st.binary(max_size=40), st.binary(max_size=100), st.integers(0, 2**20))
@settings(max_examples=200)
def test_no_single_flipped_bit_goes_unseen(key, value, position):
    flags, body = frame.pack(value)
    row = bytearray(frame.seal(key, flags, body))
    assert frame.open_row(key, bytes(row)) == (flags, value)
    position %= len(row) * 8
    row[position // 8] ^= 1 << position % 8
    assert frame.open_row(key, bytes(row)) is None


def test_opening_a_store_imports_no_django_even_where_there_is_one(tmp_path):
    (tmp_path / "django").mkdir()
    (tmp_path / "django" / "__init__.py").write_text("raise SystemExit('imported')\n")
    code = (
        "import sys; from pathlib import Path; from ctxbuild.stores.disk import ValueStore\n"
        "store = ValueStore(Path('values'), print); store.put_many([(b'k', b'v')])\n"
        "print(store.get(b'k'), 'django' in sys.modules, 'diskcache.djangocache' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "b'v' False False\n"
