"""The forms in which a model answers, apart from what asks: msgspec is not always needed."""

from __future__ import annotations

import msgspec


class Choice(msgspec.Struct, forbid_unknown_fields=True):
    """A number out of a list; 0 for none."""

    number: int


class Judgement(msgspec.Struct, forbid_unknown_fields=True):
    """Yes or no, and why in one sentence."""

    yes: bool
    why: str = ""
