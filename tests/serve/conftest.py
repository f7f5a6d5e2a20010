"""A small project on disk that tests edit, build, and compare with a clean build of the same."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxbuild.cli.main import main
from ctxbuild.errors import StoreError
from ctxbuild.serve import launch, protocol
from ctxbuild.serve.results import BuildResult
from ctxbuild.serve.session import Session
from ctxbuild.source import ctxfile

PACKAGE_ROOT = Path(__file__).parents[2]

SHOP = {
    "ctxfile.toml": 'version = 1\n[targets.app]\nentry = ["shop/app.py"]\nbudget = 4000\n',
    "shop/__init__.py": "",
    "shop/app.py": (
        '"""The application."""\n\n'
        "from shop.store import Store\n"
        "from shop import prices\n\n\n"
        "def main(path: str) -> int:\n"
        "    store = Store(path)\n"
        "    store.save('total', prices.total([1, 2]))\n"
        "    return store.size\n"
    ),
    "shop/store.py": (
        '"""Keeps things."""\n\n'
        "from shop.disk import Disk\n\n\n"
        "class Store:\n"
        '    """A store of values."""\n\n'
        "    size: int = 0\n\n"
        "    def __init__(self, path: str) -> None:\n"
        "        self.disk = Disk(path)\n\n"
        "    def save(self, key: str, value: int) -> None:\n"
        '        """Saves a value."""\n'
        "        self.disk.put(key, value)\n\n"
        "    def load(self, key: str) -> int:\n"
        "        return self.disk.get(key)\n\n\n"
        "def unused(a: int) -> int:\n"
        "    return a\n"
    ),
    "shop/disk.py": (
        '"""Bytes on disk."""\n\n\n'
        "class Disk:\n"
        "    def __init__(self, path: str) -> None:\n"
        "        self.path = path\n\n"
        "    def put(self, key: str, value: int) -> None: ...\n\n"
        "    def get(self, key: str) -> int:\n"
        "        return 1\n"
    ),
    "shop/prices.py": "def total(prices: list[int]) -> int:\n    return sum(prices)\n",
    "shop/lonely.py": "def nobody() -> None:\n    pass\n",
}


class ProjectOnDisk:
    """Files below a directory, and builds of them in fresh sessions."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, **files: str) -> None:
        """Writes files; `__` in a name stands for `/`, and `_py` at its end for `.py`."""
        for name, text in files.items():
            self.put(name.replace("__", "/").replace("_py", ".py"), text)

    def put(self, path: str, text: str | bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())

    def replace(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text()
        assert old in text
        self.put(path, text.replace(old, new))

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def rename(self, path: str, to: str) -> None:
        (self.root / to).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).rename(self.root / to)

    def session(self, workers: int = 1) -> Session:
        return Session(ctxfile.load(self.root / "ctxfile.toml"), workers=workers)

    def build(self, *targets: str, workers: int = 1) -> BuildResult:
        return self.session(workers).build(targets)

    def ran(self, *targets: str) -> list[str]:
        result = self.build(*targets)
        assert not result.failed, [t.error for t in result.targets]
        return list(result.ran)

    def outputs(self) -> dict[str, bytes]:
        packs = self.root / ".ctxbuild" / "packs"
        found = sorted(packs.iterdir()) if packs.exists() else []
        return {path.name: path.read_bytes() for path in found}

    def pack(self, target: str = "app") -> str:
        return self.outputs()[f"{target}.md"].decode()

    def clean_outputs(self, where: Path) -> dict[str, bytes]:
        """The outputs of a clean build of the same files in another place."""
        shutil.rmtree(where, ignore_errors=True)
        shutil.copytree(self.root, where, ignore=shutil.ignore_patterns(".ctxbuild"), symlinks=True)
        clean = ProjectOnDisk(where)
        clean.build()
        return clean.outputs()


@pytest.fixture
def shop(tmp_path: Path) -> ProjectOnDisk:
    """A small shop, not built yet."""
    project = ProjectOnDisk(tmp_path / "shop-root")
    for path, text in SHOP.items():
        project.put(path, text)
    return project


@pytest.fixture
def built(shop: ProjectOnDisk) -> ProjectOnDisk:
    """The shop after a first build."""
    assert not shop.build().failed
    return shop


class Daemon:
    """`ctxbuild watch --detach` for a project, and what clients of it get.

    Args:
        project: whose daemon it is.
        options: of `ctxbuild watch`.
    """

    def __init__(self, project: ProjectOnDisk, *options: str) -> None:
        self.project = project
        self.options = options
        self.pid = 0

    def start(self) -> None:
        done = self.client("watch", "--detach", "--idle", "60", "-j", "1", *self.options)
        assert done.returncode == 0, done.stderr
        self.pid = int(done.stdout.split()[-1])

    def client(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """A client in a process of its own."""
        command = [sys.executable, "-m", "ctxbuild", "-C", str(self.project.root), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=PACKAGE_ROOT, **more
        )

    def status(self) -> dict[str, Any]:
        return json.loads(self.client("watch", "status", "--json").stdout)

    def status_problem(self) -> str:
        found = launch.status(os.path.realpath(self.project.root))
        assert found is not None, "no daemon answers"
        return str(found["problem"])

    def build(self, *arguments: str) -> int:
        """A client in this process: the exit code of its build."""
        before = self.answered()
        code = main(["-C", str(self.project.root), "build", "-q", *arguments])
        assert self.answered() > before, "the daemon was not asked"
        return code

    def answered(self) -> int:
        found = launch.status(os.path.realpath(self.project.root))
        assert found is not None, "no daemon answers"
        return int(str(found["answered"]))

    def stop(self) -> None:
        """Ends it, by force if it must be."""
        root = os.path.realpath(self.project.root)
        found = launch.status(root)
        pids = {self.pid, int(str(found["pid"])) if found else 0} - {0}
        try:
            launch.stop(root)
        except StoreError:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def log(self) -> str:
        path = Path(protocol.place(os.path.realpath(self.project.root), "log"))
        return path.read_text() if path.exists() else ""


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of sockets and locks for one test."""
    directory = tmp_path_factory.mktemp("run")
    directory.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory))
    monkeypatch.delenv("CTXBUILD_NO_DAEMON", raising=False)
    return directory


@pytest.fixture
def daemons(runtime: Path) -> Iterator[Callable[..., Daemon]]:
    """Starts daemons; none of them outlives the test."""
    started: list[Daemon] = []

    def unstarted(project: ProjectOnDisk, *options: str) -> Daemon:
        daemon = Daemon(project, *options)
        started.append(daemon)
        return daemon

    def start(project: ProjectOnDisk, *options: str) -> Daemon:
        daemon = unstarted(project, *options)
        daemon.start()
        return daemon

    start.unstarted = unstarted
    yield start
    for daemon in started:
        daemon.stop()


@pytest.fixture
def daemon(shop: ProjectOnDisk, daemons: Callable[..., Daemon]) -> Daemon:
    """A daemon that watches the shop."""
    return daemons(shop)
