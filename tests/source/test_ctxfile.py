"""The ctxfile: defaults, inheritance, and mistakes named by line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.errors import CtxbuildError, CtxfileError, UnknownTarget
from ctxbuild.source import ctxfile, locate, schema
from ctxbuild.source.ctxfile import Ctxfile, Layer, Project, Target
from ctxbuild.source.selection import Scope

ROOT = Path(__file__).parents[2]


def mistake(text):
    with pytest.raises(CtxfileError) as caught:
        ctxfile.parse(text)
    return str(caught.value)


def target(lines):
    return f"version = 1\n[targets.core]\n{lines}\n"


def test_a_minimal_ctxfile_has_every_default(tmp_path):
    path = tmp_path / "ctxfile.toml"
    path.write_text('version = 1\n[targets.core]\nentry = "a.py"\n')
    assert ctxfile.load(path) == Ctxfile(
        str(path),
        str(tmp_path),
        Project(),
        (Target("core", (Layer("entry", "entry", ("a.py",)),)),),
    )


def test_every_key_reaches_its_dataclass():
    read = ctxfile.parse(
        """
        version = 1
        [project]
        include = ["src", "*.md"]
        exclude = "/src/old/"
        tokenizer = "cl100k_base"
        cache = "../cache"
        out = "packs"
        hidden = true
        vendored = true
        secrets = true
        [targets."a.b"]
        budget = 80_000
        reserve = 16_000
        headers = "full"
        layout = "edges"
        formats = ["xml", "json"]
        docstrings = "first"
        dependents = 2
        tests = true
        layers = [
          { files = "docs", budget = 2_000, pin = true, form = "summary", name = "rules" },
          { entry = ["a.py::A.b", "src/*.py"], docstrings = "none", tests = false },
        ]
        """
    )
    flags = {"hidden": True, "vendored": True, "secrets": True}
    assert read.project == Project(
        ("src", "*.md"), ("/src/old/",), "cl100k_base", "../cache", "packs", **flags
    )
    assert read.project.scope() == Scope(("src", "*.md"), ("/src/old/",), ("packs",), **flags)
    layers = (
        Layer("rules", "files", ("docs",), 2000, pin=True, form="summary"),
        Layer("entry", "entry", ("a.py::A.b", "src/*.py"), docstrings="none", dependents=2),
    )
    assert read.targets == (
        Target("a.b", layers, 80_000, 16_000, "full", "edges", ("xml", "json"), "first", 2, True),
    )


def test_extends_takes_over_keys_and_replaces_layers_as_a_whole():
    read = ctxfile.parse(
        """
        version = 1
        [targets.small]
        extends = "middle"
        budget = 100
        [targets.middle]
        extends = "base"
        files = "docs"
        [targets.base]
        budget = 9_000
        reserve = 50
        tests = true
        [[targets.base.layers]]
        entry = "a.py"
        """
    )
    assert [t.name for t in read.targets] == ["small", "middle", "base"]
    docs = Layer("files", "files", ("docs",), form="full")
    assert read.target("small") == Target("small", (docs,), 100, 50, tests=True)
    assert read.target("middle") == Target("middle", (docs,), 9000, 50, tests=True)
    assert read.target("base").layers == (Layer("entry", "entry", ("a.py",), tests=True),)


def test_an_unknown_target_suggests_one():
    read = ctxfile.parse(target('entry = "a.py"'))
    with pytest.raises(UnknownTarget, match="no target 'cora', did you mean 'core'"):
        read.target("cora")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: version is missing: add `version = 1`"),
        (
            "version = 2",
            "1: version 2 is newer than this ctxbuild, which reads 1: upgrade ctxbuild",
        ),
        ("version = true", "1: version must be 1, not True"),
        ("version = 1", "1: no target is declared: add `[targets.NAME]`"),
        ("version = 1\n\n[targets]", "3: no target is declared: add `[targets.NAME]`"),
        ("version = 1\ntargets = 3", "2: targets must be a table: write `[targets]`"),
        ("version = 1\n[targets]\na = 3", "3: target 'a' must be a table: [targets.a]"),
        (
            "version = 1\n[projct]\n",
            "2: unknown key 'projct' in the ctxfile, did you mean 'project'?",
        ),
        ("version = 1\nversion = 1", "2: is not TOML: cannot overwrite a value"),
        ("version = 1\n[targets", "2: is not TOML: expected ']' at the end of a table declaration"),
        ("version = 1\n[project]\nhiden = 1", "3: unknown key 'hiden' in [project], did you mean"),
        (
            "version = 1\n[project]\nhidden = 1",
            "3: key 'hidden' in [project] must be true or false",
        ),
        (
            "version = 1\n[project]\ncache = ''",
            "3: key 'cache' in [project] must be a text that is",
        ),
        (
            "version = 1\n[project]\nexclude = ['a', '../b']",
            "3: '../b' in 'exclude' leads out of the ctxfile's directory",
        ),
        (
            'version = 1\n[targets."a/b"]\nentry = "x"',
            "2: target name 'a/b' cannot be a file name",
        ),
        ('version = 1\n[targets."a.pack"]\nentry = "x"', "2: target name 'a.pack' cannot be a"),
        (
            'version = 1\n[targets.a]\nentry = "x"\n[targets.A]\nentry = "x"',
            "4: targets 'a' and 'A' differ only in case",
        ),
        (
            target('entry = "a"\n# budget\n\nbugdet = 3'),
            "6: unknown key 'bugdet' in target 'core', did you mean 'budget'?",
        ),
        (target('zzzzzzz = "why?"'), "3: unknown key 'zzzzzzz' in target 'core': known keys: "),
        (
            target('entry = "a"\npin = true'),
            "4: key 'pin' belongs to a layer, not to target 'core'",
        ),
        (target("budget = 5"), "2: target 'core' has no layers: add `entry = [...]`"),
        (target('entry = "a"\nfiles = "b"'), "4: target 'core' has both 'entry' and 'files'"),
        (target('entry = "a"\nbudget = 0'), "4: key 'budget' in target 'core' must be at least 1"),
        (target('entry = "a"\nbudget = -5'), "4: key 'budget' in target 'core' must be at least 1"),
        (
            target('entry = "a"\nbudget = 1.5'),
            "4: key 'budget' in target 'core' must be a whole number of tokens, not 1.5",
        ),
        (
            target('entry = "a"\nbudget = true'),
            "4: key 'budget' in target 'core' must be a whole number of tokens, not true",
        ),
        (
            target('entry = "a"\nbudget = 10_000_000_000'),
            "4: key 'budget' in target 'core' must be",
        ),
        (
            target('entry = "a"\nbudget = 10\nreserve = 10'),
            "5: target 'core' reserves 10 of its 10 tokens: nothing is left",
        ),
        (target("entry = []"), "3: key 'entry' in target 'core' is empty: list at least one"),
        (target("entry = 3"), "3: key 'entry' in target 'core' must be a list of texts, not 3"),
        (
            target("entry = [\n  'a',\n  '',\n]"),
            "5: key 'entry' in target 'core' must hold texts that are not empty, not ''",
        ),
        (target("entry = '/etc'"), "3: '/etc' in 'entry' is absolute: write it relative"),
        (target("entry = 'C:/x'"), "3: 'C:/x' in 'entry' is absolute"),
        (target("entry = 'a/../../b'"), "3: 'a/../../b' in 'entry' leads out of the ctxfile's"),
        (target("entry = 'a.py::'"), "3: 'a.py::' in 'entry' names no symbol after '::'"),
        (target("entry = '::a'"), "3: an empty pattern in 'entry'"),
        (
            target('entry = "a"\nlayout = "stabel"'),
            "4: key 'layout' in target 'core' cannot be 'stabel', did you mean 'stable'?",
        ),
        (
            target('entry = "a"\nheaders = "x"'),
            "4: key 'headers' in target 'core' cannot be 'x': one",
        ),
        (target('entry = "a"\nformats = []'), "4: key 'formats' in target 'core' is empty"),
        (target('entry = "a"\nformats = ["md", "md"]'), "4: key 'formats' in target 'core' names"),
        (target('extends = "cor"'), "3: target 'core' extends 'cor', which is no target, did you"),
        (target('extends = "core"'), "3: targets extend each other in a circle: core -> core"),
        (target("layers = []"), "3: key 'layers' in target 'core' must be a list of at least one"),
        (target("layers = [3]"), "3: layer 1 of target 'core' must be a table"),
        (
            target("[[targets.core.layers]]\nfiles = 'a'\n[[targets.core.layers]]\npni = true"),
            "6: unknown key 'pni' in layer 2 of target 'core', did you mean 'pin'?",
        ),
        (
            target("layers = [\n  { files = 'a' },\n  { files = 'b' },\n]"),
            "5: target 'core' has two layers named 'files': give each a `name`",
        ),
        (target("layers = [{}]"), "3: layer 1 of target 'core' has none of 'files' and 'entry'"),
        (
            target("layers = [{ files = 'a', entry = 'b' }]"),
            "3: layer 1 of target 'core' has both 'files' and 'entry'",
        ),
        (
            target("layers = [{ files = 'a', tests = true }]"),
            "3: key 'tests' in layer 1 of target 'core' is for 'entry' layers, this one has",
        ),
        (target("layers = [{ entry = 'a', form = 'full' }]"), "3: key 'form' in layer 1 of target"),
        (
            target("budget = 100\nreserve = 20\n[[targets.core.layers]]\nfiles='a'\nbudget = 81"),
            "7: layer 'files' of target 'core' has budget 81, its target only 80",
        ),
        (target("layers = [{ files = 'a', name = 'x y' }]"), "3: key 'name' in layer 1 of target"),
    ],
)
def test_each_mistake_is_named_by_its_line(text, message):
    assert mistake(text).startswith("ctxfile.toml:" + message)


def test_a_mistake_in_an_inherited_key_is_named_where_it_stands():
    text = 'version = 1\n[targets.a]\nextends = "b"\n[targets.b]\nfiles = "x"\nbudget = 0\n'
    assert mistake(text).startswith("ctxfile.toml:6: key 'budget' in target 'b' must be at least 1")


def test_deep_nesting_is_a_mistake_like_any_other():
    assert mistake("version = 1\nx = " + "[" * 100_000).startswith("ctxfile.toml:")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"version = 1\n# caf\xe9\n", "2: is not UTF-8: save it as UTF-8"),
        ("version = 1".encode("utf-16"), "1: is UTF-16: save it as UTF-8"),
    ],
)
def test_other_encodings_are_refused(tmp_path, data, message):
    path = tmp_path / "ctxfile.toml"
    path.write_bytes(data)
    with pytest.raises(CtxfileError) as caught:
        ctxfile.load(path)
    assert str(caught.value) == f"{path}:{message}"


def test_a_bom_and_crlf_do_no_harm(tmp_path):
    path = tmp_path / "ctxfile.toml"
    path.write_bytes(b"\xef\xbb\xbfversion = 1\r\n[targets.a]\r\nentry = 'a'\r\n")
    assert ctxfile.load(path).targets[0].name == "a"


def test_a_missing_file_and_a_directory_are_refused(tmp_path):
    with pytest.raises(CtxfileError, match="no such file"):
        ctxfile.load(tmp_path / "ctxfile.toml")
    with pytest.raises(CtxfileError, match="cannot be read"):
        ctxfile.load(tmp_path)


def test_the_nearest_ctxfile_above_is_found(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "ctxfile.toml").touch()
    assert ctxfile.find(str(tmp_path / "a/b")) == str(tmp_path / "ctxfile.toml")
    (tmp_path / "a/ctxfile.toml").touch()
    assert ctxfile.find(str(tmp_path / "a/b")) == str(tmp_path / "a/ctxfile.toml")


@given(st.text(st.sampled_from("[]{}\"=.,#\n\\ab1' "), max_size=60), st.integers(0, 60))
def test_any_damage_is_a_ctxfile_error(noise, place):
    text = target('entry = "a.py"\nlayers = [{ files = "x" }]')
    try:
        ctxfile.parse(text[:place] + noise + text[place:])
    except CtxbuildError as error:
        assert re.match(r"ctxfile\.toml:\d+: .", error.message)  # noqa: PT017


# --- lines ------------------------------------------------------------------------------


def test_lines_of_everything_toml_can_write():
    text = '''# comment with [table] = 1
a.b = 1
"q.\\u0041" = """
[not.a.table]
c = 1 \\"""
""" # end
'lit' = \'\'\'x\'\'\'
arr = [ # first
  "]", # tricky
  { k = [1,
  2] },
]
[t . "u"]
v = { w = 1, x.y = 2 }
[[t.list]]
n = 1
[[t.list]]
n = 2
[t.list.sub]
m = 3
'''
    assert locate.lines(text) == {
        ("a",): 2,
        ("a", "b"): 2,
        ("q.A",): 3,
        ("lit",): 7,
        ("arr",): 8,
        ("arr", 0): 9,
        ("arr", 1): 10,
        ("arr", 1, "k"): 10,
        ("arr", 1, "k", 0): 10,
        ("arr", 1, "k", 1): 11,
        ("t",): 13,
        ("t", "u"): 13,
        ("t", "u", "v"): 14,
        ("t", "u", "v", "w"): 14,
        ("t", "u", "v", "x"): 14,
        ("t", "u", "v", "x", "y"): 14,
        ("t", "list"): 15,
        ("t", "list", 0): 15,
        ("t", "list", 0, "n"): 16,
        ("t", "list", 1): 17,
        ("t", "list", 1, "n"): 18,
        ("t", "list", 1, "sub"): 19,
        ("t", "list", 1, "sub", "m"): 20,
    }


def every_path(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in items if isinstance(value, dict | list) else ():
        if isinstance(below, dict | list):
            yield from every_path(below, (*path, key))
        else:
            yield (*path, key)


@given(st.text(st.sampled_from("[]{}\"=.,#\n\\ab1' \t"), max_size=80))
def test_every_path_of_valid_toml_has_a_line(text):
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        locate.lines(text)  # ends all the same
        return
    assert set(every_path(raw)) - {()} <= locate.lines(text).keys()


# --- schema -----------------------------------------------------------------------------


def test_the_shipped_schema_is_the_generated_one():
    shipped = (ROOT / "ctxbuild/ctxfile.schema.json").read_text(encoding="utf-8")
    assert shipped == json.dumps(schema.generate(), indent=2) + "\n"


def test_defaults_of_the_table_are_those_of_the_dataclasses():
    read = ctxfile.parse(target("files = 'a'"))
    made = Target("core", (Layer("files", "files", ("a",), form="full"),))
    assert (read.project, read.targets) == (Project(), (made,))


def test_the_reference_names_every_key_and_its_example_is_valid():
    text = (ROOT / "docs/ctxfile.md").read_text(encoding="utf-8")
    read = ctxfile.parse(re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1])
    assert [t.name for t in read.targets] == ["engine", "review", "short-review"]
    for table in (schema.TOP, schema.PROJECT, schema.TARGET, schema.LAYER):
        for key in table:
            assert f"`{key.name}`" in text or f"[{key.name}" in text


def test_reading_a_right_ctxfile_imports_nothing_for_wrong_ones():
    code = (
        "import sys; from ctxbuild.source import ctxfile; "
        "ctxfile.parse('version=1\\n[targets.a]\\nentry=\"a\"'); "
        "print(sorted({'difflib', 'ctxbuild.source.locate', 'json'} & sys.modules.keys()))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
