"""A target for a question that no ctxfile declares."""

from __future__ import annotations

from typing import Any

from ctxbuild.source.ctxfile import Layer, Target
from ctxbuild.source.schema import OPTIONS


def question_target(
    name: str, question: str, budget: int, *, vectors: str = "auto", **keys: Any
) -> Target:
    """A target that answers one question.

    Args:
        name: of the target.
        question: its question.
        budget: most tokens.
        vectors: whether they are used where an embedder is configured: "auto" or "off".
        keys: other keys of the target.
    """
    options = {key.name: key.default for key in OPTIONS["question"]} | {"vectors": vectors}
    layer = Layer("question", "question", (question,), options=tuple(options.items()))
    return Target(name, (layer,), budget, **keys)
