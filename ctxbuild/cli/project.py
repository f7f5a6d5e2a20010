"""Which ctxfile a command works on, and a session for it."""

from __future__ import annotations

import os

from ctxbuild.cli.console import Console
from ctxbuild.errors import UsageError
from ctxbuild.source import ctxfile as ctxfiles
from ctxbuild.stores import parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from ctxbuild.engine.events import Event
    from ctxbuild.serve.session import Session


def find_ctxfile(args: Namespace, *, remember: bool = False) -> ctxfiles.Ctxfile:
    """The ctxfile of `-f`, else the nearest one from `-C` upwards.

    Args:
        args: the command line.
        remember: keep what was read, so that the next command need not parse it.

    Raises:
        UsageError: there is none.
        CtxfileError: it is wrong.
    """
    resident = getattr(args, "resident", None)
    if resident is not None:
        return resident.ctxfile  # type: ignore[no-any-return]  # see cli/remote.py
    directory = args.directory
    if not os.path.isdir(directory):
        raise UsageError(f"{directory}: is not a directory", "correct -C")
    if args.file:
        return parsed.load(os.path.join(directory, args.file), remember=remember)
    found = ctxfiles.find(directory)
    if found is None:
        raise UsageError(
            "no ctxfile.toml here or in a directory above",
            "run `ctxbuild init`, or `ctxbuild build FILE` for a single file",
        )
    return parsed.load(found, remember=remember)


def has_ctxfile(args: Namespace) -> bool:
    """Whether `-f` names one, or there is one from `-C` upwards."""
    return bool(args.file) or ctxfiles.find(args.directory) is not None


def _unheard(event: Event) -> None:
    """Takes an event that nobody shows."""


def open_session(
    ctxfile: ctxfiles.Ctxfile,
    args: Namespace,
    console: Console,
    on_event: Callable[[Event], None] = _unheard,
) -> Session:
    """A session that says when it has to wait; on a commit where `--rev` names one.

    Raises:
        UsageError: `-j` is negative.
        RevisionError: `--rev` names no commit.
    """
    resident = getattr(args, "resident", None)
    if resident is not None:
        resident.listen(on_event)
        return resident  # type: ignore[no-any-return]  # see cli/remote.py
    if args.jobs < 0:
        raise UsageError(f"-j {args.jobs}: is negative", "give the number of processes")
    from ctxbuild.serve.session import Session

    revision = getattr(args, "rev", None)
    if revision is not None:
        from ctxbuild.serve.past import PastSession

        return PastSession(
            ctxfile,
            revision,
            workers=args.jobs,
            on_event=on_event,
            on_wait=waiting_note(console),
        )
    return Session(
        ctxfile,
        workers=args.jobs,
        on_event=on_event,
        on_wait=waiting_note(console),
    )


def waiting_note(console: Console) -> Callable[[], None]:
    """Says that another process holds the cache."""
    return lambda: console.note("waiting for another build to end")


def say_warnings(
    console: Console, session: Session, of_pack: tuple[str, ...] = (), name: str = ""
) -> None:
    """Prints what is wrong with cache and selection, and with what a pack shows."""
    for warning in session.warnings:
        console.warn(warning)
    for warning in of_pack:
        console.warn(f"{name}: {warning}")
    console.detail(f"root {session.ctxfile.root}, cache {session.cache}")
