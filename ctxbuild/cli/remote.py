"""A client's command, carried out in the daemon as if in the client's own process."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, cast

from ctxbuild.cli.console import Console
from ctxbuild.errors import CtxbuildError
from ctxbuild.serve import protocol

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import TextIO

    from ctxbuild.serve.resident import Resident
    from ctxbuild.serve.server import Command


class _Frames:
    """Takes what is printed, in order."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def join(self, code: int) -> bytes:
        return b"".join([*self.sent, protocol.frame(protocol.EXIT, str(code))])


class _Bytes:
    def __init__(self, frames: _Frames) -> None:
        self._frames = frames

    def write(self, data: bytes) -> int:
        self._frames.sent.append(protocol.frame(protocol.BYTES, data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits here."""


class _Stream:
    """Looks like the client's own stream."""

    encoding = "utf-8"

    def __init__(self, frames: _Frames, kind: str, *, terminal: bool) -> None:
        self._frames = frames
        self._kind = kind
        self._terminal = terminal
        self.buffer = _Bytes(frames)

    def write(self, text: str) -> int:
        self._frames.sent.append(protocol.frame(self._kind, text))
        return len(text)

    def flush(self) -> None:
        """Nothing waits here."""

    def isatty(self) -> bool:
        return self._terminal


class RemoteConsole(Console):
    """Prints for a client: its terminals and its environment decide about colours."""

    def __init__(self, frames: _Frames, streams: str, args: Namespace) -> None:
        flags = [*map(bool, streams.split("\t")), *[False] * 4]
        out, err = flags[:2]
        self._plain, self._forced = flags[2:4]
        super().__init__(
            color=args.color,
            quiet=args.quiet,
            verbose=args.verbose,
            out=cast("TextIO", _Stream(frames, protocol.OUT, terminal=out)),
            err=cast("TextIO", _Stream(frames, protocol.ERR, terminal=err)),
        )

    def is_terminal(self) -> bool:
        """No line is overwritten: the answer is sent as a whole."""
        return False

    def _colored(self, stream: TextIO) -> bool:
        if self._color != "auto":
            return self._color == "always"
        return not self._plain and (self._forced or stream.isatty())


def carry_out(command: Command, session: Resident) -> bytes:
    """The answer to a client's command.

    Args:
        command: what it wants.
        session: of the project that its ctxfile declares.

    Returns:
        Frames to send; b"" if the client has to do it alone: what fails is told there.
    """
    from ctxbuild.cli.main import make_parser, module_of

    module = module_of(command.name)
    args = _parsed(make_parser(command.name, module).parse_args, command.arguments)
    if args is None or not _is_plain(args, session):
        return b""
    args.directory = os.path.join(command.cwd, args.directory)
    args.resident = session
    frames = _Frames()
    console = RemoteConsole(frames, command.streams, args)
    try:
        code = int(module.run(args, console))
    except CtxbuildError:
        return b""
    return frames.join(code)


def _parsed(parse: object, arguments: Sequence[str]) -> Namespace | None:
    silence = io.StringIO()
    try:
        with redirect_stdout(silence), redirect_stderr(silence):
            return cast("Namespace", parse(list(arguments)))  # type: ignore[operator]  # a bound method
    except SystemExit:
        return None


def _is_plain(args: Namespace, session: Resident) -> bool:
    """Whether it is about declared targets and nothing else."""
    declared = {target.name for target in session.ctxfile.targets}
    named = getattr(args, "targets", None)
    named = [args.target] if named is None else named
    own = (
        *("budget", "rev", "dry_run", "explain", "verbose", "no_daemon"),
        *("check", "against", "bundle"),
    )
    return declared.issuperset(named) and not any(getattr(args, name, None) for name in own)
