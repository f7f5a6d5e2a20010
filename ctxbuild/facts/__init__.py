"""One file's bytes become facts: pure, deterministic, and never an exception."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxbuild.model import Facts

__all__ = ["extract", "language_of", "version"]


def language_of(path: str) -> str | None:
    """The language of a file by the ending of its name.

    Args:
        path: a path with `/`; only its last part counts.

    Returns:
        The language's name, or None for text that is not parsed.
    """
    from ctxbuild.facts import languages

    return languages.language_of(path)


def version(language: str | None) -> str:
    """What the facts of a language depend on besides the bytes: part of every key.

    Args:
        language: a name that `language_of` returned.

    Returns:
        The versions of the parser and the grammar and a digest of the query files.
    """
    from ctxbuild.facts import languages

    return languages.version(language)


def extract(data: bytes, language: str | None) -> Facts:
    """All facts of one file; see `ctxbuild.facts.code.extract`."""
    from ctxbuild.facts import code

    return code.extract(data, language)
