"""Exact token counts: toktok where it knows the encoding and runs, tiktoken elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from ctxbuild.errors import UsageError

Counter = Callable[[Sequence[str]], list[int]]
"""Texts to their exact token counts, special tokens read as ordinary text."""

BY_TOKTOK = frozenset({"cl100k_base", "o200k_base", "o200k_harmony"})


@lru_cache(maxsize=8)
def counter(tokenizer: str) -> Counter:
    """The counter of an encoding.

    Args:
        tokenizer: name of an encoding of tiktoken, `o200k_base` for instance.

    Raises:
        UsageError: nobody knows the name, or its vocabulary cannot be had offline.
    """
    if tokenizer in BY_TOKTOK:
        try:
            from toktok import batch_count
        except ImportError:  # no wheel for this platform (musl): the counts are the same
            return _tiktoken(tokenizer)
        return lambda texts: batch_count(list(texts), tokenizer, threads=1)
    return _tiktoken(tokenizer)


def _tiktoken(tokenizer: str) -> Counter:
    import tiktoken

    known = tiktoken.list_encoding_names()
    if tokenizer not in known:
        raise UsageError(
            f"unknown tokenizer {tokenizer!r}", f"use one of {', '.join(sorted(known))}"
        )
    try:
        encoding = tiktoken.get_encoding(tokenizer)
    except Exception as error:  # whatever its download of the vocabulary raises
        raise UsageError(
            f"tokenizer {tokenizer!r}: its vocabulary cannot be fetched ({error})",
            "set TIKTOKEN_CACHE_DIR to a directory that holds it, or use o200k_base",
        ) from error

    def count(texts: Sequence[str]) -> list[int]:
        return [
            sum(len(encoding.encode_ordinary(piece)) for piece in _tame(text)) for text in texts
        ]

    return count


_LONG_RUN = 100_000


def _tame(text: str) -> list[str]:
    """Cuts a text at line feeds before non-blank lines, only where it is huge.

    tiktoken is quadratic in runs without a boundary; at these places the
    encodings split anyway, so that the sum stays exact.
    """
    if len(text) < _LONG_RUN:
        return [text]
    pieces: list[str] = []
    start = 0
    while len(text) - start > _LONG_RUN:
        cut = text.find("\n", start + _LONG_RUN // 2)
        while cut != -1 and not text[cut + 1 : cut + 2].isalnum():
            cut = text.find("\n", cut + 1)
        if cut == -1:
            break
        pieces.append(text[start : cut + 1])
        start = cut + 1
    return [*pieces, text[start:]]
