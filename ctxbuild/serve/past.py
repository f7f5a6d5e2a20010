"""A session on a commit: built from git's objects, with the working tree and its state left alone.

The engine's state lives in memory. The value store is shared, so that facts of
contents that were seen before, in the working tree or another commit, are not
computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from ctxbuild.serve.session import Session
from ctxbuild.source.revision import Revision, find_commit
from ctxbuild.source.scan import Changes
from ctxbuild.stores.look import Look, data_version
from ctxbuild.stores.state import scratch_state
from ctxbuild.stores.versions import stage_versions

if TYPE_CHECKING:
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
