"""Look-ups from outside: the graph's questions, put where no query is running.

What they compute on the way is remembered; that they were asked is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ctxbuild.engine.database import Context
from ctxbuild.errors import SourceChanged
from ctxbuild.model import Lines, Outline
from ctxbuild.pack.asker import Asker
from ctxbuild.serve.session import Session
from ctxbuild.wiring import Workspace

_ATTEMPTS = 5
T = TypeVar("T")


class Desk:
    """Answers about one scanned workspace.

    Args:
        workspace: scanned; its indexes are brought up to date here.

    Attributes:
        view: the repository as graph and selection see it.
    """

    def __init__(self, workspace: Workspace) -> None:
        workspace.database.settle()
        self.workspace = workspace
        self.view = Asker(workspace.pipeline.questions, Context(workspace.database))

    def lines(self, path: str) -> Lines:
        """Where the symbols, imports and references of a file stand."""
        return self.workspace.database.get(self.workspace.pipeline.questions.lines, path)

    def lines_of(self, path: str) -> tuple[Outline, Lines]:
        """Outline and lines of a file, as the artifact joins them."""
        return self.view.outline(path), self.lines(path)


def ask(session: Session, question: Callable[[Desk], T]) -> T:
    """The answer to a question about the present state of a project.

    Args:
        session: the project.
        question: called again, after a new scan, if a file changes meanwhile.

    Raises:
        SourceChanged: a file changes faster than it can be read.
        CtxbuildError: what the question raises.
    """
    attempts = 0
    while True:
        try:
            with session.asking() as workspace:
                return question(Desk(workspace))
        except SourceChanged:
            attempts += 1
            if attempts == _ATTEMPTS:
                raise
