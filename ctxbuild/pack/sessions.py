"""Transcripts for the engine: a file's pieces, and where the session stands after each.

A transcript grows at its end. Where the session stands after a piece is a function
of the piece and of where it stood before, so that a new turn costs the last piece,
and what is held of the rest is one standing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from ctxbuild.engine.codec import digest
from ctxbuild.engine.query import Facet, Query, Result
from ctxbuild.errors import SourceChanged
from ctxbuild.pack.codec import decode, encode
from ctxbuild.source.outside import key_of

if TYPE_CHECKING:
    from ctxbuild.engine.database import Context
    from ctxbuild.facts.transcript import Joining, Turn
    from ctxbuild.pack.compaction import Compacted, Policy
    from ctxbuild.pack.compaction_facts import Extractor
    from ctxbuild.pack.compaction_room import Count
    from ctxbuild.pack.pieces import Piece
    from ctxbuild.pack.questions import Questions
    from ctxbuild.pack.session_steps import Standing

Parts = Mapping[str, bytes]

_STRIDE = 32
"""Pieces that may rest on one another at once: each is asked for from inside the next."""

RULED = "rules"
"""How sessions are compacted unless a layer asks for a model."""


class Sessions:
    """The queries about transcripts.

    Args:
        questions: what else may be asked.
        version: of the code behind them.
        opener: path to the file, open for reading.
    """

    def __init__(
        self, questions: Questions, version: str, opener: Callable[[str], BinaryIO]
    ) -> None:
        self._questions = questions
        self._open = opener
        self.pieces = Query("pieces", version, self._pieces, stage=False)
        self.session = Query("session", version, self._session)
        self.talk = Query("talk", version, self._talk)
        self._listed: Facet[tuple[Piece, ...]] = Facet(self.pieces, "", _pieces)
        self._standing: Facet[Standing] = Facet(self.session, "", _standing)
        self._reached = Facet(self.session, "reached", lambda p: p["reached"])
        self._turns: Facet[tuple[Turn, ...]] = Facet(self.talk, "turns", _turns)
        self._joining: Facet[Joining] = Facet(self.talk, "joining", _joining)

    @property
    def declared(self) -> tuple[Any, ...]:
        """Everything that the engine has to know of."""
        return (self.pieces, self.session, self.talk)

    def standing(
        self, ctx: Context, path: str, policy: Policy, how: str = RULED
    ) -> tuple[Compacted, Standing]:
        """A transcript compacted as if it had been while it went on, and where it stands.

        Args:
            ctx: of the query that asks.
            path: of the transcript.
            policy: when and how it is compacted.
            how: by "rules" or a "model".
        """
        from ctxbuild.pack.session_steps import START, finished

        listed = ctx.get(self._listed, path)
        now = START
        for at in range(_STRIDE, len(listed), _STRIDE):
            ctx.get(self._reached, _key(path, at - 1, policy, how))
        if listed:
            now = ctx.get(self._standing, _key(path, len(listed) - 1, policy, how))
        return finished(now, policy, self._count(), self._extractor(ctx, how)), now

    def originals(
        self,
        ctx: Context,
        path: str,
        policy: Policy,
        how: str,
        has: Callable[[str], bool],
        keep: Callable[[str, str], None],
    ) -> None:
        """Gives what the hashes of a compacted session stand for, from where it is not kept yet.

        Args:
            ctx: to ask by.
            path, policy, how: as for `standing`.
            has: whether the original of a name is kept; they are kept in order.
            keep: takes (name, text) of each that may be missing.

        Raises:
            SourceChanged: the transcript changed since it was compacted.
        """
        from ctxbuild.pack.pieces import entries_in
        from ctxbuild.pack.session_steps import START, finished, step

        listed = ctx.get(self._listed, path)
        now, start = START, len(listed)
        while start:
            now = ctx.get(self._standing, _key(path, start - 1, policy, how))
            if not now.session.last or has(now.session.last):
                break
            now, start = START, start - 1
        extractor = self._extractor(ctx, how)
        with self._open(path) as file:
            for piece in listed[start:]:
                entries = entries_in(file, piece, path, [], {})
                now = step(now, entries, [], {}, policy, self._count(), extractor, keep)
        finished(now, policy, self._count(), extractor, keep)

    def turns(self, ctx: Context, path: str) -> tuple[Turn, ...]:
        """All turns of a transcript."""
        from ctxbuild.facts.transcript import Joiner

        pieces = len(ctx.get(self._listed, path))
        found: list[Turn] = []
        for at in range(pieces):  # in order, so that each finds the one before it
            turns: tuple[Turn, ...] = ctx.get(self._turns, f"{path}#{at + 1}")
            found += turns
        if pieces:
            found += Joiner(ctx.get(self._joining, f"{path}#{pieces}")).finish()
        return tuple(found)

    def _count(self) -> Count:
        from ctxbuild.pack.tokens import counter

        return counter(self._questions.tokenizer)

    # --- queries ------------------------------------------------------------------------

    def _pieces(self, ctx: Context, path: str) -> Result:
        from ctxbuild.pack.pieces import pieces_of

        if not ctx.get(self._questions.outside_value, key_of("file", path)):
            return Result({})
        try:
            with self._open(path) as file:
                pieces = pieces_of(file)
        except OSError:
            return Result({})
        each = {f"piece/{at}": digest(encode(piece)) for at, piece in enumerate(pieces)}
        return Result({"": encode(tuple(pieces))}, each)

    def _piece(self, ctx: Context, path: str, at: int) -> Piece:
        def read(parts: Parts) -> Piece | None:
            listed = _pieces(parts)
            return listed[at] if at < len(listed) else None

        piece = ctx.get(Facet(self.pieces, f"piece/{at}", read), path)
        if piece is None:
            raise SourceChanged(path)
        return piece

    def _session(self, ctx: Context, key: str) -> Result:
        from ctxbuild.model import Problem
        from ctxbuild.pack.pieces import entries_in
        from ctxbuild.pack.session_steps import START, step

        path, at, policy, how = _unkeyed(key)
        piece = self._piece(ctx, path, at)
        before = ctx.get(self._standing, _key(path, at - 1, policy, how)) if at else START
        problems: list[Problem] = []
        formats: dict[str, int] = {}
        with self._open(path) as file:
            entries = entries_in(file, piece, path, problems, formats)
            extractor = self._extractor(ctx, how)
            now = step(before, entries, problems, formats, policy, self._count(), extractor)
        if getattr(extractor, "warnings", ()):
            ctx.get(self._questions.outside_value, key_of("model-up", ""))
        return Result({"": encode(now), "reached": b""})

    def _extractor(self, ctx: Context, how: str) -> Extractor:
        from ctxbuild.pack.compaction_facts import RULES

        if how == RULED:
            return RULES
        from ctxbuild.pack.compaction_model import Modelled
        from ctxbuild.source.model_client import ModelClient

        ctx.get(self._questions.outside_value, key_of("model", ""))
        return Modelled(ModelClient(None, self._questions.answers))

    def _talk(self, ctx: Context, key: str) -> Result:
        from ctxbuild.facts.transcript import Joining
        from ctxbuild.pack.pieces import entries_in
        from ctxbuild.pack.session_steps import talked

        path, _, number = key.rpartition("#")
        at = int(number) - 1
        piece = self._piece(ctx, path, at)
        before = ctx.get(self._joining, f"{path}#{at}") if at else Joining()
        with self._open(path) as file:
            turns, joining = talked(before, entries_in(file, piece, path, [], {}))
        return Result({"turns": encode(turns), "joining": encode(joining)})


def _pieces(parts: Parts) -> tuple[Piece, ...]:
    from ctxbuild.pack.pieces import Piece

    found: tuple[Piece, ...] = decode(parts[""], tuple[Piece, ...]) if "" in parts else ()
    return found


def _standing(parts: Parts) -> Standing:
    from ctxbuild.pack.session_steps import Standing

    found: Standing = decode(parts[""], Standing)
    return found


def _turns(parts: Parts) -> tuple[Turn, ...]:
    from ctxbuild.facts.transcript import Turn

    found: tuple[Turn, ...] = decode(parts["turns"], tuple[Turn, ...])
    return found


def _joining(parts: Parts) -> Joining:
    from ctxbuild.facts.transcript import Joining

    found: Joining = decode(parts["joining"], Joining)
    return found


def _key(path: str, at: int, policy: Policy, how: str) -> str:
    by = "" if how == RULED else f",{how}"
    return f"{path}#{at + 1}@{policy.threshold},{policy.recent}{by}"


def _unkeyed(key: str) -> tuple[str, int, Policy, str]:
    from ctxbuild.pack.compaction import Policy

    place, _, numbers = key.rpartition("@")
    path, _, at = place.rpartition("#")
    threshold, recent, *by = numbers.split(",")
    return path, int(at) - 1, Policy(int(threshold), int(recent)), by[0] if by else RULED
