"""What a build reports: frozen, without behaviour, ready to be rendered or dumped.

Named tuples, here and wherever a build with nothing to do passes: importing
dataclasses alone would cost it a tenth of its time.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Status = Literal["built", "fresh", "failed"]


class TargetResult(NamedTuple):
    """What became of one target.

    Attributes:
        ran: the stages that ran for it, `facts(a.py)` and so on, in order.
        tokens, budget, reserve: of the pack; `full_tokens` are those of the whole
            text of every file that a block comes from.
        outputs: paths that hold the pack.
        written: those of them that were written by this build.
        seconds: time spent on this target.
        error: message and hint of a failed target.
        rot: signs that the pack's evidence has gone bad, as plain data.
    """

    name: str
    status: Status
    ran: tuple[str, ...] = ()
    tokens: int = 0
    budget: int = 0
    reserve: int = 0
    full_tokens: int = 0
    digest: str = ""
    outputs: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    error: str = ""
    rot: tuple[dict[str, Any], ...] = ()

    def data(self) -> dict[str, Any]:
        """As the plain data of `build --json`."""
        shown = {
            "name": self.name,
            "status": self.status,
            "ran": list(self.ran),
            "tokens": self.tokens,
            "budget": self.budget,
            "reserve": self.reserve,
            "full_tokens": self.full_tokens,
            "digest": self.digest,
            "outputs": list(self.outputs),
            "written": list(self.written),
            "seconds": round(self.seconds, 6),
            "warnings": list(self.warnings),
        }
        more = {"rot": list(self.rot)} if self.rot else {}
        return {**shown, **more, "error": self.error} if self.error else {**shown, **more}


class BuildResult(NamedTuple):
    """What a build did.

    Attributes:
        targets: in the order of the ctxfile.
        ran: every stage that ran, each once, in order.
        seconds: time for all of it, the scan included.
        files: number of source files.
    """

    targets: tuple[TargetResult, ...]
    ran: tuple[str, ...]
    seconds: float
    files: int
    warnings: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether some target could not be built."""
        return any(target.status == "failed" for target in self.targets)

    def data(self) -> dict[str, Any]:
        """As the plain data of `build --json`."""
        return {
            "targets": [target.data() for target in self.targets],
            "ran": list(self.ran),
            "files": self.files,
            "seconds": round(self.seconds, 6),
            "warnings": list(self.warnings),
        }
