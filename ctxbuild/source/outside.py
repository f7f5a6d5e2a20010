"""What packs depend on besides the selected sources: files anywhere, revisions, an index.

Each kind of such an input is a function from (root, argument) to a few bytes that
change whenever the thing does. They are asked at every look at the tree, by a
build with nothing to do too, so they must be quick.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO

_YOUNG = 2_000_000_000
"""Nanoseconds for which a file's stat may not tell one write from the next (git's racy rule)."""


def key_of(kind: str, argument: str) -> str:
    """The key of an input."""
    return f"{kind}\0{argument}"


def name_of(key: str) -> str:
    """What an input is called in reports."""
    return key.partition("\0")[2]


def state(root: str, key: str) -> bytes:
    """The present value of an input, b"" if there is no such thing."""
    kind, _, argument = key.partition("\0")
    return KINDS[kind](root, argument)


def read_file(root: str, path: str) -> bytes:
    """The content of a file anywhere; b"" if it cannot be read.

    Args:
        root: the ctxfile's directory.
        path: relative to it, or absolute.
    """
    try:
        with open(os.path.join(root, path), "rb") as file:
            return file.read()
    except OSError:
        return b""


def open_file(root: str, path: str) -> BinaryIO:
    """A file anywhere, open for reading, for what is too large to be read at once.

    Raises:
        OSError: it cannot be opened.
    """
    return open(os.path.join(root, path), "rb")  # the caller closes it


def file_state(root: str, path: str) -> bytes:
    """What tells one content of a file from another: its stat; its digest while it is young."""
    place = os.path.join(root, path)
    try:
        st = os.stat(place)
        if not time.time_ns() - _YOUNG > st.st_mtime_ns:
            import hashlib  # a build with nothing to do seldom needs it

            with open(place, "rb") as file:
                return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return b""
    return f"{st.st_size} {st.st_mtime_ns} {st.st_ctime_ns} {st.st_ino}".encode()


def diff_state(root: str, said: str) -> bytes:
    """What tells one difference from another, but for the contents of the tree itself."""
    from ctxbuild.source import diffs  # it runs processes, which most packs need not import

    return diffs.state(root, said)


def history_state(root: str, argument: str) -> bytes:
    """The last commits of the files that differ: how many, a blank, what the layer says."""
    from ctxbuild.source import diffs

    commits, _, said = argument.partition(" ")
    return diffs.history(root, said, int(commits))


def model_state(_root: str, _argument: str) -> bytes:
    """Which model the environment names, without its key; b"" for none."""
    from ctxbuild.source import model_client

    return model_client.identity()


def model_is_up(_root: str, _argument: str) -> bytes:
    """Whether something listens where that model answers: asked after it did not."""
    from ctxbuild.source import model_client

    return b"up" if model_client.is_up() else b""


EMBEDDINGS = tuple(f"CTXBUILD_EMBEDDINGS_{name}" for name in ("MODEL", "NAME", "URL"))
"""The variables that name an embedder (`source/embeddings.py`)."""


def embedder_state(root: str, _argument: str) -> bytes:
    """Which embedder the environment names, without its key; b"" for none."""
    if not any(map(os.environ.get, EMBEDDINGS)):
        return b""  # as mostly: nothing need be imported to know it
    from ctxbuild.source import embeddings

    return embeddings.identity(root)


def embedder_is_up(_root: str, _argument: str) -> bytes:
    """Whether that embedder could answer: asked after it did not."""
    from ctxbuild.source import embeddings

    return b"up" if embeddings.is_up() else b""


def read_objects(root: str, names: Sequence[str]) -> Mapping[str, bytes]:
    """Names of git's objects to their contents, those that are missing left out."""
    from ctxbuild.source import diffs

    return diffs.contents(root, names)


KINDS: dict[str, Callable[[str, str], bytes]] = {
    "file": file_state,
    "diff": diff_state,
    "history": history_state,
    "model": model_state,
    "model-up": model_is_up,
    "embedder": embedder_state,
    "embedder-up": embedder_is_up,
}
"""Kind of input to what reads its value."""
