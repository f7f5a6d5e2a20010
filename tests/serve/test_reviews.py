"""Reviews end to end: what makes a diff stale, what runs then, a large change under its ceiling."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess

import pytest

from ctxbuild.facts.patch import parse
from ctxbuild.pack.tokens import counter
from ctxbuild.serve.past import PastSession, history
from ctxbuild.source import ctxfile
from tests.serve.conftest import Daemon, ProjectOnDisk

COUNT = counter("o200k_base")


def git(project, *arguments):
    command = ["git", "-C", str(project.root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def begin(project):
    project.put(".gitignore", ".ctxbuild/\nctxfile.toml\n*.patch\n")
    git(project, "init", "-q", "-b", "main", ".")
    git(project, "config", "user.email", "a@example.org")
    git(project, "config", "user.name", "A")
    commit(project, "first")


def commit(project, message):
    git(project, "add", "-A")
    git(project, "commit", "-qm", message)


def declare(project, text):
    project.put("ctxfile.toml", f"version = 1\n[targets.d]\nbudget = 4000\n{text}\n")


@pytest.fixture
def changed(shop):
    """The shop under git with one change in its store, and a built pack of it."""
    declare(shop, 'diff = "HEAD"')
    begin(shop)
    shop.replace("shop/store.py", "self.disk.put(key, value)", "self.disk.put(key, value + 1)")
    assert not shop.build().failed
    return shop


def fresh(project):
    result = project.build()
    assert not result.failed, [t.error for t in result.targets]
    return [t.status for t in result.targets] == ["fresh"]


def same_as_clean(project, where):
    """Whether a clean build of the same files and repository has the same bytes."""
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(project.root, where, ignore=shutil.ignore_patterns(".ctxbuild"), symlinks=True)
    clean = ProjectOnDisk(where)
    clean.build()
    return clean.outputs() == project.outputs()


# --- what runs ---------------------------------------------------------------------------


def test_a_first_build_runs_one_patch_per_file_that_differs(shop):
    declare(shop, 'diff = "HEAD"')
    begin(shop)
    shop.replace("shop/store.py", "self.disk.put(key, value)", "self.disk.put(key, 1)")
    ran = shop.ran()
    assert [each for each in ran if not each.startswith("facts(")] == [
        "patch(HEAD:shop/store.py)",
        "touched(HEAD:shop/store.py)",
        "plan(d)",
        "pack(d)",
    ]


def test_a_second_build_runs_nothing(changed):
    assert fresh(changed)
    assert changed.ran() == []


def test_a_new_hunk_costs_only_its_own_slices(changed):
    changed.replace("shop/prices.py", "return sum(prices)", "return sum(prices) + 1")
    assert changed.ran() == [
        "facts(shop/prices.py)",
        "patch(HEAD:shop/prices.py)",
        "touched(HEAD:shop/prices.py)",
        "plan(d)",
        "pack(d)",
    ]
    assert "+    return sum(prices) + 1\n" in changed.pack("d")


def test_another_edit_of_the_same_definition_asks_nobody_what_it_concerns(changed):
    changed.replace("shop/store.py", "value + 1", "value + 2")
    assert changed.ran() == [
        "facts(shop/store.py)",
        "patch(HEAD:shop/store.py)",
        "plan(d)",
        "pack(d)",
    ]


def test_an_edit_that_is_undone_runs_nothing_twice(changed):
    before = changed.outputs()
    text = (changed.root / "shop/store.py").read_text()
    changed.put("shop/store.py", text.replace("value + 1", "value + 2"))
    changed.ran()
    changed.put("shop/store.py", text)
    assert changed.ran() == ["plan(d)", "pack(d)"]
    assert changed.outputs() == before


# --- what makes it stale -----------------------------------------------------------------


def test_a_pack_is_stale_when_head_moves(changed, tmp_path):
    assert fresh(changed)
    commit(changed, "second")
    assert not fresh(changed)
    assert "nothing differs (HEAD)" in changed.pack("d")
    assert fresh(changed)
    git(changed, "reset", "-q", "--soft", "HEAD~1")
    assert not fresh(changed)
    assert "+        self.disk.put(key, value + 1)" in changed.pack("d")
    assert same_as_clean(changed, tmp_path / "clean")


def test_a_pack_is_stale_when_the_base_moves(changed, tmp_path):
    git(changed, "branch", "base")
    commit(changed, "second")
    declare(changed, 'diff = "base"')
    assert not fresh(changed)
    assert "value + 1" in changed.pack("d")
    assert fresh(changed)
    git(changed, "branch", "-f", "base", "HEAD")
    assert not fresh(changed)
    assert "nothing differs (base)" in changed.pack("d")
    assert same_as_clean(changed, tmp_path / "clean")


def test_a_pack_of_what_is_staged_is_stale_when_the_index_changes(changed, tmp_path):
    declare(changed, 'diff = "staged"')
    changed.build()
    assert "nothing differs (staged)" in changed.pack("d")
    assert fresh(changed)
    git(changed, "add", "shop/store.py")
    assert not fresh(changed)
    assert "value + 1" in changed.pack("d")
    changed.replace("shop/store.py", "value + 1", "value + 2")
    changed.build()
    assert "value + 2" not in changed.pack("d")
    assert same_as_clean(changed, tmp_path / "clean")


def test_a_new_file_a_removed_one_and_a_renamed_one_are_noticed(changed, tmp_path):
    changed.put("shop/fresh.py", "a = 1\n")
    assert not fresh(changed)
    assert "# shop/fresh.py\n@@ -0,0 +1,1 @@\n+a = 1\n" in changed.pack("d")
    changed.remove("shop/lonely.py")
    assert not fresh(changed)
    assert "- shop/lonely.py: deleted (+0 -2 lines)\n" in changed.pack("d")
    git(changed, "mv", "shop/prices.py", "shop/costs.py")
    assert not fresh(changed)
    assert "- shop/costs.py: renamed, from shop/prices.py, content unchanged" in changed.pack("d")
    assert same_as_clean(changed, tmp_path / "clean")


def test_a_file_that_is_no_source_counts_too(changed):
    text = (changed.root / "ctxfile.toml").read_text()
    changed.put("ctxfile.toml", text + '[project]\nexclude = ["*.csv"]\n')
    changed.put("data.csv", "a\n")
    git(changed, "add", "data.csv")
    changed.build()
    assert "- data.csv: added, not among the sources\n" in changed.pack("d")
    assert fresh(changed)
    git(changed, "rm", "-qf", "data.csv")
    assert not fresh(changed)


def test_a_patch_file_is_read_again_when_it_changes(changed):
    patch = git(changed, "diff", "HEAD") + "\n"
    changed.put("fix.patch", patch)
    declare(changed, 'diff = "fix.patch"')
    changed.build()
    assert "value + 1" in changed.pack("d")
    assert fresh(changed)
    changed.put("fix.patch", patch.replace("value + 1", "value + 9"))
    assert not fresh(changed)
    assert "value + 9" in changed.pack("d")


def test_a_base_that_does_not_exist_fails_its_target_alone_and_heals(changed):
    text = (changed.root / "ctxfile.toml").read_text()
    changed.put("ctxfile.toml", text + '[targets.later]\ndiff = "later"\nbudget = 900\n')
    result = changed.build()
    assert [t.status for t in result.targets] == ["fresh", "failed"]
    (failed,) = [t.error for t in result.targets if t.error]
    assert str(failed).startswith("layer 'diff': diff = 'later': no revision 'later'")
    git(changed, "branch", "later")
    assert not changed.build().failed
    assert "value + 1" in changed.pack("later")


def test_a_commits_own_pack_shows_what_the_commit_is_ahead_of_the_base(changed):
    git(changed, "branch", "base")
    commit(changed, "second")
    changed.replace("shop/store.py", "value + 1", "value + 2")
    declare(changed, 'diff = "base"')
    session = PastSession(ctxfile.load(changed.root / "ctxfile.toml"), "HEAD", workers=1)
    pack, _, _ = session.artifact("d")
    assert "+        self.disk.put(key, value + 1)\n" in pack.text
    assert "value + 2" not in pack.text


def test_going_through_commits_compares_each_with_the_base(changed):
    git(changed, "branch", "base")
    commit(changed, "second")
    changed.replace("shop/store.py", "value + 1", "value + 2")
    commit(changed, "third")
    declare(changed, 'diff = "base"')
    project = ctxfile.load(changed.root / "ctxfile.toml")
    found = [packs["d"].text for _, packs in history(project, ["HEAD~2", "HEAD~1", "HEAD"])]
    assert "nothing differs (base)" in found[0]
    assert "value + 1" in found[1]
    assert "value + 2" in found[2]


def test_a_worktree_and_a_detached_head_are_like_any_other(changed, tmp_path):
    commit(changed, "second")
    git(changed, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "HEAD~1")
    other = ProjectOnDisk(tmp_path / "tree")
    declare(other, 'diff = "main"')
    other.replace("shop/disk.py", "return 1", "return 2")
    assert not other.build().failed
    assert "+        return 2\n" in other.pack("d")
    assert "value + 1" not in other.pack("d")


# --- a large change ----------------------------------------------------------------------

FILES = 26


def large(project):
    """A package of files that use each other, a change in all of them, and a session about it."""
    for number in range(FILES):
        uses = [(number * 5 + step) % FILES for step in (1, 3)]
        body = "".join(f"from pkg.m{u} import C{u}\n" for u in uses if u != number)
        body += f"\n\nclass C{number}:\n"
        for n in range(20):
            call = f"C{uses[n % 2]}().method_{n}(value)" if uses[n % 2] != number else "value"
            body += f"    def method_{n}(self, value: int) -> int:\n        return {call}\n\n"
        project.put(f"pkg/m{number}.py", body)
    project.put("pkg/__init__.py", "")
    project.put("AGENTS.md", "Findings as one line each.\n")
    project.put("TASK.md", "Review the change for bugs that lose data.\n")
    project.put("NOTES.md", "- pkg/m1.py: found a lost value; severity high; suggest keep it\n")
    project.put(
        "ctxfile.toml",
        "version = 1\n"
        '[targets.review]\npreset = "review"\ndiff = "HEAD"\ntranscript = "session.jsonl"\n'
        'memory = "NOTES.md"\n[[targets.review.layers]]\nname = "system"\nfiles = "AGENTS.md"\n'
        '[[targets.review.layers]]\nname = "task"\nfiles = "TASK.md"\nrestate = 4\n',
    )
    begin(project)
    for number in range(FILES):
        path = f"pkg/m{number}.py"
        text = (project.root / path).read_text()
        text = text.replace("method_3(self, value: int)", "method_3(self, value: int, more: int)")
        for n in range(5, 20, 2):
            old = f"    def method_{n}(self, value: int) -> int:\n"
            text = text.replace(old, f"{old}        value = value * {n} + {number}\n")
        project.put(path, text)


def talk(project, turns):
    """A session that reads file after file, and says at last what it will change."""
    messages = [{"role": "user", "content": "Review the change, please."}]
    for n in range(turns):
        path = f"pkg/m{n % FILES}.py"
        use = {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"file_path": path}}
        text = (project.root / path).read_text()
        messages.append({"role": "assistant", "content": [use]})
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": text}
        messages.append({"role": "user", "content": [result]})
    said = "I will modify `C7.method_4` in pkg/m7.py."
    messages.append({"role": "assistant", "content": said})
    project.put("session.jsonl", "".join(json.dumps(each) + "\n" for each in messages))


@pytest.fixture(scope="module")
def review(tmp_path_factory):
    project = ProjectOnDisk(tmp_path_factory.mktemp("review") / "root")
    large(project)
    talk(project, 30)
    result = project.build()
    assert not result.failed, [t.error for t in result.targets]
    return project


def test_a_diff_of_more_than_twenty_files_stays_under_its_ceiling_after_many_tool_results(review):
    outputs = review.outputs()
    text = outputs["review.md"].decode()
    plan = json.loads(outputs["review.plan.json"])
    assert COUNT([text])[0] == plan["tokens"] <= 96_000 - 16_000
    assert plan["layers"]["diff"]["files"] == FILES
    schedule = {each["layer"]: each for each in plan["schedule"]}
    assert [each["layer"] for each in plan["schedule"]] == [
        "system", "task", "diff", "files", "memory", "transcript", "task (restated)",
    ]  # fmt: skip
    assert schedule["system"]["tokens"] <= 2_000
    assert schedule["task"]["tokens"] <= 1_000
    for path in (f"pkg/m{n}.py" for n in range(FILES)):
        assert f"\n# {path}\n@@ " in text


def test_every_pin_and_finding_is_there_and_the_task_is_said_once_more_at_the_end(review):
    text = review.pack("review")
    task = "Review the change for bugs that lose data.\n"
    assert "Findings as one line each.\n" in text
    assert text.count(task) == 2
    assert text.endswith(f"## Task, once more\n\n```\n{task}```\n")
    assert "found a lost value; severity high; suggest keep it" in text
    plan = json.loads(review.outputs()["review.plan.json"])
    pins = [c for c in plan["candidates"] if c["layer"] in ("system", "task", "task (restated)")]
    assert [c["verdict"] for c in pins] == ["kept"] * 3


def test_what_the_session_will_modify_stands_in_full(review):
    text = review.pack("review")
    _, _, work = text.partition("## In work\n")
    assert work.startswith(
        "\n```python\n# pkg/m7.py\nclass C7:\n    def method_4(self, value: int) -> int:\n"
    )


def test_the_hunks_of_the_pack_are_the_change(review, tmp_path):
    """What is shown of the change applies to the old files and makes the new ones."""
    from ctxbuild.facts.patch import applied

    blocks = json.loads(review.outputs()["review.pack.json"])["blocks"]
    plan = json.loads(review.outputs()["review.plan.json"])
    hunks = [c for c in plan["candidates"] if "@hunk-" in c["unit"]]
    assert {c["verdict"] for c in hunks} == {"kept"}
    by_path = {}
    for block in blocks:
        if block["section"] == "hunks":
            by_path.setdefault(block["path"], []).append(block["text"])
    assert len(by_path) == FILES
    for path, texts in by_path.items():
        (file,) = parse(f"--- a/{path}\n+++ b/{path}\n{''.join(texts)}").files
        old = subprocess.run(
            ["git", "-C", str(review.root), "show", f"HEAD:{path}"],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        assert applied(old, file.hunks) == (review.root / path).read_text()


@pytest.mark.parametrize("budget", [12_000, 24_000, 48_000])
def test_a_smaller_budget_keeps_every_pin_and_lets_what_matters_least_go_first(
    review, tmp_path, budget
):
    project = ProjectOnDisk(tmp_path / "small")
    shutil.copytree(review.root, project.root, ignore=shutil.ignore_patterns(".ctxbuild"))
    project.replace("ctxfile.toml", 'preset = "review"', f'preset = "review"\nbudget = {budget}')
    result = project.build()
    assert not result.failed, [t.error for t in result.targets]
    text = project.pack("review")
    plan = json.loads(project.outputs()["review.plan.json"])
    assert COUNT([text])[0] == plan["tokens"] <= budget - budget // 6
    assert text.count("Review the change for bugs that lose data.\n") == 2
    pins = [c for c in plan["candidates"] if c["layer"] in ("system", "task", "task (restated)")]
    assert [c["verdict"] for c in pins] == ["kept"] * 3


def test_the_same_bytes_whatever_a_user_has_configured(changed, tmp_path, monkeypatch):
    before = changed.outputs()
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[diff]\n\talgorithm = patience\n\tnoprefix = true\n\trenames = false\n\tcontext = 9\n"
        "[core]\n\tquotepath = true\n[color]\n\tui = always\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_DIFF_OPTS", "-u9")
    shutil.rmtree(changed.root / ".ctxbuild")
    changed.build()
    assert changed.outputs() == before
    assert os.environ["HOME"] == str(home)


def test_a_daemon_notices_that_head_has_moved(changed):
    daemon = Daemon(changed)
    daemon.start()
    try:
        assert daemon.build() == 0
        assert "value + 1" in changed.pack("d")
        commit(changed, "second")
        assert daemon.build() == 0
        assert "nothing differs (HEAD)" in changed.pack("d")
    finally:
        daemon.stop()


@pytest.mark.parametrize("seed", [1, 2])
def test_after_any_sequence_of_edits_and_commits_a_pack_is_that_of_a_clean_build(
    changed, tmp_path, seed
):
    declare(
        changed,
        'diff = "main"\ngenerated = true\n[targets.s]\ndiff = "staged"\nbudget = 700\n'
        '[targets.h]\ndiff = "HEAD~1"\nbudget = 300',
    )
    commit(changed, "second")
    git(changed, "checkout", "-qb", "topic")
    dice = random.Random(seed)

    def some():
        return dice.choice(sorted(p for p in git(changed, "ls-files").split() if p[-3:] == ".py"))

    def edit():
        path = some()
        rows = (changed.root / path).read_text().splitlines()
        place = dice.randint(0, len(rows))
        rows[place:place] = [f"# {dice.random()}"] * dice.randint(1, 3)
        changed.put(path, "\n".join(rows) + "\n")

    steps = [
        edit,
        edit,
        lambda: changed.put(f"new{dice.randint(0, 9)}.py", "def f():\n    return 1\n"),
        lambda: git(changed, "rm", "-qf", some()),
        lambda: git(changed, "mv", "-k", some(), f"shop/moved{dice.randint(0, 99)}.py"),
        lambda: git(changed, "add", "-A"),
        lambda: commit(changed, "more") if git(changed, "status", "--porcelain") else None,
        lambda: git(changed, "reset", "-q", "--hard"),
        lambda: git(changed, "checkout", "-q", "-f", dice.choice(["main", "topic"])),
    ]
    for _ in range(9):
        dice.choice(steps)()
        changed.build()
    assert same_as_clean(changed, tmp_path / "clean")
