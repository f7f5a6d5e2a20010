"""The registry of languages: one `.toml` and one `.scm` each, found by file ending.

The `.toml` names the grammar's package, the file endings and what a query cannot
say; the `.scm` holds the tree-sitter patterns. Reading the registry imports
neither tree-sitter nor a grammar: `grammar` does, once per language.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tree_sitter

_FOLDER = Path(__file__).parent / "languages"
_TEXT_VERSION = "text-1"

# What a node captured as @part does in a chain: the low bits of `Captures.parts`.
PARTS = {
    "name": 0,
    "text": 1,
    "group": 2,
    "member": 3,
    "call": 4,
    "index": 5,
    "annotation": 6,
    "dotted": 7,
    "skip": 8,
    "target": 9,
    "decorator": 10,
    "base": 11,
}


@dataclass(frozen=True, slots=True)
class Language:
    """One language as its two files describe it.

    Attributes:
        table: the content of the `.toml`.
        query: the text of the `.scm`.
    """

    name: str
    endings: tuple[str, ...]
    package: str
    table: dict[str, Any]
    query: str
    digest: str

    def words(self, section: str, key: str) -> frozenset[str]:
        """The strings of a list in the `.toml`, empty where it has none."""
        return frozenset(self.table.get(section, {}).get(key, ()))


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language, loaded.

    Attributes:
        parts: per pattern of the query: the code of its part, or None.
        roles: per pattern of the query: the name of its role, or None.
        values: per node kind that passes values on: the named children with the values.
        kinds: per group of the table's `nodes`: the ids of its node kinds.
    """

    language: Language
    parser: tree_sitter.Language
    query: tree_sitter.Query
    parts: tuple[int | None, ...]
    roles: tuple[str | None, ...]
    values: dict[int, tuple[int, ...]]
    kinds: dict[str, frozenset[int]]


@cache
def _registry() -> dict[str, Language]:
    found = {}
    for path in sorted(_FOLDER.glob("*.toml")):
        table_text = path.read_bytes()
        query_text = path.with_suffix(".scm").read_bytes()
        table = tomllib.loads(table_text.decode())
        found[table["name"]] = Language(
            name=table["name"],
            endings=tuple(table["endings"]),
            package=table["package"],
            table=table,
            query=query_text.decode(),
            digest=hashlib.sha256(table_text + b"\0" + query_text).hexdigest()[:16],
        )
    return found


@cache
def _endings() -> dict[str, str]:
    return {ending: name for name, item in _registry().items() for ending in item.endings}


def language_of(path: str) -> str | None:
    """The language of a file by the ending of its name, or None."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return _endings().get(name[dot:].lower()) if dot >= 0 else None


@cache
def version(language: str | None) -> str:
    """Versions of the parser and the grammar, and a digest of the query files."""
    if language is None or language not in _registry():
        return _TEXT_VERSION
    from importlib.metadata import version as installed

    item = _registry()[language]
    package = item.package.replace("_", "-")
    return f"tree-sitter {installed('tree-sitter')}, {package} {installed(package)}, {item.digest}"


@cache
def grammar(name: str) -> Grammar | None:
    """A language's grammar with its compiled query, or None for a name without one."""
    language = _registry().get(name)
    if language is None:
        return None
    import importlib

    import tree_sitter

    package = importlib.import_module(language.package)
    parser = tree_sitter.Language(getattr(package, language.table.get("function", "language"))())
    query = tree_sitter.Query(parser, language.query)
    settings = [query.pattern_settings(index) for index in range(query.pattern_count)]
    parts = [item.get("part") for item in settings]

    def ids(kinds: list[str] | str) -> frozenset[int]:
        names = [kinds] if isinstance(kinds, str) else kinds
        return frozenset(parser.id_for_node_kind(kind, True) or 0 for kind in names)

    return Grammar(
        language=language,
        parser=parser,
        query=query,
        parts=tuple(None if part is None else PARTS[part] for part in parts),
        roles=tuple(item.get("role") for item in settings),
        values={
            kind_id: tuple(children)
            for kind, children in language.table.get("values", {}).items()
            for kind_id in ids(kind)
        },
        kinds={group: ids(kinds) for group, kinds in language.table.get("nodes", {}).items()},
    )
