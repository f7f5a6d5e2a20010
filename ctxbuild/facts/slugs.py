"""Slugs of headings by GitHub's rules: small letters, hyphens, a number for what repeats.

The rules are those of GitHub's own anchors: a title that repeats gets `-1`, `-2`,
and a number that another title already has as its text is passed over.
"""

from __future__ import annotations

import re

_DROPPED = re.compile(r"[^\w\- ]")
_EMOJI = re.compile(r":[a-z0-9_+-]{1,40}:")


class Slugs:
    """Gives each heading of one document its slug, in order."""

    def __init__(self) -> None:
        # What stands before the first heading has the empty slug.
        self._seen = {"": 0}

    def take(self, title: str) -> str:
        """The slug of the next heading."""
        base = slug = slug_of(title)
        while slug in self._seen:
            self._seen[base] += 1
            slug = f"{base}-{self._seen[base]}"
        self._seen[slug] = 0
        return slug


def slug_of(title: str) -> str:
    """The slug of a title that does not repeat."""
    plain = _EMOJI.sub("", title).strip().lower()
    return _DROPPED.sub("", plain).replace(" ", "-")
