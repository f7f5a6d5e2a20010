"""What `docs` layers ask of the repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ctxbuild.facts.document import Section
from ctxbuild.select.realm.match import Counted
from ctxbuild.select.realm.query import Aspect

if TYPE_CHECKING:
    from ctxbuild.graph.documents import Navigation
    from ctxbuild.source.model_client import Message

T = TypeVar("T")


class Outlines(Protocol):
    """What is asked of the documents."""

    def outline(self, path: str) -> Any:
        """The headings of a document."""

    def section(self, path: str, slug: str) -> Section | None:
        """One section."""

    def navigation(self, patterns: tuple[str, ...], precedence: tuple[str, ...] = ()) -> Navigation:
        """How the sections of the layer's documents relate."""


class Model(Protocol):
    """Answers in a form."""

    def ask(self, messages: list[Message], answer: type[T], name: str = "answer") -> T:
        """A structured answer; raises ModelError."""


class DocsView(Protocol):
    """The repository as `docs` layers see it; every question is recorded as a dependency."""

    @property
    def documents(self) -> Outlines:
        """The documents."""

    @property
    def model(self) -> Model:
        """The model that the environment names."""

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The selected files that a pattern matches, sorted."""

    def counted(self, path: str, aspects: tuple[Aspect, ...]) -> tuple[Mapping[str, Counted], ...]:
        """Per aspect: slug to what the section's text has of it."""

    def signs(self, path: str) -> Mapping[str, tuple[str, ...]]:
        """Slug to the signs of a document's sections that have any."""

    def bulk(self, path: str) -> int:
        """The length of a document, as the power of two that is above it."""

    def tokens(self, path: str) -> int:
        """The tokens of a file."""

    def outside(self, kind: str, argument: str) -> bytes:
        """The value of an input that is no source."""
