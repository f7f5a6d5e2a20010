"""The frozen dataclasses that cross folders: facts, edges, candidates, plans and packs.

Paths are relative to the root, with `/`, in every field named `path`. Lines
count from 1 and include both ends. Spans are byte offsets into the file as
UTF-8 text, end excluded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

# --- facts: what one file's bytes say -------------------------------------------------

SymbolKind = Literal["class", "function", "method", "property", "constant", "variable", "attribute"]
ImportKind = Literal["top", "lazy", "type-checking", "conditional", "fallback", "dynamic"]


@dataclass(frozen=True, slots=True)
class Import:
    """One name that an import statement binds.

    `import a.b as c` is `Import("a.b", None, "c")`, `from .m import x` is
    `Import("m", "x", "x", level=1)`, `from m import *` has the name `*`.
    `import a.b` binds `a`: its alias is `a`.
    """

    module: str
    name: str | None
    alias: str
    level: int = 0
    kind: ImportKind = "top"
    scope: str = ""  # qualified name of the function it stands in, "" for the module


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: `name` with its stars, the annotation's source, whether it has a default."""

    name: str
    annotation: str = ""
    default: bool = False


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition, without its body and without its place: code that moves leaves it equal.

    Attributes:
        name: qualified name inside the file, `Class.method`.
        signature: decorators and header with all their lines, dedented; for
            constants, variables and attributes the statement (long values as `...`).
        docstring: the docstring literal's source, dedented, or "".
        bases: source of the base class expressions, keyword arguments left out.
        returns: source of the return annotation; of a variable, its annotation.
    """

    name: str
    kind: SymbolKind
    signature: str
    docstring: str = ""
    decorators: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    params: tuple[Param, ...] = ()
    returns: str = ""


@dataclass(frozen=True, slots=True)
class Flow:
    """What a body says about types, as chains (see `Reference.chain`).

    Attributes:
        values: of a variable or attribute: what is assigned to it.
        returns: of a function: what it returns; yields end in `[]`-able chains.
        attributes: of a class: (name, chains assigned to `self.name` in any method,
            the method it stands in, the annotation's source or "").
    """

    values: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    attributes: tuple[tuple[str, tuple[str, ...], str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A maximal use of a name: `self.db.connect().cursor` is one reference.

    Attributes:
        chain: the name, then `.attr`, `()` for a call, `[]` for a subscript.
            A string literal is `"`, other literals and anything else `?`; so
            `"a".join(x)` has the chain `".join()`. `super().f()` keeps `super()`.
        scope: qualified name of the innermost function or class it stands in.
        kind: how the whole chain is used.
    """

    chain: str
    scope: str = ""
    kind: Literal["call", "read", "base", "decorator", "annotation", "guard", "write"] = "read"


@dataclass(frozen=True, slots=True)
class Binding:
    """A local name gets a value or a type.

    Attributes:
        target: the bound name, or `self.attr`.
        chains: what it may be, as chains; for a loop the iterated chain + `[]`.
        annotation: source of the annotation, or "".
        kind: how it is bound.
    """

    target: str
    chains: tuple[str, ...] = ()
    annotation: str = ""
    scope: str = ""
    kind: Literal["assign", "with", "for", "guard", "param", "except", "match"] = "assign"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a file; it never stops the build."""

    kind: str  # "syntax", "encoding", "binary", "too-large", "too-deep", "timeout", "dynamic"
    message: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The names of a file in source order: what a one-liner shows and a look-up needs.

    Attributes:
        symbols: (qualified name, kind) in source order; overloads repeat.
        exported: `__all__` where it is a literal, else None.
        summary: first sentence of the module docstring, or "".
        dynamic: what makes the file dynamic: ("eval", "exec", "__import__",
            "import_module", "__getattr__"), sorted.
    """

    language: str
    symbols: tuple[tuple[str, SymbolKind], ...] = ()
    exported: tuple[str, ...] | None = None
    summary: str = ""
    dynamic: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lines:
    """Where things stand: kept apart, so that code that moves changes nothing else.

    Attributes:
        symbols: per entry of `Outline.symbols`: (first line, last line, first byte, end byte).
        imports: per import: its line. references: per reference: its line.
    """

    symbols: tuple[tuple[int, int, int, int], ...] = ()
    imports: tuple[int, ...] = ()
    references: tuple[int, ...] = ()
    total: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts of one file. The engine stores each field as a facet of its own.

    Attributes:
        text: the file as text (UTF-8, `\n` line ends, no BOM), "" for binary.
        skeleton: the whole file without bodies.
        bodies: per entry of `Outline.symbols`: its whole source text, dedented.
        definitions: per entry of `Outline.symbols`: the symbol.
        flows: (qualified name, flow) for names with something to say.
    """

    outline: Outline
    imports: tuple[Import, ...] = ()
    definitions: tuple[Symbol, ...] = ()
    flows: tuple[tuple[str, Flow], ...] = ()
    references: tuple[Reference, ...] = ()
    bindings: tuple[Binding, ...] = ()
    bodies: tuple[str, ...] = ()
    skeleton: str = ""
    text: str = ""
    lines: Lines = field(default_factory=Lines)
    problems: tuple[Problem, ...] = ()
