"""The stages between a question and its candidates, each a function that another may replace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ctxbuild.select.retrieval import denoise, slicer
from ctxbuild.select.retrieval.denoise import Denoised, Settings
from ctxbuild.select.retrieval.model import Cut, Evidence, Found, Hints, Hit, QuestionView


def search(view: QuestionView, question: str, most: int, vectors: str) -> Found:
    """Plans and searches, by the index of the view."""
    return view.search(question, most, vectors)


class Stages(NamedTuple):
    """What `select/question.py` calls, in this order.

    Attributes:
        search: (view, question, most, vectors: "auto" or "off") to the ranked units, and the
            planner's hints and decision.
        cut: (view, hit, hints, tokens) to the relevant parts of a unit that is too large.
        denoise: (evidence, settings) to what is kept, and what is refused and why.
    """

    search: Callable[[QuestionView, str, int, str], Found] = search
    cut: Callable[[QuestionView, Hit, Hints, int], Cut | None] = slicer.cut
    denoise: Callable[[Sequence[Evidence], Settings], Denoised] = denoise.denoise
