"""What a section holds whatever the task is: endpoints, prohibitions."""

from __future__ import annotations

import re

from ctxbuild.facts.document import Section

ENDPOINT = re.compile(
    r"(?<![A-Za-z])(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)(?:\*\*|`|__)?[ \t|:]{1,4}"
    r"(?:`|\*\*)?(?:https?://[\w.:-]{1,100})?/[\w{}:./~%?=&*-]{0,200}"
)
"""A method and a path, however they are marked."""

FORBIDS = "forbids"
HAS_ENDPOINT = "endpoint"


def signs_of(section: Section) -> tuple[str, ...]:
    """The signs of a section, sorted."""
    found = []
    if any(ENDPOINT.search(block.text) for block in section.blocks if block.kind != "code"):
        found.append(HAS_ENDPOINT)
    if any(item.modality in {"MUST NOT", "SHOULD NOT"} for item in section.items):
        found.append(FORBIDS)
    return tuple(found)
