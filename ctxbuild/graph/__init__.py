"""All facts -> who needs whom: imports to files, names to definitions, chains to types.

Everything here is a pure function over a `View`. Each question asked of the view
becomes a dependency of the query that asked, so questions are as narrow as they
can be and are asked in an order that depends on the facts alone.
"""

from __future__ import annotations

from ctxbuild.graph.reach import Reach, Reached, chain, reach
from ctxbuild.graph.resolve import resolve_imports
from ctxbuild.graph.symbols import Target, find
from ctxbuild.graph.uses import Open, Use, Uses, types_in, uses
from ctxbuild.graph.view import Edge, View

__all__ = [
    "Edge",
    "Open",
    "Reach",
    "Reached",
    "Target",
    "Use",
    "Uses",
    "View",
    "chain",
    "find",
    "reach",
    "resolve_imports",
    "types_in",
    "uses",
]
