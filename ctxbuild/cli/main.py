"""The `ctxbuild` command: finds the subcommand, imports only that, and maps errors to exit codes.

Exit codes: 0 fine; 1 a check said no; 2 usage or ctxfile error; 3 a bug of ours;
130 interrupted.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from types import ModuleType

    from ctxbuild.cli.console import Console

COMMANDS = {
    "init": "write a commented ctxfile for this repository",
    "build": "bring targets up to date",
    "watch": "keep targets fresh while files change",
    "ask": "print a pack that answers a question",
    "show": "print a pack, its plan or its blocks",
    "diff": "what differs between two packs, block by block",
    "delta": "an appendix that turns a pack that was read into the present one",
    "trace": "where each item of a packet comes from, and how it was found",
    "lint": "whether an output breaks a rule of a packet",
    "why": "why a unit is in a pack, or why not, and at which cost",
    "explain": "why a target was rebuilt, or what a build would run",
    "graph": "who imports whom, as JSON, DOT or Mermaid",
    "check": "whether the packs' evidence is sound, and 1 where a target forbids what it is not",
    "eval": "measure packs against questions with gold, beside plainer retrieval",
    "note": "add a finding to the notes file that outlives a session",
    "log": "what was built, with metrics, plans and how it went with them",
    "replay": "plan a logged build again, as it was or with one layer or variable changed",
    "recall": "print the original behind a hash in a compacted session",
    "bundle": "write packs, plans and what they rest on as one archive, or check one",
    "mcp": "serve packs to agents over the Model Context Protocol",
    "cache": "look at the cache, make it smaller, check it, carry it elsewhere",
    "schema": "print the JSON Schema of the ctxfile",
    "doctor": "check the installation, the cache and what is left out",
    "clean": "delete outputs and cache",
}
# What a running daemon answers, if there is one.
_SERVED = ("build", "show", "why")
_WITH_VALUE = frozenset({"-C", "-f", "-j", "--directory", "--file", "--jobs", "--color"})


def entry() -> None:
    """The process behind the command: `main`, without what an interpreter does for long lives.

    The garbage collector starts with the first real work (see `serve/session.py`),
    and a process that holds nothing but memory ends without tidying it up. Both
    are measurable in a build with nothing to do.
    """
    import atexit
    import gc

    gc.disable()
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    if atexit._ncallbacks() == 0 and "multiprocessing" not in sys.modules:  # noqa: SLF001
        os._exit(code)
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        argv: the arguments without the program's name; the process's own by default.

    Returns:
        The exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["--version"], ["-V"]):
        return _print_version()
    at = _command_at(arguments)
    name = arguments[at] if at is not None else ""
    if name not in COMMANDS:
        return _no_command(arguments, name)
    assert at is not None
    rest = arguments[:at] + arguments[at + 1 :]
    if name in _SERVED:
        from ctxbuild.serve import client

        code = client.ask(name, rest)
        if code is not None:
            return code
    if name == "show":
        from ctxbuild.serve import glance

        code = glance.show(rest)
        if code is not None:
            return code
    module = module_of(name)
    args = _plain(module, rest) or make_parser(name, module).parse_args(rest)
    return _run(module, args)


def _print_version() -> int:
    from ctxbuild import __version__

    sys.stdout.write(f"ctxbuild {__version__}\n")
    return 0


def _command_at(arguments: Sequence[str]) -> int | None:
    """Position of the first argument that is no option and no option's value."""
    skip = False
    for at, argument in enumerate(arguments):
        if skip:
            skip = False
        elif argument in _WITH_VALUE:
            skip = True
        elif not argument.startswith("-"):
            return at
    return None


def _no_command(arguments: Sequence[str], name: str) -> int:
    if not name and (not arguments or {"-h", "--help"} & set(arguments)):
        sys.stdout.write(_overview())
        return 0 if arguments else 2
    if not name:
        sys.stderr.write("ctxbuild: no command given; see `ctxbuild --help`\n")
        return 2
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, 1)
    hint = f"did you mean {near[0]!r}?" if near else "see `ctxbuild --help`"
    sys.stderr.write(f"ctxbuild: unknown command {name!r}: {hint}\n")
    return 2


def _overview() -> str:
    rows = "".join(f"  {name:8} {text}\n" for name, text in COMMANDS.items())
    return (
        "usage: ctxbuild [-C DIR] [-f FILE] COMMAND ...\n\n"
        "Make for context windows: compiles exactly the context that a task needs.\n\n"
        f"commands:\n{rows}\n"
        "`ctxbuild COMMAND --help` tells more; `ctxbuild --version` prints the version.\n"
    )


class _Plain:
    """What a parser would give for names alone; every option has its default."""

    directory, file, jobs, color = ".", None, 0, "auto"

    def __getattr__(self, name: str) -> None:
        return None


def _plain(module: ModuleType, arguments: Sequence[str]) -> Namespace | None:
    """The arguments without argparse, which costs as much as a whole answer that is at hand.

    None where there is an option, or the command has no such short cut.
    """
    shortcut = getattr(module, "plain", None)
    if shortcut is None:
        return None
    names: list[str] = []
    args = _Plain()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "-C" and rest:
            args.directory = rest.pop(0)
        elif argument.startswith("-"):
            return None
        else:
            names.append(argument)
    values = shortcut(names)
    if values is None:
        return None
    args.__dict__.update(values)
    return args  # type: ignore[return-value]  # it is read like one


def module_of(name: str) -> ModuleType:
    """The module of a command."""
    from importlib import import_module

    return import_module(f"ctxbuild.cli.commands.{name}")


def make_parser(name: str, module: ModuleType) -> ArgumentParser:
    """The parser of a command line without the command's name."""
    from argparse import ArgumentParser, HelpFormatter

    parser = ArgumentParser(
        prog=f"ctxbuild {name}",
        description=module.__doc__,
        allow_abbrev=False,
        # Without a width it would import shutil, and with that the compressors, for every command.
        formatter_class=lambda prog: HelpFormatter(prog, width=100),
    )
    parser.add_argument("-C", "--directory", metavar="DIR", default=".", help="work in DIR")
    parser.add_argument("-f", "--file", metavar="FILE", help="the ctxfile (default: ctxfile.toml)")
    parser.add_argument(
        "-j", "--jobs", metavar="N", type=int, default=0, help="processes (default: one per core)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="errors only")
    parser.add_argument("-v", "--verbose", action="store_true", help="tell more")
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colour the output"
    )
    parser.add_argument(
        "--no-daemon", action="store_true", help="do the work here, even if a daemon runs"
    )
    module.arguments(parser)
    return parser


def _run(module: ModuleType, args: Namespace) -> int:
    from ctxbuild.cli.console import Console
    from ctxbuild.errors import CtxbuildError

    console = Console(color=args.color, quiet=args.quiet, verbose=args.verbose)
    try:
        code: int = module.run(args, console)
        console.flush()
        return code
    except CtxbuildError as error:
        console.error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        console.error("interrupted: what was finished is kept")
        return 130
    except BrokenPipeError:
        # The reader went away, as `head` does: not our failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except RecursionError as error:
        return _bug(console, error)
    except Exception as error:  # noqa: BLE001  # the last resort: a bug becomes a report
        return _bug(console, error)


def _bug(console: Console, error: BaseException) -> int:
    from ctxbuild.cli.bugs import report

    console.error(f"internal error: {type(error).__name__}: {error}")
    console.error(f"please report it with the log: {report(error)}")
    return 3
