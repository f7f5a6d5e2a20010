"""What was built, one after another: a line per build, and the parts it can be planned again from.

`log/builds.jsonl` holds JSON lines: builds, and the marks that callers gave them. A line
is written at once, so that a reader sees all of it or nothing; what a crash cut short
is passed over. `log/blobs/` holds the parts of the records, named by content and
shared among builds. Both are bounded: the oldest builds go first.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from ctxbuild.errors import UsageError
from ctxbuild.pack.record import names_in
from ctxbuild.stores.assembly_lines import (
    Build,
    Mark,
    Marked,
    Story,
    build_data,
    line_in,
    listed,
    mark_data,
    near,
    row_of,
)
from ctxbuild.stores.blobs import Blobs

FOLDER: Final = "log"
MOST_BUILDS: Final = 400
"""Builds that are kept."""

MOST_BYTES: Final = 64 << 20
"""Bytes that their parts may take on the disk, compressed."""

SHORTEST: Final = 4
"""Fewest digits that name a build."""

_KEPT: Final = 0.8
"""What is left of a bound when it was passed, so that not every build tidies up."""

_DIGITS: Final = 8
_MOST_PART: Final = 1 << 28


class AssemblyLog:
    """The log of a project. Who writes to it holds the lock of the cache.

    Args:
        cache: the cache directory.
        most_builds, most_bytes: its bounds.
    """

    def __init__(
        self, cache: Path, *, most_builds: int = MOST_BUILDS, most_bytes: int = MOST_BYTES
    ) -> None:
        self.path = cache / FOLDER / "builds.jsonl"
        self._blobs = Blobs(cache / FOLDER / "blobs")
        self._most_builds = most_builds
        self._most_bytes = most_bytes
        self._added = 0

    # --- parts --------------------------------------------------------------------------

    def put(self, part: bytes) -> str:
        """Keeps a part of a record; gives its name.

        Raises:
            OSError: it cannot be written.
        """
        data = zlib.compress(part, 3)
        if not self._blobs.path(sha256(data).hexdigest()).exists():
            self._added += len(data)
        return self._blobs.put(data)

    def get(self, name: str) -> bytes:
        """A part by its name.

        Raises:
            UsageError: it is gone or damaged.
        """
        data = self._blobs.get(name)
        if data is None:
            raise _gone(name)
        return zlib.decompressobj().decompress(data, _MOST_PART)

    # --- lines --------------------------------------------------------------------------

    def read(self) -> Story:
        """All lines that can be read."""
        lines: list[Build | Marked] = []
        damaged = foreign = 0
        for row in self._rows():
            line = line_in(row)
            if line is None:
                damaged += 1
            elif isinstance(line, int):
                foreign += 1
            else:
                lines.append(line)
        return Story(tuple(lines), damaged, foreign)

    def last(self) -> Build | None:
        """The build that was logged last."""
        lines = (line_in(row) for row in reversed(self._rows()))
        return next((line for line in lines if isinstance(line, Build)), None)

    def append(
        self,
        target: str,
        digest: str,
        recorded: tuple[str, str],
        plan: str,
        files: Iterable[tuple[str, str]],
        metrics: dict[str, Any],
        at: int,
    ) -> Build:
        """Adds a build whose parts have been kept; drops the oldest if it is too much.

        Args:
            target, digest: of its pack.
            recorded: name of the record's first part, and digest of its inputs.
            plan: name of the part with its plan.
            files: (name of an output, SHA-256).
            metrics: plain data about it.
            at: seconds since 1970.

        Raises:
            OSError: it cannot be written.
        """
        last = self.last()
        number = last.number + 1 if last else 1
        record, inputs = recorded
        build = Build(
            build=f"{inputs[:_DIGITS]}-{number}",
            number=number,
            at=at,
            target=target,
            digest=digest,
            inputs=inputs,
            record=record,
            plan=plan,
            files=tuple(files),
            parts=self._added,
            total=(last.total if last else 0) + self._added,
            count=(last.count if last else 0) + 1,
            metrics=metrics,
        )
        self._added = 0
        self._append(build_data(build))
        if build.count > self._most_builds or build.total > self._most_bytes:
            self.trim()
        return build

    def mark(self, build: str, mark: Mark, note: str, at: int) -> None:
        """Adds a mark of a build.

        Raises:
            OSError: it cannot be written.
        """
        self._append({"kind": "mark", "build": build, "mark": mark, "note": note, "at": at})

    def find(self, named: str) -> Build:
        """The build of that name, its number, or the first digits of it; a target's last one.

        Raises:
            UsageError: there is none, or several are meant; the message names what is near.
        """
        builds = self.read().builds
        wanted = named.strip().lower()
        for meant in (
            [b for b in builds if wanted in (b.build, str(b.number))],
            [b for b in builds if b.target == named.strip()][-1:],
            [b for b in builds if len(wanted) >= SHORTEST and b.build.startswith(wanted)],
        ):
            if len({b.inputs for b in meant}) == 1:
                return meant[-1]
            if meant:
                raise UsageError(f"{named!r} may mean {listed(meant)}", "give more digits")
        raise UsageError(f"no build {named!r} is logged", near(builds, wanted))

    # --- bounds -------------------------------------------------------------------------

    def trim(self) -> int:
        """Drops the oldest builds beyond the bounds, and the parts that no other one shares.

        Returns:
            How many builds went.

        Raises:
            OSError: the log cannot be written.
        """
        story = self.read()
        builds = story.builds
        keep, reached = self._kept(builds)
        sizes = {name: self._size(name) for name in reached}
        total = sum(sizes.values())
        lines = [
            {**build_data(line), "total": total, "count": len(keep)}
            if isinstance(line, Build)
            else {"kind": "mark", **mark_data(line)}
            for line in story.lines
            if line.build in keep
        ]
        _replace(self.path, b"".join(row_of(line) for line in lines))
        self._blobs.sweep(reached, 0.0)
        return len(builds) - len(keep)

    def sweep(self) -> tuple[int, int]:
        """Deletes parts that no logged build reaches; how many, and their bytes."""
        reached = {name for build in self.read().builds for name in self._reach(build)}
        return self._blobs.sweep(reached, 0.0)

    def volume(self) -> int:
        """Bytes of the parts."""
        return self._blobs.volume()

    def _kept(self, builds: tuple[Build, ...]) -> tuple[set[str], set[str]]:
        """Names of the newest builds within the bounds, and of the parts that they reach."""
        keep: set[str] = set()
        reached: set[str] = set()
        total = 0
        over = len(builds) > self._most_builds
        most = int(self._most_builds * _KEPT) if over else self._most_builds
        for build in reversed(builds):
            new = self._reach(build) - reached
            size = sum(self._size(name) for name in new)
            if keep and (len(keep) >= most or total + size > self._most_bytes * _KEPT):
                break
            keep.add(build.build)
            reached |= new
            total += size
        return keep, reached

    def _reach(self, build: Build) -> set[str]:
        """The parts that a build rests on, as far as they are there."""
        head = {build.record, build.plan}
        try:
            return head | set(names_in(self.get(build.record)))
        except UsageError:
            return head

    def _size(self, name: str) -> int:
        try:
            return self._blobs.path(name).stat().st_size
        except OSError:
            return 0

    # --- the file -----------------------------------------------------------------------

    def _rows(self) -> list[bytes]:
        try:
            data = self.path.read_bytes()
        except OSError:
            return []
        return [row for row in data.split(b"\n") if row.strip()]

    def _append(self, data: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        with open(os.open(self.path, flags, 0o600), "r+b", buffering=0) as file:
            # What a crash cut short must not swallow this line.
            size = file.seek(0, os.SEEK_END)
            torn = False
            if size:
                file.seek(size - 1)
                torn = file.read(1) != b"\n"
            file.write((b"\n" if torn else b"") + row_of(data))


def _replace(path: Path, data: bytes) -> None:
    temp = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temp.write_bytes(data)
        os.replace(temp, path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise


def _gone(name: str) -> UsageError:
    return UsageError(
        f"a part of the record is gone or damaged ({name[:12]})", "build again to record it anew"
    )
