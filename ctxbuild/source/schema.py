"""The keys of a ctxfile in one table: it validates, documents, and becomes the JSON Schema."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

from ctxbuild.source.defaults import DEFAULT_BUDGET
from ctxbuild.source.presets import PRESETS

VERSION = 1
MAX_TOKENS = 1_000_000_000
NAME_PATTERN = r"^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_-])?$"
SOURCES = ("files", "entry", "question", "docs", "diff", "transcript", "memory")
"""The source keys: a layer has exactly one."""


class Key(NamedTuple):
    """One key of a table.

    Attributes:
        name: as written.
        kind: "text", "texts" (a list of them), "tokens" (a number of tokens, at least
            `least`), "count" (a number), "share" (a number from 0 to 1), "flag", "choice",
            "choices", "layers", "rules", "version", "table" or "targets".
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

_ROT = ("OVERSIZED", "NOISE", "DUPLICATION", "DOMINATION", "STALE", "CONFLICTING")

_OTHERS = (
    Key("question", "text", "A question; what answers it is found and shown."),
    Key(
        "docs",
        "texts",
        "Globs of documents that are compiled into a packet of rules, facts and steps.",
        single=True,
    ),
    Key(
        "diff",
        "text",
        "What changed: a revision, `staged`, a range `a..b`, or a patch file.",
    ),
    Key("transcript", "text", "The file of an agent's session, relative to the ctxfile."),
    Key("memory", "text", "A Markdown file of notes and findings, relative to the ctxfile."),
)

_QUESTION_OPTIONS = (
    Key("candidates", "count", "Units that the search gives to choose from.", 150, (), 1),
    Key(
        "slice-over",
        "tokens",
        "Tokens over which a unit is cut to its most relevant parts.",
        1_500,
        (),
        1,
    ),
    Key(
        "least-score",
        "share",
        "Share of the best score below which what was found is left out as noise.",
        0.0,
    ),
    Key("cap", "count", "Most units that a question's pack is drawn from.", 100, (), 1),
    Key(
        "per-file",
        "count",
        "Units of one file after which those of other files come first; 0 for no limit.",
        0,
    ),
    Key(
        "vectors",
        "choice",
        "Whether units are also ranked by vectors where the environment names an embedder.",
        "auto",
        ("auto", "off"),
    ),
)
_DOCS_OPTIONS = (
    Key("task", "text", "What the packet is for, in words; without it everything is compiled."),
    Key(
        "profile",
        "choice",
        "What is asked of the documents besides the task: an API's rules, or a scene's canon.",
        "plain",
        ("plain", "api", "scene"),
    ),
    Key(
        "policy",
        "choice",
        "What reads the documents: rules, or the model that the environment names.",
        "rules",
        ("rules", "model"),
    ),
    Key(
        "precedence",
        "texts",
        "Globs of documents, highest first: where two contradict, the higher one stands.",
        (),
        single=True,
    ),
    Key("steps", "count", "Most sections that are read for the task.", 200, (), 1),
)

_DIFF_OPTIONS = (
    Key(
        "untracked",
        "flag",
        "Whether files that git does not track yet count as added.",
        default=True,
    ),
    Key(
        "generated",
        "flag",
        "Whether hunks of generated, minified, vendored and lock files are shown too.",
        default=False,
    ),
    Key("history", "count", "How many of its last commits are listed for every changed file.", 0),
    Key(
        "neighbours",
        "flag",
        "Whether the other files of folders with a change are listed, a line each.",
        default=False,
    ),
)

_ABOUT = Key(
    "about",
    "text",
    "A question: only what bears on it is shown, best first as far as the budget goes.",
)
_TRANSCRIPT_OPTIONS = (
    Key(
        "threshold",
        "tokens",
        "Tokens above which old turns are compacted into a note; at most four fifths of the "
        "layer's budget.",
        80_000,
        (),
        1,
    ),
    Key("recent", "count", "How many of the last turns stay verbatim in a compaction.", 6),
    Key(
        "compaction",
        "choice",
        "What finds facts and decisions in old turns: rules, or the model that the environment "
        "names.",
        "rules",
        ("rules", "model"),
    ),
    _ABOUT,
)

OPTIONS: dict[str, tuple[Key, ...]] = {
    "question": _QUESTION_OPTIONS,
    "docs": _DOCS_OPTIONS,
    "diff": _DIFF_OPTIONS,
    "transcript": _TRANSCRIPT_OPTIONS,
    "memory": (_ABOUT,),
}
"""Per source key, the options that only its layers have; a target's hold for its layers."""


def option_keys() -> tuple[Key, ...]:
    """Every key of `OPTIONS` once, saying whose it is; no default, as not every layer has it."""
    owners: dict[str, list[str]] = {}
    keys: dict[str, Key] = {}
    for source, options in OPTIONS.items():
        for key in options:
            owners.setdefault(key.name, []).append(f"`{source}`")
            keys[key.name] = key
    return tuple(
        key._replace(default=None, about=f"{key.about[:-1]} ({', '.join(owners[name])} only).")
        for name, key in keys.items()
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
    Key(
        "preset",
        "choice",
        "Layers, slices and order that are given; source keys and `layers` fill and override them.",
        None,
        tuple(PRESETS),
    ),
    _FILES,
    _ENTRY,
    *_OTHERS,
    Key("layers", "layers", "The ordered parts of the pack; replaces a source key."),
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
    *option_keys(),
    Key(
        "prefer",
        "text",
        "An earlier NAME.pack.json: what is as it was there stays where it stood.",
    ),
    Key(
        "rules", "rules", "Checks of `ctxbuild lint` besides those that a packet's items give.", ()
    ),
    Key("forbid", "choices", "Signs of rot for which `ctxbuild check` fails.", (), _ROT),
    Key("oversized", "share", "Share of the budget beyond which a pack is OVERSIZED.", 0.9),
    Key("noise", "share", "Share of the best score below which evidence is NOISE.", 0.3),
    Key("duplication", "count", "Chunks of one file beyond which it is DUPLICATION.", 2, (), 1),
    Key("domination", "share", "Share of a pack beyond which one chunk is DOMINATION.", 0.6),
)

LAYER = (
    Key("name", "text", "The layer's name, unique in its target; by default its source key."),
    _FILES,
    _ENTRY,
    *_OTHERS,
    Key(
        "budget", "tokens", "Most tokens the layer may have; by default the target's.", None, (), 1
    ),
    Key("pin", "flag", "Never drop or shorten anything of this layer.", default=False),
    Key(
        "priority",
        "count",
        "Layers are filled from high to low; above 0, what others leave unused flows on to it.",
        0,
    ),
    Key(
        "position",
        "choice",
        "Where the layer stands; by default in the order declared, between prefix and suffix.",
        None,
        ("prefix", "middle", "suffix"),
    ),
    Key(
        "restate",
        "count",
        "Say the layer once more at the end when the session has so many turns; 0 for never.",
        0,
    ),
    Key(
        "hydrate",
        "flag",
        "Whether what the session says it will modify, or a call names, stands here in full.",
        default=False,
    ),
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
    *option_keys(),
)


RULE = (
    Key("name", "text", "The rule's name, unique in its target; by default its number."),
    Key("pattern", "text", "A regular expression (of Python), tried on every line of an output."),
    Key("path", "text", "A glob of the outputs that are meant; by default all."),
    Key("language", "text", "The language that is meant; `prose` for texts, by default all."),
    Key("message", "text", "What is said where the rule is broken."),
    Key("level", "choice", "How much it matters.", "error", ("error", "warning", "note")),
    Key(
        "required",
        "flag",
        "The pattern must be found, where by default it must not.",
        default=False,
    ),
)


def generate() -> dict[str, Any]:
    """The JSON Schema (draft 7) of a ctxfile."""
    layer = _table(LAYER, "A layer: exactly one source key.")
    sourced: list[dict[str, Any]] = [{"required": [source]} for source in SOURCES]
    # A layer of a preset is overridden by its name, and may keep its source.
    layer["oneOf"] = [*sourced, {"required": ["name"], "not": {"anyOf": sourced}}]
    target = _table(TARGET, "A target: layers, or one source key, and a budget.")
    pairs = [{"required": list(pair)} for pair in combinations((*SOURCES, "layers"), 2)]
    target["if"] = {"not": {"anyOf": [{"required": [key]} for key in ("preset", "extends")]}}
    target["then"] = {"not": {"anyOf": pairs}}
    whole = (*SOURCES, "layers", "extends", "preset")
    target["anyOf"] = [{"required": [key]} for key in whole]
    rule = {**_table(RULE, "A check of outputs."), "required": ["pattern"]}
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
        "definitions": {"target": target, "layer": layer, "rule": rule},
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
    if key.kind == "share":
        return {"type": "number", "minimum": 0, "maximum": 1}
    if key.kind == "flag":
        return {"type": "boolean"}
    if key.kind == "choice":
        return {"type": "string", "enum": list(key.choices)}
    if key.kind == "choices":
        items = {"type": "string", "enum": list(key.choices)}
        return {"type": "array", "items": items, "minItems": 1, "uniqueItems": True}
    if key.kind == "rules":
        return {"type": "array", "items": {"$ref": "#/definitions/rule"}}
    return {"type": "array", "items": {"$ref": "#/definitions/layer"}, "minItems": 1}
