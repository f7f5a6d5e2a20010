"""What the planner reads out of a question."""

from __future__ import annotations

import time

import pytest

from ctxbuild.select.retrieval.model import Frame
from ctxbuild.select.retrieval.planner import decide, plan


def names(question: str) -> set[str]:
    return {name for name, _ in plan(question).hints.names}


@pytest.mark.parametrize(
    "name",
    [
        "HTTPServer",
        "MAX_SIZE",
        "sha256_hash2",
        "__init__",
        "getValue",
        "Session.send",
        "a_b",
        "x2y",
    ],
)
def test_identifiers_of_every_style_are_hints(name: str) -> None:
    assert name in names(f"What does {name} do?")


@pytest.mark.parametrize("name", ["value", "Größe", "Öl_menge", "grow"])
def test_what_stands_in_backticks_is_a_name(name: str) -> None:
    assert name in names(f"Why does `{name}()` fail?")


def test_words_of_prose_are_no_names() -> None:
    assert names("Why does the server restart when the queue is full?") == set()


@pytest.mark.parametrize(
    "path",
    ["my-mod.py", "src/flask/app.py", "docs/index.rst", "a/b.test.js", "setup.cfg", "cmd/main.go"],
)
def test_paths_of_every_kind_are_hints(path: str) -> None:
    assert plan(f"Look at {path}, please").hints.paths == (path,)
    assert plan(f"Look at {path.replace('/', chr(92))}.").hints.paths == (path,)


def test_a_link_to_a_source_is_a_path_and_other_links_are_nothing() -> None:
    hints = plan(
        "Bug\nsee https://host.example/o/r/blob/main/pkg/mod.py#L3 and https://x.example/a.py"
    ).hints
    assert hints.paths == ("pkg/mod.py",)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Who calls close?", True),
        ("What breaks if I change this?", True),
        ("What depends on the store?", True),
        ("It causes a crash", False),
        ("She recalls the misuse", False),
    ],
)
def test_only_whole_words_ask_for_a_relation(question: str, asked: bool) -> None:
    assert plan(question).relation is asked


PYTHON = """Crash
Traceback (most recent call last):
  File "/home/u/app.py", line 3, in <module>
    run()
  File "/x/site-packages/pkg/core.py", line 40, in run
    boom()
ValueError: the lid cannot be opened
"""
IPYTHON = """Crash
~/lib/pkg/core.py in run(self, key)
     39
---> 40     boom()
File ~/lib/pkg/deep.py:7, in Deep.boom(self)
"""
PYTEST = """Crash
pkg/core.py:40: in run
    boom()
pkg/deep.py:7: ValueError
"""
NODE = """Crash
Error: no
    at Deep.boom (/srv/app/lib/deep.js:7:3)
    at run (/srv/app/lib/core.js:40:1)
"""
JAVA = """Crash
    at org.pkg.Deep.boom(Deep.java:7)
    at org.pkg.Core.run(Core.java:40)
"""
GO = """Crash
goroutine 1 [running]:
pkg.boom(0x1)
\t/srv/pkg/deep.go:7 +0x1d
main.run(...)
\t/srv/core.go:40 +0x2f
"""


@pytest.mark.parametrize(
    ("trace", "frames"),
    [
        (
            PYTHON,
            [
                Frame("/x/site-packages/pkg/core.py", 40, "run", 1),
                Frame("/home/u/app.py", 3, "", 2),
            ],
        ),
        (
            IPYTHON,
            [
                Frame("~/lib/pkg/deep.py", 7, "Deep.boom", 1),
                Frame("~/lib/pkg/core.py", 0, "run", 2),
            ],
        ),
        (PYTEST, [Frame("pkg/deep.py", 7, "", 1), Frame("pkg/core.py", 40, "run", 2)]),
        (
            NODE,
            [
                Frame("/srv/app/lib/deep.js", 7, "Deep.boom", 1),
                Frame("/srv/app/lib/core.js", 40, "run", 2),
            ],
        ),
        (
            JAVA,
            [
                Frame("Deep.java", 7, "org.pkg.Deep.boom", 1),
                Frame("Core.java", 40, "org.pkg.Core.run", 2),
            ],
        ),
        (GO, [Frame("/srv/pkg/deep.go", 7, "boom", 1), Frame("/srv/core.go", 40, "run", 2)]),
    ],
)
def test_each_frame_of_a_trace_is_a_hint_the_innermost_first(
    trace: str, frames: list[Frame]
) -> None:
    assert list(plan(trace).hints.frames) == frames


def test_the_text_of_an_exception_and_what_is_quoted_are_messages() -> None:
    assert "the lid cannot be opened" in plan(PYTHON).hints.messages
    assert plan('It says "no such lid here" then').hints.messages == ("no such lid here",)


def test_tests_and_imports_are_hints() -> None:
    hints = plan(
        "Fails\n```python\nfrom pkg.core import run, Deep as D\nimport os.path\n```\n"
        "see test_run_twice"
    ).hints
    assert hints.imports == ("pkg.core.run", "pkg.core.Deep", "os.path")
    assert hints.tests == ("test_run_twice",)


def test_what_a_form_asks_for_and_lists_of_versions_say_nothing() -> None:
    hints = plan(
        "Lid stuck\n### Bug description\nthe lid sticks\n### Python version\nwombat 3\n"
        "### Expected behavior\nit opens\n```\nnumpy==1.2.3\nwombat: 1.2.3\n```\n"
    ).hints
    found = {term for term, _ in hints.terms}
    assert {"lid", "stick", "open"} <= found
    assert found.isdisjoint({"wombat", "numpy", "version", "behavior", "description"})


def test_the_title_weighs_more_than_the_rest() -> None:
    terms = dict(plan("lid\nbox").hints.terms)
    assert terms["lid"] > terms["box"]


def test_the_decision_says_which_ways_are_gone_and_why_the_others_are_not() -> None:
    planned = plan("Who calls `grow` in src/tree.py?")
    decision = decide(planned.hints, relation=planned.relation, vectors="none is configured")
    assert dict(decision.used) == {
        "lexical": "always",
        "names": "an identifier is named",
        "paths": "a path is named",
        "graph": "a relation is asked for",
    }
    assert dict(decision.left_out) == {
        "frames": "not so: a stack trace is quoted",
        "messages": "not so: a message is quoted",
        "vector": "none is configured",
    }
    decision = decide(planned.hints, relation=planned.relation, vectors="", embedder="small")
    assert dict(decision.used)["vector"] == "embedded by small"
    assert "vector" not in dict(decision.left_out)


@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        "a/",
        "`",
        '"',
        "x_",
        'File "',
        "<a ",
        "<!--",
        "https://",
        "- ",
        "a: 1.2 ",
        "(",
        "at ",
        "\\",
        "a.b(",
        "```\n",
        "#",
        "==1.",
        "1.1",
        "@",
        "~~~",
        "\t",
        "'a b",
        "Error: ",
        ":x:`",
    ],
)
def test_hostile_questions_are_read_in_linear_time(piece: str) -> None:
    started = time.perf_counter()
    plan(piece * (100_000 // len(piece)))
    plan("t\n" + (piece * 200 + "\n") * 100)
    assert time.perf_counter() - started < 4
