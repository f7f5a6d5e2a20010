"""Patches: a unified diff, as git, hg, svn or diff write it, read and applied; never an exception.

What cannot be read is a problem with its line; what can be read around it counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ctxbuild.facts.hunks import NO_NEWLINE, Hunk, lines_of
from ctxbuild.model import Problem

Status = Literal["added", "deleted", "modified", "renamed", "copied"]

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)", re.DOTALL)
_FAR = 2_000
"""Lines up and down in which the place of a hunk that moved is sought."""

_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "a": "\a", "b": "\b", "r": "\r"}


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch says of one file.

    Attributes:
        old, new: its path before and after; equal unless it is renamed or copied.
        modes: its mode before and after, "" where the patch does not say it.
        binary: whether contents are binary, so that there are no hunks.
        hunks: in order.
    """

    old: str
    new: str
    status: Status = "modified"
    modes: tuple[str, str] = ("", "")
    binary: bool = False
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch file."""

    files: tuple[FilePatch, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _File:
    """A file while its part of the patch is being read."""

    old: str = ""
    new: str = ""
    status: Status = "modified"
    modes: list[str] = field(default_factory=lambda: ["", ""])
    binary: bool = False
    hunks: list[Hunk] = field(default_factory=list)

    def done(self) -> FilePatch:
        new = self.new or self.old
        modes, hunks = (self.modes[0], self.modes[1]), tuple(self.hunks)
        return FilePatch(self.old or new, new, self.status, modes, self.binary, hunks)


def parse(text: str) -> Patch:
    """Reads a patch.

    Args:
        text: with line feeds as line ends; what stands around the diffs (a message, a
            signature) is passed over.
    """
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._rows = text.removesuffix("\n").split("\n")
        self._at = 0
        self._file: _File | None = None
        self._files: list[FilePatch] = []
        self._problems: list[Problem] = []

    def read(self) -> Patch:
        while self._at < len(self._rows):
            row = self._rows[self._at]
            if row.startswith("diff --git "):
                self._begin(*_git_paths(row[11:]))
            elif row.startswith("--- ") and self._next().startswith("+++ "):
                self._names(row[4:], self._next()[4:])
                self._at += 1
            elif row.startswith("@@ -"):
                self._hunk(row)
                continue
            elif row.startswith(("@@@ ", "diff --cc ", "diff --combined ")):
                self._problem("combined", "is the diff of a merge, which has no single base")
                self._end()
            elif self._file is not None:
                self._extended(self._file, row)
            self._at += 1
        self._end()
        return Patch(tuple(self._files), tuple(self._problems))

    def _next(self) -> str:
        return self._rows[self._at + 1] if self._at + 1 < len(self._rows) else ""

    def _problem(self, kind: str, message: str) -> None:
        self._problems.append(Problem(kind, f"line {self._at + 1}: {message}"))

    def _begin(self, old: str, new: str) -> None:
        self._end()
        self._file = _File(old, new)

    def _end(self) -> None:
        if self._file is not None:
            self._files.append(self._file.done())
        self._file = None

    def _names(self, old: str, new: str) -> None:
        """The lines `--- old` and `+++ new`; without a `diff --git` they begin a file."""
        if self._file is None or self._file.hunks:
            self._begin("", "")
        file = self._file
        assert file is not None
        before, after = _path(old, "a/"), _path(new, "b/")
        if not before or not after:
            file.status = "deleted" if before else "added"
            file.old = file.new = before or after
        elif file.status not in ("renamed", "copied"):
            file.old = file.new = after

    def _extended(self, file: _File, row: str) -> None:
        """A line of git's extended header."""
        key, _, value = row.partition(" ")
        if row.startswith(("rename from ", "copy from ")):
            file.status = "renamed" if key == "rename" else "copied"
            file.old = _unquoted(value.partition(" ")[2])
        elif row.startswith(("rename to ", "copy to ")):
            file.new = _unquoted(value.partition(" ")[2])
        elif row.startswith("new file mode "):
            file.status, file.modes[1] = "added", row[14:].strip()
        elif row.startswith("deleted file mode "):
            file.status, file.modes[0] = "deleted", row[18:].strip()
        elif row.startswith("old mode "):
            file.modes[0] = row[9:].strip()
        elif row.startswith("new mode "):
            file.modes[1] = row[9:].strip()
        elif row.startswith(("GIT binary patch", "Binary files ")):
            file.binary = True

    def _hunk(self, row: str) -> None:
        found = _HUNK.match(row)
        if found is None:
            self._problem("hunk", "the header of a hunk cannot be read")
            self._at += 1
            return
        if self._file is None:
            self._problem("hunk", "a hunk of no file")
            self._file = _File()
        starts = int(found[1]), int(found[3])
        counts = [int(found[2] or 1), int(found[4] or 1)]
        heading = found[5].strip()
        rows: list[str] = []
        began = self._at
        left = list(counts)
        self._at += 1
        while self._at < len(self._rows) and (any(left) or self._rows[self._at][:1] == "\\"):
            line = self._rows[self._at]
            mark = line[:1] or " "  # some mailers strip the blank of an empty line
            if mark not in " +-\\" or (mark != "\\" and not _takes(left, mark)):
                break
            rows.append(line or " ")
            self._at += 1
        if any(left):
            self._at, at = began, self._at
            self._problem("hunk", f"the hunk ends {max(left)} lines too early")
            self._at = at
        if self._file.old or self._file.new:
            old, new = counts[0] - left[0], counts[1] - left[1]
            self._file.hunks.append(Hunk(starts[0], old, starts[1], new, tuple(rows), heading))


def _takes(left: list[int], mark: str) -> bool:
    """Counts a line of a hunk down; False if the header has none left for it."""
    needs = [mark != "+", mark != "-"]
    if any(need and not have for need, have in zip(needs, left, strict=True)):
        return False
    for side, need in enumerate(needs):
        left[side] -= need
    return True


def _git_paths(said: str) -> tuple[str, str]:
    """The paths of a `diff --git` line; lines that follow say them better where they differ."""
    if said.startswith('"'):
        first, rest = _quoted(said)
        second = _unquoted(rest.strip())
        return _stripped(first, "a/"), _stripped(second, "b/")
    if said.endswith('"') and ' "' in said:
        first, _, second = said.partition(' "')
        return _stripped(first, "a/"), _stripped(_unquoted(f'"{second}'), "b/")
    half = len(said) // 2
    first, second = said[:half], said[half + 1 :]
    if said[half : half + 1] == " " and _stripped(first, "a/") == _stripped(second, "b/"):
        return _stripped(first, "a/"), _stripped(second, "b/")
    first, mark, second = said.partition(" b/")
    return (_stripped(first, "a/"), second) if mark else ("", "")


def _stripped(path: str, prefix: str) -> str:
    return path.removeprefix(prefix)


def _path(said: str, prefix: str) -> str:
    """The path of a `---` or `+++` line, "" for no file."""
    name = _unquoted(said) if said.startswith('"') else said.partition("\t")[0].rstrip()
    return "" if name == "/dev/null" else _stripped(name, prefix)


def _unquoted(said: str) -> str:
    return _quoted(said)[0] if said.startswith('"') else said


def _quoted(said: str) -> tuple[str, str]:
    """A path in quotes as git writes it, and what follows it."""
    data = bytearray()
    at = 1
    while at < len(said) and said[at] != '"':
        if said[at] != "\\" or at + 1 == len(said):
            data += said[at].encode()
            at += 1
        elif said[at + 1 : at + 4].isdigit():
            data.append(_byte(said[at + 1 : at + 4]))
            at += 4
        else:
            data += _ESCAPES.get(said[at + 1], said[at + 1]).encode()
            at += 2
    return data.decode("utf-8", "replace"), said[at + 1 :]


def _byte(digits: str) -> int:
    """The byte that three digits say, a question mark if they are not octal."""
    octal = all(digit in "01234567" for digit in digits)
    return int(digits, 8) & 255 if octal else ord("?")


# --- applying ---------------------------------------------------------------------------


def applied(text: str, hunks: Sequence[Hunk], *, reverse: bool = False) -> str | int:
    """A text with hunks applied to it.

    Args:
        text: with line feeds as line ends.
        hunks: in order.
        reverse: takes them back instead.

    Returns:
        The text; or, if one does not apply, its number, counted from 1.
    """
    lines = lines_of(text)
    made: list[str] = []
    at = drift = 0
    for number, hunk in enumerate(hunks, 1):
        old, new = _sides(hunk)
        start = hunk.old_start - (hunk.old_count > 0)
        if reverse:
            old, new = new, old
            start = hunk.new_start - (hunk.new_count > 0)
        place = _place(lines, old, start + drift, at)
        if place is None:
            return number
        drift = place - start
        made += lines[at:place] + new
        at = place + len(old)
    return "".join(made + lines[at:])


def _sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    """The lines before and after, with line feeds."""
    old: list[str] = []
    new: list[str] = []
    mark = " "
    for row in hunk.rows:
        if row.startswith("\\"):
            if row != NO_NEWLINE:
                continue
            for side, but in ((old, "+"), (new, "-")):
                if side and mark != but:
                    side[-1] = side[-1].removesuffix("\n")
            continue
        mark, line = row[:1], row[1:] + "\n"
        if mark != "+":
            old.append(line)
        if mark != "-":
            new.append(line)
    return old, new


def _place(lines: list[str], wanted: list[str], start: int, least: int) -> int | None:
    """Where the wanted lines stand, nearest to `start`, at `least` or behind it."""
    for step in range(_FAR):
        for place in (start - step, start + step):
            fits = least <= place <= len(lines) - len(wanted)
            if fits and lines[place : place + len(wanted)] == wanted:
                return place
        if not wanted:
            break
    return None
