"""Packs of commits: equal to those of the tree, which is left alone."""

from __future__ import annotations

import subprocess

import pytest

from ctxbuild.errors import CtxbuildError, EntryError, RevisionError
from ctxbuild.serve.past import PastSession, history
from ctxbuild.source import ctxfile


def git(project, *arguments):
    command = ["git", "-C", str(project.root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(project):
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--allow-empty", "-m", "x")
    return git(project, "rev-parse", "HEAD")


@pytest.fixture
def repository(shop):
    git(shop, "init", "--quiet")
    commit(shop)
    return shop


def past(project, revision="HEAD"):
    return PastSession(ctxfile.load(project.root / "ctxfile.toml"), revision, workers=1)


def test_the_pack_of_head_is_that_of_the_clean_tree_byte_for_byte(repository):
    repository.build()
    session = past(repository)
    result = session.build()
    assert result.targets[0].status == "built"
    assert session.out.name == f"@{git(repository, 'rev-parse', '--short=12', 'HEAD')}"
    names = sorted(path.name for path in session.out.iterdir())
    assert names == ["app.md", "app.pack.json", "app.plan.json"]
    for name in names:
        own = repository.root / ".ctxbuild/packs" / name
        assert (session.out / name).read_bytes() == own.read_bytes()


def test_line_ends_that_git_converts_make_no_difference(repository):
    git(repository, "config", "core.autocrlf", "true")
    for path in ("shop/app.py", "shop/store.py"):
        repository.remove(path)
        git(repository, "checkout", "--", path)
        assert b"\r\n" in (repository.root / path).read_bytes()
    repository.build()
    assert past(repository).artifact("app")[2] == repository.outputs()


def test_what_was_parsed_for_the_tree_is_not_parsed_again_for_a_commit(repository):
    repository.build()
    result = past(repository).build()
    assert list(result.ran) == ["plan(app)", "pack(app)"]


def test_the_state_of_the_tree_is_not_disturbed(repository):
    first = commit(repository)
    repository.replace("shop/prices.py", "-> int", "-> float")
    commit(repository)
    repository.build()
    past(repository, first).build()
    assert repository.ran() == []
    assert repository.build().targets[0].status == "fresh"


def test_an_older_commit_gives_the_older_pack(repository):
    old = repository.build().targets[0].digest
    repository.replace("shop/app.py", "store.size", "store.size + 1")
    commit(repository)
    assert repository.build().targets[0].digest != old
    assert past(repository, "HEAD~1").artifact("app")[0].digest == old


def test_packs_of_one_commit_after_another_are_those_of_each_alone(repository):
    commits = [git(repository, "rev-parse", "HEAD")]
    repository.replace("shop/store.py", "def load", "def fetch")
    commits.append(commit(repository))
    repository.rename("shop/prices.py", "shop/costs.py")
    commits.append(commit(repository))
    repository.rename("shop/costs.py", "shop/prices.py")
    commits.append(commit(repository))
    repository.remove("shop/app.py")
    commits.append(commit(repository))
    commits += commits[1:3]
    loaded = ctxfile.load(repository.root / "ctxfile.toml")
    steps = list(history(loaded, commits, workers=1))
    assert [name for name, _ in steps] == commits
    for name, found in steps:
        pack = found["app"]
        if isinstance(pack, CtxbuildError):
            with pytest.raises(type(pack)):
                past(repository, name).artifact("app")
        else:
            assert pack == past(repository, name).artifact("app")[0]
    assert list(history(loaded, [])) == []


def test_a_commit_without_the_entry_says_so(repository):
    repository.remove("shop/app.py")
    commit(repository)
    with pytest.raises(EntryError, match=r"shop/app\.py"):
        past(repository).artifact("app")


def test_a_content_that_is_missing_fails_the_target_and_names_the_path(repository):
    name = git(repository, "rev-parse", "HEAD:shop/disk.py")
    (repository.root / ".git/objects" / name[:2] / name[2:]).unlink()
    error = past(repository).build().targets[0].error
    assert error.startswith("shop/disk.py: its content at 'HEAD' is not in this clone")


def test_an_unknown_revision_is_refused_before_anything_is_made(repository):
    with pytest.raises(RevisionError, match="no revision 'nowhere'"):
        past(repository, "nowhere")
    assert not (repository.root / ".ctxbuild").exists()


# --- prefer -------------------------------------------------------------------------------

PREFER = 'prefer = ".ctxbuild/packs/app.pack.json"\n'


def blocks(project):
    return [block.unit for block in project.session().artifact("app")[0].blocks]


def test_a_pack_that_prefers_the_one_before_keeps_its_places(shop):
    shop.put("ctxfile.toml", (shop.root / "ctxfile.toml").read_text() + PREFER)
    shop.build()
    before = blocks(shop)
    shop.put("shop/accounts.py", "def pay(sum: int) -> int:\n    return sum\n")
    shop.replace("shop/app.py", "from shop import prices", "from shop import accounts, prices")
    shop.replace("shop/app.py", "return store.size", "return accounts.pay(store.size)")
    shop.build()
    after = blocks(shop)
    assert [unit for unit in after if unit in before] == before
    assert after[-1] == "shop/accounts.py::pay"
    assert shop.session().artifact("app")[0].tokens <= 4000


def test_a_preferred_pack_is_an_input_and_settles_after_one_more_build(shop):
    shop.put("ctxfile.toml", (shop.root / "ctxfile.toml").read_text() + PREFER)
    shop.build()
    outputs = shop.outputs()
    assert shop.ran() == ["plan(app)"]  # now there is a pack to look at, and it agrees
    assert (shop.ran(), shop.build().targets[0].status) == ([], "fresh")
    assert shop.outputs() == outputs


def test_without_prefer_nothing_but_the_sources_decides(shop):
    shop.build()
    once = shop.outputs()
    shop.replace("shop/store.py", "def save(self", "def save(self, *")
    shop.build()
    shop.replace("shop/store.py", "def save(self, *", "def save(self")
    shop.build()
    assert shop.outputs() == once


@pytest.mark.parametrize(
    ("content", "warning"),
    [
        (b"no json", "prefer: old.pack.json: is not a pack"),
        (b"[]", "prefer: old.pack.json: is not a pack"),
        (b'{"target": "other"}', "prefer: old.pack.json: is a pack of target 'other'"),
        (b'{"target": "app", "digest": "x", "blocks": [{}]}', "prefer: old.pack.json: is not a"),
    ],
)
def test_a_preferred_pack_that_is_none_is_said_and_ignored(shop, content, warning):
    shop.build()
    plain = shop.outputs()["app.md"]
    shop.put("ctxfile.toml", (shop.root / "ctxfile.toml").read_text() + 'prefer="old.pack.json"\n')
    shop.put("old.pack.json", content)
    (target,) = shop.build().targets
    assert target.warnings[0].startswith(warning)
    assert shop.outputs()["app.md"] == plain
