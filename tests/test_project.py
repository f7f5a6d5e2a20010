"""The project's own files hold what they promise."""

import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINES = (ROOT / "pyproject.toml").read_text().splitlines()


def test_every_ignored_rule_and_every_dependency_says_why():
    start, silent = "", []
    for line in LINES:
        entry = line.strip()
        if entry.endswith("= [") or line.startswith("["):
            start = line
        elif entry.startswith('"') and (
            start.startswith(("ignore =", '"tests', '"benchmarks', '"scripts', "dev ="))
            or start == "dependencies = ["
        ):
            above = LINES[LINES.index(line) - 1].strip()
            if "#" not in line and not above.startswith("#") and "pytest>=" not in line:
                silent.append(line)
    assert silent == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_git_sees_of_the_cache_only_what_explains_it():
    (ROOT / "cache").mkdir(exist_ok=True)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(set(listed.stdout.split())) == ["cache/.gitignore", "cache/README.md"]


def test_the_layers_of_the_contract_are_the_packages_there_are():
    (layers, *_) = PROJECT["tool"]["importlinter"]["contracts"]
    named = {name.strip("()") for name in layers["layers"]}
    there = {
        path.stem
        for path in (ROOT / "ctxbuild").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert there - named <= {"__init__", "__main__"}


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "ctxbuild" / "py.typed").exists()
