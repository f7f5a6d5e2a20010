"""`ctxbuild explain`: the remembered chain of causes, and the prediction of a build."""

from __future__ import annotations


def test_what_was_never_built_says_so(shop):
    outcome = shop("explain")
    assert (outcome.code, outcome.out) == (0, "app was never built\nnotes was never built\n")
    assert not (shop.root / ".ctxbuild").exists()


def test_the_chain_leads_from_the_pack_to_the_file(shop):
    shop("build")
    shop.edit("shop/cart.py", "def add(self, name: str)", "def add(self, name: object)")
    shop("build")
    shop("build")  # which runs nothing, and changes nothing of the answer
    assert shop("explain", "app").out == (
        "pack(app) ran, because plan(app) (blocks) changed\n"
        "  plan(app) ran, because facts(shop/cart.py) (symbol/Cart.add) changed\n"
        "    facts(shop/cart.py) ran, because shop/cart.py changed\n"
    )


def test_a_changed_declaration_is_a_cause(shop):
    shop("build")
    shop.edit("ctxfile.toml", "budget = 1000", "budget = 999")
    shop("build")
    assert shop("explain", "app").out == (
        "plan(app) ran, because the declaration of target 'app' changed\n"
        "pack(app) ran, because the declaration of target 'app' changed\n"
    )


def test_n_predicts_exactly_what_a_build_runs_and_changes_nothing(shop):
    shop("build")
    assert shop("explain", "-n").out == "nothing would run: all is fresh\n"
    shop.edit("shop/cart.py", "def add(self, name: str)", "def add(self, name: object)")
    expected = (
        "facts(shop/cart.py): would run, because shop/cart.py changed\n"
        "plan(app): would run, because facts(shop/cart.py) (symbol/Cart.add) changed\n"
        "pack(app): would run, because plan(app) (blocks) changed\n"
    )
    assert shop("explain", "-n").out == expected
    predicted = shop("explain", "-n", "--json").data
    assert predicted["runs"] == ["facts(shop/cart.py)", "plan(app)", "pack(app)"]
    assert shop("build", "--json").data["ran"] == predicted["runs"]


def test_an_edit_that_reaches_no_pack_is_predicted_to_stop_early(shop):
    shop("build")
    shop.edit("shop/cart.py", "len(self.names)", "0 + len(self.names)")
    runs = shop("explain", "-n", "--json").data["runs"]
    assert runs == ["facts(shop/cart.py)"]
    assert shop("build", "--json").data["ran"] == runs


def test_json_holds_the_chains(shop):
    shop("build")
    shop.edit("README.md", "It sells.", "It sells all.")
    shop("build")
    data = shop("explain", "notes", "--json").data
    plan, pack = data["targets"][0]["chains"]
    assert [link["node"] for link in pack] == [
        "pack(notes)",
        "plan(notes)",
        *[link["node"] for link in plan[1:]],
    ]
    assert plan[-1]["node"] == "file(README.md)"
    assert plan[-1]["kind"] == "input"


def test_an_unknown_target_is_refused(shop):
    assert shop("explain", "note").code == 2
    assert shop("explain", "-n", "note").err == (
        "ctxbuild: ROOT/ctxfile.toml: no target 'note', did you mean 'notes'?: "
        "it declares app, notes\n"
    )
