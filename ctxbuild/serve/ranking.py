"""Ranked units and files for a question, without a pack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxbuild.serve.lookup import ask

if TYPE_CHECKING:
    from ctxbuild.select.retrieval.model import Found
    from ctxbuild.serve.session import Session

MOST = 50


def ranked(session: Session, question: str, most: int = MOST, vectors: str = "auto") -> Found:
    """What answers a question in the present state of a project, best first.

    Args:
        session: the project.
        question: a question, or a whole report: its first line is the title.
        most: units at most.
        vectors: whether they are used where an embedder is configured: "auto" or "off".

    Raises:
        SourceChanged: a file changes faster than it can be read.
    """
    return ask(session, lambda desk: desk.view.search(question, most, vectors))
