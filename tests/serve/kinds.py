"""A project with a target per kind of layer, and random steps of its history."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests import talks
from tests.serve.conftest import SHOP, ProjectOnDisk

KINDS = {
    "files": 'files = ["**/*.md", "shop/*.py"]\nbudget = 900\n',
    "entry": 'entry = ["shop/app.py"]\nbudget = 900\n',
    "question": 'question = "Where is a value saved to disk, `Store.save`?"\nbudget = 700\n',
    "docs": 'docs = ["docs/**", "*.md"]\ntask = "save values and renew keys"\nbudget = 600\n',
    "scene": 'docs = ["docs/**"]\npreset = "scene"\nbudget = 900\n',
    "diff": 'diff = "main"\nbudget = 900\n',
    "staged": 'diff = "staged"\nbudget = 900\n',
    "transcript": 'transcript = "session.jsonl"\nthreshold = 900\nrecent = 3\nbudget = 1600\n',
    "memory": 'memory = "NOTES.md"\nbudget = 500\n',
    "recall": 'transcript = "session.jsonl"\nabout = "Which test failed?"\nbudget = 600\n',
    "review": (
        'preset = "review"\nbudget = 6000\ndiff = "HEAD"\nmemory = "NOTES.md"\n'
        'transcript = "session.jsonl"\n'
        '[[targets.review.layers]]\nname = "task"\nfiles = ["TASK.md"]\nrestate = 4\n'
        '[[targets.review.layers]]\nname = "found"\nquestion = "How are prices kept?"\n'
        "budget = 700\npriority = 10\n"
        '[[targets.review.layers]]\nname = "rules"\ndocs = ["docs/*.md"]\nbudget = 500\n'
    ),
}
"""Name of a target to its keys: one per kind of layer, and all of them under one budget."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "files": ('headers = "full"\n', 'layout = "score"\n', 'formats = ["md", "xml", "json"]\n'),
    "entry": ("bodies = true\n", "dependents = 1\ntests = true\n", 'docstrings = "none"\n'),
    "question": ("cap = 3\n", "per-file = 1\n", "slice-over = 20\n", "least-score = 0.5\n"),
    "docs": ("steps = 2\n", 'profile = "api"\n', 'precedence = ["docs/b.md", "README.md"]\n'),
    "scene": ('layout = "edges"\n', 'task = "Mira at the harbour"\n'),
    "diff": ("untracked = false\n", "history = 2\nneighbours = true\n", 'headers = "full"\n'),
    "staged": ("generated = true\n", "neighbours = true\n"),
    "transcript": ("reserve = 400\n", "headers = 'full'\n", "compaction = 'rules'\n"),
    "memory": ('about = "tax"\n', "reserve = 300\n"),
    "recall": ("recent = 1\n", "reserve = 100\n"),
    "review": ("reserve = 0\n", 'formats = ["md", "json"]\n', 'layout = "edges"\n'),
}
"""Name of a target to texts that may be added to its keys."""

_TABLE = "[[targets."


def ctxfile(chosen: dict[str, str] | None = None) -> str:
    """A ctxfile with all targets, some of them with more keys."""
    made = "version = 1\n"
    for name, keys in KINDS.items():
        head, table, rest = keys.partition(_TABLE)
        made += f"[targets.{name}]\n{_joined(head, (chosen or {}).get(name, ''))}{table}{rest}"
    return made


def _joined(keys: str, more: str) -> str:
    said = {row.partition(" = ")[0] for row in more.splitlines()}
    kept = [row for row in keys.splitlines() if row.partition(" = ")[0] not in said]
    return "\n".join([*kept, *more.splitlines()]) + "\n"


CODE = {
    "shop/app.py": (SHOP["shop/app.py"], SHOP["shop/app.py"].replace("[1, 2]", "[1, 2, 3]")),
    "shop/store.py": (
        SHOP["shop/store.py"],
        "\n\n" + SHOP["shop/store.py"],
        SHOP["shop/store.py"].replace("self.disk.put(key, value)", "self.disk.put(key, value + 1)"),
        SHOP["shop/store.py"].replace("key: str, value: int", "key: str, value: float"),
        "def broken(:\n",
    ),
    "shop/disk.py": (SHOP["shop/disk.py"], SHOP["shop/disk.py"].replace("Disk", "Disc"), ""),
    "shop/prices.py": (SHOP["shop/prices.py"], "def total(prices: list[float]) -> float: ...\n"),
    "shop/lonely.py": (SHOP["shop/lonely.py"], "def nobody() -> None:\n    cheese = 'disk'\n"),
    "shop/saver.py": ("def save_value_to_disk(value):\n    '''Where a value is saved.'''\n",),
    "tests/test_shop.py": ("from shop.store import Store\n\ndef test_save():\n    Store('x')\n",),
    "README.md": (
        "# Shop\n\nNever save a key twice. See [keys](docs/a.md#keys).\n",
        "# Shop\n\nAlways save values to `Store.save`.\n\n" + "Words. " * 200 + "\n",
        "\ufeff# Shop\r\n\r\nA mark and CRLF.\r\n",
    ),
    "docs/a.md": (
        "# Guide\n\n## Keys\n\nKeys must be renewed daily. See [b](b.md).\n\n## Weather\n\nRain.\n",
        "# Guide\n\n## Weather\n\nRain.\n\n## Keys\n\nKeys must not be renewed daily.\n",
        "# Other\n\nNothing is saved here.\n",
    ),
    "docs/b.md": (
        "# Renewal\n\n1. Renew the key.\n2. Save the value.\n\n```py\nstore.save('k', 1)\n```\n",
        "---\nstatus: deprecated\n---\n# Renewal\n\nKeys are renewed weekly, never daily.\n",
    ),
    "docs/bible.md": (
        "# Mira\n\n- eyes: green\n- role: smuggler\n\nMira knows that Tom lies.\n",
        "# Mira\n\n- eyes: brown\n- role: captain\n\n# Harbour\n\nThe harbour is closed.\n",
    ),
    "docs/c.rst": ("Saving\n======\n\nValues **must** be saved.\n", "Saving\n------\n\nOld.\n"),
    "TASK.md": ("Review the shop.\n", "Review the prices.\n\n```\nfence\n```\n"),
    "NOTES.md": (
        "# Notes\n\n- shop/store.py: found tax is applied twice; severity high\n\nRemember.\n",
        "# Notes\n\n- shop/gone.py: found x\n- shop/store.py: found y; suggest drop it\n",
        "Some words on tax.\n",
    ),
    ".gitignore": (".ctxbuild/\n", ".ctxbuild/\nshop/lonely.py\ndocs/b.md\n"),
    ".gitattributes": ("shop/prices.py linguist-generated\n",),
}
"""Path to its variants."""

_SESSION = talks.claude_code(talks.STORY * 2).splitlines(keepends=True)


def git(project: ProjectOnDisk, *arguments: str) -> None:
    """Runs git in a project; what it refuses changes nothing."""
    command = ["git", "-C", str(project.root), *arguments]
    subprocess.run(command, check=False, capture_output=True)


def start(root: Path) -> ProjectOnDisk:
    """The project at its first commit, with one change; nothing is built."""
    project = ProjectOnDisk(root)
    project.put("ctxfile.toml", ctxfile())
    for path, variants in CODE.items():
        if path not in ("shop/saver.py", ".gitattributes"):
            project.put(path, variants[0])
    project.put("session.jsonl", b"".join(_SESSION[:12]))
    git(project, "init", "-q", "-b", "main", ".")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    git(project, "checkout", "-qb", "topic")
    project.put("shop/prices.py", CODE["shop/prices.py"][1])
    return project


class History:
    """Random steps of a project.

    Args:
        project: what is changed.
        dice: decides.
    """

    def __init__(self, project: ProjectOnDisk, dice: random.Random) -> None:
        self.project = project
        self.dice = dice
        self.told = 12
        self.options: dict[str, str] = {}

    def step(self) -> str:
        """Does one thing and says which."""
        steps: list[Callable[[], object]] = [
            *[self.edit] * 5,
            *[self.remove, self.rename] * 2,
            *[self.talk] * 3,
            *[self.option] * 3,
            *[self.commit, self.stage, self.branch, self.restore],
        ]
        chosen = self.dice.choice(steps)
        return f"{chosen.__name__} {chosen()}"

    def edit(self) -> str:
        path = self.dice.choice(sorted(CODE))
        if not any(parent.is_file() for parent in (self.project.root / path).parents):
            self.project.put(path, self.dice.choice(CODE[path]))
        return path

    def _some(self) -> Path:
        root = self.project.root
        files = [root / path for path in sorted(CODE) if (root / path).is_file()]
        return self.dice.choice([*files, root / "session.jsonl"])

    def remove(self) -> str:
        path = self._some()
        path.unlink(missing_ok=True)
        return path.name

    def rename(self) -> str:
        path = self._some()
        to = path.with_name(f"moved_{path.name}")
        if path.exists():
            path.rename(to)
        elif to.exists():
            to.rename(path)
        return path.name

    def talk(self) -> str:
        """A session that goes on, is cut back, breaks off in a line, or starts anew."""
        self.told = self.dice.choice([self.told + 1, self.told + 4, self.told // 2, self.told])
        data = b"".join(_SESSION[: self.told])
        self.project.put("session.jsonl", data[: -5 if self.dice.random() < 0.2 else None])
        return str(self.told)

    def option(self) -> str:
        name = self.dice.choice(sorted(KINDS))
        self.options[name] = self.dice.choice(["", *OPTIONS[name]])
        self.project.put("ctxfile.toml", ctxfile(self.options))
        return f"{name} {self.options[name]!r}"

    def commit(self) -> None:
        git(self.project, "add", "-A")
        git(self.project, "commit", "-qm", "more")

    def stage(self) -> None:
        if self.dice.random() < 0.3:
            git(self.project, "reset", "-q")
        else:
            git(self.project, "add", "-A", self.dice.choice(["shop", "docs", "."]))

    def branch(self) -> None:
        moves = [
            ("checkout", "-q", "-f", "main"),
            ("checkout", "-q", "-f", "topic"),
            ("branch", "-f", "main", "topic"),
            ("branch", "-f", "topic", "main"),
            ("reset", "-q", "--soft", "HEAD~1"),
        ]
        git(self.project, *self.dice.choice(moves))

    def restore(self) -> None:
        git(self.project, "checkout", "-q", "-f", "HEAD", "--", self.dice.choice(["shop", "docs"]))


def clean_outputs(project: ProjectOnDisk) -> dict[str, bytes]:
    """What a clean build of the same files and the same repository writes, by name."""
    where = project.root.parent / "clean"
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(project.root, where, ignore=shutil.ignore_patterns(".ctxbuild"), symlinks=True)
    clean = ProjectOnDisk(where)
    clean.build()
    return clean.outputs()
