"""The whole way from a question to a pack: planned, searched, sliced, denoised, budgeted."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from ctxbuild.cli.adhoc import asking
from ctxbuild.compare.artifact import parse, text_of
from ctxbuild.compare.evidence import evidence
from ctxbuild.pack.tokens import counter
from ctxbuild.select import question as questions
from ctxbuild.select.retrieval.denoise import Denoised
from ctxbuild.select.retrieval.model import Cut, Evidence, Found, Hit
from ctxbuild.select.retrieval.stages import Stages
from ctxbuild.serve.session import Session
from ctxbuild.source.asking import question_target

COUNT = counter("o200k_base")
LEDGER = '''\
"""Keeps accounts."""

LIMIT = 3


class Ledger:
    """Every payment."""

    def refund(self, customer, amount):
        """Pays a refund back to a customer."""
        self.entries.append((customer, -amount))
        return self.balance(customer)

    def balance(self, customer):
        """What a customer has."""
        return sum(amount for name, amount in self.entries if name == customer)
'''
SHOP = {
    "shop/ledger.py": LEDGER,
    "shop/orders.py": (
        "from shop.ledger import Ledger\n\n\n"
        "def cancel(order, ledger: Ledger):\n"
        '    """Cancels an order, with a refund."""\n'
        "    order.open = False\n"
        "    return ledger.refund(order.customer, order.total)\n"
    ),
    "shop/weather.py": "def sunny(day):\n    return day.clouds == 0\n",
    "docs/refunds.md": "# Refunds\n\nA refund is paid within seven days.\n\n# Weather\n\nSunny.\n",
}
QUESTION = "How is a refund paid to a customer?"


class Answer:
    """What a question gives."""

    def __init__(self, root: Path, question: str, budget: int | None, headers: str) -> None:
        found = Session(asking(str(root), question, budget, None, headers), workers=1)
        self.pack, self.plan, files = found.artifact("answer")
        self.text = self.pack.text
        self.artifact = json.loads(files["answer.pack.json"])
        self.plan_data = json.loads(files["answer.plan.json"])
        self.evidence = evidence(self.artifact, self.plan_data)
        self.planner = self.plan_data["layers"]["question"]["planner"]

    @property
    def units(self) -> set[str]:
        return {block.unit for block in self.pack.blocks if block.form in ("full", "slice")}

    def verdict(self, unit: str) -> dict:
        return next(each for each in self.plan_data["candidates"] if each["unit"] == unit)


@pytest.fixture
def ask(tmp_path):
    """Asks a question of some files."""

    def asked(files, question=QUESTION, budget=None, headers="lean"):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
        return Answer(tmp_path, question, budget, headers)

    return asked


def long_function(name, about, lines=400):
    """A function over the slicer's limit that is about something in its middle."""
    rows = [f"def {name}(orders):"]
    rows += [f"    step_{n} = prepare(orders, {n}, again={n})" for n in range(lines // 2)]
    rows += ["    for order in orders:", f"        {about}"]
    rows += [f"    done_{n} = finish(orders, {n}, again={n})" for n in range(lines // 2)]
    return "\n".join(rows) + "\n"


# --- evidence chunk -------------------------------------------------------------------------


def test_hash_and_count_of_a_sliced_chunk_are_those_of_what_is_shown(ask):
    text = long_function("settle", "ledger.refund(order.customer, paid=True)")
    found = ask({"shop/settle.py": text})
    (chunk,) = [c for c in found.evidence["chunks"] if c["symbol"] == "settle"]
    assert chunk["form"] == "slice"
    assert chunk["tokens"] == COUNT([chunk["text"]])[0] <= 1_500
    assert chunk["content_hash"] == f"sha256:{sha256(chunk['text'].encode()).hexdigest()}"
    assert chunk["text"] in found.text


def test_a_chunk_knows_where_it_stands_how_it_was_found_and_what_it_costs(ask):
    chunks = {chunk["chunk_id"]: chunk for chunk in ask(SHOP).evidence["chunks"]}
    chunk = chunks["shop/orders.py::cancel"]
    assert {key: chunk[key] for key in ("path", "symbol", "start_line", "end_line")} == {
        "path": "shop/orders.py",
        "symbol": "cancel",
        "start_line": 4,
        "end_line": 7,
    }
    assert chunk["method"] in {"lexical", "graph", "names"}
    assert 0 < chunk["score"] <= 1


# --- context pack ---------------------------------------------------------------------------


@pytest.mark.parametrize("headers", ["lean", "full"])
@pytest.mark.parametrize("budget", [60, 120, 400, 4000])
def test_headers_and_separators_are_counted(ask, budget, headers):
    found = ask(SHOP, budget=budget, headers=headers)
    assert found.evidence["total_tokens"] == COUNT([found.text])[0] <= budget


def test_a_pack_serialises_to_its_six_keys(ask):
    keys = ["question", "chunks", "total_tokens", "token_budget", "provenance", "warnings"]
    found = ask(SHOP).evidence
    assert list(found) == keys
    assert json.loads(json.dumps(found)) == found
    assert found["question"] == QUESTION


# --- prompt rendering -----------------------------------------------------------------------


def test_a_full_header_has_number_path_symbol_lines_method_and_score(ask):
    found = ask(SHOP, headers="full")
    heads = [line for line in found.text.splitlines() if line.startswith("## ")]
    shown = zip(heads, found.artifact["blocks"], strict=True)
    for number, (head, block) in enumerate(shown, 1):
        name = f" :: {block['symbol']}" if block["symbol"] else ""
        method = block["reasons"][0]["kind"]
        assert head.startswith(f"## {number}. {block['path']}{name}")
        assert head.endswith(f"[{method}, score: {block['score']:.4f}]")
        if block["symbol"]:
            first, last = block["lines"]
            assert f"(lines {first}-{last})" in head


@pytest.mark.parametrize("headers", ["lean", "full"])
def test_what_was_read_can_be_written_again_from_the_artifact(ask, headers):
    found = ask({**SHOP, "shop/settle.py": long_function("settle", "refund(1)")}, headers=headers)
    artifact = parse(json.dumps(found.artifact).encode(), "answer.pack.json")
    assert text_of(artifact) == found.text


# --- planner --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["HTTPServer", "MAX_SIZE", "sha256_hash2", "__init__", "getUser", "a.b.c_d", "Öl_menge"]
)
def test_names_of_every_style_are_hints(ask, name):
    assert name in ask(SHOP, f"What does `{name}` do with a refund?").planner["names"]


def test_words_that_contain_a_relation_are_no_relation(ask):
    def ways(question):
        return {each["method"] for each in ask(SHOP, question).planner["strategies"]}

    assert "graph" not in ways("What is the weather, and who recalls it because it is sunny?")
    assert "graph" in ways("Who calls refund?")


@pytest.mark.parametrize(
    "path", ["my-mod.py", "src/app/my-mod.tsx", "docs/refunds.md", "Cargo.toml", "a_b/c.d/e.go"]
)
def test_paths_of_every_kind_are_hints_and_stay_whole(ask, path):
    assert path in ask(SHOP, f"Why does {path} break a refund?").planner["paths"]


@pytest.mark.parametrize(
    "hostile",
    ["a" * 100_000, "a." * 50_000, "a/" * 50_000, "`" * 100_000, "_a" * 50_000, "( " * 50_000],
)
def test_a_hostile_question_is_read_in_linear_time(ask, hostile):
    ask(SHOP)
    started = time.perf_counter()
    ask(SHOP, f"refund {hostile}")
    assert time.perf_counter() - started < 5


def test_the_decision_says_what_was_left_out_and_why(ask):
    planner = ask(SHOP).planner
    assert {each["method"] for each in planner["strategies"]} >= {"lexical"}
    assert all(each["why"] for each in planner["left_out"])
    assert "vector" in {each["method"] for each in planner["left_out"]}


# --- workspace ------------------------------------------------------------------------------


class Bare:
    """A repository of one file, without an index."""

    text_of_file = "def refund():\n    return 1\n"

    def text(self, _path):
        return self.text_of_file

    def body(self, _path, _name):
        return self.text_of_file

    def count(self, texts):
        return COUNT(texts)

    def outline(self, _path):
        from ctxbuild.model import Outline

        return Outline("python", (("refund", "function"),))

    def lines(self, _path):
        from ctxbuild.model import Lines

        return Lines(((1, 2, 0, 26),), total=2)

    def symbol(self, _path, _name):
        return ()

    def search(self, _question, _most, _vectors):
        return Found((Hit("a.py::refund", "a.py", "refund", "function", 1, 1),), ("a.py",))


LAYER = question_target("t", QUESTION, 1000).layers[0]


def test_a_hit_that_lacks_methods_hints_and_lines_is_evidence_like_any_other():
    proposal = questions.propose(Bare(), LAYER)
    assert [candidate.unit for candidate in proposal.candidates] == ["a.py::refund"]


def test_nothing_found_is_an_empty_proposal():
    stages = Stages(search=lambda *_: Found())
    assert questions.propose(Bare(), LAYER, stages).candidates == ()


def test_ways_are_fused_so_that_what_several_find_comes_first(ask):
    found = ask(SHOP, "Who calls `Ledger.refund` for a customer?")
    best = found.artifact["blocks"]
    top = max((b for b in best if b["form"] == "full"), key=lambda b: b["score"])
    assert top["unit"].startswith("shop/ledger.py::Ledger")
    assert len(top["reasons"]) > 1


# --- slicer ---------------------------------------------------------------------------------


def test_a_unit_over_the_limit_becomes_its_most_relevant_lines(ask):
    text = long_function("settle", "ledger.refund(order.customer, paid=True)")
    found = ask({"shop/settle.py": text})
    (block,) = [b for b in found.artifact["blocks"] if b["symbol"] == "settle"]
    assert block["text"].startswith("def settle(orders):\n    ...\n")
    assert "        ledger.refund(order.customer, paid=True)\n" in block["text"]
    first, last = block["lines"]
    rows = text.split("\n")
    shown = [row for row in block["text"].splitlines() if row.strip() != "..."]
    assert (rows[first - 1], rows[last - 1]) == (shown[0], shown[-1])


def test_a_unit_of_very_long_lines_never_exceeds_its_share(ask):
    row = "refund = [" + ", ".join(f"'customer {n}'" for n in range(4000)) + "]"
    text = f"def refund(customer):\n    {row}\n    return refund\n"
    found = ask({"shop/rows.py": text}, budget=2000)
    assert all(chunk["tokens"] <= 1_500 for chunk in found.evidence["chunks"])
    assert "customer 17" not in found.text


# --- pack builder ---------------------------------------------------------------------------


def test_of_copies_the_best_scored_one_stays_and_the_other_is_a_warning(ask):
    copy = LEDGER.replace("Keeps accounts", "keeps Accounts")
    found = ask({**SHOP, "attic/zz/old_copy.py": copy, "attic/zz/readme.txt": "Nothing.\n"})
    kept = {unit for unit in found.units if unit.endswith("::Ledger.refund")} or {
        unit for unit in found.units if unit.endswith("::Ledger")
    }
    assert len(kept) == 1
    (unit,) = kept
    dropped = [v for v in found.plan_data["candidates"] if v["why"] == "near-duplicate"]
    twin = next(v for v in dropped if v["detail"] == unit)
    assert twin["score"] <= found.verdict(unit)["score"]
    assert any(
        line.startswith(f"dropped {twin['unit']} (") and line.endswith(f"the same as {unit}")
        for line in found.evidence["warnings"]
    )


def test_every_chunk_has_its_provenance(ask):
    found = ask(SHOP).evidence
    keys = {"chunk_id", "path", "symbol", "method", "score", "tokens"}
    assert [set(each) for each in found["provenance"]] == [keys] * len(found["chunks"])


# --- token budgeter -------------------------------------------------------------------------


def equal_functions(count=40):
    """Functions of one length; each names the refund a little less often."""
    return {
        f"shop/f{n:02}.py": f"def work_{n:02}(a):\n"
        + "    refund(a)\n" * (count - n)
        + "    other(a)\n" * n
        for n in range(count)
    }


def test_the_default_budget_of_a_question_is_four_thousand(ask):
    assert ask(SHOP).evidence["token_budget"] == 4_000


def test_the_lowest_scores_go_first_each_with_tokens_and_score(ask):
    found = ask(equal_functions(), "refund", budget=1500)
    verdicts = [v for v in found.plan_data["candidates"] if not v["unit"].endswith("#module")]
    kept = [v["score"] for v in verdicts if v["form"] == "full"]
    dropped = [v for v in verdicts if v["verdict"] == "dropped" and v["costs"]]
    assert kept
    assert dropped
    assert min(kept) >= max(v["score"] for v in dropped)
    for each in dropped:
        tokens = max(cost["tokens"] for cost in each["costs"])
        line = f"dropped {each['unit']} ({tokens:,} tokens, score {each['score']:.4f}): "
        assert any(warning.startswith(line) for warning in found.evidence["warnings"])


@pytest.mark.parametrize("budget", [40, 100, 300])
def test_text_without_spaces_is_cut_by_tokens_not_by_characters(ask, budget):
    text = "# 退款\n\n" + "退款将在七天内支付给客户。并且会发送通知。" * 400 + "\n"
    found = ask({"docs/refund.md": text}, "退款 refund 客户", budget=budget)
    assert COUNT([found.text])[0] <= budget


def test_what_alone_is_too_large_for_the_budget_is_cut_and_not_left_out(ask):
    text = long_function("settle", "ledger.refund(order.customer, paid=True)")
    found = ask({"shop/settle.py": text}, budget=300)
    assert "ledger.refund(order.customer, paid=True)" in found.text


@pytest.mark.parametrize("budget", [200, 1000, 3000])
def test_no_pack_that_answers_a_question_is_oversized(ask, budget):
    found = ask(equal_functions(), "refund", budget=budget)
    assert budget * 0.7 < found.pack.tokens <= budget * 0.9
    assert "OVERSIZED" not in [rot.kind for rot in found.pack.rot]


# --- replaceable stages ---------------------------------------------------------------------


def test_each_stage_is_a_function_that_another_may_replace():
    heard = []

    def search(_view, question, most, vectors):
        heard.append(("search", question, most, vectors))
        hit = Hit("a.py::refund", "a.py", "refund", "function", 1, 1)
        return Found((hit, replace(hit, unit="b.py::refund", path="b.py", rank=2)))

    def cut(_view, hit, _hints, limit):
        heard.append(("cut", hit.unit, limit))
        return Cut("def refund(): ...\n", ((1, 1),), 6)

    def denoise(evidence, settings):
        heard.append(("denoise", [each.hit.unit for each in evidence], settings.cap))
        return Denoised(tuple(evidence[:1]), ())

    view = Bare()
    view.text_of_file = "def refund():\n" + "    pay(1, 2, 3)\n" * 400
    proposal = questions.propose(view, LAYER, Stages(search, cut, denoise))
    assert heard == [
        ("search", QUESTION, LAYER.option("candidates"), "auto"),
        ("cut", "a.py::refund", 1500),
        ("cut", "b.py::refund", 1500),
        ("denoise", ["a.py::refund", "b.py::refund"], LAYER.option("cap")),
    ]
    (candidate,) = proposal.candidates
    assert [rung.text for rung in candidate.ladder] == [None, "def refund(): ...\n", None]


def test_the_default_stages_are_the_products_own():
    from ctxbuild.select.retrieval import denoise, slicer

    assert Stages()[1:] == (slicer.cut, denoise.denoise)
    assert Evidence.__slots__ == ("hit", "text", "tokens", "cut")
