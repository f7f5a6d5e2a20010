"""The only printer: results to stdout, everything else to stderr.

Colour is decided by the flag, then NO_COLOR, then FORCE_COLOR, then whether
stderr or stdout is a terminal.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

_CODES = {"red": 31, "green": 32, "yellow": 33, "cyan": 36, "bold": 1, "dim": 2}


class Console:
    """Prints for one command.

    Args:
        color: "auto", "always" or "never".
        quiet: nothing but results and errors.
        verbose: details too.
    """

    def __init__(
        self,
        *,
        color: str = "auto",
        quiet: bool = False,
        verbose: bool = False,
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._color = color

    def result(self, text: str) -> None:
        """The command's result, as it is, to stdout."""
        if text:
            self._write(self._out, text if text.endswith("\n") else text + "\n")

    def result_bytes(self, data: bytes) -> None:
        """A result that is a file's content, byte for byte."""
        buffer = getattr(self._out, "buffer", None)
        if buffer is None:
            self._out.write(data.decode())
            return
        self._out.flush()
        buffer.write(data)
        buffer.flush()

    def note(self, text: str) -> None:
        """Progress or information, to stderr; not with `-q`."""
        if not self.quiet:
            self._write(self._err, text + "\n")

    def detail(self, text: str) -> None:
        """What only `-v` shows."""
        if self.verbose:
            self._write(self._err, text + "\n")

    def warn(self, text: str) -> None:
        """Something to know of, to stderr."""
        if not self.quiet:
            self._write(self._err, f"{self.paint('warning:', 'yellow', self._err)} {text}\n")

    def error(self, text: str) -> None:
        """What went wrong, to stderr."""
        self._write(self._err, f"{self.paint('ctxbuild:', 'red', self._err)} {text}\n")

    def status(self, text: str) -> None:
        """A line that the next one overwrites, on a terminal only."""
        if not self.quiet and self.is_terminal():
            self._write(self._err, f"\r\x1b[K{text}")
            self._err.flush()

    def is_terminal(self) -> bool:
        """Whether somebody watches stderr."""
        return bool(self._err.isatty()) and not os.environ.get("CI")

    def shows_screens(self) -> bool:
        """Whether results go to a terminal that can move its cursor."""
        return bool(self._out.isatty()) and os.environ.get("TERM", "") != "dumb"

    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal."""
        import shutil

        size = shutil.get_terminal_size((100, 24))
        return size.columns, size.lines

    def width(self) -> int:
        """Columns of the terminal."""
        import shutil

        return shutil.get_terminal_size((100, 24)).columns

    def paint(self, text: str, color: str, stream: TextIO | None = None) -> str:
        """The text in a colour, where colours are wanted."""
        if not self._colored(stream or self._out):
            return text
        return f"\x1b[{_CODES[color]}m{text}\x1b[0m"

    def flush(self) -> None:
        """Everything printed so far is out."""
        self._out.flush()
        self._err.flush()

    def _colored(self, stream: TextIO) -> bool:
        if self._color != "auto":
            return self._color == "always"
        if os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or bool(stream.isatty())

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
