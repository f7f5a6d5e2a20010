"""A small project on disk that tests edit, build, and compare with a clean build of the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ctxbuild.serve.results import BuildResult
from ctxbuild.serve.session import Session
from ctxbuild.source import ctxfile

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
