"""What is to be checked, read: files, directories, diffs, standard input."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from ctxbuild.compare.lint import Output
from ctxbuild.errors import UsageError
from ctxbuild.facts import language_of

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_LARGEST = 20_000_000
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".ctxbuild"})
_LANGUAGES = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".tsx": "typescript",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".kt": "kotlin",
    ".rb": "ruby",
    ".php": "php",
    ".cs": "csharp",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".hpp": "cpp",
    ".swift": "swift",
    ".sh": "shell",
    ".bash": "shell",
    ".sql": "sql",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".xml": "xml",
    ".css": "css",
    ".html": "html",
    ".htm": "html",
}
PROSE = frozenset({"", ".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc"})
"""Endings of names of texts for people."""


def language_by_name(path: str) -> str:
    """The language of a file by its name, "" for prose and what is not known."""
    known = language_of(path)
    if known:
        return known
    return _LANGUAGES.get(os.path.splitext(path)[1].lower(), "")


def outputs_of(named: Sequence[str], directory: str, standard_input: bytes | None) -> list[Output]:
    """The texts that arguments name.

    Args:
        named: files, directories, or "-" for standard input.
        directory: what paths are relative to.
        standard_input: its content, None where "-" is not named.

    Raises:
        UsageError: one of them is missing, no text or too large.
    """
    found: list[Output] = []
    for name in named:
        if name == "-":
            found += parse_output("-", _decoded(standard_input or b"", "-"))
            continue
        path = os.path.join(directory, name)
        if os.path.isdir(path):
            found += _below(path, name)
        else:
            found += parse_output(name, _read(path, name))
    return found


def parse_output(name: str, text: str) -> list[Output]:
    """A text as it is, or what a diff adds, file by file."""
    if is_diff(name, text):
        return list(_added(text))
    return [Output(name, text, language_by_name(name))]


def is_diff(name: str, text: str) -> bool:
    """Whether a text is a diff: by its name, or by how it begins."""
    if name.endswith((".diff", ".patch")):
        return True
    head = text[:4_000]
    return head.startswith(("diff --git ", "--- ")) and _HUNK.search(text[:20_000]) is not None


def _added(text: str) -> Iterator[Output]:
    path, line, left_old, left_new = "", 0, 0, 0
    rows: list[str] = []
    numbers: list[int] = []
    for row in text.split("\n"):
        if left_old <= 0 and left_new <= 0:
            if row.startswith("+++ "):
                if rows:
                    yield _output(path, rows, numbers)
                rows, numbers, path = [], [], _name(row[4:])
            elif hunk := _HUNK.match(row):
                line = int(hunk[1])
                left_old, left_new = _sizes(row)
            continue
        mark = row[:1]
        if mark == "+":
            rows.append(row[1:].rstrip("\r"))
            numbers.append(line)
        if mark in "+ ":  # an empty row is an empty context line whose blank was lost
            line += 1
            left_new -= 1
        if mark in "- ":
            left_old -= 1
    if rows:
        yield _output(path, rows, numbers)


def _sizes(row: str) -> tuple[int, int]:
    sizes = re.match(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", row)
    old, new = sizes.groups() if sizes else (None, None)
    return (int(old) if old else 1), (int(new) if new else 1)


def _name(text: str) -> str:
    name = text.partition("\t")[0].strip().strip('"')
    return name[2:] if name.startswith(("b/", "w/", "i/")) else name


def _output(path: str, rows: list[str], numbers: list[int]) -> Output:
    # One more line, so that a place at the very end has a number.
    lines = (*numbers, numbers[-1] + 1)
    return Output(path, "\n".join(rows) + "\n", language_by_name(path), lines)


def _below(directory: str, name: str) -> Iterator[Output]:
    """Every text below a directory, in the order of the names; what is no text is passed over."""
    for where, directories, files in os.walk(directory):
        directories[:] = sorted(d for d in directories if d not in _SKIPPED)
        for file in sorted(files):
            path = os.path.join(where, file)
            try:
                with open(path, "rb") as opened:
                    data = opened.read(_LARGEST + 1)
            except OSError:
                continue
            if len(data) > _LARGEST or b"\0" in data[:8_000]:
                continue
            try:
                text = data.decode("utf-8-sig")
            except UnicodeDecodeError:
                continue
            shown = os.path.join(name, os.path.relpath(path, directory)).replace(os.sep, "/")
            yield Output(shown, _plain(text), language_by_name(file))


def _read(path: str, name: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}", "name an output") from error
    if len(data) > _LARGEST:
        raise UsageError(f"{name}: is over {_LARGEST:,} bytes", "name a smaller part of it")
    return _decoded(data, name)


def _decoded(data: bytes, name: str) -> str:
    try:
        return _plain(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: is no UTF-8 text", "name a text") from error


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
