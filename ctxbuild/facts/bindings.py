"""What names are bound to: assignments, loops, `with`, parameters, guards and patterns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ctxbuild.facts.values import MOST, STEPS
from ctxbuild.model import Binding

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from ctxbuild.facts.capture import Captures, Match, Source
    from ctxbuild.facts.chains import Use
    from ctxbuild.facts.languages import Grammar
    from ctxbuild.facts.scopes import Scope, Scopes
    from ctxbuild.facts.values import Values

Kind = Literal["assign", "with", "for", "guard", "param", "except", "match"]

_TARGETS = 50  # names of one tuple of targets that become symbols
_ROLES: tuple[tuple[str, Kind, str], ...] = (
    ("walrus", "assign", ""),
    ("with", "with", ""),
    ("for", "for", "[]"),
)


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
        uses: what patterns use: their names are no expressions.
    """

    bindings: list[tuple[int, Binding]] = field(default_factory=list)
    assigned: list[Assigned] = field(default_factory=list)
    attributes: dict[int, dict[tuple[str, str], tuple[list[str], str]]] = field(
        default_factory=dict
    )
    named: dict[int, str] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)


class Binder:
    """Reads the binding statements of one file.

    Args:
        captures: what the query found.
        source: the file's text.
        scopes: its functions and classes; they learn the names bound in them.
        values: reads values off nodes.
        grammar: which node kinds are names, tuples, and so on.
    """

    def __init__(
        self, captures: Captures, source: Source, scopes: Scopes, values: Values, grammar: Grammar
    ) -> None:
        self._captures = captures
        self._cut: Callable[[int, int], str] = source.cutter()
        self._scopes = scopes
        self._values = values
        kinds = grammar.kinds
        none: frozenset[int] = frozenset()
        self._names = kinds.get("name", none)
        self._sequences = kinds.get("sequence", none)
        self._splats = kinds.get("splat", none)
        self._aliases = kinds.get("alias", none)
        self._class_patterns = kinds.get("class_pattern", none)
        self._wrappers = kinds.get("transparent_target", none)
        self._guard_names = grammar.language.words("names", "guards")
        self._globals: set[tuple[int, str]] = set()
        self._result = Bound()

    def read(self) -> Bound:
        """All bindings, in source order."""
        self._globals = self._outer_names("global")
        self._parameters()
        for match in self._captures.role("assignment"):
            self._assignment(match)
        for role, kind, suffix in _ROLES:
            for match in self._captures.role(role):
                target = match["target" if "target" in match else "part"][0]
                self._bind(target, match["value"][0], suffix, "", kind)
        self._excepts()
        self._guards()
        self._patterns()
        for match in self._captures.role("augmented"):
            node = match["target"][0]
            scope = self._scopes.all[self._scopes.at(node.start_byte)]
            scope.names.add(self._cut(node.start_byte, node.end_byte))
        for number, name in self._globals | self._outer_names("outer"):
            self._scopes.all[number].names.discard(name)
        self._result.bindings.sort(key=_start)
        self._result.assigned.sort(key=_assigned_start)
        return self._result

    # --- targets ---

    def _bind(
        self, target: Node, value: Node | None, suffix: str, annotation: str, kind: Kind
    ) -> None:
        """Bind a target, or each name of a tuple of targets, to a value."""
        if suffix or target.kind_id in self._names or value is None:
            chains = () if value is None else self._values.of(value)
            if suffix:
                chains = tuple(chain + suffix for chain in chains)
            self._bind_chains(target, chains, annotation, kind)
            return
        pairs = [(target, value)]
        for _step in range(STEPS):
            if not pairs:
                break
            target, value = pairs.pop()
            inner = self._pairs(target, value)
            if inner:
                pairs.extend(reversed(inner))
            else:
                self._bind_chains(target, self._values.of(value), annotation, kind)

    def _pairs(self, target: Node, value: Node) -> list[tuple[Node, Node]]:
        """Targets with their values where both are tuples of one length, else nothing."""
        sequences = self._sequences
        if target.kind_id not in sequences or value.kind_id not in sequences:
            return []
        targets, values = target.named_children, value.named_children
        if len(targets) != len(values) or len(targets) > STEPS:
            return []
        if any(node.kind_id in self._splats for node in (*targets, *values)):
            return []
        return list(zip(targets, values, strict=True))

    def _bind_chains(
        self, target: Node, chains: tuple[str, ...], annotation: str, kind: Kind
    ) -> None:
        """Bind a target, or each name of a tuple of targets to an item, to chains."""
        if target.kind_id in self._names:  # nearly always
            self._bind_name(target, chains, annotation, kind)
            return
        stack = [(target, chains)]
        for _step in range(STEPS):
            if not stack:
                break
            target, chains = stack.pop()
            if target.kind_id in self._wrappers or target.kind_id in self._splats:
                stack.extend((child, chains) for child in target.named_children[:1])
            elif target.kind_id in self._sequences:
                items = tuple(chain + "[]" for chain in chains)
                for child in reversed(target.named_children[:STEPS]):
                    is_rest = child.kind_id in self._splats
                    stack.append((child, chains if is_rest else items))
            elif target.kind_id in self._names:
                self._bind_name(target, chains, annotation, kind)
            else:
                self._bind_attribute(target, chains, annotation, kind)

    def _bind_name(
        self, target: Node, chains: tuple[str, ...], annotation: str, kind: Kind
    ) -> None:
        start = target.start_byte
        self._bind_text(start, self._cut(start, target.end_byte), chains, annotation, kind)

    def _bind_text(
        self, start: int, name: str, chains: tuple[str, ...], annotation: str, kind: Kind
    ) -> None:
        number = self._scopes.at(start)
        scope = self._scopes.all[number]
        scope.names.add(name)
        qualified = scope.qualified
        if self._globals and (number, name) in self._globals:
            qualified = ""
        binding = Binding(name, chains, annotation, qualified, kind)
        self._result.bindings.append((start, binding))

    def _bind_attribute(
        self, target: Node, chains: tuple[str, ...], annotation: str, kind: Kind
    ) -> None:
        """Bind `self.name` in a method; other targets bind nothing."""
        root, _dot, attribute = self._values.chain(target).partition(".")
        if not attribute.isidentifier():
            return
        start = target.start_byte
        number = self._scopes.at(start)
        method = self._method(number, root)
        if method is None:
            return
        scope = self._scopes.all[number].qualified
        binding = Binding(f"self.{attribute}", chains, annotation, scope, kind)
        self._result.bindings.append((start, binding))
        attributes = self._result.attributes.setdefault(method.parent, {})
        key = (attribute, method.qualified)
        known, noted = attributes.get(key, ([], ""))
        known.extend(chain for chain in chains if chain not in known and len(known) < MOST)
        attributes[key] = (known, noted or annotation)

    def _method(self, number: int, root: str) -> Scope | None:
        """The method around a scope whose first parameter is `root`."""
        scopes = self._scopes.all
        while number:
            scope = scopes[number]
            if scope.kind == "function" and scopes[scope.parent].kind == "class":
                return scope if scope.params and scope.params[0].name == root else None
            number = scope.parent
        return None

    # --- statements ---

    def _outer_names(self, role: str) -> set[tuple[int, str]]:
        """Names that are said to be those of an outer scope, with the scope that says so."""
        return {
            (self._scopes.at(node.start_byte), self._cut(node.start_byte, node.end_byte))
            for match in self._captures.role(role)
            for node in match["part"]
        }

    def _parameters(self) -> None:
        add = self._result.bindings.append
        for scope in self._scopes.all:
            for param in scope.params:
                name = param.name.lstrip("*")
                scope.names.add(name)
                if param.annotation or param.default or not scope.is_symbol:
                    binding = Binding(name, (), param.annotation, scope.qualified, "param")
                    add((scope.parameters[0], binding))
        for match in self._captures.role("local"):
            for nodes in match.values():
                for node in nodes:
                    self._bind_chains(node, (), "", "param")

    def _assignment(self, match: Match) -> None:
        target = match["part"][0]
        value = match["value"][0] if "value" in match else None
        annotation = ""
        if "annotation" in match:
            note = match["annotation"][0]
            annotation = self._cut(note.start_byte, note.end_byte)
        self._bind(target, value, "", annotation, "assign")
        number = self._scopes.at(target.start_byte)
        scope = self._scopes.all[number]
        is_name = target.kind_id in self._names
        if is_name and value is not None:
            name = self._cut(target.start_byte, target.end_byte)
            self._result.named[value.start_byte] = name
        if number and not (scope.is_symbol and scope.kind == "class"):
            return
        node = match["node"][0]
        names = [target]
        if not is_name:
            inside = target.named_children[:_TARGETS] if target.kind_id in self._sequences else ()
            names = [child for child in inside if child.kind_id in self._names]
        for one in names:
            self._result.assigned.append(
                Assigned(
                    self._cut(one.start_byte, one.end_byte),
                    number,
                    node.start_byte,
                    node.end_byte,
                    annotation,
                    value if is_name else None,
                    value.start_byte if value is not None else -1,
                )
            )

    def _excepts(self) -> None:
        for match in self._captures.role("except"):
            node = match["value"][0]
            children = node.named_children if node.kind_id in self._aliases else []
            chains = self._values.types(children[0] if children else node)
            if len(children) > 1:
                self._bind_chains(children[-1], chains, "", "except")

    def _guards(self) -> None:
        for match in self._captures.role("guard"):
            function = match["function"][0]
            if self._cut(function.start_byte, function.end_byte) not in self._guard_names:
                continue
            target = match["target"][0]
            name = self._values.chain(target)
            chains = self._values.types(match["value"][0])
            if chains and name:
                scope = self._scopes.all[self._scopes.at(target.start_byte)].qualified
                binding = Binding(name, chains, "", scope, "guard")
                self._result.bindings.append((target.start_byte, binding))

    def _patterns(self) -> None:
        for match in self._captures.role("pattern_type"):
            node = match["type"][0]
            chain = self._cut(node.start_byte, node.end_byte)
            self._result.uses.append((node.start_byte, chain, "guard", chain.isidentifier()))
        for match in self._captures.role("pattern_name"):
            node = match["name"][0]
            start, name = node.start_byte, self._cut(node.start_byte, node.end_byte)
            if not name.isidentifier():
                self._result.uses.append((start, name, "read", False))
            elif name != "_":
                self._bind_text(start, name, self._pattern_types(match), "", "match")

    def _pattern_types(self, match: Match) -> tuple[str, ...]:
        """The class of the pattern that a name stands for as a whole, if it has one."""
        for pattern in match.get("value", ()):
            for typed in pattern.named_children[:1]:
                if typed.kind_id in self._class_patterns:
                    node = typed.named_children[0]
                    return (self._cut(node.start_byte, node.end_byte),)
        return ()


def _start(item: tuple[int, Binding]) -> int:
    return item[0]


def _assigned_start(item: Assigned) -> int:
    return item.start
