"""Items that say the opposite: the higher one stands, equals are reported as conflicting.

Two items contradict each other when they bind the same words in opposite ways ("MUST
send", "MUST NOT send"), or give the same constant two values. Nothing is guessed:
the words must be the same, apart from articles and plurals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from ctxbuild.facts.document import Item, Modality
from ctxbuild.graph.documents import Navigation
from ctxbuild.graph.documents_links import Node


class Placed(NamedTuple):
    """An item with the document it stands in."""

    path: str
    item: Item

    @property
    def node(self) -> Node:
        """The section it stands in."""
        return self.path, self.item.section


class Conflict(NamedTuple):
    """Two items that contradict each other, none above the other.

    Attributes:
        about: the words or the constant that both speak of.
        kind: opposite modalities, or two values.
    """

    first: Placed
    second: Placed
    about: str
    kind: Literal["modality", "value"]


class Overruled(NamedTuple):
    """An item that does not count.

    Attributes:
        by: the item above it, None where its whole section is superseded.
        why: "overruled" by an item that says the opposite, or "superseded" with its section.
        rule: what puts the other above it: a sentence, a key, or "precedence".
    """

    placed: Placed
    by: Placed | None
    why: Literal["overruled", "superseded"]
    rule: str


class Judged(NamedTuple):
    """What remains of some items."""

    kept: tuple[Placed, ...]
    overruled: tuple[Overruled, ...]
    conflicts: tuple[Conflict, ...]


_OPPOSITE: frozenset[tuple[Modality, Modality]] = frozenset(
    (
        ("MUST", "MUST NOT"),
        ("MUST", "SHOULD NOT"),
        ("SHOULD", "MUST NOT"),
        ("SHOULD", "SHOULD NOT"),
        ("MAY", "MUST NOT"),
    )
)
_WORD = re.compile(r"[\w.$%/+-]*\w[%+]?|[<>=≤≥]+")
_ARTICLES = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "do",
        "does",
        "to",
        "be",
        "is",
        "are",
        "also",
        "please",
    ]
)
_CONDITIONS = frozenset(
    ["if", "when", "unless", "where", "while", "once", "whenever", "for", "in", "on", "with"]
)
_FEWEST = 2  # words that a binding must have in common to be the same
_VALUE = re.compile(
    r"""(?P<subject>[^.;:=]{1,120}?)
        [*_`"]{0,3}\s{0,3}
        (?:(?<!\w)(?:is|are|equals|defaults?\ to|must\ be|is\ set\ to|is\ limited\ to|lasts?)(?!\w)
            |[:=])
        [*_`"]{0,3}\s{0,3}
        (?P<bound>(?:at\ most|at\ least|up\ to|no\ more\ than|exactly|about|around)\s)?
        [*_`"]{0,3}
        (?P<value>[$€£]?-?\d[\d,._]{0,20}(?<![,._]))\s?
        (?P<unit>%|[A-Za-z]{1,20}(?:(?:/|\ per\ )[A-Za-z]{1,20})?(?:\ old)?)?
    """,
    re.VERBOSE,
)
_NAME = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+|[A-Z]\w*(?: [A-Z]\w*)*|\w+(?:_\w+)+|`[^`]+`")


class Precedence:
    """Which section is above which.

    Args:
        navigation: the documents' graph.
    """

    def __init__(self, navigation: Navigation) -> None:
        self._inside: dict[Node, Node] = {}
        # From what is above: what it is above of, and what says so.
        self._above: dict[Node, dict[Node, str]] = {}
        self._newer: dict[Node, list[tuple[Node, str]]] = {}
        for edge in navigation.edges:
            if edge.kind == "contains":
                self._inside[edge.target] = edge.source
            elif edge.kind in ("overrides", "supersedes"):
                rule = edge.words or edge.kind
                self._above.setdefault(edge.source, {}).setdefault(edge.target, rule)
                if edge.kind == "supersedes":
                    self._newer.setdefault(edge.target, []).append((edge.source, rule))
        self._order = dict(navigation.order)
        self._levels = dict(navigation.levels)

    def rule(self, above: Node, below: Node) -> str:
        """What puts a section above another, "" if nothing does.

        A sentence or key that names the two, or what they stand in, counts before the
        ctxfile's order, and that before the numbers of the front matter.
        """
        if self._stated(above, below) or self._stated(below, above):
            return self._stated(above, below)
        last = len(self._order) + 1
        first, second = self._order.get(above[0], last), self._order.get(below[0], last)
        if first != second:
            return "precedence" if first < second else ""
        higher = self._levels.get(above[0], 0) > self._levels.get(below[0], 0)
        return "precedence" if higher else ""

    def superseded(self, present: Iterable[Node]) -> dict[Node, str]:
        """Which of the sections that are present another of them supersedes, and what says so."""
        arounds = {node: self.around(node) for node in present} if self._newer else {}
        there = {each for around in arounds.values() for each in around}
        found: dict[Node, str] = {}
        for node, around in arounds.items():
            for each in around:
                for newer, rule in self._newer.get(each, ()):
                    if newer in there and newer not in around:
                        found.setdefault(node, rule)
        return found

    def around(self, node: Node) -> tuple[Node, ...]:
        """A section, what it stands in, and its document, from the inside out."""
        found = [node]
        while found[-1] in self._inside and len(found) < 64:
            found.append(self._inside[found[-1]])
        return tuple(dict.fromkeys((*found, (node[0], ""))))

    def _stated(self, above: Node, below: Node) -> str:
        lowers = self.around(below)
        for upper in self.around(above):
            stated = self._above.get(upper, {})
            for lower in lowers if stated else ():
                if lower in stated:
                    return stated[lower]
        return ""


def judge(items: Iterable[Placed], navigation: Navigation) -> Judged:
    """Which of some items stand, which are overruled, and which contradict each other.

    Args:
        items: in the order of the documents.
        navigation: of the documents they come from.
    """
    placed = tuple(items)
    precedence = Precedence(navigation)
    overruled: dict[int, Overruled] = {}
    superseded = precedence.superseded(each.node for each in placed)
    for place, each in enumerate(placed):
        if each.node in superseded:
            overruled[place] = Overruled(each, None, "superseded", superseded[each.node])
    conflicts = []
    for first, second, about, kind in _contradictions(placed):
        if first in overruled or second in overruled:
            continue
        one, other = placed[first], placed[second]
        down, up = precedence.rule(one.node, other.node), precedence.rule(other.node, one.node)
        if down:
            overruled[second] = Overruled(other, one, "overruled", down)
        elif up:
            overruled[first] = Overruled(one, other, "overruled", up)
        else:
            conflicts.append(Conflict(one, other, about, kind))
    kept = tuple(each for place, each in enumerate(placed) if place not in overruled)
    return Judged(kept, tuple(overruled[place] for place in sorted(overruled)), tuple(conflicts))


_Pair = tuple[int, int, str, Literal["modality", "value"]]


def _contradictions(placed: Sequence[Placed]) -> Iterator[_Pair]:
    """Places of items that contradict each other, in order."""
    bindings: dict[tuple[str, ...], list[int]] = {}
    values: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for place, (_, item) in enumerate(placed):
        about = _bound(item)
        if len(about) >= _FEWEST:
            bindings.setdefault(about, []).append(place)
        for constant, value in _constants(placed[place]):
            values.setdefault(constant, []).append((place, value))
    found: list[_Pair] = []
    for about, places in bindings.items():
        for first, second in _pairs(places):
            pair = (placed[first].item.modality, placed[second].item.modality)
            if pair in _OPPOSITE or pair[::-1] in _OPPOSITE:
                found.append((first, second, " ".join(about), "modality"))
    for constant, given in values.items():
        for first, second in _pairs(range(len(given))):
            (one, value), (other, another) = given[first], given[second]
            if value != another and one != other:
                found.append((one, other, " ".join(filter(None, constant)), "value"))
    yield from sorted(found)


_MOST = 40  # items about the same words that are compared with each other


def _pairs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    for number, first in enumerate(places[:_MOST]):
        for second in places[number + 1 : _MOST]:
            yield first, second


def _bound(item: Item) -> tuple[str, ...]:
    """What an item binds, as plain words; () where it binds nothing or several things."""
    if item.kind != "constraint" or len(item.keywords) != 1:
        return ()
    (keyword,) = item.keywords
    text = item.text
    if keyword.at < 0:
        head = item.lead[: item.lead.find(keyword.word)] if keyword.word in item.lead else ""
        tail = item.lead[len(head) + len(keyword.word) :].rstrip(":")
        text = f"{head} {tail} {text}"
    else:
        # The keyword may stand there with markup in it, so its words are taken out.
        after = text[keyword.at :]
        for word in keyword.word.split():
            after = after.replace(word, " ", 1)
        text = f"{text[: keyword.at]} {after}"
    return tuple(_plain(text))


def _plain(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.lower().replace("`", " ").replace("*", " ")):
        bare = word.strip("._-/")
        if bare and bare not in _ARTICLES:
            plural = bare.isalpha() and len(bare) > 3 and bare.endswith("s") and bare[-2] != "s"
            yield bare[:-1] if plural else bare


def _constants(placed: Placed) -> Iterator[tuple[tuple[str, ...], str]]:
    """(what, value) of the constants that an item gives a value."""
    item = placed.item
    if item.kind in ("example", "procedure"):
        return
    if item.text.startswith("|"):
        yield from _cells(item)
        return
    found = _VALUE.match(item.text.lstrip('-*_`"> '))
    if found is None:
        return
    subject = found["subject"].strip('*_`" ')
    words = tuple(_plain(subject))
    if not words or words[0] in _CONDITIONS:
        return
    named = _NAME.fullmatch(subject.removeprefix("The ").removeprefix("A ")) is not None
    # A single plain word means something else in every section.
    place = "" if len(words) > 1 or named else item.section
    unit = (found["unit"] or "").lower().removesuffix("s")
    bound = (found["bound"] or "").strip()
    yield (*words, bound, unit, place), found["value"].replace(",", "").replace("_", "")


def _cells(item: Item) -> Iterator[tuple[tuple[str, ...], str]]:
    """The values of a row about a constant whose name says that it is one."""
    cells = [cell.strip().strip("`*") for cell in item.text.strip().strip("|").split("|")]
    titles = [cell.strip() for cell in item.lead.strip().strip("|").split("|")]
    if not cells or len(cells) != len(titles) or not re.fullmatch(r"[A-Z][A-Z0-9_]+", cells[0]):
        return
    for title, cell in zip(titles[1:], cells[1:], strict=True):
        if re.fullmatch(r"[$€£]?-?\d[\d,._]*\s?[%A-Za-z]{0,12}", cell):
            yield (cells[0].lower(), title.lower()), cell.replace(",", "").lower()
