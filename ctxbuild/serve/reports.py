"""What a daemon tells of itself: plain data for the view, for pipes, for subscribers."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ctxbuild.serve.results import TargetResult

State = Literal["waiting", "fresh", "building", "failed"]


class TargetState(NamedTuple):
    """A target as it stands.

    Attributes:
        state: "waiting" before it is built for the first time.
        result: of the last build that went well; None if there was none.
        error: why the last build failed; the pack of `result` then still stands.
    """

    name: str
    budget: int
    reserve: int
    state: State = "waiting"
    result: TargetResult | None = None
    error: str = ""

    def data(self) -> dict[str, Any]:
        """As plain data."""
        shown: dict[str, Any] = {
            "name": self.name,
            "state": self.state,
            "budget": self.budget,
            "reserve": self.reserve,
        }
        if self.result is not None:
            shown |= {"tokens": self.result.tokens, "digest": self.result.digest}
        return {**shown, "error": self.error} if self.error else shown


class Report(NamedTuple):
    """One thing that happened.

    Attributes:
        kind: "building" before, "built" after targets were looked at, "note" for a line,
            "problem" for what is wrong beyond a target (the ctxfile, the root), "well"
            when that is over.
        text: the line of a note or problem.
        changed: the paths that led to it.
        results: what became of the targets that were looked at.
        seconds: from the first word of a change to the last renamed output.
    """

    kind: Literal["building", "built", "note", "problem", "well"]
    text: str = ""
    changed: tuple[str, ...] = ()
    results: tuple[TargetResult, ...] = ()
    targets: tuple[str, ...] = ()
    seconds: float = 0.0

    def data(self) -> dict[str, Any]:
        """As plain data."""
        shown: dict[str, Any] = {"event": self.kind}
        if self.text:
            shown["text"] = self.text
        if self.kind in ("building", "built"):
            shown |= {"changed": list(self.changed), "targets": list(self.targets)}
        if self.kind == "built":
            shown["results"] = [result.data() for result in self.results]
            shown["seconds"] = round(self.seconds, 6)
        return shown
