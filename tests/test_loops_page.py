"""The loop that docs/loops.md shows runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxbuild.pack.assembling import measured
from ctxbuild.pack.tokens import counter

PAGE = (Path(__file__).parents[1] / "docs" / "loops.md").read_text(encoding="utf-8")


def block(language: str, beginning: str) -> str:
    """The block of the page that begins like this."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (text,) = [each for each in found if each.startswith(beginning)]
    return text


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "ctxfile.toml").write_text(block("toml", "version = 1"))
    (tmp_path / "RULES.md").write_text("# Rules\n\nName the file of every finding.\n")
    (tmp_path / "NOTES.md").write_text("# Notes\n")
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "app.py").write_text("def main(path: str) -> int:\n    return len(path)\n")
    for number in range(12):
        rows = "".join(f"    value_{row} = {number} * {row}\n" for row in range(40))
        (shop / f"part{number}.py").write_text(f"def part{number}():\n{rows}    return value_0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_complete_loop_of_the_page_ends_with_its_answer(project, capsys):
    names: dict = {"__name__": "loop"}
    exec(compile(block("python", "from pathlib import Path"), "loops.md", "exec"), names)
    assert capsys.readouterr().out == "Done: 11 findings.\n"
    count = counter("o200k_base")
    sent, whole = names["sent"], names["messages"]
    assert len(sent) == 13
    assert measured(whole, count, names["SYSTEM"]) > 5000  # naive appending would not fit
    for messages in sent:
        assert measured(messages, count, names["SYSTEM"]) <= 5000
        assert names["messages"][0]["content"] in str(messages)
    notes = (project / "NOTES.md").read_text()
    assert notes.count("found no docstring") == 11
    for number in range(11):
        assert f"shop/part{number}.py: found no docstring" in str(sent[-1])
