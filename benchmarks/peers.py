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


def _aider(measured: Sequence[Measured]) -> dict[str, float]:
    make_io = import_module("aider.io").InputOutput
    make_map = import_module("aider.repomap").RepoMap
    count = counter("o200k_base")

    class Model:
        """What the map asks of a model: to count tokens."""

        def token_count(self, text: str) -> int:
            return count([text])[0]

    recalls: dict[str, list[float]] = {}
    for _, tree, entries in _by_corpus(measured):
        files = sorted(str(path) for path in tree.rglob("*.py"))
        signatures = Signatures(tree)
        for each in entries:
            entry = str(tree / each.entry)
            for budget in each.fills:
                repo_map = make_map(
                    map_tokens=budget,
                    root=str(tree),
                    main_model=Model(),
                    io=make_io(yes=True),
                    map_mul_no_files=1,
                )
                text = repo_map.get_repo_map([entry], [path for path in files if path != entry])
                share = recall((text or "").replace("│", ""), _gold(each), signatures)
                recalls.setdefault(f"{budget}", []).append(share)
    return {budget: round(fmean(shares), 3) for budget, shares in recalls.items()}


def _repomix(measured: Sequence[Measured]) -> dict[str, float]:
    program = shutil.which("repomix")
    if program is None:
        message = "repomix is not installed: npm install --global repomix"
        raise FileNotFoundError(message)
    count = counter("o200k_base")
    recalls, tokens = [], []
    for name, tree, entries in _by_corpus(measured):
        output = tree.with_name("repomix.md")
        options = ["--compress", "--style", "markdown", "--output", str(output)]
        options += ["--include", f"{CORPORA[name].package}/**/*.py"]
        subprocess.run(
            [program, *options], cwd=tree, check=True, capture_output=True, timeout=TIMEOUT
        )
        text, signatures = output.read_text(encoding="utf-8"), Signatures(tree)
        tokens.append(count([text])[0])
        recalls += [recall(text, _gold(each), signatures) for each in entries]
    return {"any": round(fmean(recalls), 3), "median tokens": median(tokens)}
