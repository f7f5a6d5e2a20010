"""One daemon per root: taking its lock, starting it detached, replacing an old one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from ctxbuild.errors import StoreError
from ctxbuild.serve import client, protocol
from ctxbuild.stores.lock import FileLock

START_SECONDS = 20.0
STOP_SECONDS = 10.0
_PAUSE = 0.01
# Daemons that this process started and does not wait for: nobody shall warn that they still run.
_started: list[subprocess.Popen[bytes]] = []


def prepare_runtime() -> None:
    """Makes the directory of sockets and locks.

    Raises:
        StoreError: it cannot be made, or others may enter it.
    """
    directory = protocol.runtime_directory()
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{directory}: cannot be made: {error.strerror}", "set XDG_RUNTIME_DIR"
        ) from error
    if not protocol.is_private(directory):
        raise StoreError(
            f"{directory}: others may enter it", "take their permissions away, or remove it"
        )


def take_lock(root: str) -> FileLock | None:
    """The lock that makes this process the daemon of a root; None if there is one already.

    The system lets go of it when its holder dies, so a lock that is left is free.

    Raises:
        StoreError: there can be no lock.
    """
    prepare_runtime()
    lock = FileLock(Path(protocol.place(root, "lock")))
    try:
        return lock if lock.acquire() else None
    except OSError as error:
        raise StoreError(f"{lock.path}: cannot be locked: {error.strerror}") from error


def is_running(root: str) -> bool:
    """Whether a daemon holds the lock of a root."""
    if not os.path.exists(protocol.place(root, "lock")):
        return False
    lock = take_lock(root)
    if lock is None:
        return True
    lock.release()
    return False


def start(ctxfile: str, root: str, options: list[str]) -> int:
    """Starts a daemon that outlives this process, unless one runs; returns when it answers.

    Args:
        ctxfile: path of the ctxfile.
        root: its directory, a real path.
        options: of `ctxbuild watch`.

    Returns:
        The process id of the daemon that answers.

    Raises:
        StoreError: it does not come up; the message holds what it said.
    """
    prepare_runtime()
    log = protocol.place(root, "log")
    command = [sys.executable, "-m", "ctxbuild", "-f", ctxfile, "watch", "--detached", *options]
    child: subprocess.Popen[bytes] | None = None
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        pid = _pid(root)
        if pid:
            return pid
        if child is None and not is_running(root):
            child = _spawn(command, log, root)
        elif child is not None and child.poll() is not None and not is_running(root):
            break
        time.sleep(_PAUSE)
    said = _tail(log)
    raise StoreError(f"the daemon does not come up{': ' + said if said else ''}", f"see {log}")


def _spawn(command: list[str], log: str, root: str) -> subprocess.Popen[bytes]:
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    with open(log, "ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=os.path.abspath(os.sep) if os.path.isabs(command[4]) else root,
            env={**os.environ, "PYTHONPATH": module_path()},
            start_new_session=True,
            creationflags=flags,
        )
    _started.append(child)
    return child


def module_path() -> str:
    """The way to this very package for `python -m`, whatever the working directory is."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    given = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([here, *filter(None, [given])])


def _tail(log: str) -> str:
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = file.read()[-2000:].splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def status(root: str) -> dict[str, object] | None:
    """What the daemon of a root says of itself; None if none answers."""
    import json

    for line in client.control(root, "status"):
        data: dict[str, object] = json.loads(line)
        return data
    return None


def _pid(root: str) -> int:
    found = status(root)
    return int(str(found["pid"])) if found else 0


def stop(root: str) -> bool:
    """Asks the daemon of a root to end and waits until it has; whether there was one.

    Raises:
        StoreError: it does not end.
    """
    if not is_running(root):
        return False
    for _ in client.control(root, "stop"):
        pass
    end = time.monotonic() + STOP_SECONDS
    while is_running(root):
        if time.monotonic() > end:
            raise StoreError("the daemon does not end", "end its process by hand")
        time.sleep(_PAUSE)
    return True


def replace(root: str, answer: bytes) -> None:
    """An old daemon makes room for one of this version, if it runs in the background.

    Args:
        root: a real path.
        answer: what the old daemon said: its version and whether it is detached.
    """
    _, _, kind = answer.partition(b"\0")
    if kind != b"detached":
        return
    known = status(root) or {}
    try:
        if stop(root) and isinstance(known.get("ctxfile"), str):
            start(str(known["ctxfile"]), root, [str(each) for each in known.get("options", ())])  # type: ignore[attr-defined]  # a list, from JSON
    except StoreError:
        return  # then there is none: the client does the work
