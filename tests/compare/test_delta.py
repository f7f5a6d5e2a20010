"""Deltas: exact as data, and complete as an appendix."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ctxbuild.compare.delta import appendix, apply, delta, delta_data, delta_from
from ctxbuild.compare.diff import difference
from ctxbuild.errors import UsageError


@settings(max_examples=150)
@given(st.data())
def test_a_delta_applied_to_the_old_pack_gives_the_new_one_block_for_block(any_artifact, data):
    old, new = data.draw(any_artifact), data.draw(any_artifact)
    change = delta(old, new)
    assert apply(change, old) == new
    assert delta_from(json.loads(json.dumps(delta_data(change)))) == change


@settings(max_examples=100)
@given(st.data())
def test_the_appendix_names_all_that_a_model_must_know(any_artifact, data):
    old, new = data.draw(any_artifact), data.draw(any_artifact)
    text = appendix(old, new)
    told = [
        c for c in difference(old, new).changes if c.kind in ("added", "removed", "form", "text")
    ]
    assert bool(text) == bool(told)
    for change in told:
        if change.after is None:
            assert f"- {change.unit}\n" in text
        elif change.kind == "added":
            assert change.after.text in text
        else:
            assert change.after.path in text or change.after.text in text


def test_nothing_is_said_where_a_model_would_read_the_same(make):
    block, artifact = make
    a, b = block("a.py::f"), block("b.py::g")
    assert appendix(artifact(a, b), artifact(b, replace(a, lines=(9, 9), reasons=()))) == ""


APPENDIX = """\
# Update of app

Since you read this context, its sources have changed. Where this update and what you read before \
differ, only this update holds. What it does not mention is as it was.

## Replaced: this holds now

### store.py :: Store.save, Store.load (skeleton)

```python
    def save(self, key): ...
    def load(self): ...
```

### app.py (as a patch)

```diff
@@ -20,3 +20,3 @@
 x = 1
-old = 1
+new = 1
 x = 1
```

- names.py: A, B

## New

### disk.py :: Disk (skeleton)

```python
def Disk(): ...
```

## No longer there, or no longer used: do not rely on it

- gone.py::gone

## Not shown any more for want of room; it may have changed

- crowded.py::out
"""


def test_the_appendix_reads_like_this(make):
    block, artifact = make
    line = {"form": "summary", "section": "names"}
    lines = "x = 1\n" * 20
    old = artifact(
        block("store.py::Store.save", "    def save(self): ...\n"),
        block("store.py::Store.load", "    def load(self, key): ...\n"),
        block("gone.py::gone"),
        block("crowded.py::out"),
        block("far.py", "- far.py\n", **line),
        block("app.py", f"{lines}old = 1\n{lines}", form="full", section="entry"),
        block("names.py#names", "- names.py: A\n", **line),
    )
    new = artifact(
        block("store.py::Store.save", "    def save(self, key): ...\n"),
        block("store.py::Store.load", "    def load(self): ...\n"),
        block("disk.py::Disk"),
        block("app.py", f"{lines}new = 1\n{lines}", form="full", section="entry"),
        block("names.py#names", "- names.py: A, B\n", **line),
    )
    assert appendix(old, new, crowded_out={"crowded.py::out", "far.py"}) == APPENDIX


LINES = st.lists(
    st.sampled_from(["def f():", "    return 1", "    pass", "", "x = 1"]), max_size=40
)


def _patched(text: str, patch: str) -> str:
    """The text with each hunk put where its lines stand, whatever its numbers say."""
    text = f"\n{text}"
    done, end = [], 0
    for hunk in re.split(r"^@@ .* @@\n", patch, flags=re.MULTILINE)[1:]:
        lines = hunk.split("\n")[:-1]
        was = "\n" + "".join(f"{line[1:]}\n" for line in lines if line[0] != "+")
        at = text.index(was)
        assert text.find(was, at + 1) < 0
        done += [text[end : at + 1], *(f"{line[1:]}\n" for line in lines if line[0] != "-")]
        end = at + len(was)
    return "".join([*done, text[end:]])[1:]


@settings(max_examples=300)
@given(LINES, st.integers(0, 40), LINES)
def test_a_patch_says_by_its_lines_alone_what_the_new_text_is(make, any_lines, at, more):
    block, artifact = make
    numbered = [f"{line}  # {number}" for number, line in enumerate(any_lines * 3)]
    old = any_lines + numbered
    new = [*old[:at], *more[:3], *old[at + 2 :]]
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    assume(before != after)
    text = appendix(artifact(block("a.py", before)), artifact(block("a.py", after)))
    _, found, rest = text.partition("```diff\n")
    if found:
        assert _patched(before, rest.removesuffix("```\n")) == after
    else:
        assert after in text


def test_a_change_among_like_lines_is_shown_with_as_much_of_them_as_tells_the_place(make):
    block, artifact = make
    lines = [f"    a{number} = 1\n    pass\n    pass\n" for number in range(9)]
    old = "".join(lines)
    new = old.replace("a4 = 1\n    pass\n    pass\n", "a4 = 1\n    pass\n    x()\n    pass\n")
    text = appendix(artifact(block("a.py", old)), artifact(block("a.py", new)))
    assert "@@ -12,6 +12,7 @@\n     pass\n     a4 = 1\n     pass\n+    x()\n     pass\n" in text


def test_a_text_is_given_whole_where_no_patch_would_tell_the_place(make):
    block, artifact = make
    old, new = "x = 1\n" * 80, "x = 1\n" * 40 + "y = 1\n" + "x = 1\n" * 40
    text = appendix(artifact(block("a.py", old)), artifact(block("a.py", new)))
    assert "```diff" not in text
    assert f"```python\n{new}```\n" in text


def test_a_fence_is_longer_than_any_in_what_it_holds(make):
    block, artifact = make
    text = appendix(artifact(), artifact(block("a.md", "````\ncode\n````\n")))
    assert "\n`````\n````\ncode\n````\n`````\n" in text


def test_a_delta_between_packs_of_different_targets_is_refused(make):
    _, artifact = make
    with pytest.raises(UsageError, match="a pack of target 'docs' cannot become one of 'app'"):
        delta(artifact(target="docs"), artifact())


def test_a_delta_is_applied_only_to_the_pack_it_begins_with(make):
    block, artifact = make
    a, b = artifact(block("a.py")), artifact(block("b.py"))
    with pytest.raises(UsageError, match="the delta begins with the pack sha256:"):
        apply(delta(a, b), b)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw.update(schema="ctxbuild.delta/2"),
        lambda raw: raw.pop("since"),
        lambda raw: raw.update(blocks=[{"unit": "a.py"}]),
        lambda raw: raw.update(blocks=3),
        lambda raw: raw.pop("tokens"),
    ],
)
def test_data_that_is_no_delta_is_refused(make, spoil):
    block, artifact = make
    raw = delta_data(delta(artifact(), artifact(block("a.py"))))
    spoil(raw)
    with pytest.raises(UsageError, match="delta"):
        delta_from(raw)
