"""One line per file: the other names of direct dependencies, then the indirect ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ctxbuild.model import Candidate, Reason, Rung
from ctxbuild.select.phases import AROUND, INDIRECT

if TYPE_CHECKING:
    from ctxbuild.graph.reach import Reach, Reached
    from ctxbuild.graph.view import View
    from ctxbuild.select.used import Used

_FAR = 3
"""From this distance on, an indirect file is its path alone."""


def files(view: View, layer: str, found: Reach, used: Used) -> Iterator[Candidate]:
    """The files that the entries reach, and which of them run dynamic code."""
    for each in found.direct:
        yield from _other_names(view, layer, each, used)
    for each in found.indirect:
        rungs = [Rung("name", "", INDIRECT, 1.0 / each.distance)]
        if each.distance < _FAR:
            rungs.append(Rung("summary", "", INDIRECT, 1.2 / each.distance))
        yield _line(each.path, each.path, layer, "indirect", rungs, (_reason(each),))
    for path in found.dynamic:
        what = ", ".join(view.outline(path).dynamic)
        names = (f"dynamic code ({what}): anything may be reached",)
        reasons = (Reason("dynamic", path, detail=what),)
        rungs = [Rung("summary", "", AROUND)]
        yield _line(f"{path}#dynamic", path, layer, "open", rungs, reasons, names)


def _other_names(view: View, layer: str, each: Reached, used: Used) -> Iterator[Candidate]:
    outline, shown = view.outline(each.path), used.shown(each.path)
    names = tuple(
        dict.fromkeys(
            name
            for name, kind in outline.symbols
            if "." not in name and kind in ("class", "function") and name not in shown
        )
    )
    if names or not shown:
        reasons = (*used.modules.get(each.path, ()), _reason(each))
        rungs = [Rung("name", "", AROUND, 0.5), Rung("summary", "", AROUND, 1.0)]
        yield _line(f"{each.path}#names", each.path, layer, "names", rungs, reasons, names)


def _line(
    unit: str,
    path: str,
    layer: str,
    section: str,
    rungs: Sequence[Rung],
    reasons: tuple[Reason, ...],
    names: tuple[str, ...] = (),
) -> Candidate:
    score = 0.2 if section == "indirect" else 0.3
    return Candidate(unit, path, "", layer, section, 0, tuple(rungs), score, reasons, names)


def _reason(each: Reached) -> Reason:
    if each.edge is None:
        return Reason("holds", each.via)
    kind = "imported" if each.edge.kind == "top" else f"imported-{each.edge.kind}"
    return Reason(kind, each.via, (each.via, "import", each.edge.import_index), str(each.distance))
