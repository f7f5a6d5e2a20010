"""`diff` layers: the hunks of a change, each under the signature around it, and what they concern.

Must-have are the hunks, and a line for what is no text to read (renamed, deleted,
binary, generated, ...); useful are definitions that they use, call sites and tests;
optional, only where asked for, are history and neighbours. Each tier is bought when
the one above it is.

The hunks share fairly: all files fill up together, small hunks first ("water-filling",
Bertsekas and Gallager, "Data Networks", 1987, in steps of a factor of two). A large
hunk is cut to its first lines, and what is left out is named.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ctxbuild.errors import RevisionError
from ctxbuild.facts.hunks import Hunk, cut
from ctxbuild.model import Candidate, Lines, Proposal, Reason, Refusal, Rung
from ctxbuild.select.conventions import is_test
from ctxbuild.select.differing import STATUS, File, counts, is_nothing, notes, unread, why_not
from ctxbuild.select.phases import ON_DEMAND
from ctxbuild.select.view import EntryView
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.facts.change import Changed
    from ctxbuild.source.ctxfile import Layer
    from ctxbuild.source.diffs import Differences, Listed

OPTIONAL = 60
"""The phase of history and neighbours."""

_TITLED, _HUNKS, _LEVELS, _NAMED = 0, 2, 30, 36
"""Phases: what is one line; the hunks by how much of their file they take; their names, where
nothing else of them is shown."""

_FIRST = 16
"""Rows of a file with which its hunks begin; every phase that follows doubles them."""

_CUTS = (16, 64, 256, 1_024)
"""Rows to which a large hunk may be cut."""

_MOST_FILES = 400
"""Files whose contents are compared; the others are named."""

_MOST_CONCERNED = 120
"""Files for which it is worked out what they concern; beyond them no pack has room for it."""

_MOST_LINES = 150
"""Hunks up to which each that is left out has a line of its own; else one line per file."""


class DiffView(EntryView, Protocol):
    """What this layer asks."""

    def differences(self, said: str) -> Differences:
        """What differs, file by file."""

    def changed(self, said: str, path: str) -> Changed | None:
        """What changed inside a file; None if it is no source."""

    def concerned(self, said: str, path: str) -> tuple[Candidate, ...]:
        """What the definitions that a file's change touches concern."""

    def history(self, said: str, commits: int) -> dict[str, tuple[str, ...]]:
        """Path to the subjects of the last commits that changed it."""

    def lines(self, path: str) -> Lines:
        """Where the symbols, imports and references of a file stand."""


def propose(asker: DiffView, layer: Layer) -> Proposal:
    """Everything that a diff layer proposes.

    Raises:
        RevisionError: there is no such revision, patch file or repository.
    """
    said = layer.patterns[0]
    found = asker.differences(said)
    if found.problem:
        what = f"layer {layer.name!r}: diff = {said!r}"
        raise RevisionError(f"{what}: {found.problem}", found.hint)
    differing = [each for each in found.files if _counts_as_change(asker, layer, each)]
    ranked = sorted(differing, key=lambda each: (_rank(asker, each), each.path))
    looked_at = sorted(ranked[:_MOST_FILES], key=lambda each: each.path)
    files = [_file(asker, layer, each) for each in looked_at]
    files = [each for each in files if each.changed is None or not is_nothing(each)]
    must = list(_must_have(layer, files))
    must += _totals(layer, files, ranked[_MOST_FILES:], found.unlisted)
    shown_units = {f"{f.path}::{name}" for f in files if f.hunks for name in _visible(f)}
    useful = _useful(asker, layer, files, shown_units) if must else []
    optional = _optional(asker, layer, files)
    return Proposal(
        candidates=(*must, *useful, *optional),
        warnings=(*found.warnings, *_warnings(files, found.unlisted)),
        refused=tuple(
            Refusal(f"{each.path}@diff", "cap", detail=f"only {_MOST_FILES} files are compared")
            for each in ranked[_MOST_FILES:]
        ),
        record=_record(said, files, len(differing)),
    )


def _counts_as_change(asker: DiffView, layer: Layer, each: Listed) -> bool:
    """Whether it is tracked, or a new source; the files of the session itself are neither."""
    if each.path in dict(layer.options).get("apart", ()):
        return False
    return each.status != "?" or (layer.option("untracked") and asker.exists(each.path))


def _rank(asker: DiffView, each: Listed) -> int:
    """What is compared first where there is too much: code, then tests, then the rest."""
    if unread(each):
        return 3
    code = each.path.endswith((".py", ".pyi")) or bool(asker.outline(each.path).language)
    return (1 if is_test(each.path) else 0) if code else 2


# --- files ------------------------------------------------------------------------------


def _file(asker: DiffView, layer: Layer, listed: Listed) -> File:
    # What such an entry names is no content of its own.
    apart = unread(listed) in ("submodule", "link", "unmerged")
    changed = None if apart else asker.changed(layer.patterns[0], listed.path)
    return File(listed, changed, why_not(layer, listed, changed))


# --- must have --------------------------------------------------------------------------


def _must_have(layer: Layer, files: Sequence[File]) -> Iterator[Candidate]:
    few = sum(len(each.hunks) for each in files) <= _MOST_LINES
    for file in files:
        if not few or not file.hunks or notes(file):
            yield _line(layer, file)
        yield from _hunks(layer, file, named=few)


def _line(layer: Layer, file: File) -> Candidate:
    """One line on a file: what happened to it, why it is not shown, and what that spares."""
    status, path = file.listed.status, file.path
    words = [STATUS.get(status, "changed"), *notes(file)]
    if file.why and file.why not in words:
        words.append(file.why)
    size = counts(file)
    text = f"- {shown(path)}: {', '.join(words)}{f' ({size})' if size else ''}\n"
    return Candidate(
        unit=f"{path}@diff",
        path=path,
        symbol="",
        layer=layer.name,
        section="changes",
        order=0,
        ladder=(Rung("summary", "", _TITLED, 4.0 if file.why else 1.0, text),),
        score=0.9,
        reasons=(Reason("changed", detail=file.why or STATUS.get(status, "changed")),),
        pinned=layer.pin,
    )


def _hunks(layer: Layer, file: File, *, named: bool) -> Iterator[Candidate]:
    """The hunks of a file, with ladders that let all files fill up together."""
    order = sorted(range(len(file.hunks)), key=lambda n: (file.hunks[n].size, n))
    before: dict[int, int] = {}
    taken = 0
    for number in order:
        before[number] = taken
        taken += file.hunks[number].size
    for number, hunk in enumerate(file.hunks):
        yield Candidate(
            unit=f"{file.path}@hunk-{number + 1}",
            path=file.path,
            symbol=hunk.symbol or "(module)",
            layer=layer.name,
            section="hunks",
            order=number,
            ladder=_ladder(file, number, hunk, before[number], named=named),
            score=1.0,
            reasons=(Reason("changed", detail=f"+{hunk.added} -{hunk.removed}"),),
            pinned=layer.pin,
            language="diff",
            lines=(hunk.new_start, hunk.new_start + max(hunk.new_count - 1, 0)),
        )


def _ladder(file: File, number: int, hunk: Hunk, before: int, *, named: bool) -> tuple[Rung, ...]:
    rungs = []
    if named:
        where = f" in {hunk.symbol}" if hunk.symbol else ""
        name = f"{shown(file.path)}@hunk-{number + 1}"
        text = f"- {name}: +{hunk.added} -{hunk.removed} lines{where}, left out\n"
        rungs.append(Rung("name", "", _NAMED, 0.1, text))
    size = hunk.size
    for rows in _CUTS:
        if size > 2 * rows:
            part = cut(hunk, rows)
            rungs.append(Rung("slice", "", _level(before + rows), 1.0 + rows / size, part.text))
    rungs.append(Rung("full", "", _level(before + size), 3.0, hunk.text))
    return tuple(rungs)


def _level(rows: int) -> int:
    """The phase in which so many rows of a file are bought."""
    level, reach = 0, _FIRST
    while rows > reach and level < _LEVELS:
        level, reach = level + 1, 2 * reach
    return _HUNKS + level


def _totals(
    layer: Layer, files: Sequence[File], beyond: Sequence[Listed], unlisted: int
) -> list[Candidate]:
    """One line on the whole change, and on what nobody looked into."""
    said = layer.patterns[0]
    added = sum(each.changed.added for each in files if each.changed)
    removed = sum(each.changed.removed for each in files if each.changed)
    count = len(files) + len(beyond)
    if not count:
        text = f"- nothing differs ({said})\n"
    else:
        text = f"- {count} files in all ({said}), +{added} -{removed} lines"
        text += f"; {_folders(beyond)}\n" if beyond else "\n"
    if unlisted:
        text = f"{text[:-1]}; {unlisted} more untracked files\n"
    return [
        Candidate(
            unit=f"{said}@diff" if "/" in said else f"diff {said}",
            path="",
            symbol="",
            layer=layer.name,
            section="changes",
            order=0,
            ladder=(Rung("summary", "", _TITLED, 100.0, text),),
            score=0.5,
            reasons=(Reason("changed", detail=str(count)),),
            pinned=layer.pin,
        )
    ]


def _folders(beyond: Sequence[Listed]) -> str:
    """Where the files stand that were not compared, the fullest folders first."""
    counts: dict[str, int] = {}
    for each in beyond:
        folder = each.path.partition("/")[0] if "/" in each.path else "."
        counts[folder] = counts.get(folder, 0) + 1
    first = sorted(counts, key=lambda folder: (-counts[folder], folder))
    listed = [f"{counts[folder]} in {shown(folder)}" for folder in first[:8]]
    rest = sum(counts[folder] for folder in first[8:])
    if rest:
        listed.append(f"{rest} elsewhere")
    return f"{len(beyond)} of them not compared: {', '.join(listed)}"


def _warnings(files: Sequence[File], unlisted: int) -> Iterator[str]:
    for file in files:
        note = file.changed.note if file.changed else ""
        if note.startswith("conflict"):
            number = note.partition(" ")[2]
            yield f"{shown(file.path)}: hunk {number} of the patch does not apply: shown as it is"
    if unlisted:
        yield f"{unlisted} untracked files are left out: there are too many"


def _record(said: str, files: Sequence[File], differing: int) -> dict[str, object]:
    return {
        "diff": said,
        "files": differing,
        "compared": sum(each.changed is not None for each in files),
        "hunks": sum(len(each.hunks) for each in files),
        "added": sum(each.changed.added for each in files if each.changed),
        "removed": sum(each.changed.removed for each in files if each.changed),
        "named": {each.path: each.why for each in files if each.why},
    }


# --- useful -----------------------------------------------------------------------------


def _visible(file: File) -> set[str]:
    """Definitions of a file whose signature the hunks show, at least in a heading."""
    return set(file.changed.touched) if file.changed else set()


def _useful(
    asker: DiffView, layer: Layer, files: Sequence[File], visible: set[str]
) -> list[Candidate]:
    """What the hunks concern, each once, with the reasons of all that concern it."""
    found: dict[str, Candidate] = {}
    for file in [each for each in files if each.changed and not each.changed.kind][
        :_MOST_CONCERNED
    ]:
        for each in asker.concerned(layer.patterns[0], file.path):
            bought = each.ladder[0].phase < ON_DEMAND
            if bought and each.section == "used" and each.unit in visible:
                continue
            known = found.get(each.unit)
            found[each.unit] = each if known is None else _merged(known, each)
    inside = _Inside(asker, files)
    return [
        replace(each, layer=layer.name)
        for unit, each in sorted(found.items())
        if not inside.covers(each)
    ]


def _merged(one: Candidate, other: Candidate) -> Candidate:
    ladder = one.ladder if one.ladder[0].phase <= other.ladder[0].phase else other.ladder
    return replace(
        one,
        ladder=ladder,
        score=max(one.score, other.score),
        reasons=tuple(dict.fromkeys((*one.reasons, *other.reasons)))[:8],
        references=tuple(sorted({*one.references, *other.references})),
    )


class _Inside:
    """Whether a call site stands in the lines of a hunk already."""

    def __init__(self, asker: DiffView, files: Sequence[File]) -> None:
        self._asker = asker
        self._hunks = {file.path: file.hunks for file in files if file.hunks}

    def covers(self, each: Candidate) -> bool:
        hunks = self._hunks.get(each.path, ())
        if not hunks or not each.references:
            return False
        places = self._asker.lines(each.path).references
        lines = [places[ordinal] for ordinal in each.references if ordinal < len(places)]
        return all(
            any(h.new_start <= line < h.new_start + h.new_count for h in hunks) for line in lines
        )


# --- optional ---------------------------------------------------------------------------


def _optional(asker: DiffView, layer: Layer, files: Sequence[File]) -> Iterator[Candidate]:
    if layer.option("neighbours"):
        yield from _neighbours(asker, layer, files)
    if commits := layer.option("history"):
        past = asker.history(layer.patterns[0], commits)
        for file in files:
            if subjects := past.get(file.path, ()):
                yield _listed(layer, file.path, "history", subjects, file.path)


def _neighbours(asker: DiffView, layer: Layer, files: Iterable[File]) -> Iterator[Candidate]:
    """The other files of the folders in which something changed, a line each."""
    changed = {file.path for file in files}
    folders = sorted({posixpath.dirname(path) for path in changed})
    for folder in folders:
        pattern = f"{folder}/*" if folder else "*"
        for path in asker.matching(pattern):
            if posixpath.dirname(path) == folder and path not in changed:
                yield _listed(layer, path, "neighbours", (), folder)


def _listed(layer: Layer, path: str, section: str, names: tuple[str, ...], by: str) -> Candidate:
    return Candidate(
        unit=f"{path}#{section}",
        path=path,
        symbol="",
        layer=layer.name,
        section=section,
        order=0,
        ladder=(Rung("summary", "", OPTIONAL),),
        score=0.1,
        reasons=(Reason(section, by),),
        names=names,
    )
