"""The names a module exports, where a literal says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxbuild.facts.capture import Captures, Source
    from ctxbuild.facts.chains import Chains
    from ctxbuild.facts.languages import Language
    from ctxbuild.facts.scopes import Scopes

_STRING = re.compile(r"""[uU]?(?:"([^"\\\n]*)"|'([^'\\\n]*)')""")
_BETWEEN = re.compile(r"(?:[\s\[\](),+]|#[^\n]*)*")
_MUTATORS = {"append", "extend"}


def find_exported(
    captures: Captures, source: Source, chains: Chains, language: Language, scopes: Scopes
) -> tuple[str, ...] | None:
    """The literal names of the exporting variable, with what is added to it later.

    Args:
        captures: what the query found.
        source: the file's text.
        chains: its chains: calls that add names are among them.
        language: the name of the variable.
        scopes: only statements of the module count.

    Returns:
        The names in order, or None where there is no such variable or a part of
        its value is not literal.
    """
    variable = str(language.table.get("names", {}).get("exported", ""))
    cut = source.cutter()
    exported: list[str] | None = None
    changes: list[tuple[int, bool, str]] = []
    for role, key in (("assignment", "part"), ("augmented", "target")):
        for match in captures.role(role):
            node = match[key][0]
            if (
                node.end_byte - node.start_byte == len(variable)
                and "value" in match
                and cut(node.start_byte, node.end_byte) == variable
                and not scopes.at(node.start_byte)
            ):
                value = match["value"][0]
                text = cut(value.start_byte, value.end_byte)
                changes.append((node.start_byte, role == "assignment", text))
    if not changes:
        return None
    for start, chain, _kind, _bare in chains.uses:
        if chain.startswith(variable + ".") and chain.endswith("()"):
            name = chain[len(variable) + 1 : -2]
            end = chains.at[start][0]
            opening = source.data.find(b"(", start, end)
            known = name in _MUTATORS and opening >= 0
            changes.append((start, False, cut(opening, end) if known else "?"))
    for _start, fresh, text in sorted(changes):
        names = _strings(text)
        if names is None:
            return None
        exported = names if fresh or exported is None else exported + names
    return None if exported is None else tuple(exported)


def _strings(text: str) -> list[str] | None:
    """The strings of a literal list, tuple or sum of them; None for anything else."""
    names: list[str] = []
    position = 0
    while True:
        between = _BETWEEN.match(text, position)
        position = between.end() if between else position
        if position == len(text):
            return names
        found = _STRING.match(text, position)
        if found is None:
            return None
        names.append(found[1] if found[1] is not None else found[2])
        position = found.end()
