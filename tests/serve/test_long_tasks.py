"""What holds a long task together: layers give way in order, findings outlive turns."""

from __future__ import annotations

import json

import pytest

import ctxbuild
from ctxbuild.pack.assembling import measured
from ctxbuild.pack.tokens import counter
from tests.serve.conftest import ProjectOnDisk
from tests.serve.test_reviews import large, talk

COUNT = counter("o200k_base")
AGENT = """version = 1
[targets.agent]
preset = "agent"
budget = {budget}
reserve = 1000
transcript = "session.jsonl"
memory = "NOTES.md"
[[targets.agent.layers]]
name = "rules"
files = "AGENTS.md"
[[targets.agent.layers]]
name = "memory"
budget = 2000
[[targets.agent.layers]]
name = "scene"
budget = {scene}
[[targets.agent.layers]]
name = "recent"
budget = 4000
threshold = 3000
"""
NOTES = "".join(f"- pkg/m{n}.py: found loss number {n}; severity low\n" for n in range(60))


def plan_of(project, name):
    return json.loads(project.outputs()[f"{name}.plan.json"])


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    project = ProjectOnDisk(tmp_path_factory.mktemp("agent") / "root")
    large(project)
    talk(project, 6)
    project.put("NOTES.md", NOTES)
    return project


def shares(project, budget, scene=6_000):
    """Tokens of each layer's blocks in a pack of this budget."""
    project.put("ctxfile.toml", AGENT.format(budget=budget, scene=scene))
    result = project.build()
    assert not result.failed, [t.error for t in result.targets]
    plan = plan_of(project, "agent")
    assert COUNT([project.pack("agent")])[0] == plan["tokens"] <= budget - 1000
    return {each["layer"]: each["tokens"] for each in plan["schedule"]}


def test_memory_gives_way_first_then_the_turns_then_the_scene_and_the_rules_never(agent):
    ample = shares(agent, 16_000)
    assert all(ample.values())
    tight = shares(agent, 9_000)
    assert tight["memory"] < ample["memory"] // 2
    assert tight["recent"] > ample["recent"] // 2
    tighter = shares(agent, 7_000)
    assert tighter["memory"] == 0
    assert tighter["recent"] < tight["recent"] // 2
    assert tighter["scene"] == tight["scene"]
    tightest = shares(agent, 5_100, scene=3_000)
    assert 0 < tightest["scene"] < tighter["scene"]
    assert {each["rules"] for each in (ample, tight, tighter, tightest)} == {ample["rules"]}
    assert "Findings as one line each.\n" in agent.pack("agent")


def test_every_block_says_its_kind_its_title_its_form_and_its_tokens(agent):
    shares(agent, 16_000)
    pack = json.loads(agent.outputs()["agent.pack.json"])
    told = {"layer", "section", "unit", "form", "tokens", "text"}
    assert all(told <= block.keys() for block in pack["blocks"])
    assert {block["layer"] for block in pack["blocks"]} == {"rules", "memory", "scene", "recent"}
    assert {block["form"] for block in pack["blocks"]} >= {"full"}
    slices = {each["layer"]: each["budget"] for each in plan_of(agent, "agent")["schedule"]}
    assert slices["memory"] == 2000
    dropped = [c for c in plan_of(agent, "agent")["candidates"] if c["verdict"] == "dropped"]
    assert all(c["why"] for c in dropped)


@pytest.mark.parametrize("budget", [3_000, 8_000, 60_000])
def test_what_is_optional_takes_nothing_from_the_tiers_above_it(agent, budget):
    agent.put("session.jsonl", "")
    forms = []
    for more in ("", "neighbours = true\nhistory = 3\n"):
        agent.put(
            "ctxfile.toml",
            f'version = 1\n[targets.d]\nbudget = {budget}\ndiff = "HEAD"\n{more}',
        )
        assert not agent.build().failed
        forms.append({c["unit"]: c["form"] for c in plan_of(agent, "d")["candidates"]})
    without, asked = forms
    assert {unit: asked[unit] for unit in without} == without
    optional = [form for unit, form in asked.items() if unit not in without]
    assert optional
    assert any(optional) == (budget > 3_000)
    assert sum("@hunk-" in unit for unit in without) >= 26


def session(count):
    """A reviewer that reads part after part and notes what it found in each."""
    messages = [{"role": "user", "content": "Review all parts. Write findings as one line each."}]
    for number in range(count):
        finding = f"- pkg/m{number}.py: found loss number {number}; severity low; suggest keep it"
        rows = "".join(f"value_{row} = {row} * {number}\n" for row in range(60))
        use = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "Read",
            "input": {"file_path": f"pkg/m{number}.py"},
        }
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": rows}
        messages += [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": finding},
            {"role": "user", "content": f"Next, please: part {number + 1}."},
        ]
    return messages


def findings_in(text):
    return {
        number for number in range(100) if f"found loss number {number}; severity low; s" in text
    }


def test_compaction_and_notes_state_the_findings_of_plain_appending_in_fewer_tokens(shop):
    shop.put("NOTES.md", "# Notes\n")
    shop.put(
        "ctxfile.toml",
        "version = 1\n[targets.review]\nbudget = 9000\nreserve = 1000\n"
        '[[targets.review.layers]]\nname = "session"\ntranscript = "s.jsonl"\nbudget = 5000\n'
        "threshold = 3000\nrecent = 4\n"
        '[[targets.review.layers]]\nname = "memory"\nmemory = "NOTES.md"\nbudget = 2500\n'
        'position = "suffix"\n',
    )
    whole = session(30)
    appended = kept = 0
    for end in range(1, len(whole) + 1, 4):
        naive = whole[:end]
        for message in naive[max(0, end - 4) :]:
            said = message["content"]
            if message["role"] == "assistant" and isinstance(said, str):
                ctxbuild.remember(said, project=shop.root)
        sent = ctxbuild.assemble("review", naive, project=shop.root)
        before, after = json.dumps(naive), json.dumps(sent)
        assert findings_in(after) == findings_in(before)
        appended += measured(naive, COUNT)
        kept += measured(sent, COUNT)
        assert measured(sent, COUNT) <= 8_000
    assert len(findings_in(before)) == 30
    assert kept < appended * 0.6
