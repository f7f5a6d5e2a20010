"""What entry layers ask besides the graph's questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ctxbuild.graph.view import View

if TYPE_CHECKING:
    from ctxbuild.graph.uses import Uses


class EntryView(View, Protocol):
    """The repository as entry layers see it; every question is recorded as a dependency."""

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The selected files that a pattern matches, sorted."""

    def uses(self, path: str) -> Uses:
        """What a whole file uses."""

    def mentions(self, name: str) -> tuple[str, ...]:
        """Files that import a module or name whose last part is `name`, sorted."""
