"""The order in which an entry layer's budget is spent: a rung of a lower phase is bought first.

See docs/selection.md for the objective behind it.
"""

from __future__ import annotations

ENTRY = 0
"""The entry itself, or the definitions in focus."""

SIGNATURE = 1
"""Bare signatures of everything that is used for certain."""

CLOSURE = 2
"""Names of repository types in those signatures, with their places."""

FIRST_LINE = 3
"""First lines of docstrings; then who uses the entry."""

AROUND = 4
"""Constructors and fields of used classes, what surrounds a focus, other names, what is open."""

AROUND_CLOSURE = 5
"""Names of repository types in what came with `AROUND`."""

GUESS = 6
"""Signatures for which only their name speaks."""

INDIRECT = 7
"""Files that are reached by way of others."""

DOCSTRING = 8
"""Whole docstrings."""

BODY = 9
"""Bodies of the most used functions, only if asked for."""

ONE_OF_SEVERAL = 10
"""Signatures of which one is meant, and nobody knows which."""

ON_DEMAND = 1_000
"""Not bought for itself, only with what needs it above itself."""
