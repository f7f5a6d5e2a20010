"""Files that differ: why the hunks of some are not shown, and what is said of them in a line."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxbuild.facts.hunks import Hunk
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.facts.change import Changed
    from ctxbuild.source.ctxfile import Layer
    from ctxbuild.source.diffs import Listed

_LOCKS = frozenset({
    "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock",
    "bun.lockb", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "conda-lock.yml",
    "Cargo.lock", "Gemfile.lock", "composer.lock", "go.sum", "flake.lock", "mix.lock",
    "packages.lock.json", "Podfile.lock", "Package.resolved", "pubspec.lock", "deno.lock",
    "gradle.lockfile", ".terraform.lock.hcl",
})  # fmt: skip
"""Files in which tools pin what they resolved."""

_GENERATED = (
    ".min.js", ".min.css", ".map", "_pb2.py", "_pb2_grpc.py", "_pb2.pyi", ".pb.go", ".pb.cc",
    ".pb.h", ".g.dart", ".designer.cs", ".generated.ts", ".snap",
)  # fmt: skip
"""Endings of files that programs write."""

_NO_FILE = "000000"
_LINK, _SUBMODULE = "120000", "160000"


@dataclass(frozen=True, slots=True)
class File:
    """A file that differs, with what changed in it.

    Attributes:
        why: why its hunks are not shown, "" if they are.
    """

    listed: Listed
    changed: Changed | None
    why: str

    @property
    def path(self) -> str:
        """Relative to the root."""
        return self.listed.path

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        """Those that are shown."""
        return self.changed.hunks if self.changed and not self.why else ()


def unread(each: Listed) -> str:
    """Why a file's hunks would not be shown, as far as its name and mode say."""
    name = posixpath.basename(each.path)
    if _SUBMODULE in each.modes:
        return "submodule"
    if _LINK in each.modes:
        return "link"
    if each.status == "U":
        return "unmerged"
    if name in _LOCKS:
        return "lock file"
    if name.endswith(_GENERATED) or "linguist-generated" in each.marks:
        return "generated"
    return "vendored" if "linguist-vendored" in each.marks else ""


def why_not(layer: Layer, listed: Listed, changed: Changed | None) -> str:
    """Why a file's hunks are not shown, "" if they are."""
    why = unread(listed)
    written = ("lock file", "generated", "vendored", "minified")
    if not why and changed is None and listed.status == "D":
        why = "deleted"
    if not why and changed is None:
        why = "not among the sources"
    if not why and listed.status == "D":
        return "deleted"
    if not why and changed is not None:
        why = {
            "large": "too large to compare",
            "pointer": "kept by git-lfs",
            "endings": "only line ends or encoding",
            "same": "content unchanged",
        }.get(changed.kind, changed.kind)
    return "" if why in written and layer.option("generated") else why


def is_nothing(file: File) -> bool:
    """A file that only looks different: touched, but with the content it had."""
    listed = file.listed
    same = file.changed is not None and file.changed.kind == "same"
    moved = listed.before != listed.path or listed.modes[0] != listed.modes[1]
    return same and listed.status in "MT" and not moved


STATUS = {
    "A": "added", "D": "deleted", "R": "renamed", "C": "copied", "M": "modified",
    "T": "changed its type", "U": "unmerged", "?": "added, untracked",
}  # fmt: skip


def notes(file: File) -> list[str]:
    """What the hunks of a file do not say."""
    listed, changed = file.listed, file.changed
    said: list[str] = []
    if listed.status in "RC":
        said.append(f"from {shown(listed.before)}")
    old, new = listed.modes
    if old and new and _NO_FILE not in (old, new) and old != new and listed.status != "T":
        said.append(f"mode {old} to {new}")
    if changed is not None and changed.note.startswith("conflict"):
        said.append("the patch does not apply")
    if changed is not None and changed.gone and listed.status != "D":
        names = [name for name in changed.gone if "." not in name]
        if names:
            said.append(f"no longer defines {_some(names)}")
    return said


def _some(names: Sequence[str]) -> str:
    rest = len(names) - 8
    return ", ".join(names[:8]) + (f" and {rest} more" if rest > 0 else "")


def counts(file: File) -> str:
    """How much of a file changed, or how large it is where no lines are compared."""
    changed = file.changed
    if changed is None:
        return ""
    if changed.added or changed.removed:
        hunks = len(changed.hunks)
        lines = f"+{changed.added} -{changed.removed} lines"
        return f"{hunks} hunks, {lines}" if hunks > 1 else lines
    return f"{changed.size} bytes" if changed.size and file.why else ""
