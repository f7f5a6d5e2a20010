"""What holds for every command: arguments, exit codes, streams, colours, and what is imported."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from ctxbuild import __version__
from ctxbuild.cli.console import Console
from ctxbuild.cli.main import COMMANDS, main


def python(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )


def test_the_version_is_printed_and_nothing_is_imported_for_it():
    program = (
        "import sys; before = set(sys.modules)  # an editable install brings some\n"
        "from ctxbuild.cli.main import main; code = main(['--version'])\n"
        "print(code, sorted({'argparse', 'sqlite3', 'json', 'pathlib',"
        " 'dataclasses', 'ctxbuild.errors', 'ctxbuild.cli.console'} & set(sys.modules) - before))"
    )
    done = python(program)
    version, modules = done.stdout.splitlines()
    assert version == f"ctxbuild {__version__}"
    assert modules == "0 []"
    assert done.stderr == ""


def test_without_a_command_the_overview_lists_all(empty, capsysbinary):
    assert main([]) == 2
    listed = capsysbinary.readouterr().out.decode()
    assert main(["--help"]) == 0
    assert capsysbinary.readouterr().out.decode() == listed
    assert all(f"  {name} " in listed for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_its_flags(name, capsysbinary):
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    text = capsysbinary.readouterr().out.decode()
    assert text.startswith(f"usage: ctxbuild {name} ")
    for flag in ("-C DIR", "-f FILE", "-j N", "--quiet", "--verbose", "--color"):
        assert flag in text
    assert ("--json" in text) == (name != "mcp")  # which speaks a protocol of its own


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["biuld"], "ctxbuild: unknown command 'biuld': did you mean 'build'?\n"),
        (["zzz"], "ctxbuild: unknown command 'zzz': see `ctxbuild --help`\n"),
        (["-q"], "ctxbuild: no command given; see `ctxbuild --help`\n"),
    ],
)
def test_an_unknown_command_is_refused_with_a_suggestion(arguments, message, capsysbinary):
    assert main(arguments) == 2
    out, err = capsysbinary.readouterr()
    assert (out, err.decode()) == (b"", message)


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_flag_is_refused(name, shop):
    outcome = shop(name, "--nonsense")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"ctxbuild {name}: error: " in outcome.err


def test_flags_are_not_abbreviated(shop):
    assert shop("build", "--expl").code == 2


@pytest.mark.parametrize("name", ["build", "explain", "graph", "cache", "clean", "doctor", "init"])
def test_a_directory_that_is_none_is_refused(name, empty):
    arguments = [name, "info"] if name == "cache" else [name]
    outcome = empty(*arguments, at="nowhere")
    assert (outcome.code, outcome.err) == (
        2,
        "ctxbuild: ROOT/nowhere: is not a directory: correct -C\n",
    )


def test_options_may_stand_before_the_command_and_after_it(shop):
    assert main(["-C", str(shop.root), "cache", "dir"]) == 0
    assert main(["cache", "-C", str(shop.root), "dir"]) == 0
    assert main(["cache", "dir", "-C", str(shop.root)]) == 0


def test_another_ctxfile_is_taken_with_f(shop):
    shop.write(
        {"sub/other.toml": 'version = 1\n[targets.x]\nfiles = ["a.txt"]\n', "sub/a.txt": "a"}
    )
    data = shop("build", "-f", "sub/other.toml", "--json").data
    assert [target["name"] for target in data["targets"]] == ["x"]


def test_colour_follows_the_flag_then_the_environment(shop, monkeypatch):
    shop("build")
    assert "\x1b[" not in shop("why", "app").out
    assert "\x1b[32mkept\x1b[0m" in shop("why", "app", "--color", "always").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[32mok" in shop("doctor").out
    assert "\x1b[" not in shop("doctor", "--color", "never").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in shop("doctor").out
    assert "\x1b[31mctxbuild:\x1b[0m no" not in shop("show", "zzz").err


def test_verbose_tells_where_root_and_cache_are(shop):
    assert "root ROOT, cache ROOT/.ctxbuild\n" in shop("why", "app", "-v").err
    assert shop("why", "app").err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["build"],
        ["build", "-n"],
        ["show", "app"],
        ["show", "app", "--plan"],
        ["show", "app", "--blocks"],
        ["why", "app"],
        ["why", "app", "shop/cart.py"],
        ["explain"],
        ["explain", "-n"],
        ["graph"],
        ["cache", "info"],
        ["cache", "gc"],
        ["cache", "verify"],
        ["cache", "dir"],
        ["schema"],
        ["doctor"],
        ["doctor", "--left-out"],
        ["init", "--force"],
        ["clean", "-n"],
        ["clean"],
    ],
)
def test_json_is_all_that_stands_on_stdout(shop, arguments):
    shop.write({"shop/größe \n.py": "x = 1\n"})
    shop("build")
    outcome = shop(*arguments, "--json")
    assert outcome.code == 0
    assert isinstance(outcome.data, dict | list)


def test_names_that_a_terminal_cannot_show_do_not_break_the_output(shop):
    shop.edit("ctxfile.toml", '"README.md"', '"größe*"')
    shop.write({"größe \n.txt": "x\n"})
    plain = shop("build", "notes")
    assert plain.code == 0
    assert "facts(größe \\n.txt)" in plain.out
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(out=out, err=out)
    console.result("größe")
    out.flush()
    assert out.buffer.getvalue() == b"gr\\xf6\\xdfe\n"


def test_a_bug_of_ours_is_reported_with_a_log_and_code_3(shop, monkeypatch):
    from ctxbuild.cli.commands import schema

    def broken(args, console):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(schema, "run", broken)
    outcome = shop("schema")
    first, second = outcome.err.splitlines()
    assert (outcome.code, first) == (3, "ctxbuild: internal error: ZeroDivisionError: oh")
    log = second.removeprefix("ctxbuild: please report it with the log: ")
    with open(log, encoding="utf-8") as file:
        assert "ZeroDivisionError: oh" in file.read()


def test_an_interrupt_is_code_130(shop, monkeypatch):
    from ctxbuild.cli.commands import schema

    def interrupted(args, console):
        raise KeyboardInterrupt

    monkeypatch.setattr(schema, "run", interrupted)
    outcome = shop("schema")
    assert (outcome.code, outcome.err) == (
        130,
        "ctxbuild: interrupted: what was finished is kept\n",
    )


def test_a_reader_that_goes_away_is_no_failure():
    program = "import sys; from ctxbuild.cli.main import main; sys.exit(main(['schema']))"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
