"""One writer at a time: a lock that the system releases when its holder dies.

Not filelock: importing it takes longer than a whole build that finds nothing to do.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

_BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


class FileLock:
    """An exclusive lock on a file, between processes and between objects of one process.

    Args:
        path: the file; it is created and stays.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = -1

    def acquire(self) -> bool:
        """Try once to take the lock; whether it is ours now.

        Raises:
            OSError: the file cannot be opened or the file system knows no locks.
        """
        file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(file)
        except OSError as error:
            os.close(file)
            if error.errno in _BUSY:
                return False
            raise
        self._file = file
        return True

    def release(self) -> None:
        """Let go; closing the file is enough on every system."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
