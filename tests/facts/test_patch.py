"""Patch files as git, hg, svn and diff write them; what is damaged is a problem, never an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.facts.hunks import hunks_of, lines_of
from ctxbuild.facts.linediff import changes
from ctxbuild.facts.patch import FilePatch, applied, parse

GIT = """\
From 0123 Mon Sep 17 00:00:00 2001
Subject: [PATCH] Everything at once

---
 a.py | 2 +-
diff --git a/a.py b/a.py
index 123..456 100644
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@ class A:
 one
-two
+TWO
 three
diff --git a/old name.py b/new name.py
similarity index 90%
rename from old name.py
rename to new name.py
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git "a/h\\303\\244 \\"q\\".py" "b/h\\303\\244 \\"q\\".py"
new file mode 100644
--- /dev/null
+++ "b/h\\303\\244 \\"q\\".py"
@@ -0,0 +1 @@
+x = 1
\\ No newline at end of file
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
diff --git a/logo.png b/logo.png
index 123..456 100644
GIT binary patch
literal 3
KcmZ

--\x20
2.40.0
"""


def test_everything_that_git_writes_is_read():
    found = parse(GIT)
    assert found.problems == ()
    told = [(f.old, f.new, f.status, f.modes, f.binary, len(f.hunks)) for f in found.files]
    assert told == [
        ("a.py", "a.py", "modified", ("", ""), False, 1),
        ("old name.py", "new name.py", "renamed", ("", ""), False, 0),
        ("run.sh", "run.sh", "modified", ("100644", "100755"), False, 0),
        ('h\u00e4 "q".py', 'h\u00e4 "q".py', "added", ("", "100644"), False, 1),
        ("gone.py", "gone.py", "deleted", ("100644", ""), False, 1),
        ("logo.png", "logo.png", "modified", ("", ""), True, 0),
    ]
    hunk = found.files[0].hunks[0]
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (1, 3, 1, 3)
    assert (hunk.heading, hunk.rows) == ("class A:", (" one", "-two", "+TWO", " three"))


def test_a_plain_diff_with_times_names_the_new_file():
    text = (
        "Index: a.py\n=====\n--- a.py.orig\t2024-01-01 00:00:00\n+++ a.py\t2024-01-02 00:00:00\n"
        "@@ -1 +1 @@\n-a\n+b\n"
    )
    (file,) = parse(text).files
    assert (file.old, file.new, file.status) == ("a.py", "a.py", "modified")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n", "line 3: the hunk ends 8 lines too early"),
        ("--- a/x\n+++ b/x\n@@ -1,x +1 @@\n a\n", "line 3: the header of a hunk cannot be read"),
        ("@@ -1 +1 @@\n-a\n+b\n", "line 1: a hunk of no file"),
        ("@@@ -1 -1 +1 @@@\n", "line 1: is the diff of a merge, which has no single base"),
    ],
)
def test_what_is_damaged_is_told_with_its_line(text, problem):
    assert [p.message for p in parse(text).problems] == [problem]


@given(st.text(alphabet='@-+ ab\n\\"0,1/', max_size=120))
def test_any_text_can_be_read(text):
    for prefix in ("", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n", "diff --git a/x b/x\n"):
        for file in parse(prefix + text).files:
            assert isinstance(file, FilePatch)
            assert isinstance(applied("a\nb\n", file.hunks), str | int)


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "    d"]), max_size=14).map("\n".join)


@given(LINES, LINES, st.integers(0, 3))
def test_what_was_compared_is_applied_and_taken_back(old, new, shift):
    before, after = lines_of(old), lines_of(new)
    hunks = hunks_of(before, after, changes(before, after))
    assert applied(old, hunks) == new
    assert applied(new, hunks, reverse=True) == old
    text = "--- a/x\n+++ b/x\n" + "".join(hunk.text for hunk in hunks)
    found = parse(text)
    assert found.problems == ()
    assert tuple(h for f in found.files for h in f.hunks) == tuple(hunks)
    moved = "~\n" * shift + old
    if old and old.strip("\n") and len(hunks) == 1 and hunks[0].old_count > 3:
        assert isinstance(applied(moved, hunks), str)


def test_a_hunk_that_does_not_apply_is_numbered():
    (file,) = parse("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -3 +3 @@\n-c\n+d\n").files
    assert applied("a\nb\nc\n", file.hunks) == "b\nb\nd\n"
    assert applied("a\nb\nX\n", file.hunks) == 2
