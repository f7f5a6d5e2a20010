"""The registry: two files make a language."""

import subprocess
import sys

import pytest

from ctxbuild.facts import extract, language_of, version
from ctxbuild.facts.languages import grammar
from ctxbuild.model import Facts, Lines, Outline, Problem


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("pkg/stubs.pyi", "python"),
        ("UPPER.PY", "python"),
        ("readme.md", None),
        ("no_ending", None),
        ("dir.py/file", None),
    ],
)
def test_a_language_is_found_by_the_ending_of_the_file_name(path, language):
    assert language_of(path) == language


def test_the_version_names_parser_grammar_and_query_files():
    parser, language, digest = version("python").split(", ")
    assert parser.startswith("tree-sitter 0.")
    assert language.startswith("tree-sitter-python 0.")
    assert len(digest) == 16
    assert version(None) != version("python")


def test_looking_up_languages_imports_no_parser():
    code = (
        "import sys; from ctxbuild.facts import language_of, version;"
        "language_of('a.py'); version('python');"
        "print([name for name in sys.modules if name.startswith('tree_sitter')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_every_pattern_of_the_query_has_a_part_or_a_role():
    loaded = grammar("python")
    assert loaded is not None
    assert all(
        part is not None or role for part, role in zip(loaded.parts, loaded.roles, strict=True)
    )


def test_every_node_kind_named_in_the_table_is_one_of_the_grammar():
    loaded = grammar("python")
    assert loaded is not None
    assert all(0 not in ids for ids in loaded.kinds.values())
    assert 0 not in loaded.values


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("", ""),
        ("\n\n  plain   first line\nsecond\n", "plain first line"),
        ("intro\n\n## The *heading* ##\n", "The *heading*"),
        ("x" * 500, "x" * 117 + "..."),
    ],
)
def test_text_without_a_language_keeps_its_text_and_a_summary(text, summary):
    assert extract(text.encode(), None) == Facts(
        Outline("", summary=summary), text=text, lines=Lines(total=len(text.splitlines()))
    )


def test_a_file_of_fifty_megabytes_keeps_nothing_but_its_summary():
    facts = extract(b"head line\n" * 5_000_000, None)
    assert facts == Facts(
        Outline("", summary="head line"),
        lines=Lines(total=5_000_000),
        problems=(Problem("too-large", "50,000,000 bytes: over 10,000,000 nothing is read"),),
    )
