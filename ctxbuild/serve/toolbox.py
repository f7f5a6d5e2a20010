"""What an agent may ask of a project: packs, reasons, units in full, its session assembled.

Nothing is written but the notes file, when a finding is to be remembered, and the cache.

Every answer is text for a model, within a limit of tokens, and facts as plain
data. Each question looks at the tree as it is, so that nobody is told of a pack
that an edit has made stale.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxbuild.errors import CtxbuildError, UsageError
from ctxbuild.serve.fresh import fresh_results, quick_build, stored_result
from ctxbuild.serve.lookup import ask
from ctxbuild.serve.session import Session
from ctxbuild.stores.history import keep
from ctxbuild.stores.state import STATE, STATE_FAILURES

if TYPE_CHECKING:
    from ctxbuild.pack.tokens import Counter
    from ctxbuild.serve import why as whys
    from ctxbuild.serve.results import TargetResult
    from ctxbuild.source.ctxfile import Ctxfile

MOST_TOKENS = 50_000
"""Of one answer. Agents cut or refuse more than that themselves."""

SCHEME = "ctx://pack/"


class Answer(NamedTuple):
    """An answer of the toolbox.

    Attributes:
        text: for the model.
        facts: what it is about, as plain data.
    """

    text: str
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Present:
    """A pack as it is now."""

    target: str
    text: str
    digest: str
    tokens: int
    budget: int
    reserve: int
    warnings: tuple[str, ...]

    @property
    def facts(self) -> dict[str, Any]:
        """All but the text, as plain data."""
        return {
            "target": self.target,
            "uri": f"{SCHEME}{self.target}",
            "digest": self.digest,
            "tokens": self.tokens,
            "budget": self.budget,
            "reserve": self.reserve,
            "warnings": list(self.warnings),
        }


class Toolbox:
    """Answers for one project, one question at a time.

    Args:
        load: gives the ctxfile as it is now.
        explain: an answer of `why` as text for people.
        workers: processes for parsing; 0 means one per core.
    """

    def __init__(
        self,
        load: Callable[[], Ctxfile],
        explain: Callable[[whys.Answer], str],
        workers: int = 0,
    ) -> None:
        self._load = load
        self._explain = explain
        self._workers = workers
        self._turn = threading.Lock()

    # --- packs ----------------------------------------------------------------------------

    def targets(self) -> tuple[str, ...]:
        """Names of the packs, in the order of the ctxfile."""
        return tuple(target.name for target in self._load().targets)

    def list_packs(self) -> Answer:
        """Every pack with its budget, and whether it has to be built first."""
        with self._turn:
            ctxfile = self._load()
            rows = [_listed(ctxfile, target.name) for target in ctxfile.targets]
        lines = [
            f"- {row['target']}: {row['status']}, {row['tokens']:,} of {row['budget']:,} tokens\n"
            if row["tokens"]
            else f"- {row['target']}: {row['status']}, budget {row['budget']:,} tokens\n"
            for row in rows
        ]
        return Answer("".join(lines), {"packs": rows})

    def present(self, target: str) -> Present:
        """A pack, brought up to date first; its files are left as they are.

        Raises:
            CtxbuildError: there is no such target, or it cannot be built.
        """
        with self._turn:
            return _present(self._load(), target, self._workers)

    def get_pack(self, target: str, max_tokens: int = 20_000, part: int = 1) -> Answer:
        """A pack, or one part of a pack that is larger than the limit.

        Raises:
            CtxbuildError: there is no such target, part or limit, or it cannot be built.
        """
        limit = _limit(max_tokens)
        pack = self.present(target)
        note = f"digest {pack.digest}"
        count = self._counter()
        room = limit - count([note])[0] - 20  # for the line that names the part
        parts = [pack.text] if pack.tokens <= room else split(pack.text, room, count)
        if not 1 <= part <= len(parts):
            raise UsageError(
                f"part {part} of {target}: there are {len(parts)}",
                "ask for one of them, or raise max_tokens",
            )
        if len(parts) > 1:
            note = f"part {part} of {len(parts)}; {note}"
        facts = {**pack.facts, "part": part, "parts": len(parts), "note": note}
        return Answer(parts[part - 1], facts)

    def delta_since(self, target: str, digest: str, max_tokens: int = 20_000) -> Answer:
        """What turns the pack of that digest, which the model has read, into the present one.

        Raises:
            CtxbuildError: nobody knows that pack any more, or the delta exceeds the limit.
        """
        limit = _limit(max_tokens)
        with self._turn:
            text, facts = _delta(self._load(), target, digest, self._workers)
        tokens = self._counter()([text])[0]
        if tokens > limit:
            raise UsageError(
                f"the delta has {tokens:,} tokens, more than max_tokens {limit:,}",
                "raise max_tokens, or read the pack with get_pack",
            )
        return Answer(text, facts)

    # --- units ----------------------------------------------------------------------------

    def why(self, target: str, unit: str = "", max_tokens: int = 4_000) -> Answer:
        """Why a unit is in a pack, or why not; without a unit, the verdict on all.

        Raises:
            CtxbuildError: there is no such target, or it cannot be built.
        """
        from ctxbuild.serve import expand
        from ctxbuild.serve.why import why

        limit = _limit(max_tokens)
        with self._turn:
            ctxfile = self._load()
            declared = ctxfile.target(target)
            if unit:
                path, mark, symbol = unit.partition("::")
                unit = expand.within(ctxfile.root, path) + mark + symbol
            session = Session(ctxfile, workers=self._workers)
            answer = ask(session, lambda desk: why(desk, declared, unit, ctxfile.root))
        return _limited(answer, self._explain, limit, self._counter())

    def expand(self, unit: str, max_tokens: int = 4_000) -> Answer:
        """A unit in full, with what it uses and who uses it.

        Raises:
            CtxbuildError: there is no such unit, or it lies outside the project.
        """
        from ctxbuild.serve.expand import expand

        limit = _limit(max_tokens)
        count = self._counter()
        with self._turn:
            session = Session(self._load(), workers=self._workers)
            found = ask(session, lambda desk: expand(desk, unit, limit, count))
        facts = {
            "unit": found.unit,
            "form": found.form,
            "lines": list(found.lines) if found.lines else None,
            "tokens": found.tokens,
            "uses": list(found.uses),
            "used_by": list(found.used_by),
            "left_out": found.left_out,
        }
        return Answer(found.text, facts)

    # --- sessions -------------------------------------------------------------------------

    def assemble(self, target: str, messages: list[dict[str, Any]], system: str = "") -> Answer:
        """The messages to send next: a target's pack around a session, within its budget.

        Raises:
            CtxbuildError: there is no such target, it cannot be built, or the messages are
                of no known API.
        """
        from ctxbuild.serve.loops import assembled_for

        with self._turn:
            done = assembled_for(target, messages, self._load(), system, workers=self._workers)
        compacted = done.compacted
        facts = {
            "target": target,
            "messages": done.messages,
            "tokens": done.tokens,
            "session_before": compacted.before,
            "session_after": compacted.after,
            "dropped": [
                {"first": each.first, "last": each.last, "tokens": each.tokens, "hash": each.hash}
                for each in compacted.dropped
            ],
        }
        return Answer(json.dumps(done.messages), facts)

    def remember(self, finding: str, notes: str = "") -> Answer:
        """Adds a finding to the notes file that later sessions read.

        Raises:
            CtxbuildError: it is no finding, a path lies outside the project, or the file
                cannot be written.
        """
        from ctxbuild.serve.loops import remember

        with self._turn:
            facts = remember(finding, project=self._load(), to=notes or None)
        verb = "added to" if facts["new"] else "merged in"
        return Answer(f"{verb} {facts['file']}: {facts['path']}: found {facts['found']}\n", facts)

    # --- changes --------------------------------------------------------------------------

    def stamp(self) -> tuple[Any, ...]:
        """Differs when a source, the ctxfile or what is remembered differs; cheap, builds nothing.

        Raises:
            CtxbuildError: the ctxfile cannot be read.
        """
        with self._turn:
            ctxfile = self._load()
            _, seen = quick_build(ctxfile, (), [])
            changed: tuple[Any, ...] = ()
            if seen is not None:
                changed = tuple(seen.changes)
                seen.connection.close()
        state = os.path.join(ctxfile.root, ctxfile.project.cache, STATE)
        return (ctxfile, changed, *(_stat(state + suffix) for suffix in ("", "-wal")))

    def digests(self, targets: Iterable[str]) -> dict[str, str]:
        """Digest per pack, brought up to date; "" for one that cannot be built."""
        found = {}
        for name in targets:
            try:
                found[name] = self.present(name).digest
            except CtxbuildError:
                found[name] = ""
        return found

    def _counter(self) -> Counter:
        from ctxbuild.pack.tokens import counter

        return counter(self._load().project.tokenizer)


def _limit(tokens: int) -> int:
    """A limit that somebody asked for.

    Raises:
        UsageError: it is none, or more than one answer may have.
    """
    from ctxbuild.serve.expand import LEAST_TOKENS

    if not LEAST_TOKENS <= tokens <= MOST_TOKENS:
        raise UsageError(
            f"max_tokens {tokens:,}: an answer has {LEAST_TOKENS} to {MOST_TOKENS:,} tokens",
            "ask for less, and for more parts or units",
        )
    return tokens


def _stat(path: str) -> tuple[int, int]:
    try:
        st = os.stat(path)
    except OSError:
        return (0, 0)
    return (st.st_size, st.st_mtime_ns)


def _known(ctxfile: Ctxfile, name: str) -> tuple[TargetResult | None, bool]:
    """The report of a target's last build, and whether a build would find nothing to do."""
    result, seen = quick_build(ctxfile, [name], [])
    if result is not None:
        return result.targets[0], True
    if seen is None:
        return None, False
    try:
        # A look may have learnt something worth saving; that makes nothing stale.
        fresh = fresh_results(seen, ctxfile, [name])
        stored = stored_result(seen.connection, name)
    except STATE_FAILURES:
        return None, False
    finally:
        seen.connection.close()
    return (fresh[0], True) if fresh else (stored[1] if stored else None, False)


def _listed(ctxfile: Ctxfile, name: str) -> dict[str, Any]:
    target = ctxfile.target(name)
    known, fresh = _known(ctxfile, name)
    return {
        "target": name,
        "uri": f"{SCHEME}{name}",
        "status": "fresh" if fresh else "stale" if known else "not built yet",
        "tokens": known.tokens if known else None,
        "budget": target.budget,
        "reserve": target.reserve,
        "digest": known.digest if known else None,
    }


def _present(ctxfile: Ctxfile, name: str, workers: int) -> Present:
    known, fresh = _known(ctxfile, name)
    text = _written(ctxfile, name) if known and fresh else ""
    if known and text:
        return Present(
            name, text, known.digest, known.tokens, known.budget, known.reserve, known.warnings
        )
    session = Session(ctxfile, workers=workers)
    pack, _, files = session.artifact(name)
    # What a model has been given, `delta_since` must know.
    keep(session.cache, name, pack.digest, files[f"{name}.pack.json"])
    return Present(
        name, pack.text, pack.digest, pack.tokens, pack.budget, pack.reserve, pack.warnings
    )


def _written(ctxfile: Ctxfile, name: str) -> str:
    """What the output of a target holds, "" if it cannot be read."""
    path = os.path.join(ctxfile.root, ctxfile.project.out, f"{name}.md")
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _delta(ctxfile: Ctxfile, name: str, digest: str, workers: int) -> tuple[str, dict[str, Any]]:
    from ctxbuild.compare.prices import DEFAULT_TURNS, price_of
    from ctxbuild.serve.deltas import between
    from ctxbuild.serve.references import References
    from ctxbuild.stores.history import is_digest

    ctxfile.target(name)
    if not is_digest(digest):
        raise UsageError(f"{digest!r} is no digest", "give the one that came with the pack")
    packs = References(
        lambda: ctxfile, ctxfile.root, lambda project, _: Session(project, workers=workers)
    )
    old = packs.kept(ctxfile, digest)
    new, crowded_out = packs.built_with_plan(ctxfile, name, None)
    update = between(old, new, crowded_out, price=price_of(""), turns=DEFAULT_TURNS)
    facts = {
        "target": name,
        "since": old.head.digest,
        "digest": new.head.digest,
        "changed": bool(update.text),
        "cheaper": "fresh" if update.choice.fresh_is_cheaper else "delta",
        "delta_tokens": update.tokens,
        "fresh_tokens": update.fresh,
    }
    return update.text or f"Nothing that was read of {name} has changed.\n", facts


def split(text: str, limit: int, count: Counter) -> list[str]:
    """A text in parts of whole lines that have at most so many tokens each.

    Args:
        text: joined, the parts are it again.
        limit: tokens; a single line that has more is cut.
        count: counts them.
    """
    rows = [piece for row in text.splitlines(keepends=True) for piece in _short(row, limit, count)]
    sizes = count(rows)
    parts: list[str] = []
    start = 0
    while start < len(rows):
        end, total = start, 0
        while end < len(rows) and (end == start or total + sizes[end] <= limit):
            total += sizes[end]
            end += 1
        # Lines may count for more together than one by one.
        while end > start + 1 and count(["".join(rows[start:end])])[0] > limit:
            end -= 1
        parts.append("".join(rows[start:end]))
        start = end
    return parts


def _short(row: str, limit: int, count: Counter) -> list[str]:
    if len(row) <= limit or count([row])[0] <= limit:
        return [row]
    half = len(row) // 2
    return [*_short(row[:half], limit, count), *_short(row[half:], limit, count)]


def _limited(
    answer: whys.Answer, explain: Callable[[whys.Answer], str], limit: int, count: Counter
) -> Answer:
    """Text and facts of an answer, each within the limit; the most telling findings stay."""
    total = len(answer.findings)
    kept = total
    while True:
        shorter = replace(answer, findings=answer.findings[:kept])
        facts = {**asdict(shorter), "left_out": total - kept}
        text = explain(shorter)
        if kept < total:
            text += f"left out for the limit: {total - kept} of {total} verdicts\n"
        excess = max(count([text, json.dumps(facts)]))
        if excess <= limit or not kept:
            return Answer(text if excess <= limit else split(text, limit, count)[0], facts)
        kept = min(kept - 1, int(kept * limit / excess))
