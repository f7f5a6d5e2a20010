"""The form in which a model reports breaks of rules."""

from __future__ import annotations

import msgspec


class Break(msgspec.Struct, forbid_unknown_fields=True):
    """One break: the number of the rule, the words that break it, why."""

    rule: int
    quote: str
    why: str


class Verdict(msgspec.Struct, forbid_unknown_fields=True):
    """All breaks."""

    breaks: list[Break]
