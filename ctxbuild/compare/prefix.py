"""The longest prefix of two texts: what a prompt cache can reuse."""

from __future__ import annotations


def common_prefix(one: str, other: str) -> str:
    """The longest text that both begin with."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return one[:least]
