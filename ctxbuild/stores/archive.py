"""Archives that say what is in them: a manifest first, then files, each with its SHA-256.

A gzipped tar with fixed names, owners and times, so that equal files give equal
bytes. Reading trusts nothing: no name leads out of the directory that is
extracted into, nothing but plain files is taken, and every byte is accounted for.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

from ctxbuild.errors import CheckFailed, UsageError
from ctxbuild.stores.atomic import cannot_write

MANIFEST: Final = "manifest.json"
_MOST_BYTES: Final = 16 << 30
_MOST_MANIFEST: Final = 256 << 20
_CHUNK: Final = 1 << 20
_NAME: Final = re.compile(r"[A-Za-z0-9_.@-]+(/[A-Za-z0-9_.@-]+)*")
_BROKEN: Final = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError)

Content = bytes | Path
"""What a file of an archive holds: bytes, or those of a file on the disk."""


def write(
    path: Path, kind: str, version: int, head: Mapping[str, Any], files: Mapping[str, Content]
) -> str:
    """Writes an archive, whole or not at all.

    Args:
        path: the file to write.
        kind: what it is, "bundle" for instance.
        version: of what the manifest says; a reader refuses newer ones.
        head: the manifest's own entries.
        files: by name in the archive.

    Returns:
        The SHA-256 of the manifest, which covers everything.

    Raises:
        StoreError: it cannot be written.
    """
    listed = [{"path": name, **_measure(files[name])} for name in sorted(files)]
    manifest = {"schema": f"ctxbuild.{kind}/{version}", **head, "files": listed}
    data = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
    temp = path.with_name(f".{path.name}-{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            open(temp, "wb") as raw,
            gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            _add(tar, MANIFEST, data)
            for name in sorted(files):
                _add(tar, name, files[name])
        os.replace(temp, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        temp.unlink(missing_ok=True)
    return sha256(data).hexdigest()


def _measure(content: Content) -> dict[str, Any]:
    total, size = sha256(), 0
    with _opened(content) as source:
        while chunk := source.read(_CHUNK):
            total.update(chunk)
            size += len(chunk)
    return {"sha256": total.hexdigest(), "size": size}


def _opened(content: Content) -> IO[bytes]:
    return io.BytesIO(content) if isinstance(content, bytes) else open(content, "rb")


def _add(tar: tarfile.TarFile, name: str, content: Content) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content) if isinstance(content, bytes) else content.stat().st_size
    info.mode = 0o644
    with _opened(content) as source:
        tar.addfile(info, source)


# --- reading --------------------------------------------------------------------------------


def extract(path: Path, kind: str, version: int, directory: Path) -> dict[str, Any]:
    """Puts the files of an archive into a directory, each checked.

    Args:
        path: the archive.
        kind, version: what it must be, and the newest version that is understood.
        directory: an empty directory.

    Returns:
        The manifest; `manifest_digest` beside its own entries.

    Raises:
        UsageError: it is no archive of this kind, or of a newer version.
        CheckFailed: something in it is not what the manifest says.
        StoreError: a file cannot be written.
    """
    with _reading(path) as tar:
        first = tar.next()
        if first is None or first.name != MANIFEST or not first.isreg():
            raise UsageError(f"{path}: is no {kind} of ctxbuild: it does not begin with a manifest")
        if first.size > _MOST_MANIFEST:
            raise CheckFailed(f"{path}: {MANIFEST}: is larger than any manifest")
        data = _bytes(tar, first)
        manifest = _manifest(path, data, kind, version)
        wanted = _wanted(path, manifest)
        seen: set[str] = set()
        while (member := tar.next()) is not None:
            _take(path, tar, member, wanted, seen, directory)
        lost = sorted(wanted.keys() - seen)
        if lost:
            raise CheckFailed(f"{path}: {lost[0]}: is missing", _HINT)
    return {**manifest, "manifest_digest": f"sha256:{sha256(data).hexdigest()}"}


_HINT = "do not use it: it was damaged or tampered with"


@contextmanager
def _reading(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        raw = open(path, "rb")  # noqa: SIM115  # it is closed below
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    with raw:
        if raw.read(2) != b"\x1f\x8b":
            raise UsageError(f"{path}: is no archive of ctxbuild: it is not gzipped")
        raw.seek(0)
        try:
            with (
                gzip.GzipFile(fileobj=raw) as packed,
                tarfile.open(fileobj=packed, mode="r:") as tar,
            ):
                yield tar
                # What stands behind the end of the tar is no part of it, but its checksum is.
                while packed.read(_CHUNK):
                    pass
        except _BROKEN as error:
            raise CheckFailed(f"{path}: is damaged: {error}", _HINT) from error


def _bytes(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    source = tar.extractfile(member)
    return source.read() if source is not None else b""


def _manifest(path: Path, data: bytes, kind: str, version: int) -> dict[str, Any]:
    try:
        manifest = json.loads(data)
        name, _, number = manifest["schema"].rpartition("/")
        made = int(number)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckFailed(f"{path}: {MANIFEST}: is damaged", _HINT) from error
    if name != f"ctxbuild.{kind}":
        raise UsageError(f"{path}: is a {name.removeprefix('ctxbuild.')}, not a {kind}")
    if made > version:
        raise UsageError(
            f"{path}: is a {kind} of version {made}, this ctxbuild reads up to {version}",
            "upgrade ctxbuild, or make it with this version",
        )
    return dict(manifest)


def _wanted(path: Path, manifest: dict[str, Any]) -> dict[str, tuple[str, int]]:
    try:
        wanted = {
            str(each["path"]): (str(each["sha256"]), int(each["size"]))
            for each in manifest["files"]
        }
    except (KeyError, TypeError, ValueError) as error:
        raise CheckFailed(f"{path}: {MANIFEST}: is damaged", _HINT) from error
    for name in wanted:
        if not _NAME.fullmatch(name) or {".", ".."} & set(name.split("/")) or name == MANIFEST:
            raise CheckFailed(f"{path}: {name!r}: is no name for a file in it", _HINT)
    if sum(size for _, size in wanted.values()) > _MOST_BYTES:
        raise CheckFailed(f"{path}: is larger than {_MOST_BYTES >> 30} GB unpacked", _HINT)
    return wanted


def _take(
    path: Path,
    tar: tarfile.TarFile,
    member: tarfile.TarInfo,
    wanted: dict[str, tuple[str, int]],
    seen: set[str],
    directory: Path,
) -> None:
    name = member.name
    if name not in wanted or name in seen or not member.isreg():
        raise CheckFailed(f"{path}: {name!r}: is not in the manifest", _HINT)
    seen.add(name)
    digest, size = wanted[name]
    if member.size != size:
        raise CheckFailed(f"{path}: {name}: is not what the manifest says", _HINT)
    source = tar.extractfile(member)
    assert source is not None  # it is a regular file
    total = sha256()
    target = directory / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "wb") as file:
            while chunk := source.read(_CHUNK):
                total.update(chunk)
                file.write(chunk)
    except _BROKEN:
        raise
    except OSError as error:
        raise cannot_write(target, error) from error
    if total.hexdigest() != digest:
        raise CheckFailed(f"{path}: {name}: is not what the manifest says", _HINT)
