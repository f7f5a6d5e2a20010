"""Who needs whom from an entry: direct files, indirect ones, and the way to a unit.

Direct is what an entry imports, and what holds a symbol that the entry was found to
use. Indirect is everything further along the imports, also the `__init__` files of
packages that an import executes on its way (if there is anything in them). A file
that runs dynamic code is flagged; it does not pull in the whole repository. Type
checking and lazy imports are edges like all others: each carries its kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ctxbuild.graph.uses import uses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ctxbuild.graph.view import Edge, View


@dataclass(frozen=True, slots=True)
class Reached:
    """A file that an entry reaches.

    Attributes:
        distance: 1 is direct.
        via: the file before it on the shortest way.
        edge: the import that leads there; None if a symbol of it was found by name.
    """

    path: str
    distance: int
    via: str
    edge: Edge | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """Everything that the entries reach, without them.

    Attributes:
        direct, indirect: by distance, then by path.
        dynamic: the entries and direct files that run dynamic code, sorted: what they
            need beyond this is unknown.
    """

    direct: tuple[Reached, ...] = ()
    indirect: tuple[Reached, ...] = ()
    dynamic: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """One step on the way from an entry to a unit.

    Attributes:
        path: the file that takes the step.
        kind: by an `import` or by a `reference`.
        ordinal: of the import or reference in that file; its line is joined later.
        target, name: where it leads; the name is "" for a file.
    """

    path: str
    kind: Literal["import", "reference"]
    ordinal: int
    target: str
    name: str = ""


def reach(view: View, entries: tuple[str, ...], holding: Iterable[str] = ()) -> Reach:
    """Follow the imports of the entries, breadth first.

    Args:
        view: the repository.
        entries: paths.
        holding: files that hold a symbol which an entry uses, whether imported or not.

    Returns:
        Direct and indirect files with the edge that led to each first.
    """
    found = _search(view, entries, holding)
    ordered = sorted(found.values(), key=_by_distance)
    direct = tuple(each for each in ordered if each.distance == 1)
    nearest = sorted({*entries, *(each.path for each in direct)})
    return Reach(
        direct,
        tuple(each for each in ordered if each.distance > 1),
        tuple(path for path in nearest if view.outline(path).dynamic),
    )


def chain(view: View, entries: tuple[str, ...], path: str, name: str = "") -> tuple[Link, ...]:
    """The references and imports that lead from an entry to a unit.

    Args:
        view: the repository.
        entries: paths.
        path: the unit's file.
        name: its qualified name, or "" for the file.

    Returns:
        The steps in order; () if no entry reaches it.
    """
    for entry in entries:
        last = _use(view, entry, path, name)
        if last is not None:
            return (last,)
    found = _search(view, entries, (), path)
    if path not in found:
        return ()
    links: list[Link] = []
    at = found[path]
    while True:
        ordinal = at.edge.import_index if at.edge else 0
        links.append(Link(at.via, "import", ordinal, at.path))
        if at.via not in found:
            break
        at = found[at.via]
    links.reverse()
    if name:
        closer = _use(view, links[-1].path, path, name)
        links[-1:] = [closer] if closer is not None else links[-1:]
    return tuple(links)


def _use(view: View, user: str, path: str, name: str) -> Link | None:
    """The first reference, else the first import, by which a file uses a unit."""
    for use in uses(view, user).used:
        if (use.path, use.name) == (path, name):
            if use.references:
                return Link(user, "reference", use.references[0], path, name)
            return Link(user, "import", use.imports[0], path, name)
    return None


def _search(
    view: View, entries: tuple[str, ...], holding: Iterable[str], until: str = ""
) -> dict[str, Reached]:
    found: dict[str, Reached] = {}
    started = frozenset(entries)
    waiting: dict[int, list[Reached]] = {
        1: [Reached(path, 1, entries[0]) for path in sorted(set(holding) - started)]
    }
    for entry in entries:
        for distance, reached in _onward(view, entry, 0):
            waiting.setdefault(distance, []).append(reached)
    distance = 1
    while waiting:
        # Imports speak louder than names: an edge replaces a find by name.
        for each in sorted(waiting.pop(distance, ()), key=_has_no_edge):
            if each.path in found or each.path in started:
                continue
            if each.edge is not None and each.edge.kind == "package" and _is_empty(view, each.path):
                continue
            found[each.path] = each
            if each.path == until:
                return found
            for further, reached in _onward(view, each.path, distance):
                if reached.path not in found:
                    waiting.setdefault(further, []).append(reached)
        distance += 1
    return found


def _onward(view: View, path: str, distance: int) -> Iterator[tuple[int, Reached]]:
    for edge in view.resolved(path):
        if edge.status == "file" and edge.target != path:
            # A package that is merely executed on the way is never direct.
            further = max(distance + 1, 2) if edge.kind == "package" else distance + 1
            yield further, Reached(edge.target, further, path, edge)


def _is_empty(view: View, path: str) -> bool:
    return not view.imports(path) and not view.outline(path).symbols


def _has_no_edge(reached: Reached) -> bool:
    return reached.edge is None


def _by_distance(reached: Reached) -> tuple[int, str]:
    return reached.distance, reached.path
