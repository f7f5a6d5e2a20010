"""The text of a ctxfile, checked against the table of keys, and turned into targets.

Apart from `ctxfile.py`, since a command with nothing to do needs only what was
read before (`stores/parsed.py`), not what reads it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

from ctxbuild.errors import CtxfileError
from ctxbuild.source import presets, schema
from ctxbuild.source.check import NAME_HINT, Checker, Path, is_name, suggestion
from ctxbuild.source.ctxfile import CheckRule, Ctxfile, Layer, Project, Source, Target

_SESSION = ("transcript", "memory")
_GLOBS = ("files", "entry", "docs")
_ENTRY_OPTIONS = ("docstrings", "dependents", "tests", "bodies")
_OWNERS: dict[str, list[str]] = {"form": ["files"]} | {key: ["entry"] for key in _ENTRY_OPTIONS}
for _source, _keys in schema.OPTIONS.items():
    for _key in _keys:
        _OWNERS.setdefault(_key.name, []).append(_source)


def parse(text: str, name: str) -> Ctxfile:
    """What `ctxfile.parse` gives; raises what it raises."""
    import tomllib

    try:
        raw = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(text, name, str(error)) from error
    except RecursionError as error:
        raise CtxfileError(f"{name}:1: is nested too deeply", "flatten it") from error
    reader = _Reader(text, name)
    reader.top(raw)
    project = reader.project(raw.get("project", {}))
    targets = reader.targets(raw.get("targets", {}))
    return Ctxfile(name, os.path.dirname(os.path.abspath(name)), project, targets)


def _syntax_error(text: str, name: str, message: str) -> CtxfileError:
    import re

    place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    line = place[1] if place and place[1] else str(len(text.splitlines()) or 1)
    what = message[: place.start()] if place else message
    column = f", column {place[2]}" if place and place[2] else ""
    return CtxfileError(f"{name}:{line}: is not TOML: {what[:1].lower()}{what[1:]}{column}")


class _Reader(Checker):
    """Builds the dataclasses of checked tables."""

    def top(self, raw: dict[str, Any]) -> None:
        """Check the tables and the version."""
        self.keys(raw, schema.TOP, (), "the ctxfile")
        if "version" not in raw:
            raise self.fail((), "version is missing", f"add `version = {schema.VERSION}`")
        version = raw["version"]
        if type(version) is not int or version < 1:
            raise self.fail(("version",), f"version must be {schema.VERSION}, not {version!r}")
        if version > schema.VERSION:
            message = f"version {version} is newer than this ctxbuild, which reads {schema.VERSION}"
            raise self.fail(("version",), message, "upgrade ctxbuild")
        for key in ("project", "targets"):
            if not isinstance(raw.get(key, {}), dict):
                raise self.fail((key,), f"{key} must be a table", f"write `[{key}]`")

    def project(self, raw: dict[str, Any]) -> Project:
        """Build `[project]`."""
        path = ("project",)
        values = self.values(raw, schema.PROJECT, path, "[project]")
        for key in ("include", "exclude"):
            for index, pattern in enumerate(values[key]):
                self.pattern(pattern.removeprefix("!").lstrip("/"), (*path, key, index), key)
        if values["out"] is None:
            values["out"] = f"{values['cache'].rstrip('/') or '/'}/packs"
        return Project(**values)

    def targets(self, raw: dict[str, Any]) -> tuple[Target, ...]:
        """Build all targets, those that others extend included."""
        if not raw:
            raise self.fail(("targets",), "no target is declared", "add `[targets.NAME]`")
        seen: dict[str, str] = {}
        for name, table in raw.items():
            path = ("targets", name)
            if not is_name(name) or name.endswith((".pack", ".plan")):
                hint = f"{NAME_HINT}, and no end in .pack or .plan"
                raise self.fail(path, f"target name {name!r} cannot be a file name", hint)
            if name.lower() in seen:
                message = f"targets {seen[name.lower()]!r} and {name!r} differ only in case"
                raise self.fail(path, message, "their files would be one on some systems")
            seen[name.lower()] = name
            if not isinstance(table, dict):
                raise self.fail(path, f"target {name!r} must be a table", f"[targets.{name}]")
            self.values(table, schema.TARGET, path, f"target {name!r}")
        return tuple(self._target(name, raw) for name in raw)

    def _target(self, name: str, raw: dict[str, Any]) -> Target:
        merged, homes = self._extended(name, raw)
        where = f"target {name!r}"
        expanded = presets.expand(merged, schema.SOURCES) if "preset" in merged else None
        keys = expanded.keys if expanded else merged
        values = self.values(keys, schema.TARGET, ("targets", name), where)

        def place(key: str) -> Path:
            own = key in raw[name]
            return ("targets", name, key) if own else ("targets", name)

        budget, reserve = values["budget"], values["reserve"]
        if reserve >= budget:
            key = "reserve" if "reserve" in raw[name] else "budget"
            message = f"{where} reserves {reserve} of its {budget} tokens: nothing is left"
            raise self.fail(place(key), message)
        options = {key: values[key] for key in _ENTRY_OPTIONS}
        own = {key.name for key in schema.option_keys()}
        options |= {key: value for key in own if (value := values.pop(key)) is not None}
        if expanded:
            placed = [self._home(name, each, homes) for each in expanded.layers]
            tables = [
                (each.table, path) for each, path in zip(expanded.layers, placed, strict=True)
            ]
        else:
            tables = self._tables(name, merged, homes, place)
        layers = _apart(self._layers(tables, where, options))
        for layer, (_, path) in zip(layers, tables, strict=True):
            if layer.budget is not None and layer.budget > budget - reserve:
                message = (
                    f"layer {layer.name!r} of {where} has budget {layer.budget}, "
                    f"its target only {budget - reserve}"
                )
                raise self.fail((*path, "budget"), message)
        for key in ("extends", "preset", *schema.SOURCES, "layers"):
            del values[key]
        home = ("targets", homes.get("rules", name), "rules")
        values["rules"] = self._rules(values["rules"], home, where)
        return Target(name, layers, **values)

    def _rules(
        self, tables: tuple[dict[str, Any], ...], path: Path, where: str
    ) -> tuple[CheckRule, ...]:
        found: dict[str, CheckRule] = {}
        for index, table in enumerate(tables):
            what = f"rule {index + 1} of {where}"
            values = self.values(table, schema.RULE, (*path, index), what)
            if values["pattern"] is None:
                raise self.fail((*path, index), f"{what} has no pattern", "add `pattern = '...'`")
            self._regular(values["pattern"], (*path, index, "pattern"), what)
            given = {key: value for key, value in values.items() if value is not None}
            rule = CheckRule(**{"name": str(index + 1), **given, "target": str(path[1])})
            if rule.name in found:
                message = f"{where} has two rules named {rule.name!r}"
                raise self.fail((*path, index, "name"), message)
            found[rule.name] = rule
        return tuple(found.values())

    def _regular(self, pattern: str, path: Path, what: str) -> None:
        import re

        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            message = f"the pattern of {what} is no regular expression: {error}"
            raise self.fail(path, message) from error

    def _home(self, name: str, placed: presets.Placed, homes: dict[str, str]) -> Path:
        """Where a layer of a target with a preset is written."""
        if placed.number is not None:
            return ("targets", homes["layers"], "layers", placed.number)
        return ("targets", homes.get(placed.key, name), placed.key)

    def _tables(
        self,
        name: str,
        merged: dict[str, Any],
        homes: dict[str, str],
        place: Callable[[str], Path],
    ) -> list[tuple[Any, Path]]:
        """The tables of a target's layers, and where they stand."""
        where = f"target {name!r}"
        given = [key for key in merged if key in {*schema.SOURCES, "layers"}]
        if not given:
            hint = "add `entry = [...]`, another source key or `[[targets." + name + ".layers]]`"
            raise self.fail(("targets", name), f"{where} has no layers", hint)
        if len(given) > 1:
            message = f"{where} has both {given[0]!r} and {given[1]!r}"
            raise self.fail(place(given[1]), message, "write each as a layer of its own")
        base = ("targets", homes[given[0]])
        if given[0] != "layers":
            return [({given[0]: merged[given[0]]}, base)]
        path = (*base, "layers")
        return [(table, (*path, index)) for index, table in enumerate(merged["layers"])]

    def _extended(self, name: str, raw: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """The target's keys over those of what it extends, and whose each key is."""
        chain = [name]
        while "extends" in raw[chain[-1]]:
            above = raw[chain[-1]]["extends"]
            path = ("targets", chain[-1], "extends")
            if above not in raw:
                near = suggestion(above, list(raw))
                message = f"target {chain[-1]!r} extends {above!r}, which is no target{near}"
                raise self.fail(path, message)
            if above in chain:
                loop = " -> ".join([*chain[chain.index(above) :], above])
                raise self.fail(path, f"targets extend each other in a circle: {loop}")
            chain.append(above)
        merged: dict[str, Any] = {}
        homes: dict[str, str] = {}
        sources = {*schema.SOURCES, "layers"}
        for step in reversed(chain):
            # To a preset that is inherited, sources are added; else they replace those above.
            added = "preset" in merged and "preset" not in raw[step]
            if {*sources, "preset"} & raw[step].keys() and not added:
                merged = {key: value for key, value in merged.items() if key not in sources}
            merged |= raw[step]
            homes |= dict.fromkeys(raw[step], step)
        merged.pop("extends", None)
        return merged, homes

    def _layers(
        self, tables: list[tuple[Any, Path]], where: str, options: dict[str, Any]
    ) -> tuple[Layer, ...]:
        layers: list[Layer] = []
        for index, (table, path) in enumerate(tables):
            what = where if len(path) == 2 else f"layer {index + 1} of {where}"
            layer = self._layer(table, path, what, options)
            if any(layer.name == other.name for other in layers):
                message = f"{where} has two layers named {layer.name!r}"
                raise self.fail((*path, "name"), message, "give each a `name`")
            layers.append(layer)
        return tuple(layers)

    def _layer(self, raw: Any, path: Path, where: str, options: dict[str, Any]) -> Layer:
        if not isinstance(raw, dict):
            raise self.fail(path, f"{where} must be a table")
        empty = raw.get("files") == ()  # of a preset: what the session names comes in
        values = self.values({**raw, "files": ["*"]} if empty else raw, schema.LAYER, path, where)
        given = [key for key in schema.SOURCES if key in raw]
        if len(given) != 1:
            names = " and ".join(repr(key) for key in (given or schema.SOURCES))
            message = f"{where} has both {names}" if given else f"{where} has none of {names}"
            raise self.fail((*path, given[-1]) if given else path, message, "give it exactly one")
        source = given[0]
        said = () if empty else values[source]
        patterns = (said,) if isinstance(said, str) else said
        if source in _GLOBS:
            self._patterns(source, patterns, (*path, source))
        for key in raw:
            if key in _OWNERS and source not in _OWNERS[key]:
                owners = " and ".join(repr(owner) for owner in _OWNERS[key])
                message = f"key {key!r} in {where} is for {owners} layers, this one has {source!r}"
                raise self.fail((*path, key), message)
        entry = {}
        if source == "entry":
            own = {key: value for key in _ENTRY_OPTIONS if (value := values[key]) is not None}
            entry = {key: options[key] for key in _ENTRY_OPTIONS} | own
        return Layer(
            values["name"] or source,
            cast("Source", source),
            patterns,
            values["budget"],
            values["pin"],
            values["form"] if source == "files" else None,
            **entry,
            options=tuple(
                (key.name, _first(values[key.name], options.get(key.name), key.default))
                for key in schema.OPTIONS.get(source, ())
            ),
            **{key: values[key] for key in ("priority", "position", "restate", "hydrate")},
        )

    def _patterns(self, source: str, patterns: tuple[str, ...], path: Path) -> None:
        for index, pattern in enumerate(patterns):
            file, separator, symbol = pattern.partition("::")
            if separator and source == "entry" and not symbol:
                message = f"{pattern!r} in {source!r} names no symbol after '::'"
                raise self.fail((*path, index), message)
            self.pattern(file if source == "entry" else pattern, (*path, index), source)


def _apart(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The layers; those of differences know the files of the session, which are no change."""
    session = sorted(p for e in layers if e.source in _SESSION for p in e.patterns)
    if not session:
        return layers
    files = ("apart", tuple(os.path.normpath(path).replace(os.sep, "/") for path in session))
    return tuple(
        layer._replace(options=(*layer.options, files)) if layer.source == "diff" else layer
        for layer in layers
    )


def _first(*values: Any) -> Any:
    """The first value that was given."""
    return next((value for value in values if value is not None), None)
