"""`docs` layers: documents read for a task, and a packet of what it needs out of them.

The documents' headings make a tree; the loop (`realm/loop.py`) walks it under a
policy and keeps sections; their items become the entries of a packet. What other
items overrule is left out and says so; what contradicts is reported. The plan
depends on headings, on how well sections match, and on the text of those that were
kept: an edit anywhere else leaves it alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ctxbuild.errors import ModelError
from ctxbuild.model import Proposal, Refusal
from ctxbuild.select.realm import judging
from ctxbuild.select.realm.loop import Answer, Loop, Node, Outcome, Policy, State
from ctxbuild.select.realm.packet import Chosen, candidates
from ctxbuild.select.realm.profiles import Profile, profile_of
from ctxbuild.select.realm.reading import Reading, read
from ctxbuild.select.realm.rules import Rules
from ctxbuild.select.realm.selection import Selection
from ctxbuild.select.realm.tree import short_ids
from ctxbuild.select.realm.view import DocsView

if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Layer

_DOCUMENTS = (".md", ".mdx", ".markdown", ".rst", ".adoc", ".html")

_NO_LIMIT = 1_000_000_000


def propose(view: DocsView, layer: Layer) -> Proposal:
    """The packet's candidates, and the trace of how they were found.

    Raises:
        EntryError: a pattern matches no file.
    """
    if layer.option("profile") == "scene":
        from ctxbuild.select.realm import scene

        return scene.propose(view, layer)
    profile = profile_of(layer.option("profile"), layer.option("task") or "")
    reading = read(view, layer, profile)
    outcome, policy, complaint = _run(view, layer, profile, reading)
    found = Selection(view, profile, reading, outcome).chosen()
    chosen, overruled, conflicts = judging.judged(found, reading.navigation)
    paths = tuple(reading.outlined)
    ids = short_ids([(each.path, each.section.slug) for each in chosen], paths)
    proposed = tuple(candidates(layer.name, chosen, ids, profile.placing, pinned=layer.pin))
    warnings = [complaint] if complaint else []
    warnings += conflicts
    warnings += _complaints(view, layer, profile, chosen)
    warnings += _dangling(reading, chosen)
    record = {
        "policy": policy,
        "task": layer.option("task") or "",
        "profile": layer.option("profile"),
        "sections": len(reading.tree.nodes),
        "stopped": outcome.stopped,
        "steps": list(outcome.trace),
    }
    return Proposal(
        candidates=proposed,
        warnings=tuple(warnings),
        refused=(*_refused(outcome, reading, chosen), *overruled),
        record=record,
        # What a profile asks for is asked of a short document too.
        most=judging.most_tokens(view, paths, proposed) if profile.name == "plain" else None,
    )


def _complaints(
    view: DocsView, layer: Layer, profile: Profile, chosen: Sequence[Chosen]
) -> Iterator[str]:
    for path in dict.fromkeys(each.path for each in chosen):
        for problem in view.documents.outline(path).problems:
            yield f"{path}: {problem.kind}: {problem.message}"
    if profile.aspects and not chosen:
        asked = layer.option("task") or layer.option("profile")
        yield f"layer {layer.name!r}: nothing in its documents matches {asked!r}"


def _dangling(reading: Reading, chosen: Sequence[Chosen]) -> Iterator[str]:
    """Links of what is shown that name a section or a document that is not there.

    What begins at the root of a site may be served by something else than documents.
    """
    shown = {(each.path, each.section.slug) for each in chosen}
    for link in reading.navigation.missing:
        within = link.path in reading.outlined
        beside = link.path.endswith(_DOCUMENTS) and not link.target.startswith("/")
        if link.source in shown and (within or beside):
            where = "#".join(filter(None, link.source))
            yield f"{where}: its link {link.target!r} leads to nothing"


# --- the loop ---------------------------------------------------------------------------


class _Everything:
    """The policy of a layer without a task: all of it is wanted."""

    def read(self, state: State) -> str | None:
        """The next one."""
        return next(iter(state.unread()), None)

    def analyze(self, _state: State, _node: Node) -> Answer:
        """Wanted."""
        return Answer(True, "")

    def monitor(self, _state: State) -> Answer:
        """Never enough."""
        return Answer(False, "no task")


def _run(
    view: DocsView, layer: Layer, profile: Profile, reading: Reading
) -> tuple[Outcome, str, str]:
    """The loop's outcome, the policy that decided, and a complaint about the one asked for."""
    if not profile.aspects:
        outcome = _walk(reading, _Everything(), _NO_LIMIT)
        return replace(outcome, trace=()), "everything", ""
    complaint = ""
    steps = layer.option("steps")
    if layer.option("policy") == "model":
        view.outside("model", "")
        try:
            policy = _modelled(view, profile)
            return _walk(reading, policy, steps), "model", ""
        except ModelError as error:
            view.outside("model-up", "")
            complaint = f"layer {layer.name!r}: {error}; its sections were chosen by rules instead"
    return _walk(reading, _rules(layer, reading), steps), "rules", complaint


def _walk(reading: Reading, policy: Policy, steps: int) -> Outcome:
    return Loop(reading.tree.nodes, reading.tree.roots, policy, steps).run()


def _rules(layer: Layer, reading: Reading) -> Policy:
    links: dict[str, list[str]] = {}
    needs: dict[str, list[str]] = {}
    for edge in reading.navigation.edges:
        source, target = f"{edge.source[0]}#{edge.source[1]}", f"{edge.target[0]}#{edge.target[1]}"
        if edge.kind in {"link", "see-also"}:
            links.setdefault(source, []).append(target)
        elif edge.kind == "depends-on":
            needs.setdefault(source, []).append(target)
    costs = {id_: 2 ** max(0, words - 1) * 2 for id_, words in reading.words.items()}
    room = layer.budget or _NO_LIMIT
    return Rules(reading.tree.nodes, reading.scores, links, needs, costs, room)


def _modelled(view: DocsView, profile: Profile) -> Policy:
    from ctxbuild.select.realm.modelled import Modelled

    def text_of(id_: str) -> str:
        path, _, slug = id_.partition("#")
        section = view.documents.section(path, slug)
        return section.text if section else ""

    return Modelled(profile.question, view.model, text_of)


def _refused(outcome: Outcome, reading: Reading, chosen: Sequence[Chosen]) -> tuple[Refusal, ...]:
    """What was judged and not kept, and of which nothing is shown."""
    shown = {each.unit for each in chosen}
    judged = {**outcome.state.hidden, **outcome.state.blocked}
    judged = {id_: why for id_, why in judged.items() if id_ not in shown}
    return tuple(
        Refusal(id_, "not-relevant", reading.score(id_), (), judged[id_])
        for id_ in reading.tree.nodes
        if id_ in judged
    )
