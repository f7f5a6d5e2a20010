"""Imports diskcache, and nothing that it would bring along.

On import it looks for Django and, where it finds one, imports much of it: half a
second for every build, and with Django's own sources in the current directory,
code of the repository that is only to be read.
"""

from __future__ import annotations

import sys
from types import ModuleType

_DJANGO = "diskcache.djangocache"


def load() -> ModuleType:
    """The module `diskcache`; what it says of Django is answered with "not installed"."""
    if "diskcache" in sys.modules:
        return sys.modules["diskcache"]
    absent: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]  # None: blocked
    absent[_DJANGO] = None
    try:
        import diskcache
    finally:
        del absent[_DJANGO]
    module: ModuleType = diskcache
    return module
