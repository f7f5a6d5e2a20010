"""The packets benchmark on a manual of its own."""

from __future__ import annotations

import json

from benchmarks import packets

MANUAL = """\
# Manual

## API keys

Send the key in a header.

## Pagination

Lists come in pages.
""" + "".join(f"\n## Part {n}\n\nThis part {n} tells of something else.\n" for n in range(20))


def test_a_row_per_manual_and_task_tells_tokens_share_and_what_is_missing(tmp_path, capsys):
    (tmp_path / "manual.md").write_text(MANUAL)
    (tmp_path / "other.md").write_text(MANUAL.replace("Pagination", "Paging"))
    assert packets.main([str(tmp_path), "--json", str(tmp_path / "out.json")]) == 0
    rows = json.loads((tmp_path / "out.json").read_text())["benchmarks"]["packets"]
    told = {row["what"]: row for row in rows}
    keys = told["manual: how to authenticate with an API key"]
    assert keys["right"]
    assert keys["note"] == "API keys"
    assert keys["ratio"] < 0.3
    assert told["manual: how pagination works"]["note"] == "Pagination"
    assert "packets" in capsys.readouterr().out


def test_a_directory_without_manuals_is_said(tmp_path, capsys):
    assert packets.main([str(tmp_path)]) == 1
    assert "no manual" in capsys.readouterr().err
