"""Types of chains: which class has `.save()`.

An `Inference` evaluates chains in the scope of a file. It follows annotations
first and values second, never runs anything, and says nothing (the open value)
where it does not know. It is flow-insensitive: a name may be everything that is
bound to it in its scope. Depth and steps are bounded by counts, so that the
answer depends on the facts alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxbuild.graph.annotations import parameter_in
from ctxbuild.graph.calls import Calls
from ctxbuild.graph.knowledge import BUILTINS
from ctxbuild.graph.members import NOTHING, Step, decorated
from ctxbuild.graph.symbols import Names, Target
from ctxbuild.graph.values import OPEN, Type, Value, external, steps, union

if TYPE_CHECKING:
    from ctxbuild.graph.view import View
    from ctxbuild.model import Binding, Symbol

_MAX_DEPTH = 22
_MAX_STEPS = 2_000  # for one chain of the home file
_MAX_TOTAL = 100_000  # for all of them
_GLOBAL = ("class", "function", "module", "namespace", "external")
_CLASS_METHODS = ("__new__", "__init_subclass__", "__class_getitem__")


class Inference(Calls):
    """Types of chains over one view, with memory.

    Args:
        view: the repository.
        home: the file whose references are evaluated: only its bindings are asked for
            freely, those of another file only where a name there needs them.
    """

    def __init__(self, view: View, home: str = "") -> None:
        super().__init__(view, Names(view))
        self.home = home
        self._values: dict[tuple[str, str, str, Type | None], Value | None] = {}
        self._heads: dict[tuple[str, str, str, Type | None], Step] = {}
        self._bound: dict[tuple[str, str, str], tuple[Binding, ...]] = {}
        self._active: set[Binding] = set()
        self._depth = 0
        self._total = _MAX_TOTAL
        self._left = _MAX_STEPS

    # --- chains ---

    def begin(self) -> None:
        """Start a chain of the home file: each has the same allowance of steps."""
        self._total -= _MAX_STEPS - self._left
        self._left = min(_MAX_STEPS, self._total)

    def chain(self, path: str, scope: str, chain: str, me: Type | None = None) -> Value:
        """What a chain may be, in a scope of a file; `me` is what its `self` is."""
        key = (path, scope, chain, me)
        if key in self._values:
            known = self._values[key]
            if known is None:
                self.cuts += 1
            return known or OPEN
        if self._depth >= _MAX_DEPTH or self._left <= 0:
            self.cuts += 1
            return OPEN
        cuts = self.cuts
        self._values[key] = None
        self._depth += 1
        first, *rest = steps(chain)
        value = self.head(path, scope, first, me).value
        prefix = first
        for part in rest:
            value = self.advance(value, part).value
            prefix = f"{prefix}.{part}" if prefix and part[0] not in "([" else ""
            if prefix and path == self.home:
                value = self.guarded(path, scope, prefix, value, me)
        self._depth -= 1
        if value or cuts == self.cuts:
            self._values[key] = value
        else:
            del self._values[key]
        return value

    def advance(self, value: Value, part: str) -> Step:
        """One part further: an attribute, `()` or `[]`."""
        self._left -= 1
        if part == "()":
            return Step((), union(self.call(each) for each in value), "local")
        if part == "[]":
            return Step((), union(self.item(each) for each in value), "local")
        return self.attribute(value, part)

    def head(self, path: str, scope: str, name: str, me: Type | None = None) -> Step:
        """The first part of a chain."""
        key = (path, scope, name, me)
        known = self._heads.get(key)
        if known is None:
            cuts = self.cuts
            known = self._head(path, scope, name, me)
            if known.value or cuts == self.cuts:
                self._heads[key] = known
        return known

    def _head(self, path: str, scope: str, name: str, me: Type | None) -> Step:
        self._left -= 1
        if name == '"':
            return Step((), (external("str"),), "external")
        if name == "?":
            return NOTHING
        if name == "super()":
            return Step((), self._super(path, scope, me), "local")
        if path != self.home and not self._is_parameter(path, scope, name):
            # Hardly a local name hides a class, function or module: spare the question for
            # the bindings of the scope.
            found = self._module_name(path, name)
            if found.outcome != "open" and all(each.kind in _GLOBAL for each in found.value):
                return found
        innermost, inner = True, scope
        while inner:
            if innermost or not self.names.is_class(path, inner):
                step = self._local(path, inner, name, me)
                if step is not None:
                    return step
            innermost, inner = False, inner.rpartition(".")[0]
        return self._module_name(path, name)

    def guarded(
        self, path: str, scope: str, prefix: str, value: Value, me: Type | None = None
    ) -> Value:
        """A value and what `isinstance` guards of the same scopes say about it."""
        inner = scope
        while inner:
            for binding in self._bindings(path, inner, prefix):
                if binding.kind == "guard":
                    value = union((value, self._binding(path, binding, me)))
            inner = inner.rpartition(".")[0]
        return value

    # --- names ---

    def _module_name(self, path: str, name: str) -> Step:
        targets = self.names.lookup(path, name)
        if targets:
            return self.step(targets)
        if name in BUILTINS:
            return Step((), (external(name),), "external")
        # Elsewhere a name that is neither defined nor imported is not worth the question.
        bound = self._bindings(path, "", name) if path == self.home else None
        if bound:
            return Step((), union(self._binding(path, each, None) for each in bound), "local")
        return NOTHING

    def _is_parameter(self, path: str, scope: str, name: str) -> bool:
        while scope:
            for symbol in self.names.symbol(path, scope):
                if any(param.name.lstrip("*") == name for param in symbol.params):
                    return True
            scope = scope.rpartition(".")[0]
        return False

    def variable(self, path: str, name: str) -> Value:
        """What a variable holds; in the home file also by unpacking, loops and `with`."""
        value = super().variable(path, name)
        if value or path != self.home:
            return value
        scope, _, last_part = name.rpartition(".")
        bound = self._bindings(path, scope, last_part)
        return union(self._binding(path, each, None) for each in bound)

    def _local(self, path: str, scope: str, name: str, me: Type | None) -> Step | None:
        """A name bound in one function or class; None if it is not bound there."""
        known: Value | None = None
        if self.names.is_class(path, scope):
            symbols = self.names.symbol(path, f"{scope}.{name}")
            if symbols:
                return self.step((Target("symbol", path, f"{scope}.{name}", symbols[0].kind),))
        else:
            known = self._parameter(path, scope, name, me)
            if known and path != self.home:
                return Step((), known, "local")
        indices = self.names.bound(path, scope, name)
        if indices:
            names = self.names
            return self.step(
                tuple(each for index in indices for each in names.imported(path, index))
            )
        bound = self._bindings(path, scope, name)
        if known is None and not bound:
            return None
        values = [known or OPEN, *(self._binding(path, each, me) for each in bound)]
        return Step((), union(values), "local")

    def _parameter(self, path: str, scope: str, name: str, me: Type | None) -> Value | None:
        """What a parameter of a function is; None if it has no such parameter."""
        found: Value | None = None
        outer = scope.rpartition(".")[0]
        for symbol in self.names.symbol(path, scope):
            for position, param in enumerate(symbol.params):
                if param.name.lstrip("*") != name:
                    continue
                found = found or OPEN
                if param.annotation:
                    value = self.annotated(path, outer, param.annotation, me)
                    if param.name.startswith("**"):
                        value = (external("dict", (external("str"),), value),)
                    elif param.name.startswith("*"):
                        value = (external("tuple", value),)
                    found = union((found, value))
                elif written := parameter_in(symbol.docstring, name):
                    found = union((found, self.written(path, outer, written, me)))
                if position == 0 and not found and self.names.is_class(path, outer):
                    found = self._receiver(path, outer, symbol, me)
        return found

    def _receiver(self, path: str, owner: str, symbol: Symbol, me: Type | None) -> Value:
        if decorated(symbol, ("staticmethod",)):
            return OPEN
        name = symbol.name.rpartition(".")[2]
        is_class = decorated(symbol, ("classmethod",)) or name in _CLASS_METHODS
        known = me if me is not None and me.kind in ("instance", "class") else None
        place = known or Type("instance", path, owner)
        return (Type("class" if is_class else "instance", place.path, place.name, place.args),)

    def _super(self, path: str, scope: str, me: Type | None) -> Value:
        inner = scope
        while inner and not self.names.is_class(path, inner):
            inner = inner.rpartition(".")[0]
        if not inner:
            return OPEN
        return (Type("super", path, inner, (), me or Type("instance", path, inner)),)

    def _bindings(self, path: str, scope: str, target: str) -> tuple[Binding, ...]:
        key = (path, scope, target)
        if key not in self._bound:
            self._bound[key] = self.view.bindings(path, scope, target)
        return self._bound[key]

    def _binding(self, path: str, binding: Binding, me: Type | None) -> Value:
        if binding in self._active:
            self.cuts += 1
            return OPEN
        self._active.add(binding)
        try:
            if binding.annotation and (
                value := self.annotated(path, binding.scope, binding.annotation, me)
            ):
                return value
            if binding.kind == "for":
                values = [
                    self.iterated(self.chain(path, binding.scope, chain.removesuffix("[]"), me))
                    for chain in binding.chains
                ]
                return union(values)
            value = union(self.chain(path, binding.scope, each, me) for each in binding.chains)
            if binding.kind == "with":
                return union(self.entered(each) for each in value)
            if binding.kind in ("guard", "except", "match"):
                return tuple(map(_instance, value))
            return value
        finally:
            self._active.discard(binding)


def _instance(type_: Type) -> Type:
    """The instance of a class that a guard, an `except` or a pattern names."""
    if type_.kind == "class":
        return Type("instance", type_.path, type_.name, type_.args)
    return type_
