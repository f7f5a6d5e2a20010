"""A tree to write into, and a scanner that remembers."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from ctxbuild.source.scan import Changes, Scope, Snapshot, prepare, scan

_LONG_AGO = 1_500_000_000 * 10**9


class Tree:
    """A directory tree and the state that is remembered of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        prepare(self.connection)

    def write(self, files: dict[str, str | bytes]) -> Tree:
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode() if isinstance(text, str) else text)
        return self

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.root), *arguments]
        done = subprocess.run(command, check=True, capture_output=True)
        return os.fsdecode(done.stdout)

    def scan(self, scope: Scope | None = None, **options) -> tuple[Snapshot, Changes]:
        return scan(str(self.root), scope or Scope(), self.connection, **options)

    def paths(self, scope: Scope | None = None) -> list[str]:
        return list(self.scan(scope)[0].paths)

    def left(self, scope: Scope | None = None) -> list[tuple[str, str, str]]:
        found = self.scan(scope)[0].left_out()
        return [(item.path, item.reason, item.detail) for item in found]

    def settle(self) -> Snapshot:
        """Scan, learn every digest, save; later than all stamps, so that nothing is racy."""
        self.age()
        snapshot, _ = self.scan()
        for path in snapshot.paths:
            snapshot.digest(path)
        snapshot.save()
        return snapshot

    def age(self) -> None:
        """Let the racy window of everything written so far pass."""
        import time

        for path, _, files in os.walk(self.root):
            for name in files:
                full = os.path.join(path, name)
                if os.path.isfile(full) and not os.path.islink(full):
                    os.utime(full, ns=(_LONG_AGO + 1, _LONG_AGO + 1))
        time.sleep(0.07)


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    made = Tree(root)
    yield made
    made.connection.close()


@pytest.fixture
def repository(tree):
    tree.git("init", "-q")
    return tree
