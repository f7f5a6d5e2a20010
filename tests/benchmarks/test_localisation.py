"""The benchmark of localisation, on a repository of two files."""

from __future__ import annotations

import json

from benchmarks import localisation

LID = (
    "class Lid:\n"
    "    def open(self):\n"
    '        """Opens the lid of the box."""\n'
    "        return self.turn()\n\n"
    "    def turn(self):\n"
    "        return 1\n"
)
ROW = {
    "id": "box-1",
    "question": "The lid of the box does not open",
    "gold": [{"file": "box/lid.py", "symbols": ["box/lid.py:Lid.open"]}],
}


def test_a_table_tells_recall_of_files_and_of_symbols_in_full(tmp_path, capsys):
    tree = tmp_path / "trees" / "box-1"
    (tree / "box").mkdir(parents=True)
    (tree / "box" / "lid.py").write_text(LID)
    (tree / "box" / "rain.py").write_text("def rain():\n    return 2\n")
    questions = tmp_path / "questions.jsonl"
    missing = {**ROW, "id": "box-2"}
    questions.write_text(f"{json.dumps(ROW)}\n{json.dumps(missing)}\n")
    rows = tmp_path / "rows.jsonl"
    arguments = [str(questions), "--repositories", str(tmp_path / "trees"), "--json", str(rows)]
    assert localisation.main(arguments) == 0
    said = capsys.readouterr()
    assert "box-2: no checkout" in said.err
    table = said.out.splitlines()
    assert table[:5] == [
        "1 questions",
        "",
        "| file recall | any gold file | all gold files |",
        "|---|---:|---:|",
        "| @1 | 100.0 % | 100.0 % |",
    ]
    assert [line.split("|")[2].strip() for line in table[-4:]] == ["100.0 %"] * 4
    (row,) = [json.loads(line) for line in rows.read_text().splitlines()]
    assert (row["id"], row["file_rank"], row["whole"]["2000"]) == ("box-1", 1, True)


def test_a_symbol_is_in_full_only_if_every_line_of_it_stands_there(tmp_path):
    (tmp_path / "lid.py").write_text(LID)
    shown = "# lid.py\nclass Lid:\n    def turn(self):\n        return 1\n"
    assert localisation.in_full(tmp_path, "lid.py", "Lid.turn", shown)
    assert not localisation.in_full(tmp_path, "lid.py", "Lid.open", shown)
    assert not localisation.in_full(tmp_path, "lid.py", "Lid", shown)
    assert not localisation.in_full(tmp_path, "lid.py", "Lid.close", shown)
