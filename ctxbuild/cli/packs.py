"""Reads the packs that arguments name."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from ctxbuild.cli.console import Console
from ctxbuild.cli.progress import Progress
from ctxbuild.cli.project import find_ctxfile, waiting_note
from ctxbuild.errors import UsageError
from ctxbuild.serve.references import References

if TYPE_CHECKING:
    from ctxbuild.serve.session import Session
    from ctxbuild.source.ctxfile import Ctxfile


def references(args: Namespace, console: Console) -> References:
    """What reads packs by target, revision, file or digest.

    Raises:
        UsageError: `-j` is negative.
    """
    if args.jobs < 0:
        raise UsageError(f"-j {args.jobs}: is negative", "give the number of processes")
    progress = Progress(console)

    def opened(ctxfile: Ctxfile, revision: str | None) -> Session:
        from ctxbuild.serve.past import PastSession
        from ctxbuild.serve.session import Session

        jobs, wait = args.jobs, waiting_note(console)
        if revision is None:
            return Session(ctxfile, workers=jobs, on_event=progress.on_event, on_wait=wait)
        return PastSession(
            ctxfile, revision, workers=jobs, on_event=progress.on_event, on_wait=wait
        )

    return References(lambda: find_ctxfile(args), args.directory, opened)
