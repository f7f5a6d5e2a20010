"""Artifacts read back from their files."""

from __future__ import annotations

import json

import pytest

from ctxbuild.compare.artifact import Artifact, data_of, parse, text_of
from ctxbuild.compare.prefix import common_prefix
from ctxbuild.errors import UsageError


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a.pack.json: is not a pack: it is not JSON"),
        (b"# app\n", "is not a pack: it is not JSON"),
        (b"[" * 100_000, "is not a pack"),
        (b"[]", "is not a pack: it has no schema"),
        (b'{"schema": "ctxbuild.plan/1"}', "is not a pack: it has no schema"),
        (b'{"schema": "ctxbuild.pack/9"}', "has the schema 'ctxbuild.pack/9', this ctxbuild reads"),
        (b'{"schema": "ctxbuild.pack/1"}', "is not a whole pack"),
        (b'{"schema": "ctxbuild.pack/1", "blocks": 3}', "is not a whole pack"),
        (b"\xff\xfe", "is not a pack"),
    ],
)
def test_what_is_no_pack_is_refused(data, message):
    with pytest.raises(UsageError, match=message):
        parse(data, "a.pack.json")


def raw_of(artifact: Artifact):
    head = artifact.head
    return {
        "schema": "ctxbuild.pack/1",
        **{name: getattr(head, name) for name in ("target", "digest", "tokenizer")},
        **{name: getattr(head, name) for name in ("budget", "reserve", "tokens")},
        "blocks": [data_of(each) for each in artifact.blocks],
    }


def test_an_artifact_survives_its_file(make):
    block, artifact = make
    pack = artifact(block("a.py::f"), block("b.py", lines=None, reasons=()))
    assert parse(json.dumps(raw_of(pack)).encode(), "x") == pack


def test_a_unit_that_stands_twice_is_refused(make):
    block, artifact = make
    raw = raw_of(artifact(block("a.py"), block("a.py")))
    with pytest.raises(UsageError, match=r"unit 'a\.py' stands in it twice"):
        parse(json.dumps(raw).encode(), "x")


def test_a_form_that_nobody_knows_is_refused(make):
    block, artifact = make
    with pytest.raises(UsageError, match="no form is called 'poem'"):
        parse(json.dumps(raw_of(artifact(block("a.py", form="poem")))).encode(), "x")


def test_the_text_of_a_pack_that_was_tampered_with_is_not_told(make):
    block, artifact = make
    assert text_of(artifact(block("a.py"))) is None


@pytest.mark.parametrize(
    ("one", "other", "prefix"),
    [("", "a", ""), ("abc", "abd", "ab"), ("ab", "abc", "ab"), ("x", "y", ""), ("äö", "äü", "ä")],
)
def test_the_longest_common_prefix(one, other, prefix):
    assert common_prefix(one, other) == common_prefix(other, one) == prefix
