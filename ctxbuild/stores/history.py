"""Packs that were built, by digest: what a reader may still have in its context.

One compressed file per pack and target, `history/TARGET/DIGEST.json.z`, the most
recent ones only. Losing one costs a delta, never correctness.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Final, NamedTuple

from ctxbuild.compare.prefix import common_prefix
from ctxbuild.errors import StoreError, UsageError

FOLDER: Final = "history"
KEPT: Final = 50
"""Packs that are kept of each target."""

SHORTEST: Final = 4
"""Fewest digits of a digest that name a pack."""

_END: Final = ".json.z"
_SHOWN: Final = 5
_MOST_BYTES: Final = 1 << 28


class Known(NamedTuple):
    """A pack that is kept: its target and the hexadecimal digits of its digest."""

    target: str
    digest: str


def keep(cache: Path, target: str, digest: str, artifact: bytes) -> None:
    """Keeps an artifact, and drops the oldest beyond `KEPT`; never raises for a bad cache.

    Args:
        cache: the cache directory, its lock held.
        target: a target's name.
        digest: of the pack, with or without `sha256:`.
        artifact: the bytes of its `NAME.pack.json`.
    """
    from ctxbuild.stores.atomic import write_if_changed

    folder = cache / FOLDER / target
    path = folder / f"{_digits(digest)}{_END}"
    try:
        if path.exists():
            os.utime(path)  # the most recent ones are kept
            return
        folder.mkdir(parents=True, exist_ok=True)
        write_if_changed(path, zlib.compress(artifact, 3))
        found = sorted(folder.glob(f"*{_END}"), key=lambda each: each.stat().st_mtime_ns)
        for old in found[:-KEPT]:
            old.unlink()
    except (OSError, StoreError):
        return


def find(cache: Path, digest: str, target: str = "") -> bytes:
    """The artifact of a pack that was built before.

    Args:
        cache: the cache directory.
        digest: its digest, or the first digits of it, with or without `sha256:`.
        target: look among the packs of that target only.

    Raises:
        UsageError: none or several are meant; the message names what is near.
    """
    wanted = _digits(digest)
    known = list(packs(cache, target))
    meant = [each for each in known if each.digest.startswith(wanted)]
    if len(wanted) < SHORTEST or not meant:
        raise UsageError(f"no pack {digest!r} is kept", _near(known, wanted))
    if len({each.digest for each in meant}) > 1:
        names = ", ".join(f"{each.digest[:12]} ({each.target})" for each in meant[:_SHOWN])
        raise UsageError(f"{digest!r} may mean several packs: {names}", "give more digits")
    path = cache / FOLDER / meant[0].target / f"{meant[0].digest}{_END}"
    try:
        return zlib.decompressobj().decompress(path.read_bytes(), _MOST_BYTES)
    except (OSError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {error}", "build it again") from error


def packs(cache: Path, target: str = "") -> list[Known]:
    """What is kept, the most recent first."""
    found: list[tuple[int, Known]] = []
    for path in (cache / FOLDER).glob(f"*/*{_END}"):
        if target in ("", path.parent.name):
            try:
                when = path.stat().st_mtime_ns
            except OSError:
                continue
            found.append((when, Known(path.parent.name, path.name.removesuffix(_END))))
    return [known for _, known in sorted(found, reverse=True)]


def is_digest(text: str) -> bool:
    """Whether a text can only be meant as a digest, whole or its first digits."""
    digits = _digits(text)
    right = len(digits) >= SHORTEST and not digits.strip("0123456789abcdef")
    return right and (text != digits or len(digits) <= 64)


def _digits(digest: str) -> str:
    return digest.removeprefix("sha256:").lower()


def _near(known: list[Known], wanted: str) -> str:
    """What may be meant: packs whose digests begin alike, else the most recent ones."""
    if not known:
        return "`ctxbuild build` keeps what it builds"

    def alike(each: Known) -> int:
        return len(common_prefix(each.digest, wanted))

    ordered = sorted(known, key=lambda each: -alike(each))
    names = ", ".join(f"{each.digest[:12]} ({each.target})" for each in ordered[:_SHOWN])
    return f"kept are {names}" + (" and more" if len(ordered) > _SHOWN else "")
