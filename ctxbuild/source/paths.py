"""Paths as people see them."""

from __future__ import annotations


def shown(path: str) -> str:
    """A path on one line: control characters as escapes."""
    if path.isprintable():
        return path
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path)
