"""Dataclasses as JSON text, in ASCII, so that no name and no terminal can break it."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def to_json(value: Any) -> str:
    """Plain data or a dataclass as indented JSON."""
    if hasattr(value, "__dataclass_fields__"):
        # Here, because a build with nothing to do prints plain data and needs none of it.
        from dataclasses import asdict

        value = asdict(value)
    return json.dumps(value, indent=2) + "\n"
