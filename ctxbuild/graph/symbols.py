"""Names to definitions: through imports, re-exports, stars, aliases and base classes.

`Names` answers with memory: within one query the same question is asked of the
view once. Cycles end where they began: a name that is being looked up has no
further definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ctxbuild.graph.knowledge import BUILTINS, INERT_BASES
from ctxbuild.graph.resolve import is_package_file, locate, package_file, parent, submodule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxbuild.graph.view import Edge, View
    from ctxbuild.model import Symbol

Status = Literal["symbol", "module", "namespace", "external", "unresolved", "dynamic"]
VALUE_KINDS = ("variable", "constant", "attribute")
_ALIAS_STEPS = 12
_MAX_BASES = 60
_MAX_DEPTH = 60


@dataclass(frozen=True, slots=True)
class Target:
    """What a name stands for.

    Attributes:
        status: a `symbol` of a file, a `module`, a `namespace` package (path is the
            file it was seen from), something `external`, `unresolved`, or `dynamic`:
            only the module's `__getattr__` knows.
        path: the file.
        name: qualified name of a symbol, else the dotted name.
        kind: kind of the symbol, or "".
    """

    status: Status
    path: str = ""
    name: str = ""
    kind: str = ""


Targets = tuple[Target, ...]


def find(view: View, path: str, dotted: str) -> Targets:
    """Where a name of a module is defined.

    Args:
        view: the repository.
        path: the file in whose module scope the name is looked up.
        dotted: `name`, `Class.method`, `submodule.attr`, `alias.Class.method`.

    Returns:
        The definitions: usually one, several where a name is bound in several
        branches; one `unresolved` target where there is none.
    """
    return Names(view).find(path, dotted) or (Target("unresolved", path, dotted),)


class Names:
    """Look-ups with memory over one view."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._lookups: dict[tuple[str, str], Targets | None] = {}
        self._edges: dict[str, dict[int, list[Edge]]] = {}
        self._aliases: dict[str, dict[tuple[str, str], list[int]]] = {}
        self._stars: dict[str, list[int]] = {}
        self._lines: dict[tuple[str, str], tuple[tuple[str, str], ...] | None] = {}
        self._symbols: dict[tuple[str, str], tuple[Symbol, ...]] = {}
        self._depth = 0

    def symbol(self, path: str, name: str) -> tuple[Symbol, ...]:
        """All definitions of a qualified name in a file."""
        key = (path, name)
        found = self._symbols.get(key)
        if found is None:
            found = self._symbols[key] = self.view.symbol(path, name)
        return found

    def find(self, path: str, dotted: str, scope: str = "") -> Targets:
        """Definitions of a dotted name as seen from a scope; aliases are followed."""
        name, *rest = dotted.split(".")
        targets = self.visible(path, scope, name)
        for part in rest:
            targets = _unique(
                found for each in targets for found in self.inside(self.followed(each), part)
            )
        return _unique(found for each in targets for found in self.followed(each))

    def visible(self, path: str, scope: str, name: str) -> Targets:
        """What a bare name means in a scope, its enclosing functions, and the module."""
        innermost = True
        while scope:
            if innermost or not self.is_class(path, scope):
                if symbols := self.symbol(path, f"{scope}.{name}"):
                    return (Target("symbol", path, f"{scope}.{name}", symbols[0].kind),)
                if indices := self.bound(path, scope, name):
                    return _unique(found for each in indices for found in self.imported(path, each))
            innermost = False
            scope = scope.rpartition(".")[0]
        return self.lookup(path, name)

    def is_class(self, path: str, name: str) -> bool:
        """Whether a qualified name is a class."""
        symbols = self.symbol(path, name)
        return bool(symbols) and any(symbol.kind == "class" for symbol in symbols)

    def inside(self, targets: Targets, name: str) -> Targets:
        """The attribute `name` of modules, namespaces and classes."""
        found: list[Target] = []
        for each in targets:
            if each.status == "module":
                found += self.attribute(each.path, name)
            elif each.status == "namespace":
                found += self.module_named(each.path, f"{each.name}.{name}")
            elif each.status in ("external", "dynamic", "unresolved"):
                found.append(Target(each.status, each.path, f"{each.name}.{name}"))
            elif each.kind == "class":
                owner = self.member(each.path, each.name, name)
                found += [owner] if owner else []
        return _unique(found)

    def attribute(self, path: str, name: str) -> Targets:
        """The attribute `name` of the module `path`: a name of it, or a submodule."""
        found = self.lookup(path, name)
        if found and found[0].status != "dynamic":
            return found
        if is_package_file(path):
            below = submodule(self.view, (parent(path),), name)
            if below is not None and below.path:
                return (Target("module", below.path),)
        return found

    def module_named(self, path: str, dotted: str) -> Targets:
        """The absolute module `dotted` as seen from the file `path`."""
        location = locate(self.view, path, dotted)
        if location.status != "found":
            return (
                Target("external" if location.status == "external" else "unresolved", path, dotted),
            )
        module = location.modules[0]
        if module.path:
            return (Target("module", module.path),)
        return (Target("namespace", path, dotted),)

    def lookup(self, path: str, name: str) -> Targets:
        """What the module-level name `name` of `path` stands for; () if it has none."""
        key = (path, name)
        if key in self._lookups:
            return self._lookups[key] or ()
        if self._depth >= _MAX_DEPTH:
            return ()
        self._lookups[key] = None
        self._depth += 1
        found = self._lookups[key] = self._lookup(path, name)
        self._depth -= 1
        return found

    def imported(self, path: str, index: int) -> Targets:
        """What the import with that ordinal binds."""
        item = self.view.imports(path)[index]
        found: list[Target] = []
        for edge in self._edges_of(path).get(index, ()):
            if edge.status == "file" and edge.name is not None:
                found += self.lookup(edge.target, edge.name) or (
                    Target("unresolved", edge.target, edge.name),
                )
            elif edge.status == "file" and item.name is not None:
                found += self._shadowed(path, edge.target, item.name)
            elif item.name is None and not item.level and item.alias == item.module.split(".")[0]:
                if edge.status == "external":
                    found.append(Target("external", "", item.alias))
                else:
                    found += self.module_named(path, item.alias)
            elif edge.status == "file":
                found.append(Target("module", edge.target))
            else:
                dotted = f"{item.module}.{item.name}" if item.name else item.module
                known: Status = "external" if edge.status == "external" else "unresolved"
                status: Status = "namespace" if edge.status == "namespace" else known
                found.append(Target(status, path, dotted.lstrip(".")))
        return _unique(found)

    def member(self, path: str, name: str, attribute: str) -> Target | None:
        """Where a class or a base of it defines an attribute; external bases may."""
        outside = ""
        for owner_path, owner in self.line(path, name):
            if not owner_path:
                if owner.rpartition(".")[2] not in INERT_BASES:
                    outside = outside or owner
            elif symbols := self.symbol(owner_path, f"{owner}.{attribute}"):
                return Target("symbol", owner_path, f"{owner}.{attribute}", symbols[0].kind)
        return (
            Target("external", "", f"{outside}.{attribute}") if outside not in ("", "?") else None
        )

    def line(self, path: str, name: str) -> tuple[tuple[str, str], ...]:
        """The classes in which attributes are looked up, the class itself first.

        Returns:
            (path, qualified name) of each; an external base has the path "". C3 order
            where there is one, else depth first.
        """
        key = (path, name)
        if key in self._lines:
            return self._lines[key] or (key,)
        if self._depth >= _MAX_DEPTH:
            return (key,)
        self._lines[key] = None
        self._depth += 1
        lines = [self.line(*base) if base[0] else (base,) for base in self._bases(path, name)]
        self._depth -= 1
        merged = _merge(key, lines)
        self._lines[key] = merged
        return merged

    def _bases(self, path: str, name: str) -> list[tuple[str, str]]:
        bases: list[tuple[str, str]] = []
        scope = name.rpartition(".")[0]
        sources = [base for symbol in self.symbol(path, name) for base in symbol.bases]
        for source in sources[:_MAX_BASES]:
            dotted = source.partition("[")[0].strip()
            if not dotted.replace(".", "a").isidentifier():
                bases.append(("", "?"))
                continue
            targets = self.find(path, dotted, scope)
            if not targets:
                bases.append(("", dotted if dotted in BUILTINS else "?"))
            for target in targets:
                if target.status == "symbol" and target.kind == "class":
                    bases.append((target.path, target.name))
                else:
                    bases.append(("", target.name if target.status == "external" else "?"))
        return [base for base in bases if base != (path, name)]

    def _lookup(self, path: str, name: str) -> Targets:
        found: list[Target] = []
        symbols = self.symbol(path, name)
        if symbols:
            found.append(Target("symbol", path, name, symbols[0].kind))
            if symbols[0].kind not in VALUE_KINDS:
                return tuple(found)
        for index in self.bound(path, "", name):
            found += self.imported(path, index)
        if found:
            return _unique(found)
        starred = self._starred(path, name)
        if not starred and self.symbol(path, "__getattr__"):
            return (Target("dynamic", path, name),)
        return starred

    def _starred(self, path: str, name: str) -> Targets:
        """What the last star import that has the name brings; one from outside may have any."""
        external: list[Target] = []
        for index in reversed(self._stars[path]):
            found: list[Target] = []
            for edge in self._edges_of(path).get(index, ()):
                if edge.status == "file" and self._exports(edge.target, name):
                    found += self.lookup(edge.target, name)
                elif edge.status == "external":
                    external.append(Target("external", "", name))
            if found:
                return _unique(found)
        return tuple(external[:1])

    def _exports(self, path: str, name: str) -> bool:
        """Whether a star import of the module brings the name, if the module has it."""
        if self.symbol(path, "__all__"):
            exported = self.view.outline(path).exported
            if exported is not None:
                return name in exported
        return not name.startswith("_")

    def _shadowed(self, path: str, module: str, name: str) -> Targets:
        """`from package import name` where a submodule has that name: an attribute wins."""
        inside = parent(parent(module)) if is_package_file(module) else parent(module)
        init = package_file(self.view, inside)
        if init and init != path and (self.symbol(init, name) or self.bound(init, "", name)):
            found = [each for each in self.lookup(init, name) if each.status == "symbol"]
            if found:
                return _unique(found)
        return (Target("module", module),)

    def followed(self, target: Target) -> Targets:
        """A variable that merely names something else, followed to that."""
        pending, found = [target], list[Target]()
        seen: set[Target] = set()
        while pending and len(seen) < _ALIAS_STEPS:
            each = pending.pop(0)
            if each in seen:
                continue
            seen.add(each)
            onward = self._named_by(each) if each.kind in VALUE_KINDS else ()
            if onward:
                pending += onward
            else:
                found.append(each)
        return _unique(found) or (target,)

    def _named_by(self, target: Target) -> Targets:
        if target.name.startswith("__"):
            return ()
        scope = target.name.rpartition(".")[0]
        found: list[Target] = []
        for chain in self.view.flow(target.path, target.name).values:
            if not chain.replace(".", "a").isidentifier() or chain in ("None", "True", "False"):
                continue
            name, *rest = chain.split(".")
            targets = self.visible(target.path, scope, name)
            if (target.path, target.name) in [(each.path, each.name) for each in targets]:
                continue
            for part in rest:
                targets = self.inside(targets, part)
            found += targets
        return _unique(found)

    def bound(self, path: str, scope: str, name: str) -> list[int]:
        """Ordinals of the imports that bind a name in a scope."""
        if path not in self._aliases:
            aliases: dict[tuple[str, str], list[int]] = {}
            stars = []
            for index, item in enumerate(self.view.imports(path)):
                if item.name == "*":
                    stars.append(index)
                elif item.alias:
                    aliases.setdefault((item.scope, item.alias), []).append(index)
            self._aliases[path], self._stars[path] = aliases, stars
        return self._aliases[path].get((scope, name), [])

    def _edges_of(self, path: str) -> dict[int, list[Edge]]:
        if path not in self._edges:
            grouped: dict[int, list[Edge]] = {}
            for edge in self.view.resolved(path):
                if edge.kind != "package":
                    grouped.setdefault(edge.import_index, []).append(edge)
            self._edges[path] = grouped
        return self._edges[path]


def _merge(
    first: tuple[str, str], lines: list[tuple[tuple[str, str], ...]]
) -> tuple[tuple[str, str], ...]:
    """C3 over the lines of the bases; where it has no answer, depth first."""
    rest = [list(line) for line in lines] + [[line[0] for line in lines]]
    merged = [first]
    while rest := [line for line in rest if line]:
        for line in rest:
            head = line[0]
            if not any(head in other[1:] for other in rest):
                break
        else:
            return tuple(dict.fromkeys([first, *(each for line in lines for each in line)]))
        merged.append(head)
        rest = [line[1:] if line[0] == head else line for line in rest]
    return tuple(merged)


def _unique(targets: Iterator[Target] | list[Target]) -> Targets:
    return tuple(dict.fromkeys(targets))
