"""Every reference of a file, resolved: definitions, external names, and what stays open.

What inference does not explain is looked up in the repository-wide symbol table, and
only where it is called: `x.save()` on an unknown `x`. One method of that name is taken
and marked `by-name`, unless objects of Python itself have such an attribute too; several
are ambiguous; none is unresolved, or external if Python's own objects have it. Reads of
unknown attributes are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxbuild.graph.annotations import read
from ctxbuild.graph.infer import Inference
from ctxbuild.graph.knowledge import COMMON, OBJECT_ATTRIBUTES
from ctxbuild.graph.members import Step
from ctxbuild.graph.symbols import Names
from ctxbuild.graph.values import OPEN, Type, Value, steps

if TYPE_CHECKING:
    from ctxbuild.graph.view import View
    from ctxbuild.model import Reference, Symbol

Unit = tuple[str, str]
_OUTER_KINDS = ("base", "decorator", "annotation")


@dataclass(frozen=True, slots=True)
class Use:
    """A definition that the file uses, also one of the file itself.

    Attributes:
        path, name: the unit; a module as such has the name "".
        kinds: how it is used, sorted: kinds of references; `import` for a mere import;
            `part` for what a longer chain passes through; `override` for the method of a
            base that a class of the file overrides (the reference is that to its first base).
        references: ordinals in `View.references`. imports: ordinals in `View.imports`.
        certain: False if only its name speaks for it.
    """

    path: str
    name: str
    kinds: tuple[str, ...]
    references: tuple[int, ...] = ()
    imports: tuple[int, ...] = ()
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Open:
    """A name that stays open.

    Attributes:
        name: the attribute that is called, or the dotted name of an import.
        candidates: units of that name, sorted; empty if unresolved.
        references, imports: ordinals of where it stands.
        common: whether objects of Python itself have an attribute of that name, so that
            likely none of the candidates is meant.
    """

    name: str
    candidates: tuple[Unit, ...] = ()
    references: tuple[int, ...] = ()
    imports: tuple[int, ...] = ()
    common: bool = False


@dataclass(frozen=True, slots=True)
class Uses:
    """What a file, or some symbols of it, use.

    Attributes:
        used: sorted by path and name. external: sorted dotted names.
        unresolved, ambiguous: sorted by name.
        dynamic: names that only a module's or a class's `__getattr__` knows, sorted.
    """

    used: tuple[Use, ...] = ()
    external: tuple[str, ...] = ()
    unresolved: tuple[Open, ...] = ()
    ambiguous: tuple[Open, ...] = ()
    dynamic: tuple[str, ...] = ()


@dataclass(slots=True)
class _Noted:
    kinds: set[str] = field(default_factory=set)
    references: list[int] = field(default_factory=list)
    imports: list[int] = field(default_factory=list)
    certain: bool = False


def uses(view: View, path: str, focus: tuple[str, ...] = ()) -> Uses:
    """Resolve the references of a file.

    Args:
        view: the repository.
        path: the file.
        focus: qualified names; if given, only what stands inside them counts.

    Returns:
        All that they use, and all that stays open.
    """
    collector = _Collector(view, path)
    if not focus:
        collector.imports()
    collector.overrides(focus)
    for ordinal, reference in enumerate(view.references(path)):
        if not focus or any(_inside(reference.scope, each) for each in focus):
            collector.reference(ordinal, reference)
    return collector.result()


def types_in(view: View, path: str, symbol: Symbol) -> tuple[Unit, ...]:
    """The repository's definitions that a signature names.

    Args:
        view: the repository.
        path: the file that defines the symbol.
        symbol: its annotations, bases and decorators are read.

    Returns:
        (path, qualified name) in the order of the signature, without the symbol itself.
    """
    names = Names(view)
    sources = [each.lstrip("@").partition("(")[0] for each in symbol.decorators]
    sources += [param.annotation for param in symbol.params]
    sources += [symbol.returns, *symbol.bases]
    scope = symbol.name.rpartition(".")[0]
    found: dict[Unit, None] = {}
    for source in sources:
        for dotted in read(source).names() if source else ():
            for each in names.find(path, dotted, scope):
                if each.status == "symbol":
                    found[each.path, each.name] = None
    found.pop((path, symbol.name), None)
    return tuple(found)


class _Collector:
    def __init__(self, view: View, path: str) -> None:
        self._view = view
        self._path = path
        self._inference = Inference(view, path)
        self._used: dict[Unit, _Noted] = {}
        self._external: set[str] = set()
        self._dynamic: set[str] = set()
        self._candidates: dict[str, tuple[Unit, ...]] = {}
        self._open: dict[str, _Noted] = {}
        self._missing: dict[str, _Noted] = {}

    def imports(self) -> None:
        """What is imported counts as used, called or not."""
        names = self._inference.names
        for ordinal, item in enumerate(self._view.imports(self._path)):
            if item.name == "*":
                continue
            dotted = "." * item.level + ".".join(filter(None, (item.module, item.name)))
            targets = names.imported(self._path, ordinal)
            for unit in self._inference.step(targets).defs:
                noted = self._used.setdefault(unit, _Noted())
                noted.kinds.add("import")
                noted.imports.append(ordinal)
                noted.certain = True
            for each in targets:
                if each.status == "external":
                    self._external.add(each.name)
                elif each.status == "dynamic":
                    self._dynamic.add(dotted)
                elif each.status == "unresolved":
                    self._missing.setdefault(dotted, _Noted()).imports.append(ordinal)

    def overrides(self, focus: tuple[str, ...]) -> None:
        """The nearest methods of bases that classes of the file override."""
        names = self._inference.names
        bases: dict[str, int] = {}
        for ordinal, reference in enumerate(self._view.references(self._path)):
            if reference.kind == "base":
                bases.setdefault(reference.scope, ordinal)
        for name, kind in self._view.outline(self._path).symbols:
            owner, _, method = name.rpartition(".")
            if kind not in ("method", "property") or owner not in bases:
                continue
            if focus and not any(_inside(name, each) for each in focus):
                continue
            for path, base in names.line(self._path, owner)[1:]:
                if path and names.symbol(path, f"{base}.{method}"):
                    noted = self._used.setdefault((path, f"{base}.{method}"), _Noted())
                    noted.kinds.add("override")
                    noted.references.append(bases[owner])
                    noted.certain = True
                    break

    def reference(self, ordinal: int, reference: Reference) -> None:
        """Walk one chain and note what each part of it uses."""
        scope = reference.scope
        first, *rest = steps(reference.chain)
        inference = self._inference
        inference.begin()
        if reference.kind in _OUTER_KINDS:
            step = inference.head(self._path, scope.rpartition(".")[0], first)
            if step.outcome == "open":
                step = inference.head(self._path, scope, first)
        else:
            step = inference.head(self._path, scope, first)
        if step.outcome == "external" and first != '"':
            self._external.update(each.name for each in step.value if "." in each.name)
        called = bool(rest) and rest[0] == "()"
        self._note(step, ordinal, reference, not rest or (called and len(rest) == 1))
        value = step.value
        prefix = first
        for position, part in enumerate(rest):
            before = value
            step = inference.advance(value, part)
            value = step.value
            if part in ("()", "[]"):
                prefix = ""
                continue
            called = rest[position + 1 : position + 2] == ["()"]
            if step.outcome == "open" and called:
                step = self._by_name(part, before, ordinal, reference)
                value = step.value
            elif step.outcome == "dynamic":
                self._dynamic.add(part)
            else:
                at_end = position + 1 + called == len(rest)
                self._note(step, ordinal, reference, at_end)
            prefix = prefix and f"{prefix}.{part}"
            if prefix:
                value = inference.guarded(self._path, scope, prefix, value)

    def result(self) -> Uses:
        """All that was noted, sorted."""
        used = [
            Use(
                path,
                name,
                tuple(sorted(noted.kinds)),
                tuple(dict.fromkeys(noted.references)),
                tuple(dict.fromkeys(noted.imports)),
                noted.certain,
            )
            for (path, name), noted in self._used.items()
        ]
        ambiguous: list[Open] = []
        unresolved: list[Open] = []
        for name, noted in self._open.items():
            candidates, common = self._candidates[name], name in COMMON
            item = Open(name, candidates, tuple(dict.fromkeys(noted.references)), (), common)
            if candidates:
                ambiguous.append(item)
            elif not common:
                unresolved.append(item)
        for name, noted in self._missing.items():
            unresolved.append(
                Open(name, (), tuple(dict.fromkeys(noted.references)), tuple(noted.imports))
            )
        return Uses(
            tuple(sorted(used, key=_by_unit)),
            tuple(sorted(self._external)),
            tuple(sorted(unresolved, key=_by_open)),
            tuple(sorted(ambiguous, key=_by_open)),
            tuple(sorted(self._dynamic)),
        )

    def _note(self, step: Step, ordinal: int, reference: Reference, at_end: bool) -> None:
        for unit in step.defs:
            noted = self._used.setdefault(unit, _Noted())
            noted.kinds.add(reference.kind if at_end else "part")
            noted.references.append(ordinal)
            noted.certain = True

    def _by_name(self, name: str, receiver: Value, ordinal: int, reference: Reference) -> Step:
        nothing = Step((), OPEN, "open")
        modules = [each for each in receiver if each.kind == "module"]
        if modules:
            dotted = f"{modules[0].path}::{name}"
            self._missing.setdefault(dotted, _Noted()).references.append(ordinal)
            return nothing
        if name in OBJECT_ATTRIBUTES or not name.isidentifier():
            return nothing
        if name not in self._candidates:
            found = self._view.definers(name)
            self._candidates[name] = tuple(each for each in found if "." in each[1])
        candidates = self._candidates[name]
        if len(candidates) == 1 and name not in COMMON:
            path, qualified = unit = candidates[0]
            kinds = [each.kind for each in self._inference.names.symbol(path, qualified)]
            if kinds and kinds[0] == "method":
                noted = self._used.setdefault(unit, _Noted())
                noted.kinds.add(reference.kind)
                noted.references.append(ordinal)
                owner = Type("instance", path, qualified.rpartition(".")[0])
                return self._inference.attribute((owner,), name)
        self._open.setdefault(name, _Noted()).references.append(ordinal)
        return nothing


def _inside(scope: str, name: str) -> bool:
    return scope == name or scope.startswith(f"{name}.")


def _by_unit(use: Use) -> Unit:
    return use.path, use.name


def _by_open(item: Open) -> tuple[str, tuple[Unit, ...]]:
    return item.name, item.candidates
