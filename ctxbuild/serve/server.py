"""The daemon's socket: takes requests from clients and gives them to the one thread that works."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from ctxbuild.errors import StoreError
from ctxbuild.serve import protocol

_BACKLOG = 128
_REQUEST_SECONDS = 10.0  # a client that says nothing for so long is let go
_LIMIT = 10_000  # lines that wait for a subscriber before it is let go
_SECRET_BYTES = 32


class Command(NamedTuple):
    """What a client wants done.

    Attributes:
        ctxfile: path of its ctxfile, absolute.
        cwd: its directory.
        streams: what `client.py` says of its terminals.
        name: the command.
        arguments: all others of its command line.
    """

    ctxfile: str
    cwd: str
    streams: str
    name: str
    arguments: tuple[str, ...]


class Request:
    """A command and the place for its answer.

    Attributes:
        frames: the answer as it is sent; set before `done`.
    """

    def __init__(self, command: Command) -> None:
        self.command = command
        self.frames = b""
        self.done = threading.Event()

    def answer(self, frames: bytes) -> None:
        """Sends the answer."""
        self.frames = frames
        self.done.set()


Status = Callable[[], dict[str, Any]]


class Server:
    """Listens for the clients of one root; whoever makes one holds the root's lock.

    Args:
        root: a real path.
        submit: takes a request; its answer may come later.
        status: what `status` tells.
        stop: ends the daemon.
        detached: whether it may be replaced by a client of another version.

    Raises:
        StoreError: the runtime directory is not private, or there can be no socket in it.
    """

    def __init__(
        self,
        root: str,
        *,
        submit: Callable[[Request], None],
        status: Status,
        stop: Callable[[], None],
        detached: bool,
    ) -> None:
        self._address = protocol.place(root, "sock")
        self._submit = submit
        self._status = status
        self._stop = stop
        self._detached = detached
        self._secret = b""
        self._subscribers: list[queue.Queue[bytes | None]] = []
        self._lock = threading.Lock()
        self._socket = self._listen()
        self._thread = threading.Thread(target=self._accept, name="ctxbuild-socket", daemon=True)
        self._thread.start()

    def publish(self, data: dict[str, Any]) -> None:
        """Tells every subscriber."""
        line = json.dumps(data).encode()
        with self._lock:
            for subscriber in list(self._subscribers):
                if subscriber.qsize() > _LIMIT:
                    self._subscribers.remove(subscriber)
                    subscriber.put(None)
                else:
                    subscriber.put(line)

    def close(self) -> None:
        """Takes no more requests."""
        with contextlib.suppress(OSError):
            os.unlink(self._address)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            for subscriber in self._subscribers:
                subscriber.put(None)

    # --- connections ----------------------------------------------------------------------

    def _listen(self) -> socket.socket:
        try:
            return self._over_loopback() if sys.platform == "win32" else self._local()
        except OSError as error:
            raise StoreError(
                f"{self._address}: there can be no socket: {error.strerror or error}",
                "set XDG_RUNTIME_DIR to a directory that only you may enter",
            ) from error

    def _local(self) -> socket.socket:
        # Whoever left it there is gone: the lock is ours.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._address)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(self._address)
        os.chmod(self._address, 0o600)
        listening.listen(_BACKLOG)
        return listening

    def _over_loopback(self) -> socket.socket:
        from ctxbuild.stores.atomic import write_if_changed

        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.bind(("127.0.0.1", 0))
        listening.listen(_BACKLOG)
        self._secret = os.urandom(_SECRET_BYTES // 2).hex().encode()
        from pathlib import Path

        port = listening.getsockname()[1]
        write_if_changed(Path(self._address), f"{port} {self._secret.decode()}\n".encode())
        return listening

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(_REQUEST_SECONDS)
            if self._secret and not self._knows_secret(connection):
                return
            kind, payload = next(protocol.frames(connection), ("", b""))
            version, *fields = protocol.fields_of(payload)
            if kind == protocol.CONTROL:
                self._control(connection, fields)
            elif version != protocol.version():
                ours = [protocol.version(), "detached" if self._detached else "foreground"]
                connection.sendall(protocol.frame(protocol.OTHER, "\0".join(ours)))
            elif kind == protocol.COMMAND and len(fields) >= 4:
                path, cwd, streams, name, *arguments = fields
                self._command(connection, Command(path, cwd, streams, name, tuple(arguments)))

    def _knows_secret(self, connection: socket.socket) -> bool:
        import hmac

        given = b""
        while len(given) < len(self._secret):
            some = connection.recv(len(self._secret) - len(given))
            if not some:
                return False
            given += some
        return hmac.compare_digest(given, self._secret)

    def _command(self, connection: socket.socket, command: Command) -> None:
        request = Request(command)
        self._submit(request)
        while not request.done.wait(protocol.KEEPALIVE_SECONDS):
            connection.sendall(protocol.frame(protocol.WAIT))
        connection.settimeout(60.0)
        connection.sendall(request.frames)

    def _control(self, connection: socket.socket, fields: list[str]) -> None:
        what = fields[0] if fields else ""
        if what == "stop":
            self._stop()
        if what in ("status", "stop"):
            data = json.dumps(self._status()).encode()
            connection.sendall(protocol.frame(protocol.DATA, data))
        elif what == "subscribe":
            self._subscribe(connection)

    def _subscribe(self, connection: socket.socket) -> None:
        lines: queue.Queue[bytes | None] = queue.Queue()
        with self._lock:
            self._subscribers.append(lines)
        try:
            first = json.dumps(self._status()).encode()
            connection.sendall(protocol.frame(protocol.DATA, first))
            while True:
                try:
                    line = lines.get(timeout=protocol.KEEPALIVE_SECONDS)
                except queue.Empty:
                    connection.sendall(protocol.frame(protocol.WAIT))
                    continue
                if line is None:
                    return
                connection.sendall(protocol.frame(protocol.DATA, line))
        finally:
            with self._lock:
                if lines in self._subscribers:
                    self._subscribers.remove(lines)
