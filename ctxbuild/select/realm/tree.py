"""Headings of a layer's documents as the nodes that the loop walks, and as titles to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ctxbuild.facts.document import Heading
from ctxbuild.select.realm.loop import Node
from ctxbuild.select.realm.match import Titles, title_of_all, titles_of


class Outlined(NamedTuple):
    """What a document's headings say.

    Attributes:
        title: of the document, "" without one.
        headings: in the order of the document.
    """

    path: str
    title: str
    headings: tuple[Heading, ...]


class Tree(NamedTuple):
    """The sections of a layer.

    Attributes:
        nodes: by id, parents before what is inside them, in the order of the documents.
        roots: ids of what is visible at first.
        places: id to its place in that order.
    """

    nodes: dict[str, Node]
    roots: tuple[str, ...]
    places: dict[str, int]


def unit(path: str, slug: str) -> str:
    """The unit of a section."""
    return f"{path}#{slug}"


def tree_of(documents: Sequence[Outlined]) -> Tree:
    """The sections of some documents; several documents stand in nodes of their own."""
    nodes: dict[str, Node] = {}
    roots: list[str] = []
    for document in documents:
        sections = _sections(document)
        tops = tuple(id_ for id_, (parent, _) in sections.items() if parent not in sections)
        if len(documents) > 1:
            title = document.title or document.path
            nodes[document.path] = Node(document.path, document.path, "", (title,), tops, False)
            roots.append(document.path)
        else:
            roots += tops
        nodes.update((id_, node) for id_, (_, node) in sections.items())
    return Tree(nodes, tuple(roots), {id_: place for place, id_ in enumerate(nodes)})


def _sections(document: Outlined) -> dict[str, tuple[str, Node]]:
    """Id to the id around it and the node."""
    path = document.path
    inside: dict[str, list[str]] = {}
    for each in document.headings:
        if each.slug:
            inside.setdefault(each.parent, []).append(unit(path, each.slug))
    return {
        unit(path, each.slug): (
            unit(path, each.parent) if each.parent else "",
            Node(
                unit(path, each.slug),
                path,
                each.slug,
                each.titles,
                tuple(inside.get(each.slug, ())) if each.slug else (),
            ),
        )
        for each in document.headings
    }


def titles_in(tree: Tree, documents: Sequence[Outlined]) -> dict[str, Titles]:
    """Id to the titles that a task is compared with.

    The title of the only document says of every section the same, and nothing.
    """
    whole = {d.path: _whole_title(d) for d in documents}
    found = {}
    for id_, node in tree.nodes.items():
        titles = node.titles
        if len(documents) == 1 and len(titles) > 1 and titles[0] == whole[node.path]:
            titles = titles[1:]
        elif len(documents) > 1 and titles and titles[0] != (name := whole[node.path]) and name:
            titles = (name, *titles)
        above = len(documents) == 1 and node.children and titles == (whole[node.path],)
        found[id_] = title_of_all(titles[0]) if above else titles_of(titles)
    return found


def titles_below(document: Outlined, slug: str) -> str:
    """The titles down to a section, without the one that stands over the whole document."""
    titles = next((each.titles for each in document.headings if each.slug == slug), ())
    if len(titles) > 1 and titles[0] == _whole_title(document):
        titles = titles[1:]
    return " > ".join(titles)


def _whole_title(document: Outlined) -> str:
    """The title that stands over a whole document, "" where there is none."""
    tops = [each for each in document.headings if each.slug and not each.parent]
    return tops[0].title if len(tops) == 1 else document.title


def short_ids(sections: Sequence[tuple[str, str]], paths: Sequence[str]) -> Mapping[str, str]:
    """Unit of a section to the id that stands for it in a packet.

    The slug; before it, where a layer has several documents, as much of the end of
    the path as tells them apart. It depends on names alone.

    Args:
        sections: (path, slug) of what is named.
        paths: all documents of the layer.
    """
    names = _endings(paths) if len(paths) > 1 else dict.fromkeys(paths, "")
    return {
        unit(path, slug): (f"{names[path]}#{slug}" if names[path] else slug or "top")
        for path, slug in sections
    }


def _endings(paths: Sequence[str]) -> dict[str, str]:
    stems = {path: path.rpartition(".")[0] or path for path in paths}
    found = {}
    for path, stem in stems.items():
        parts = stem.split("/")
        for count in range(1, len(parts) + 1):
            name = "/".join(parts[-count:])
            others = [s for p, s in stems.items() if p != path]
            if not any(other == name or other.endswith(f"/{name}") for other in others):
                break
        else:
            name = path
        found[path] = name
    return found
