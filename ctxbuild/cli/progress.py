"""Progress of a build: nothing for the first second, then a line that counts, on a terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from ctxbuild.cli.console import Console
from ctxbuild.engine.events import Event, Ran

_QUIET_SECONDS = 1.0
_EVERY_SECONDS = 0.1


class Progress:
    """Counts what ran and shows it while a build takes more than a second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = self._shown = time.monotonic()
        self._ran = 0
        self._visible = False

    def on_event(self, event: Event) -> None:
        """Takes an event of the engine."""
        if not isinstance(event, Ran) or not event.stage:
            return
        self._ran += 1
        now = time.monotonic()
        if now - self._started > _QUIET_SECONDS and now - self._shown > _EVERY_SECONDS:
            self._shown, self._visible = now, True
            from ctxbuild.cli.explanations import shown_node

            text = f"building: {self._ran:,} ran, now {shown_node(event.node)}"
            self._console.status(text[: self._console.width() - 1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._visible:
            self._console.status("")
