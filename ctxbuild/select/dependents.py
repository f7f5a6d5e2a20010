"""Who uses the entry: call sites in other files, and the tests that reach it, as slices.

Files that import something of the entry's name are looked at, no others: the
index of imported names gives them, resolution confirms them. A step further are
the files that use what was found, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from ctxbuild.model import Candidate, Reason, Rung
from ctxbuild.select.conventions import is_test
from ctxbuild.select.phases import ON_DEMAND

if TYPE_CHECKING:
    from ctxbuild.select.view import EntryView

Unit = tuple[str, str]

_MOST_FILES = 120
"""Files that are looked at per step; what is beyond them is listed by its path alone."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a dependent uses the entry.

    Attributes:
        path, scope: the enclosing definition, "" for the module itself.
        references: ordinals of the uses in it.
        used: what is used, the first one.
        step: 1 for who uses the entry itself.
    """

    path: str
    scope: str
    references: tuple[int, ...]
    used: Unit
    step: int


def candidates(
    view: EntryView,
    layer: str,
    entries: Sequence[Unit],
    *,
    steps: int,
    tests: bool,
    phase: int,
) -> Iterator[Candidate]:
    """One candidate per definition that uses the entry.

    Args:
        entries: (path, symbol in focus or "").
        steps: how many steps of files that use the entry.
        tests: whether tests that use the entry are proposed.
        phase: of every rung.
    """
    known = {path for path, _ in entries}
    targets: set[Unit] = set(entries)
    for step in range(1, max(steps, 1 if tests else 0) + 1):
        sites = [
            site
            for path in _importers(view, targets, known)
            for site in _sites(view, path, targets, step)
        ]
        for site in sites:
            section = "tests" if is_test(site.path) else "dependents"
            if (section == "tests" and tests) or (section == "dependents" and step <= steps):
                yield from _headers(view, layer, site, section)
                yield _candidate(view, layer, site, section, phase)
        known |= {site.path for site in sites}
        targets = {(site.path, site.scope) for site in sites if not is_test(site.path)}


def _importers(view: EntryView, targets: set[Unit], known: set[str]) -> list[str]:
    """Files that may use the targets, near ones first."""
    names: set[str] = set()
    for path, symbol in targets:
        folder, _, file = path.rpartition("/")
        stem = file.partition(".")[0]
        names.add(folder.rpartition("/")[2] if stem == "__init__" else stem)
        if symbol:
            names.add(symbol.partition(".")[0])
        else:
            symbols = view.outline(path).symbols
            names |= {name for name, kind in symbols if "." not in name and kind != "variable"}
    found = {path for name in sorted(names) for path in view.mentions(name)} - known
    return sorted(found, key=lambda path: (-_shared(path, targets), path))[:_MOST_FILES]


def _shared(path: str, targets: set[Unit]) -> int:
    """Leading folders that a path shares with the nearest target."""
    folders = path.split("/")[:-1]
    best = 0
    for target, _ in targets:
        pairs = zip(folders, target.split("/")[:-1], strict=False)
        best = max(best, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return best


def _sites(view: EntryView, path: str, targets: set[Unit], step: int) -> list[Site]:
    """Where a file uses a target: what it merely imports is no use."""
    wanted = {target for target, symbol in targets if not symbol}
    references = view.references(path)
    by_scope: dict[str, dict[int, Unit]] = {}
    for use in view.uses(path).used:
        hit = (use.path in wanted and use.name) or any(
            use.path == target and symbol and _inside(use.name, symbol)
            for target, symbol in targets
        )
        if not hit or not use.certain:
            continue
        for ordinal in use.references:
            scope = _definition(view, path, references[ordinal].scope)
            by_scope.setdefault(scope, {})[ordinal] = (use.path, use.name)
    return [
        Site(path, scope, tuple(sorted(found)), found[min(found)], step)
        for scope, found in sorted(by_scope.items())
    ]


def _inside(name: str, symbol: str) -> bool:
    return name == symbol or name.startswith(f"{symbol}.")


def _definition(view: EntryView, path: str, scope: str) -> str:
    """The innermost scope that is a symbol of the file: nested functions are none."""
    names = {name for name, _ in view.outline(path).symbols}
    while scope and scope not in names:
        scope = scope.rpartition(".")[0]
    return scope


def _unit(path: str, symbol: str, section: str) -> str:
    """Not the unit of the definition itself, which may be shown as a dependency besides."""
    return f"{path}::{symbol}#{section}" if symbol else f"{path}#{section}"


def _headers(view: EntryView, layer: str, site: Site, section: str) -> Iterator[Candidate]:
    """The classes around a site, shown only above it; `pack/budget.py` drops repeats."""
    above = site.scope.rpartition(".")[0]
    while above:
        outer = above.rpartition(".")[0]
        yield Candidate(
            unit=_unit(site.path, above, section),
            path=site.path,
            symbol=above,
            layer=layer,
            section=section,
            order=_position(view, site.path, above),
            ladder=(Rung("skeleton", "none", ON_DEMAND),),
            score=0.1,
            reasons=(Reason("encloses", f"{site.path}::{site.scope}"),),
            parent=_unit(site.path, outer, section) if outer else "",
        )
        above = outer


def _position(view: EntryView, path: str, name: str) -> int:
    symbols = view.outline(path).symbols
    return next((place for place, (symbol, _) in enumerate(symbols) if symbol == name), -1)


def _candidate(view: EntryView, layer: str, site: Site, section: str, phase: int) -> Candidate:
    above = site.scope.rpartition(".")[0]
    used = f"{site.used[0]}::{site.used[1]}"
    return Candidate(
        unit=_unit(site.path, site.scope, section),
        path=site.path,
        symbol=site.scope or "(module)",
        layer=layer,
        section=section,
        order=_position(view, site.path, site.scope),
        ladder=(Rung("name", "", phase, 0.2), Rung("slice", "", phase, 1.0)),
        score=round(0.5 / site.step, 2),
        reasons=tuple(
            Reason("uses", used, (site.path, "reference", ordinal))
            for ordinal in site.references[:4]
        ),
        parent=_unit(site.path, above, section) if above else "",
        references=site.references,
    )
