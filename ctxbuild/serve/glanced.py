"""What a look that found everything fresh notes, so that a glance is enough next time.

Noted is only what a stat surely tells: no file that changed so lately that it could do
so again without a trace, no target with inputs that are no files of the tree, nothing
where symbolic links are among the sources or something is to be warned of. Between the
look and the note nothing can change either: all that did since the process began counts
as too young.
"""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxbuild.serve import glance
from ctxbuild.source import rows
from ctxbuild.stores.state import STATE
from ctxbuild.stores.versions import code_directories, code_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxbuild.source.ctxfile import Ctxfile
    from ctxbuild.source.scan import Snapshot


class Around(NamedTuple):
    """What a look rests on besides the tree, by how it is told whether it is the same.

    Attributes:
        absent: what must not be there.
        places: what must be there, whatever is in it.
        others: files and directories of which everything matters.
    """

    absent: list[str]
    places: list[str]
    others: list[str]


def note(
    ctxfile: Ctxfile, snapshot: Snapshot, outputs: list[tuple[str, str, str]], since: int
) -> bool:
    """Writes a note if a glance can stand for the look.

    Args:
        ctxfile: the project; its state database must be closed.
        snapshot: of the look.
        outputs: target, path and stat (as `glance.stat_line` writes it) of those of every
            target that is fresh and rests on the tree alone.
        since: nanoseconds; what the look rests on was read later.

    Returns:
        Whether there is a note now.
    """
    around = _around(ctxfile, snapshot) if outputs else None
    if around is None or glance.has_log(os.fsencode(around.others[0])):
        return False
    try:
        sections = _sections(ctxfile.root, snapshot, around, since)
        if sections is None or not all(_is_old(os.stat(path), since) for _, path, _ in outputs):
            return False
        sections["targets"] = _joined(field for output in outputs for field in output)
        _write(os.path.join(ctxfile.root, glance.CACHE, glance.NAME), glance.joined(sections))
    except (OSError, OverflowError, UnicodeEncodeError):
        return False  # it is gone already, cannot be counted, or the cache cannot be written
    return True


def _sections(root: str, snapshot: Snapshot, around: Around, since: int) -> dict[str, bytes] | None:
    """All but the targets; None where something is too young."""
    others = [os.stat(path) for path in around.others]
    if not all(_is_old(st, since) for st in others):
        return None
    places = [os.stat(path) for path in around.places]
    directories: list[str] = []
    files: list[str] = []
    of_directories, of_files = array("q"), array("q")
    for path, row in snapshot.known()[1].items():
        if row.racy or row.links:
            return None
        directories.append(path or ".")
        of_directories.extend(row.stat)
        files += [f"{path}/{name}" for name in row.names] if path else row.names
        of_files += row.stats
    numbers = [
        array("q", [number for st in places for number in glance.OF_PLACE(st)]),
        array("q", [number for st in others for number in glance.OF_OTHER(st)]),
        of_directories,
        of_files,
    ]
    return {
        "circumstances": glance.circumstances(root),
        **{name: _joined(getattr(around, name)) for name in Around._fields},
        "directories": _joined(directories),
        "files": _joined(files),
        "numbers": b"".join(each.tobytes() for each in numbers),
    }


def _write(path: str, data: bytes) -> None:
    """By rename, as `stores/atomic.py` does, whose imports would cost more than the note."""
    temporary = os.path.join(os.path.dirname(path), f".ctxbuild-{os.getpid()}.tmp")
    with open(temporary, "xb") as file:
        try:
            file.write(data)
            file.close()
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def _joined(texts: Iterable[str]) -> bytes:
    return b"\0".join(map(os.fsencode, texts))


def _is_old(st: os.stat_result, since: int) -> bool:
    return not rows.is_racy(st.st_mtime_ns, st.st_ctime_ns, since)


def _around(ctxfile: Ctxfile, snapshot: Snapshot) -> Around | None:
    """None where more than stats would have to be looked at."""
    root = ctxfile.root
    cache = os.path.join(root, glance.CACHE)
    place = os.path.normpath(os.path.join(root, ctxfile.project.cache))
    usual = os.path.join(root, glance.CTXFILE) == os.path.abspath(ctxfile.path) and place == cache
    head = snapshot.known()[0]
    if not usual or snapshot.root != root or snapshot.warnings or head.get("unreadable"):
        return None
    found = Around([], [], [os.path.join(cache, STATE), os.path.join(cache, "FORMAT")])
    found.others.append(os.path.join(root, glance.CTXFILE))
    found.others.extend((*code_directories(), *code_files()))
    return found if _repository(root, head, found) else None


def _repository(root: str, head: dict[str, Any], found: Around) -> bool:
    """Adds what decides which repository the root is in, and what that says of the tree."""
    top, gitdir, _ = head.get("repository") or ("", "", "")
    directory = root
    while directory != top:
        git = os.path.join(directory, ".git")
        if os.path.lexists(git):
            return False  # it is none, and only its content tells
        found.absent.append(git)
        above = os.path.dirname(directory)
        if above == directory:
            return not top
        directory = above
    pointer = os.path.join(top, ".git")
    (found.places if os.path.isdir(pointer) else found.others).append(pointer)
    found.places.append(os.path.join(gitdir, "HEAD"))
    seen = {os.path.join(gitdir, "index"): head.get("index")}
    seen |= {path: stat for key in ("stats", "config") for path, stat in head.get(key, {}).items()}
    common = os.path.join(gitdir, "commondir")
    seen[common] = os.path.isfile(common) or None
    for path, stat_seen in seen.items():
        (found.absent if stat_seen is None else found.others).append(path)
    return True
