"""The ctxfile as it was read last: where its text is the same, TOML need not be parsed again.

A parser of TOML costs more to import than all else that a command with nothing
to do needs. What is remembered stands in the default cache directory beside the
ctxfile, and counts only for these very bytes and this very reader.
"""

from __future__ import annotations

import os

from ctxbuild.source import ctxfile as ctxfiles
from ctxbuild.source.ctxfile import CheckRule, Ctxfile, Layer, Project, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "ctxfile.json"
_CACHE = ".ctxbuild"
_READERS = tuple(
    os.path.join(os.path.dirname(ctxfiles.__file__), f"{name}.py")
    for name in ("presets", "ctxfile", "defaults", "schema", "check", "reading")
)


def load(path: str | os.PathLike[str], *, remember: bool = False) -> Ctxfile:
    """Read and check a ctxfile, as `ctxfile.load` does.

    Args:
        path: the file.
        remember: keep what was read, for the next time.

    Raises:
        CtxfileError: it cannot be read, or something in it is wrong.
    """
    name = os.fspath(path)
    memory = os.path.join(os.path.dirname(os.path.abspath(name)), _CACHE)
    if not os.path.isfile(os.path.join(memory, "FORMAT")):
        return ctxfiles.load(name)
    key = _key(name)
    found = _recall(os.path.join(memory, NAME), key, name) if key else None
    if found is not None:
        return found
    loaded = ctxfiles.load(name)
    # Only if the text that was read is the one the key is of.
    if remember and key and _key(name) == key:
        _remember(os.path.join(memory, NAME), key, loaded)
    return loaded


def _key(name: str) -> str:
    """What the meaning of a ctxfile depends on; "" if it cannot be read."""
    import xxhash

    try:
        with open(name, "rb") as file:
            text = xxhash.xxh3_128_hexdigest(file.read())
        stats = [os.stat(reader) for reader in _READERS]
    except OSError:
        return ""
    return " ".join([text, *(f"{st.st_size}-{st.st_mtime_ns}" for st in stats)])


def _recall(path: str, key: str, name: str) -> Ctxfile | None:
    import json

    try:
        with open(path, "rb") as file:
            data = json.loads(file.read())
        if data["key"] != key:
            return None
        project = Project(*map(_tuples, data["project"]))
        targets = tuple(_target(row) for row in data["targets"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return Ctxfile(name, os.path.dirname(os.path.abspath(name)), project, targets)


def _target(row: list[Any]) -> Target:
    name, layers, *rest = row
    made = Target(name, tuple(Layer(*map(_tuples, each)) for each in layers), *map(_tuples, rest))
    return made._replace(rules=tuple(CheckRule(*rule) for rule in made.rules))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _remember(path: str, key: str, loaded: Ctxfile) -> None:
    import json
    from pathlib import Path

    from ctxbuild.errors import StoreError
    from ctxbuild.stores.atomic import write_if_changed

    data = {"key": key, "project": loaded.project, "targets": loaded.targets}
    try:
        write_if_changed(Path(path), json.dumps(data).encode())
    except StoreError:
        return  # the cache cannot be written: the next command reads TOML again
