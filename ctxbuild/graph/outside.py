"""What attributes, calls and items of external things are, as far as containers tell."""

from __future__ import annotations

from ctxbuild.graph.knowledge import CELLS, CONTEXTS, MAPPINGS, OPENERS, PASSING, SEQUENCES
from ctxbuild.graph.values import OPEN, Type, Value, external, last, union

_LONGEST_NAME = 120
_MADE = {
    "sorted": "list", "list": "list", "tuple": "tuple", "set": "set", "dict": "dict",
    "frozenset": "frozenset", "iter": "Iterator", "reversed": "Iterator", "zip": "Iterator",
    "enumerate": "Iterator", "map": "Iterator", "filter": "Iterator",
}  # fmt: skip


def attribute(owner: Type, name: str) -> Value:
    """The attribute of something external; what a container gives out keeps its type."""
    kind = last(owner.name)
    if kind in MAPPINGS:
        return _mapping(owner, name)
    if kind in CELLS and name in OPENERS:
        return (external("Callable", owner.args[0] if owner.args else OPEN),)
    if kind in SEQUENCES:
        if name in ("pop", "popleft", "__getitem__", "__next__", "send"):
            return (external("Callable", item(owner)),)
        if name in ("copy", "__iter__", "__enter__"):
            return (external("Callable", (owner,)),)
    return (external(f"{owner.name}.{name}"[-_LONGEST_NAME:]),)


def call(callee: Type) -> Value:
    """What calling something external gives."""
    kind = last(callee.name)
    if kind == "Callable":
        return callee.args[-1] if callee.args else OPEN
    if kind == "ReferenceType" and callee.args:
        return callee.args[0]
    if callee.name in _MADE:
        return (external(_MADE[callee.name]),)
    if callee.name in PASSING:
        return OPEN
    return (callee,)


def item(container: Type) -> Value:
    """`container[...]`."""
    kind = last(container.name)
    if kind in MAPPINGS:
        return container.args[-1] if container.args else OPEN
    return _element(container, kind)


def element(container: Type) -> Value:
    """What iterating over the container gives."""
    kind = last(container.name)
    if kind in MAPPINGS:
        return container.args[0] if container.args else OPEN
    return _element(container, kind)


def entered(manager: Type) -> Value:
    """What `with manager as x` binds."""
    if manager.args and (last(manager.name) in CONTEXTS or manager.name == "contextmanager"):
        return manager.args[0]
    return (manager,)


def _element(container: Type, kind: str) -> Value:
    if kind in ("tuple", "Tuple"):
        return union(container.args)
    if kind in SEQUENCES or kind in PASSING:
        return container.args[0] if container.args else OPEN
    return (container,)


def _mapping(owner: Type, name: str) -> Value:
    key, value = (owner.args[0], owner.args[-1]) if owner.args else (OPEN, OPEN)
    if name in ("get", "pop", "setdefault", "__getitem__"):
        return (external("Callable", value),)
    if name == "values":
        return (external("Callable", (external("Iterable", value),)),)
    if name == "keys":
        return (external("Callable", (external("Iterable", key),)),)
    if name in ("items", "popitem"):
        pair = (external("tuple", key, value),)
        return (external("Callable", (external("Iterable", pair),) if name == "items" else pair),)
    if name == "copy":
        return (external("Callable", (owner,)),)
    return (external(f"{owner.name}.{name}"[-_LONGEST_NAME:]),)
