"""Measuring whole processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import measure
from benchmarks.measure import Program, ProgramFailed, Run, alternate, ratio, run, seconds


def python(code: str, cwd, before=None) -> Program:
    return Program([sys.executable, "-c", code], cwd, before)


def run_apart(code: str, cwd, *, watch_memory=False) -> Run:
    """Measures from a process of its own: a child counts what it was forked from, too."""
    script = (
        "import json, sys\nfrom dataclasses import asdict\n"
        "from benchmarks.measure import Program, run\n"
        "from pathlib import Path\n"
        f"program = Program([sys.executable, '-c', {code!r}], Path({str(cwd)!r}), None)\n"
        f"print(json.dumps(asdict(run(program, watch_memory={watch_memory}))))\n"
    )
    root = Path(measure.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    return Run(**json.loads(done.stdout))


def test_a_run_has_its_output_time_and_memory(tmp_path):
    done = run_apart("import os; print(os.getcwd()); b = bytearray(200_000_000)", tmp_path)
    assert done.output == f"{tmp_path}\n"
    assert 0 < done.seconds < 30
    if sys.platform != "win32":
        assert 200e6 < done.peak < 300e6
    assert done.tree == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of children")
def test_the_memory_of_children_adds_up(tmp_path):
    child = "b = b'x' * 50_000_000; import time; time.sleep(0.4)"
    code = (
        "import subprocess, sys\n"
        f"all = [subprocess.Popen([sys.executable, '-c', {child!r}]) for _ in range(2)]\n"
        "[each.wait() for each in all]"
    )
    done = run_apart(code, tmp_path, watch_memory=True)
    assert done.peak > 50e6  # the system also counts what the child was forked from
    assert 100e6 < done.tree < 200e6


def test_a_failing_program_is_an_error_with_its_last_words(tmp_path):
    with pytest.raises(ProgramFailed, match="exit code 3\nno such luck"):
        run(python("import sys; print('no such luck', file=sys.stderr); sys.exit(3)", tmp_path))


def test_programs_run_in_turn_after_one_round_of_warming_up(tmp_path):
    order: list[str] = []
    runs = alternate(
        {
            "a": python("print('a')", tmp_path, before=lambda: order.append("a")),
            "b": python("print('b')", tmp_path, before=lambda: order.append("b")),
        },
        rounds=2,
    )
    assert order == ["a", "b"] * 3
    assert {name: [each.output for each in some] for name, some in runs.items()} == {
        "a": ["a\n"] * 2,
        "b": ["b\n"] * 2,
    }


def test_the_ratio_is_the_median_of_the_rounds(monkeypatch):
    slow = [Run(value, 0, 0, "") for value in (2.0, 90.0, 4.0)]
    fast = [Run(value, 0, 0, "") for value in (1.0, 30.0, 2.0)]
    assert ratio(slow, fast) == 2.0
    assert seconds(slow) == 4.0
    assert measure.ratio(fast, fast) == 1.0
