"""`ctxbuild build --check`: what is stale, missing, over budget or cannot be built."""

from __future__ import annotations

import pytest

KEPT = '[project]\nout = "packs"\n'


@pytest.fixture
def kept(shop):
    """Packs that are written beside the sources, to be committed."""
    shop.edit("ctxfile.toml", "version = 1\n", f"version = 1\n{KEPT}")
    assert shop("build").code == 0
    return shop


def tree(root):
    """Every file with its bytes, the cache left out."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".ctxbuild" not in path.parts
    }


def test_packs_that_are_as_they_should_be_pass(kept):
    outcome = kept("build", "--check")
    assert outcome.code == 0
    assert [line.split()[:2] for line in outcome.out.splitlines()] == [
        ["target", "status"],
        ["app", "fresh"],
        ["notes", "fresh"],
    ]
    assert outcome.err == ""


def test_a_stale_pack_fails_and_is_named_with_what_changed(kept):
    kept.edit("shop/cart.py", "name: str", "name: bytes")
    before = tree(kept.root)
    outcome = kept("build", "--check")
    assert outcome.code == 1
    assert outcome.err == (
        "ctxbuild: app: ROOT/packs/app.md: is not what a build gives: 1 changed\n"
        "`ctxbuild build` brings packs up to date\n"
    )
    assert [line.split()[:2] for line in outcome.out.splitlines()[1:]] == [
        ["app", "stale"],
        ["notes", "fresh"],
    ]
    assert tree(kept.root) == before
    assert kept("build", "--check", "notes").code == 0
    assert kept("build").code == 0
    assert kept("build", "--check").code == 0


def test_a_pack_that_was_edited_by_hand_fails(kept):
    kept.edit("packs/notes.md", "It sells.", "It buys.")
    outcome = kept("build", "--check", "--json")
    assert outcome.code == 1
    path = str(kept.root / "packs/notes.md")
    assert outcome.data["ok"] is False
    notes = outcome.data["targets"][1]
    assert notes["status"] == "stale"
    assert notes["problems"] == [
        {"kind": "stale", "path": path, "message": f"{path}: is not what a build gives"}
    ]


def test_a_pack_that_was_never_committed_fails(kept):
    for path in (kept.root / "packs").glob("notes.*"):
        path.unlink()
    outcome = kept("build", "--check")
    assert outcome.code == 1
    assert outcome.err.startswith("ctxbuild: notes: ROOT/packs/notes.md: is not there\n")


def test_plan_and_artifact_need_not_be_committed(kept):
    for path in (kept.root / "packs").glob("*.json"):
        path.unlink()
    assert kept("build", "--check").code == 0


def test_a_pack_over_budget_fails_with_its_excess(kept):
    kept.edit("ctxfile.toml", "budget = 100\n", "budget = 10\n")
    outcome = kept("build", "--check", "notes")
    assert outcome.code == 1
    assert "ROOT/packs/notes.md: has 17 tokens, 7 more than the 10 it may have" in outcome.err
    assert outcome.out.splitlines()[1].split()[:2] == ["notes", "over-budget"]


def test_a_target_that_cannot_be_built_fails(kept):
    (kept.root / "shop/app.py").unlink()
    outcome = kept("build", "--check")
    assert outcome.code == 1
    assert outcome.err.startswith("ctxbuild: app: ")
    assert outcome.out.splitlines()[1].split()[:2] == ["app", "failed"]


def test_a_given_directory_or_file_is_checked(kept, tmp_path):
    given = tmp_path / "given"
    (kept.root / "packs").rename(given)
    assert kept("build", "--check").code == 1
    assert kept("build", "--check", "--against", str(given)).code == 0
    (given / "notes.md").write_text("old\n")
    assert kept("build", "--check", "--against", str(given / "app.md")).code == 0
    outcome = kept("build", "--check", "--against", str(given / "notes.md"))
    assert outcome.code == 1
    assert f"ctxbuild: notes: {given}/notes.md: is not what a build gives\n" in outcome.err


def test_packs_in_the_cache_are_checked_only_once_they_are_there(shop):
    outcome = shop("build", "--check")
    assert (outcome.code, outcome.err) == (0, "")
    assert {line.split()[1] for line in outcome.out.splitlines()[1:]} == {"unwritten"}
    assert not (shop.root / ".ctxbuild").exists()  # nothing at all is written
    shop("build")
    shop.edit("shop/app.py", "Sells things.", "Sells everything.")
    assert shop("build", "--check").code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--against", "packs"), "--against goes with --check"),
        (("--check", "--dry-run"), "--check and --dry-run exclude each other"),
        (("--check", "--against", "nowhere"), "nowhere: no such file or directory"),
        (("--check", "--against", "README.md"), "README.md: belongs to no target"),
        (("--check", "ap"), "no target 'ap', did you mean 'app'?"),
    ],
)
def test_a_wrong_request_is_refused(kept, arguments, message):
    outcome = kept("build", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
