"""`ctxbuild cache` and `ctxbuild clean`: what they drop, and what they never touch."""

from __future__ import annotations

import os
import sqlite3
import subprocess

import pytest


def tree(root):
    return {
        os.path.relpath(os.path.join(above, name), root)
        for above, _, names in os.walk(root)
        for name in names
    }


def test_looking_at_a_cache_that_is_not_there_makes_none(shop):
    for action in ("info", "gc", "verify"):
        assert shop("cache", action).code == 0
    assert shop("cache", "info").out == "ROOT/.ctxbuild: no cache yet\n"
    assert shop("clean").out == "nothing to delete\n"
    assert shop("cache", "dir").out == "ROOT/.ctxbuild\n"
    assert shop("cache", "dir", "--json").data == {"directory": str(shop.root / ".ctxbuild")}
    assert not (shop.root / ".ctxbuild").exists()


def test_info_counts_what_is_held(shop):
    shop("build")
    data = shop("cache", "info", "--json").data
    assert data["exists"] is True
    assert dict(data["nodes"])["plan"] == 2
    assert data["values"] == data["live"] > 0
    assert data["pack_bytes"] == sum(
        path.stat().st_size for path in (shop.root / ".ctxbuild/packs").iterdir()
    )
    assert data["kept"] == 2
    assert data["history_bytes"] == sum(
        path.stat().st_size for path in (shop.root / ".ctxbuild/history").glob("*/*")
    )
    head, columns, *rows = shop("cache", "info").out.splitlines()
    assert (head, columns.split()) == ("ROOT/.ctxbuild", ["part", "size", "holds"])
    assert [row.split()[0] for row in rows] == ["state", "values", "packs", "history", "log"]
    assert rows[-2].endswith("2 packs that a delta can begin from")
    assert rows[-1].endswith("2 builds")


def test_gc_drops_what_nothing_reaches_and_no_pack_notices(shop):
    shop("build")
    shop.edit("shop/cart.py", "names", "things")
    shop.edit("shop/app.py", "names", "things")
    (shop.root / "shop/unused.py").unlink()
    shop("build")
    before = {p.name: p.read_bytes() for p in (shop.root / ".ctxbuild/packs").iterdir()}
    swept = shop("cache", "gc", "--json").data
    assert swept["values"] > 0
    info = shop("cache", "info", "--json").data
    assert info["values"] == info["live"]
    assert shop("build", "--json").data["ran"] == []
    shop.edit("README.md", "It sells.", "It buys.")
    assert shop("build", "--json").data["ran"] == ["facts(README.md)", "plan(notes)", "pack(notes)"]
    after = {p.name: p.read_bytes() for p in (shop.root / ".ctxbuild/packs").iterdir()}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"notes.md", "notes.pack.json"}
    assert shop("cache", "gc").out.startswith("dropped ")


def test_gc_forgets_targets_that_are_gone_with_their_packs(shop):
    shop("build")
    shop("build", "shop/money.py")
    assert dict(shop("cache", "info", "--json").data["nodes"])["plan"] == 3
    shop("cache", "gc")  # its pack still exists
    assert dict(shop("cache", "info", "--json").data["nodes"])["plan"] == 3
    for path in (shop.root / ".ctxbuild/packs").glob("money.*"):
        path.unlink()
    assert shop("cache", "gc", "--json").data["nodes"] > 0
    assert dict(shop("cache", "info", "--json").data["nodes"])["plan"] == 2
    assert shop("build", "--json").data["ran"] == []


def test_gc_after_edits_that_no_build_has_seen_keeps_the_next_build_right(shop):
    shop("build")
    (shop.root / "shop/money.py").unlink()
    shop.write({"shop/coins.py": "class Money:\n    coins: int\n"})
    shop.edit("shop/cart.py", "shop.money", "shop.coins")
    shop("cache", "gc")
    shop("build")
    built = shop.bytes_of("show", "app")
    shop("clean", "--all")
    assert shop.bytes_of("show", "app") == built


def test_verify_finds_drops_and_tells_what_is_damaged(shop):
    shop("build")
    assert shop("cache", "verify").code == 0
    store = shop.root / ".ctxbuild/values/cache.db"
    with sqlite3.connect(store) as database:
        database.execute("UPDATE Cache SET value = x'00ff' WHERE rowid = 1")
    database.close()
    found = shop("cache", "verify", "--json")
    assert (found.code, len(found.data["problems"])) == (1, 1)
    again = shop("cache", "verify")
    assert (again.code, again.out.endswith(" results: nothing is damaged\n")) == (0, True)


def test_a_damaged_state_is_started_anew_and_the_packs_come_out_equal(shop):
    shop("build")
    pack = (shop.root / ".ctxbuild/packs/app.md").read_bytes()
    state = shop.root / ".ctxbuild/state.db"
    for name in ("-wal", "-shm"):
        (shop.root / f".ctxbuild/state.db{name}").unlink(missing_ok=True)
    state.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    outcome = shop("cache", "verify")
    assert outcome.code == 1
    assert outcome.out.startswith("state.db: ")
    assert "; started anew\n" in outcome.out
    shop("build")
    assert (shop.root / ".ctxbuild/packs/app.md").read_bytes() == pack


# --- clean ----------------------------------------------------------------------------------


def test_clean_deletes_the_packs_and_nothing_else(shop):
    shop("build")
    before = tree(shop.root)
    planned = shop("clean", "-n")
    assert tree(shop.root) == before
    assert planned.out.splitlines()[0] == "would delete ROOT/.ctxbuild/packs/app.md"
    done = shop("clean", "--json").data
    gone = {os.path.relpath(path, shop.root) for path in done["paths"]}
    assert gone == {
        f".ctxbuild/packs/{name}.{kind}"
        for name in ("app", "notes")
        for kind in ("md", "pack.json", "plan.json")
    }
    assert before - tree(shop.root) == gone
    built = shop("build", "--json").data
    assert (built["ran"], [t["status"] for t in built["targets"]]) == ([], ["built", "built"])


@pytest.mark.parametrize("out", [".ctxbuild/packs", "docs"])
def test_clean_deletes_what_was_built_from_commits_and_nothing_else(shop, out):
    shop.edit("ctxfile.toml", "version = 1\n", f'version = 1\n[project]\nout = "{out}"\n')
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "x")):
        subprocess.run(["git", *arguments], cwd=shop.root, check=True)
    shop("build", "--rev", "HEAD")
    shop("build", "--rev", "HEAD", "shop/money.py")
    (folder,) = (shop.root / out).glob("@*")
    assert {path.name.partition(".")[0] for path in folder.iterdir()} == {"app", "notes", "money"}
    shop.write({f"{out}/@0123456789ab/mine.md": "mine\n", f"{out}/@home/app.md": "mine\n"})
    planned = shop("clean", "-n", "--json").data["paths"]
    assert planned == sorted(map(str, folder.iterdir()))
    assert shop("clean", "--json").data["paths"] == planned
    left = {path for path in tree(shop.root / out) if path.startswith("@")}
    assert left == {"@0123456789ab/mine.md", "@home/app.md"}
    assert not folder.exists()


def test_clean_keeps_an_output_that_somebody_changed(shop):
    shop.edit("ctxfile.toml", "version = 1\n", 'version = 1\n[project]\nout = "docs"\n')
    shop.write({"docs/mine.md": "mine\n"})
    shop("build")
    with open(shop.root / "docs/app.md", "a", encoding="utf-8") as file:
        file.write("a note of mine\n")
    outcome = shop("clean")
    assert outcome.err == (
        "warning: ROOT/docs/app.md: kept, because it was changed since it was written\n"
    )
    assert sorted(os.listdir(shop.root / "docs")) == ["app.md", "mine.md"]


def test_clean_all_deletes_the_cache_but_not_what_is_not_ours_in_it(shop):
    shop("build")
    (shop.root / ".ctxbuild/mine.txt").write_text("mine\n")
    sources = {path for path in tree(shop.root) if not path.startswith(".ctxbuild")}
    shop("clean", "--cache")
    assert tree(shop.root) == sources | {
        f".ctxbuild/{name}" for name in (".gitignore", "README.md", "lock", "mine.txt")
    }


def test_clean_refuses_a_directory_that_is_no_cache(shop):
    shop.edit("ctxfile.toml", "version = 1\n", 'version = 1\n[project]\ncache = "shop"\n')
    before = tree(shop.root)
    for flags in ((), ("--all",)):
        outcome = shop("clean", *flags)
        assert (outcome.code, outcome.err) == (
            2,
            "ctxbuild: ROOT/shop: not a cache of this version of ctxbuild: nothing was deleted\n",
        )
    assert tree(shop.root) == before


def test_a_cache_copied_from_elsewhere_does_not_delete_there(shop, tmp_path):
    import shutil

    shop("build")
    shutil.copytree(shop.root, tmp_path / "copy")
    from ctxbuild.cli.main import main

    assert main(["-C", str(tmp_path / "copy"), "clean", "--all"]) == 0
    assert (shop.root / ".ctxbuild/packs/app.md").exists()
    assert not (tmp_path / "copy/.ctxbuild/packs").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not hold")
def test_gc_of_a_cache_that_cannot_be_written_says_so(shop):
    shop("build")
    (shop.root / ".ctxbuild").chmod(0o500)
    try:
        outcome = shop("cache", "gc")
    finally:
        (shop.root / ".ctxbuild").chmod(0o700)
    assert (outcome.code, outcome.err) == (
        2,
        "ctxbuild: ROOT/.ctxbuild: cannot be written: change its permissions\n",
    )
