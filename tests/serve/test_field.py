"""What users of other tools report, as promises of ours: one test or more per report."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxbuild.pack.tokens import counter
from ctxbuild.source import walk
from ctxbuild.source.ctxfile import parse
from ctxbuild.source.scan import Snapshot
from tests.serve.conftest import ProjectOnDisk

PACKAGE_ROOT = Path(__file__).parents[2]
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")


def git(root, *arguments):
    """Git's stdout."""
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


def left_out(project):
    """Reason per path of what is no source."""
    with project.session().asking() as workspace:
        return {left.path: left.reason for left in workspace.snapshot.left_out()}


# --- the output changes with nothing changed ------------------------------------------------


def test_the_same_bytes_under_five_hash_seeds_and_two_directory_orders(shop, tmp_path):
    found = []
    for seed in range(5):
        root = tmp_path / f"root{seed}"
        root.mkdir()
        names = sorted(p.relative_to(shop.root) for p in shop.root.rglob("*") if p.is_file())
        for name in names if seed % 2 else reversed(names):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(shop.root / name, root / name)
        subprocess.run(
            [sys.executable, "-m", "ctxbuild", "-C", str(root), "build", "-q"],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(PACKAGE_ROOT)},
            stdout=subprocess.DEVNULL,
        )
        found.append(ProjectOnDisk(root).outputs())
    assert found[0]
    assert all(each == found[0] for each in found)


# --- the cache is of no use ------------------------------------------------------------------


def test_another_target_over_the_same_files_parses_nothing_again(built):
    text = (built.root / "ctxfile.toml").read_text()
    built.put("ctxfile.toml", text + '[targets.ask]\nentry = ["shop/store.py"]\nbudget = 900\n')
    assert built.ran() == ["plan(ask)", "pack(ask)"]


def test_an_unchanged_tree_is_not_read_at_all(built, monkeypatch):
    time.sleep(0.12)  # beyond the tick in which the files were written
    built.build()

    def read(*_):
        raise AssertionError("a source was opened")

    monkeypatch.setattr(walk, "open_file", read)
    monkeypatch.setattr(Snapshot, "read", read)
    assert built.ran() == []


# --- budgets ----------------------------------------------------------------------------------


def repository(project, files=60):
    """A package whose files lean on each other, far larger than the small budgets."""
    for number in range(files):
        uses = [(number * 7 + step) % files for step in (1, 2, 3)]
        body = "".join(f"from pkg.m{u} import C{u}, f{u}\n" for u in uses if u != number)
        body += f'\n\nclass C{number}:\n    """Holds {number} \u4e16\u754c."""\n\n'
        for n in range(6):
            body += (
                f"    def method_{n}(self, value: int, *, option: str = 'x') -> C{number}:\n"
                f'        """Does {n} \U0001f600 things."""\n        return self\n\n'
            )
        body += f"\ndef f{number}(a: int) -> C{number}:\n    return C{number}()\n"
        project.put(f"pkg/m{number}.py", body)
    project.put("pkg/__init__.py", "")
    project.put("notes.md", "word \u4e16\u754c ```` fence\n" * 3000)


@pytest.mark.parametrize("budget", [1_000, 8_000, 64_000])
def test_the_exact_count_of_what_is_written_never_exceeds_the_budget(tmp_path, budget):
    project = ProjectOnDisk(tmp_path / "r")
    repository(project)
    project.put(
        "ctxfile.toml",
        f"version = 1\n[targets.entry]\nentry = ['pkg/m0.py']\nbudget = {budget}\nbodies = true\n"
        f"dependents = 2\nformats = ['md', 'xml']\n[targets.files]\nfiles = ['**']\n"
        f"budget = {budget}\n[targets.full]\nextends = 'files'\nheaders = 'full'\n",
    )
    result = project.build()
    assert not result.failed, [target.error for target in result.targets]
    for target in result.targets:
        text = project.outputs()[f"{target.name}.md"].decode()
        assert counter("o200k_base")([text]) == [target.tokens]
        assert target.tokens <= budget
    assert result.targets[1].tokens > budget * 0.7 or budget == 64_000


# --- one file takes the whole run along -----------------------------------------------------------

HOSTILE = {
    "run.py": "x = '" + "a" * 1_000_000 + "'\n",
    "spaces.py": "x = 1" + " " * 1_000_000 + "\n",
    "lines.py": "\n" * 1_000_000,
    "nested.py": "[" * 100_000 + "]" * 100_000 + "\n",
    "indent.py": "".join(" " * n + "if x:\n" for n in range(1500)) + " " * 1500 + "pass\n",
    "operators.py": "x = " + "1 + " * 100_000 + "1\n",
    "open.py": "f(" * 50_000,
    "quotes.py": "'''" * 100_001,
    "words.md": "z" * 1_000_000,
    "fences.md": "`" * 100_000 + "\n",
    "cjk.txt": "\u4e16\u754c" * 200_000,
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_file_neither_hangs_nor_spoils_a_build(shop, name):
    shop.put(f"shop/{name}", HOSTILE[name])
    more = f'[targets.hostile]\nfiles = ["shop/{name}", "shop/disk.py"]\nbudget = 3000\n'
    if name.endswith(".py"):
        more += f'[targets.enter]\nentry = ["shop/{name}"]\nbudget = 3000\n'
    shop.put("ctxfile.toml", (shop.root / "ctxfile.toml").read_text() + more)
    started = time.perf_counter()
    result = shop.build()
    assert time.perf_counter() - started < 20
    done = {target.name: target for target in result.targets}
    assert done["app"].status == done["hostile"].status == "built"
    assert "def main(path: str) -> int:" in shop.pack()
    assert "class Disk" in shop.pack("hostile")
    assert all(target.tokens <= target.budget for target in result.targets)


def test_a_million_equal_characters_are_counted_in_two_seconds():
    count = counter("o200k_base")
    count(["warm"])
    started = time.perf_counter()
    (tokens,) = count(["a" * 1_000_000])
    assert time.perf_counter() - started < 2
    assert 100_000 < tokens < 200_000


@pytest.mark.slow
@POSIX
def test_20_000_files_are_built_under_a_memory_cap(tmp_path):
    import resource

    project = ProjectOnDisk(tmp_path / "r")
    for number in range(20_000):
        folder = f"pkg/p{number // 200}"
        if number % 200 == 0:
            project.put(f"{folder}/__init__.py", "")
        near = f"from pkg.p{number // 200}.m{max(number - 1, 0)} import f{max(number - 1, 0)}\n"
        project.put(
            f"{folder}/m{number}.py",
            f"{near}\n\ndef f{number}(a):\n    return f{max(number - 1, 0)}(a).gone()\n",
        )
    project.put("pkg/__init__.py", "")
    project.put("ctxfile.toml", "version = 1\n[targets.t]\nentry = ['pkg/p99/m19999.py']\n")

    def limited():
        cap = 700_000_000
        resource.setrlimit(resource.RLIMIT_AS, (cap, cap))

    for _ in range(2):
        subprocess.run(
            [sys.executable, "-m", "ctxbuild", "-C", str(project.root), "build", "-q", "-j1"],
            check=True,
            env={**os.environ, "PYTHONPATH": str(PACKAGE_ROOT)},
            preexec_fn=limited,
            stdout=subprocess.DEVNULL,
        )
    assert project.ran() == []


# --- what is a source ---------------------------------------------------------------------------


def submodule(tmp_path, root):
    lib = tmp_path / "lib"
    lib.mkdir()
    git(lib, "init", "-q")
    (lib / "inner.py").write_text("x = 1\n")
    git(lib, "add", ".")
    git(lib, "commit", "-qm", "lib")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(lib), "vend")


def test_a_submodule_stays_out_and_is_named_once(shop, tmp_path):
    git(shop.root, "init", "-q")
    submodule(tmp_path, shop.root)
    shop.put("ctxfile.toml", 'version = 1\n[targets.app]\nfiles = ["**/*.py"]\n')
    result = shop.build()
    assert left_out(shop)["vend"] == "submodule"
    assert not any("vend" in line for line in (*result.warnings, *result.targets[0].warnings))
    assert "inner.py" not in shop.pack()


def test_thousands_of_ignored_files_cost_nothing_and_stay_out(shop):
    shop.put(".gitignore", "generated/\n")
    for number in range(2_000):
        (shop.root / "node_modules" / f"p{number % 20}").mkdir(parents=True, exist_ok=True)
        (shop.root / "node_modules" / f"p{number % 20}" / f"{number}.py").write_text("")
    shop.put("generated/more.py", "x = 1\n")
    git(shop.root, "init", "-q")
    result = shop.build()
    assert result.files < 10
    found = left_out(shop)
    assert (found["node_modules"], found["generated"]) == ("vendored", "ignored")


def test_the_selection_equals_what_git_lists(shop):
    shop.put(".gitignore", "*.log\n/build/\n!keep.log\ndocs/**/draft\n\\#odd\ntrail \n")
    shop.put("docs/.gitignore", "*.tmp\n!a.tmp\n")
    shop.put("docs/deep/.gitignore", "!*.log\n")
    names = (
        "a.log keep.log build/x.py sub/build/y.py docs/a.tmp docs/b.tmp docs/deep/c.log "
        "docs/deep/draft docs/deep/b.tmp #odd trail local/secret.txt tracked.log notes.txt"
    )
    for name in names.split():
        shop.put(name, "text\n")
    git(shop.root, "init", "-q")
    with open(shop.root / ".git" / "info" / "exclude", "a") as file:
        file.write("local/\n")
    git(shop.root, "add", "-f", "tracked.log")
    listed = git(shop.root, "ls-files", "-co", "--exclude-standard").splitlines()
    with shop.session().asking() as workspace:
        ours = workspace.snapshot.paths
    assert set(listed) - set(ours) == {".gitignore", "docs/.gitignore", "docs/deep/.gitignore"}
    assert set(ours) - set(listed) == set()


def test_every_file_that_is_left_out_has_a_reason(shop):
    shop.put(".gitignore", "*.log\n")
    shop.put(".ctxignore", "*.csv\n")
    for name in ("a.log", "b.csv", ".hidden", "c.pem", "x.egg-info/PKG-INFO"):
        shop.put(name, "x")
    (shop.root / "dangling").symlink_to("nowhere")
    git(shop.root, "init", "-q")
    shop.build()
    with shop.session().asking() as workspace:
        selected = set(workspace.snapshot.paths)
    reasons = left_out(shop)
    for folder, folders, files in os.walk(shop.root):
        base = os.path.relpath(folder, shop.root).replace(os.sep, "/")
        below = "" if base == "." else base + "/"
        folders[:] = [n for n in folders if below + n not in reasons and n != ".git"]
        assert all(below + name in selected or below + name in reasons for name in files)
    assert reasons["a.log"] == reasons["b.csv"] == "ignored"
    assert (reasons["c.pem"], reasons["dangling"]) == ("secret", "dangling link")


def test_text_with_replacement_characters_or_shift_jis_is_shown(shop):
    shop.put("odd/fffd.py", "x = '\ufffd'\n")
    shop.put("odd/sjis.py", "# coding: shift_jis\ny = '\u65e5\u672c'\n".encode("shift_jis"))
    shop.put("ctxfile.toml", 'version = 1\n[targets.app]\nfiles = ["odd/*"]\n')
    (result,) = shop.build().targets
    assert "x = '\ufffd'" in shop.pack()
    assert "y = '\u65e5\u672c'" in shop.pack()
    assert result.warnings == ()


@POSIX
def test_links_fifos_and_sockets_neither_loop_nor_hang(shop, tmp_path):
    short = Path("/tmp", f"ctx{os.getpid()}")
    shop.put("real/a.py", "a = 1\n")
    (shop.root / "real/again").symlink_to("..")
    (shop.root / "loop").symlink_to("loop")
    (shop.root / "dangling.py").symlink_to("nowhere.py")
    (shop.root / "outside.py").symlink_to(tmp_path / "outside.py")
    (tmp_path / "outside.py").write_text("out = 1\n")
    (shop.root / "alias.py").symlink_to("real/a.py")
    os.mkfifo(shop.root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(short))
        short.rename(shop.root / "sock.py")
        shop.put("ctxfile.toml", 'version = 1\n[targets.app]\nfiles = ["**/*.py"]\n')
        assert not shop.build().failed
    pack = shop.pack()
    assert pack.count("a = 1\n") == 2
    assert "out = 1" not in pack
    expected = {
        "real/again": "link to directory",
        "loop": "link loop",
        "dangling.py": "dangling link",
        "outside.py": "link outside",
        "pipe.py": "special file",
        "sock.py": "special file",
    }
    assert expected.items() <= left_out(shop).items()


def test_a_file_that_becomes_a_fifo_does_not_hang_a_build(built):
    built.remove("shop/prices.py")
    os.mkfifo(built.root / "shop/prices.py")
    assert not built.build().failed
    assert "prices [UNRESOLVED]" in built.pack()


SECRETS = {
    ".env": "TOKEN=ghp_0123456789012345678901234567890123456",
    "prod.env": "AWS=AKIAIOSFODNN7EXAMPLE",
    "id_rsa": "-----BEGIN PRIVATE KEY-----",
    "server.pem": "-----BEGIN PRIVATE KEY-----",
    ".npmrc": "//registry/:_authToken=npm_x",
    "credentials.json": "{}",
    ".aws/credentials": "AKIAIOSFODNN7EXAMPLE",
}


def test_secrets_stay_out_with_a_reason_and_only_the_ctxfile_lets_them_in(shop):
    for name, text in SECRETS.items():
        shop.put(f"conf/{name}", text + "\n")
    shop.put("ctxfile.toml", 'version = 1\n[targets.app]\nfiles = ["**"]\n')
    shop.build()
    assert not any(text in shop.pack() for text in SECRETS.values() if text != "{}")
    reasons = left_out(shop)
    for name in SECRETS:
        assert reasons[f"conf/{name.partition('/')[0]}"] == "secret"
    shop.replace("ctxfile.toml", "version = 1\n", "version = 1\n[project]\nsecrets = true\n")
    shop.build()
    assert "AWS=AKIAIOSFODNN7EXAMPLE" in shop.pack()


# --- outputs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "project", ["", 'out = "packs"', 'cache = "store"', 'out = "shop"', 'cache = "a/b"\nout = "a"']
)
def test_outputs_and_caches_never_enter_a_pack(shop, project):
    shop.put(
        "ctxfile.toml",
        f'version = 1\n[project]\nhidden = true\n{project}\n[targets.all]\nfiles = ["**"]\n'
        'formats = ["md", "xml"]\nbudget = 50000\n',
    )
    before = sum(1 for path in shop.root.rglob("*") if path.is_file())
    first = shop.build()
    assert not first.failed
    second = shop.build()
    assert second.ran == ()
    # The directory of the outputs is not looked into, whatever else may stand there.
    assert first.files == second.files <= before
    artifact = json.loads(
        Path(next(p for p in first.targets[0].outputs if "pack.json" in p)).read_bytes()
    )
    paths = {block["path"] for block in artifact["blocks"]}
    assert not [path for path in paths if "all." in path or "cache.db" in path or "state" in path]


def test_a_deleted_or_altered_output_is_restored(built):
    before = built.outputs()
    packs = built.root / ".ctxbuild" / "packs"
    (packs / "app.md").unlink()
    (packs / "app.pack.json").write_text("{}")
    assert built.ran() == []
    assert built.outputs() == before
    shutil.rmtree(packs)
    assert built.ran() == []
    assert built.outputs() == before


# --- options ------------------------------------------------------------------------------------

BASE = 'version = 1\n[targets.app]\nentry = ["shop/store.py"]\nbudget = 4000\n'
QUESTION = BASE.replace('entry = ["shop/store.py"]', 'question = "Where is a value saved?"')
DOCS = BASE.replace("entry", "docs").replace("store", "*") + 'task = "saves things"\n'
SESSION = BASE.replace('entry = ["shop/store.py"]', 'transcript = "session.jsonl"')
OPTIONS = {
    "task": DOCS,
    "profile": DOCS + 'profile = "api"\n',
    "policy": DOCS + 'policy = "model"\n',
    "steps": DOCS + "steps = 1\n",
    "precedence": DOCS + 'precedence = "shop/app.py"\n',
    "budget": BASE.replace("4000", "90"),
    "reserve": BASE + "reserve = 3900\n",
    "headers": BASE + 'headers = "full"\n',
    "layout": BASE + 'layout = "score"\n',
    "formats": BASE + 'formats = ["md", "xml"]\n',
    "docstrings": BASE + 'docstrings = "none"\n',
    "dependents": BASE + "dependents = 1\n",
    "tests": BASE + "tests = true\n",
    "bodies": BASE + "bodies = true\n",
    "entry": BASE.replace("store", "app"),
    "files": BASE.replace("entry", "files"),
    "tokenizer": BASE.replace(
        "version = 1\n", 'version = 1\n[project]\ntokenizer = "cl100k_base"\n'
    ),
    "prefer": BASE + 'prefer = "earlier.pack.json"\n',
    "exclude": BASE.replace(
        "version = 1\n", 'version = 1\n[project]\nexclude = ["shop/disk.py"]\n'
    ),
    "include": BASE.replace("version = 1\n", 'version = 1\n[project]\ninclude = ["shop/s*"]\n'),
    "layers": BASE.replace('entry = ["shop/store.py"]\n', "")
    + '[[targets.app.layers]]\nname = "n"\nentry = ["shop/store.py"]\n',
    "pin": BASE.replace('entry = ["shop/store.py"]\n', "")
    + '[[targets.app.layers]]\nname = "n"\nentry = ["shop/store.py"]\npin = true\n',
    "least-score": QUESTION + "least-score = 1.0\n",
    "cap": QUESTION + "cap = 1\n",
    "per-file": QUESTION + "per-file = 1\n",
    "vectors": QUESTION + 'vectors = "off"\n',
    "candidates": QUESTION + "candidates = 1\n",
    "slice-over": QUESTION + "slice-over = 20\n",
    "forbid": BASE + 'forbid = ["OVERSIZED"]\noversized = 0.01\n',
    "oversized": QUESTION + "oversized = 0.01\n",
    "noise": QUESTION + "noise = 1.0\n",
    "threshold": SESSION + "threshold = 20\n",
    "recent": SESSION + "recent = 1\nthreshold = 20\n",
    "compaction": SESSION + 'compaction = "model"\nthreshold = 20\n',
    "about": SESSION + 'about = "Where is a value saved?"\n',
    "duplication": QUESTION + "duplication = 1\n",
    "domination": QUESTION + "domination = 0.01\n",
    "preset": BASE
    + 'preset = "agent"\n[[targets.app.layers]]\nname = "scene"\nfiles = "shop/app.py"\n',
    **{
        key: BASE.replace('entry = ["shop/store.py"]\n', "")
        + f'[[targets.app.layers]]\nname = "n"\nentry = ["shop/store.py"]\n{key} = {value}\n'
        for key, value in {
            "priority": "5",
            "position": '"suffix"',
            "restate": "3",
            "hydrate": "true",
        }.items()
    },
    "form": BASE.replace('entry = ["shop/store.py"]\n', "")
    + '[[targets.app.layers]]\nfiles = ["shop/store.py"]\nform = "skeleton"\n',
}
# What has no effect on these sources: the layout and the pin of a pack in which all fits,
# and an earlier pack that is not there.
WITHOUT_EFFECT_HERE = {"layers", "pin", "layout", "prefer"}


@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_every_option_alone_changes_the_key_and_gives_what_a_clean_build_gives(
    shop, tmp_path, option
):
    shop.put("tests/test_shop.py", "from shop.store import Store\n\ndef test_save(): Store('x')\n")
    shop.replace("shop/disk.py", "class Disk:\n", 'class Disk:\n    """Bytes by key."""\n\n')
    shop.put("session.jsonl", '{"role": "user", "content": "Where is a value saved?"}\n' * 9)
    shop.put("ctxfile.toml", BASE)
    shop.build()
    before = shop.outputs()
    shop.put("ctxfile.toml", OPTIONS[option])
    result = shop.build()
    assert not result.failed, result.targets[0].error
    assert "plan(app)" in result.ran
    after = shop.outputs()
    assert after == shop.clean_outputs(tmp_path / "clean")
    clean = ProjectOnDisk(tmp_path / "clean").build().targets[0]
    assert result.targets[0].full_tokens == clean.full_tokens
    if option not in WITHOUT_EFFECT_HERE:
        assert after != before
    shop.put("ctxfile.toml", BASE)
    shop.build()
    assert {name: after for name, after in shop.outputs().items() if name in before} == before


def test_every_key_of_the_schema_is_among_the_options_tested():
    from ctxbuild.source import schema

    keys = {key.name for key in (*schema.TARGET, *schema.LAYER)} - {"extends", "name"}
    tested = {*OPTIONS, "question", "docs", "diff", "transcript", "memory"}
    # They check outputs and change no pack, see tests/serve/test_packet_runs.py.
    tested |= {"rules"}
    # Options of `diff` layers: they need a repository, see tests/select/test_diff.py.
    tested |= {"untracked", "generated", "history", "neighbours"}
    assert keys <= tested, keys - tested
    assert all(parse(text).targets for text in OPTIONS.values())
