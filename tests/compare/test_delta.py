"""Deltas: exact as data, and complete as an appendix."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
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
@@ -18,7 +18,7 @@
 x = 1
 x = 1
 x = 1
-old = 1
+new = 1
 x = 1
 x = 1
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
