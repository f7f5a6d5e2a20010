"""Spreads scores along the graph: from units to what they use and to who uses them.

Names are followed, not resolved: a step to one of several definitions of a name
is worth the less the more there are, and names with many definitions are passed
over. One step of personalised PageRank by pushing (Andersen, Chung and Lang,
2006) from the seeds; farther ones reach too much to tell anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxbuild.select.conventions import is_test
from ctxbuild.select.retrieval.planner import name_term

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxbuild.graph.index import Corpus, Known
    from ctxbuild.select.retrieval.weights import Weights

_MOST_DEFINERS = 12
_MOST_USERS = 30
_MOST_READ = 400
_IN_BODY = (1.0, 1.0, 1.0, 1.0)


def spread(corpus: Corpus, seeds: Mapping[int, float], weights: Weights) -> dict[int, float]:
    """Scores of the neighbours of the seeds, by number of unit."""
    found: dict[int, float] = {}
    known = corpus.known(seeds)
    for unit, score in seeds.items():
        _to_used(corpus, known[unit], score, found)
        _to_users(corpus, known[unit], score * weights.callers, found)
    return found


def _to_used(corpus: Corpus, seed: Known, score: float, found: dict[int, float]) -> None:
    for name in seed.uses:
        definers = _defining(corpus, name)
        if len(definers) > _MOST_DEFINERS:
            continue
        for each in definers:
            if each.unit != seed.unit:
                near = 1.0 if each.file == seed.file else 0.7
                found[each.unit] = found.get(each.unit, 0.0) + score * near / len(definers)


def _to_users(corpus: Corpus, seed: Known, score: float, found: dict[int, float]) -> None:
    last = seed.name.rpartition(".")[2]
    if seed.kind not in ("function", "class") or len(last) < 3 or last.startswith("__"):
        return
    term = name_term(last)
    if not term or corpus.held_by(term) > _MOST_READ:
        return
    holding = corpus.weighed(term, _IN_BODY)
    users = [
        each
        for each in corpus.known(holding).values()
        if each.unit != seed.unit and last in each.uses and not is_test(each.path)
    ]
    if len(users) > _MOST_USERS:
        return
    definers = max(1, len(_defining(corpus, last)))
    for each in users:
        share = score / (len(users) * definers) ** 0.5
        found[each.unit] = found.get(each.unit, 0.0) + share


def _defining(corpus: Corpus, name: str) -> list[Known]:
    return [
        each
        for each in corpus.named(name)
        if each.name.rpartition(".")[2] == name and not is_test(each.path)
    ]
