"""Bytes become text: UTF-8, UTF-16 with a mark, or what a coding line says."""

from __future__ import annotations

import codecs
import re

from ctxbuild.model import Problem

LIMIT = 10_000_000  # bytes; of a larger file not even the text is kept
PARSED = 2_000_000  # bytes; a larger file is not parsed: the tree needs a hundred times as much
_SNIFF = 4096
_CODING = re.compile(rb"^[ \t\f]*#.{0,200}?coding[:=][ \t]*([-\w.]{1,40})")
_BLANK = re.compile(rb"^[ \t\f]*(?:#[^\n\r]*)?$")


def decode(data: bytes) -> tuple[str, tuple[Problem, ...]]:
    """The text of a file, with line feeds as line ends and without a byte order mark.

    Args:
        data: the file's bytes, at most `LIMIT`.

    Returns:
        The text and what was wrong: "binary" (the text is empty) or "encoding"
        (undecodable bytes are replaced). The text never holds a surrogate.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _decoded(data, "utf-16")
    if b"\0" in data:
        return "", (Problem("binary", "holds NUL bytes"),)
    if data.startswith(codecs.BOM_UTF8):
        return _decoded(data[3:], "utf-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _decoded(data, _coding(data) or "utf-8")
    # Almost every file is UTF-8; where its bytes are ASCII a coding line changes nothing.
    coding = None if text.isascii() else _coding(data)
    if coding is None:
        return _line_ends(text), ()
    return _decoded(data, coding)


def _coding(data: bytes) -> str | None:
    """The codec that the coding line in the first two lines names, if it is a text codec."""
    for line in data[:_SNIFF].splitlines()[:2]:
        found = _CODING.match(line)
        if found:
            try:
                codec = codecs.lookup(found[1].decode("ascii", "replace"))
            except (LookupError, ValueError):
                return None
            return codec.name if getattr(codec, "_is_text_encoding", True) else None
        if not _BLANK.match(line):
            return None
    return None


def _decoded(data: bytes, coding: str) -> tuple[str, tuple[Problem, ...]]:
    problems: tuple[Problem, ...] = ()
    try:
        text = data.decode(coding)
        text.encode("utf-8")
    except (UnicodeError, ValueError) as error:
        problems = (Problem("encoding", f"not valid {coding}: {_where(data, error)}"),)
        try:
            text = data.decode(coding, "replace")
            text.encode("utf-8")
        except (UnicodeError, ValueError):
            text = data.decode("utf-8", "replace")
    if "\0" in text:
        return "", (Problem("binary", "holds NUL characters"),)
    return _line_ends(text), problems


def _where(data: bytes, error: Exception) -> str:
    start = getattr(error, "start", 0)
    return f"line {data[:start].count(10) + 1}"


def _line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
