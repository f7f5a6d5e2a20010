"""What runs after a change: exactly what the change reaches, as whole run lists."""

from __future__ import annotations

import json

FACTS = [
    "facts(shop/app.py)",
    "facts(shop/store.py)",
    "facts(shop/__init__.py)",
    "facts(shop/prices.py)",
]
OPEN_CALL = ("return store.size", "return helper.frobnicate(store.size)")


def test_a_first_build_runs_every_stage_once_and_only_for_what_is_reached(shop):
    ran = shop.ran()
    assert sorted(ran) == sorted([*FACTS, "facts(shop/disk.py)", "plan(app)", "pack(app)"])
    assert ran[-2:] == ["plan(app)", "pack(app)"]


def test_a_name_that_imports_do_not_explain_is_looked_up_in_every_file(shop):
    shop.replace("shop/app.py", *OPEN_CALL)
    shop.replace("shop/app.py", "path: str", "path: str, helper")
    assert "facts(shop/lonely.py)" in shop.ran()
    shop.put("shop/more.py", "class Helper:\n    def frobnicate(self, n: int) -> int: ...\n")
    assert shop.ran() == ["facts(shop/more.py)", "plan(app)", "pack(app)"]
    assert "frobnicate = shop/more.py::Helper.frobnicate [BY-NAME]" in shop.pack()
    shop.put("shop/even.py", "class Other:\n    def frobnicate(self, n: int) -> int: ...\n")
    assert shop.ran() == ["facts(shop/even.py)", "plan(app)", "pack(app)"]
    assert "frobnicate [AMBIGUOUS 2]" in shop.pack()
    shop.replace("shop/even.py", "frobnicate", "something")
    shop.remove("shop/more.py")
    assert shop.ran() == ["facts(shop/even.py)", "plan(app)", "pack(app)"]
    shop.replace("shop/lonely.py", "pass", "return None")
    assert shop.ran() == ["facts(shop/lonely.py)"]


def test_a_second_build_runs_nothing_and_touches_nothing(built):
    before = {path: path.stat() for path in (built.root / ".ctxbuild" / "packs").iterdir()}
    result = built.build()
    assert (result.ran, [t.status for t in result.targets]) == ((), ["fresh"])
    assert {path: path.stat() for path in before} == before


def test_a_body_edit_of_a_dependency_runs_its_facts_alone(built):
    text = built.pack()
    built.replace("shop/store.py", "return self.disk.get(key)", "return self.disk.get(key) + 1")
    assert built.ran() == ["facts(shop/store.py)"]
    assert built.pack() == text


def test_a_body_edit_that_moves_every_later_line_keeps_every_byte_of_the_pack(built):
    text = built.pack()
    built.replace(
        "shop/store.py",
        "        self.disk = Disk(path)\n",
        "        # more\n\n        self.disk = Disk(path)\n",
    )
    assert built.ran() == ["facts(shop/store.py)"]
    assert built.pack() == text
    blocks = json.loads(built.outputs()["app.pack.json"])["blocks"]
    saved = next(b for b in blocks if b["unit"] == "shop/store.py::Store.save")
    assert saved["lines"] == [16, 18]


def test_a_signature_edit_of_what_is_used_rebuilds_the_pack(built):
    built.replace("shop/store.py", "key: str, value: int", "key: str, value: float")
    assert built.ran() == ["facts(shop/store.py)", "plan(app)", "pack(app)"]
    assert "value: float" in built.pack()


def test_a_signature_edit_of_what_is_not_used_rebuilds_no_pack(built):
    built.replace("shop/store.py", "def unused(a: int)", "def unused(a: int, b: int = 0)")
    assert built.ran() == ["facts(shop/store.py)"]


def test_an_edit_of_an_unconnected_file_runs_nothing(built):
    built.replace("shop/lonely.py", "pass", "return None")
    assert built.ran() == []


def test_a_file_that_nobody_asked_about_runs_nothing(built):
    built.put("notes.txt", "new")
    assert built.ran() == []
    built.put("notes.txt", "changed")
    assert built.ran() == []


def test_an_edit_that_is_undone_runs_nothing(built):
    text = (built.root / "shop/store.py").read_text()
    built.replace("shop/store.py", "value: int", "value: float")
    built.put("shop/store.py", text)
    assert built.ran() == []


def test_going_to_another_version_and_back_parses_nothing_again(built):
    old = (built.root / "shop/store.py").read_text()
    built.replace("shop/store.py", "value: int", "value: float")
    built.ran()
    built.put("shop/store.py", old)
    assert built.ran() == ["plan(app)", "pack(app)"]


def test_a_rename_parses_nothing_again(built):
    built.rename("shop/prices.py", "shop/costs.py")
    built.replace("shop/app.py", "from shop import prices", "from shop import costs as prices")
    assert built.ran() == ["facts(shop/app.py)", "plan(app)", "pack(app)"]
    assert "# shop/costs.py\n" in built.pack()


def test_a_deleted_dependency_is_open_and_comes_back_without_parsing(built):
    text = (built.root / "shop/prices.py").read_text()
    before = built.outputs()
    built.remove("shop/prices.py")
    # What an unresolved import would give is looked up by name, in files not parsed so far.
    assert built.ran() == ["facts(shop/lonely.py)", "plan(app)", "pack(app)"]
    assert "prices [UNRESOLVED]" in built.pack()
    built.put("shop/prices.py", text)
    assert built.ran() == ["plan(app)", "pack(app)"]
    assert built.outputs() == before


def test_a_new_file_that_shadows_an_old_resolution_is_noticed(built):
    built.put("shop/prices/__init__.py", "def total(prices: list[int]) -> str: ...\n")
    assert built.ran() == ["facts(shop/prices/__init__.py)", "plan(app)", "pack(app)"]
    assert "-> str: ..." in built.pack()


def test_a_new_module_resolves_what_was_missing(built):
    built.replace("shop/app.py", "from shop import prices", "from shop import prices, taxes")
    built.replace("shop/app.py", "return store.size", "return taxes.add(store.size)")
    built.ran()
    built.put("shop/taxes.py", "def add(x: int) -> int:\n    return x\n")
    assert built.ran() == ["facts(shop/taxes.py)", "plan(app)", "pack(app)"]
    assert "def add(x: int) -> int: ..." in built.pack()


def test_a_change_of_one_target_rebuilds_it_alone(built):
    more = '[targets.prices]\nentry = ["shop/prices.py"]\n'
    built.put("ctxfile.toml", (built.root / "ctxfile.toml").read_text() + more)
    assert built.ran() == ["plan(prices)", "pack(prices)"]
    built.replace("ctxfile.toml", "budget = 4000", "budget = 3000")
    assert built.ran() == ["plan(app)", "pack(app)"]


def test_ten_targets_share_every_parse(shop):
    targets = "".join(f'[targets.t{n}]\nentry = ["shop/app.py"]\n' for n in range(10))
    shop.put("ctxfile.toml", "version = 1\n" + targets)
    ran = shop.ran()
    assert len([node for node in ran if node.startswith("facts(")]) == len(FACTS) + 1


def test_building_one_target_leaves_the_others_stale(built):
    built.put(
        "ctxfile.toml",
        (built.root / "ctxfile.toml").read_text() + '[targets.b]\nfiles = ["shop/app.py"]\n',
    )
    built.ran()
    built.replace("shop/app.py", "return store.size", "return store.size + 1")
    assert built.ran("app") == ["facts(shop/app.py)", "plan(app)", "pack(app)"]
    assert built.ran("app") == []
    assert built.ran() == ["plan(b)", "pack(b)"]


def test_a_missing_or_altered_output_is_written_again_and_runs_nothing(built):
    before = built.outputs()
    packs = built.root / ".ctxbuild" / "packs"
    (packs / "app.md").unlink()
    (packs / "app.plan.json").write_text("{}")
    result = built.build()
    assert result.ran == ()
    assert [path.rpartition("/")[2] for path in result.targets[0].written] == [
        "app.md",
        "app.plan.json",
    ]
    assert built.outputs() == before


def test_a_dry_run_predicts_what_a_build_runs_and_keeps_nothing(built):
    built.replace("shop/store.py", "value: int", "value: float")
    before = built.outputs()
    predicted = built.session().build(dry=True)
    assert built.outputs() == before
    again = built.session().build(dry=True)
    assert predicted.ran == again.ran == tuple(built.ran())
