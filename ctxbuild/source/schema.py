"""The keys of a ctxfile in one table: it validates, documents, and becomes the JSON Schema."""

from __future__ import annotations

from typing import Any, NamedTuple

from ctxbuild.source.defaults import DEFAULT_BUDGET

VERSION = 1
MAX_TOKENS = 1_000_000_000
NAME_PATTERN = r"^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_-])?$"
SOURCES = ("files", "entry")


class Key(NamedTuple):
    """One key of a table.

    Attributes:
        name: as written.
        kind: "text", "texts" (a list of them), "tokens" (a number of tokens, at least
            `least`), "count" (a number), "flag", "choice", "choices", "layers", "version",
            "table" or "targets".
        about: one sentence for people.
        default: what holds without it; None if it depends on other keys.
        choices: the allowed words.
        least: smallest allowed number.
        single: a list of texts may also be written as one text.
    """

    name: str
    kind: str
    about: str
    default: Any = None
    choices: tuple[str, ...] = ()
    least: int = 0
    single: bool = False


_ENTRY_OPTIONS = (
    Key(
        "docstrings",
        "choice",
        "How much of a docstring a skeleton keeps; `auto` keeps what the budget allows.",
        "auto",
        ("auto", "full", "first", "none"),
    ),
    Key(
        "dependents",
        "count",
        "How many steps of files that use the entry are added, for 'what does a change affect?'.",
        0,
    ),
    Key("tests", "flag", "Whether tests that reach the entry are added.", default=False),
    Key(
        "bodies",
        "flag",
        "Whether budget that is left over buys the bodies of the most used functions.",
        default=False,
    ),
)
_FILES = Key(
    "files",
    "texts",
    "Globs of files that are shown; a directory means everything below it.",
    single=True,
)
_ENTRY = Key(
    "entry",
    "texts",
    "Paths, globs or `path::symbol` of what is worked on; what it needs comes along.",
    single=True,
)

TOP = (
    Key("version", "version", "Version of the ctxfile format."),
    Key("project", "table", "What holds for every target."),
    Key("targets", "targets", "The packs, by name."),
)

PROJECT = (
    Key(
        "include",
        "texts",
        "Globs, as in a .gitignore, of what may be a source.",
        ("**",),
        single=True,
    ),
    Key("exclude", "texts", "Globs, as in a .gitignore, of what is left out.", (), single=True),
    Key("tokenizer", "text", "The encoding that counts tokens.", "o200k_base"),
    Key("cache", "text", "The cache directory, relative to the ctxfile.", ".ctxbuild"),
    Key("out", "text", "Where packs are written; by default `packs` in the cache directory."),
    Key("hidden", "flag", "Let in names with a leading dot.", default=False),
    Key("vendored", "flag", "Let in directories that tools fill.", default=False),
    Key("secrets", "flag", "Let in files that usually hold secrets.", default=False),
)

TARGET = (
    Key("extends", "text", "Another target whose keys hold where this one has none."),
    _FILES,
    _ENTRY,
    Key("layers", "layers", "The ordered parts of the pack; replaces `files` and `entry`."),
    Key(
        "budget",
        "tokens",
        "Most tokens the pack may have, reserve included.",
        DEFAULT_BUDGET,
        (),
        1,
    ),
    Key("reserve", "tokens", "Tokens of the budget that are kept free for the answer.", 0),
    Key("headers", "choice", "How much a block's header says.", "lean", ("lean", "full")),
    Key(
        "layout",
        "choice",
        "Order inside a layer: stable, best at both edges, or by score.",
        "stable",
        ("stable", "edges", "score"),
    ),
    Key("formats", "choices", "Renderings that are written.", ("md",), ("md", "xml", "json")),
    *_ENTRY_OPTIONS,
    Key(
        "prefer",
        "text",
        "An earlier NAME.pack.json: what is as it was there stays where it stood.",
    ),
)

LAYER = (
    Key("name", "text", "The layer's name, unique in its target; by default its source key."),
    _FILES,
    _ENTRY,
    Key(
        "budget", "tokens", "Most tokens the layer may have; by default the target's.", None, (), 1
    ),
    Key("pin", "flag", "Never drop or shorten anything of this layer.", default=False),
    Key(
        "form",
        "choice",
        "How much of each file is shown at best (`files` only).",
        "full",
        ("full", "skeleton", "summary", "name"),
    ),
    *(
        key._replace(default=None, about=key.about[:-1] + " (`entry` only).")
        for key in _ENTRY_OPTIONS
    ),
)


def generate() -> dict[str, Any]:
    """The JSON Schema (draft 7) of a ctxfile."""
    layer = _table(LAYER, "A layer: exactly one of `files` and `entry`.")
    layer["oneOf"] = [{"required": [source]} for source in SOURCES]
    target = _table(TARGET, "A target: layers, or one source key, and a budget.")
    target["not"] = {
        "anyOf": [
            {"required": list(pair)}
            for pair in (("files", "entry"), ("files", "layers"), ("entry", "layers"))
        ]
    }
    target["anyOf"] = [{"required": [key]} for key in (*SOURCES, "layers", "extends")]
    about = {key.name: key.about for key in TOP}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "ctxfile",
        "description": "Packs for context windows, and their token budgets.",
        "type": "object",
        "additionalProperties": False,
        "required": ["version", "targets"],
        "properties": {
            "version": {"const": VERSION, "description": about["version"]},
            "project": _table(PROJECT, about["project"]),
            "targets": {
                "type": "object",
                "description": about["targets"],
                "minProperties": 1,
                "additionalProperties": False,
                "patternProperties": {NAME_PATTERN: {"$ref": "#/definitions/target"}},
            },
        },
        "definitions": {"target": target, "layer": layer},
    }


def _table(keys: tuple[Key, ...], about: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": about,
        "additionalProperties": False,
        "properties": {key.name: _property(key) for key in keys},
    }


def _property(key: Key) -> dict[str, Any]:
    made: dict[str, Any] = {"description": key.about, **_type(key)}
    if key.default is not None:
        made["default"] = list(key.default) if isinstance(key.default, tuple) else key.default
    return made


def _type(key: Key) -> dict[str, Any]:
    text = {"type": "string", "minLength": 1}
    if key.kind == "text":
        return text if key.name not in {"name", "extends"} else {**text, "pattern": NAME_PATTERN}
    if key.kind == "texts":
        least = {} if key.default == () else {"minItems": 1}
        return {"anyOf": [text, {"type": "array", "items": text, **least}]}
    if key.kind in {"tokens", "count"}:
        return {"type": "integer", "minimum": key.least, "maximum": MAX_TOKENS}
    if key.kind == "flag":
        return {"type": "boolean"}
    if key.kind == "choice":
        return {"type": "string", "enum": list(key.choices)}
    if key.kind == "choices":
        items = {"type": "string", "enum": list(key.choices)}
        return {"type": "array", "items": items, "minItems": 1, "uniqueItems": True}
    return {"type": "array", "items": {"$ref": "#/definitions/layer"}, "minItems": 1}
