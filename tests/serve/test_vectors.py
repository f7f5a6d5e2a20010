"""Question layers with an embedder: what is embedded when, and what happens without it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ctxbuild.cli.main import main
from ctxbuild.serve.ranking import ranked
from tests.embeddingserver import EmbeddingServer
from tests.serve.conftest import PACKAGE_ROOT, ProjectOnDisk

# No word of it stands in the shop; "persist" and "save" are on one axis of the server.
CTXFILE = 'version = 1\n[targets.answer]\nquestion = "Where do we persist it?"\nbudget = 700\n'


@pytest.fixture
def asked(shop, embedding_server):
    """The shop with a question, built with an embedder."""
    shop.put("ctxfile.toml", CTXFILE)
    assert warnings(shop) == []
    return shop


def planner(project):
    plan = json.loads(project.outputs()["answer.plan.json"])
    return plan["layers"]["question"]["planner"]


def of_vectors(project):
    """What the plan says of vectors: whether they are used, and why."""
    found = planner(project)
    used = {each["method"]: each["why"] for each in found["strategies"]}
    left_out = {each["method"]: each["why"] for each in found["left_out"]}
    return ("used", used["vector"]) if "vector" in used else ("left out", left_out["vector"])


def warnings(project):
    """What a build warns of, besides signs of rot."""
    result = project.build()
    assert not result.failed
    return [each for each in result.targets[0].warnings if not each.startswith("DUPLICATION")]


def test_what_shares_no_word_with_the_question_is_found_by_its_meaning(asked, monkeypatch):
    assert of_vectors(asked) == ("used", "embedded by meanings")
    assert "def save(self, key: str, value: int)" in asked.pack("answer")
    found = ranked(asked.session(), "Where do we persist it?")
    assert {method for hit in found.hits for method, _ in hit.methods} == {"vector", "graph"}
    assert found.hits[0].unit == "shop/store.py::Store.save"
    without = ranked(asked.session(), "Where do we persist it?", vectors="off")
    assert without.hits == ()


def test_each_unit_is_embedded_once_and_asking_again_asks_nobody(asked, embedding_server):
    texts = embedding_server.texts
    assert texts[0] == "Where do we persist it?"
    assert len(texts) == len(set(texts))
    assert sum("def save" in text for text in texts) == 1
    asked_before = len(texts)
    assert asked.ran() == []
    asked.put("ctxfile.toml", CTXFILE.replace("700", "600"))
    assert asked.ran() == ["plan(answer)", "pack(answer)"]
    assert len(embedding_server.texts) == asked_before


def test_an_edit_embeds_the_units_that_changed_and_no_others(asked, embedding_server):
    del embedding_server.asked[:]
    asked.replace("shop/store.py", "return self.disk.get(key)", "return self.disk.get(key, 1)")
    assert "facts(shop/store.py)" in asked.ran()
    assert embedding_server.texts == [
        "Store.load\n    def load(self, key: str) -> int:\n        return self.disk.get(key, 1)"
    ]
    del embedding_server.asked[:]
    asked.rename("shop/prices.py", "shop/costs.py")
    asked.put("shop/lonely.py", "\n\n\n" + (asked.root / "shop/lonely.py").read_text())
    asked.build()
    assert embedding_server.texts == []


def test_another_question_embeds_the_question_alone(asked, embedding_server):
    del embedding_server.asked[:]
    asked.put("ctxfile.toml", CTXFILE.replace("persist it", "get money"))
    asked.build()
    assert embedding_server.texts == ["Where do we get money?"]
    assert "def total" in asked.pack("answer")


def test_another_embedder_plans_again_with_vectors_of_its_own(asked, embedding_server, monkeypatch):
    texts = embedding_server.texts
    del embedding_server.asked[:]
    monkeypatch.setenv("CTXBUILD_EMBEDDINGS_NAME", "other")
    assert "plan(answer)" in asked.ran()
    assert sorted(embedding_server.texts) == sorted(texts)
    assert set(embedding_server.models[-len(embedding_server.asked) :]) == {"other"}
    assert of_vectors(asked) == ("used", "embedded by other")
    del embedding_server.asked[:]
    monkeypatch.setenv("CTXBUILD_EMBEDDINGS_NAME", "meanings")
    asked.build()
    assert of_vectors(asked) == ("used", "embedded by meanings")
    assert embedding_server.texts == []


def test_without_an_embedder_the_plan_says_so_and_the_pack_is_the_lexical_one(asked, monkeypatch):
    for name in ("URL", "NAME", "KEY"):
        monkeypatch.delenv(f"CTXBUILD_EMBEDDINGS_{name}")
    assert asked.ran() == ["plan(answer)", "pack(answer)"]
    assert of_vectors(asked) == ("left out", "not configured")
    assert "def save" not in asked.pack("answer")
    assert asked.ran() == []


def test_the_option_off_asks_nobody_and_says_so(shop, embedding_server):
    shop.put("ctxfile.toml", CTXFILE + 'vectors = "off"\n')
    assert not shop.build().failed
    assert of_vectors(shop) == ("left out", "switched off")
    assert embedding_server.asked == []


def test_a_server_that_is_away_costs_the_vectors_until_it_is_back(shop, monkeypatch):
    server = EmbeddingServer()
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    server.close()
    shop.put("ctxfile.toml", CTXFILE)
    (warning,) = warnings(shop)
    assert warning.startswith(f"layer 'question': {server.url} cannot be reached")
    assert "sesame" not in warning
    assert of_vectors(shop) == ("left out", "no answer from the embedder")
    assert shop.ran() == []  # it is still away
    again = EmbeddingServer(port=server.port)
    try:
        assert shop.ran() == ["plan(answer)", "pack(answer)"]
    finally:
        again.close()
    assert of_vectors(shop) == ("used", "embedded by meanings")
    assert shop.ran() == []  # and nobody asks whether it is there now


def test_nonsense_from_a_server_is_one_warning_and_a_pack_without_vectors(
    shop, embedding_server, monkeypatch
):
    embedding_server.raw = b'{"object": "list", "data": []}'
    shop.put("ctxfile.toml", CTXFILE)
    (warning,) = warnings(shop)
    assert "does not speak the protocol" in warning
    found = shop.pack("answer")
    for name in ("URL", "NAME", "KEY"):
        monkeypatch.delenv(f"CTXBUILD_EMBEDDINGS_{name}")
    assert warnings(shop) == []
    assert shop.pack("answer") == found


def test_any_edit_gives_what_a_clean_build_gives(asked, tmp_path):
    asked.replace("shop/store.py", "Saves a value.", "Loads a price.")
    asked.remove("shop/prices.py")
    asked.put("docs/guide.md", "# Persist\n\nPersist it.\n\n# Prices\n\nThey go up.\n")
    assert not asked.build().failed
    assert asked.outputs() == asked.clean_outputs(tmp_path / "clean")
    (asked.root / ".ctxbuild" / "vectors.db").write_bytes(b"garbled")
    asked.put("ctxfile.toml", CTXFILE.replace("persist", "keep"))
    assert not asked.build().failed
    assert asked.outputs() == asked.clean_outputs(tmp_path / "clean")


def test_clean_deletes_the_vectors_with_the_cache(asked, capsys):
    assert (asked.root / ".ctxbuild" / "vectors.db").exists()
    assert main(["-C", str(asked.root), "clean", "--all"]) == 0
    assert not (asked.root / ".ctxbuild" / "vectors.db").exists()


def imported(project: ProjectOnDisk, *arguments: str) -> set[str]:
    """The modules about vectors that a command imports."""
    code = (
        "import sys\nfrom ctxbuild.cli.main import main\n"
        f"main(['-C', {str(project.root)!r}, *{arguments!r}])\n"
        "print(*[m for m in sys.modules if 'vectors' in m or 'embeddings' in m"
        " or 'passages' in m or m in ('openai', 'numpy', 'model2vec')], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE_ROOT
    )
    return set(done.stderr.split("\n")[-2].split())


def test_a_build_with_nothing_to_do_imports_no_vectors(asked, monkeypatch):
    assert imported(asked, "build", "-q") == {"ctxbuild.source.embeddings"}
    for name in ("URL", "NAME", "KEY"):
        monkeypatch.delenv(f"CTXBUILD_EMBEDDINGS_{name}")
    asked.build()
    assert imported(asked, "build", "-q") == set()


def test_without_an_embedder_a_build_opens_no_vectors(shop):
    shop.put("ctxfile.toml", CTXFILE)
    assert imported(shop, "build", "-q") == {"ctxbuild.stores.vectors"}
    assert not (shop.root / ".ctxbuild" / "vectors.db").exists()


# --- ask and eval ---------------------------------------------------------------------------


def test_ask_uses_vectors_unless_it_is_told_not_to(asked, capsys):
    question = ["-C", str(asked.root), "ask", "Where do we persist it?"]
    assert main([*question, "--rank"]) == 0
    assert "vector 1" in capsys.readouterr().out
    assert main([*question, "--rank", "--vectors", "off"]) == 0
    assert "vector" not in capsys.readouterr().out
    assert main([*question, "--plan"]) == 0
    assert "embedded by meanings" in capsys.readouterr().out


def evaluated(project, capsys, *arguments):
    gold = {"id": "q", "question": "Where do we persist it?", "gold": ["shop/store.py::Store.save"]}
    project.put("questions.jsonl", json.dumps(gold) + "\n")
    command = ["eval", "questions.jsonl", "--budgets", "300", "--json", *arguments]
    assert main(["-C", str(project.root), *command]) == 0
    found = json.loads(capsys.readouterr().out)
    return found, {row["tier"]: row["whole"] for row in found["rows"]}


def test_eval_ranks_by_vectors_too_in_all_tiers_but_the_second(asked, capsys):
    found, whole = evaluated(asked, capsys)
    assert (found["embedder"], found["warnings"]) == ("meanings", [])
    assert whole == {1: 1.0, 2: 0.0, 3: 1.0, 4: 1.0}
    found, whole = evaluated(asked, capsys, "--vectors", "off")
    assert found["embedder"] == ""
    assert whole == {1: 0.0, 2: 0.0, 3: 0.0, 4: 0.0}


def test_eval_without_a_server_warns_and_goes_on(asked, capsys, embedding_server):
    embedding_server.raw = b"[]"
    (asked.root / ".ctxbuild" / "vectors.db").unlink()
    found, whole = evaluated(asked, capsys)
    assert found["embedder"] == ""
    assert len(found["warnings"]) == 1
    assert whole[1] == 0.0
