"""What entry layers ask besides the graph's questions."""

from __future__ import annotations

from typing import Protocol

from ctxbuild.graph.view import View


class EntryView(View, Protocol):
    """The repository as entry layers see it; every question is recorded as a dependency."""

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The selected files that a pattern matches, sorted."""

    def mentions(self, name: str) -> tuple[str, ...]:
        """Files that import a module or name whose last part is `name`, sorted."""
