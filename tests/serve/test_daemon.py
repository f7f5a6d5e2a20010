"""A build through the daemon is a build: never stale, the same words, the same exit code."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ctxbuild.cli.main import main
from ctxbuild.serve import launch, protocol

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


def eventually(condition, seconds=20.0):
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def right(daemon, tmp_path):
    """Whether the outputs after a build through the daemon are those of a clean build."""
    daemon.build()
    # A process that is killed in the middle of a write leaves a temporary file.
    here = daemon.project.outputs().items()
    outputs = {name: data for name, data in here if not name.endswith(".tmp")}
    return outputs == daemon.project.clean_outputs(tmp_path / "clean")


# --- never stale ---------------------------------------------------------------------------


def saves(daemon, count):
    stale = 0
    for number in range(count):
        daemon.project.put(
            "shop/prices.py",
            f"def total(prices: list[int], n{number}: int) -> int:\n    return 1\n",
        )
        assert main(["-C", str(daemon.project.root), "build", "-q"]) == 0
        stale += f"n{number}: int" not in daemon.project.pack()
    return stale


def test_a_build_right_after_a_save_is_never_stale(daemon, capsys):
    before = daemon.answered()
    assert saves(daemon, 100) == 0
    assert daemon.answered() == before + 100


@pytest.mark.slow
def test_a_thousand_builds_right_after_a_save_are_not_stale(daemon, capsys):
    assert saves(daemon, 1_000) == 0


def test_a_pack_becomes_fresh_without_anybody_asking(daemon):
    daemon.build()
    daemon.project.replace("shop/prices.py", "prices: list", "prices_now: list")
    eventually(lambda: "prices_now" in daemon.project.pack())


def test_an_edit_of_the_same_size_with_the_mtime_put_back_is_seen(daemon, tmp_path):
    daemon.build()
    path = daemon.project.root / "shop/prices.py"
    before = path.stat()
    daemon.project.replace("shop/prices.py", "sum(prices)", "max(prices)")
    daemon.project.replace("shop/prices.py", "def total", "def Total")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert right(daemon, tmp_path)


def as_vim(path: Path, text: str) -> None:
    probe = path.parent / "4913"
    probe.touch()
    probe.unlink()
    backup = path.with_name(path.name + "~")
    path.rename(backup)
    with path.open("w") as file:
        file.write(text)
        os.fsync(file.fileno())
    backup.unlink()


def as_emacs(path: Path, text: str) -> None:
    lock = path.parent / f".#{path.name}"
    lock.symlink_to("me@here.1:2")
    shutil.copy2(path, path.with_name(f"#{path.name}#"))
    path.write_text(text)
    path.with_name(f"#{path.name}#").unlink()
    lock.unlink()


def as_code(path: Path, text: str) -> None:
    with path.open("r+") as file:  # written in place, truncated first
        file.truncate(0)
        file.write(text)


def as_jetbrains(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}___jb_tmp___")
    old = path.with_name(f"{path.name}___jb_old___")
    fresh.write_text(text)
    path.rename(old)
    fresh.rename(path)
    old.unlink()


@pytest.mark.parametrize("save", [as_vim, as_emacs, as_code, as_jetbrains])
def test_a_save_is_seen_however_an_editor_does_it(daemon, tmp_path, save):
    path = daemon.project.root / "shop/prices.py"
    for number in range(5):
        save(path, f"def total(prices: list[int], n{number}: int) -> int:\n    return 1\n")
        daemon.build()
        assert f"n{number}: int" in daemon.project.pack()
    assert right(daemon, tmp_path)


def test_files_and_directories_come_go_and_move(daemon, tmp_path):
    project = daemon.project
    project.replace("shop/app.py", "from shop import prices", "from shop import prices, more")
    assert right(daemon, tmp_path)
    project.put("shop/more/__init__.py", "def extra() -> int:\n    return 1\n")
    assert right(daemon, tmp_path)
    project.rename("shop/more", "elsewhere")
    assert right(daemon, tmp_path)
    (project.root / "elsewhere").rename(tmp_path / "out")
    assert right(daemon, tmp_path)
    (tmp_path / "out").rename(project.root / "shop/more")
    assert right(daemon, tmp_path)
    project.rename("shop/prices.py", "shop/PRICES.py")
    assert right(daemon, tmp_path)
    project.rename("shop/PRICES.py", "shop/prices.py")
    shutil.rmtree(project.root / "shop/more")
    assert right(daemon, tmp_path)


@posix
def test_a_link_that_is_swapped_is_followed(daemon, tmp_path):
    project = daemon.project
    project.put("shop/one.py", "def total(one: int) -> int:\n    return 1\n")
    project.put("shop/two.py", "def total(two: int) -> int:\n    return 2\n")
    project.remove("shop/prices.py")
    (project.root / "shop/prices.py").symlink_to("one.py")
    assert right(daemon, tmp_path)
    (project.root / "shop/new").symlink_to("two.py")
    (project.root / "shop/new").rename(project.root / "shop/prices.py")
    assert right(daemon, tmp_path)
    assert "two: int" in project.pack()


@posix
def test_a_link_through_a_place_that_is_not_watched_is_followed(daemon, tmp_path):
    project = daemon.project
    project.put("shop/one.py", "def total(one: int) -> int:\n    return 1\n")
    project.put("shop/two.py", "def total(two: int) -> int:\n    return 2\n")
    project.remove("shop/prices.py")
    (tmp_path / "between").symlink_to(project.root / "shop/one.py")
    (project.root / "shop/prices.py").symlink_to(tmp_path / "between")
    daemon.build()
    assert "one: int" in project.pack()
    (tmp_path / "next").symlink_to(project.root / "shop/two.py")
    (tmp_path / "next").rename(tmp_path / "between")
    daemon.build()
    assert "two: int" in project.pack()


def test_rules_of_what_is_ignored_hold_at_once(daemon, tmp_path):
    daemon.project.put(".gitignore", "prices.py\n")
    assert right(daemon, tmp_path)
    daemon.project.put(".gitignore", "")
    assert right(daemon, tmp_path)


def test_a_root_that_is_deleted_and_made_again_is_watched_again(daemon, tmp_path):
    project = daemon.project
    daemon.build()
    kept = shutil.copytree(project.root, tmp_path / "kept", ignore=shutil.ignore_patterns(".ctx*"))
    shutil.rmtree(project.root)
    eventually(lambda: "is gone" in daemon.status_problem())
    shutil.copytree(kept, project.root)
    project.replace("shop/prices.py", "prices: list", "again: list")
    eventually(lambda: daemon.status_problem() == "")
    assert right(daemon, tmp_path)
    assert "again: list" in project.pack()


def test_a_daemon_that_nobody_asks_ends_when_its_project_is_gone(daemons, shop):
    daemon = daemons(shop, "--idle", "1")
    shutil.rmtree(shop.root)
    eventually(lambda: not is_alive(daemon.pid))


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_a_deleted_cache_is_built_again(daemon, tmp_path):
    daemon.build()
    shutil.rmtree(daemon.project.root / ".ctxbuild")
    assert right(daemon, tmp_path)
    daemon.project.replace("shop/prices.py", "prices: list", "again: list")
    assert right(daemon, tmp_path)


def test_outputs_that_somebody_changes_are_written_again(daemon, tmp_path):
    daemon.build()
    (daemon.project.root / ".ctxbuild/packs/app.md").write_text("not a pack")
    assert right(daemon, tmp_path)
    (daemon.project.root / ".ctxbuild/packs/app.md").unlink()
    eventually((daemon.project.root / ".ctxbuild/packs/app.md").exists)
    assert right(daemon, tmp_path)


def test_a_build_without_the_daemon_beside_it_confuses_neither(daemon, tmp_path, capsys):
    for number in range(10):
        daemon.project.put("shop/prices.py", f"def total(n{number}: int) -> int:\n    return 1\n")
        flag = ["--no-daemon"] if number % 2 else []
        assert main(["-C", str(daemon.project.root), "build", "-q", *flag]) == 0
        assert f"n{number}: int" in daemon.project.pack()
    assert right(daemon, tmp_path)


def git(root, *arguments):
    subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True)


def versions_of(project, files):
    """Two commits that differ in every tenth of many files, on branches `one` and `two`."""
    for number in range(files):
        project.put(f"many/d{number % 50:02}/f{number}.py", f"def f{number}() -> int: ...\n")
    git(project.root, "init", "-q", "-b", "one")
    git(project.root, "add", "-A")
    git(project.root, "commit", "-qm", "one")
    git(project.root, "checkout", "-qb", "two")
    for number in range(0, files, 10):
        project.put(f"many/d{number % 50:02}/f{number}.py", f"def g{number}() -> int: ...\n")
    project.replace("shop/prices.py", "prices: list", "second: list")
    shutil.rmtree(project.root / "many/d07")
    git(project.root, "add", "-A")
    git(project.root, "commit", "-qm", "two")


@pytest.mark.parametrize(
    "files", [1_000, pytest.param(20_000, marks=pytest.mark.slow)], ids=["small", "large"]
)
def test_branches_and_stashes_come_and_go(shop, daemons, tmp_path, files):
    versions_of(shop, files)
    daemon = daemons(shop)
    for branch in ("one", "two", "one"):
        git(shop.root, "checkout", "-q", branch)
        daemon.build()
        assert ("second: list" in shop.pack()) == (branch == "two")
    shop.replace("shop/prices.py", "prices: list", "stashed: list")
    daemon.build()
    assert "stashed: list" in shop.pack()
    git(shop.root, "stash", "-q")
    daemon.build()
    assert "stashed: list" not in shop.pack()
    git(shop.root, "stash", "pop", "-q")
    assert right(daemon, tmp_path)


@pytest.mark.parametrize(
    "files", [3_000, pytest.param(60_000, marks=pytest.mark.slow)], ids=["small", "large"]
)
def test_a_burst_of_files_is_seen_whole(daemon, tmp_path, files):
    daemon.build()
    for number in range(files):
        if number % 500 == 0:
            (daemon.project.root / f"burst/{number}").mkdir(parents=True)
        directory = number - number % 500
        (daemon.project.root / f"burst/{directory}/f{number}.txt").write_text(f"{number}")
    daemon.project.put("shop/prices.py", "def total(after: int) -> int:\n    return 1\n")
    daemon.build()
    assert "after: int" in daemon.project.pack()
    shutil.rmtree(daemon.project.root / "burst")
    assert right(daemon, tmp_path)


# --- the same words, the same exit codes ---------------------------------------------------


COMMANDS = [
    ["build"],
    ["build", "app"],
    ["build", "--json"],
    ["build", "-q"],
    ["build", "nothing"],
    ["build", "--nonsense"],
    ["build", "--budget", "100"],
    ["show", "app"],
    ["show", "app", "--json"],
    ["show", "app", "--plan"],
    ["show", "app", "--plan", "--format", "json"],
    ["show", "app", "--blocks"],
    ["show", "app", "--format", "xml"],
    ["show", "none"],
    ["why", "app"],
    ["why", "app", "shop/store.py::Store.save"],
    ["why", "app", "shop/nowhere.py"],
    ["why", "app", "--json"],
    ["why", "app", "--color", "always"],
]


def test_every_command_prints_the_same_with_and_without_the_daemon(daemon, capsysbinary):
    daemon.build()
    for command in COMMANDS:
        said = []
        for flags in ([], ["--no-daemon"]):
            capsysbinary.readouterr()
            try:
                code = main(["-C", str(daemon.project.root), *command, *flags])
            except SystemExit as exit_:
                code = exit_.code
            out, err = capsysbinary.readouterr()
            said.append((code, without_times(out), err))
        assert said[0] == said[1], command


def without_times(out: bytes) -> bytes:
    if not out.startswith(b'{\n  "targets"'):
        return out
    data = json.loads(out)
    data["seconds"] = 0
    return json.dumps(data).encode()


def test_a_failing_target_fails_in_the_same_way(daemon, capsys):
    daemon.project.put("ctxfile.toml", 'version = 1\n[targets.app]\nfiles = ["none.py"]\n')
    said = []
    for flags in ([], ["--no-daemon"]):
        code = main(["-C", str(daemon.project.root), "build", *flags])
        out, err = capsys.readouterr()
        heading, row, *_ = out.splitlines()
        said.append((code, heading.split(), row[:40], err))  # the column of times varies
    assert said[0] == said[1]
    assert said[0][0] == 2


def test_the_client_imports_nothing_heavy(daemon):
    daemon.build()
    code = (
        "import sys; from ctxbuild.cli.main import main; "
        f"code = main(['-C', {str(daemon.project.root)!r}, 'build', '-q']); "
        "print(code, *sorted({'json', 'socket', 'argparse', 're', 'sqlite3', 'dataclasses', "
        "'typing', 'enum', 'logging', 'tempfile', 'subprocess', 'pathlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.split()[-1:] == ["0"], done.stdout
    assert done.stderr == ""


# --- what is wrong -------------------------------------------------------------------------


def test_a_broken_ctxfile_leaves_the_packs_and_is_told_until_it_is_mended(daemon, tmp_path):
    project = daemon.project
    daemon.build()
    before = project.outputs()
    good = (project.root / "ctxfile.toml").read_text()
    project.put("ctxfile.toml", good + "bugdet = 1\n")
    eventually(lambda: "unknown key 'bugdet'" in daemon.status_problem())
    assert project.outputs() == before
    done = daemon.client("build")
    assert done.returncode == 2
    assert "unknown key 'bugdet'" in done.stderr
    project.put("ctxfile.toml", good.replace("4000", "3000"))
    assert right(daemon, tmp_path)
    assert '"budget":3000' in project.outputs()["app.pack.json"].decode().replace(" ", "")


def test_a_target_more_and_a_target_less_are_followed(daemon):
    project = daemon.project
    good = (project.root / "ctxfile.toml").read_text()
    project.put("ctxfile.toml", good + '[targets.disk]\nentry = ["shop/disk.py"]\n')
    eventually((project.root / ".ctxbuild/packs/disk.md").exists)
    daemon.build("disk")
    project.put("ctxfile.toml", good)
    assert daemon.client("build", "disk").returncode == 2
    daemon.build()


def test_a_target_that_fails_keeps_its_pack_and_comes_back(daemon, tmp_path):
    project = daemon.project
    daemon.build()
    before = project.outputs()
    app = (project.root / "shop/app.py").read_text()
    project.remove("shop/app.py")
    eventually(lambda: daemon.status()["targets"][0]["state"] == "failed")
    assert project.outputs() == before
    project.put("shop/app.py", app)
    eventually(lambda: daemon.status()["targets"][0]["state"] == "fresh")
    assert right(daemon, tmp_path)


def test_a_syntax_error_is_a_state_like_any_other(daemon, tmp_path):
    daemon.project.put("shop/store.py", "class Store:\n    def save(self\n")
    assert right(daemon, tmp_path)


# --- one daemon, whatever happens ----------------------------------------------------------


def test_twenty_clients_at_once_start_one_daemon_and_get_right_answers(shop, daemons, tmp_path):
    daemon = daemons.unstarted(shop)

    def start_and_build(number):
        started = daemon.client("watch", "--detach", "--idle", "60", "-j", "1")
        assert started.returncode == 0, started.stderr
        built = daemon.client("build", "--json")
        assert built.returncode == 0, built.stderr
        return started.stdout, json.loads(built.stdout)["targets"][0]["digest"]

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(start_and_build, range(20)))
    assert len({said for said, _ in answers}) == 1
    assert len({digest for _, digest in answers}) == 1
    assert right(daemon, tmp_path)


@posix
def test_a_daemon_that_is_killed_leaves_nothing_in_the_way(daemon, tmp_path, capsys):
    dice = random.Random(4)
    for number in range(5):
        daemon.project.put("shop/prices.py", f"def total(n{number}: int) -> int:\n    return 1\n")
        time.sleep(dice.random() * 0.1)
        os.kill(daemon.pid, signal.SIGKILL)
        assert main(["-C", str(daemon.project.root), "build", "-q"]) == 0
        assert f"n{number}: int" in daemon.project.pack()
        daemon.start()
    assert right(daemon, tmp_path)


@posix
@pytest.mark.slow
def test_fifty_kills_of_daemon_or_client_at_random_moments(daemon, tmp_path):
    dice = random.Random(5)
    for number in range(50):
        text = f"def total(n{number}: int) -> int:\n    return 1\n"
        daemon.project.put("shop/prices.py", text)
        client = subprocess.Popen(
            [sys.executable, "-m", "ctxbuild", "-C", str(daemon.project.root), "build", "-q"],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(dice.random() * 0.15)
        if number % 2:
            os.kill(daemon.pid, signal.SIGKILL)
            assert client.wait(timeout=60) == 0
            assert f"n{number}: int" in daemon.project.pack()
            daemon.start()
        else:
            client.kill()
            client.wait()
            daemon.build()
            assert f"n{number}: int" in daemon.project.pack()
    assert right(daemon, tmp_path)


@posix
def test_a_daemon_that_hangs_is_not_waited_for(daemon, monkeypatch, capsys):
    daemon.build()
    monkeypatch.setattr(protocol, "SILENCE_SECONDS", 0.3)
    daemon.project.put("shop/prices.py", "def total(hung: int) -> int:\n    return 1\n")
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        assert main(["-C", str(daemon.project.root), "build", "-q"]) == 0
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    assert "hung: int" in daemon.project.pack()


def test_an_old_daemon_in_the_background_is_replaced(daemon, monkeypatch, capsys):
    daemon.build()
    old = daemon.pid
    version = protocol.version()
    # To this client the daemon is of another version; its successor is not.
    answers = iter(["another version"])
    monkeypatch.setattr(protocol, "version", lambda: next(answers, version))
    assert main(["-C", str(daemon.project.root), "build", "-q"]) == 0
    status = launch.status(os.path.realpath(daemon.project.root))
    assert status["pid"] != old
    assert status["version"] == version
    daemon.build()


def test_a_second_watch_of_the_same_root_is_refused(daemon):
    done = daemon.client("watch")
    assert done.returncode == 2
    assert "is being watched already" in done.stderr


def test_a_daemon_nobody_needs_goes(shop, daemons):
    daemons(shop, "--idle", "0.5")
    root = os.path.realpath(shop.root)
    eventually(lambda: not launch.is_running(root))
    assert launch.status(root) is None
    assert not Path(protocol.place(root, "sock")).exists()


def test_status_and_stop_say_whether_there_is_one(daemon):
    daemon.build()
    lines = daemon.client("watch", "status").stdout.splitlines()
    assert lines[0].startswith(f"watching {os.path.realpath(daemon.project.root)} by ")
    assert lines[0].endswith(f", in the background, as process {daemon.pid}")
    assert lines[1].startswith("  app: fresh, ")
    assert daemon.client("watch", "stop").returncode == 0
    for what in ("status", "stop"):
        done = daemon.client("watch", what)
        assert done.returncode == 1
        assert "nothing watches" in done.stderr


@posix
def test_nobody_else_may_enter_where_the_sockets_are(shop, runtime):
    launch.prepare_runtime()
    directory = Path(protocol.runtime_directory())
    assert directory.stat().st_mode & 0o777 == 0o700
    directory.chmod(0o755)
    with pytest.raises(Exception, match="others may enter it"):
        launch.prepare_runtime()


def test_a_path_too_long_for_a_socket_gets_a_short_one(monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/" + "x" * 200)
    assert len(protocol.place("/some/root", "sock")) < 100


def test_an_environment_variable_and_a_flag_leave_the_daemon_alone(daemon, monkeypatch, capsys):
    before = daemon.answered()
    main(["-C", str(daemon.project.root), "build", "-q", "--no-daemon"])
    monkeypatch.setenv("CTXBUILD_NO_DAEMON", "1")
    main(["-C", str(daemon.project.root), "build", "-q"])
    assert daemon.answered() == before


def test_subscribers_are_told_what_happens(daemon):
    daemon.build()
    lines = launch.client.control(os.path.realpath(daemon.project.root), "subscribe")
    assert json.loads(next(lines))["pid"] == daemon.pid
    daemon.project.replace("shop/prices.py", "prices: list", "told: list")
    building, built = json.loads(next(lines)), json.loads(next(lines))
    assert building == {"event": "building", "changed": ["shop/prices.py"], "targets": ["app"]}
    assert built["event"] == "built"
    assert built["results"][0]["ran"] == ["facts(shop/prices.py)", "plan(app)", "pack(app)"]
    lines.close()


def test_what_is_no_request_is_let_go(daemon):
    address = protocol.place(os.path.realpath(daemon.project.root), "sock")
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"q 99999999999\n", b"\0" * 100, b"q 3\nabc", b""):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(address)
            connection.sendall(junk)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(10)
            while connection.recv(1000):
                pass
    daemon.build()


# --- eight hours, condensed ----------------------------------------------------------------


def memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_twenty_thousand_edits_cost_no_memory_and_no_correctness(daemon, tmp_path, capsys):
    dice = random.Random(6)
    project = daemon.project
    names = [f"shop/m{number}.py" for number in range(30)]
    first = 0
    for number in range(20_000):
        path = dice.choice([*names, "shop/prices.py", "shop/store.py", "shop/app.py"])
        full = project.root / path
        if path in names and full.exists() and dice.random() < 0.2:
            full.unlink()
        elif path in names:
            other = dice.choice(names).removesuffix(".py").rpartition("/")[2]
            project.put(
                path, f"from shop import {other}\n\ndef f{number}() -> int:\n    return 1\n"
            )
        else:
            with full.open("a") as file:
                file.write(f"\n\ndef added{number % 40}() -> int:\n    return {number}\n")
            if full.stat().st_size > 4_000:
                text = full.read_text().partition("\n\ndef added")[0]
                imported = dice.choice(names).removesuffix(".py").rpartition("/")[2]
                project.put(path, f"{text}\n\nfrom shop import {imported}\n")
        if dice.random() < 0.3:
            time.sleep(0.005)
        if number % 100 == 99:
            assert right(daemon, tmp_path), number
            if number == 99:
                first = memory(daemon.pid)
    assert memory(daemon.pid) <= 1.3 * first
