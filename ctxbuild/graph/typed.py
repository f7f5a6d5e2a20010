"""Annotations to values, in the scope of the file that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxbuild.graph.annotations import Form, assigned, read, type_variable
from ctxbuild.graph.knowledge import BUILTINS, CELLS, CONTEXTS, MAPPINGS, SEQUENCES, WRAPPERS
from ctxbuild.graph.symbols import VALUE_KINDS, Names, Target
from ctxbuild.graph.values import OPEN, Type, Value, external, last, union

if TYPE_CHECKING:
    from ctxbuild.graph.view import View

NONE = external("None")
_MAX_FORMS = 16
_VAGUE = frozenset({"Any", "object", "TypeVar", "AnyStr", "ParamSpec", "Concatenate", "Never"})


class Typed:
    """Evaluates annotations over one view.

    Args:
        view: the repository.
        names: looks names up.
    """

    def __init__(self, view: View, names: Names) -> None:
        self.view = view
        self.names = names

    def annotated(self, path: str, scope: str, source: str, me: Type | None = None) -> Value:
        """What has the annotation `source`, as seen from a scope; `me` is what `Self` is."""
        return self.form(path, scope, read(source), me, 0)

    def written(self, path: str, scope: str, source: str, me: Type | None = None) -> Value:
        """What a docstring says is of type `source`: its names may be absolute."""
        value = self.annotated(path, scope, source, me)
        first, dot, rest = source.partition("[")[0].partition(".")
        if value or not dot:
            return value
        targets = self.names.module_named(path, first)
        for part in rest.split("."):
            targets = self.names.inside(targets, part)
        form = Form("name", source)
        return union(self._named(path, scope, each, form, me, 0) for each in targets)

    def form(self, path: str, scope: str, form: Form, me: Type | None, depth: int) -> Value:
        """The value of a part of an annotation."""
        if depth > _MAX_FORMS or form.kind in ("other", "list"):
            return OPEN
        if form.kind == "union":
            return self._union(path, scope, form.parts, me, depth)
        if form.name == "None":
            return (NONE,)
        targets = self.names.find(path, form.name, scope)
        if not targets:
            name = last(form.name)
            if name == "Self":
                return self._self(path, scope, me)
            known = name in BUILTINS or name in MAPPINGS or name in SEQUENCES
            return self._external(path, scope, name, form, me, depth) if known else OPEN
        return union(self._named(path, scope, each, form, me, depth) for each in targets)

    def _union(
        self, path: str, scope: str, parts: tuple[Form, ...], me: Type | None, depth: int
    ) -> Value:
        values = [self.form(path, scope, part, me, depth + 1) for part in parts]
        value = union(values)
        return tuple(each for each in value if each != NONE) or value

    def _named(
        self, path: str, scope: str, target: Target, form: Form, me: Type | None, depth: int
    ) -> Value:
        if target.status == "external":
            return self._external(path, scope, target.name, form, me, depth)
        if target.status != "symbol":
            return OPEN
        if target.kind == "class":
            args = tuple(self.form(path, scope, part, me, depth + 1) for part in form.parts[:4])
            return (Type("instance", target.path, target.name, args),)
        if target.kind not in VALUE_KINDS:
            return OPEN
        values: list[Value] = []
        outer = target.name.rpartition(".")[0]
        for symbol in self.names.symbol(target.path, target.name):
            forms = type_variable(symbol.signature)
            if forms is None:
                forms = (assigned(symbol.signature),)
            elif me is not None and (given := self._given(me, target, depth)):
                return given
            values += [self.form(target.path, outer, each, None, depth + 2) for each in forms]
        return union(values)

    def _given(self, me: Type, variable: Target, depth: int) -> Value:
        """What the type arguments of a receiver say about a type variable of its class or bases."""
        if depth > _MAX_FORMS:
            return OPEN
        scope = me.name.rpartition(".")[0]
        sources = [base for each in self.names.symbol(me.path, me.name) for base in each.bases]
        forms = [read(source) for source in sources if "[" in source]
        forms.sort(key=_is_not_generic)
        parameters = list(
            dict.fromkeys(name for form in forms for part in form.parts for name in part.names())
        )
        variables = [name for name in parameters if self._is_variable(me.path, scope, name)]
        for position, name in enumerate(variables[: len(me.args)]):
            if variable in self.names.find(me.path, name, scope):
                return me.args[position]
        for form in forms:
            for base in self.form(me.path, scope, form, me, depth + 3):
                if base.kind == "instance" and base.args and base != me:
                    given = self._given(base, variable, depth + 3)
                    if given:
                        return given
        return OPEN

    def _is_variable(self, path: str, scope: str, name: str) -> bool:
        return any(
            type_variable(symbol.signature) is not None
            for target in self.names.find(path, name, scope)
            if target.kind in VALUE_KINDS
            for symbol in self.names.symbol(target.path, target.name)
        )

    def _self(self, path: str, scope: str, me: Type | None) -> Value:
        if me is not None and me.kind in ("instance", "class"):
            return (Type("instance", me.path, me.name, me.args),)
        while scope and not self.names.is_class(path, scope):
            scope = scope.rpartition(".")[0]
        return (Type("instance", path, scope),) if scope else OPEN

    def _external(
        self, path: str, scope: str, dotted: str, form: Form, me: Type | None, depth: int
    ) -> Value:
        name = last(dotted)
        parts = form.parts
        if name == "Self":
            return self._self(path, scope, me)
        if name in _VAGUE:
            return OPEN
        if name in WRAPPERS:
            if name in ("Coroutine", "Awaitable", "Future", "Task"):
                parts = parts[-1:]
            return self._union(path, scope, parts, me, depth)
        if name in ("type", "Type"):
            value = self._union(path, scope, parts, me, depth)
            return tuple(
                Type("class", each.path, each.name, each.args) if each.kind == "instance" else each
                for each in value
            )
        if name == "Callable":
            return (
                (external("Callable", self.form(path, scope, parts[-1], me, depth + 1)),)
                if (parts)
                else (external("Callable"),)
            )
        if name in MAPPINGS or name in SEQUENCES or name in CONTEXTS or name in CELLS:
            args = tuple(self.form(path, scope, part, me, depth + 1) for part in parts[:8])
            return (external(name, *args),)
        return (external(dotted),)


def _is_not_generic(form: Form) -> bool:
    return last(form.name) not in ("Generic", "Protocol")
