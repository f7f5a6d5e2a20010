"""A pack at a glance: printed after nothing but a stat of all that it rests on.

A look (`stores/look.py`) that found everything fresh notes the stat of whatever could
have told otherwise: the tree, what decides about it from outside, the code, the state
and the outputs. As long as none of them differs the look would find the same again,
so that neither the state nor the ctxfile has to be read. See `serve/glanced.py` for
what is noted and when. Reading a note imports nothing that is not at hand anyway.
"""

from __future__ import annotations

import os
import sys
from itertools import chain
from operator import attrgetter
from struct import error, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

NAME = "glance"
MAGIC = b"ctxbuild-glance 1\n"
CACHE, CTXFILE = ".ctxbuild", "ctxfile.toml"
SECTIONS = (
    *("circumstances", "absent", "places", "others", "directories", "files"),
    *("targets", "numbers"),
)

OF_FILE = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")
OF_DIRECTORY = attrgetter("st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev")
OF_OTHER = attrgetter("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev")
OF_PLACE = attrgetter("st_mode", "st_ino", "st_dev")

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# As `source/git.py` has them; importing it would take longer than all of this.
VARIABLES = (
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
)
# As `source/outside.py` has them: whether what answers a question depends on an embedder.
EMBEDDINGS = (
    "CTXBUILD_EMBEDDINGS_MODEL",
    "CTXBUILD_EMBEDDINGS_NAME",
    "CTXBUILD_EMBEDDINGS_URL",
)


def show(arguments: Sequence[str]) -> int | None:
    """Prints a target's Markdown if everything is as it was noted.

    Args:
        arguments: of the command line, without `show`.

    Returns:
        The exit code; None where a look has to be taken: nothing is printed then.
    """
    said = _said(arguments)
    if said is None:
        return None
    target, directory = said
    try:
        data = _output(_root_above(directory), target)
    except (OSError, ValueError, error):
        return None
    return None if data is None else _print(data)


def _said(arguments: Sequence[str]) -> tuple[str, str] | None:
    """The one target and the directory, None where anything else is said."""
    names, directory = [*arguments], "."
    while "-C" in names[:-1]:
        at = names.index("-C")
        directory = names[at + 1]
        del names[at : at + 2]
    return None if len(names) != 1 or names[0].startswith("-") else (names[0], directory)


def _root_above(directory: str) -> str:
    """The nearest directory that holds a ctxfile.

    Raises:
        ValueError: there is none.
    """
    here = os.path.abspath(directory)
    while not os.path.isfile(os.path.join(here, CTXFILE)):
        here, below = os.path.dirname(here), here
        if here == below:
            raise ValueError(directory)
    return here


def _output(root: str, target: str) -> bytes | None:
    """The target's Markdown, None if anything differs or nothing was noted.

    Raises:
        OSError: something is gone.
        ValueError: the note is no note.
        struct.error: a file system counts further than a note can.
    """
    with open(os.path.join(root, CACHE, NAME), "rb") as file:
        data = file.read()
    if not data.startswith(MAGIC):
        return None
    note = split(data)
    if note["circumstances"] != circumstances(root):
        return None
    known = note["targets"].split(b"\0")
    if os.fsencode(target) not in known[:: len(TARGET)]:
        return None
    if any(os.path.exists(path) for path in paths_of(note["absent"])):
        return None
    state, others = os.fsencode(os.path.join(root, CACHE, "state.db")), paths_of(note["others"])
    # A note that comes with a repository cannot know the identity of this file.
    if others[:1] != [state] or has_log(state):
        return None
    around = (
        stats_of(OF_PLACE, os.stat, paths_of(note["places"])),
        stats_of(OF_OTHER, os.stat, others),
    )
    if b"".join(around) + _tree(root, note) != note["numbers"]:
        return None
    return _intact(known, os.fsencode(target))


def _tree(root: str, note: dict[str, bytes]) -> bytes:
    """The numbers of the tree, looked at from its root: a long path costs the system time."""
    before = os.getcwd()
    os.chdir(root)
    try:
        directories = stats_of(OF_DIRECTORY, os.lstat, paths_of(note["directories"]))
        return directories + stats_of(OF_FILE, os.lstat, paths_of(note["files"]))
    finally:
        os.chdir(before)


TARGET = ("name", "path", "stat")
"""What stands in a note for each output of a target."""


def _intact(known: list[bytes], target: bytes) -> bytes | None:
    """The Markdown of a target of which every output is as it was written."""
    found = None
    for at in range(0, len(known), len(TARGET)):
        name, path, stat = known[at : at + len(TARGET)]
        if name != target:
            continue
        if stat_line(os.stat(path)) != stat:
            return None
        if os.path.basename(path) == target + b".md":
            with open(path, "rb") as file:
                found = file.read()
    return found


def stat_line(st: os.stat_result) -> bytes:
    """What tells whether an output is still as it was written."""
    return b"%d %d %d %d" % (st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)


def split(data: bytes) -> dict[str, bytes]:
    """The sections of a note.

    Raises:
        ValueError: it is cut off, or no note at all.
    """
    start = len(MAGIC)
    end = data.index(b"\n", start)
    sizes = [int(size) for size in data[start:end].split()]
    found, at = {}, end + 1
    for name, size in zip(SECTIONS, sizes, strict=True):
        found[name] = data[at : at + size]
        at += size
    if at != len(data):
        raise ValueError("cut off")
    return found


def joined(sections: dict[str, bytes]) -> bytes:
    """The inverse of `split`."""
    parts = [sections[name] for name in SECTIONS]
    return MAGIC + b" ".join(b"%d" % len(part) for part in parts) + b"\n" + b"".join(parts)


def paths_of(section: bytes) -> list[bytes]:
    """The paths of a section, none of which is empty."""
    return section.split(b"\0") if section else []


def stats_of(getter: Any, stat: Any, paths: Iterable[bytes]) -> bytes:
    """The numbers of each path, as machine words.

    Raises:
        OSError: one is gone.
        struct.error: a number is too large for a word.
    """
    numbers = [*chain.from_iterable(map(getter, map(stat, paths)))]
    return pack(f"={len(numbers)}q", *numbers)


def has_log(state: bytes) -> bool:
    """Whether somebody has written to the state database and not yet put it away."""
    try:
        return os.stat(state + b"-wal").st_size > 0
    except FileNotFoundError:
        return False


def circumstances(root: str) -> bytes:
    """All besides files that a look depends on."""
    installed = [path for path in sys.path if path.endswith("-packages")]
    said = [os.environ.get(name) for name in (*VARIABLES, *EMBEDDINGS)]
    values = [root, PACKAGE, sys.version, *installed, *(f"={v}" if v else "" for v in said)]
    return b"\0".join(map(os.fsencode, values))


def _print(data: bytes) -> int:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away, as `head` does: not our failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
