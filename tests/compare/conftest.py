"""Small artifacts, and strategies that make any."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import strategies as st

from ctxbuild.compare.artifact import Artifact, Cause, Head, Shown


def block(unit: str, text: str = "", **fields) -> Shown:
    """A block with everything that a test does not care for filled in."""
    path, _, symbol = unit.partition("::")
    text = text or f"def {symbol or 'x'}(): ...\n"
    made = Shown(
        unit=unit,
        path=path,
        symbol=symbol,
        form="skeleton",
        layer="entry",
        section="used",
        tokens=len(text) // 3,
        digest=f"sha256:{sha256(text.encode()).hexdigest()}",
        score=0.5,
        lines=(1, 2),
        reasons=(Cause("call", "app.py", "app.py", 3),),
        text=text,
    )
    return replace(made, **fields)


def artifact(*blocks: Shown, target: str = "app", questions=()) -> Artifact:
    """An artifact of these blocks, with a digest of what they are."""
    digest = f"sha256:{sha256(repr(blocks).encode()).hexdigest()}"
    tokens = sum(each.tokens for each in blocks)
    head = Head(target, digest, "o200k_base", 1000, 0, tokens, questions=questions)
    return Artifact(head, tuple(blocks))


TEXTS = st.sampled_from(
    ["def f(): ...\n", "def f(a): ...\n", "x = 1\n" * 9, "x = 1\n" * 8, "…", ""]
)
UNITS = st.sampled_from(
    [f"{path}.py{name}" for path in "abc" for name in ("", "::F", "::F.g", "#n")]
)
CAUSES = st.builds(
    Cause, st.sampled_from(["call", "import"]), UNITS, UNITS, st.none() | st.integers(1, 9)
)
BLOCKS = st.builds(
    block,
    UNITS,
    TEXTS,
    form=st.sampled_from(["full", "skeleton", "summary", "name"]),
    layer=st.sampled_from(["entry", "rules"]),
    section=st.sampled_from(["used", "entry", "names"]),
    lines=st.none() | st.tuples(st.integers(1, 9), st.integers(10, 19)),
    reasons=st.lists(CAUSES, max_size=2).map(tuple),
)
ARTIFACTS = st.builds(
    lambda blocks, asked: artifact(*blocks, questions=asked),
    st.lists(BLOCKS, max_size=8, unique_by=lambda each: each.unit),
    st.sampled_from([(), (("ask", "Where is it saved?"),)]),
)


@pytest.fixture(scope="session")
def make():
    """`block` and `artifact`, for tests that cannot import from here."""
    return block, artifact


@pytest.fixture(scope="session")
def any_artifact():
    """The strategy of artifacts."""
    return ARTIFACTS
