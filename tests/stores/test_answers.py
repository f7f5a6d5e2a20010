"""Answers of models on disk."""

from __future__ import annotations

from ctxbuild.stores.answers import FileAnswers


def test_an_answer_is_found_again_by_its_key(tmp_path):
    answers = FileAnswers(tmp_path / "models")
    assert answers.get("ab12") is None
    answers.put("ab12", "yes, é")
    assert FileAnswers(tmp_path / "models").get("ab12") == "yes, é"
    assert answers.get("ab13") is None


def test_a_cache_that_cannot_be_written_or_read_costs_the_answer_only(tmp_path):
    (tmp_path / "models").write_text("a file")
    answers = FileAnswers(tmp_path / "models")
    answers.put("ab12", "yes")
    assert answers.get("ab12") is None
    (tmp_path / "real" / "ab").mkdir(parents=True)
    (tmp_path / "real" / "ab" / "ab12.txt").write_bytes(b"\xff\xfe\xff")
    assert FileAnswers(tmp_path / "real").get("ab12") is None
