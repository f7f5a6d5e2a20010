"""The action's script on a repository with two branches: summary, annotations, comment, whole."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ctxbuild.cli import ci

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github/actions/ctxbuild/action.yml"

FILES = {
    "ctxfile.toml": 'version = 1\n[targets.app]\nentry = ["app.py"]\nbudget = 1000\n'
    '[targets.notes]\nfiles = ["NOTES.md"]\nbudget = 100\n',
    "NOTES.md": "# Notes\n",
    "app.py": "from store import save\n\n\ndef main():\n    save('a', 1)\n",
    "store.py": "def save(key: str, value: int) -> None:\n    print(key, value)\n",
}
SUMMARY = """\
### Packs

| pack | status | tokens / budget | saved | against `main` |
| --- | --- | ---: | ---: | --- |
| `app` | ok | APP / 1,000 | - | +0 tokens, 1 block |
| `notes` | ok | NOTES / 100 | - | same |
| `more` | ok | MORE / 8,000 | - | new |
"""
DIFF = """\

<details><summary>app</summary>

**app: APP -> APP tokens (+0), 1 block differs (1 with another text), SAME alike**

| | block | change | tokens |
|---|---|---|---:|
| ~ | `store.py::save` | skeleton changed | +0 |

<details><summary>Changed texts</summary>

`store.py::save`

```diff
@@ -1,2 +1,2 @@
-def save(key: str, value: int) -> None: ...
+def save(key: str, value: str) -> None: ...
BLANK
```

</details>

</details>
"""


class Repository:
    """A repository with a branch `main` and a branch `topic`, which is checked out."""

    def __init__(self, root, outside):
        self.root, self.outside = root, outside
        self.lines = []
        root.mkdir()
        outside.mkdir()
        self.git("init", "-q", "-b", "main")
        for path, text in FILES.items():
            self.put(path, text)
        self.commit("main")
        self.git("checkout", "-q", "-b", "topic")

    def git(self, *arguments):
        subprocess.run(["git", "-C", str(self.root), *arguments], check=True, capture_output=True)

    def put(self, path, text):
        (self.root / path).write_text(text)

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def run(self, **settings):
        """The exit code of the action; its lines are in `lines`."""
        self.lines = []
        environment = {
            "CTXBUILD_DIRECTORY": str(self.root),
            "CTXBUILD_BASE": "main",
            "CTXBUILD_CACHE": str(self.outside / "cache.tgz"),
            "CTXBUILD_OUTPUT": str(self.outside / "out"),
            "GITHUB_STEP_SUMMARY": str(self.outside / "summary.md"),
            "GITHUB_OUTPUT": str(self.outside / "outputs"),
            "GITHUB_REPOSITORY": "owner/name",
            **settings,
        }
        return ci.main(environment, self.lines.append)

    def text(self, name):
        return (self.outside / name).read_text()

    def numbered(self, text):
        """The text with the numbers of the packs put in, and blank lines of a diff."""
        text = text.replace("BLANK", " ")
        for name in ("app", "notes", "more"):
            path = self.outside / f"out/packs/{name}.pack.json"
            if path.exists():
                text = text.replace(name.upper(), str(json.loads(path.read_text())["tokens"]))
        blocks = json.loads(self.text("out/packs/app.pack.json"))["blocks"]
        return text.replace("SAME", str(len(blocks) - 1))


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository", tmp_path / "outside")


@pytest.fixture
def topic(repository):
    """The branch changes what `app` uses and adds a target."""
    repository.put("store.py", FILES["store.py"].replace("value: int", "value: str"))
    repository.put("ctxfile.toml", FILES["ctxfile.toml"] + '[targets.more]\nfiles = ["MORE.md"]\n')
    repository.put("MORE.md", "# More\n")
    repository.commit("topic")
    return repository


def test_a_pull_request_gets_summary_and_comment(topic):
    assert topic.run() == 0
    assert topic.lines == []
    summary = topic.numbered(SUMMARY)
    assert topic.text("summary.md") == summary
    assert topic.text("out/comment.md") == f"{ci.MARK}\n{summary}{topic.numbered(DIFF)}"
    assert topic.text("outputs") == f"directory={topic.outside / 'out'}\n"
    assert sorted(os.listdir(topic.outside / "out")) == ["comment.md", "packs", "packs.ctxbundle"]
    status = subprocess.run(
        ["git", "-C", str(topic.root), "status", "--porcelain"], capture_output=True, check=True
    )
    assert status.stdout == b""


def test_a_second_run_starts_from_the_cache_and_says_the_same(topic, monkeypatch):
    assert topic.run() == 0
    comment = topic.text("out/comment.md")
    import shutil

    from ctxbuild.serve.session import Session

    ran = []
    build = Session.build

    def noting(self, *arguments, **options):
        result = build(self, *arguments, **options)
        ran.extend(result.ran)
        return result

    monkeypatch.setattr(Session, "build", noting)
    shutil.rmtree(topic.root / ".ctxbuild")
    assert topic.run() == 0
    assert topic.text("out/comment.md") == comment
    assert ran == []


def test_a_branch_that_changes_no_pack_says_so(repository):
    repository.put("other.py", "x = 1\n")
    repository.commit("other")
    assert repository.run(CTXBUILD_BASE_NAME="the trunk") == 0
    table = repository.numbered(
        "### Packs\n\n"
        "| pack | status | tokens / budget | saved | against `the trunk` |\n"
        "| --- | --- | ---: | ---: | --- |\n"
        "| `app` | ok | APP / 1,000 | - | same |\n"
        "| `notes` | ok | NOTES / 100 | - | same |\n"
    )
    said = "\nNo pack reads differently than on `the trunk`.\n"
    assert repository.text("out/comment.md") == f"{ci.MARK}\n{table}{said}"


def test_without_a_base_there_is_a_table_alone(repository):
    assert repository.run(CTXBUILD_BASE="", CTXBUILD_TARGETS="notes") == 0
    tokens = json.loads(repository.text("out/packs/notes.pack.json"))["tokens"]
    assert repository.text("summary.md") == (
        "### Packs\n\n"
        "| pack | status | tokens / budget | saved |\n"
        "| --- | --- | ---: | ---: |\n"
        f"| `notes` | ok | {tokens} / 100 | - |\n"
    )


def test_findings_are_annotations_at_their_files(repository):
    repository.put("store.py", "def save(key, value):\n    print(key\n")
    repository.put("ctxfile.toml", FILES["ctxfile.toml"].replace("NOTES.md", "NOTSE.md"))
    repository.commit("broken")
    assert repository.run() == 2
    assert [line.partition("::")[2].partition("::")[0] for line in repository.lines] == [
        "warning file=store.py,title=pack app",
        "error file=ctxfile.toml,title=pack notes",
    ]
    assert "NOTSE.md" in repository.lines[1]
    assert "| `notes` | failed | - / 100 | - | - |\n" in repository.text("summary.md")


def test_a_check_finds_packs_that_were_not_committed_anew(repository):
    kept = FILES["ctxfile.toml"].replace("version = 1\n", 'version = 1\n[project]\nout = "packs"\n')
    repository.put("ctxfile.toml", kept)
    subprocess.run(
        [sys.executable, "-m", "ctxbuild", "-C", str(repository.root), "build", "-q"],
        check=True,
        capture_output=True,
    )
    repository.commit("packs")
    assert repository.run(CTXBUILD_CHECK="true") == 0
    assert repository.lines == []
    repository.put("NOTES.md", "# Other notes\n")
    repository.commit("stale")
    assert repository.run(CTXBUILD_CHECK="true") == 1
    assert len(repository.lines) == 1
    place, _, message = repository.lines[0].removeprefix("::").partition("::")
    assert place == "error file=packs/notes.md,title=pack"
    assert message.startswith("packs/notes.md: is not what a build gives: 1 changed")


def test_a_base_that_is_not_there_is_a_warning(repository):
    assert repository.run(CTXBUILD_BASE="nowhere") == 0
    assert len(repository.lines) == 1
    assert repository.lines[0].startswith("::warning::no diff: ")


def test_a_cache_that_is_no_cache_is_a_warning(repository):
    (repository.outside / "cache.tgz").write_text("no cache")
    assert repository.run() == 0
    path = repository.outside / "cache.tgz"
    assert repository.lines == [f"::warning::{path}: is no archive of ctxbuild: it is not gzipped"]
    assert repository.run() == 0
    assert repository.lines == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"CTXBUILD_CHECK": "yes"}, "CTXBUILD_CHECK 'yes': is neither 'true' nor 'false'"),
        ({"CTXBUILD_PULL_REQUEST": "1; ls"}, "CTXBUILD_PULL_REQUEST '1; ls': is no number"),
        ({"CTXBUILD_TARGETS": "ap"}, "no target 'ap', did you mean 'app'?"),
        ({"CTXBUILD_FILE": "x.toml"}, "x.toml: no such file"),
    ],
)
def test_a_wrong_setting_is_an_error(repository, settings, message):
    assert repository.run(**settings) == 2
    assert len(repository.lines) == 1
    assert repository.lines[0].startswith("::error::")
    assert message in repository.lines[0]


def test_a_message_cannot_become_a_command():
    line = ci.annotation("error", "50%\n::set-env::x", "a:b,c.py", "t")
    assert line == "::error file=a%3Ab%2Cc.py,title=t::50%25%0A::set-env::x"


# --- the comment --------------------------------------------------------------------------

GH = """\
#!{python}
import json, os, sys
with open(os.environ["GH_LOG"], "a") as log:
    log.write(json.dumps([sys.argv[1:], "" if sys.stdin.isatty() else sys.stdin.read()]) + "\\n")
if os.environ.get("GH_FAILS"):
    sys.exit("HTTP 403: Resource not accessible by integration")
if "--paginate" in sys.argv:
    print(os.environ.get("GH_KNOWN", ""))
"""


@pytest.fixture
def gh(tmp_path, monkeypatch):
    """A stand-in for GitHub's command, which notes what it is called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gh").write_text(GH.format(python=sys.executable))
    (folder / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GH_LOG", str(tmp_path / "gh.log"))

    def calls():
        return [json.loads(line) for line in (tmp_path / "gh.log").read_text().splitlines()]

    return calls


def test_a_first_run_makes_a_comment_and_later_ones_update_it(topic, gh, monkeypatch):
    assert topic.run(CTXBUILD_PULL_REQUEST="7") == 0
    (asked, _), (made, body) = gh()
    comments = "repos/owner/name/issues/7/comments"
    assert asked[:3] == ["api", "--paginate", comments]
    assert made == ["api", "--method", "POST", comments, "--field", "body=@-"]
    assert body == topic.text("out/comment.md")
    monkeypatch.setenv("GH_KNOWN", "4711")
    assert topic.run(CTXBUILD_PULL_REQUEST="7") == 0
    assert gh()[-1][0][:4] == ["api", "--method", "PATCH", "repos/owner/name/issues/comments/4711"]


def test_a_comment_that_is_not_allowed_is_a_warning(topic, gh, monkeypatch):
    monkeypatch.setenv("GH_FAILS", "1")
    assert topic.run(CTXBUILD_PULL_REQUEST="7") == 0
    reason = "HTTP 403: Resource not accessible by integration"
    assert topic.lines == [f"::warning::the comment could not be written: {reason}"]


def test_a_diff_that_is_too_long_for_a_comment_is_left_out(topic, monkeypatch):
    monkeypatch.setattr(ci, "_MOST_CHARACTERS", 500)
    assert topic.run() == 0
    comment = topic.text("out/comment.md")
    assert comment.endswith("\n`app` changes too much to be shown here.\n")


# --- its declaration ----------------------------------------------------------------------


def test_no_input_is_part_of_a_script():
    scripts = re.findall(r"^ +run: (.*)$", ACTION.read_text(), re.MULTILINE)
    assert len(scripts) == 3
    assert all("${{" not in script for script in scripts)


def test_every_input_is_used_and_every_setting_is_known():
    text = ACTION.read_text()
    declared = re.search(r"^inputs:\n(.*?)^outputs:", text, re.MULTILINE | re.DOTALL)[1]
    inputs = re.findall(r"^  ([a-z-]+):$", declared, re.MULTILINE)
    assert len(inputs) == 9
    assert all(f"inputs.{name}" in text for name in inputs)
    settings = re.findall(r"^ +(CTXBUILD_[A-Z_]+):", text, re.MULTILINE)
    assert len(settings) == 9
    assert all(name in ci.__doc__ for name in settings)


def test_the_pre_commit_hook_checks():
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert "- id: ctxbuild-check\n" in text
    assert "entry: ctxbuild build --check\n" in text
    assert "language: python\n" in text
    assert "pass_filenames: false\n" in text
