"""The bytes of a session file to entries: JSON lines one at a time, or one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple, Protocol

import orjson

from ctxbuild.facts.transcript import Entry
from ctxbuild.facts.transcript_formats import entries_of
from ctxbuild.model import Problem

LONGEST_LINE = 32 << 20
"""Bytes of the longest line that is read: its JSON takes a few times as much memory."""

LARGEST_DOCUMENT = 64 << 20
"""Bytes of the largest JSON document that is read at once."""

_PIECE = 1 << 20


class Line(NamedTuple):
    """A line of a file.

    Attributes:
        number: from 1.
        data: without its line feed; b"" where it is too long.
        size: bytes.
        digest: SHA-256 in hexadecimal, only where it is too long.
    """

    number: int
    data: bytes
    size: int
    digest: str = ""


class Readable(Protocol):
    """What lines are read from."""

    def readline(self, limit: int = -1, /) -> bytes:
        """The next line, or as much of it as is allowed; b"" at the end."""


def lines_of(file: Readable, first: int = 1) -> Iterator[Line]:
    """The lines of a file; one that is too long is only measured.

    Args:
        file: open for reading.
        first: the number of its first line.
    """
    number = first - 1
    while True:
        data = file.readline(LONGEST_LINE)
        if not data:
            return
        number += 1
        if len(data) < LONGEST_LINE or data.endswith(b"\n"):
            yield Line(number, data.rstrip(b"\r\n"), len(data))
            continue
        digest, size = sha256(data), len(data)
        while not data.endswith(b"\n") and (data := file.readline(_PIECE)):
            digest.update(data)
            size += len(data)
        yield Line(number, b"", size, digest.hexdigest())


def read_entries(
    file: BinaryIO, problems: list[Problem], formats: dict[str, int]
) -> Iterator[Entry]:
    """What a session file says.

    Args:
        file: open for reading, at its beginning.
        problems: takes what is wrong.
        formats: takes how many records are of which format.
    """
    head = file.peek(_PIECE)[:_PIECE] if hasattr(file, "peek") else file.read(_PIECE)
    file.seek(0)
    if is_document(head):
        yield from _document(file, problems, formats)
        return
    for line in lines_of(file):
        yield from of_line(line, problems, formats)


def of_line(line: Line, problems: list[Problem], formats: dict[str, int]) -> list[Entry]:
    """What one line says."""
    if line.digest:
        what = f"line {line.number}: {line.size:,} bytes, sha256 {line.digest[:12]}, passed over"
        problems.append(Problem("too-large", what))
        return []
    if not line.data.strip():
        return []
    data = line.data.removeprefix(b"\xef\xbb\xbf") if line.number == 1 else line.data
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        value = _lenient(data)
        if value is None:
            what = f"line {line.number}: is not JSON ({error.msg}), passed over"
            problems.append(Problem("damaged-line", what))
            return []
    listed = _listed(value)
    values = [value] if listed is None else _with_system(value, listed)
    return [e for each in values for e in _entries(each, line.number, problems, formats)]


def _lenient(data: bytes) -> Any:
    """What is JSON but for bytes that are not UTF-8, or halves of surrogate pairs."""
    try:
        value = json.loads(data.decode("utf-8", "replace"))
        sound = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return json.loads(sound)
    except (ValueError, RecursionError):
        return None


def _entries(
    value: Any, source: int, problems: list[Problem], formats: dict[str, int]
) -> list[Entry]:
    form, found = entries_of(value, source, problems)
    if form:
        formats[form] = formats.get(form, 0) + 1
    return found


def is_document(head: bytes) -> bool:
    """Whether a file begins like one JSON document: a list, or an object with messages."""
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"["):
        return True
    if not head.startswith(b"{"):
        return False
    first, feed, _ = head.partition(b"\n")
    try:
        value = orjson.loads(first)
    except orjson.JSONDecodeError:
        # An object over several lines; a single damaged line is a line.
        return bool(feed) and len(first.strip()) <= 1
    return isinstance(value, dict) and _listed(value) is not None


def _document(file: BinaryIO, problems: list[Problem], formats: dict[str, int]) -> Iterator[Entry]:
    data = file.read(LARGEST_DOCUMENT + 1)
    if len(data) > LARGEST_DOCUMENT:
        what = f"one JSON document of more than {LARGEST_DOCUMENT >> 20} MB: write JSON lines"
        problems.append(Problem("too-large", what))
        return
    for index, value in enumerate(_values(data, problems)):
        yield from _entries(value, index, problems, formats)


def _values(data: bytes, problems: list[Problem]) -> list[Any]:
    try:
        value = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        found = _salvaged(data)
        what = f"the document is not JSON ({error.msg}): {len(found)} whole messages were read"
        problems.append(Problem("damaged-line", what))
        return found
    listed = value if isinstance(value, list) else _listed(value)
    if listed is None:
        return [value]
    return _with_system(value, listed)


def _with_system(value: Any, listed: list[Any]) -> list[Any]:
    """Messages behind the system text that an object gives apart."""
    system = value.get("system") if isinstance(value, dict) else None
    return [*([{"role": "system", "content": system}] if system else []), *listed]


def _listed(value: Any) -> list[Any] | None:
    """The list of messages in an object that holds one."""
    if not isinstance(value, dict) or "role" in value:
        return None
    for name in ("messages", "input", "output", "items", "conversation"):
        if isinstance(value.get(name), list):
            found: list[Any] = value[name]
            return found
    return None


def _salvaged(data: bytes) -> list[Any]:
    """The whole objects at the beginning of a list that breaks off."""
    text = data.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at = text.find("[") + 1
    found: list[Any] = []
    while at:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(value)
    return found
