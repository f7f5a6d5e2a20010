"""`ctxbuild watch` itself: the daemon in this process, its view, and commands to run."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ctxbuild.cli.console import Console
from ctxbuild.cli.liveview import Known, Live, paths_text, plain_lines
from ctxbuild.serve.daemon import IDLE_SECONDS, Daemon

_INSTALLING_SECONDS = 1.0  # without a change of the installation, after which it counts as whole

if TYPE_CHECKING:
    from ctxbuild.serve.reports import Report
    from ctxbuild.serve.results import TargetResult


def follow(path: str, args: Namespace, console: Console, options: list[str]) -> int:
    """Watches until interrupted, or stopped by `watch stop`; the exit code."""
    from ctxbuild.cli.remote import carry_out

    commands = Commands(args.command, console) if args.command else None
    view = _View(console, json=args.json, live=console.shows_screens() and not args.detached)

    def on_report(report: Report) -> None:
        view.show(report)
        if commands is not None:
            commands.after(report)

    daemon = Daemon(
        path,
        carry_out,
        on_report,
        detached=args.detached,
        options=tuple(options),
        poll=args.poll,
        idle=IDLE_SECONDS if args.idle is None else args.idle,
        workers=args.jobs,
    )
    view.daemon = daemon
    with _signals(daemon.stop):
        code = daemon.run()
    if commands is not None:
        commands.close()
    if daemon.outdated:
        _begin_anew(path, args, options)
    return code


def _begin_anew(path: str, args: Namespace, options: list[str]) -> None:
    """Becomes `ctxbuild watch` of the code that is installed now."""
    from ctxbuild.serve.launch import module_path
    from ctxbuild.stores.versions import installation_stamp

    stamp = ""
    while stamp != (now := installation_stamp()):
        stamp = now
        time.sleep(_INSTALLING_SECONDS)
    os.environ["PYTHONPATH"] = module_path()
    shape = ["--detached"] if args.detached else []
    shape += ["--json"] if args.json else []
    command = [sys.executable, "-m", "ctxbuild", "-f", path, "--color", args.color, "watch"]
    os.execv(sys.executable, [*command, *shape, *options])  # noqa: S606  # ourselves


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and the system's request to end let the build that runs come to its end."""
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        before[number] = signal.signal(number, lambda *_: threading.Thread(target=stop).start())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _View:
    """Shows reports: as a screen, as lines, or as JSON."""

    def __init__(self, console: Console, *, json: bool, live: bool) -> None:
        self.daemon: Daemon | None = None
        self._console = console
        self._json = json
        self._live = Live(console) if live and not json else None
        self._last: Report | None = None
        self._problem = self._note = ""

    def show(self, report: Report) -> None:
        """Takes a report."""
        if self._json:
            import json

            self._console.result(json.dumps(report.data()))
            self._console.flush()
        elif self._live is None:
            self._lines(report)
        else:
            self._screen(self._live, report)

    def _lines(self, report: Report) -> None:
        for line in plain_lines(report):
            self._console.result(line)
        if report.kind == "problem":
            self._console.error(report.text)
        for result in report.results:
            if result.error:
                self._console.error(f"{result.name}: {result.error}")
        self._console.flush()

    def _screen(self, live: Live, report: Report) -> None:
        if report.kind in ("building", "built"):
            self._last = report
        elif report.kind == "note":
            self._note = report.text
        else:
            self._problem = report.text
        if report.kind == "built":
            self._note = ""
        daemon = self.daemon
        if daemon is not None:
            targets = tuple(daemon.targets.values())
            known = Known(daemon.root, daemon.mode, targets, self._last, self._problem, self._note)
            live.draw(known)


class Commands:
    """Runs a command for each pack that changed, one after the other, beside the watch.

    Args:
        command: for the system's shell, as it was typed.
        console: told when it fails.
    """

    def __init__(self, command: str, console: Console) -> None:
        self._command = command
        self._console = console
        self._digests: dict[str, str] = {}
        self._waiting: queue.Queue[tuple[TargetResult, tuple[str, ...]] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="ctxbuild-exec", daemon=True)
        self._thread.start()

    def after(self, report: Report) -> None:
        """Runs it for what a build changed; a pack with the digest of before did not change."""
        for result in report.results:
            if result.status == "failed" or self._digests.get(result.name) == result.digest:
                continue
            first = result.name not in self._digests
            self._digests[result.name] = result.digest
            if not first or result.written:
                self._waiting.put((result, report.changed))

    def close(self) -> None:
        """Waits for the command that runs; those that wait are dropped."""
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            result, changed = item
            environment = {
                **os.environ,
                "CTXBUILD_TARGET": result.name,
                "CTXBUILD_DIGEST": result.digest,
                "CTXBUILD_TOKENS": str(result.tokens),
                "CTXBUILD_OUTPUT": result.outputs[0] if result.outputs else "",
                "CTXBUILD_CHANGED": paths_text(changed),
            }
            done = subprocess.run(  # noqa: S602  # the user's own command line
                self._command, shell=True, env=environment, check=False, stdin=subprocess.DEVNULL
            )
            if done.returncode:
                self._console.warn(f"--exec ended with {done.returncode} for {result.name}")
