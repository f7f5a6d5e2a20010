"""What `ctxbuild watch` shows: whole screens on a terminal, lines in a pipe."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxbuild.cli.console import Console
from ctxbuild.cli.liveview import Known, paths_text, screen
from ctxbuild.serve.reports import Report, TargetState
from ctxbuild.serve.results import TargetResult

PACKAGE_ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

# --- screens, as lines ---------------------------------------------------------------------

BUILT = TargetResult(
    "app", "built", ("plan(app)",), tokens=1_500, budget=4_000, reserve=1_000, digest="sha256:1"
)
PLAIN = Console(color="never")


def test_a_screen_shows_targets_the_last_change_and_what_it_rebuilt():
    known = Known(
        "/home/me/shop",
        "events",
        (
            TargetState("app", 4_000, 1_000, "fresh", BUILT),
            TargetState("engine", 80_000, 0),
        ),
        Report("built", "", ("a.py", "b.py", "c.py", "d.py"), (BUILT,), ("app",), 0.041),
    )
    assert screen(known, PLAIN, 80, 24) == [
        "watching /home/me/shop by events",
        "  app     1,500 / 3,000  ########........  fresh",
        "  engine     - / 80,000  ................  waiting",
        "changed: a.py, b.py, c.py and 1 more",
        "rebuilt: app, in 41 ms",
    ]


def test_a_screen_shows_what_is_wrong_and_that_the_last_good_pack_stays():
    state = TargetState("app", 4_000, 1_000, "failed", BUILT, "app: 'x.py' matches no file")
    known = Known("/s", "scanning", (state,), problem="ctxfile.toml:4: unknown key", note="a line")
    assert screen(known, PLAIN, 70, 24) == [
        "watching /s by scanning",
        "  app  1,500 / 3,000  ########........  failed",
        "a line",
        "ctxfile.toml:4: unknown key",
        "app: app: 'x.py' matches no file (the last good pack stays)",
    ]


def test_a_screen_fits_the_terminal():
    targets = tuple(TargetState(f"target-{number}", 1_000, 0) for number in range(50))
    lines = screen(Known("/" + "long/" * 40, "events", targets), PLAIN, 40, 10)
    assert len(lines) == 9
    assert max(map(len, lines)) <= 40
    assert lines[-1] == "and 43 more"


def test_names_cannot_move_the_cursor():
    known = Known("/s", "events", (TargetState("a", 10, 0),), Report("built", "", ("\x1b[2J.py",)))
    assert not any("\x1b" in line for line in screen(known, PLAIN, 80, 24))


def test_many_paths_are_counted():
    assert paths_text([f"{n}.py" for n in range(1_500)]) == "0.py, 1.py, 2.py and 1,497 more"


# --- a terminal -----------------------------------------------------------------------------


class Screen:
    """As much of a terminal as the view needs."""

    def __init__(self) -> None:
        self.lines = [""]
        self.row = 0
        self.column = 0

    def feed(self, text: str) -> None:
        for token in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if token == "\n":
                self.row += 1
                self.column = 0
                while len(self.lines) <= self.row:
                    self.lines.append("")
            elif token == "\r":
                self.column = 0
            elif token.startswith("\x1b["):
                self.control(token[2:-1], token[-1])
            else:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = (
                    line[: self.column] + token + line[self.column + len(token) :]
                )
                self.column += len(token)

    def control(self, number: str, what: str) -> None:
        if what == "A":
            self.row -= int(number)
            assert self.row >= 0
        elif what == "K":
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif what == "J":
            self.lines[self.row] = self.lines[self.row][: self.column]
            del self.lines[self.row + 1 :]
        else:
            assert what == "m", what

    def shown(self) -> list[str]:
        text = "\n".join(self.lines).rstrip()
        return re.sub(r"[\d.]+ (ms|s)\b", "TIME", text).splitlines()


class Terminal:
    """A program in a pseudo-terminal, and its screen."""

    def __init__(self, command: list[str], columns: int = 80, rows: int = 24) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.screen = Screen()
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(PACKAGE_ROOT)
            os.environ.update({"TERM": "xterm", "COLUMNS": str(columns), "LINES": str(rows)})
            os.execv(command[0], command)
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, size)

    def until(self, condition, seconds: float = 30.0) -> list[str]:
        """Reads until the screen fulfils a condition; the screen."""
        import select

        end = time.monotonic() + seconds
        while not condition(self.screen.shown()):
            assert time.monotonic() < end, self.screen.shown()
            if select.select([self.descriptor], [], [], 0.1)[0]:
                data = os.read(self.descriptor, 1 << 16)
                self.screen.feed(data.decode().replace("\r\n", "\n"))
        return self.screen.shown()

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        os.write(self.descriptor, b"\x03")
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
            with contextlib.suppress(OSError):
                os.read(self.descriptor, 1 << 16)
        raise AssertionError("it does not end")

    def close(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.descriptor)


@posix
def test_the_screen_follows_what_happens(shop, runtime):
    command = [sys.executable, "-m", "ctxbuild", "-C", str(shop.root), "watch", "-j", "1"]
    # A root of a known length, as the screen shows it.
    root = f"watching {os.path.realpath(shop.root)} by events"
    first = root if len(root) <= 160 else root[:157] + "..."
    terminal = Terminal(command, columns=160)
    try:
        assert terminal.until(lambda lines: lines[-1:] == ["rebuilt: app, in TIME"]) == [
            first,
            "  app  180 / 4,000  #...............  fresh",
            "rebuilt: app, in TIME",
        ]
        shop.replace("shop/prices.py", "prices: list", "of_the_prices: list")
        assert terminal.until(lambda lines: lines[-2:-1] == ["changed: shop/prices.py"]) == [
            first,
            "  app  181 / 4,000  #...............  fresh",
            "changed: shop/prices.py",
            "rebuilt: app, in TIME",
        ]
        good = (shop.root / "ctxfile.toml").read_text()
        shop.put("ctxfile.toml", good + "bugdet = 1\n")
        lines = terminal.until(lambda lines: "bugdet" in lines[-1])
        assert lines[:4] == [
            first,
            "  app  181 / 4,000  #...............  fresh",
            "changed: shop/prices.py",
            "rebuilt: app, in TIME",
        ]
        assert "unknown key 'bugdet' in target 'app', did you mean 'budget'?" in lines[-1]
        shop.put("ctxfile.toml", good)
        assert terminal.until(lambda lines: len(lines) == 4) == lines[:4]
        assert terminal.interrupt() == 0
    finally:
        terminal.close()


# --- a pipe ---------------------------------------------------------------------------------


@contextlib.contextmanager
def piped(project, *options):
    """A watch in the foreground; its lines as they come."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ctxbuild", "-C", str(project.root), "watch", "-j", "1", *options],
        cwd=PACKAGE_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()


def line(stream):
    return re.sub(r"[\d.]+ (ms|s)\b", "TIME", stream.readline().rstrip("\n"))


def test_a_pipe_gets_a_line_for_each_pack_that_changed(shop, runtime):
    with piped(shop) as process:
        assert line(process.stdout) == "app: 180 / 4,000 tokens, TIME"
        shop.replace("shop/prices.py", "prices: list", "of_the_prices: list")
        assert line(process.stdout) == "app: 181 / 4,000 tokens, TIME: shop/prices.py"
        shop.remove("shop/app.py")
        assert line(process.stderr).startswith("ctxbuild: app: ")
        process.terminate()
        assert process.wait(timeout=20) == 0
        assert process.stdout.read() == ""


def test_json_is_a_line_for_each_thing(shop, runtime):
    with piped(shop, "--json") as process:
        assert json.loads(process.stdout.readline()) == {
            "event": "building",
            "changed": [],
            "targets": ["app"],
        }
        built = json.loads(process.stdout.readline())
        assert (built["event"], built["results"][0]["name"]) == ("built", "app")


def test_polling_is_said_and_builds(shop, runtime):
    with piped(shop, "--poll") as process:
        assert line(process.stdout) == "watching by scanning: as asked for"
        assert line(process.stdout) == "app: 180 / 4,000 tokens, TIME"
        shop.replace("shop/prices.py", "prices: list", "of_the_prices: list")
        assert line(process.stdout) == "app: 181 / 4,000 tokens, TIME: shop/prices.py"


@posix
def test_a_command_runs_after_a_pack_changed_and_only_then(shop, runtime, tmp_path):
    told = tmp_path / "told"
    command = f'echo "$CTXBUILD_TARGET $CTXBUILD_DIGEST" >> {told}'
    with piped(shop, "--exec", command) as process:
        line(process.stdout)
        shop.put("shop/lonely.py", "def other() -> None: ...\n")
        shop.replace("shop/prices.py", "prices: list", "of_the_prices: list")
        line(process.stdout)
        end = time.monotonic() + 20
        while not told.exists() or told.read_text().count("\n") < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
    lines = told.read_text().splitlines()
    assert len(lines) == 2
    digest = json.loads(shop.outputs()["app.pack.json"])["digest"]
    assert lines[-1] == f"app {digest}"
