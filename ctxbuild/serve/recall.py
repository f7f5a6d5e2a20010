"""The originals behind the hashes of compacted sessions: kept at a build, brought back here.

They stand in the cache directory as content-addressed files, apart from computed
values, so that collecting garbage leaves them alone. A transcript that is still
there can give them again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxbuild.errors import StoreError, UsageError
from ctxbuild.stores.blobs import Blobs

if TYPE_CHECKING:
    from ctxbuild.facts.transcript import Turn
    from ctxbuild.pack.compaction_facts import Extractor
    from ctxbuild.source.ctxfile import Ctxfile, Layer, Target
    from ctxbuild.wiring import Workspace

FOLDER = "originals"
_FEWEST_DIGITS = 4
_NEAR = 3


def originals(cache: Path) -> Blobs:
    """The originals of a project's sessions."""
    return Blobs(cache / FOLDER)


def keep(cache: Path, texts: Iterable[str]) -> None:
    """Keeps originals, so that their hashes can be recalled.

    Raises:
        StoreError: they cannot be written.
    """
    store = originals(cache)
    for text in texts:
        _put(store, text)


def keep_of(workspace: Workspace, cache: Path, target: Target, plan: bytes) -> None:
    """Keeps what the compactions of a target's sessions left out, unless it is kept already.

    Args:
        workspace: in which the target was built.
        cache: the project's cache directory.
        target: that was built.
        plan: its plan as JSON, which names the last original of each layer.

    Raises:
        StoreError: they cannot be written.
        SourceChanged: a transcript changed since.
    """
    import orjson

    from ctxbuild.engine.database import Context
    from ctxbuild.pack.compaction import Policy
    from ctxbuild.select.transcript import threshold_of

    records: dict[str, Any] = orjson.loads(plan).get("layers", {})
    store = originals(cache)
    ctx = Context(workspace.database)
    for layer in target.layers:
        last = records.get(layer.name, {}).get("last")
        # They are kept in order: if the last one stands, all do.
        if last and not _has(store, last):
            policy = Policy(threshold_of(layer), layer.option("recent"))
            how = layer.option("compaction")
            sessions = workspace.pipeline.questions.sessions
            has = partial(_has, store)
            sessions.originals(ctx, layer.patterns[0], policy, how, has, _keeper(store))


def _has(store: Blobs, name: str) -> bool:
    return store.path(name).exists()


def recall(ctxfile: Ctxfile, cache: Path, prefix: str) -> bytes:
    """The original whose hash begins like this.

    Raises:
        UsageError: it is no hash, there is none, or there are several.
    """
    digits = prefix.strip().lower()
    if len(digits) < _FEWEST_DIGITS or not set(digits) <= set("0123456789abcdef"):
        raise UsageError(
            f"{prefix!r} is no hash", f"give at least {_FEWEST_DIGITS} hexadecimal digits of it"
        )
    store = originals(cache)
    found = _beginning(store, digits)
    if not found:
        # Somebody may have emptied the cache: what was compacted can be compacted again.
        for layer in _transcripts(ctxfile):
            _replay(ctxfile, layer, store)
        found = _beginning(store, digits)
    if not found:
        # A turn that a budget cut short was not compacted; its transcript has it.
        for layer in _transcripts(ctxfile):
            keep(cache, _shortened(ctxfile, layer, digits))
        found = _beginning(store, digits)
    if len(found) > 1:
        raise UsageError(
            f"{prefix}: {len(found)} originals begin so: {_listed(found)}", "add digits"
        )
    data = store.get(found[0]) if found else None
    if data is None:
        names = tuple(store.names())
        near = _near(names, digits)
        none = "none that is kept comes near" if names else "nothing was compacted here"
        hint = f"did you mean {_listed(near)}?" if near else none
        raise UsageError(f"{prefix}: no original has this hash", hint)
    return data


def _beginning(store: Blobs, digits: str) -> list[str]:
    folder = store.root / digits[:2]
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    rest = digits[2:]
    return sorted(folder.name + name for name in names if name.startswith(rest))


def _near(names: Iterable[str], digits: str) -> list[str]:
    """The names that share most with some digits: a common beginning, or most of their places."""

    def likeness(name: str) -> tuple[int, int]:
        same = [a == b for a, b in zip(name, digits, strict=False)]
        head = same.index(False) if False in same else len(same)
        return head, sum(same)

    ranked = sorted(names, key=lambda name: (*(-each for each in likeness(name)), name))
    return [name for name in ranked[:_NEAR] if likeness(name)[1] > len(digits) // 4]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name[:12] for name in names)


# --- compacting once more ---------------------------------------------------------------


def _transcripts(ctxfile: Ctxfile) -> list[Layer]:
    found = [
        layer
        for target in ctxfile.targets
        for layer in target.layers
        if layer.source == "transcript"
    ]
    return list(dict.fromkeys(found))


def _replay(ctxfile: Ctxfile, layer: Layer, store: Blobs) -> None:
    """Goes through a transcript again and keeps what its compactions leave out."""
    from ctxbuild.pack.compaction import Policy, Session
    from ctxbuild.pack.tokens import counter
    from ctxbuild.select.transcript import threshold_of

    policy = Policy(threshold_of(layer), layer.option("recent"))
    count = counter(ctxfile.project.tokenizer)
    extractor = _extractor(store, layer.option("compaction"))
    session = Session(policy, count, extractor, keep=_keeper(store))
    session.play(_turns(os.path.join(ctxfile.root, layer.patterns[0])))


def _shortened(ctxfile: Ctxfile, layer: Layer, digits: str) -> Iterator[str]:
    """The texts of a transcript that a shortened turn may name by these digits."""
    from ctxbuild.select.transcript_forms import digest_of, render, shortened

    for turn in _turns(os.path.join(ctxfile.root, layer.patterns[0])):
        for text in (render(turn, "full"), *shortened(turn).originals):
            if digest_of(text).startswith(digits):
                yield text


def _extractor(store: Blobs, how: str) -> Extractor:
    """As in the build; a model's answers are remembered."""
    from ctxbuild.pack.compaction_facts import RULES

    if how == "rules":
        return RULES
    from ctxbuild.pack.compaction_model import Modelled
    from ctxbuild.source.model_client import ModelClient
    from ctxbuild.stores.answers import FileAnswers

    return Modelled(ModelClient(None, FileAnswers(store.root.parent / "models")))


def _keeper(store: Blobs) -> Callable[[str, str], None]:
    return lambda _, text: _put(store, text)


def _turns(path: str) -> Iterator[Turn]:
    from ctxbuild.facts.transcript import Turn, read_file

    try:
        with open(path, "rb") as file:
            yield from (each for each in read_file(file) if isinstance(each, Turn))
    except OSError:
        return


def _put(store: Blobs, text: str) -> None:
    try:
        store.put(text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise StoreError(
            f"{store.root}: originals cannot be kept: {error.strerror}", "make room, or permit it"
        ) from error
