"""`ctxbuild diff`, `delta`, `--rev` and request parts, as people call them."""

from __future__ import annotations

import json
import subprocess

import pytest

from ctxbuild.compare.artifact import parse
from ctxbuild.compare.delta import apply, delta_from


@pytest.fixture
def repository(shop):
    """The shop with a commit, and an edit after it."""
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all"),
        ("commit", "--quiet", "-m", "first"),
    ):
        subprocess.run(["git", *arguments], cwd=shop.root, check=True)
    return shop


def edited(shop):
    shop.edit("shop/cart.py", "def add(self, name: str)", "def add(self, name: str, count: int)")
    shop.edit("shop/app.py", "cart.add(name)", "cart.add(name, 1)")
    return shop


DIFF = """\
app: 144 -> 151 tokens (+7), 2 blocks differ (2 with another text), 4 alike
~ shop/cart.py::Cart.add: skeleton changed, +4 tokens
    @@ -1,3 +1,3 @@
    -    def add(self, name: str) -> None:
    +    def add(self, name: str, count: int) -> None:
             \"\"\"Puts a thing in.\"\"\"
    _
~ shop/app.py: full changed, +3 tokens
    @@ -7,6 +7,6 @@
     def sell(names):
         cart = Cart()
         for name in names:
    -        cart.add(name)
    +        cart.add(name, 1)
         return json.dumps(cart.total())
    _
""".replace("_\n", " \n")  # a diff marks an empty line with a blank


def test_the_working_tree_against_a_commit(repository):
    outcome = edited(repository)("diff", "app@HEAD")
    assert (outcome.code, outcome.out, outcome.err) == (0, DIFF, "")
    assert repository("diff", "app@HEAD", "app").out == DIFF


def test_equal_packs(repository):
    text = "app: 144 -> 144 tokens (+0), no block differs\n"
    assert repository("diff", "app@main", "app").out == text
    assert repository("diff", "--exit-code", "app@main").code == 0


def test_exit_code_tells_a_difference_only_if_asked(repository):
    edited(repository)
    assert repository("diff", "app@HEAD").code == 0
    assert repository("diff", "--exit-code", "app@HEAD").code == 1


def test_files_and_digests_of_earlier_builds_are_compared(repository):
    old = repository("build", "--json").data["targets"][0]["digest"]
    kept = repository.root / "old.pack.json"
    kept.write_bytes((repository.root / ".ctxbuild/packs/app.pack.json").read_bytes())
    new = edited(repository)("build", "--json").data["targets"][0]["digest"]
    for before, after in [
        (old, new),
        (old[:19], "app"),
        (old[7:15], new[7:15]),
        ("old.pack.json", ".ctxbuild/packs/app.pack.json"),
        ("./old.pack.json", new),
    ]:
        assert repository("diff", before, after).out == DIFF, (before, after)


def test_two_files_need_no_ctxfile(repository, tmp_path):
    repository("build")
    file = str(repository.root / ".ctxbuild/packs/app.pack.json")
    (tmp_path / "bare").mkdir()
    assert "no block differs" in repository("diff", file, file, at="../bare").out


def test_the_difference_as_json(repository):
    data = edited(repository)("diff", "app@HEAD", "--json").data
    assert (data["schema"], data["tokens"], data["same"]) == ("ctxbuild.diff/1", 7, 4)
    first = data["changes"][0]
    assert (first["unit"], first["kind"], first["tokens"]) == ("shop/cart.py::Cart.add", "text", 4)
    assert "count: int" in first["after"]["text"]
    assert "count: int" not in first["before"]["text"]


MARKDOWN = """\
**app: 144 -> 151 tokens (+7), 2 blocks differ (2 with another text), 4 alike**

| | block | change | tokens |
|---|---|---|---:|
| ~ | `shop/cart.py::Cart.add` | skeleton changed | +4 |
| ~ | `shop/app.py` | full changed | +3 |

<details><summary>Changed texts</summary>

`shop/cart.py::Cart.add`

```diff
@@ -1,3 +1,3 @@
-    def add(self, name: str) -> None:
+    def add(self, name: str, count: int) -> None:
         \"\"\"Puts a thing in.\"\"\"
_
```

`shop/app.py`

```diff
@@ -7,6 +7,6 @@
 def sell(names):
     cart = Cart()
     for name in names:
-        cart.add(name)
+        cart.add(name, 1)
     return json.dumps(cart.total())
_
```

</details>
""".replace("\n_\n", "\n \n")


def test_the_difference_as_markdown_for_a_pull_request(repository):
    assert edited(repository)("diff", "app@HEAD", "--markdown").out == MARKDOWN


def test_a_reason_that_changed_is_told(repository):
    repository.edit("shop/app.py", "    cart = Cart()", "    cart: Cart = Cart")
    out = repository("diff", "app@HEAD").out
    assert "? shop/cart.py::Cart: other reasons\n    reason gained: annotation shop/app.py\n" in out


def test_colours_are_used_where_they_are_wanted(repository):
    out = edited(repository)("diff", "app@HEAD", "--color", "always").out
    assert "\x1b[32m+        cart.add(name, 1)\x1b[0m" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ap", "app"), "'ap' is no target, no file and no digest: did you mean 'app'?"),
        (("ap@HEAD",), "did you mean 'app@HEAD'?"),
        (("app@", "app"), "app@ names no revision: write app@HEAD, or app"),
        (("app@mian",), "no revision 'mian'"),
        (("deadbeef",), "no pack 'deadbeef' is kept: `ctxbuild build` keeps what it builds"),
        (("none.pack.json",), "none.pack.json: cannot be read"),
        (("ctxfile.toml", "app"), "ctxfile.toml: is not a pack"),
        (("app", "--json", "--markdown"), "not allowed with argument"),
    ],
)
def test_what_means_no_pack_is_refused(repository, arguments, message):
    outcome = repository("diff", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


# --- delta --------------------------------------------------------------------------------

APPENDIX = '''\
# Update of app

Since you read this context, its sources have changed. Where this update and what you read before \
differ, only this update holds. What it does not mention is as it was.

## Replaced: this holds now

### shop/cart.py :: Cart.add (skeleton)

```python
    def add(self, name: str, count: int) -> None:
        """Puts a thing in."""
```

### shop/app.py (as a patch)

```diff
@@ -9,3 +9,3 @@
     for name in names:
-        cart.add(name)
+        cart.add(name, 1)
     return json.dumps(cart.total())
```
'''


def test_the_appendix_is_on_stdout_and_the_advice_on_stderr(repository):
    outcome = edited(repository)("delta", "app", "--since", "app@HEAD")
    assert (outcome.code, outcome.out) == (0, APPENDIX)
    assert outcome.err.startswith("a fresh pack is cheaper: 142 tokens behind what was read cost $")
    assert "(claude-sonnet-4-5, list prices of 20" in outcome.err


def test_a_pack_that_was_shown_can_be_built_upon(repository):
    shown = parse(repository.bytes_of("show", "app", "--json"), "app")
    edited(repository)
    assert repository("delta", "app", "--since", shown.head.digest).out == APPENDIX


def test_the_json_is_exact(repository):
    old = parse(repository.bytes_of("show", "app", "--json"), "app")
    data = edited(repository)("delta", "app", "--since", old.head.digest, "--json").data
    new = parse(repository.bytes_of("show", "app", "--json"), "app")
    assert apply(delta_from(data), old) == new
    assert data["appendix"] == APPENDIX
    assert (data["cost"]["fresh_tokens"], data["cost"]["cheaper"]) == (151, "fresh")


def test_nothing_changed(repository):
    outcome = repository("delta", "app", "--since", "app@HEAD")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "app: nothing that was read has changed\n"


def test_from_one_commit_to_another(repository):
    edited(repository)
    subprocess.run(["git", "commit", "-qam", "second"], cwd=repository.root, check=True)
    repository.edit("shop/app.py", "Sells things.", "Sells more.")
    out = repository("delta", "app", "--since", "app@HEAD~1", "--rev", "HEAD").out
    assert out == APPENDIX


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("app", "--since", "notes@HEAD"), "a pack of target 'notes' cannot become one of 'app'"),
        (("ap", "--since", "app@HEAD"), "no target 'ap', did you mean 'app'?"),
        (("app",), "--since"),
        (("app", "--since", "app@HEAD", "--turns", "0"), "--turns 0: must be at least 1"),
        (("app", "--since", "app@HEAD", "--history", "-1"), "--history -1: must be at least 0"),
        (("app", "--since", "app@HEAD", "--model", "gpt-5.5.4"), "did you mean 'gpt-5.4'?"),
    ],
)
def test_a_delta_that_cannot_be_is_refused(repository, arguments, message):
    outcome = repository("delta", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


# --- revisions in the other commands ------------------------------------------------------


def test_show_why_and_build_at_a_revision(repository):
    shown = repository.bytes_of("show", "app")
    edited(repository)
    assert repository.bytes_of("show", "app", "--rev", "HEAD") == shown
    assert repository.bytes_of("show", "app") != shown
    assert "Cart.add" in repository("why", "app", "shop/cart.py::Cart.add", "--rev", "main").out
    outcome = repository("build", "app", "--rev", "HEAD", "--json")
    (path, *_) = outcome.data["targets"][0]["outputs"]
    assert "/.ctxbuild/packs/@" in path
    with open(path, "rb") as file:
        assert file.read() == shown


def test_a_revision_that_is_none_is_an_error(repository):
    outcome = repository("show", "app", "--rev", "mian")
    assert outcome.code == 2
    assert "ctxbuild: no revision 'mian' in ROOT: did you mean 'main'?" in outcome.err


def test_outside_a_repository_there_are_no_revisions(shop):
    outcome = shop("build", "--rev", "HEAD")
    assert (outcome.code, outcome.out) == (2, "")
    assert "ROOT: is not in a git repository" in outcome.err


# --- request parts ------------------------------------------------------------------------


def texts(data):
    if "system" in data:
        return [part["text"] for part in data["system"]]
    if "messages" in data:
        return [part["text"] for part in data["messages"][0]["content"]]
    return [part["text"] for part in data["system_instruction"]["parts"]]


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
def test_the_parts_of_a_request_hold_the_pack(shop, provider):
    pack = shop.bytes_of("show", "app")
    for _ in range(2):  # before and after a build
        data = json.loads(shop.bytes_of("show", "app", "--format", provider))
        assert "".join(texts(data)).encode() == pack
        shop("build")


def test_a_pack_below_the_models_minimum_has_no_breakpoint(shop):
    small = shop("show", "app", "--format", "anthropic").data
    assert [set(part) for part in small["system"]] == [{"type", "text"}]
    shop.edit(
        "shop/app.py", "import json\n", "import json\n" + "# a comment of some length\n" * 300
    )
    shop.edit("ctxfile.toml", "budget = 1000", "budget = 9000")
    big = shop("show", "app", "--format", "anthropic").data
    assert [part.get("cache_control") for part in big["system"]] == [{"type": "ephemeral"}]
    none = shop("show", "app", "--format", "anthropic", "--model", "claude-haiku-4-5").data
    assert [part.get("cache_control") for part in none["system"]] == [None]
    explicit = shop("show", "app", "--format", "openai", "--model", "gpt-5.6-terra").data
    marks = [p.get("prompt_cache_breakpoint") for p in explicit["messages"][0]["content"]]
    assert marks == [{"mode": "explicit"}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "anthropic", "--model", "gpt-5.4"), "unknown anthropic model 'gpt-5.4'"),
        (("--model", "gpt-5.4"), "--model goes with a provider"),
        (("--format", "gemini", "--plan"), "--plan is printed as a table or as JSON"),
    ],
)
def test_a_request_that_cannot_be_made_is_refused(shop, arguments, message):
    outcome = shop("show", "app", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
