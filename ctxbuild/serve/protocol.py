"""How a client and a daemon speak: where they meet, and frames of bytes over a local socket.

A frame is a line `KIND LENGTH` and LENGTH bytes. A request holds its fields
separated by NUL. Frames and the first fields of a request never change, so that
every version can tell every other one to go.

Imported by each `ctxbuild build`: nothing but `os` and `sys` at the top.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol

    class Receiver(Protocol):
        """The part of a socket that reading frames needs."""

        def recv(self, size: int, /) -> bytes:
            """Up to so many bytes; none at the end."""


# From the client.
COMMAND, CONTROL = "q", "c"
# From the daemon: output, error output, bytes of output, exit code, "do it yourself",
# "my version is another", "still at work", a line of JSON.
OUT, ERR, BYTES, EXIT, DECLINE, OTHER, WAIT, DATA = "o", "e", "b", "x", "d", "v", "k", "j"

KEEPALIVE_SECONDS = 2.0
SILENCE_SECONDS = 20.0  # after which a client gives up on a daemon
_LONGEST_ADDRESS = 90  # bytes; the system's limit for a socket's path is 104 to 108
_LONGEST_HEAD = 32
_TEMPORARY = "/tmp"  # noqa: S108  # a directory of our own in it, which is checked to be private


def version() -> str:
    """What tells one installation from another: its version and where it stands."""
    from ctxbuild import __version__

    return f"{__version__} {os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}"


# --- where they meet ----------------------------------------------------------------------


def identity(root: str) -> str:
    """A name for a root: 128 bits of FNV-1a, since importing a digest takes longer."""
    value = 0x6C62272E07BB014262B821756295C58D
    for byte in os.fsencode(root):
        value = ((value ^ byte) * 0x0000000001000000000000000000013B) & ((1 << 128) - 1)
    return f"{value:032x}"


def runtime_directory() -> str:
    """The directory of sockets and locks; only its owner may enter it."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")
        return os.path.join(base, "ctxbuild", "run")
    given = os.environ.get("XDG_RUNTIME_DIR")
    if given:
        chosen = os.path.join(given, "ctxbuild")
    else:
        chosen = os.path.join(os.environ.get("TMPDIR") or _TEMPORARY, f"ctxbuild-{os.getuid()}")
    if len(os.fsencode(chosen)) + 40 > _LONGEST_ADDRESS:
        # Not shared with those whose path is short: the long path decides the name.
        return f"{_TEMPORARY}/ctxbuild-{os.getuid()}-{identity(chosen)[:12]}"
    return chosen


def place(root: str, ending: str) -> str:
    """Path of a daemon's `sock`, `lock` or `log`, by the root it serves (a real path)."""
    return os.path.join(runtime_directory(), f"{identity(root)}.{ending}")


def is_private(directory: str) -> bool:
    """Whether nobody else can have put anything into it."""
    try:
        found = os.lstat(directory)
    except OSError:
        return False
    if sys.platform == "win32":
        return True
    is_directory = (found.st_mode & 0o170000) == 0o040000
    return is_directory and found.st_uid == os.getuid() and not found.st_mode & 0o077


# --- frames -------------------------------------------------------------------------------


def frame(kind: str, payload: bytes | str = b"") -> bytes:
    """A frame as it is sent."""
    data = payload.encode("utf-8", "surrogateescape") if isinstance(payload, str) else payload
    return b"%s %d\n%s" % (kind.encode(), len(data), data)


def request(kind: str, fields: Iterable[str]) -> bytes:
    """A request: its kind, our version, its fields."""
    return frame(kind, "\0".join([version(), *fields]))


def fields_of(payload: bytes) -> list[str]:
    """The fields of a request, the version first."""
    return payload.decode("utf-8", "surrogateescape").split("\0")


def frames(connection: Receiver) -> Iterator[tuple[str, bytes]]:
    """The frames that come in until the other side is done; a torn one ends them.

    Raises:
        OSError: the connection broke, or was silent for too long.
    """
    waiting = b""
    while True:
        head, found, rest = waiting.partition(b"\n")
        kind, _, length = head.partition(b" ")
        if found and length.isdigit() and len(rest) >= int(length):
            size = int(length)
            yield kind.decode("ascii", "replace"), rest[:size]
            waiting = rest[size:]
            continue
        if (found and not length.isdigit()) or (not found and len(waiting) > _LONGEST_HEAD):
            return
        data = connection.recv(1 << 18)
        if not data:
            return
        waiting += data
