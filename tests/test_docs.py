"""Commands and flags that the documentation shows exist."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

import pytest

from ctxbuild.cli.main import COMMANDS

PAGES = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))
COMMON = {"-C", "-f", "-j", "-q", "-v", "--color"}


def options(name):
    """Every option of a command."""
    parser = ArgumentParser()
    import_module(f"ctxbuild.cli.commands.{name}").arguments(parser)
    return COMMON | {option for action in parser._actions for option in action.option_strings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_calls_exists(page):
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join([*blocks, *re.findall(r"`(ctxbuild [^`\n]*)`", text)])
    for name, rest in re.findall(r"\bctxbuild ([a-z]+)\b([^\n|#;>&]*)", lines):
        assert name in COMMANDS, f"{page.name}: ctxbuild {name}"
        for option in re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest):
            assert option in options(name), f"{page.name}: ctxbuild {name} {option}"
