"""Dataclasses as JSON text, in ASCII, so that no name and no terminal can break it."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any


def to_json(value: Any) -> str:
    """Plain data or a dataclass as indented JSON."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return json.dumps(plain, indent=2) + "\n"
