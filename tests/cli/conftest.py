"""A small shop with a ctxfile, and the command line run in this process."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ctxbuild.cli.main import main

FILES = {
    "ctxfile.toml": """\
version = 1

[targets.app]
entry = ["shop/app.py"]
budget = 1000

[targets.notes]
files = ["README.md"]
budget = 100
""",
    "README.md": "# Shop\n\nIt sells.\n",
    "shop/__init__.py": "",
    "shop/app.py": '''\
"""Sells things."""

import json
from shop.cart import Cart


def sell(names):
    cart = Cart()
    for name in names:
        cart.add(name)
    return json.dumps(cart.total())
''',
    "shop/cart.py": '''\
"""What somebody buys."""

from shop.money import Money


class Cart:
    """Things and their price."""

    def add(self, name: str) -> None:
        """Puts a thing in."""
        self.names.append(name)

    def total(self) -> Money:
        """What all of it costs."""
        return Money(len(self.names))
''',
    "shop/money.py": '"""Amounts."""\n\n\nclass Money:\n    cents: int\n',
    "shop/unused.py": "def nobody():\n    return 1\n",
    ".gitignore": "built/\n",
    "built/out.py": "x = 1\n",
}


@dataclass(frozen=True)
class Outcome:
    """What a run returned and printed; durations are `N ms`, the root is `ROOT`."""

    code: int
    out: str
    err: str
    raw: bytes = field(repr=False)

    @property
    def data(self) -> Any:
        return json.loads(self.raw)


class Shop:
    """The repository and the command in it."""

    def __init__(self, root: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self.root = root
        self._capture = capsysbinary

    def write(self, files: dict[str, str]) -> Shop:
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return self

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text
        (self.root / path).write_text(text.replace(old, new), encoding="utf-8")

    def bytes_of(self, *arguments: str) -> bytes:
        """What a command that succeeds prints, byte for byte."""
        assert main(["-C", str(self.root), *arguments]) == 0
        return self._capture.readouterr().out

    def __call__(self, *arguments: str, at: str = "") -> Outcome:
        self._capture.readouterr()
        try:
            code = main(["-C", str(self.root / at), *arguments])
        except SystemExit as exit_:  # argparse ends like that
            code = int(exit_.code or 0)
        out, err = self._capture.readouterr()
        return Outcome(code, self._plain(out), self._plain(err), out)

    def _plain(self, data: bytes) -> str:
        text = data.decode().replace(str(self.root), "ROOT")
        return re.sub(r" *\b\d+(\.\d+)? (ms|s)\b", " N ms", text)


@pytest.fixture
def empty(tmp_path, capsysbinary):
    root = tmp_path / "root"
    root.mkdir()
    return Shop(root, capsysbinary)


@pytest.fixture
def shop(empty):
    return empty.write(FILES)
