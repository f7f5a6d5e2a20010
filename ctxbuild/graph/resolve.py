"""Imports to files: where in the repository a module is, seen from the file that imports it.

A repository may hold several roots from which modules are imported. A directory
that holds a top-level module (its *home*) is admissible for an importing file,
in this order, the nearest first:

1. the file's own root: the directory of its topmost package, or its own directory;
2. each ancestor directory, and after each one `src`, `lib` and `python` below it;
3. any other home that a project file marks (pyproject.toml, setup.py, setup.cfg),
   or a home directly below such a directory, the longest common path first. There only
   packages count, and single modules only in `src`, `lib` or `python`: a stray
   `json.py` elsewhere must not capture `import json`.

Within one home a regular package wins over a module, a module over a namespace
package, and `x.py` over its stub `x.pyi`. A home that lacks the rest of the dotted
name passes the question on to the next, which is how namespace packages span roots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxbuild.graph.view import Edge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxbuild.graph.view import EdgeStatus, View
    from ctxbuild.model import Import

SOURCE_DIRECTORIES = ("src", "lib", "python")
_EXTENSIONS = (".py", ".pyi")


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the repository.

    Attributes:
        path: its file, or "" for a namespace package.
        directories: where its submodules lie; empty for a plain module.
        parents: the `__init__` files that importing it executes before it.
    """

    path: str
    directories: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Location:
    """The answer to an absolute module name: `found`, or why not.

    Attributes:
        status: found, external (no admissible home), unresolved (its first part is
            ours, the rest is missing) or ambiguous.
        modules: one if found, two or more if ambiguous.
    """

    status: str
    modules: tuple[Module, ...] = ()


def parent(path: str) -> str:
    """The directory of a path; of a top-level path it is the root, ""."""
    return path.rpartition("/")[0]


def join(directory: str, name: str) -> str:
    """The path of `name` in a directory."""
    return f"{directory}/{name}" if directory else name


def package_file(view: View, directory: str) -> str:
    """The `__init__` file of a directory, or "" if it is no regular package."""
    for extension in _EXTENSIONS:
        path = join(directory, f"__init__{extension}")
        if directory and view.exists(path):
            return path
    return ""


def is_package_file(path: str) -> bool:
    """Whether the file is the `__init__` of its directory."""
    return path.rpartition("/")[2] in ("__init__.py", "__init__.pyi")


def import_root(view: View, path: str) -> str:
    """The directory from which a file's own absolute name counts."""
    directory = parent(path)
    while directory and package_file(view, directory):
        directory = parent(directory)
    return directory


def submodule(view: View, directories: tuple[str, ...], name: str) -> Module | None:
    """The module or package `name` in the directories of a package."""
    portions = []
    for directory in directories:
        below = join(directory, name)
        if init := package_file(view, below):
            return Module(init, (below,))
        for extension in _EXTENSIONS:
            if view.exists(below + extension):
                return Module(below + extension)
        if view.is_dir(below):
            portions.append(below)
    return Module("", tuple(portions)) if portions else None


def locate(view: View, path: str, dotted: str) -> Location:
    """Find the absolute module `dotted` as seen from the file `path`."""
    parts = dotted.split(".")
    if not all(part.isidentifier() for part in parts):
        return Location("unresolved")
    ours = False
    portions: list[str] = []
    for homes in _ranked_homes(view, path, parts[0]):
        found: dict[str, Module] = {}
        for home in homes:
            module = _walk(view, (home,), parts)
            if module is None:
                first = None if ours else submodule(view, (home,), parts[0])
                ours = ours or (first is not None and first.path != "")
            elif module.path:
                found.setdefault(module.path, module)
            else:
                portions += [each for each in module.directories if each not in portions]
        if found:
            return Location("found" if len(found) == 1 else "ambiguous", tuple(found.values()))
    if portions:
        return Location("found", (Module("", tuple(portions)),))
    return Location("unresolved" if ours else "external")


def resolve_imports(view: View, path: str) -> tuple[Edge, ...]:
    """Resolve every import of a file.

    Args:
        view: the repository.
        path: the importing file.

    Returns:
        One edge or more per import, in the order of the imports; after the edge of
        the import itself the `package` edges of the parent packages it executes,
        except those that the importing file lies in: they import it, not the reverse.
    """
    edges: list[Edge] = []
    for index, item in enumerate(view.imports(path)):
        for edge in _edges(view, path, index, item):
            if edge not in edges[-8:]:
                edges.append(edge)
    return tuple(edges)


def _edges(view: View, path: str, index: int, item: Import) -> Iterator[Edge]:
    name, dots = item.module, item.level
    if not dots and name.startswith("."):
        stripped = name.lstrip(".")
        name, dots = stripped, len(name) - len(stripped)
    location = _relative(view, path, dots, name) if dots else locate(view, path, name)
    if location.status == "ambiguous":
        paths = tuple(module.path or module.directories[0] for module in location.modules)
        yield Edge(index, item.kind, "ambiguous", "", item.name, paths)
        return
    if location.status != "found":
        known = location.status == "external"
        yield Edge(index, item.kind, "external" if known else "unresolved", "", item.name)
        return
    module = location.modules[0]
    parents = module.parents
    attribute = item.name
    if attribute is not None and attribute != "*" and module.directories:
        below = submodule(view, module.directories, attribute)
        # A directory without Python in it is no reason to lose the attribute of that name.
        if below is not None and (below.path or not module.path):
            if module.path:
                parents = (*parents, module.path)
            module, attribute = below, None
    if not module.path:
        whole = attribute is None
        status: EdgeStatus = "namespace" if whole else "unresolved"
        yield Edge(index, item.kind, status, "", attribute, module.directories if whole else ())
    else:
        yield Edge(index, item.kind, "file", module.path, attribute)
    for init in parents:
        inside = parent(init) + "/"
        if init != module.path and not path.startswith(inside):
            yield Edge(index, "package", "file", init)


def _relative(view: View, path: str, dots: int, name: str) -> Location:
    directory = parent(path)
    for _ in range(dots - 1):
        if not directory:
            return Location("unresolved")
        directory = parent(directory)
    init = package_file(view, directory)
    if not init and not _may_be_namespace(view, directory):
        return Location("unresolved")
    if not name:
        return Location("found", (Module(init, (directory,)),))
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return Location("unresolved")
    module = _walk(view, (directory,), parts)
    if module is None:
        return Location("unresolved")
    parents = (init, *module.parents) if init else module.parents
    return Location("found", (Module(module.path, module.directories, parents),))


def _may_be_namespace(view: View, directory: str) -> bool:
    """Whether a directory without `__init__` can be a package: no import root is one."""
    if not directory or directory.rpartition("/")[2] in SOURCE_DIRECTORIES:
        return False
    return not view.marked(directory)


def _walk(view: View, directories: tuple[str, ...], parts: list[str]) -> Module | None:
    parents: tuple[str, ...] = ()
    module: Module | None = None
    for part in parts:
        if module is not None:
            if not module.directories:
                return None
            directories = module.directories
            if module.path:
                parents = (*parents, module.path)
        module = submodule(view, directories, part)
        if module is None:
            return None
    return module and Module(module.path, module.directories, parents)


def _ranked_homes(view: View, path: str, name: str) -> list[list[str]]:
    """The admissible homes of a top-level module, best first, equals together."""
    homes = view.homes(name)
    if not homes:
        return []
    root = import_root(view, path)
    distance: dict[str, int] = {}
    directory = parent(path)
    while True:
        distance[directory] = len(distance)
        if not directory:
            break
        directory = parent(directory)
    ranked: dict[tuple[int, ...], list[str]] = {}
    for home in homes:
        rank = _rank(view, path, name, home, root, distance)
        if rank is not None:
            ranked.setdefault(rank, []).append(home)
    return [ranked[rank] for rank in sorted(ranked)]


def _rank(
    view: View, path: str, name: str, home: str, root: str, distance: dict[str, int]
) -> tuple[int, ...] | None:
    if home == root:
        return (0,)
    if home in distance:
        return (1, distance[home], 0)
    above, _, last = home.rpartition("/")
    if last in SOURCE_DIRECTORIES and above in distance:
        return (1, distance[above], 1 + SOURCE_DIRECTORIES.index(last))
    if last not in SOURCE_DIRECTORIES and not package_file(view, join(home, name)):
        return None
    if not view.marked(home) and not view.marked(above):
        return None
    shared = 0
    for ours, theirs in zip(path.split("/"), home.split("/"), strict=False):
        if ours != theirs:
            break
        shared += 1
    return (2, -shared)
