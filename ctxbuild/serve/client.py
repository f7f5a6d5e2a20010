"""The thin client: asks a running daemon, or says that there is none.

It stands on the way of every build, so it imports no json, no argparse and not
even `socket`, which takes longer than a whole build through the daemon.
"""

from __future__ import annotations

import os
import sys

from ctxbuild.serve import protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from socket import socket

_CONNECT_SECONDS = 5.0
# Options that a daemon knows as well as this process; with any other the work is done here.
_FLAGS = frozenset({"-q", "--quiet", "--json", "--plan", "--blocks"})
_VALUES = frozenset({"-C", "--directory", "-f", "--file", "-j", "--jobs", "--color", "--format"})
_FILE_NAME = "ctxfile.toml"


def ask(command: str, arguments: Sequence[str]) -> int | None:
    """Has a running daemon carry out a command, and prints what it answers.

    Args:
        command: `build`, `show` or `why`.
        arguments: all others of the command line.

    Returns:
        The exit code; None if there is no daemon, or it declines: do it here then.
    """
    if os.environ.get("CTXBUILD_NO_DAEMON"):
        return None
    options = _options(arguments)
    found = None if options is None else _ctxfile(options)
    if found is None:
        return None
    path, root = found
    connection = connect(root)
    if connection is None:
        return None
    try:
        connection.sendall(
            protocol.request(protocol.COMMAND, [path, os.getcwd(), _streams(), command, *arguments])
        )
        return _receive(connection, root)
    except (OSError, ValueError):
        return None  # it died, or hangs: nothing has been printed yet
    finally:
        connection.close()


def connect(root: str) -> socket | None:
    """A connection to the daemon of a root, None if there is none."""
    address = protocol.place(root, "sock")
    if not os.path.exists(address) or not protocol.is_private(os.path.dirname(address)):
        return None
    try:
        if sys.platform == "win32":
            return _over_loopback(address)
        import _socket
    except (OSError, ImportError):
        return None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_CONNECT_SECONDS)
        connection.connect(address)
    except OSError:
        connection.close()
        return None  # left by one that was killed
    connection.settimeout(protocol.SILENCE_SECONDS)
    return connection  # type: ignore[return-value]  # the C part of a socket is enough here


def _over_loopback(address: str) -> socket | None:
    """Where there are no such sockets: the file names a port and the secret that opens it."""
    from socket import create_connection

    with open(address, encoding="ascii") as file:
        port, secret = file.read().split()
    connection = create_connection(("127.0.0.1", int(port)), _CONNECT_SECONDS)
    connection.settimeout(protocol.SILENCE_SECONDS)
    connection.sendall(secret.encode())
    return connection


def control(root: str, *fields: str) -> Iterator[bytes]:
    """Sends a control request (`status`, `stop`, `subscribe`); what the daemon tells."""
    connection = connect(root)
    if connection is None:
        return
    try:
        connection.sendall(protocol.request(protocol.CONTROL, fields))
        for kind, payload in protocol.frames(connection):
            if kind == protocol.DATA:
                yield payload
    except OSError:
        return
    finally:
        connection.close()


def _receive(connection: socket, root: str) -> int | None:
    """Prints an answer once all of it is here, so that a torn one leaves no trace."""
    answer: list[tuple[str, bytes]] = []
    for kind, payload in protocol.frames(connection):
        if kind in (protocol.OUT, protocol.ERR, protocol.BYTES):
            answer.append((kind, payload))
        elif kind == protocol.EXIT:
            return _print(answer, int(payload))
        elif kind == protocol.OTHER:
            from ctxbuild.serve.launch import replace

            replace(root, payload)
            return None
        elif kind == protocol.DECLINE:
            return None
    return None


def _print(answer: list[tuple[str, bytes]], code: int) -> int:
    try:
        for kind, payload in answer:
            stream = sys.stderr if kind == protocol.ERR else sys.stdout
            if kind == protocol.BYTES and hasattr(stream, "buffer"):
                stream.flush()
                stream.buffer.write(payload)
            else:
                _write(stream, payload.decode("utf-8", "surrogateescape"))
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        # The reader went away, as `head` does: not our failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _write(stream: object, text: str) -> None:
    try:
        stream.write(text)  # type: ignore[attr-defined]  # a text stream
    except UnicodeEncodeError:
        encoding = getattr(stream, "encoding", None) or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))  # type: ignore[attr-defined]  # as above


def _streams() -> str:
    """What of this process decides how an answer looks: terminals and colours."""
    plain = "1" if os.environ.get("NO_COLOR") else ""
    forced = "1" if os.environ.get("FORCE_COLOR") else ""
    terminals = ["1" if stream.isatty() else "" for stream in (sys.stdout, sys.stderr)]
    return "\t".join([*terminals, plain, forced])


def _options(arguments: Sequence[str]) -> dict[str, str] | None:
    """The options that have a value; None if there is an option that is not for a daemon."""
    found: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument in _VALUES:
            found[argument] = next(rest, "")
        elif equals and name.startswith("--") and name in _VALUES:
            found[name] = value
        elif argument.startswith("-") and argument not in _FLAGS:
            return None
    return found


def _ctxfile(options: dict[str, str]) -> tuple[str, str] | None:
    """Path of the ctxfile that is meant, and the real path of its directory."""
    above = os.path.abspath(options.get("-C") or options.get("--directory") or ".")
    file = options.get("-f") or options.get("--file")
    if file:
        path = os.path.abspath(os.path.join(above, file))
        return path, os.path.realpath(os.path.dirname(path))
    while not os.path.isfile(os.path.join(above, _FILE_NAME)):
        above, below = os.path.dirname(above), above
        if above == below:
            return None
    return os.path.join(above, _FILE_NAME), os.path.realpath(above)
