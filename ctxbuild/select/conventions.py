"""What a path says by convention."""

from __future__ import annotations


def is_test(path: str) -> bool:
    """Whether a path looks like a test, by the conventions of the usual runners."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    named = stem.startswith("test_") or stem.endswith(("_test", "_tests")) or stem == "tests"
    return named or any(folder in ("test", "tests", "testing") for folder in folders)
