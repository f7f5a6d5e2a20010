"""What calls do, whichever agent makes them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.facts.transcript import Record
from ctxbuild.facts.transcript_calls import Deed, Todo, after_of, deeds_of, hunk_of, program_of


def call(tool, **arguments):
    pairs = ((k, v if isinstance(v, str) else json.dumps(v)) for k, v in arguments.items())
    return Record("call", "", tool, "1", tuple(pairs))


PATCH = """*** Begin Patch
*** Update File: a.py
@@
-old
+new
*** Add File: b.py
+one
+two
*** End Patch"""


UNIFIED = (
    "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n--- a/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n"
)
UNIFIED_DEEDS = [
    Deed("edit", "a.py", hunk="@@ -1 +1 @@\n-x\n+y"),
    Deed("edit", "b.py", hunk="@@ -1 +0,0 @@\n-z"),
]


@pytest.mark.parametrize(
    ("made", "deeds"),
    [
        (call("Read", file_path="a.py", offset="3"), [Deed("read", "a.py", part="3")]),
        (call("view_file", path="a.py"), [Deed("read", "a.py")]),
        (call("Bash", command="cat a.py"), [Deed("read", "a.py", "cat a.py", part="cat a.py")]),
        (call("Grep", pattern="x"), [Deed("search", command="x")]),
        (
            call("Bash", command="cd b && grep -rn x ."),
            [Deed("search", command="cd b && grep -rn x .")],
        ),
        (call("Bash", command="make test"), [Deed("run", command="make test")]),
        (
            call("shell", command=["bash", "-lc", "make test"]),
            [Deed("run", command="make test")],
        ),
        (
            call("Edit", file_path="a.py", old_string="x\ny", new_string="x\nz"),
            [Deed("edit", "a.py", hunk=" x\n-y\n+z")],
        ),
        (
            call("MultiEdit", file_path="a", edits=[{"old_string": "x", "new_string": "y"}]),
            [Deed("edit", "a", hunk="-x\n+y")],
        ),
        (
            call(
                "MultiEdit",
                file_path="a",
                edits=[
                    {"old_string": "x", "new_string": "y"},
                    {"old_string": "", "new_string": "z"},
                ],
            ),
            [Deed("edit", "a", hunk="-x\n+y\n@@\n+z")],
        ),
        (
            call("shell", command=["apply_patch", PATCH.replace("new", 'say("a\\n\\t")')]),
            [
                Deed("edit", "a.py", hunk='@@\n-old\n+say("a\\n\\t")'),
                Deed("write", "b.py", hunk="one\ntwo"),
            ],
        ),
        (
            call("replace_string_in_file", filePath="a", oldString="x", newString="y"),
            [Deed("edit", "a", hunk="-x\n+y")],
        ),
        (
            call(
                "multi_replace_string_in_file",
                replacements=[{"filePath": "a", "oldString": "x", "newString": "y"}],
            ),
            [Deed("edit", "a", hunk="-x\n+y")],
        ),
        (
            call("apply_diff", path="a", diff="@@ -1 +1 @@\n-x\n+y"),
            [Deed("edit", "a", hunk="@@ -1 +1 @@\n-x\n+y")],
        ),
        (call("apply_patch", patch=UNIFIED), UNIFIED_DEEDS),
        (
            call("shell", command=f"git apply <<'EOF'\n{UNIFIED}EOF"),
            [*UNIFIED_DEEDS, Deed("run", command=f"git apply <<'EOF'\n{UNIFIED}EOF")],
        ),
        (
            call("str_replace_editor", command="undo_edit", path="a"),
            [Deed("edit", "a", hunk="(the last edit undone)")],
        ),
        (
            call("TaskCreate", subject="Write the test", description="for totals"),
            [Deed("todo", todos=(Todo("Write the test", "pending"),), part="more")],
        ),
        (
            call("TaskUpdate", taskId="1", status="completed"),
            [Deed("todo", todos=(Todo("#1", "completed"),), part="one")],
        ),
        (
            call("update_todo_list", todos="- [x] a\n- [ ] b\n- [-] c"),
            [
                Deed(
                    "todo",
                    todos=(Todo("a", "completed"), Todo("b", "pending"), Todo("c", "in_progress")),
                )
            ],
        ),
        (call("Write", file_path="a", content="one\n"), [Deed("write", "a", hunk="one\n")]),
        (
            call("shell", command="cat > a.txt <<'EOF'\none\ntwo\nEOF\nls"),
            [
                Deed("write", "a.txt", hunk="one\ntwo"),
                Deed("run", command="cat > a.txt <<'EOF'\none\ntwo\nEOF\nls"),
            ],
        ),
        (
            call("apply_patch", input=PATCH),
            [Deed("edit", "a.py", hunk="@@\n-old\n+new"), Deed("write", "b.py", hunk="one\ntwo")],
        ),
        (
            call("update_plan", plan=[{"step": "Think", "status": "completed"}]),
            [Deed("todo", todos=(Todo("Think", "completed"),))],
        ),
        (call("Task", prompt="go"), [Deed("other")]),
        (call("TodoWrite", todos="[broken"), [Deed("todo")]),
    ],
)
def test_what_a_call_does(made, deeds):
    assert list(deeds_of(made)) == deeds


@given(st.text("ab\n"), st.text("ab\n"))
def test_a_hunk_leads_from_the_old_text_to_the_new_one(old, new):
    hunk = hunk_of(old, new)
    before = "\n".join(row[1:] for row in hunk.split("\n") if not row.startswith("+"))
    assert (before, after_of(hunk)) == (old, new)


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("cd x && PYTHONPATH=. python -m pytest", "python"),
        ("/usr/bin/git status", "git"),
        ("cd x", ""),
        ("", ""),
    ],
)
def test_the_program_that_a_command_runs(command, program):
    assert program_of(command) == program


@pytest.mark.parametrize("piece", ["cat ", "<<", "tee > ", "cat <<a> ", "\\n", "'\""])
def test_hostile_commands_take_linear_time(piece):
    deeds_of(call("Bash", command=piece * 50_000))
