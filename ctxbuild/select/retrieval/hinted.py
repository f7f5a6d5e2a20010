"""What a question points at by itself: named definitions, paths, frames of traces, messages.

Each function gives raw scores by number of unit (or of file). A hint that fits
many places says little about each: its weight is shared out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ctxbuild.facts.words import words
from ctxbuild.select.conventions import is_test
from ctxbuild.select.retrieval.planner import name_term

if TYPE_CHECKING:
    from ctxbuild.graph.index import Corpus, Known
    from ctxbuild.select.retrieval.model import Frame, Hints
    from ctxbuild.select.retrieval.weights import Weights

_MOST_DEFINERS = 60
"""A name with more definitions than this names nothing."""

_FOREIGN = frozenset(
    "np pd plt os sys re json numpy pandas matplotlib datetime time math random io".split()  # noqa: SIM905
)
"""Modules of others under their usual names: what hangs on them is rarely ours."""

_GRAM = 4
_MOST_GRAMS = 100
_MOST_HOLDERS = 20
_MOST_READ = 300


# --- names ------------------------------------------------------------------------------


def names(corpus: Corpus, hints: Hints, weights: Weights) -> dict[int, float]:
    """Definitions of the identifiers, imports and tests that a question names."""
    found: dict[int, float] = {}
    tops = {part for file in corpus.files for part in file.path.split("/")[:2]}
    wanted = [*hints.names, *((name, 0.5) for name in hints.imports)]
    wanted += [(name, 1.0) for name in hints.tests]
    classes: dict[int, tuple[Known, float]] = {}
    for name, weight in wanted:
        fitting, fit = _definers(corpus, name, tops)
        if not fitting or len(fitting) > _MOST_DEFINERS:
            continue
        untested = sum(not is_test(each.path) for each in fitting)
        share = weight * fit / (untested or len(fitting)) ** 0.6
        for each in fitting:
            _give(found, each.unit, share)
            if each.kind == "class":
                classes[each.unit] = (each, found[each.unit])
    for each, score in classes.values():
        for member in corpus.units_in(each.file):
            if member.name.startswith(f"{each.name}."):
                more = 1.5 if member.name.endswith(".__init__") else 1.0
                _give(found, member.unit, score * weights.members * more)
    return found


def _give(found: dict[int, float], unit: int, score: float) -> None:
    """The best hint counts whole, each other one a fifth."""
    known = found.get(unit, 0.0)
    found[unit] = max(known, score) + 0.2 * min(known, score)


def _definers(corpus: Corpus, name: str, tops: set[str]) -> tuple[list[Known], float]:
    """The definitions that a name may mean, and how well it fits them."""
    parts = [part for part in name.split(".") if part]
    if not parts or len(parts[-1]) < 2:
        return [], 0.0
    last = parts[-1]
    same = corpus.named(last)
    exact = [each for each in same if each.name.rpartition(".")[2] == last]
    candidates, fit = (exact, 1.0) if exact else (same, 0.6)
    if len(parts) == 1 or not candidates:
        return candidates, fit
    narrow = _narrowed(candidates, parts, tops)
    if narrow:
        return narrow, fit * 1.3
    return candidates, fit * (0.2 if parts[0] in _FOREIGN else 0.7)


def _narrowed(candidates: list[Known], parts: list[str], tops: set[str]) -> list[Known]:
    """The candidates that the parts before the last one fit: a class, a module, a package."""
    ending = "." + ".".join(parts[-2:])
    found = [each for each in candidates if f".{each.name}".endswith(ending)]
    if found:
        return found
    module = "/".join(parts[:-1])
    found = [
        each
        for each in candidates
        if "." not in each.name
        and each.path.rpartition(".")[0].removesuffix("/__init__").endswith(module)
    ]
    if found or parts[0] not in tops:
        return found
    # Re-exported by the package: it stands somewhere below it.
    return [
        each
        for each in candidates
        if "." not in each.name and f"/{each.path}".find(f"/{parts[0]}/") >= 0
    ]


# --- paths ------------------------------------------------------------------------------


def paths(corpus: Corpus, hints: Hints) -> dict[int, float]:
    """Files that a question names."""
    found: dict[int, float] = {}
    for hint in hints.paths:
        files, fit = files_of(corpus, hint)
        for number in files:
            found[number] = max(found.get(number, 0.0), fit)
    for dotted, weight in hints.names:
        if "." in dotted:
            files, fit = files_of(corpus, dotted.replace(".", "/") + ".py")
            for number in files if fit >= 0.5 and len(files) == 1 else ():
                found[number] = max(found.get(number, 0.0), fit * min(1.0, weight))
    return found


def files_of(corpus: Corpus, hint: str) -> tuple[list[int], float]:
    """The files whose paths end most like a hint, and how sure that is.

    Traces come from other machines: `/x/site-packages/pkg/a.py` means `src/pkg/a.py`.
    """
    wanted = [part for part in hint.split("/") if part not in ("", ".", "..", "~")]
    if not wanted:
        return [], 0.0
    best, most = [], 0
    for number in corpus.by_base.get(wanted[-1], ()):
        common = _common_end(wanted, corpus.files[number].path.split("/"))
        if common > most:
            best, most = [number], common
        elif common == most:
            best.append(number)
    if not best:
        return [], 0.0
    if most == 1 and (len(wanted) > 1 or wanted[-1] == "__init__.py"):
        lone = len(best) == 1 and wanted[-1] not in _COMMON_FILES
        return (best, 0.3) if lone else ([], 0.0)
    return best, 1.0 / len(best) ** 0.7


_COMMON_FILES = frozenset(
    "__init__.py utils.py base.py core.py conftest.py common.py compat.py setup.py".split()  # noqa: SIM905
)


def _common_end(one: list[str], other: list[str]) -> int:
    common = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        common += 1
    return common


# --- frames -----------------------------------------------------------------------------


def frames(
    corpus: Corpus, hints: Hints, decay: float = 0.7
) -> tuple[dict[int, float], dict[int, float]]:
    """(units, files) that frames of traces stand in; the innermost of ours weighs most."""
    units: dict[int, float] = {}
    files: dict[int, float] = {}
    place = 0
    for frame in hints.frames:
        if frame.depth == 1:
            place = 0
        numbers, fit = files_of(corpus, frame.path)
        if fit < 0.5 or is_test(corpus.files[numbers[0]].path):
            continue
        place += 1
        weight = place**-decay
        for number in numbers:
            inside = _in_frame(corpus, number, frame)
            for each in inside:
                share = weight / len(inside) ** 0.5
                units[each.unit] = max(units.get(each.unit, 0.0), share)
            files[number] = max(files.get(number, 0.0), weight)
    return units, files


def _in_frame(corpus: Corpus, number: int, frame: Frame) -> list[Known]:
    """The definition that a frame stands in: by its name, then by its line.

    The name first: a trace comes from another version, in which lines differ.
    """
    every = corpus.units_in(number)
    last = frame.name.rpartition(".")[2]
    found = [e for e in every if last and e.name.rpartition(".")[2] == last and e.kind != "module"]
    if "." in frame.name:
        found = [e for e in found if e.name.endswith(frame.name)] or found
    if last and not found:
        holding = set(corpus.holding(name_term(last)))
        found = [e for e in every if e.unit in holding]
    if frame.line and len(found) != 1:
        around = [
            each
            for each in found or every
            if each.kind == "function" and each.lines[0] <= frame.line <= each.lines[1]
        ]
        found = around or found
    return found


# --- messages ---------------------------------------------------------------------------


def messages(corpus: Corpus, hints: Hints) -> dict[int, float]:
    """Units that hold runs of words of a quoted message: most likely they say it."""
    found: dict[int, float] = {}
    for gram in _grams(hints.messages):
        holders = corpus.phrase(gram, _MOST_READ)
        holders = [unit for unit in holders if not is_test(corpus.files[corpus.file_of[unit]].path)]
        if 0 < len(holders) <= _MOST_HOLDERS:
            for unit in holders:
                found[unit] = found.get(unit, 0.0) + 1 / len(holders)
    return found


def _grams(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    seen: set[tuple[str, ...]] = set()
    for text in texts:
        split = words(text)
        size = min(_GRAM, len(split))
        if size < _GRAM - 1:
            continue
        for start in range(len(split) - size + 1):
            gram = tuple(split[start : start + size])
            if gram not in seen:
                seen.add(gram)
                yield gram
            if len(seen) >= _MOST_GRAMS:
                return
