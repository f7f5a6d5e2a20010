"""What bodies say about types: returned, assigned, and given to attributes, as chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxbuild.facts.values import MOST
from ctxbuild.model import Flow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxbuild.facts.bindings import Bound
    from ctxbuild.facts.capture import Captures
    from ctxbuild.facts.scopes import Scopes
    from ctxbuild.facts.values import Values


def find_flows(
    values: Values, bound: Bound, captures: Captures, scopes: Scopes
) -> tuple[tuple[str, Flow], ...]:
    """Per name with something to say: what it returns, holds, or gets as attributes.

    Args:
        values: reads values off nodes.
        bound: the file's binding statements.
        captures: what the query found.
        scopes: the file's functions and classes.

    Returns:
        (qualified name, flow), one entry per name: functions and classes in source
        order, then variables. A `yield` of `x` is `*x` among what a function returns.
    """
    returned = _returns(values, captures, scopes)
    flows: dict[str, Flow] = {}
    for number, scope in enumerate(scopes.all):
        attributes = tuple(
            (name, tuple(chains), method, annotation)
            for (name, method), (chains, annotation) in bound.attributes.get(number, {}).items()
        )
        chains = returned.get(number)
        if chains or attributes:
            old = flows.get(scope.qualified)
            if old is not None:
                chains = list(dict.fromkeys((*old.returns, *(chains or ()))))[:MOST]
                attributes = old.attributes + attributes
            flows[scope.qualified] = Flow((), tuple(chains or ()), attributes)
    for qualified, held in _held(values, bound, scopes).items():
        old = flows.get(qualified, Flow())
        flows[qualified] = Flow(tuple(held), old.returns, old.attributes)
    return tuple(flows.items())


def _returns(values: Values, captures: Captures, scopes: Scopes) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for match in captures.role("return"):
        node = match["value"][0]
        chains = values.of(node)
        if chains:
            number = scopes.function_of(scopes.at(node.start_byte))
            _extend(found.setdefault(number, []), chains)
    for match in captures.role("yield"):
        node, value = match["node"][0], match["value"][0]
        chains = values.of(value)
        if chains:
            # `yield from x`: x itself is what a loop over the function goes through.
            whole = any(child.type == "from" for child in node.children[:3])
            number = scopes.function_of(scopes.at(node.start_byte))
            starred = chains if whole else [f"*{chain}" for chain in chains]
            _extend(found.setdefault(number, []), starred)
    found.pop(0, None)
    return found


def _held(values: Values, bound: Bound, scopes: Scopes) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in bound.assigned:
        if item.value is not None:
            chains = values.of(item.value)
            if chains:
                scope = scopes.all[item.scope].qualified
                name = f"{scope}.{item.name}" if scope else item.name
                _extend(found.setdefault(name, []), chains)
    return found


def _extend(known: list[str], chains: Iterable[str]) -> None:
    for chain in chains:
        if chain not in known and len(known) < MOST:
            known.append(chain)
