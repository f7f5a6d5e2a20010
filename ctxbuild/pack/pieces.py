"""A transcript's file in pieces: cut at line feeds, so that what is appended changes only the last.

Where a piece ends depends on nothing that stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import xxhash

from ctxbuild.errors import SourceChanged
from ctxbuild.facts.transcript import Entry
from ctxbuild.facts.transcript_lines import is_document, lines_of, of_line, read_entries
from ctxbuild.model import Problem

_PIECE = 1 << 20
_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a transcript.

    Attributes:
        offset, length: in bytes.
        line: number of its first line.
        digest: of its bytes, xxh3-128.
        document: the whole file is one JSON document.
    """

    offset: int
    length: int
    line: int
    digest: bytes
    document: bool = False


def pieces_of(file: BinaryIO) -> list[Piece]:
    """The pieces of a file, read once, a block in memory at a time."""
    head = file.read(_BLOCK)
    document = is_document(head)
    file.seek(0)
    pieces: list[Piece] = []
    offset = length = lines = 0
    line, hasher = 1, xxhash.xxh3_128()
    while block := file.read(_BLOCK):
        at = 0
        while at < len(block):
            room = max(0, _PIECE - length)
            feed = -1 if document else block.find(b"\n", min(at + room, len(block)))
            end = feed + 1 if feed != -1 else len(block)
            taken = memoryview(block)[at:end]
            hasher.update(taken)
            length += end - at
            lines += block.count(b"\n", at, end)
            at = end
            if feed != -1:
                pieces.append(Piece(offset, length, line, hasher.digest()))
                offset, length, line = offset + length, 0, line + lines
                lines, hasher = 0, xxhash.xxh3_128()
    if length:
        pieces.append(Piece(offset, length, line, hasher.digest(), document))
    return pieces


class _Region:
    """A part of a file that digests what is read of it."""

    def __init__(self, file: BinaryIO, piece: Piece) -> None:
        file.seek(piece.offset)
        self._file = file
        self._left = piece.length
        self.hasher = xxhash.xxh3_128()

    def readline(self, limit: int = -1, /) -> bytes:
        """The next line, at most to the end of the part."""
        most = self._left if limit < 0 else min(limit, self._left)
        data = self._file.readline(most) if most else b""
        self._left -= len(data)
        self.hasher.update(data)
        return data


def entries_in(
    file: BinaryIO, piece: Piece, path: str, problems: list[Problem], formats: dict[str, int]
) -> Iterator[Entry]:
    """What a piece of a file says.

    Raises:
        SourceChanged: it is not what it was when it was cut.
    """
    if piece.document:
        hasher = xxhash.xxh3_128()
        while block := file.read(_BLOCK):
            hasher.update(block)
        if hasher.digest() != piece.digest:
            raise SourceChanged(path)
        file.seek(0)
        yield from read_entries(file, problems, formats)
        return
    region = _Region(file, piece)
    for line in lines_of(region, piece.line):
        yield from of_line(line, problems, formats)
    if region.hasher.digest() != piece.digest:
        raise SourceChanged(path)
