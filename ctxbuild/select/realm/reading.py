"""A layer's documents, read as far as headings and matches go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxbuild.select.files import matched
from ctxbuild.select.realm.match import Scores
from ctxbuild.select.realm.profiles import Profile
from ctxbuild.select.realm.rules import FIRST_LOOK, standing
from ctxbuild.select.realm.tree import Outlined, Tree, titles_in, tree_of
from ctxbuild.select.realm.view import DocsView

if TYPE_CHECKING:
    from ctxbuild.graph.documents import Navigation
    from ctxbuild.source.ctxfile import Layer

_SCORE_OF_ALL = 0.5


@dataclass(frozen=True, slots=True)
class Reading:
    """A layer's documents, read as far as headings and matches go.

    Attributes:
        outlined: the headings of every document, by path.
        scores: one table per aspect.
        words: id to the words of sections that match, as a power of two.
    """

    outlined: dict[str, Outlined]
    tree: Tree
    navigation: Navigation
    scores: tuple[Scores, ...]
    words: Mapping[str, int]

    def score(self, id_: str) -> float:
        """A section's score in the aspect that it does best in; without a task all are alike."""
        if not self.scores:
            return _SCORE_OF_ALL
        return max(table[id_] for table in self.scores)

    def part(self, id_: str, *, titled: bool = False) -> str:
        """The part of a profile whose aspect a section does well in, or "".

        Args:
            titled: only if it says so in its title or one around it.
        """
        found = standing(id_, self.scores)
        if found.part < FIRST_LOOK or (titled and not self.scores[found.aspect].is_titled(id_)):
            return ""
        return self.scores[found.aspect].aspect.name


def read(view: DocsView, layer: Layer, profile: Profile) -> Reading:
    """The headings, scores and relations of a layer's documents.

    Raises:
        EntryError: a pattern matches no file.
    """
    aspects = profile.aspects
    paths = tuple(sorted(matched(view, layer.patterns, f"layer {layer.name!r}")))
    outlines = {path: view.documents.outline(path) for path in paths}
    outlined = [Outlined(path, each.title, each.headings) for path, each in outlines.items()]
    tree = tree_of(outlined)
    found = {path: view.counted(path, aspects) for path in paths} if aspects else {}
    titles = titles_in(tree, outlined) if aspects else {}
    tables = []
    words: dict[str, int] = {}
    for place, aspect in enumerate(aspects):
        bodies = {f"{p}#{slug}": c for p, each in found.items() for slug, c in each[place].items()}
        words |= {id_: counted.words for id_, counted in bodies.items()}
        tables.append(Scores(aspect, titles, bodies))
    precedence = tuple(layer.option("precedence") or ())
    navigation = view.documents.navigation(layer.patterns, precedence)
    return Reading({each.path: each for each in outlined}, tree, navigation, tuple(tables), words)
