"""A pack at a glance: the same bytes as after a look, and none where anything could differ."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from ctxbuild.cli.main import main
from ctxbuild.serve import glance
from ctxbuild.serve.fresh import quick_build
from ctxbuild.serve.session import Session
from ctxbuild.source import ctxfile as ctxfiles
from ctxbuild.source.git import CONFIG_VARIABLES

TICK = 0.06  # seconds after which a file is no longer too young
LATER = 10**12  # nanoseconds


def git(project, *arguments: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *arguments]
    subprocess.run(command, cwd=project.root, check=True, capture_output=True)


def take_note(project) -> bool:
    """Builds, looks at what is fresh, and says whether it was noted.

    The look believes that it is late, so that the files that just came count as old.
    """
    time.sleep(TICK)
    found = ctxfiles.load(project.root / "ctxfile.toml")
    result = None
    for _ in range(3):  # what was young at the first build is looked at again
        assert not project.build().failed
        result, seen = quick_build(found, [], [], since=time.time_ns() + LATER)
        if result is not None:
            break
        if seen is not None:
            seen.connection.close()
    assert result is not None
    return (project.root / ".ctxbuild" / glance.NAME).exists()


def at_a_glance(project, capfdbinary, target: str = "app") -> bytes | None:
    """What a glance prints, None if it leaves that to a look."""
    capfdbinary.readouterr()
    code = glance.show(["-C", str(project.root), target])
    printed = capfdbinary.readouterr()
    assert printed.err == b""
    assert (printed.out == b"") == (code is None)
    return None if code is None else printed.out


@pytest.fixture
def noted(shop):
    """A repository whose pack can be shown at a glance."""
    git(shop, "init", "--quiet")
    git(shop, "add", "--all")
    git(shop, "commit", "--quiet", "--message", "all")
    assert take_note(shop)
    return shop


def test_a_glance_prints_what_a_look_would(noted, capfdbinary):
    pack = noted.outputs()["app.md"]
    assert at_a_glance(noted, capfdbinary) == pack
    assert main(["-C", str(noted.root), "show", "app"]) == 0
    assert capfdbinary.readouterr().out == pack


def test_a_glance_works_from_below_and_outside_of_a_repository(shop, capfdbinary):
    assert take_note(shop)
    assert at_a_glance(shop, capfdbinary) == shop.outputs()["app.md"]
    assert glance.show(["app", "-C", str(shop.root / "shop")]) == 0


def test_the_working_directory_is_the_one_before(noted, capfdbinary):
    before = os.getcwd()
    at_a_glance(noted, capfdbinary)
    assert os.getcwd() == before


def _same_size(project):
    before = (project.root / "shop/prices.py").stat()
    project.replace("shop/prices.py", "sum(prices)", "max(prices)")
    os.utime(project.root / "shop/prices.py", ns=(before.st_atime_ns, before.st_mtime_ns))


def _replaced_by_an_older_file(project):
    path = project.root / "shop/prices.py"
    other = project.root.parent / "other"
    other.write_text("def total(prices: list[int]) -> int:\n    return 7\n")
    os.utime(other, ns=(1, path.stat().st_mtime_ns))
    os.replace(other, path)


CHANGES = {
    "an edit of the entry": lambda p: p.replace("shop/app.py", "[1, 2]", "[1, 3]"),
    "an edit that keeps size and time": _same_size,
    "a file renamed over another": _replaced_by_an_older_file,
    "an edit of a file that no pack uses": lambda p: p.replace("shop/lonely.py", "pass", "..."),
    "a new file": lambda p: p.put("shop/new.py", "x = 1\n"),
    "a new directory": lambda p: p.put("more/new.py", "x = 1\n"),
    "a file gone": lambda p: p.remove("shop/lonely.py"),
    "a file renamed": lambda p: p.rename("shop/lonely.py", "shop/alone.py"),
    "a link": lambda p: (p.root / "shop/link.py").symlink_to("prices.py"),
    "an ignore file": lambda p: p.put(".gitignore", "lonely.py\n"),
    "git's own excludes": lambda p: p.put(".git/info/exclude", "lonely.py\n"),
    "git's index": lambda p: git(p, "rm", "--cached", "--quiet", "shop/lonely.py"),
    "git's configuration": lambda p: git(p, "config", "core.excludesFile", "/tmp/nothing"),
    "a repository that is none any more": lambda p: p.rename(".git", "../git"),
    "a repository in between": lambda p: git(p, "init", "--quiet", "shop"),
    "the ctxfile": lambda p: p.put("ctxfile.toml", ctxfile_of(p) + "# more\n"),
    "an output": lambda p: p.put(".ctxbuild/packs/app.md", "other\n"),
    "an output that is not shown": lambda p: p.remove(".ctxbuild/packs/app.plan.json"),
    "the state gone": lambda p: p.remove(".ctxbuild/state.db"),
    "a build that was cut off": lambda p: p.put(".ctxbuild/state.db-wal", "log"),
    "another format of the cache": lambda p: p.put(".ctxbuild/FORMAT", "ctxbuild-cache 2\n"),
    "a note that was cut off": lambda p: p.put(f".ctxbuild/{glance.NAME}", note_of(p)[:-8]),
    "a note of another version": lambda p: p.put(f".ctxbuild/{glance.NAME}", b"x" + note_of(p)),
    "a note full of nothing": lambda p: p.put(
        f".ctxbuild/{glance.NAME}", glance.MAGIC + b" ".join([b"0"] * 8) + b"\n"
    ),
}


def ctxfile_of(project) -> str:
    return (project.root / "ctxfile.toml").read_text()


def note_of(project) -> bytes:
    return (project.root / ".ctxbuild" / glance.NAME).read_bytes()


@pytest.mark.parametrize("what", CHANGES)
def test_a_glance_sees(noted, capfdbinary, what):
    assert at_a_glance(noted, capfdbinary) is not None
    CHANGES[what](noted)
    assert at_a_glance(noted, capfdbinary) is None


def test_a_glance_sees_where_git_looks_for_its_configuration(noted, capfdbinary, monkeypatch):
    for name in CONFIG_VARIABLES:
        with monkeypatch.context() as patch:
            patch.setenv(name, "/elsewhere")
            assert at_a_glance(noted, capfdbinary) is None, name
    assert at_a_glance(noted, capfdbinary) is not None


def test_a_glance_sees_that_the_code_is_another(noted, capfdbinary, monkeypatch):
    monkeypatch.setattr(glance, "PACKAGE", "/elsewhere/ctxbuild")
    assert at_a_glance(noted, capfdbinary) is None


def test_a_glance_sees_a_repository_around_it(shop, capfdbinary):
    assert take_note(shop)
    subprocess.run(["git", "init", "--quiet"], cwd=shop.root.parent, check=True)
    assert at_a_glance(shop, capfdbinary) is None


def test_a_note_is_not_believed_at_another_place(noted, capfdbinary):
    noted.rename(".", "../moved")
    noted.root = noted.root.parent / "moved"
    assert at_a_glance(noted, capfdbinary) is None


def test_anything_but_one_target_is_left_to_a_look(noted, capfdbinary, monkeypatch):
    monkeypatch.chdir(noted.root)
    said = ("", "app docs", "none", "app --plan", "--json app", "app -C", "-f ctxfile.toml app")
    assert [glance.show(line.split()) for line in said] == [None] * len(said)
    assert capfdbinary.readouterr().out == b""


def _with(line: str):
    return lambda p: p.put("ctxfile.toml", ctxfile_of(p) + line + "\n")


UNTOLD = {
    "links": lambda p: (p.root / "shop/link.py").symlink_to("prices.py"),
    "the wish for an earlier layout": _with('prefer = ".ctxbuild/packs/app.pack.json"'),
    "a cache elsewhere": _with('[project]\ncache = ".other"\nout = ".other/packs"'),
    "something that looks like a repository": lambda p: p.put(".git/config", ""),
}


@pytest.mark.parametrize("what", UNTOLD)
def test_nothing_is_noted_where_stats_do_not_tell_all(shop, what):
    UNTOLD[what](shop)
    assert not take_note(shop)


def test_only_targets_of_the_tree_alone_are_noted(noted, capfdbinary):
    (noted.root / ".ctxbuild" / glance.NAME).unlink()
    _with('[targets.work]\n[[targets.work.layers]]\nname = "work"\ndiff = "HEAD"')(noted)
    assert take_note(noted)
    assert at_a_glance(noted, capfdbinary) == noted.outputs()["app.md"]
    assert at_a_glance(noted, capfdbinary, "work") is None


def test_nothing_is_noted_of_files_that_are_too_young(shop):
    time.sleep(TICK)
    for _ in range(2):
        shop.build()
    found = ctxfiles.load(shop.root / "ctxfile.toml")
    result, _ = quick_build(found, [], [], since=(shop.root / "ctxfile.toml").stat().st_ctime_ns)
    assert result is not None
    assert not (shop.root / ".ctxbuild" / glance.NAME).exists()


def test_a_note_that_cannot_be_written_is_none_and_leaves_nothing(noted, monkeypatch):
    cache = noted.root / ".ctxbuild"
    (cache / glance.NAME).unlink()
    before = sorted(cache.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _refuse)
        assert not take_note(noted)
    assert sorted(cache.iterdir()) == before


def _refuse(source, path):
    raise PermissionError(13, "no", str(path))


def test_a_glance_goes_on_after_a_build(noted, capfdbinary):
    noted.replace("shop/app.py", "[1, 2]", "[1, 3]")
    assert at_a_glance(noted, capfdbinary) is None
    assert take_note(noted)
    assert b"[1, 3]" in (at_a_glance(noted, capfdbinary) or b"")


def test_a_fresh_session_and_a_glance_agree_on_the_variables_of_git():
    assert glance.VARIABLES == CONFIG_VARIABLES


def test_a_question_is_noted_as_long_as_no_variable_names_an_embedder(
    shop, capfdbinary, monkeypatch, embedding_server
):
    from ctxbuild.source.outside import EMBEDDINGS

    assert glance.EMBEDDINGS == EMBEDDINGS
    text = 'version = 1\n[targets.app]\nquestion = "Where is a value saved?"\nbudget = 4000\n'
    shop.put("ctxfile.toml", text)
    assert not take_note(shop)  # what an embedder gave can be told by no stat
    for name in EMBEDDINGS:
        monkeypatch.delenv(name, raising=False)
    assert take_note(shop)
    assert at_a_glance(shop, capfdbinary) == shop.outputs()["app.md"]
    monkeypatch.setenv("CTXBUILD_EMBEDDINGS_NAME", "meanings")
    assert at_a_glance(shop, capfdbinary) is None


def test_cleaning_up_takes_the_note_along(noted):
    assert main(["-C", str(noted.root), "clean", "--all"]) == 0
    assert not (noted.root / ".ctxbuild" / glance.NAME).exists()


def test_a_session_does_not_need_a_note(noted):
    (noted.root / ".ctxbuild" / glance.NAME).unlink()
    found = ctxfiles.load(noted.root / "ctxfile.toml")
    assert [t.status for t in Session(found).build().targets] == ["fresh"]
