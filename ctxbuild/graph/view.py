"""What the graph may ask: the `View` protocol, and the edge that resolution answers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from ctxbuild.model import Binding, Flow, Import, Outline, Reference, Symbol

EdgeKind = Literal["top", "lazy", "type-checking", "conditional", "fallback", "dynamic", "package"]
EdgeStatus = Literal["file", "namespace", "external", "unresolved", "ambiguous"]


@dataclass(frozen=True, slots=True)
class Edge:
    """What one import of a file leads to.

    Attributes:
        import_index: ordinal of the import in `View.imports`; its line is joined later.
        kind: the import's kind, or `package` for the `__init__` of a parent package
            that the import executes on its way.
        status: `file` has a target; a `namespace` is a package without a file, its
            directories are the alternatives; `ambiguous` has two or more alternatives
            of equal rank.
        target: path of the file, or "".
        name: the imported name where it is an attribute of the target (`*` for a star),
            None where the target itself is what is imported.
        alternatives: paths or directories, sorted by rank.
    """

    import_index: int
    kind: EdgeKind
    status: EdgeStatus
    target: str = ""
    name: str | None = None
    alternatives: tuple[str, ...] = ()


class View(Protocol):
    """The repository as the graph sees it; every question is recorded as a dependency.

    A path that does not exist has empty answers. Paths are relative to the root,
    with `/`; the root directory is "".
    """

    def exists(self, path: str) -> bool:
        """Whether the path is a selected file."""

    def is_dir(self, path: str) -> bool:
        """Whether some selected file lies below the path."""

    def homes(self, module: str) -> tuple[str, ...]:
        """Directories that hold the top-level module and are not inside a regular package."""

    def marked(self, directory: str) -> bool:
        """Whether the directory holds pyproject.toml, setup.py or setup.cfg."""

    def imports(self, path: str) -> tuple[Import, ...]:
        """The imports of a file in source order."""

    def outline(self, path: str) -> Outline:
        """The names of a file in source order."""

    def symbol(self, path: str, name: str) -> tuple[Symbol, ...]:
        """All definitions of a qualified name in a file."""

    def flow(self, path: str, name: str) -> Flow:
        """What a definition's body says about types."""

    def references(self, path: str) -> tuple[Reference, ...]:
        """The references of a file in source order."""

    def bindings(self, path: str, scope: str, target: str) -> tuple[Binding, ...]:
        """What is bound to a target in one scope of a file ("" is the module), in order."""

    def definers(self, name: str) -> tuple[tuple[str, str], ...]:
        """(path, qualified name) of every symbol whose last part is `name`, sorted."""

    def resolved(self, path: str) -> tuple[Edge, ...]:
        """The memoised `resolve_imports` of a file."""
