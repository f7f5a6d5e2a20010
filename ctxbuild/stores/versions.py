"""Version per stage: what its code and its parsers are, without anyone raising a number."""

from __future__ import annotations

import os
import sqlite3
import sys

import xxhash

# What the answers of a stage depend on, as folders and files of this package.
_STAGE_SOURCES = {
    "facts": ("model.py", "facts", "pack/questions.py", "pack/codec.py", "pack/tokens.py"),
    "resolve": ("model.py", "graph", "pack/questions.py", "pack/codec.py"),
    "documents": (
        *("model.py", "facts", "graph/documents.py", "graph/documents_links.py"),
        *("pack/documents.py", "pack/codec.py"),
    ),
    "navigation": ("model.py", "facts", "graph", "pack/documents.py", "pack/codec.py"),
    "plan": (
        *("model.py", "facts", "graph", "select", "pack"),
        *("source/ctxfile.py", "source/diffs.py"),
    ),
}
_FOLDERS = (
    "",
    "engine",
    "facts",
    "facts/languages",
    "graph",
    "pack",
    "select",
    "select/realm",
    "select/retrieval",
    "source",
)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PARSERS = (
    *("tree-sitter", "tree-sitter-python", "toktok-rs", "tiktoken", "msgspec"),
    *("markdown-it-py", "mdit-py-plugins", "docutils"),
)


def stage_versions(connection: sqlite3.Connection) -> dict[str, str]:
    """Version per stage: the digest of the code that computes it and of its parsers' versions.

    The digests are taken only when a file of this package, or what is installed,
    looks different from last time.
    """
    stamp = installation_stamp()
    stored = dict(connection.execute("SELECT name, value FROM state WHERE name LIKE 'version%'"))
    if stored.get("version-stamp") == stamp and len(stored) == len(_STAGE_SOURCES) + 1:
        return {name: stored[f"version:{name}"] for name in _STAGE_SOURCES}
    versions = {name: _digest_of(sources) for name, sources in _STAGE_SOURCES.items()}
    named = {f"version:{name}": version for name, version in versions.items()}
    _remember(connection, {**named, "version-stamp": stamp})
    return versions


def _remember(connection: sqlite3.Connection, named: dict[str, str]) -> None:
    """Saves a moment of the next run, unless another process writes just now."""
    (wait,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("REPLACE INTO state VALUES (?, ?)", named.items())
        connection.execute("COMMIT")
    except sqlite3.OperationalError:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    finally:
        connection.execute(f"PRAGMA busy_timeout = {wait}")


def code_directories() -> list[str]:
    """The directories in which a change may change `installation_stamp`."""
    own = [os.path.join(_PACKAGE, *folder.split("/")) for folder in _FOLDERS]
    installed = [path for path in sys.path if path.endswith("-packages") and os.path.isdir(path)]
    return [*own, *installed]


def code_files() -> list[str]:
    """The files of which a change changes `installation_stamp`."""
    return [os.path.join(_PACKAGE, name) for name in _package_files()]


def code_of(versions: dict[str, str]) -> str:
    """What identifies the code of all stages together."""
    return "\0".join(f"{name}={versions[name]}" for name in sorted(versions))


def _package_files() -> list[str]:
    found = []
    for folder in _FOLDERS:
        with os.scandir(os.path.join(_PACKAGE, folder)) as entries:
            found += [
                f"{folder}/{entry.name}".lstrip("/")
                for entry in entries
                if entry.name.endswith((".py", ".toml", ".scm"))
            ]
    return sorted(found)


def installation_stamp() -> str:
    """Stats of this package's files and of the directories that packages are installed into."""
    stats = [os.stat(os.path.join(_PACKAGE, name)) for name in _package_files()]
    installed = [path for path in sys.path if path.endswith("-packages") and os.path.isdir(path)]
    stats += [os.stat(path) for path in installed]
    seen = [_PACKAGE, sys.version, *(f"{st.st_size} {st.st_mtime_ns}" for st in stats)]
    return _digest("\n".join(seen))


def _digest(text: str) -> str:
    return xxhash.xxh3_128_hexdigest(text.encode())


def _digest_of(sources: tuple[str, ...]) -> str:
    from importlib.metadata import PackageNotFoundError, version

    parts = []
    for name in _package_files():
        if any(name == source or name.startswith(f"{source}/") for source in sources):
            with open(os.path.join(_PACKAGE, name), "rb") as file:
                parts.append(f"{name}\0{file.read().decode()}")
    for distribution in _PARSERS:
        try:
            parts.append(f"{distribution} {version(distribution)}")
        except PackageNotFoundError:
            parts.append(f"{distribution} none")
    return _digest("\0".join(parts))
