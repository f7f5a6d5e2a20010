"""A commented ctxfile as text, from the targets that it shall declare."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pick:
    """A target to declare.

    Attributes:
        key: "entry" or "files".
        comment: what it is for.
    """

    name: str
    key: str
    patterns: tuple[str, ...]
    budget: int
    comment: str


_HEAD = """\
# What ctxbuild compiles for this repository. `ctxbuild build` writes each target as
# a pack to .ctxbuild/packs; `ctxbuild why TARGET` tells why something is in it.
# `ctxbuild schema` prints the JSON Schema of this file, for editors.
version = 1

[project]
# What may be a source: globs as in a .gitignore. What git ignores, hidden files,
# vendored directories and secrets stay out in any case.
include = ["**"]
# exclude = ["**/fixtures/**"]
# The encoding that counts tokens.
tokenizer = "o200k_base"
"""

_BUDGET = "# Most tokens the pack may have. What matters least is shortened or left out first."
_KEYS = {
    "entry": "# Paths, globs or `path::symbol`: shown in full, and what they use as signatures.",
    "files": "# Paths or globs. A directory means everything below it.",
}


def drafted(picks: Sequence[Pick]) -> str:
    """The text of a ctxfile that declares these targets; each key is explained once."""
    parts = [_HEAD]
    told: set[str] = set()
    for pick in picks:
        parts.append(f"\n# {pick.comment}\n[targets.{_key(pick.name)}]\n")
        if pick.key not in told:
            parts.append(f"{_KEYS[pick.key]}\n")
        parts.append(f"{pick.key} = {_list(pick.patterns)}\n")
        if not told:
            parts.append(f"{_BUDGET}\n")
        parts.append(f"budget = {pick.budget:_}\n")
        told.add(pick.key)
    return "".join(parts)


def _key(name: str) -> str:
    return json.dumps(name) if "." in name else name


def _list(patterns: Sequence[str]) -> str:
    written = [json.dumps(pattern, ensure_ascii=False) for pattern in patterns]
    if len(written) == 1:
        return f"[{written[0]}]"
    return "[\n" + "".join(f"  {each},\n" for each in written) + "]"
