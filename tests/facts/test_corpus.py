"""The standard library of the running interpreter, compared with its own parser."""

import ast
import sysconfig
import warnings
from pathlib import Path

import pytest

from ctxbuild.facts import extract

LIBRARY = Path(sysconfig.get_path("stdlib"))
DEFINITIONS = ("class", "function", "method", "property")


def modules(stride: int) -> list[Path]:
    skipped = {"site-packages", "test", "tests", "idle_test", "lib2to3"}
    found = sorted(
        path
        for path in LIBRARY.rglob("*.py")
        if not skipped.intersection(path.relative_to(LIBRARY).parts)
    )
    return found[::stride]


def expected(tree: ast.Module) -> list[tuple[str, int, int]]:
    """Qualified name, first and last line of every definition that no function holds."""
    found = []
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        node, prefix = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                found.append((prefix + child.name, first, child.end_lineno or 0))
                if isinstance(child, ast.ClassDef):
                    stack.append((child, f"{prefix}{child.name}."))
            elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                stack.append((child, prefix))
    return sorted(found)


def parsed(source: bytes | str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError):
            return None


def check(path: Path) -> None:
    data = path.read_bytes()
    facts = extract(data, "python")
    assert parsed(facts.skeleton) is not None, path
    tree = parsed(data)
    if tree is None or facts.problems:
        return
    spans = sorted(
        (symbol.name, first, last)
        for symbol, (first, last, _start, _end) in zip(
            facts.definitions, facts.lines.symbols, strict=True
        )
        if symbol.kind in DEFINITIONS
    )
    assert spans == expected(tree), path
    text = facts.text.encode()
    for body, (_first, _last, start, end) in zip(facts.bodies, facts.lines.symbols, strict=True):
        assert body.split() == text[start:end].decode().split(), path
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert len([each for each in facts.imports if each.kind != "dynamic"]) == sum(
        len(node.names) for node in statements
    ), path


@pytest.mark.parametrize("path", modules(40), ids=lambda path: path.name)
def test_a_sample_of_the_standard_library_agrees_with_its_parser(path):
    check(path)


@pytest.mark.slow
def test_the_whole_standard_library_agrees_with_its_parser():
    for path in modules(1):
        check(path)
