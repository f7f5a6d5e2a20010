"""Which uses of names are references worth keeping, each with its scope and line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxbuild.model import Reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxbuild.facts.bindings import Bound
    from ctxbuild.facts.capture import Source
    from ctxbuild.facts.chains import Chains, Use
    from ctxbuild.facts.scopes import Scopes


def find_references(
    chains: Chains, bound: Bound, tested: set[int], scopes: Scopes, source: Source
) -> tuple[tuple[Reference, ...], tuple[int, ...]]:
    """The uses that may mean something outside their function.

    Left out are names of parameters and local variables without any link, names of
    definitions nested in functions, and expressions without a name.

    Args:
        chains: the file's chains.
        bound: its binding statements, with the uses in patterns.
        tested: where the types that guards test start.
        scopes: its functions and classes, which know the names bound in them.
        source: its text.

    Returns:
        The references in source order, and the line of each.
    """
    bounds, owners = scopes.segments()
    end = len(source.data) + 1
    bounds = [*bounds[1:], end]
    line_ends = [*source.line_starts[1:], end]
    local, hidden = _names_inside(scopes)
    out: list[Reference] = []
    lines: list[int] = []
    segment = line = 0
    owner = owners[0]
    names, inner, scope = local[owner], hidden[owner], scopes.all[owner].qualified
    uses = sorted([*chains.uses, *bound.uses], key=_start) if bound.uses else chains.uses
    for start, chain, kind, bare in uses:
        if bounds[segment] <= start:
            while bounds[segment] <= start:
                segment += 1
            owner = owners[segment]
            names, inner, scope = local[owner], hidden[owner], scopes.all[owner].qualified
        if chain in names if bare else _says_nothing(chain, inner):
            continue
        while line_ends[line] <= start:
            line += 1
        guards = start in tested and kind == "read"
        out.append(Reference(chain, scope, "guard" if guards else kind))
        lines.append(line + 1)
    return tuple(out), tuple(lines)


def _start(use: Use) -> int:
    return use[0]


def _says_nothing(chain: str, hidden: set[str]) -> bool:
    """Whether a chain with links has no name, or begins at a definition inside a function."""
    if chain[0] == "?":
        return "." not in chain
    return bool(hidden) and _root(chain) in hidden


def _root(chain: str) -> str:
    for index, character in enumerate(chain):
        if character in ".([":
            return chain[:index]
    return chain


def _names_inside(scopes: Scopes) -> tuple[list[set[str]], list[set[str]]]:
    """Per scope: names that functions around it bind or define, and those they define.

    What a class defines is seen in its own body, not in its methods.
    """
    local: list[set[str]] = [set()]
    hidden: list[set[str]] = [set()]
    passed: list[tuple[set[str], set[str]]] = [(set(), set())]  # what inner scopes see
    for scope in scopes.all[1:]:
        names, inner = passed[scope.parent]
        own = scope.names if scope.kind == "function" else ()
        hidden.append(_joined(inner, scope.hidden))
        local.append(_joined(_joined(names, own), scope.hidden))
        passed.append((local[-1], hidden[-1]) if scope.kind == "function" else (names, inner))
    return local, hidden


def _joined(base: set[str], more: Iterable[str]) -> set[str]:
    return base.union(more) if more else base
