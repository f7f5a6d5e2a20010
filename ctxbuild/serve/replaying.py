"""Logged builds planned again: from the log alone, whatever the working tree holds now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ctxbuild.errors import SourceError, UsageError
from ctxbuild.stores.assembly_lines import Build
from ctxbuild.stores.assembly_log import AssemblyLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxbuild.compare.diff import Difference
    from ctxbuild.compare.replay import Replayed
    from ctxbuild.pack.record import Assembly
    from ctxbuild.source.ctxfile import Ctxfile


@dataclass(frozen=True, slots=True)
class Replay:
    """A build planned again, and what a change made of it.

    Attributes:
        build: as it was logged.
        again: as it was planned now, from its record.
        differing: files that are not byte for byte those that were built.
        changed: with one thing changed; None if nothing was.
        difference: what the change made of it.
    """

    build: Build
    again: Replayed
    differing: tuple[str, ...]
    changed: Replayed | None = None
    difference: Difference | None = None

    @property
    def identical(self) -> bool:
        """Whether every file is byte for byte the one that was built."""
        return not self.differing


def replay(
    ctxfile: Ctxfile,
    named: str,
    swaps: Sequence[str] = (),
    settings: Sequence[str] = (),
    directory: str = "",
) -> Replay:
    """Plans a logged build again, as it was or with one thing changed.

    Args:
        ctxfile: the project whose log is meant.
        named: the build, see `AssemblyLog.find`.
        swaps: at most one `LAYER=FILE`.
        settings: at most one `KEY=VALUE`; nothing beside a swap.
        directory: that FILE is relative to.

    Raises:
        UsageError: no such build, layer or variable; a record that cannot be read; more
            than one change.
        SourceError: FILE cannot be read.
        BudgetError: what is pinned does not fit after the change.
    """
    from ctxbuild.compare.replay import compared, replayed
    from ctxbuild.pack.record import restored
    from ctxbuild.pack.tokens import counter
    from ctxbuild.serve.session import cache_directory

    change = _change(swaps, settings, directory)
    log = AssemblyLog(cache_directory(ctxfile))
    build = log.find(named)
    try:
        assembly = restored(log.get(build.record), log.get)
    except UsageError as error:
        raise UsageError(f"build {build.build}: {error.message}", error.hint) from error
    count = counter(assembly.tokenizer)
    again = replayed(assembly, count)
    built = dict(build.files)
    names = sorted({*built, *again.digests})
    differing = tuple(name for name in names if built.get(name) != again.digests.get(name))
    if change is None:
        return Replay(build, again, differing)
    changed = replayed(change(assembly), count)
    return Replay(build, again, differing, changed, compared(again, changed))


def _change(
    swaps: Sequence[str], settings: Sequence[str], directory: str
) -> Callable[[Assembly], Assembly] | None:
    """What to change, checked as far as the command line tells."""
    from ctxbuild.compare.replay import swapped, varied

    if len(swaps) + len(settings) > 1:
        raise UsageError(
            "one layer or one variable at a time: of two nobody knows which made the difference",
            "replay twice",
        )
    if settings:
        key, value = _pair(settings[0], "--set", "KEY=VALUE")
        return lambda assembly: varied(assembly, key, value)
    if swaps:
        layer, file = _pair(swaps[0], "--swap", "LAYER=FILE")
        try:
            data = Path(directory, file).read_bytes()
        except OSError as error:
            raise SourceError(
                f"--swap: {file}: cannot be read: {error.strerror}", "name a text or NAME.pack.json"
            ) from error
        return lambda assembly: swapped(assembly, layer, file, data)
    return None


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip() or not value.strip():
        raise UsageError(f"{option} {text!r}: is not {form}")
    return key.strip(), value.strip()


def write(files: dict[str, bytes], directory: Path) -> tuple[Path, ...]:
    """Writes replayed files; which.

    Raises:
        StoreError: one cannot be written.
    """
    from ctxbuild.stores.atomic import write_if_changed

    for name, data in files.items():
        write_if_changed(directory / name, data)
    return tuple(directory / name for name in files)
