"""Tables and JSON of results."""

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.build import edit_body, module_text
from benchmarks.table import Row, render, write_json

ROWS = [
    Row("null build", 0.1234, "s", against="git status", ratio=1.5, limit=3.0, note="0.082 s"),
    Row("peak", 312.4, "MB", limit=300.0),
    Row("wrong", 0.1, "s", ratio=1.0, limit=2.0, right=False),
    Row("files", 20_000, ""),
]


def test_a_table_shows_measures_ratios_and_goals():
    assert render("build", ROWS) == (
        "build\n"
        "-----\n"
        "            measured  ratio   goal\n"
        "null build   0.123 s   1.50    ≤ 3  yes  against git status; 0.082 s\n"
        "peak        312.4 MB         ≤ 300  NO\n"
        "wrong        0.100 s   1.00    ≤ 2  NO\n"
        "files         20,000\n"
    )


def test_the_json_holds_every_number(tmp_path):
    write_json(tmp_path / "out.json", {"build": ROWS})
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["schema"] == "ctxbuild.benchmarks/1"
    assert [row["met"] for row in data["benchmarks"]["build"]] == [True, False, False, None]
    assert data["benchmarks"]["build"][0] == {
        "what": "null build",
        "value": 0.1234,
        "unit": "s",
        "against": "git status",
        "ratio": 1.5,
        "limit": 3.0,
        "note": "0.082 s",
        "right": True,
        "met": True,
    }


def test_an_unknown_benchmark_is_refused_by_name(capsys):
    with pytest.raises(SystemExit):
        main(["biuld"])
    assert "unknown benchmark 'biuld'; there are: build" in capsys.readouterr().err


def test_a_body_edit_changes_one_function_and_still_parses():
    text = "def f(x: int) -> int:\n    y = x\n    return y\n\n\ndef g():\n    return 2\n"
    edited = edit_body(text, 7)
    assert edited == text.replace("    return y\n", "    edited = 7\n    return y\n")
    compile(edited, "edited", "exec")
    with pytest.raises(ValueError, match="no function body"):
        edit_body("x = 1\n", 1)


def test_synthetic_modules_are_python_and_differ():
    texts = {module_text(package, module) for package in range(3) for module in range(5)}
    assert len(texts) == 15
    for text in texts:
        compile(text, "module", "exec")
