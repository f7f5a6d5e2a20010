"""The frozen dataclasses that cross folders: facts, edges, candidates, plans and packs.

Paths are relative to the root, with `/`, in every field named `path`. Lines
count from 1 and include both ends. Spans are byte offsets into the file as
UTF-8 text, end excluded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

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
        returns: of a function: what it returns; `*x` for a `yield` of `x`.
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
        text: the file as text (UTF-8, line feeds, no BOM), "" for binary.
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


# --- candidates, plans and packs ------------------------------------------------------

FormName = Literal["full", "slice", "skeleton", "summary", "name"]
"""How much of a unit is shown, from most to least."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is in or out: data, rendered by whoever shows it.

    Attributes:
        kind: what connects the unit: "entry", "listed", "call", "import", ...
        unit: the unit at the other end, or "".
        anchor: where it says so: (path, "import" or "reference", ordinal). Lines
            are joined to it when the artifact is written, so that code that
            moves changes no plan.
        detail: a number or name that belongs to the kind.
    """

    kind: str
    unit: str = ""
    anchor: tuple[str, str, int] | None = None
    detail: str = ""


DocstringPart = Literal["", "none", "first", "full"]


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung of a candidate's ladder of forms.

    Attributes:
        form: the form.
        docstring: how much of the docstring a symbol's skeleton shows.
        phase: rungs of a lower phase are bought first, see `pack/fit.py`.
        worth: what the unit in this form is worth within its phase, beside others.
        text: the text where the layer supplies it; None where it is made from the
            candidate's path and symbol.
        hollow: of a class with such a text: the text where no member of it is shown; None
            for the same.
    """

    form: FormName
    docstring: DocstringPart = ""
    phase: int = 0
    worth: float = 1.0
    text: str | None = None
    hollow: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit that a layer proposes.

    Attributes:
        unit: `path`, `path::Class.method` or `path#part` for a line about a file.
        section: which part of the layer it is laid out in.
        order: position of the symbol in its file, 0 for files.
        ladder: cheapest rung first; each rung replaces the one before.
        score: 0 to 1, from what the layer's own closure says, two digits.
        names: what a one-liner lists beside the path.
        pinned: never trimmed and never dropped.
        parent: the unit (a class) whose header must stand above this one, or "".
        references: of a slice: ordinals of the references whose statements it shows.
        only_with: units of which one must be shown, or this one is not: what names it;
            () where nothing is needed.
        note: what must be said above it, a mark like "[BY-NAME]", or "".
        language: what its fence says; None for the language of its path.
        lines: first and last line, where the symbol does not say them.
    """

    unit: str
    path: str
    symbol: str
    layer: str
    section: str
    order: int
    ladder: tuple[Rung, ...]
    score: float
    reasons: tuple[Reason, ...]
    names: tuple[str, ...] = ()
    pinned: bool = False
    parent: str = ""
    references: tuple[int, ...] = ()
    only_with: tuple[str, ...] = ()
    note: str = ""
    language: str | None = None
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A unit that a layer itself left out.

    Attributes:
        why: in a word: "below-threshold", "near-duplicate", "cap", "overruled", ...
        detail: a number or unit that belongs to it.
    """

    unit: str
    why: str
    score: float = 0.0
    reasons: tuple[Reason, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a layer proposes for a pack.

    Attributes:
        refused: what it considered and left out.
        record: plain data about its decisions, for the plan; None where there is none.
        most: tokens that it may have in the pack whatever the budget is; None for no such bound.
    """

    candidates: tuple[Candidate, ...] = ()
    open_names: tuple[OpenName, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    record: dict[str, Any] | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A unit in one form, as it stands in a pack. Its tokens are those it adds.

    Attributes:
        lines: first and last line, where the symbol does not say them.
    """

    unit: str
    path: str
    symbol: str
    form: FormName
    layer: str
    section: str
    language: str
    text: str
    tokens: int
    digest: str
    score: float
    reasons: tuple[Reason, ...]
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one candidate.

    Attributes:
        verdict: "kept" in its best form, "trimmed" to a lesser one, or "dropped".
        form: the form it is kept in, None if dropped.
        tokens: tokens it adds to the pack, 0 if dropped.
        costs: (form, tokens) of every rung, cheapest first.
        why: why it is trimmed or dropped: "budget", "layer-budget", "section-share",
            "no-member" (a class header with nothing below it), "not-named" (nothing
            that is shown names it), or the word of a layer's `Refusal`.
        detail: a number or unit that belongs to `why`.
    """

    unit: str
    layer: str
    verdict: Literal["kept", "trimmed", "dropped"]
    form: FormName | None
    tokens: int
    costs: tuple[tuple[FormName, int], ...]
    score: float
    reasons: tuple[Reason, ...]
    why: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class OpenName:
    """A name that the entry uses and nothing explains for certain.

    Attributes:
        status: "unresolved"; "ambiguous": one of several definitions; "by-name": one
            definition in the repository has that name; "dynamic": only a
            `__getattr__` knows.
        count: how many definitions it may be, for "ambiguous"; what objects of Python
            itself have under that name counts as one more.
    """

    path: str
    name: str
    status: Literal["unresolved", "ambiguous", "by-name", "dynamic"]
    count: int = 0
    anchor: tuple[str, str, int] | None = None

    def __str__(self) -> str:
        mark = self.status.upper() + (f" {self.count}" if self.status == "ambiguous" else "")
        return f"{self.name} [{mark}]"


RotKind = Literal["OVERSIZED", "NOISE", "DUPLICATION", "DOMINATION", "STALE", "CONFLICTING"]


@dataclass(frozen=True, slots=True)
class Rot:
    """A sign that the evidence of a pack has gone bad, see `pack/rot.py`.

    Attributes:
        message: one line for people, without the kind.
        units: the evidence it is about; () where it is about the whole pack.
        value: what was measured.
        limit: the threshold that it is beyond.
    """

    kind: RotKind
    message: str
    units: tuple[str, ...] = ()
    value: float = 0.0
    limit: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@dataclass(frozen=True, slots=True)
class Slice:
    """What one layer had of the budget, and where it stands.

    Attributes:
        position: "prefix", "middle", "suffix", or "" for where it is declared.
        priority: from high to low layers are filled, and take what others left unused.
        budget: its slice in tokens; None for whatever there is.
        tokens: tokens of its blocks, headers included, as they were priced.
        pinned: how many of its blocks are pinned.
    """

    layer: str
    position: str
    priority: int
    budget: int | None
    tokens: int
    pinned: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The verdict on every candidate of a target, and what stays open.

    Attributes:
        records: (layer, JSON text) of what layers say about their decisions.
        schedule: a slice per layer in the order in which they are read, where the target
            has priorities, positions or the like.
    """

    target: str
    budget: int
    reserve: int
    tokens: int
    verdicts: tuple[Verdict, ...]
    open_names: tuple[OpenName, ...] = ()
    warnings: tuple[str, ...] = ()
    records: tuple[tuple[str, str], ...] = ()
    schedule: tuple[Slice, ...] = ()


@dataclass(frozen=True, slots=True)
class Pack:
    """The artifact: ordered blocks and their rendering.

    Attributes:
        text: what the model reads, as Markdown.
        digest: `sha256:` of that text.
        tokens: exact count of that text.
        full_tokens: tokens of the full text of every file that a block comes from.
        rot: signs that its evidence has gone bad; also among the warnings.
    """

    target: str
    digest: str
    tokenizer: str
    budget: int
    reserve: int
    tokens: int
    text: str
    blocks: tuple[Block, ...]
    open_names: tuple[OpenName, ...] = ()
    warnings: tuple[str, ...] = ()
    full_tokens: int = 0
    rot: tuple[Rot, ...] = ()
