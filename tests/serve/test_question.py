"""Question layers in a project that is edited: what runs, and that it equals a clean build."""

from __future__ import annotations

import json
import random
import sqlite3

import pytest

CTXFILE = (
    'version = 1\n[targets.answer]\nquestion = "Where is a value saved to disk?"\nbudget = 700\n'
)


@pytest.fixture
def asked(shop):
    """The shop with a question, built."""
    shop.put("ctxfile.toml", CTXFILE)
    shop.put("docs/guide.md", "# Guide\n\nHow to save.\n\n# Prices\n\nThey go up.\n")
    assert not shop.build().failed
    return shop


def plan(project):
    return json.loads(project.outputs()["answer.plan.json"])


def test_a_question_builds_a_pack_of_what_answers_it(asked):
    text = asked.pack("answer")
    assert "def save(self, key: str, value: int) -> None:" in text
    assert "self.disk.put(key, value)" in text
    planner = plan(asked)["layers"]["question"]["planner"]
    assert set(planner["files"][:2]) == {"shop/disk.py", "shop/store.py"}
    assert [each["method"] for each in planner["strategies"]] == ["lexical"]
    assert "vector" in [each["method"] for each in planner["left_out"]]


def test_asking_again_runs_nothing(asked):
    assert asked.ran() == []


def test_an_edit_of_what_is_not_shown_renders_nothing_though_the_statistics_moved(asked):
    text = asked.pack("answer")
    asked.put(
        "shop/lonely.py",
        "def nobody() -> None:\n    cheese = 'cheese cheese'\n    print(cheese)\n",
    )
    assert asked.ran() == ["facts(shop/lonely.py)"]
    assert asked.pack("answer") == text


def test_code_that_moves_changes_no_pack(asked):
    text = asked.pack("answer")
    asked.put("shop/store.py", "\n\n\n" + (asked.root / "shop/store.py").read_text())
    assert asked.ran() == ["facts(shop/store.py)"]
    assert asked.pack("answer") == text


def test_an_edit_of_the_evidence_builds_it_again(asked):
    asked.replace("shop/store.py", "self.disk.put(key, value)", "self.disk.put(key, value + 1)")
    assert asked.ran() == ["facts(shop/store.py)", "plan(answer)", "pack(answer)"]
    assert "value + 1" in asked.pack("answer")


def test_another_question_parses_nothing(asked):
    asked.put("ctxfile.toml", CTXFILE.replace("saved to disk", "loaded from"))
    assert asked.ran() == ["plan(answer)", "pack(answer)"]
    assert "def load" in asked.pack("answer")


def test_a_file_that_comes_or_goes_is_noticed(asked):
    before = asked.pack("answer")
    asked.put(
        "shop/backup.py",
        '"""Saves to disk."""\n\n\ndef save_value_to_disk(value):\n'
        '    """Where a value is saved to disk."""\n    return value\n',
    )
    asked.build()
    assert "save_value_to_disk" in asked.pack("answer")
    asked.remove("shop/backup.py")
    asked.build()
    assert asked.pack("answer") == before


def test_what_the_layer_leaves_out_is_in_the_plan(asked):
    asked.put("ctxfile.toml", CTXFILE + "cap = 2\n")
    asked.build()
    why = [each.get("why") for each in plan(asked)["candidates"]]
    assert why.count("cap") > 3


def test_any_history_of_edits_gives_the_pack_of_a_clean_build(asked, tmp_path):
    dice = random.Random(6)
    words = ["save", "disk", "value", "price", "load", "cheese", "key"]
    for step in range(12):
        path = f"shop/{dice.choice(['lonely', 'prices', 'store', 'extra', 'more'])}.py"
        if dice.random() < 0.2 and (asked.root / path).exists() and "store" not in path:
            asked.remove(path)
        else:
            some = [dice.choice(words) for _ in range(4)]
            asked.put(
                path,
                f'def {some[0]}_{some[1]}({some[2]}):\n    """{some[3]} it."""\n'
                f"    return {some[2]}\n",
            )
        if step % 3 == 2:
            assert not asked.build().failed
            clean = asked.clean_outputs(tmp_path / "clean")
            assert asked.outputs() == clean


def test_the_index_is_rolled_back_with_the_state(asked):
    """A rehearsal computes everything and keeps nothing."""
    asked.replace("shop/store.py", "Saves a value.", "Saves a wombat.")
    asked.session().build(dry=True)
    state = sqlite3.connect(asked.root / ".ctxbuild" / "state.db")
    held = state.execute("SELECT doc FROM index_terms WHERE term = 'wombat'").fetchall()
    state.close()
    assert held == []
    asked.build()
    assert "wombat" in asked.pack("answer")


def test_cleaning_the_cache_leaves_the_index_as_it_is(asked):
    from ctxbuild.serve.maintenance import collect

    text = asked.pack("answer")
    collect(asked.session())
    asked.put("shop/lonely.py", "def nobody() -> None:\n    return None\n")
    asked.build()
    assert asked.pack("answer") == text


def test_ranks_can_be_had_without_a_pack(asked):
    from ctxbuild.serve.ranking import ranked

    found = ranked(asked.session(), "Where is a value saved to disk?")
    assert found.hits[0].symbol in {"Store.save", "Disk.put"}
    assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
    assert asked.ran() == []
