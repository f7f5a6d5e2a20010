"""`ask`: a pack for a question that nobody declared."""

from __future__ import annotations

import io
import sys
from hashlib import sha256

import pytest

from ctxbuild.pack.tokens import counter

QUESTION = "What does somebody buy, and what does all of it cost?"


def test_the_answer_is_a_pack_with_what_the_question_is_about(shop):
    found = shop("ask", QUESTION)
    assert found.code == 0
    assert "def total(self) -> Money:" in found.out
    assert "nobody" not in found.out
    assert not (shop.root / ".ctxbuild/packs").exists()


def test_it_needs_no_ctxfile(shop):
    (shop.root / "ctxfile.toml").unlink()
    assert "def total(self) -> Money:" in shop("ask", QUESTION).out


def test_a_budget_is_kept_and_must_be_one(shop):
    text = shop("ask", QUESTION, "--budget", "60").out
    assert counter("o200k_base")([text])[0] <= 60
    assert shop("ask", QUESTION, "--budget", "0").code == 2
    assert shop("ask", "  ").code == 2


def test_a_question_may_come_from_stdin(shop, monkeypatch):
    text = io.TextIOWrapper(io.BytesIO(QUESTION.encode()))
    monkeypatch.setattr(sys, "stdin", text)
    assert shop("ask", "-").out == shop("ask", QUESTION).out


def test_evidence_has_six_keys_exact_counts_and_hashes_of_what_is_shown(shop):
    data = shop("ask", QUESTION, "--format", "evidence", "--budget", "300").data
    assert list(data) == [
        "question",
        "chunks",
        "total_tokens",
        "token_budget",
        "provenance",
        "warnings",
    ]
    assert (data["question"], data["token_budget"]) == (QUESTION, 300)
    text = shop("ask", QUESTION, "--budget", "300").out
    count = counter("o200k_base")
    assert data["total_tokens"] == count([text])[0]
    for chunk in data["chunks"]:
        assert chunk["tokens"] == count([chunk["text"]])[0]
        assert chunk["content_hash"] == f"sha256:{sha256(chunk['text'].encode()).hexdigest()}"
        assert chunk["text"] in text
    keys = ("chunk_id", "path", "symbol", "method", "score", "tokens")
    assert data["provenance"] == [{key: c[key] for key in keys} for c in data["chunks"]]


def test_what_was_dropped_is_a_warning_of_the_evidence(shop):
    data = shop("ask", QUESTION, "--format", "evidence", "--budget", "50").data
    dropped = [line for line in data["warnings"] if line.startswith("dropped ")]
    assert dropped
    assert all("score 0." in line or "score 1." in line for line in dropped)


def test_full_headers_tell_number_place_method_and_score(shop):
    text = shop("ask", QUESTION, "--headers", "full").out
    assert "shop/cart.py :: Cart.total (lines 13-15) [" in text
    assert text.splitlines()[2].startswith("## 1. ")


@pytest.mark.parametrize(("form", "begins"), [("xml", "<pack "), ("json", "{"), ("md", "# answer")])
def test_other_formats(shop, form, begins):
    assert shop("ask", QUESTION, "--format", form).out.startswith(begins)


def test_ranked_units_instead_of_a_pack(shop):
    found = shop("ask", QUESTION, "--rank")
    assert found.out.splitlines()[0].split() == ["rank", "file", "found", "by", "unit"]
    assert "shop/cart.py::Cart.total" in found.out
    ranked = shop("ask", QUESTION, "--rank", "--json").data
    assert ranked["hits"][0]["rank"] == 1


def test_the_plan_has_the_planners_decision(shop):
    data = shop("ask", QUESTION, "--plan").data
    assert data["layers"]["question"]["question"] == QUESTION


def test_a_declared_target_can_be_shown_as_evidence_too(shop):
    data = shop("show", "app", "--format", "evidence").data
    assert (data["question"], data["token_budget"]) == ("", 1000)
    assert data["total_tokens"] == shop("show", "app", "--json").data["tokens"]
    assert [chunk["chunk_id"] for chunk in data["chunks"]][-1] == "shop/app.py"
