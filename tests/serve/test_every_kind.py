"""What holds for every kind of layer: clean equals incremental, whatever happened in between."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ctxbuild.serve.resident import Resident
from ctxbuild.serve.watch import Watcher
from ctxbuild.source import ctxfile
from ctxbuild.stores import cachedir
from tests.serve import kinds
from tests.serve.conftest import ProjectOnDisk

PACKAGE_ROOT = Path(__file__).parents[2]
SEEDS = st.integers(0, 2**32)
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="a watcher of events")


def declared(project, result):
    """The outputs of the targets that could be built; not formats that were once asked for."""
    names = {
        Path(path).name
        for target in result.targets
        if target.status != "failed"
        for path in target.outputs
    }
    return {name: data for name, data in project.outputs().items() if name in names}


def check_history(tmp_path_factory, seed, rounds):
    """Each round builds after some steps, compares with a clean build, and builds once more."""
    dice = random.Random(seed)
    project = kinds.start(tmp_path_factory.mktemp("kinds") / "root")
    history = kinds.History(project, dice)
    for _ in range(rounds):
        said = [history.step() for _ in range(dice.choice([1, 1, 1, 2, 3]))]
        result = project.build()
        assert declared(project, result) == kinds.clean_outputs(project), said
        again = project.build()
        assert again.ran == (), said
        assert {each.status for each in again.targets} <= {"fresh", "failed"}


def histories(examples):
    """Settings for so many histories: smaller ones than the one that failed tell no more."""
    return settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@histories(1)
@given(SEEDS)
def test_a_pack_of_any_kind_equals_a_clean_one_after_any_history(tmp_path_factory, seed):
    check_history(tmp_path_factory, seed, 2)


@pytest.mark.slow
@histories(40)
@given(SEEDS)
def test_a_pack_of_any_kind_equals_a_clean_one_after_long_histories(tmp_path_factory, seed):
    check_history(tmp_path_factory, seed, 14)


def check_resident(tmp_path_factory, seed, rounds):
    dice = random.Random(seed)
    project = kinds.start(tmp_path_factory.mktemp("resident") / "root")
    cache = project.root / ".ctxbuild"
    cachedir.prepare(cache, lambda line: None)
    watcher = Watcher(str(project.root.resolve()), cache, cache / "packs")
    resident = Resident(ctxfile.load(project.root / "ctxfile.toml"), watcher, workers=1)
    history = kinds.History(project, dice)
    try:
        for _ in range(rounds):
            said = [history.step() for _ in range(dice.choice([1, 2]))]
            assert resident.adopt(ctxfile.load(project.root / "ctxfile.toml"))
            result = resident.build()
            assert declared(project, result) == kinds.clean_outputs(project), said
            again = resident.build()
            assert again.ran == (), said
            assert {each.status for each in again.targets} <= {"fresh", "failed"}
    finally:
        resident.close()
        watcher.close()


@LINUX
@histories(1)
@given(SEEDS)
def test_a_session_in_memory_builds_every_kind_like_a_clean_one(tmp_path_factory, seed):
    check_resident(tmp_path_factory, seed, 2)


@LINUX
@pytest.mark.slow
@histories(20)
@given(SEEDS)
def test_a_session_in_memory_builds_every_kind_like_a_clean_one_for_long(tmp_path_factory, seed):
    check_resident(tmp_path_factory, seed, 12)


# --- one answer everywhere ---------------------------------------------------------------


def command(project, *arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "ctxbuild", "-C", str(project.root), "build", "-q", *arguments],
        env={**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def in_other_order(project, where):
    """A copy of a project whose directories list their files the other way round."""
    shutil.copytree(project.root / ".git", where / ".git")
    names = [p for p in project.root.rglob("*") if p.is_file() and ".git" not in p.parts]
    for path in sorted(names, reverse=True):
        target = where / path.relative_to(project.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    return ProjectOnDisk(where)


RUNS = [("1", "4", "b/other root"), ("2", "1", "c/r"), ("3", "4", "d/r"), ("4", "1", "e/r")]
"""Hash seed, workers, and where the project stands."""


@pytest.mark.parametrize("runs", [RUNS[:1], pytest.param(RUNS[1:], marks=pytest.mark.slow)])
def test_every_kind_has_the_same_bytes_for_any_hash_seed_root_and_number_of_workers(tmp_path, runs):
    first = kinds.start(tmp_path / "a" / "root")
    projects = [(first, "0", "1")]
    projects += [(in_other_order(first, tmp_path / at), seed, jobs) for seed, jobs, at in runs]
    started = [command(each, "-j", jobs, PYTHONHASHSEED=seed) for each, seed, jobs in projects]
    assert [each.communicate(timeout=60)[1] for each in started] == [""] * len(projects)
    found = [project.outputs() for project, _, _ in projects]
    assert len(found[0]) == 3 * len(kinds.KINDS)
    assert all(each == found[0] for each in found)


# --- killed, and two at once -------------------------------------------------------------


def index_of(project):
    """What the index of questions holds: of every file, and of every word."""
    state = sqlite3.connect(project.root / ".ctxbuild" / "state.db")
    files = {
        path: (kinds_, lengths, msgspec.msgpack.decode(zlib.decompress(fields)))
        for path, kinds_, lengths, fields in state.execute(
            "SELECT path, kinds, lengths, fields FROM index_files"
        )
    }
    words = state.execute("SELECT term, doc, cnt FROM index_terms ORDER BY term").fetchall()
    totals = dict(state.execute("SELECT name, value FROM index_totals"))
    state.close()
    return files, words, totals


def asking(tmp_path, files=12):
    """A project with enough files that a search in them takes a while to prepare."""
    project = ProjectOnDisk(tmp_path / "root")
    for number in range(files):
        body = "".join(
            f"def save_{number}_{n}(value):\n    '''Saves value {n} to disk.'''\n    return {n}\n\n"
            for n in range(8)
        )
        project.put(f"pkg/m{number}.py", body)
        project.put(f"docs/d{number}.md", f"# Disk {number}\n\nA value must be saved.\n")
    project.put(
        "ctxfile.toml",
        'version = 1\n[targets.a]\nquestion = "Where is a value saved?"\n'
        '[targets.b]\nquestion = "What is on the disk?"\n[targets.d]\ndocs = "docs/**"\n'
        'task = "save a value"\n',
    )
    return project


def assert_as_clean(project):
    """The next build equals a clean one, and so does its index."""
    result = project.build()
    assert not result.failed, [target.error for target in result.targets]
    assert declared(project, result) == kinds.clean_outputs(project)
    assert index_of(project) == index_of(ProjectOnDisk(project.root.parent / "clean"))
    assert project.ran() == []


def kill_at_random_points(project, times, dice):
    started = time.monotonic()
    assert command(project).communicate(timeout=120)[1] == ""
    duration = time.monotonic() - started
    unfinished = 0
    for number in range(times):
        if number % 2:
            shutil.rmtree(project.root / ".ctxbuild")
        for n in range(number, number + 6):
            project.put(f"pkg/m{n % 12}.py", f"def saved_{number}(disk):\n    return {n}\n")
        project.put(f"pkg/n{number}.py", "def save_more(): ...\n")
        (project.root / f"docs/d{number % 12}.md").unlink(missing_ok=True)
        process = command(project)
        time.sleep(dice.uniform(0, duration))
        unfinished += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert_as_clean(project)
    return unfinished


@POSIX
def test_a_killed_build_leaves_the_index_of_questions_as_the_state_knows_it(tmp_path):
    kill_at_random_points(asking(tmp_path), 1, random.Random())


@POSIX
@pytest.mark.slow
def test_forty_killed_builds_leave_the_index_of_questions_as_the_state_knows_it(tmp_path):
    assert kill_at_random_points(asking(tmp_path, 60), 40, random.Random())


def test_two_builds_at_once_ask_their_questions_one_after_the_other(tmp_path):
    project = asking(tmp_path)
    both = [command(project, "a"), command(project, "b", "d")]
    assert [each.communicate(timeout=120)[1] for each in both] == ["", ""]
    assert [each.returncode for each in both] == [0, 0]
    assert_as_clean(project)


# --- what an edit does not reach ---------------------------------------------------------


@pytest.fixture
def every(tmp_path):
    """The project with every kind, built, without the targets that list whole trees."""
    project = kinds.start(tmp_path / "root")
    text = kinds.ctxfile({"diff": "untracked = false\n"})
    project.put("ctxfile.toml", text)
    kinds.git(project, "add", "-A")
    kinds.git(project, "commit", "-qm", "second")
    assert not project.build().failed
    return project


FREE = ("question", "docs", "scene", "diff", "staged", "transcript", "memory", "recall")


def test_an_edit_of_an_unrelated_source_renders_no_pack_of_any_kind(every):
    kinds.git(every, "update-index", "--assume-unchanged", "shop/lonely.py")
    every.put("shop/lonely.py", "def nobody() -> None:\n    cheese = 'cheese'\n    print(cheese)\n")
    assert every.ran(*FREE) == ["facts(shop/lonely.py)"]


def test_a_new_file_that_git_does_not_track_reaches_no_pack_that_leaves_such_files_out(every):
    """It is planned anew, as the list of what git does not track is one of its inputs."""
    every.put("extra/new.py", "def cheese():\n    return 1\n")
    assert every.ran(*FREE) == ["facts(extra/new.py)", "plan(diff)"]


def test_a_longer_session_renders_the_packs_of_the_session_alone(every):
    data = (every.root / "session.jsonl").read_bytes()
    every.put("session.jsonl", data + b'{"type":"user","message":{"role":"user","content":"x"}}\n')
    ran = every.ran(*FREE)
    assert {each for each in ran if each.startswith("plan")} >= {"plan(transcript)"}
    assert not {"plan(question)", "plan(docs)", "plan(scene)", "plan(memory)"} & set(ran)


def test_another_note_renders_the_packs_of_the_notes_alone(every):
    every.put("NOTES.md", "# Notes\n\n- shop/store.py: found tax is wrong\n")
    ran = every.ran("scene", "staged", "transcript", "memory", "recall")
    assert [each for each in ran if each.startswith(("plan", "pack"))] == [
        "plan(memory)",
        "pack(memory)",
    ]


@pytest.mark.parametrize(
    "option", ["untracked = false", "generated = true", "history = 2", "neighbours = true"]
)
def test_an_option_of_a_difference_alone_changes_its_key_and_comes_back(tmp_path, option):
    project = ProjectOnDisk(tmp_path / "root")
    for path in ("shop/app.py", "shop/store.py", "shop/prices.py"):
        project.put(path, kinds.CODE[path][0])
    project.put(".gitignore", ".ctxbuild/\nctxfile.toml\n")
    project.put(".gitattributes", "shop/store.py linguist-generated\n")
    kinds.git(project, "init", "-q", ".")
    kinds.git(project, "add", "-A")
    kinds.git(project, "commit", "-qm", "first")
    project.put("shop/store.py", "def stored():\n    return 1\n")
    project.put("shop/new.py", "x = 1\n")
    diff = "version = 1\n[targets.diff]\ndiff = 'HEAD'\n"
    project.put("ctxfile.toml", diff)
    project.build()
    before = project.outputs()
    project.put("ctxfile.toml", f"{diff}{option}\n")
    assert project.ran()[-2:] == ["plan(diff)", "pack(diff)"]
    assert project.outputs()["diff.md"] != before["diff.md"]
    assert project.outputs() == kinds.clean_outputs(project)
    project.put("ctxfile.toml", diff)
    assert project.ran() == ["plan(diff)", "pack(diff)"]
    assert project.outputs() == before


def test_an_artifact_says_what_its_text_has_of_every_kind(every):
    from ctxbuild.pack.tokens import counter

    count = counter("o200k_base")
    for name in kinds.KINDS:
        artifact = json.loads(every.outputs()[f"{name}.pack.json"])
        assert count([every.pack(name)]) == [artifact["tokens"]]
        assert artifact["tokens"] <= artifact["budget"] - artifact["reserve"]
