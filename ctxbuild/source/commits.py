"""Commits as git stores them: names of revisions, trees, and the bytes of objects."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from typing import NamedTuple

from ctxbuild.source.git import command, environment, run


class Entry(NamedTuple):
    """One entry of a commit's tree.

    Attributes:
        mode: as git writes it: "100644", "100755", "120000" (link), "160000" (submodule).
        oid: hexadecimal name of the object.
        path: relative to the directory that was listed; it may hold any bytes but NUL,
            those that are no UTF-8 escaped as `os.fsdecode` does.
    """

    mode: str
    oid: str
    path: str


def commit_of(root: str, revision: str) -> tuple[str, str]:
    """The hexadecimal name of the commit that a revision means, and a problem or ""."""
    answer = run(root, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    return answer.output.decode("ascii", "replace").strip(), answer.problem


def object_at(root: str, name: str) -> tuple[str, str]:
    """The hexadecimal name of the object at `COMMIT:PATH`, and a problem or ""."""
    answer = run(root, "rev-parse", "--verify", "--end-of-options", name)
    return answer.output.decode("ascii", "replace").strip(), answer.problem


def names_of_commits(root: str) -> tuple[str, ...]:
    """Branches and tags, for suggestions."""
    answer = run(root, "for-each-ref", "--format=%(refname:short)", "refs/")
    return tuple(answer.output.decode("utf-8", "replace").split())


def tree_of(root: str, treeish: str) -> tuple[list[Entry], str]:
    """All files, links and submodules below a tree, in git's order, and a problem or ""."""
    answer = run(root, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", treeish)
    entries = []
    for record in answer.output.split(b"\0")[:-1]:
        head, _, path = record.partition(b"\t")
        mode, _, oid = head.decode("ascii").split(" ")
        entries.append(Entry(mode, oid, os.fsdecode(path)))
    return entries, answer.problem


class Objects:
    """Reads objects through one `git cat-file --batch`, started when first asked.

    Args:
        root: a directory of the repository.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, oid: str) -> bytes | None:
        """The bytes of an object; None if this clone does not have it.

        Raises:
            OSError: git cannot be run, or ended.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(oid.encode("ascii") + b"\n")
        process.stdin.flush()
        head = process.stdout.readline().split()
        if len(head) == 2 and head[1] == b"missing":
            return None
        if len(head) != 3:
            # An old git tries to fetch what is missing, and ends when it cannot.
            self.close()
            return None
        size = int(head[2])
        data = process.stdout.read(size + 1)
        if len(data) != size + 1:
            self.close()
            raise OSError(f"git ended while it was reading {oid}")
        return data[:-1]

    def close(self) -> None:
        """Ends the process; another `read` starts a new one."""
        if self._process is not None:
            process, self._process = self._process, None
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()
            process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            command("cat-file", "--batch"),
            cwd=self._root,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._process
