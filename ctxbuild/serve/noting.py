"""Adds findings to a notes file: merged with what stands there, written by rename."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ctxbuild.errors import SourceError, UsageError
from ctxbuild.facts.notes import Finding, add, finding_of, read_notes, remembered
from ctxbuild.stores.atomic import write_if_changed

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Ctxfile

DEFAULT_FILE = "NOTES.md"
_ATTEMPTS = 20


class Added(NamedTuple):
    """What became of a finding.

    Attributes:
        path: of the notes file, as it was named.
        new: False where it was merged with one that stood there.
        finding: as it stands there now.
    """

    path: str
    new: bool
    finding: Finding


def notes_file(ctxfile: Ctxfile | None, named: str | None) -> str:
    """The notes file: as named, else the one that `memory` layers read, else `NOTES.md`.

    Raises:
        UsageError: the ctxfile reads several.
    """
    if named is not None:
        return named
    targets = ctxfile.targets if ctxfile is not None else ()
    read = dict.fromkeys(
        layer.patterns[0] for t in targets for layer in t.layers if layer.source == "memory"
    )
    if len(read) > 1:
        raise UsageError(
            f"the ctxfile reads several notes files: {', '.join(read)}", "name one with --to"
        )
    return next(iter(read), DEFAULT_FILE)


def note_add(root: str, path: str, text: str) -> Added:
    """Adds a finding to a notes file, or brings the one that stands there up to date.

    Args:
        root: the directory that paths are relative to.
        path: of the notes file.
        text: `path: found X; severity Y; suggest Z`; the last two may be left out.

    Raises:
        UsageError: the text is no finding.
        SourceError: the file cannot be read.
        StoreError: it cannot be written.
    """
    finding = finding_of(" ".join(text.split()))
    if finding is None:
        raise UsageError(f"{text!r} is no finding", "write 'PATH: found X; severity Y; suggest Z'")
    finding = replace(finding, digest=_digest(root, finding.path))
    place = Path(os.path.realpath(os.path.join(root, path)))
    before, after, new = "", "", False
    for _ in range(_ATTEMPTS):
        before = _read(place)
        after, new = add(before, finding)
        # Another process may have added something meanwhile.
        if _read(place) == before:
            break
    if after != before:
        write_if_changed(place, after.encode())
    now = next(each for each in read_notes(after.encode()).findings if each.key == finding.key)
    return Added(path, new, now)


def _digest(root: str, path: str) -> str:
    from hashlib import file_digest

    try:
        with open(os.path.join(root, path), "rb") as file:
            return remembered(file_digest(file, "sha256").hexdigest())
    except OSError:
        return ""


def _read(place: Path) -> str:
    try:
        return place.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise SourceError(f"{place}: is not UTF-8", "save it as UTF-8") from error
    except OSError as error:
        raise SourceError(f"{place}: cannot be read: {error.strerror}") from error
