"""What an edit to documents rebuilds: exactly the packets that use the section."""

from __future__ import annotations

import pytest

from tests.chatserver import Reply
from tests.serve.conftest import ProjectOnDisk

GUIDE = """\
# Guide

## Keys

Keys are strings. Never print a key. Read [more](#renewal) about them.

## Pages

Lists come in pages of ten.

## Weather

It rains.
"""
FILLER = "".join(
    f"\n## Aside {n}\n\nNothing of interest is said in aside {n}.\n" for n in range(30)
)
CTXFILE = """\
version = 1

[targets.keys]
docs = "docs/*.md"
task = "keys"

[targets.pages]
docs = "docs/*.md"
task = "pages"
"""


@pytest.fixture
def manual(tmp_path):
    project = ProjectOnDisk(tmp_path / "root")
    project.put("ctxfile.toml", CTXFILE)
    project.put("docs/guide.md", GUIDE + FILLER)
    assert project.ran() == [
        "document(docs/guide.md)",
        "plan(keys)",
        "pack(keys)",
        "plan(pages)",
        "pack(pages)",
    ]
    return project


def test_an_edit_rebuilds_only_the_packets_that_show_the_section(manual):
    manual.replace("docs/guide.md", "Never print a key.", "Never log a key.")
    assert manual.ran() == ["document(docs/guide.md)", "plan(keys)", "pack(keys)"]
    assert "Never log a key." in manual.pack("keys")


def test_an_edit_that_no_packet_shows_plans_nothing(manual):
    manual.replace("docs/guide.md", "It rains.", "It snows.")
    assert manual.ran() == ["document(docs/guide.md)"]


def test_sections_that_move_rewrite_lines_and_plan_nothing(manual):
    before = manual.outputs()
    manual.replace("docs/guide.md", "# Guide\n", "# Guide\n\n\n")
    assert manual.ran() == ["document(docs/guide.md)"]
    after = manual.outputs()
    assert after["keys.md"] == before["keys.md"]
    assert after["keys.pack.json"] != before["keys.pack.json"]


def test_a_section_that_a_link_now_leads_to_is_noticed(manual):
    assert "renewal" not in manual.pack("keys").partition("## Provenance")[2]
    text = (manual.root / "docs/guide.md").read_text()
    manual.put("docs/guide.md", text + "\n## Renewal\n\nA key is renewed every year.\n")
    assert "plan(keys)" in manual.ran()
    assert "A key is renewed every year." in manual.pack("keys")


def test_a_document_that_comes_and_goes_is_noticed_and_nothing_stays_of_it(manual):
    before = manual.outputs()
    manual.put("docs/new.md", "# New\n\n## Keys of old\n\nOld keys are void.\n")
    assert manual.ran("keys") == ["document(docs/new.md)", "plan(keys)", "pack(keys)"]
    assert "Old keys are void." in manual.pack("keys")
    manual.remove("docs/new.md")
    manual.build()
    assert manual.outputs() == before


def test_an_incremental_build_is_a_clean_build(manual, tmp_path):
    manual.replace("docs/guide.md", "pages of ten", "pages of twenty")
    manual.build()
    manual.rename("docs/guide.md", "docs/manual.md")
    manual.put("docs/more.md", "# More\n\n## Keys\n\nKeys expire.\n")
    manual.build()
    assert manual.outputs() == manual.clean_outputs(tmp_path / "clean")


def test_another_rule_of_the_ctxfile_builds_nothing(manual):
    text = (manual.root / "ctxfile.toml").read_text()
    manual.put("ctxfile.toml", text + "[[targets.keys.rules]]\npattern = 'x'\n")
    assert manual.ran() == []


def test_a_models_answers_are_kept_and_another_model_is_asked_anew(
    manual, chat_server, monkeypatch
):
    def answer(asked):
        if asked["response_format"]["json_schema"]["name"] == "choice":
            listed = asked["messages"][-1]["content"].partition("can be read:\n")[2]
            (line,) = [row for row in listed.splitlines() if "Weather" in row] or [""]
            return {"number": int(line.partition(".")[0] or 1)}
        return {"yes": "Weather" in asked["messages"][-1]["content"], "why": ""}

    chat_server.answer = answer
    text = (manual.root / "ctxfile.toml").read_text()
    manual.put("ctxfile.toml", text.replace('task = "keys"', 'task = "keys"\npolicy = "model"'))
    assert manual.ran("keys") == ["plan(keys)", "pack(keys)"]
    assert "It rains." in manual.pack("keys")
    asked = len(chat_server.asked)
    assert manual.ran("keys") == []
    manual.replace("docs/guide.md", "Lists come", "Long lists come")
    manual.build("keys")
    assert len(chat_server.asked) == asked
    monkeypatch.setenv("CTXBUILD_MODEL_NAME", "large")
    assert "plan(keys)" in manual.ran("keys")
    assert chat_server.asked[-1]["model"] == "large"


def test_a_model_that_comes_back_is_asked_again(manual, chat_server, monkeypatch):
    url = chat_server.url
    monkeypatch.setenv("CTXBUILD_MODEL_URL", "http://127.0.0.1:9/v1")
    text = (manual.root / "ctxfile.toml").read_text()
    manual.put("ctxfile.toml", text.replace('task = "keys"', 'task = "keys"\npolicy = "model"'))
    result = manual.build("keys")
    assert "chosen by rules instead" in result.targets[0].warnings[0]
    assert manual.ran("keys") == []
    chat_server.replies = [Reply({"number": 0})]
    monkeypatch.setenv("CTXBUILD_MODEL_URL", url)
    result = manual.build("keys")
    assert "plan(keys)" in result.ran
    assert not [w for w in result.targets[0].warnings if "rules instead" in w]


def test_the_three_formats_hold_the_same_items_within_the_budget(manual):
    import json
    import xml.etree.ElementTree as ET

    text = (manual.root / "ctxfile.toml").read_text()
    manual.put(
        "ctxfile.toml",
        text.replace(
            'task = "keys"', 'task = "keys"\nbudget = 250\nformats = ["md", "xml", "json"]'
        ),
    )
    manual.build("keys")
    made = manual.outputs()
    tree = ET.fromstring(made["keys.xml"])
    assert [(part.get("section"), [s.get("id") for s in part]) for part in tree] == [
        ("constraints", ["keys"]),
        ("facts", ["keys"]),
        ("definitions", ["keys"]),
        ("provenance", ["docs/guide.md"]),
    ]
    parts = json.loads(made["keys.json"])["parts"]
    assert parts[0] == {
        "section": "constraints",
        "source": "keys",
        "text": "2. [MUST NOT] Never print a key.\n",
    }
    assert [part["section"] for part in parts] == [
        "constraints",
        "facts",
        "definitions",
        "provenance",
    ]
