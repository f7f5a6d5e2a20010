"""`ctxbuild build`: targets, files without a ctxfile, and what is wrong with the request."""

from __future__ import annotations

import os

import pytest

BUILT = """\
target  status  tokens / budget  saved  ran                                       time
app     built       144 / 1,000      -  3 facts, 1 plan, 1 pack                   N ms
notes   built          17 / 100      -  facts(README.md) plan(notes) pack(notes)  N ms
"""
FRESH = """\
target  status  tokens / budget  saved  ran      time
app     fresh       144 / 1,000      -  nothing  N ms
notes   fresh          17 / 100      -  nothing  N ms
"""


def squeezed(text):
    """Columns whose widths follow those of the durations are compared without them."""
    return [line.split() for line in text.splitlines()]


def test_a_build_prints_one_table_and_the_next_one_runs_nothing(shop):
    first, second = shop("build"), shop("build")
    assert (first.code, squeezed(first.out), first.err) == (0, squeezed(BUILT), "")
    assert (second.code, squeezed(second.out), second.err) == (0, squeezed(FRESH), "")


def test_json_holds_what_the_table_shows_and_more(shop):
    data = shop("build", "--json").data
    app = data["targets"][0]
    packs = f"{shop.root}/.ctxbuild/packs"
    assert data["ran"] == app["ran"] + data["targets"][1]["ran"]
    assert (data["files"], data["warnings"]) == (7, [])
    assert (app["name"], app["status"], app["tokens"], app["budget"]) == ("app", "built", 144, 1000)
    assert app["ran"] == [
        "facts(shop/app.py)",
        "facts(shop/cart.py)",
        "facts(shop/money.py)",
        "plan(app)",
        "pack(app)",
    ]
    assert [os.path.basename(path) for path in app["outputs"]] == [
        "app.md",
        "app.pack.json",
        "app.plan.json",
    ]
    assert shop("build", "app", "--json").data["targets"][0]["ran"] == []
    assert os.listdir(packs)


def test_only_the_named_targets_are_built(shop):
    assert [target["name"] for target in shop("build", "notes", "--json").data["targets"]] == [
        "notes"
    ]


def test_a_dry_run_names_what_a_build_would_run_and_writes_nothing(shop):
    dry = shop("build", "-n", "--json").data
    assert not (shop.root / ".ctxbuild" / "packs").exists()
    assert shop("build", "--json").data["ran"] == dry["ran"]


def test_explain_says_why_each_stage_ran(shop):
    shop("build")
    assert shop("build", "--explain").err == "nothing ran: all is fresh\n"
    shop.edit("shop/cart.py", "def add(self, name: str)", "def add(self, name: object)")
    assert shop("build", "--explain").err == (
        "facts(shop/cart.py): ran, because shop/cart.py changed\n"
        "plan(app): ran, because facts(shop/cart.py) (symbol/Cart.add) changed\n"
        "pack(app): ran, because plan(app) (blocks) changed\n"
    )


def test_verbose_and_quiet_say_more_and_less(shop):
    assert shop("build", "-v").err == "7 source files; N ms in all\n"
    shop.edit("shop/cart.py", "        return", "        return (")
    loud, quiet = shop("build"), shop("build", "-q")
    assert loud.err.startswith("warning: app: shop/cart.py: syntax: ")
    assert quiet.err == ""


# --- files instead of targets --------------------------------------------------------------


def test_a_file_is_packed_without_any_ctxfile(shop):
    (shop.root / "ctxfile.toml").unlink()
    built = shop("build", "shop/app.py", "--budget", "900", "--json")
    target = built.data["targets"][0]
    assert (built.code, target["name"], target["budget"], target["tokens"]) == (0, "app", 900, 144)
    assert (shop.root / ".ctxbuild/packs/app.md").read_text().startswith("# app\n")
    assert not (shop.root / "ctxfile.toml").exists()


def test_paths_are_relative_to_the_directory_and_stored_relative_to_the_root(shop):
    built = shop("build", "app.py", "cart.py::Cart.add", "--json", at="shop")
    assert built.data["targets"][0]["name"] == "app-and-1-more"
    pack = (shop.root / ".ctxbuild/packs/app-and-1-more.md").read_text()
    assert "## shop/app.py\n" in pack


def test_the_root_is_that_of_the_ctxfile_else_of_the_repository(empty):
    empty.write({"top.py": "import low\n", "below/low.py": "x = 1\n"})
    (empty.root / ".git").mkdir()
    (empty.root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    assert empty("build", "low.py", at="below").code == 0
    assert "## below/low.py" in (empty.root / ".ctxbuild/packs/low.md").read_text()


def test_a_file_whose_name_is_that_of_a_target_does_not_overwrite_its_pack(shop):
    shop("build")
    before = (shop.root / ".ctxbuild/packs/app.md").read_bytes()
    built = shop("build", "shop/app.py", "--budget", "60", "--json")
    assert built.data["targets"][0]["name"] == "app-file"
    assert (shop.root / ".ctxbuild/packs/app.md").read_bytes() == before
    assert shop("build", "--json").data["ran"] == []


def test_the_project_table_of_a_ctxfile_holds_for_files_too(shop):
    shop.edit("ctxfile.toml", "version = 1\n", 'version = 1\n[project]\nout = "here"\n')
    shop("build", "shop/cart.py")
    assert (shop.root / "here/cart.md").exists()


@pytest.mark.parametrize("name", ["läs mig.py", "a[1].py", "__main__.py", "x.pack.py"])
def test_odd_file_names_give_names_of_packs_that_are_safe(empty, name):
    empty.write({name: "x = 1\n"})
    built = empty("build", f"./{name}", "--json")
    assert built.code == 0
    assert built.data["targets"][0]["name"] in ("l-s-mig", "a-1", "__main__", "x-pack")


# --- what is wrong with the request ---------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("build", "ap"),
            "ROOT/ctxfile.toml: no target 'ap', did you mean 'app'?: it declares app, notes",
        ),
        (("build", "shop/carts.py"), "shop/carts.py: no such file, did you mean 'shop/cart.py'?"),
        (("build", "nowhere/x.py"), "nowhere/x.py: no such file"),
        (
            ("build", "shop"),
            "shop: is a directory: name files of it, or declare a target in a ctxfile",
        ),
        (("build", "../x.py"), "../x.py: no such file"),
        (
            ("build", "shop/app.py::"),
            "shop/app.py::: names no symbol after '::': write shop/app.py::NAME, or shop/app.py",
        ),
        (
            ("build", "shop/app.py", "notes"),
            "'shop/app.py' is a file, 'notes' is a target: build either files or targets",
        ),
        (
            ("build", "--budget", "5"),
            "--budget goes with a file: set the target's budget in the ctxfile",
        ),
        (
            ("build", "app", "--budget", "5"),
            "--budget goes with a file: set the target's budget in the ctxfile",
        ),
        (
            ("build", "shop/app.py", "--budget", "0"),
            "--budget 0: must be a positive number of tokens",
        ),
        (("build", "-j", "-3"), "-j -3: is negative: give the number of processes"),
        (
            ("build", "-f", "other.toml"),
            "ROOT/other.toml: no such file: `ctxbuild init` writes one",
        ),
    ],
)
def test_a_wrong_request_is_one_line_and_code_2(shop, arguments, message):
    outcome = shop(*arguments)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"ctxbuild: {message}\n")


def test_a_symbol_that_is_not_there_fails_its_target_and_no_other(shop):
    outcome = shop("build", "shop/cart.py::Cart.adds")
    assert outcome.code == 2
    assert outcome.err == (
        "ctxbuild: shop/cart.py has no symbol 'Cart.adds': did you mean shop/cart.py::Cart.add?\n"
    )
    assert outcome.out.splitlines()[1].split()[:2] == ["cart.Cart.adds", "failed"]


def test_a_target_that_fails_leaves_the_others_built(shop):
    shop.edit("ctxfile.toml", '"README.md"', '"README.txt"')
    outcome = shop("build")
    assert outcome.code == 2
    assert outcome.err == (
        "ctxbuild: layer 'files': 'README.txt' matches no file: correct the pattern, "
        "or see `ctxbuild doctor` for what is left out and why\n"
    )
    assert [row.split()[1] for row in outcome.out.splitlines()[1:]] == ["built", "failed"]


def test_no_ctxfile_says_what_to_do(empty):
    outcome = empty("build")
    assert (outcome.code, outcome.err) == (
        2,
        (
            "ctxbuild: no ctxfile.toml here or in a directory above: "
            "run `ctxbuild init`, or `ctxbuild build FILE` for a single file\n"
        ),
    )


def test_a_malformed_ctxfile_is_named_with_its_line(shop):
    shop.edit("ctxfile.toml", "budget = 100\n", "bugdet = 100\n")
    for command in ("build", "explain", "graph", "clean"):
        outcome = shop(command)
        assert (outcome.code, outcome.err) == (
            2,
            (
                "ctxbuild: ROOT/ctxfile.toml:9: unknown key 'bugdet' in target 'notes', "
                "did you mean 'budget'?\n"
            ),
        )
