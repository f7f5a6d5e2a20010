"""What may be asked of differences, declared for the engine.

`patch(WHAT:PATH)` is what changed inside one file, stored by the two contents, and
`touched(WHAT:PATH)` what of the repository that concerns; WHAT is what the layer's
`diff` says. A file that did not change again runs neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ctxbuild.engine.codec import digest
from ctxbuild.engine.query import ContentQuery, Facet, Prepared, Query, Result
from ctxbuild.model import Candidate
from ctxbuild.pack.codec import decode, encode, part
from ctxbuild.source import diffs
from ctxbuild.source.diffs import Differences, Listed
from ctxbuild.source.outside import key_of

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context
    from ctxbuild.facts.change import Changed
    from ctxbuild.pack.questions import Questions

_DIGEST = 16
"""Bytes of a content's digest; what is no source, or unreadable, has a shorter one."""

KIND = "diff"
"""The kind of outside input that lists what differs."""

_AHEAD = 64
"""Old contents that are fetched from git at once."""

_KEPT = 64_000_000
"""Bytes of them that are kept for the files that follow."""

Blobs = Callable[[Sequence[str]], Mapping[str, bytes]]

Task = tuple[bytes | None, bytes | None, str | None, bytes]
"""Old and new content, language, and a file's part of a patch or b""."""


class DiffQueries:
    """The queries behind `diff` layers.

    Args:
        questions: what else may be asked.
        versions: version per stage.
        blobs: object names to their contents, those that are missing left out.
    """

    def __init__(self, questions: Questions, versions: Mapping[str, str], blobs: Blobs) -> None:
        self._q = questions
        self._blobs = blobs
        self._fetched: dict[str, bytes] = {}
        version = f"{versions['facts']} {versions.get('plan', '')}"
        self.listing = Query("differences", version, self._listing, stage=False)
        self.patch = ContentQuery("patch", version, self._prepare, work)
        self.touched = Query("touched", version, self._touched)
        self.differences = Facet(self.listing, "all", _differences)
        self.changed: Facet[Changed | None] = Facet(self.patch, "changed", _changed)
        self._names: Facet[Changed | None] = Facet(self.patch, "names", _changed)
        self.concerned: Facet[tuple[Candidate, ...]] = Facet(
            self.touched, "", part("", tuple[Candidate, ...], ())
        )

    @property
    def declared(self) -> tuple[Any, ...]:
        """Everything that the engine has to know of."""
        return (self.listing, self.patch, self.touched)

    # --- what differs -------------------------------------------------------------------

    def _listing(self, ctx: Context, said: str) -> Result:
        from ctxbuild.pack.asker import Asker

        if diffs.is_patch(said):
            found = _of_patch(said, Asker(self._q, ctx).outside_bytes(said))
        else:
            found = _of_git(ctx.get(self._q.outside_value, key_of(KIND, said)))
        digests = {f"file/{each.path}": digest(encode(each)) for each in found.files}
        return Result({"all": encode(found)}, digests)

    def _file(self, ctx: Context, key: str) -> tuple[Listed | None, Sequence[str]]:
        """A file that differs, and the objects that will be asked for next."""
        said, path = split_key(key)

        def read(parts: Mapping[str, bytes]) -> tuple[Listed | None, Sequence[str]]:
            place = _places(parts["all"]).get(path)
            if place is None:
                return None, ()
            files = _decoded(parts["all"]).files
            near = files[place : place + _AHEAD]
            ahead = [name for each in near for name in (each.old, each.new) if name]
            return files[place], ahead

        return ctx.get(Facet(self.listing, f"file/{path}", read), said)

    # --- one file -----------------------------------------------------------------------

    def _prepare(self, ctx: Context, key: str) -> Prepared | None:
        listed, following = self._file(ctx, key)
        if listed is None:
            return None
        language = self._q.language_of(listed.path) or None
        path = listed.path
        if listed.patch and not ctx.get(self._q.exists, path):
            path = listed.before  # a renaming that is not applied
        content = ctx.get(self._q.content, path)
        deleted = listed.status == "D" and not listed.patch
        if not listed.patch and not deleted and len(content) < _DIGEST:
            return None  # no source, or unreadable: nothing of it is shown
        mine = listed.new or content.hex()
        known = (listed.patch, listed.old, mine, language or "", deleted)

        def load() -> Task:
            old = self._blob(listed.old, following) if listed.old else None
            if deleted:
                new = None
            elif listed.new:
                new = self._blob(listed.new, following)
            else:
                new = self._q.sources.read(path) if self._q.sources.has(path) else None
            return old, new, language, listed.patch

        return Prepared(digest(encode(known)), load)

    def _blob(self, name: str, following: Sequence[str]) -> bytes | None:
        """The content of an object, fetched together with those that follow."""
        if name not in self._fetched:
            if sum(map(len, self._fetched.values())) > _KEPT:
                self._fetched.clear()
            wanted = dict.fromkeys((name, *following))
            self._fetched |= self._blobs([each for each in wanted if each not in self._fetched])
        return self._fetched.get(name)

    def _touched(self, ctx: Context, key: str) -> Result:
        from ctxbuild.pack.asker import Asker
        from ctxbuild.select import touched

        _, path = split_key(key)
        changed = ctx.get(self._names, key)
        if changed is None or changed.kind:
            return Result({"": encode(())})
        asker = Asker(self._q, ctx)
        return Result({"": encode(tuple(touched.candidates(asker, path, changed)))})


def at_commit(key: str, sources: object) -> str:
    """The key of an outside input as it is asked for where the sources are those of a commit.

    What would be compared with the working tree is compared with the commit.
    """
    kind, _, said = key.partition("\0")
    commit = getattr(sources, "commit", None)
    if kind != KIND or commit is None or ".." in said:
        return key
    base = commit.sha if said in ("HEAD", diffs.STAGED) else said
    return key_of(KIND, f"{base}...{commit.sha}")


def key_for(said: str, path: str) -> str:
    """The key of a file of what a layer says."""
    return f"{said.replace('%', '%25').replace(':', '%3A')}:{path}"


def split_key(key: str) -> tuple[str, str]:
    """What the layer says, and the path."""
    said, _, path = key.partition(":")
    return said.replace("%3A", ":").replace("%25", "%"), path


def work(task: Task) -> Result:
    """Both contents, or one and a patch, to what changed; in any process."""
    from dataclasses import replace

    from ctxbuild.facts.change import compare, patched
    from ctxbuild.facts.patch import FilePatch

    old, new, language, patch = task
    if patch:
        changed = patched(new, decode(patch, FilePatch), language)
    else:
        changed = compare(old, new, language)
    names = replace(changed, hunks=(), added=0, removed=0, size=0, note="")
    return Result({"changed": encode(changed), "names": encode(names)})


def _changed(parts: Mapping[str, bytes]) -> Changed | None:
    from ctxbuild.facts.change import Changed

    found: Changed | None = decode(parts["changed"], Changed) if "changed" in parts else None
    return found


@lru_cache(maxsize=8)
def _decoded(data: bytes) -> Differences:
    found: Differences = decode(data, Differences)
    return found


@lru_cache(maxsize=8)
def _places(data: bytes) -> dict[str, int]:
    return {each.path: place for place, each in enumerate(_decoded(data).files)}


def _differences(parts: Mapping[str, bytes]) -> Differences:
    return _decoded(parts["all"])


def _of_git(data: bytes) -> Differences:
    if not data:
        return Differences("the working tree cannot be compared here")
    found = diffs.listing(data)
    files = tuple(
        Listed(e.status, e.path, e.before, (e.old_mode, e.new_mode), e.old, e.new, e.marks)
        for e in found.files
    )
    return Differences(found.problem, found.hint, files, found.unlisted)


_STATUS = {"added": "A", "deleted": "D", "renamed": "R", "copied": "C", "modified": "M"}


def _of_patch(said: str, data: bytes) -> Differences:
    from ctxbuild.facts import patch
    from ctxbuild.facts.decode import LIMIT
    from ctxbuild.facts.decode import decode as text_of

    name = os.path.basename(said)
    if not data:
        return Differences("there is no such patch file, or it is empty")
    if len(data) > LIMIT:
        size = f"{len(data) / 1e6:.0f} MB"
        return Differences(f"the patch file has {size}, the limit is 10 MB")
    found = patch.parse(text_of(data)[0])
    if not found.files:
        return Differences("the file holds no diff that can be read")
    files: dict[str, Listed] = {}
    again = 0
    for each in found.files:
        again += each.new in files
        files.setdefault(
            each.new,
            Listed(_STATUS[each.status], each.new, each.old, each.modes, patch=encode(each)),
        )
    warnings = [f"{name}: {problem.message}" for problem in found.problems]
    if again:
        warnings.append(f"{name}: {again} files stand in it twice: the first diff of each counts")
    return Differences("", "", tuple(files[path] for path in sorted(files)), 0, tuple(warnings))
