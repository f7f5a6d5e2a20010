"""`diff` layers: hunks first, fairly shared; what they concern; what is no text to read."""

from __future__ import annotations

import json
import re
import subprocess
from textwrap import dedent

import pytest

from ctxbuild.errors import RevisionError
from ctxbuild.facts.patch import parse
from ctxbuild.pack.tokens import counter
from ctxbuild.serve.session import Session
from ctxbuild.source import ctxfile
from tests.select.conftest import Built

SHOP = {
    "shop/__init__.py": "",
    "shop/store.py": """\
        from shop.disk import Disk


        class Store:
            def __init__(self, path: str) -> None:
                self.disk = Disk(path)

            def save(self, key: str, value: int) -> None:
                self.disk.put(key, value)

            def load(self, key: str) -> int:
                return self.disk.get(key)


        def unused(a: int) -> int:
            return a
        """,
    "shop/disk.py": """\
        class Disk:
            def __init__(self, path: str) -> None:
                self.path = path

            def put(self, key: str, value: int) -> None:
                print(key, value)

            def get(self, key: str) -> int:
                return 1
        """,
    "shop/app.py": """\
        from shop.store import Store, unused


        def main(path: str) -> int:
            store = Store(path)
            print("begin")
            store.save("total", 3)
            return unused(4)
        """,
    "tests/test_store.py": """\
        from shop.store import Store


        def test_saves():
            Store("x").save("a", 1)
        """,
    "README.md": "# Shop\n\nSells.\n",
}


class Repository:
    """A git repository with a first commit, and packs of what differs."""

    def __init__(self, root, files):
        self.root = root
        self.git("init", "-q", "-b", "main", ".")
        self.git("config", "user.email", "a@example.org")
        self.git("config", "user.name", "A")
        self.write(files)
        self.commit("first")

    def git(self, *arguments):
        subprocess.run(["git", "-C", str(self.root), *arguments], check=True, capture_output=True)

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def write(self, files):
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())

    def replace(self, path, old, new):
        text = (self.root / path).read_text()
        assert old in text
        (self.root / path).write_text(text.replace(old, new))

    def pack(self, diff="HEAD", budget=4000, **keys):
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        text = "\n".join(
            [
                *("version = 1", '[project]\nexclude = "left-out/"', "[targets.d]", *lines),
                *(f"diff = {json.dumps(diff)}", f"budget = {budget}", ""),
            ]
        )
        read = ctxfile.parse(text, str(self.root / "ctxfile.toml"))
        session = Session(read, workers=1)
        pack, plan, files = session.artifact("d")
        assert counter("o200k_base")([pack.text]) == [pack.tokens]
        assert pack.tokens <= budget
        built = Built(pack.text, plan)
        built.data = json.loads(files["d.plan.json"])
        built.blocks = json.loads(files["d.pack.json"])["blocks"]
        return built


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop-root").mkdir()
    return Repository(tmp_path / "shop-root", {**SHOP, ".gitignore": ".ctxbuild/\n"})


def test_hunks_stand_under_their_signatures_with_what_they_concern(shop):
    shop.replace("shop/store.py", "put(key, value)", "put(key, value + 1)")
    shop.write({"shop/fresh.py": "def new():\n    return 2\n"})
    assert shop.pack().text == dedent(
        """\
        # d

        ## Changes

        ```diff
        # shop/fresh.py
        @@ -0,0 +1,2 @@
        +def new():
        +    return 2
        # shop/store.py
        @@ -6,7 +6,7 @@ class Store:
                 self.disk = Disk(path)
        ~
             def save(self, key: str, value: int) -> None:
        -        self.disk.put(key, value)
        +        self.disk.put(key, value + 1)
        ~
             def load(self, key: str) -> int:
                 return self.disk.get(key)
        ```

        ## Used definitions

        ```python
        # shop/disk.py
        class Disk:
            def put(self, key: str, value: int) -> None: ...
        ```

        ## Dependents

        ```python
        # shop/app.py
        def main(path: str) -> int:
            ...
            store.save("total", 3)
        ```

        ## Tests

        ```python
        # tests/test_store.py
        def test_saves():
            Store("x").save("a", 1)
        ```

        ## Changed files

        - 2 files in all (HEAD), +3 -1 lines
        """
    ).replace("~", " ")


def test_nothing_changed_is_said(shop):
    assert shop.pack().text == "# d\n\n## Changed files\n\n- nothing differs (HEAD)\n"


def test_what_is_no_text_to_read_is_one_line_with_its_reason_and_cost(shop):
    shop.write(
        {
            "left-out/secret.py": "a = 1\n",
            "big.txt": "x\n",
            "poetry.lock": "a\n",
            "api_pb2.py": "a = 1\n",
            "made.py": "a = 1\n",
            "gone.py": "def left():\n    return 1\n",
            "logo.png": b"a\0b",
            "old.py": "def f():\n    return 1\n\n\ndef g():\n    return 2\n",
            "run.sh": "echo\n",
            "ends.txt": "a\nb\n",
            "link": "target\n",
            "page.min.js": "a\n",
        }
    )
    shop.commit("second")
    shop.write(
        {
            "left-out/secret.py": "a = 2\n",
            "big.txt": "y" * 2_000_001,
            "poetry.lock": "b\nc\n",
            "api_pb2.py": "a = 2\n",
            "made.py": "# @generated\na = 2\n",
            "logo.png": b"a\0cc",
            "ends.txt": b"a\r\nb\r\n",
            "page.min.js": "b\n",
        }
    )
    (shop.root / "gone.py").unlink()
    (shop.root / "link").unlink()
    (shop.root / "link").symlink_to("big.txt")
    shop.git("mv", "old.py", "new.py")
    shop.replace("new.py", "return 2", "return 3")
    (shop.root / "run.sh").chmod(0o755)
    (shop.root / "README.md").touch()
    found = shop.pack()
    assert found.section("Changed files").splitlines() == [
        "- 12 files in all (HEAD), +7 -7 lines",
        "- api_pb2.py: modified, generated (+1 -1 lines)",
        "- big.txt: modified, too large to compare (2000001 bytes)",
        "- ends.txt: modified, only line ends or encoding (6 bytes)",
        "- gone.py: deleted (+0 -2 lines)",
        "- left-out/secret.py: modified, not among the sources",
        "- link: changed its type, link",
        "- logo.png: modified, binary (4 bytes)",
        "- made.py: modified, generated (+2 -1 lines)",
        "- new.py: renamed, from old.py (+1 -1 lines)",
        "- page.min.js: modified, generated (+1 -1 lines)",
        "- poetry.lock: modified, lock file (+2 -1 lines)",
        "- run.sh: modified, mode 100644 to 100755, content unchanged (5 bytes)",
    ]
    assert "# new.py\n@@ -3,4 +3,4 @@\n" in found.text
    assert "a = 2" not in found.text
    shown = shop.pack(generated=True).text
    assert "# @generated\n" in shown
    assert "api_pb2.py\n@@" in shown
    assert "secret.py\n@@" not in shown


def test_a_deletion_names_who_still_uses_what_is_gone(shop):
    shop.replace("shop/store.py", "\n\ndef unused(a: int) -> int:\n    return a\n", "")
    found = shop.pack()
    assert found.section("Changed files").splitlines() == [
        "- 1 files in all (HEAD), +0 -4 lines",
        "- shop/app.py: still uses unused, which shop/store.py no longer defines",
        "- shop/store.py: modified, no longer defines unused (+0 -4 lines)",
    ]
    assert found.kinds("shop/app.py#gone-unused") == ["uses-gone"]


def test_callers_of_what_looks_different_come_before_those_of_what_only_does_other_things(shop):
    shop.replace("shop/store.py", "value: int) -> None", "value: int, at: int = 0) -> None")
    shop.replace("shop/store.py", "return self.disk.get(key)", "return self.disk.get(key) + 1")
    found = shop.pack()
    assert found.verdicts["shop/app.py::main#dependents"].score == 0.8
    shop.git("checkout", "-q", "shop/store.py")
    shop.replace("shop/store.py", "put(key, value)", "put(key, 1)")
    assert shop.pack().verdicts["shop/app.py::main#dependents"].score == 0.5


def test_a_call_site_that_a_hunk_shows_is_not_shown_again(shop):
    shop.replace("shop/store.py", "put(key, value)", "put(key, 1)")
    shop.replace("shop/app.py", 'print("begin")', 'print("end")')
    assert shop.pack().section("Dependents") == ""


def test_a_new_hunk_in_a_file_with_many_leaves_every_line_number_right(shop):
    rows = [f"x{n} = {n}" for n in range(300)]
    shop.write({"rows.py": "\n".join(rows) + "\n"})
    shop.commit("rows")
    for n in range(0, 300, 20):
        rows[n] = f"x{n} = -1"
    rows[150:150] = ["new = 1", "newer = 2"]
    shop.write({"rows.py": "\n".join(rows) + "\n"})
    found = shop.pack()
    text = re.search(r"```diff\n# rows.py\n(.*?)```", found.text, re.DOTALL)[1]
    (file,) = parse(f"--- a/rows.py\n+++ b/rows.py\n{text}").files
    for hunk in file.hunks:
        new = [row[1:] for row in hunk.rows if row[0] in " +"]
        assert rows[hunk.new_start - 1 : hunk.new_start - 1 + hunk.new_count] == new
    lines = [block["lines"] for block in found.blocks if block["unit"].startswith("rows.py@hunk")]
    assert lines == [[h.new_start, h.new_start + h.new_count - 1] for h in file.hunks]


def big_change(shop):
    """One huge rewrite and thirty small edits."""
    small = {f"s{n:02}.py": f"def f{n}(a):\n    return a\n" for n in range(30)}
    shop.write({**small, "huge.txt": "".join(f"row {n}\n" for n in range(3000))})
    shop.commit("files")
    shop.write({path: text.replace("return a", "return a + 1") for path, text in small.items()})
    shop.write({"huge.txt": "".join(f"line {n} of many words\n" for n in range(3000))})


def test_small_hunks_are_not_starved_by_a_large_one_and_the_large_one_gets_the_rest(shop):
    big_change(shop)
    found = shop.pack(budget=2500)
    assert found.text.count("+    return a + 1") == 30
    huge = found.verdicts["huge.txt@hunk-1"]
    assert (huge.verdict, huge.form, huge.why) == ("trimmed", "slice", "budget")
    assert re.search(r"\\ \d+ more lines of this hunk are left out \(\+3000 -\d+\)", found.text)
    assert dict(huge.costs)["full"] > 30_000


def test_what_is_left_out_is_listed_and_the_plan_says_what_it_costs(shop):
    big_change(shop)
    found = shop.pack(budget=700)
    left = found.section("Changes left out").splitlines()
    verdicts = [v for unit, v in found.verdicts.items() if "@hunk" in unit]
    shown = [v for v in verdicts if v.form in ("full", "slice")]
    named = [v for v in verdicts if v.form == "name"]
    assert len(verdicts) == 31
    assert len(left) == len(named)
    assert {line.partition(":")[0][2:] for line in left} == {v.unit for v in named}
    assert all(dict(v.costs)["full"] > 0 for v in verdicts if v.form != "full")
    assert shown
    assert named


def test_so_many_hunks_that_not_all_can_be_named_are_named_by_file(shop):
    shop.write({f"d{n % 7}/f{n}.txt": "a\n" for n in range(450)})
    shop.commit("files")
    shop.write({f"d{n % 7}/f{n}.txt": "b\n" for n in range(450)})
    found = shop.pack(budget=9000)
    first = found.section("Changed files").splitlines()[0]
    assert first == (
        "- 450 files in all (HEAD), +400 -400 lines; 50 of them not compared: 50 in d6"
    )
    capped = [v for v in found.data["candidates"] if v["why"] == "cap"]
    assert len(capped) == 50
    assert capped[0]["detail"] == "only 400 files are compared"
    assert found.data["layers"]["diff"]["compared"] == 400


def test_history_and_neighbours_come_only_when_they_are_asked_for(shop):
    shop.replace("shop/disk.py", "return 1", "return 2")
    shop.commit("Reads two")
    shop.replace("shop/disk.py", "return 2", "return 3")
    assert "Reads two" not in shop.pack().text
    found = shop.pack(history=2, neighbours=True)
    (line,) = found.section("History").splitlines()
    assert re.fullmatch(r"- shop/disk.py: \w{10} Reads two, \w{10} first", line)
    assert [row.partition(":")[0] for row in found.section("Beside the changes").splitlines()] == [
        "- shop/__init__.py",
        "- shop/app.py",
        "- shop/store.py",
    ]


def test_untracked_files_count_unless_the_layer_says_otherwise(shop):
    shop.write({"fresh.py": "a = 1\n"})
    assert "# fresh.py\n" in shop.pack().text
    assert "fresh.py" not in shop.pack(untracked=False).text


def test_staged_changes_are_those_of_the_index(shop):
    shop.replace("shop/disk.py", "return 1", "return 2")
    shop.git("add", "-A")
    shop.replace("shop/disk.py", "return 2", "return 3")
    text = shop.pack("staged").text
    assert "+        return 2\n" in text
    assert "return 3" not in text


def test_a_range_is_shown_as_it_was(shop):
    shop.replace("shop/disk.py", "return 1", "return 2")
    shop.commit("two")
    shop.replace("shop/disk.py", "return 2", "return 3")
    shop.commit("three")
    text = shop.pack("HEAD~2..HEAD~1").text
    assert "-        return 1\n+        return 2\n" in text
    assert "return 3" not in text


PATCH = """\
--- a/shop/disk.py
+++ b/shop/disk.py
@@ -6,4 +6,4 @@
         print(key, value)
~
     def get(self, key: str) -> int:
-        return 1
+        return 2
""".replace("~", " ")


def test_a_patch_file_needs_no_git_and_is_shown_alike_before_and_after_it_is_applied(shop):
    subprocess.run(["rm", "-rf", str(shop.root / ".git")], check=True)
    (shop.root / "fix.patch").write_text(PATCH)
    before = shop.pack("fix.patch")
    assert "@@ -6,4 +6,4 @@ class Disk:\n" in before.text
    assert "- 1 files in all (fix.patch), +1 -1 lines\n" in before.text
    shop.replace("shop/disk.py", "return 1", "return 2")
    assert shop.pack("fix.patch").text == before.text
    assert before.plan.warnings == ()


def test_a_patch_that_does_not_apply_is_shown_as_it_is_with_a_warning(shop):
    (shop.root / "fix.patch").write_text(PATCH)
    shop.replace("shop/disk.py", "return 1", "return 9")
    found = shop.pack("fix.patch")
    assert "+        return 2\n" in found.text
    assert found.plan.warnings == (
        "shop/disk.py: hunk 1 of the patch does not apply: shown as it is",
    )
    assert "- shop/disk.py: modified, the patch does not apply (+1 -1 lines)\n" in found.text


@pytest.mark.parametrize(
    ("diff", "message"),
    [
        ("mian", "layer 'diff': diff = 'mian': no revision 'mian': did you mean 'main'?"),
        ("no.patch", "layer 'diff': diff = 'no.patch': there is no such patch file, or it is"),
        ("README.diff", "layer 'diff': diff = 'README.diff': the file holds no diff that can be"),
    ],
)
def test_what_does_not_exist_is_one_clear_line(shop, diff, message):
    (shop.root / "README.diff").write_text("Nothing here.\n")
    with pytest.raises(RevisionError) as caught:
        shop.pack(diff)
    assert str(caught.value).startswith(message)


def test_pinned_hunks_are_whole_or_the_excess_is_named(shop):
    from ctxbuild.errors import BudgetError

    big_change(shop)
    layer = 'layers = [{ diff = "HEAD", pin = true }]'
    text = f"version = 1\n[targets.d]\n{layer}\nbudget = 9000\n"
    session = Session(ctxfile.parse(text, str(shop.root / "ctxfile.toml")), workers=1)
    with pytest.raises(BudgetError, match=r"what is pinned needs \d+ tokens, \d+ more than"):
        session.artifact("d")


@pytest.mark.parametrize("headers", ["lean", "full"])
def test_every_format_keeps_the_budget(shop, headers):
    big_change(shop)
    for budget in (400, 900, 3000):
        read = ctxfile.parse(
            f"version = 1\n[targets.d]\ndiff = 'HEAD'\nbudget = {budget}\nheaders = '{headers}'\n"
            "formats = ['md', 'xml', 'json']\n",
            str(shop.root / "ctxfile.toml"),
        )
        pack, _, files = Session(read, workers=1).artifact("d")
        for form in ("md", "xml", "json"):
            assert counter("o200k_base")([files[f"d.{form}"].decode()])[0] <= budget, form
        assert pack.blocks


def test_a_renaming_patch_is_read_before_and_after_it_is_applied(shop):
    shop.git("mv", "shop/disk.py", "shop/files.py")
    shop.replace("shop/files.py", "return 1", "return 2")
    done = subprocess.run(
        ["git", "-C", str(shop.root), "diff", "HEAD", "-M"], check=True, capture_output=True
    )
    (shop.root / "move.patch").write_bytes(done.stdout)
    after = shop.pack("move.patch")
    assert "# shop/files.py\n@@ -6,4 +6,4 @@ class Disk:\n" in after.text
    assert "- shop/files.py: renamed, from shop/disk.py (+1 -1 lines)\n" in after.text
    shop.git("reset", "-q", "--hard")
    assert shop.pack("move.patch").text == after.text


def test_the_sessions_own_files_are_no_part_of_the_change(shop):
    (shop.root / "s.jsonl").write_text('{"role": "user", "content": "Hello"}\n')
    (shop.root / "NOTES.md").write_text("- a.py: found a bug\n")
    text = (
        'version = 1\n[targets.d]\nlayers = [{ diff = "HEAD" }, { transcript = "s.jsonl" }, '
        '{ memory = "./NOTES.md" }]\n'
    )
    read = ctxfile.parse(text, str(shop.root / "ctxfile.toml"))
    pack, _, _ = Session(read, workers=1).artifact("d")
    assert "- nothing differs (HEAD)\n" in pack.text
