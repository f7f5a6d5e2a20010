"""Which file systems tell of changes: those of this machine; not what other machines write to."""

from __future__ import annotations

import re

_SILENT = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "glusterfs", "gpfs", "lustre"),
        *("ncpfs", "nfs", "nfs4", "orangefs", "prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs"),
        *("vmhgfs", "drvfs"),
    }
)
_TABLE = "/proc/self/mountinfo"


def silent_file_system(path: str, table: str = _TABLE) -> str:
    """The kind of the file system that a path is on, if it does not tell of all changes.

    Args:
        path: absolute, without links.
        table: where the system lists its mounts; without it nothing is known.

    Returns:
        Its name, as `nfs4` or `fuse.sshfs`; "" for all that tell.
    """
    try:
        with open(table, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    kind, longest = "", -1
    for line in lines:
        head, _, tail = line.partition(" - ")
        fields = head.split(" ")
        if len(fields) < 5 or not tail:
            continue
        point = _unescaped(fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        # Of two on the same place the later one covers the other.
        if inside and len(point) >= longest:
            kind, longest = tail.split(" ")[0], len(point)
    return kind if kind in _SILENT or kind.startswith("fuse.") else ""


def _unescaped(point: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), point)
