"""Presets: what each expands to, how a target fills it, and what it overrides by name."""

from __future__ import annotations

import pytest

from ctxbuild.errors import CtxfileError
from ctxbuild.source import ctxfile


def target(text, name="review"):
    return ctxfile.parse(f"version = 1\n[targets.{name}]\n{text}").target(name)


def mistake(text):
    with pytest.raises(CtxfileError) as caught:
        target(text)
    return str(caught.value)


FULL = """
preset = "review"
files = "src/*.py"
memory = "NOTES.md"
transcript = "session.jsonl"
[[targets.review.layers]]
name = "system"
files = "AGENTS.md"
[[targets.review.layers]]
name = "task"
files = "TASK.md"
"""


def slices(found):
    return [(each.name, each.source, each.budget) for each in found.layers]


def test_review_has_the_named_slices_and_keeps_room_for_the_answer():
    found = target(FULL)
    assert slices(found) == [
        ("system", "files", 2_000),
        ("task", "files", 1_000),
        ("memory", "memory", 2_000),
        ("diff", "diff", 20_000),
        ("files", "files", 15_000),
        ("transcript", "transcript", 40_000),
    ]
    assert (found.budget, found.reserve) == (96_000, 16_000)
    assert sum(each.budget for each in found.layers) == found.budget - found.reserve
    layers = {each.name: each for each in found.layers}
    assert layers["transcript"].option("threshold") == 80_000
    assert layers["diff"].patterns == ("main",)
    assert [name for name, each in layers.items() if each.pin] == ["system", "task"]
    assert (layers["task"].restate, layers["files"].hydrate) == (20, True)
    assert {name: (each.position, each.priority) for name, each in layers.items()} == {
        "system": ("prefix", 90),
        "task": ("prefix", 90),
        "memory": ("suffix", 80),
        "diff": ("prefix", 70),
        "files": ("middle", 30),
        "transcript": ("suffix", 50),
    }


def test_agent_has_a_stable_prefix_the_scene_the_last_turns_and_what_is_long_known():
    found = target(
        'preset = "agent"\nmemory = "NOTES.md"\ntranscript = "s.jsonl"\n'
        '[[targets.review.layers]]\nname = "rules"\nfiles = "AGENTS.md"\n'
    )
    told = [(e.name, e.source, e.budget, e.position, e.priority) for e in found.layers]
    assert told == [
        ("rules", "files", 4_000, "prefix", 90),
        ("memory", "memory", 8_000, "middle", 30),
        ("scene", "diff", 16_000, "suffix", 70),
        ("recent", "transcript", 28_000, "suffix", 50),
    ]
    assert (found.budget, found.reserve) == (64_000, 8_000)
    assert found.layers[2].patterns == ("HEAD",)


def test_what_a_target_does_not_fill_is_left_out():
    assert [each.name for each in target('preset = "review"').layers] == ["diff", "files"]
    assert target('preset = "review"').layers[1].patterns == ()


def test_a_source_key_goes_to_the_first_layer_of_its_source_else_to_one_of_its_own():
    found = target('preset = "review"\ndiff = "HEAD"\nquestion = "why?"\n')
    assert [(each.name, each.patterns) for each in found.layers] == [
        ("diff", ("HEAD",)),
        ("files", ()),
        ("question", ("why?",)),
    ]


def test_a_layer_is_overridden_by_its_name_key_by_key():
    found = target(
        'preset = "review"\n[[targets.review.layers]]\nname = "diff"\nbudget = 30_000\n'
        '[[targets.review.layers]]\nname = "files"\nentry = "a.py"\npriority = 60\n'
        '[[targets.review.layers]]\nname = "more"\nfiles = "x"\n'
    )
    diff, files, more = found.layers
    assert (diff.patterns, diff.budget, diff.priority) == (("main",), 30_000, 70)
    assert (files.source, files.budget, files.priority, files.hydrate) == (
        "entry", 15_000, 60, True,
    )  # fmt: skip
    assert (more.name, more.budget, more.priority, more.position) == ("more", None, 0, None)


def test_a_source_key_and_other_keys_of_its_layer_go_together():
    found = target(
        'preset = "agent"\ndiff = "main"\ntranscript = "s.jsonl"\n'
        '[[targets.review.layers]]\nname = "recent"\nthreshold = 9_000\n'
        '[[targets.review.layers]]\nname = "scene"\nbudget = 9_000\n'
    )
    told = [(e.name, e.patterns, e.budget, e.position, e.priority) for e in found.layers]
    assert told == [
        ("scene", ("main",), 9_000, "suffix", 70),
        ("recent", ("s.jsonl",), 28_000, "suffix", 50),
    ]
    assert found.layers[1].option("threshold") == 9_000


def test_another_budget_scales_the_slices_and_the_reserve():
    found = target(FULL.replace('"review"\n', '"review"\nbudget = 48_000\n', 1))
    assert [budget for _, _, budget in slices(found)] == [1_000, 500, 1_000, 10_000, 7_500, 20_000]
    assert found.reserve == 8_000
    kept = target('preset = "review"\nbudget = 48_000\nreserve = 1_000\n')
    assert kept.reserve == 1_000


def test_a_target_that_extends_one_with_a_preset_adds_to_it():
    read = ctxfile.parse(
        'version = 1\n[targets.base]\npreset = "review"\nmemory = "N.md"\n'
        '[targets.mine]\nextends = "base"\ndiff = "HEAD"\nbudget = 48_000\n'
        '[targets.other]\nextends = "base"\npreset = "agent"\n'
    )
    assert [each.name for each in read.target("mine").layers] == ["memory", "diff", "files"]
    assert read.target("mine").layers[1].patterns == ("HEAD",)
    assert [each.name for each in read.target("other").layers] == ["scene"]


def test_mistakes_are_named_at_the_line_where_they_are():
    assert mistake('preset = "reviw"') == (
        "ctxfile.toml:3: key 'preset' in target 'review' cannot be 'reviw', did you mean 'review'?"
    )
    assert mistake('preset = "review"\n\nfiles = ["/etc"]').startswith(
        "ctxfile.toml:5: '/etc' in 'files' is absolute"
    )
    text = 'preset = "review"\n[[targets.review.layers]]\nname = "diff"\nbudget = 90_000\n'
    assert mistake(text) == (
        "ctxfile.toml:6: layer 'diff' of target 'review' has budget 90000, its target only 80000"
    )
    assert mistake('preset = "review"\n[[targets.review.layers]]\nname = "x"\n').startswith(
        "ctxfile.toml:4: layer 3 of target 'review' has none of"
    )
