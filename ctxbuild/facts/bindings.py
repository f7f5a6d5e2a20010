"""What local names are bound to, and what bodies say about types: bindings and flows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ctxbuild.model import Binding, Flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node

    from ctxbuild.facts.capture import Captures, Source
    from ctxbuild.facts.chains import Chains, Use
    from ctxbuild.facts.languages import Grammar
    from ctxbuild.facts.scopes import Scope, Scopes

Kind = Literal["assign", "with", "for", "guard", "param", "except", "match"]

MOST = 6  # chains kept per binding or flow
_TARGETS = 50  # names of one tuple of targets that become symbols
_STEPS = 200  # nodes looked at for one value


@dataclass(slots=True)
class Assigned:
    """A name that a statement of a module or a class binds."""

    name: str
    scope: int
    start: int
    end: int
    annotation: str
    value: Node | None
    value_start: int  # -1 without a value


@dataclass(slots=True)
class Bound:
    """Everything that binding statements say.

    Attributes:
        bindings: with the byte each starts at.
        assigned: names bound by assignments outside functions, in source order.
        attributes: per class: by (attribute, method): chains and annotation.
        named: by start of an assigned value: the name it is assigned to.
        guards: where the types that guards test start.
        uses: what patterns use: their names are no expressions.
    """

    bindings: list[tuple[int, Binding]] = field(default_factory=list)
    assigned: list[Assigned] = field(default_factory=list)
    attributes: dict[int, dict[tuple[str, str], tuple[list[str], str]]] = field(
        default_factory=dict
    )
    named: dict[int, str] = field(default_factory=dict)
    guards: set[int] = field(default_factory=set)
    uses: list[Use] = field(default_factory=list)


class Binder:
    """Reads the binding statements of one file.

    Args:
        captures: what the query found.
        source: the file's text.
        scopes: its functions and classes.
        chains: its chains.
        grammar: which node kinds pass values on.
    """

    def __init__(
        self,
        captures: Captures,
        source: Source,
        scopes: Scopes,
        chains: Chains,
        grammar: Grammar,
    ) -> None:
        self._captures = captures
        self._cut: Callable[[int, int], str] = source.cutter()
        self._scopes = scopes
        self._at = chains.at
        self._passing = grammar.values
        kinds = grammar.kinds
        empty: frozenset[int] = frozenset()
        self._sequences = kinds.get("sequence", empty)
        self._splats = kinds.get("splat", empty)
        self._unions = kinds.get("union", empty)
        self._names = kinds.get("name", empty)
        self._aliases = kinds.get("alias", empty)
        self._class_patterns = kinds.get("class_pattern", empty)
        self._guard_names = grammar.language.words("names", "guards")
        self._wrappers = kinds.get("transparent_target", empty)
        self._result = Bound()

    def read(self) -> Bound:
        """All bindings, in source order."""
        outer = self._outer_names()
        self._parameters()
        self._assignments()
        for role, kind, suffix in (
            ("walrus", "assign", ""),
            ("with", "with", ""),
            ("for", "for", "[]"),
        ):
            for match in self._captures.role(role):
                target = match["target" if "target" in match else "part"][0]
                self._bind(target, match["value"][0], suffix, "", kind)  # type: ignore[arg-type]
        self._excepts()
        self._guards()
        self._patterns()
        for number, name in outer:
            self._scopes.all[number].names.discard(name)
        self._result.bindings.sort(key=_start)
        self._result.assigned.sort(key=_assigned_start)
        return self._result

    # --- values ---

    def values(self, node: Node) -> tuple[str, ...]:
        """The chains an expression may stand for, without what says nothing."""
        start = node.start_byte
        found = self._at.get(start)
        if found is not None and found[0] == node.end_byte:
            return (found[1],)
        if node.kind_id in self._names:
            return (self._cut(start, node.end_byte),)
        passing = self._passing
        if node.kind_id not in passing:
            return ()
        out: list[str] = []
        stack = [node]
        for _step in range(_STEPS):
            if not stack or len(out) == MOST:
                break
            node = stack.pop()
            chain = self._chain(node)
            if chain:
                if chain not in out:
                    out.append(chain)
                continue
            places = passing.get(node.kind_id)
            if places is not None:
                children = node.named_children
                for place in reversed(places):
                    if -len(children) <= place < len(children):
                        stack.append(children[place])
        return tuple(out)

    def _chain(self, node: Node) -> str:
        """The chain that a node is as a whole, or ""."""
        end, chain = self._at.get(node.start_byte, (0, ""))
        if end == node.end_byte:
            return chain
        return self._cut(node.start_byte, node.end_byte) if node.kind_id in self._names else ""

    def _types(self, node: Node) -> tuple[str, ...]:
        """The chains of types that a guard tests: a tuple or a union of them, or one."""
        out: list[str] = []
        stack = [node]
        for _step in range(_STEPS):
            if not stack or len(out) == MOST:
                break
            node = stack.pop()
            if node.kind_id in self._sequences or node.kind_id in self._unions:
                stack.extend(reversed(node.named_children))
            else:
                self._result.guards.add(node.start_byte)
                out.extend(chain for chain in self.values(node) if chain not in out)
        return tuple(out)

    # --- targets ---

    def _bind(
        self, target: Node, value: Node | None, suffix: str, annotation: str, kind: Kind
    ) -> None:
        """Bind a target, or each name of a tuple of targets, to a value."""
        if target.kind_id in self._names:  # nearly always
            chains = self.values(value) if value is not None else ()
            if suffix:
                chains = tuple(chain + suffix for chain in chains)
            self._bind_name(target, chains, annotation, kind)
            return
        stack: list[tuple[Node, Node | None, tuple[str, ...]]] = [(target, value, ())]
        first = True
        for _step in range(_STEPS):
            if not stack:
                break
            target, value, chains = stack.pop()
            kind_id = target.kind_id
            if kind_id in self._wrappers:
                children = target.named_children
                stack.extend((child, value, chains) for child in children[:1])
                continue
            is_pair = kind_id in self._sequences
            if is_pair and value is not None and value.kind_id in self._sequences and not suffix:
                targets, values = target.named_children, value.named_children
                plain = not any(
                    node.kind_id in self._splats for node in (*targets[:_STEPS], *values[:_STEPS])
                )
                if plain and len(targets) == len(values):
                    stack.extend(
                        (one, other, ()) for one, other in zip(targets, values, strict=True)
                    )
                    first = False
                    continue
            if value is not None:
                chains = self.values(value)
                if first and suffix:
                    chains = tuple(chain + suffix for chain in chains)
            if is_pair:
                inner = tuple(chain + "[]" for chain in chains)
                for child in target.named_children[:_STEPS]:
                    if child.kind_id in self._splats:
                        stack.extend((name, None, chains) for name in child.named_children[:1])
                    else:
                        stack.append((child, None, inner))
                continue
            self._bind_name(target, chains, annotation, kind)

    def _bind_name(
        self, target: Node, chains: tuple[str, ...], annotation: str, kind: Kind
    ) -> None:
        """Bind one name or `self.name`; other targets bind nothing."""
        start = target.start_byte
        while target.kind_id in self._wrappers and target.named_child_count:
            target = target.named_children[0]
            start = target.start_byte
        if target.kind_id in self._sequences:
            self._bind(target, None, "", "", kind)
            return
        number = self._scopes.at(start)
        scope = self._scopes.all[number]
        if target.kind_id in self._names:
            name = self._cut(start, target.end_byte)
            scope.names.add(name)
            self._add(start, Binding(name, chains, annotation, scope.qualified, kind))
            return
        found = self._at.get(start)
        if found is None or found[0] != target.end_byte:
            return
        root, dot, attribute = found[1].partition(".")
        if not dot or not attribute.isidentifier():
            return
        method, owner = self._method(number, root)
        if method is None:
            return
        target_name = f"self.{attribute}"
        self._add(start, Binding(target_name, chains, annotation, scope.qualified, kind))
        attributes = self._result.attributes.setdefault(owner, {})
        key = (attribute, method.qualified)
        known, noted = attributes.get(key, ([], ""))
        known.extend(chain for chain in chains if chain not in known and len(known) < MOST)
        attributes[key] = (known, noted or annotation)

    def _method(self, number: int, root: str) -> tuple[Scope | None, int]:
        """The method around a scope whose first parameter is `root`, and its class."""
        scopes = self._scopes.all
        while number:
            scope = scopes[number]
            if scope.kind == "function":
                parent = scopes[scope.parent]
                first = scope.params[0].name if scope.params else ""
                if parent.kind == "class":
                    return (scope, scope.parent) if first == root else (None, 0)
            number = scope.parent
        return None, 0

    def _add(self, start: int, binding: Binding) -> None:
        self._result.bindings.append((start, binding))

    # --- statements ---

    def _outer_names(self) -> list[tuple[int, str]]:
        """Names that `global` and `nonlocal` make those of an outer scope."""
        found = []
        for match in self._captures.role("outer"):
            node = match["part"][0]
            name = self._cut(node.start_byte, node.end_byte)
            found.append((self._scopes.at(node.start_byte), name))
        return found

    def _parameters(self) -> None:
        for scope in self._scopes.all:
            for param in scope.params:
                name = param.name.lstrip("*")
                scope.names.add(name)
                if param.annotation or param.default or not scope.is_symbol:
                    binding = Binding(name, (), param.annotation, scope.qualified, "param")
                    self._add(scope.parameters[0], binding)
        for match in self._captures.role("local"):
            for nodes in match.values():
                for node in nodes:
                    self._bind_name(node, (), "", "param")

    def _assignments(self) -> None:
        cut = self._cut
        scopes = self._scopes
        for match in self._captures.role("assignment"):
            target = match["part"][0]
            value = match["value"][0] if "value" in match else None
            annotation = ""
            if "annotation" in match:
                note = match["annotation"][0]
                annotation = cut(note.start_byte, note.end_byte)
            self._bind(target, value, "", annotation, "assign")
            number = scopes.at(target.start_byte)
            scope = scopes.all[number]
            is_name = target.kind_id in self._names
            if is_name and value is not None:
                name = cut(target.start_byte, target.end_byte)
                self._result.named[value.start_byte] = name
            if number and not (scope.is_symbol and scope.kind == "class"):
                continue
            node = match["node"][0]
            if is_name:
                names = [target]
            elif target.kind_id in self._sequences:
                names = [
                    node for node in target.named_children[:_TARGETS] if node.kind_id in self._names
                ]
            else:
                continue
            for one in names:
                name = cut(one.start_byte, one.end_byte)
                self._result.assigned.append(
                    Assigned(
                        name,
                        number,
                        node.start_byte,
                        node.end_byte,
                        annotation,
                        value if is_name else None,
                        value.start_byte if value is not None else -1,
                    )
                )
        for match in self._captures.role("augmented"):
            node = match["target"][0]
            scopes.all[scopes.at(node.start_byte)].names.add(cut(node.start_byte, node.end_byte))

    def _excepts(self) -> None:
        for match in self._captures.role("except"):
            node = match["value"][0]
            children = node.named_children if node.kind_id in self._aliases else []
            chains = self._types(children[0] if children else node)
            if len(children) > 1:
                self._bind_name(children[-1], chains, "", "except")

    def _guards(self) -> None:
        for match in self._captures.role("guard"):
            function = match["function"][0]
            if self._cut(function.start_byte, function.end_byte) not in self._guard_names:
                continue
            target = match["target"][0]
            name = self._chain(target)
            chains = self._types(match["value"][0])
            if chains and name:
                scope = self._scopes.all[self._scopes.at(target.start_byte)].qualified
                self._add(target.start_byte, Binding(name, chains, "", scope, "guard"))

    def _patterns(self) -> None:
        for match in self._captures.role("pattern_type"):
            node = match["type"][0]
            chain = self._cut(node.start_byte, node.end_byte)
            self._result.uses.append((node.start_byte, chain, "guard", chain.isidentifier()))
        for match in self._captures.role("pattern_name"):
            node = match["name"][0]
            start, name = node.start_byte, self._cut(node.start_byte, node.end_byte)
            chains: tuple[str, ...] = ()
            if "value" in match:
                for typed in match["value"][0].named_children[:1]:
                    for types in typed.named_children[:1]:
                        if typed.kind_id in self._class_patterns:
                            chains = (self._cut(types.start_byte, types.end_byte),)
            if not name.isidentifier():
                self._result.uses.append((start, name, "read", False))
            elif name != "_":
                self._named_binding(start, name, chains)

    def _named_binding(self, start: int, name: str, chains: tuple[str, ...]) -> None:
        scope = self._scopes.all[self._scopes.at(start)]
        scope.names.add(name)
        self._add(start, Binding(name, chains, "", scope.qualified, "match"))


def find_flows(
    binder: Binder, bound: Bound, captures: Captures, scopes: Scopes
) -> tuple[tuple[str, Flow], ...]:
    """Per name with something to say: what it returns, holds, or gets as attributes.

    Args:
        binder: reads values.
        bound: what its `read` returned.
        captures: what the query found.
        scopes: the file's functions and classes.

    Returns:
        (qualified name, flow), in source order of first mention; one entry per name.
    """
    returns: dict[int, list[str]] = {}
    for match in captures.role("return"):
        node = match["value"][0]
        _extend(returns, scopes.function_of(scopes.at(node.start_byte)), binder.values(node))
    for match in captures.role("yield"):
        node, value = match["node"][0], match["value"][0]
        values: Iterable[str] = binder.values(value)
        if (node.text or b"")[5:].split(b"#")[0].split()[:1] != [b"from"]:
            values = [f"*{chain}" for chain in values]
        _extend(returns, scopes.function_of(scopes.at(node.start_byte)), values)
    flows: dict[str, Flow] = {}
    values_of: dict[str, list[str]] = {}
    for item in bound.assigned:
        qualified = _qualified(scopes.all[item.scope].qualified, item.name)
        if item.value is not None:
            known = values_of.setdefault(qualified, [])
            known.extend(
                chain
                for chain in binder.values(item.value)
                if chain not in known and len(known) < MOST
            )
    for number, scope in enumerate(scopes.all):
        attributes = tuple(
            (name, tuple(chains), method, annotation)
            for (name, method), (chains, annotation) in bound.attributes.get(number, {}).items()
        )
        if number in returns or attributes:
            old = flows.get(scope.qualified, Flow())
            merged = [*old.returns, *returns.get(number, ())]
            flows[scope.qualified] = Flow(
                old.values,
                tuple(dict.fromkeys(merged))[:MOST],
                old.attributes + attributes,
            )
    for qualified, chains in values_of.items():
        if chains:
            old = flows.get(qualified, Flow())
            flows[qualified] = Flow(tuple(chains), old.returns, old.attributes)
    flows.pop("", None)
    return tuple(flows.items())


def _extend(known: dict[int, list[str]], number: int, chains: Iterable[str]) -> None:
    if not number:
        return
    for chain in chains:
        already = known.setdefault(number, [])
        if chain not in already and len(already) < MOST:
            already.append(chain)


def _qualified(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name


def _start(item: tuple[int, Binding]) -> int:
    return item[0]


def _assigned_start(item: Assigned) -> int:
    return item.start
