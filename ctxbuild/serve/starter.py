"""A first ctxfile for a repository: targets that build, with comments that explain the keys.

What is picked is decided by a look at names, sizes and import lines, so that it
takes moments on a large repository; only the picked files are parsed, for their
budgets.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ctxbuild.errors import SourceError, UsageError
from ctxbuild.serve.doctor import scan_once
from ctxbuild.serve.draft import Pick, drafted
from ctxbuild.source.ctxfile import FILE_NAME, Project

if TYPE_CHECKING:
    from ctxbuild.source.scan import Snapshot

_MOST_ENTRIES = 3
_MOST_READ = 5_000  # files whose import lines are looked at
_MOST_FILES = 40  # files of a `files` target that are named one by one
_GOOD_TOKENS = range(300, 20_001)
_ASIDE = frozenset(
    {
        *("test", "tests", "testing", "docs", "doc", "example", "examples", "benchmark"),
        *("benchmarks", "bench", "scripts", "script", "migrations", "tools", "fixtures"),
        *("sample", "samples", "conftest.py", "setup.py", "noxfile.py"),
    }
)
_STARTS = ("__main__.py", "cli.py", "app.py", "main.py", "manage.py", "server.py")
_PROSE = (".md", ".rst", ".txt", ".adoc")
_TEXT = frozenset(
    {
        *(".c", ".cc", ".cpp", ".cs", ".css", ".dart", ".ex", ".exs", ".go", ".h", ".hpp"),
        *(".hs", ".html", ".java", ".jl", ".js", ".jsx", ".kt", ".lua", ".m", ".md", ".ml"),
        *(".php", ".pl", ".py", ".r", ".rb", ".rs", ".rst", ".scala", ".sh", ".sql", ".swift"),
        *(".svelte", ".toml", ".ts", ".tsx", ".txt", ".vue", ".yaml", ".yml", ".zig"),
    }
)
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([\w, \t(]*)|import[ \t]+([\w. ,\t]+))",
    re.MULTILINE,
)
_SPECIAL = re.compile(r"[*?\[\]\\!]|::|[\x00-\x1f\x7f]")  # would not mean itself in a pattern


def starter(root: str) -> str:
    """The text of a ctxfile for the repository in a directory.

    Raises:
        UsageError: there is nothing that a target could show.
        SourceError: the directory cannot be listed.
    """
    snapshot, _ = scan_once(root, Project().scope())
    paths = [path for path in snapshot.paths if path != FILE_NAME]
    picks = picked(snapshot, [path for path in paths if not _SPECIAL.search(path)])
    if not picks:
        what = "no file is selected" if not paths else "no file looks like text"
        raise UsageError(
            f"{root}: {what}, so there is nothing to put into a pack",
            "`ctxbuild doctor --left-out` lists what is left out and why",
        )
    return drafted(picks)


def picked(snapshot: Snapshot, paths: Sequence[str]) -> tuple[Pick, ...]:
    """The targets worth declaring for these files; () if none is."""
    python = [path for path in paths if path.endswith(".py")]
    picks = _entry_picks(snapshot, python)
    overview = _overview(snapshot, paths)
    if overview:
        picks.append(overview)
    if not any(pick.key == "entry" for pick in picks):
        sources = _sources(snapshot, paths)
        picks += [sources] if sources else []
    return tuple(picks)


# --- entries ------------------------------------------------------------------------------


def _entry_picks(snapshot: Snapshot, python: Sequence[str]) -> list[Pick]:
    main = _main_files(snapshot, python)
    popular = _popularity(snapshot, main)
    sizes = {path: _size(snapshot, path) for path in main}
    starts = [p for p in main if p.rpartition("/")[2] in _STARTS]
    starts.sort(key=lambda p: (p.count("/"), _STARTS.index(p.rpartition("/")[2]), p))
    ranked = sorted(main, key=lambda p: (-popular[p] * min(sizes[p], 40_000), p))
    wanted = [*starts[:1], *ranked, *starts[1:]]
    picks: list[Pick] = []
    for path in dict.fromkeys(wanted):
        tokens = _tokens(snapshot, path) if 0 < sizes[path] < 200_000 else 0
        if tokens in _GOOD_TOKENS:
            picks.append(_entry_pick(path, tokens, popular[path], [p.name for p in picks]))
        if len(picks) == _MOST_ENTRIES:
            break
    if not picks and wanted:
        largest = max(wanted, key=lambda p: (sizes[p] if sizes[p] < 200_000 else 0, p))
        picks.append(_entry_pick(largest, _tokens(snapshot, largest), 0, []))
    return picks


def _entry_pick(path: str, tokens: int, users: int, taken: Iterable[str]) -> Pick:
    budget = max(4_000, -(-(tokens * 3 // 2 + 2_000) // 1_000) * 1_000)
    about = f"To work on {path}"
    if users:
        about += f", which {users} other {'file imports' if users == 1 else 'files import'}"
    return Pick(_name(path, taken), "entry", (path,), budget, f"{about}.")


def _main_files(snapshot: Snapshot, python: Sequence[str]) -> list[str]:
    """The Python files of the largest package, or of all if tests are all there is."""
    proper = [path for path in python if not _ASIDE & set(path.split("/"))] or list(python)
    weights: Counter[str] = Counter()
    for path in proper:
        weights[_package(snapshot, path)] += _size(snapshot, path) + 1
    best = max(sorted(weights), key=weights.__getitem__, default="")
    return [path for path in proper if _package(snapshot, path) == best]


def _package(snapshot: Snapshot, path: str) -> str:
    """The topmost package that a file is in, or its directory."""
    directory = path.rpartition("/")[0]
    top = directory
    while directory and snapshot.has(f"{directory}/__init__.py"):
        top, directory = directory, directory.rpartition("/")[0]
    return top


def _popularity(snapshot: Snapshot, paths: Sequence[str]) -> Counter[str]:
    """Path to the number of files here whose import lines name it."""
    modules = {_module(path): path for path in paths}
    users: Counter[str] = Counter()
    for path in paths[:_MOST_READ]:
        named: set[str] = set()
        package = _module(path).split(".")
        if not path.endswith("/__init__.py"):
            package.pop()
        for base, names, plain in _IMPORT.findall(_read(snapshot, path)):
            named.update(_absolute(base.decode(), package))
            if base:
                start = _absolute(base.decode(), package)[0]
                listed = names.decode(errors="replace").replace("(", "").split(",")
                named.update(f"{start}.{name.split()[0]}" for name in listed if name.split())
            for each in plain.decode(errors="replace").split(","):
                named.update(each.split()[:1])
        found = {modules[name] for name in named if name in modules} - {path}
        users.update(found)
    return users


def _module(path: str) -> str:
    """The dotted name of a file by its place alone, without `src`, `lib` or `python` above."""
    parts = path.removesuffix(".py").split("/")
    if len(parts) > 1 and parts[0] in ("src", "lib", "python"):
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _absolute(base: str, package: list[str]) -> list[str]:
    if not base:
        return []
    module = base.lstrip(".")
    level = len(base) - len(module)
    if not level:
        return [module]
    above = package[: len(package) - level + 1]
    return [".".join([*above, module] if module else above)]


# --- files --------------------------------------------------------------------------------


def _overview(snapshot: Snapshot, paths: Sequence[str]) -> Pick | None:
    """What explains the project: prose at the top, and how it is built."""
    top = [path for path in paths if "/" not in path and _size(snapshot, path)]
    prose = [p for p in top if p.lower().startswith(("readme", "contributing", "architecture"))]
    build = [p for p in ("pyproject.toml", "package.json", "Cargo.toml", "go.mod") if p in top]
    files = [*prose, *build]
    docs = [p for p in paths if p.startswith(("docs/", "doc/")) and p.endswith(_PROSE)]
    index = [p for p in docs if p.rpartition("/")[2].startswith(("index.", "readme.", "README."))]
    files += sorted(index, key=lambda p: (p.count("/"), p))[:1]
    if not files:
        return None
    budget = _budget(snapshot, files)
    return Pick(
        "overview", "files", tuple(files), budget, "What the project is and how it is built."
    )


def _sources(snapshot: Snapshot, paths: Sequence[str]) -> Pick | None:
    """The kind of text that there is most of."""
    weights: Counter[str] = Counter()
    for path in paths:
        ending = os.path.splitext(path)[1]
        if ending in _TEXT:
            weights[ending] += _size(snapshot, path)
    weights = +weights
    if not weights:
        return None
    ending = max(sorted(weights), key=weights.__getitem__)
    files = [path for path in paths if path.endswith(ending)]
    comment = f"Every {ending} file, as far as the budget goes."
    return Pick("sources", "files", (f"**/*{ending}",), _budget(snapshot, files), comment)


def _budget(snapshot: Snapshot, files: Sequence[str]) -> int:
    """Enough for all of it, within reason."""
    total = sum(_tokens(snapshot, path) for path in files[:_MOST_FILES]) + 40 * len(files)
    return min(16_000, max(4_000, -(-total // 1_000) * 1_000))


# --- looking at files ---------------------------------------------------------------------


def _read(snapshot: Snapshot, path: str) -> bytes:
    try:
        return snapshot.read(path)
    except SourceError:
        return b""


def _size(snapshot: Snapshot, path: str) -> int:
    try:
        return os.stat(os.path.join(snapshot.root, path)).st_size
    except OSError:
        return 0


def _tokens(snapshot: Snapshot, path: str) -> int:
    from ctxbuild.facts.decode import decode
    from ctxbuild.pack.tokens import counter

    return counter(Project().tokenizer)([decode(_read(snapshot, path))[0]])[0]


def _name(path: str, taken: Iterable[str]) -> str:
    """A target's name after a file; one more part of the path where it is taken."""
    parts = [p for p in path.removesuffix(".py").split("/") if p not in ("__init__", "__main__")]
    for count in range(1, len(parts) + 1):
        name = safe_name("-".join(parts[-count:]))
        if name not in (*taken, "overview", "sources"):
            return name
    return safe_name("-".join([*parts, "entry"]))


def safe_name(text: str) -> str:
    """A text as the name of a target."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-")
    return re.sub(r"\.(pack|plan)$", r"-\1", name) or "pack"
