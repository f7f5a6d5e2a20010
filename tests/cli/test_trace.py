"""`ctxbuild trace` and `ctxbuild diff` of packets."""

from __future__ import annotations

import pytest

GUIDE = """\
# Guide

## Keys

Never print a key.

### Making keys

Make a key on the page of keys.

## Weather

It rains.
"""


@pytest.fixture
def manual(empty):
    return empty.write(
        {
            "ctxfile.toml": 'version = 1\n[targets.keys]\ndocs = "docs/*.md"\ntask = "keys"\n'
            '[targets.code]\nfiles = "docs/*.md"\n',
            "docs/guide.md": GUIDE,
        }
    )


def test_a_trace_has_every_item_with_its_source_and_every_step(manual):
    assert (
        manual("trace", "keys").out
        == """\
keys: 65 / 8,000 tokens, 2 items

Constraints
  docs/guide.md, Keys, 1 (line 5): 1. [MUST NOT] Never print a key.

Facts
  docs/guide.md, Keys > Making keys, 1 (line 9): 1. Make a key on the page of keys.

layer docs: read by rules for 'keys', ended: enough
  1. read docs/guide.md#guide; 2 inside; hide: none of the words
  2. read docs/guide.md#keys; 1 inside; keep: key (0.86); go on: 1 left that may matter
  3. read docs/guide.md#making-keys; keep: key (0.94); enough: nothing left promises more
  4. stop enough
"""
    )


@pytest.mark.parametrize("item", ["making-keys@1", "docs/guide.md#making-keys@1", "page of keys"])
def test_an_item_is_traced_by_its_unit_or_its_words(manual, item):
    assert (
        manual("trace", "keys", item).out
        == """\
docs/guide.md#making-keys@1: kept
  source: docs/guide.md, Keys > Making keys, 1 (line 9)
  in: Facts, 11 tokens
  section kept: key
  step 1: expanded docs/guide.md#guide
  step 2: expanded docs/guide.md#keys
  step 3: keep: key (0.94)
  | 1. Make a key on the page of keys.
"""
    )


def test_what_was_left_out_is_traced_too(manual):
    assert (
        manual("trace", "keys", "guide").out
        == """\
docs/guide.md#guide: dropped, not-relevant: none of the words
  source: docs/guide.md
  step 1: hide: none of the words
"""
    )


def test_json_has_the_same(manual):
    data = manual("trace", "keys", "--json").data
    assert [item["unit"] for item in data["items"]] == [
        "docs/guide.md#keys@1",
        "docs/guide.md#making-keys@1",
    ]
    assert data["items"][0]["lines"] == [5, 5]
    assert data["readings"][0]["steps"][1]["read"] == "docs/guide.md#keys"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["keys", "makin-keys"], "has no item 'makin-keys': did you mean 'making-keys@1'?"),
        (["code"], "target 'code' holds no packet"),
        (["kees"], "did you mean 'keys'"),
    ],
)
def test_what_is_not_there_ends_with_2_and_a_suggestion(manual, arguments, message):
    found = manual("trace", *arguments)
    assert found.code == 2
    assert message in found.err


def test_a_difference_between_two_compiles_is_told_item_by_item(manual):
    manual("build")
    (manual.root / "before.pack.json").write_bytes(
        (manual.root / ".ctxbuild/packs/keys.pack.json").read_bytes()
    )
    manual.edit("docs/guide.md", "Never print a key.", "Never print a key. Always lock keys away.")
    out = manual("diff", "before.pack.json", "keys").out
    assert out.splitlines()[1:] == [
        "+ docs/guide.md#keys@2: added as full, +11 tokens",
    ]
