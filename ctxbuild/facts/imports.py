"""Imports: what each name comes from, under which condition it stands, and computed ones."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, TypeAlias

from ctxbuild.model import Import, ImportKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from ctxbuild.facts.capture import Captures, Source
    from ctxbuild.facts.chains import Chains
    from ctxbuild.facts.languages import Language
    from ctxbuild.facts.scopes import Scopes

Region = tuple[int, int, ImportKind]
Cut: TypeAlias = "Callable[[int, int], str]"

_WORD = re.compile(r"\w+")
_SPACE = re.compile(r"\s+|\\\n")
_LITERAL_CALL = re.compile(
    r"""\(\s*(?:name\s*=\s*)?(["'])(\.*)([\w.]*)\1\s*"""
    r"""(?:,\s*(?:package\s*=\s*)?(?:(["'])([\w.]+)\4|(__package__|__name__))\s*)?,?\s*\)\Z"""
)
_CLIP = 200  # bytes of a condition that are looked at
_LONGEST_CALL = 400  # characters of the arguments of an importing call
_FUTURE = "__future__"


def find_imports(
    captures: Captures,
    source: Source,
    scopes: Scopes,
    chains: Chains,
    named: dict[int, str],
    language: Language,
) -> tuple[list[tuple[int, Import]], set[str]]:
    """All imports with their byte offsets, and what makes the file dynamic.

    Args:
        captures: what the query found.
        source: the file's text.
        scopes: its functions and classes.
        chains: its chains; calls that import are among them.
        named: by start of a value: the name it is assigned to.
        language: the words for conditions and dynamic calls.

    Returns:
        (start byte, import) in source order; names of dynamic constructs.
    """
    cut = source.cutter()
    matches = sorted(captures.role("import"), key=_position)
    starts = [_position(match) for match in matches]
    conditions = _Conditions(_regions(captures, cut, language, starts) if matches else [])
    found: list[tuple[int, Import]] = []
    for match in matches:
        module_node = match["module"][0] if "module" in match else None
        name_node = match["name"][0] if "name" in match else None
        at = name_node if name_node is not None else module_node
        if at is None:
            continue
        level, module = _module(module_node, cut)
        name = _joined(name_node, cut) if name_node is not None else None
        alias = _joined(match["alias"][0], cut) if "alias" in match else None
        if alias is None:
            alias = name if name is not None else module.partition(".")[0]
        start = at.start_byte
        number = scopes.function_of(scopes.at(start))
        kind = conditions.kind(start, bool(number))
        scope = scopes.all[number].qualified
        found.append((start, Import(module, name, alias, level, kind, scope)))
    dynamic = _dynamic(found, source, scopes, chains, named, language)
    found.sort(key=_start)
    return found, dynamic


def _position(match: dict[str, list[Node]]) -> int:
    return (match["name"] if "name" in match else match["module"])[0].start_byte


def _start(item: tuple[int, Import]) -> int:
    return item[0]


def _module(node: Node | None, cut: Cut) -> tuple[int, str]:
    """How many dots a module's name begins with, and the name without them."""
    if node is None:
        return 0, _FUTURE
    text = _joined(node, cut)
    name = text.lstrip(".")
    return len(text) - len(name), name


def _joined(node: Node, cut: Cut) -> str:
    text = cut(node.start_byte, node.end_byte)
    return text if text.isidentifier() else _SPACE.sub("", text)


def _regions(captures: Captures, cut: Cut, language: Language, starts: list[int]) -> list[Region]:
    """Where the kind of an import is not "top", as byte ranges that hold imports."""
    checking = language.words("imports", "type_checking")
    fallback = language.words("imports", "fallback")
    regions: list[Region] = []
    for match in captures.role("condition"):
        start, end = _holds_any(match["node"][0], starts)
        if end < 0:
            continue
        regions.append((start, end, "conditional"))
        words = _words(match["condition"][0], cut)
        if not checking.isdisjoint(words):
            then = match["then"][0]
            inside = (then.end_byte, end) if "not" in words else (then.start_byte, then.end_byte)
            regions.append((*inside, "type-checking"))
    for match in captures.role("fallback"):
        start, end = _holds_any(match["node"][0], starts)
        if end >= 0 and not fallback.isdisjoint(_words(match["condition"][0], cut)):
            regions.append((start, end, "fallback"))
    regions.sort()
    return regions


def _holds_any(node: Node, starts: list[int]) -> tuple[int, int]:
    """Where a node stands, or an end of -1 if no import stands in it."""
    start, end = node.start_byte, node.end_byte
    place = bisect_left(starts, start)
    return (start, end) if place < len(starts) and starts[place] < end else (start, -1)


def _words(node: Node, cut: Cut) -> list[str]:
    return _WORD.findall(cut(node.start_byte, min(node.end_byte, node.start_byte + _CLIP)))


class _Conditions:
    """The regions around an offset; offsets are asked for in rising order."""

    def __init__(self, regions: list[Region]) -> None:
        self._left = regions[::-1]
        self._open: list[Region] = []

    def kind(self, start: int, in_function: bool) -> ImportKind:
        """Of all conditions an import stands under, the one that says most."""
        while self._left and self._left[-1][0] <= start:
            self._open.append(self._left.pop())
        self._open = [region for region in self._open if region[1] > start]
        kinds = {kind for _first, _end, kind in self._open}
        if "type-checking" in kinds:
            return "type-checking"
        if in_function:
            return "lazy"
        if "fallback" in kinds:
            return "fallback"
        return "conditional" if "conditional" in kinds else "top"


def _dynamic(
    found: list[tuple[int, Import]],
    source: Source,
    scopes: Scopes,
    chains: Chains,
    named: dict[int, str],
    language: Language,
) -> set[str]:
    """Add imports by call with a literal name; return what stays dynamic."""
    importing = language.words("dynamic", "imports")
    functions = language.words("dynamic", "module_functions")
    callees = _callees(found, scopes, language)
    dynamic = {
        scope.name
        for scope in scopes.all
        if scope.depth == 1 and scope.kind == "function" and scope.name in functions
    }
    cut = source.cutter()
    calls = [*chains.calls, *_calls_by_alias(chains, callees, importing)]
    for chain, start, callee_end, end in calls:
        name = callees.get(chain)
        if name is None:
            continue
        item: Import | None = None
        if name in importing and end - callee_end <= _LONGEST_CALL:
            scope = scopes.all[scopes.function_of(scopes.at(start))].qualified
            item = _literal_import(cut(callee_end, end), named.get(start, ""), scope)
        if item is None:
            dynamic.add(name)
        else:
            found.append((start, item))
    return dynamic


def _calls_by_alias(
    chains: Chains, callees: dict[str, str], importing: frozenset[str]
) -> list[tuple[str, int, int, int]]:
    """Calls of importing functions by other names, as in `Chains.calls`."""
    aliases = {alias for alias, name in callees.items() if name in importing and alias != name}
    aliases = {alias for alias in aliases if "." not in alias}
    if not aliases:
        return []
    found = []
    for start, (end, chain) in chains.at.items():
        name, opening, rest = chain.partition("()")
        if opening and name in aliases:
            callee_end = start + len(name.encode())
            found.append((name, start, callee_end, callee_end if rest else end))
    return found


def _callees(found: list[tuple[int, Import]], scopes: Scopes, language: Language) -> dict[str, str]:
    """By chain: the builtin, or the importing function, that it calls in this file."""
    always = language.words("dynamic", "always")
    importing = language.words("dynamic", "imports")
    module = str(language.table.get("dynamic", {}).get("import_module", ""))
    builtins = str(language.table.get("dynamic", {}).get("builtins", ""))
    owned = {scope.name for scope in scopes.all if scope.depth == 1}
    owned.update(item.alias for _at, item in found if item.module not in (module, builtins))
    callees = {name: name for name in always | importing if name not in owned}
    callees.update({f"{builtins}.{name}": name for name in always | importing})
    callees.update({f"{module}.{name}": name for name in importing})
    for _at, item in found:
        if item.module == module and item.name in importing:
            callees[item.alias] = str(item.name)
        elif item.module == module and item.name is None:
            callees.update({f"{item.alias}.{name}": name for name in importing})
    return callees


def _literal_import(arguments: str, alias: str, scope: str) -> Import | None:
    """The import that a call with literal arguments makes, or None."""
    match = _LITERAL_CALL.match(arguments)
    if match is None or not match[3]:
        return None
    level, module, package = len(match[2]), match[3], match[5]
    if level and package:
        parents = package.split(".")
        if level > len(parents):
            return None
        module = ".".join([*parents[: len(parents) - level + 1], module])
        level = 0
    return Import(module, None, alias, level, "dynamic", scope)
