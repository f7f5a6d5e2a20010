"""Other tools over the same entries: aider's repository map, and repomix with `--compress`.

Neither is a dependency; what is not installed is skipped with a message. They are
counted generously: a definition stands in their output if its `def` or `class` line
does, below the right path, whichever class it is in.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from benchmarks.corpus import CORPORA, source
from benchmarks.signatures import Signatures
from ctxbuild.pack.tokens import counter

if TYPE_CHECKING:
    from benchmarks.precision import Measured

Unit = tuple[str, str]

TIMEOUT = 600.0
_HEADER = re.compile(r"(?:async )?(?:def|class) \w+")
_PATH = re.compile(r"^(?:## File: )?([\w./-]+\.pyi?):?$")


def compare(measured: Sequence[Measured]) -> dict[str, Any]:
    """Mean recall of the peers, over the entries that were measured.

    Returns:
        Per peer, per budget (for repomix: "any") its recall; a note for what was skipped.
    """
    found: dict[str, Any] = {}
    for name, peer in (("aider repo map", _aider), ("repomix --compress", _repomix)):
        try:
            found[name] = peer(measured)
        except (ImportError, FileNotFoundError) as error:
            found[name] = f"skipped: {error}"
        print(f"{name}: {found[name]}", file=sys.stderr)
    return found


def recall(text: str, gold: Sequence[Unit], signatures: Signatures) -> float:
    """The share of some definitions whose header line stands in a text below their path."""
    lines: dict[str, set[str]] = {}
    path = ""
    for row in text.splitlines():
        if heading := _PATH.match(row.strip()):
            path = heading[1]
        elif header := _HEADER.search(row):
            lines.setdefault(path, set()).add(header[0])
    held = 0
    for where, name in gold:
        header = _HEADER.search(signatures.of(where, name))
        held += header is not None and header[0] in lines.get(where, ())
    return held / len(gold)


def _by_corpus(measured: Sequence[Measured]) -> Iterator[tuple[str, Path, list[Measured]]]:
    """Each corpus with a copy of its tree, in which a tool may leave what it likes."""
    for name in dict.fromkeys(each.corpus for each in measured):
        with tempfile.TemporaryDirectory(prefix="ctxbuild-peers-") as place:
            tree = Path(place).resolve() / name
            shutil.copytree(source(name), tree)
            yield name, tree, [each for each in measured if each.corpus == name]


def _gold(each: Measured) -> list[Unit]:
    units = (unit.partition("::") for unit in each.used)
    return [(path, name) for path, _, name in units]


class _Model:
    """What aider's map asks of a model: to count tokens."""

    def token_count(self, text: str) -> int:
        return counter("o200k_base")([text])[0]


def aider_map(tree: Path, entry: str, budget: int) -> str:
    """The map that aider sends along with a file.

    Args:
        tree: what is mapped; aider leaves a cache there.
        entry: the file, relative to it.
        budget: tokens.

    Raises:
        ImportError: aider is not installed.
    """
    make_io = import_module("aider.io").InputOutput
    make_map = import_module("aider.repomap").RepoMap
    repo_map = make_map(
        map_tokens=budget,
        root=str(tree),
        main_model=_Model(),
        io=make_io(yes=True),
        map_mul_no_files=1,
    )
    chat = str(tree / entry)
    others = [path for path in sorted(map(str, tree.rglob("*.py"))) if path != chat]
    return repo_map.get_repo_map([chat], others) or ""


def repomix(tree: Path, output: Path, *options: str) -> str:
    """What repomix makes of a tree.

    Args:
        tree: where it runs.
        output: the file that it writes.
        options: of its command line.

    Raises:
        FileNotFoundError: it is not installed.
        CalledProcessError: it failed.
    """
    program = shutil.which("repomix")
    if program is None:
        message = "repomix is not installed: npm install --global repomix"
        raise FileNotFoundError(message)
    command = [program, *options, "--output", str(output)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=TIMEOUT)
    return output.read_text(encoding="utf-8")


def _aider(measured: Sequence[Measured]) -> dict[str, float]:
    recalls: dict[str, list[float]] = {}
    for _, tree, entries in _by_corpus(measured):
        signatures = Signatures(tree)
        for each in entries:
            for budget in each.fills:
                text = aider_map(tree, each.entry, budget).replace("│", "")
                share = recall(text, _gold(each), signatures)
                recalls.setdefault(f"{budget}", []).append(share)
    return {budget: round(fmean(shares), 3) for budget, shares in recalls.items()}


def _repomix(measured: Sequence[Measured]) -> dict[str, float]:
    count = counter("o200k_base")
    recalls, tokens = [], []
    for name, tree, entries in _by_corpus(measured):
        options = ["--compress", "--style", "markdown"]
        options += ["--include", f"{CORPORA[name].package}/**/*.py"]
        text, signatures = repomix(tree, tree.with_name("repomix.md"), *options), Signatures(tree)
        tokens.append(count([text])[0])
        recalls += [recall(text, _gold(each), signatures) for each in entries]
    return {"any": round(fmean(recalls), 3), "median tokens": median(tokens)}
