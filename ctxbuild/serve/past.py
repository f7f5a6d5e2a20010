"""A session on a commit: built from git's objects, with the working tree and its state left alone.

The engine's state lives in memory. The value store is shared, so that facts of
contents that were seen before, in the working tree or another commit, are not
computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from ctxbuild.errors import CtxbuildError
from ctxbuild.serve.session import Session
from ctxbuild.source.revision import Revision, find_commit
from ctxbuild.source.scan import Changes
from ctxbuild.stores.look import Look, data_version
from ctxbuild.stores.state import scratch_state
from ctxbuild.stores.versions import stage_versions

if TYPE_CHECKING:
    from ctxbuild.model import Pack
    from ctxbuild.source.ctxfile import Ctxfile
    from ctxbuild.source.scan import Snapshot
    from ctxbuild.wiring import Workspace


class PastSession(Session):
    """Builds and answers for a commit; the targets are those of the ctxfile at hand.

    Args:
        ctxfile: the project.
        revision: a commit, branch, tag or expression, as git understands it.
        known: object name to content digest, shared among sessions on one repository.
        options: as for `Session`.

    Raises:
        RevisionError: there is no repository, or no such commit.

    Attributes:
        commit: the commit that the revision means.
        out: `@COMMIT` in the directory of the packs.
    """

    logs = False  # the log tells of the working tree

    def __init__(
        self,
        ctxfile: Ctxfile,
        revision: str,
        *,
        known: MutableMapping[str, bytes] | None = None,
        **options: Any,
    ) -> None:
        self.commit = find_commit(ctxfile.root, revision)
        self._known: MutableMapping[str, bytes] = {} if known is None else known
        self._opened: list[Revision] = []
        super().__init__(ctxfile, **options)
        self.out /= f"@{self.commit.short}"

    def sources(self) -> Revision:
        """The selected files of the commit; closed with the session's next workspace.

        Raises:
            RevisionError: the commit lacks the ctxfile's directory, or cannot be listed.
        """
        scope = self.ctxfile.project.scope()
        found = Revision(self.ctxfile.root, scope, self.commit, self._known)
        self._opened.append(found)
        return found

    def _look(self) -> Look:
        connection = scratch_state()
        try:
            versions = stage_versions(connection)
            sources = self.sources()
        except BaseException:
            connection.close()
            self._close()
            raise
        changes = Changes(added=sources.paths)
        # It has everything that a workspace asks of a snapshot of the working tree.
        snapshot = cast("Snapshot", sources)
        return Look(connection, versions, snapshot, changes, data_version(connection))

    @contextmanager
    def _locked(self, seen: Look | None = None) -> Iterator[Workspace]:
        try:
            with super()._locked(seen) as workspace:
                yield workspace
        finally:
            self._close()

    def _close(self) -> None:
        while self._opened:
            self._opened.pop().close()


def history(
    ctxfile: Ctxfile, revisions: Iterable[str], names: Iterable[str] = (), **options: Any
) -> Iterator[tuple[str, dict[str, Pack | CtxbuildError]]]:
    """The packs of one commit after another, each built from the one before it.

    The cache's lock is held until the last one.

    Args:
        ctxfile: the project; its targets hold for every commit.
        revisions: commits, in the order in which to go through them.
        names: targets; none means all.
        options: as for `Session`.

    Yields:
        The commit's name, and by target the pack or why there is none.

    Raises:
        RevisionError: there is no repository, or no such commit.
    """
    wanted = list(names) or [target.name for target in ctxfile.targets]
    known: dict[str, bytes] = {}
    steps = iter(revisions)
    first = next(steps, None)
    if first is None:
        return
    session = PastSession(ctxfile, first, known=known, **options)
    with session.asking() as workspace:
        here = cast("Revision", workspace.snapshot)
        yield here.commit.sha, _packs(workspace, wanted)
        for step in steps:
            commit = find_commit(ctxfile.root, step)
            there = Revision(ctxfile.root, ctxfile.project.scope(), commit, known)
            try:
                workspace.turn_to(cast("Snapshot", there), there.changes_since(here))
                yield commit.sha, _packs(workspace, wanted)
                workspace.commit()
            finally:
                there.close()
            here = there


def _packs(workspace: Workspace, names: list[str]) -> dict[str, Pack | CtxbuildError]:
    found: dict[str, Pack | CtxbuildError] = {}
    for name in names:
        try:
            workspace.database.settle()
            found[name] = workspace.database.get(workspace.pipeline.pack_value, name)
        except CtxbuildError as error:
            found[name] = error
    return found
