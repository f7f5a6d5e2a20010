"""Outputs held against rules: texts, diffs, directories, and what a report says."""

from __future__ import annotations

import pytest

from ctxbuild.compare.artifact import Artifact, Cause, Head, Shown
from ctxbuild.compare.lint import Output, Rule, Source, run
from ctxbuild.compare.lint_derive import derive
from ctxbuild.compare.lint_judge import judge
from ctxbuild.compare.lint_outputs import is_diff, outputs_of, parse_output
from ctxbuild.compare.lint_rules import own_rules, rules_of
from ctxbuild.errors import ModelError, UsageError
from ctxbuild.source.ctxfile import CheckRule
from ctxbuild.source.model_client import ModelClient
from tests.chatserver import Reply

DIFF = """\
diff --git a/app.py b/app.py
--- a/app.py
+++ b/app.py
@@ -1,3 +1,4 @@
 import json
-x = eval(old)
+y = 1
+x = eval(new)
 z = 3
@@ -10,2 +11,3 @@ def f():
 a = 1
+--- b = eval(2)
 c = 2
diff --git a/docs/b.md b/docs/b.md
--- /dev/null
+++ b/docs/b.md
@@ -0,0 +1 @@
+Simply put.
"""


def rule(text="Never use `eval`.", modality="MUST NOT", name="r", level="error"):
    return Rule(name, text, modality, level, Source("a.md", "A > B", "3"), derive(text, modality))


# --- outputs ------------------------------------------------------------------------------


def test_of_a_diff_only_what_it_adds_is_checked_at_its_place_in_the_new_file():
    found = run("p", [rule()], parse_output("change.diff", DIFF)).diagnostics
    assert [(d.path, d.line, d.column) for d in found] == [("app.py", 3, 5), ("app.py", 12, 9)]


def test_a_diff_is_known_by_its_beginning_too():
    assert is_diff("-", DIFF)
    assert not is_diff("a.md", "--- a rule\n\nsome text\n")
    assert [output.path for output in parse_output("-", DIFF)] == ["app.py", "docs/b.md"]


def test_nothing_is_missing_from_a_diff():
    wanted = rule("Every request MUST include the `X-Key` header.", "MUST")
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n a = 1\n+requests.get(u)\n"
    assert run("p", [wanted], parse_output("-", diff)).diagnostics == ()


def test_a_directory_gives_its_texts_in_the_order_of_their_names(tmp_path):
    for name, data in {
        "b.py": b"eval(1)\n",
        "a/x.md": b"fine\n",
        "a/y.bin": b"\0\1",
        "a/z.txt": b"\xff\xfe",
        ".git/c.py": b"eval(1)\n",
    }.items():
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_bytes(data)
    found = outputs_of(["out"], str(tmp_path), None)
    assert [(output.path, output.language) for output in found] == [
        ("out/b.py", "python"),
        ("out/a/x.md", ""),
    ]


def test_standard_input_and_windows_line_ends(tmp_path):
    (found,) = outputs_of(["-"], str(tmp_path), b"a\r\neval(1)\r\n")
    (diagnostic,) = run("p", [rule()], [found]).diagnostics
    assert (diagnostic.path, diagnostic.line, diagnostic.column) == ("-", 2, 1)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [("gone.md", None, "cannot be read"), ("bad.md", b"\xff\xfe\xff", "is no UTF-8 text")],
)
def test_an_output_that_cannot_be_read_is_an_error(tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=message):
        outputs_of([name], str(tmp_path), None)


# --- rules --------------------------------------------------------------------------------


def block(unit, text, modality, section="constraints"):
    path, symbol = unit.partition("#")[0], unit.partition("#")[2].partition("@")[0]
    return Shown(
        unit, path, symbol, "full", "docs", section, 9, "", 1.0, (4, 4),
        (Cause("constraint", detail=modality),), text,
    )  # fmt: skip


def test_every_item_of_a_packet_that_binds_is_a_rule_with_its_source():
    head = Head("p", "", "o200k_base", 100, 0, 50)
    source = Shown(
        "g.md#keys", "g.md", "g.md", "full", "docs", "provenance", 5, "", 1.0, (1, 9), (),
        "- keys: Access > Keys\n",
    )  # fmt: skip
    packet = Artifact(
        head,
        (
            block("g.md#keys@2", "2. [MUST NOT] Never use `eval`.\n", "MUST NOT"),
            block("g.md#keys@3", "3. It is long.\n", "", "facts"),
            block("g.md#keys@4", "4. Clients SHOULD rest.\n", "SHOULD"),
            block("g.md#keys@5", "5. Clients MAY rest.\n", "MAY"),
            source,
        ),
    )
    first, second = rules_of(packet)
    assert (first.id, first.text, first.level) == ("g.md#keys@2", "Never use `eval`.", "error")
    assert str(first.source) == "g.md, Access > Keys, 2"
    assert first.source.lines == (4, 4)
    assert len(first.checks) == 1
    assert (second.text, second.level, second.checks) == ("Clients SHOULD rest.", "warning", ())


def test_rules_of_the_ctxfile_have_pattern_path_language_message_and_level():
    declared = [
        CheckRule("no-x", r"x\d+", "src/*", "python", "no numbered x", "warning", False, "t"),
        CheckRule("license", "^# SPDX", "*.py", "", "", "error", True, "t"),
    ]
    outputs = [
        Output("src/a.py", "x1 = x22\n", "python"),
        Output("src/a.js", "x1\n", "javascript"),
        Output("lib/a.py", "x1\n", "python"),
    ]
    found = run("t", own_rules(declared, "ctxfile.toml"), outputs).diagnostics
    assert [(d.rule, d.path, d.message) for d in found] == [
        ("rules/license", "src/a.py", "^# SPDX is missing"),
        ("rules/no-x", "src/a.py", "no numbered x"),
        ("rules/no-x", "src/a.py", "no numbered x"),
    ]
    assert str(found[0].source) == "ctxfile.toml, targets.t.rules, license"


def test_a_pattern_of_the_ctxfile_is_tried_on_the_beginning_of_endless_rows_only():
    declared = [CheckRule("slow", r"(a+)+b", target="t")]
    outputs = [Output("a", "c" * 1_000_000 + "ab\nab\n")]
    found = run("t", own_rules(declared, "c.toml"), outputs).diagnostics
    assert [(d.line, d.column) for d in found] == [(2, 1)]


def test_a_pattern_that_is_none_is_an_error():
    with pytest.raises(UsageError, match=r"rule 'x': '\(' is no pattern"):
        own_rules([CheckRule("x", "(", target="t")], "c.toml")


# --- the report ---------------------------------------------------------------------------


def test_a_report_counts_what_was_checked_and_lists_what_could_not_be():
    rules = [rule(), rule("Never surprise the user.", name="s"), rule(name="t", level="warning")]
    report = run("p", rules, [Output("a.py", "eval(1)\n", "python")])
    assert report.checked == ("r", "t")
    assert [each.id for each in report.unchecked] == ["s"]
    assert (report.count("error"), report.count("warning"), report.fails) == (1, 1, True)


def test_warnings_alone_do_not_fail():
    report = run("p", [rule(level="warning")], [Output("a.py", "eval(1)\n", "python")])
    assert not report.fails


# --- a model's judgement ------------------------------------------------------------------


def test_a_model_judges_what_no_check_decides_and_only_quotes_count(chat_server):
    chat_server.replies = [
        Reply(
            {
                "breaks": [
                    {"rule": 1, "quote": "BOO", "why": "it surprises"},
                    {"rule": 1, "quote": "not in the text", "why": "made up"},
                    {"rule": 2, "quote": "", "why": "no rest is taken"},
                    {"rule": 9, "quote": "BOO", "why": "no such rule"},
                ]
            }
        )
    ]
    rules = [rule("Never surprise the user.", name="s"), rule("Rest often.", "MUST", "o")]
    found = judge(ModelClient(), rules, [Output("a.md", "line\nBOO\n")])
    assert [(d.rule, d.level, d.line, d.column, d.message, d.by) for d in found] == [
        ("s", "error", 2, 1, "it surprises", "model"),
        ("o", "warning", 1, 1, "no rest is taken", "model"),
    ]
    question = chat_server.asked[0]["messages"][1]["content"]
    assert question == (
        "Rules:\n1. [MUST NOT] Never surprise the user.\n2. [MUST] Rest often.\n\n"
        "Text (a.md):\nline\nBOO\n"
    )


def test_a_model_that_is_away_is_an_error_of_its_own(chat_server):
    chat_server.replies = [Reply("no", 500)]
    with pytest.raises(ModelError, match="refuses"):
        judge(ModelClient(), [rule()], [Output("a.md", "x\n")])
