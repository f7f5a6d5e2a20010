"""Large real changes under a ceiling: what a `diff` layer shows of commits of a repository.

    python -m benchmarks reviews REPOSITORY [--files 20] [--commits 12] [--budget 20000]

Takes the last commits of a git repository that change at least so many Python files,
and builds, for each, the pack of its change as the commit's tree has it. Counted anew
and compared with what `git diff` says: tokens, files of which the pack shows a hunk,
changed lines that it shows. Beside it stands what the same number of tokens holds of
the plain output of `git diff`, from its beginning.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Row, render
from ctxbuild.pack.tokens import counter
from ctxbuild.serve.past import PastSession
from ctxbuild.source import ctxfile

_MOST_FILES = 400


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one commit.

    Attributes:
        files: source files that `git diff` says changed, without deleted ones.
        plain: tokens of its output.
        tokens: of the pack, counted anew.
        shown, lines: share of files with a hunk in the pack, and of changed lines.
        head_shown, head_lines: the same of the beginning of the plain diff.
        named: share of files that the pack at least names.
    """

    commit: str
    files: int
    plain: int
    tokens: int
    shown: float
    lines: float
    named: float
    head_shown: float
    head_lines: float
    seconds: float


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark and prints its tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks reviews")
    parser.add_argument("repository", type=Path, help="a git repository, also a bare one")
    parser.add_argument("--files", type=int, default=20, help="least changed files of a commit")
    parser.add_argument("--commits", type=int, default=12, help="how many commits")
    parser.add_argument("--budget", type=int, default=20_000, help="tokens of the pack")
    options = parser.parse_args(arguments)
    outcomes = []
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "repository"
        command = ["git", "clone", "-q", "--shared", "--no-checkout"]
        subprocess.run([*command, str(options.repository), str(root)], check=True)
        for commit in large_commits(root, options.files, options.commits):
            outcomes.append(measure(root, commit, options.budget))
            print(outcomes[-1], file=sys.stderr)
    if not outcomes:
        print(f"no commit of {options.repository} changes {options.files} files", file=sys.stderr)
        return 1
    print(render(f"reviews of {options.repository.name}", rows_of(outcomes, options.budget)))
    return 0


def git(root: Path, *arguments: str) -> str:
    """Git's output."""
    done = subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def large_commits(root: Path, least: int, most: int) -> list[str]:
    """The latest commits, merges left out, that change so many Python files."""
    found: list[str] = []
    said = git(root, "log", "--no-merges", "--diff-filter=d", "--format=%x01%H", "--name-only")
    for record in said.split("\x01"):
        commit, _, paths = record.partition("\n")
        count = sum(path.endswith(".py") for path in paths.splitlines())
        if least <= count <= _MOST_FILES:
            found.append(commit)
        if len(found) == most:
            break
    return found


def changed_lines(diff: str) -> dict[str, set[str]]:
    """Path to the lines, with their marks, that a diff adds or removes; blank ones left out."""
    found: dict[str, set[str]] = {}
    path = ""
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            path = line.rpartition(" b/")[2]
        elif line[:1] in "+-" and line[:4] not in ("+++ ", "--- ") and line[1:].strip():
            found.setdefault(path, set()).add(line)
    return found


def measure(root: Path, commit: str, budget: int) -> Outcome:
    """One commit's pack beside the plain diff."""
    shutil.rmtree(root / ".ctxbuild", ignore_errors=True)
    text = f'version = 1\n[targets.d]\ndiff = "{commit}~1"\nbudget = {budget}\n'
    project = ctxfile.parse(text, str(root / "ctxfile.toml"))
    started = time.perf_counter()
    session = PastSession(project, commit, workers=1)
    pack, _, files = session.artifact("d")
    seconds = time.perf_counter() - started
    count = counter("o200k_base")
    kept = ("--diff-filter=d", "--", "*.py")  # a deleted file is a line by design
    plain = git(root, "diff", "--no-color", "-M", f"{commit}~1", commit, *kept)
    wanted = changed_lines(plain)
    blocks = json.loads(files["d.pack.json"])["blocks"]
    ours: dict[str, set[str]] = {}
    for block in blocks:
        if block["section"] == "hunks" and block["form"] != "name":
            ours.setdefault(block["path"], set()).update(block["text"].splitlines())
    named = {path for path in wanted if re.search(rf"(?m)^(?:# |- ){re.escape(path)}\b", pack.text)}
    head = changed_lines(beginning(plain, pack.tokens))
    shown, lines = covered(wanted, ours)
    head_shown, head_lines = covered(wanted, head)
    return Outcome(
        commit[:10],
        len(wanted),
        count([plain])[0],
        count([pack.text])[0],
        shown,
        lines,
        len(named) / len(wanted),
        head_shown,
        head_lines,
        seconds,
    )


def beginning(text: str, tokens: int) -> str:
    """As many lines of a text as so many tokens hold."""
    lines = text.splitlines(keepends=True)
    total = 0
    for place, cost in enumerate(counter("o200k_base")(lines)):
        total += cost
        if total > tokens:
            return "".join(lines[:place])
    return text


def covered(wanted: dict[str, set[str]], shown: dict[str, set[str]]) -> tuple[float, float]:
    """The share of files of which something is shown, and of their changed lines."""
    files = sum(bool(lines & shown.get(path, set())) for path, lines in wanted.items())
    seen = sum(len(lines & shown.get(path, set())) for path, lines in wanted.items())
    return files / len(wanted), seen / sum(map(len, wanted.values()))


def rows_of(outcomes: Sequence[Outcome], budget: int) -> list[Row]:
    """The results as rows."""
    most = max(each.tokens for each in outcomes)
    middle = statistics.median
    return [
        Row("commits", len(outcomes), "", note=f"{min(e.files for e in outcomes)} to "
            f"{max(e.files for e in outcomes)} Python files each"),
        Row("most tokens of a pack", most, "tokens", f"budget {budget}", most / budget, 1.0),
        Row("plain diff, median", middle(e.plain for e in outcomes), "tokens"),
        Row("files shown, mean", statistics.fmean(e.shown for e in outcomes), "",
            note=f"of the plain diff {statistics.fmean(e.head_shown for e in outcomes):.2f}"),
        Row("files shown, least", min(e.shown for e in outcomes), "",
            note=f"of the plain diff {min(e.head_shown for e in outcomes):.2f}"),
        Row("files named, least", min(e.named for e in outcomes), ""),
        Row("changed lines shown, mean", statistics.fmean(e.lines for e in outcomes), "",
            note=f"of the plain diff {statistics.fmean(e.head_lines for e in outcomes):.2f}"),
        Row("first build, median", middle(e.seconds for e in outcomes), "s"),
    ]  # fmt: skip
