"""A story bible, read as canon.

What a section is about follows from its titles, a field's label or a column's title,
in the words that bibles use. Where something holds from or until a chapter, the
text says so: "(ch. 3)", "until chapter 7", "not before chapter 7", "revealed in
chapter 7". Nothing is made up: what cannot be read as one of these stays a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ctxbuild.facts.document import Section
from ctxbuild.select.realm import canon_said as saying
from ctxbuild.select.realm import canon_words as said
from ctxbuild.select.realm.bible_knowledge import is_field, knowledge_in
from ctxbuild.select.realm.canon import (
    Canon,
    Knowledge,
    Name,
    NameKind,
    Secret,
    Told,
    ordinal_label,
)
from ctxbuild.select.realm.canon_words import Category
from ctxbuild.select.realm.points import Point, points_of


def canon_of(documents: Mapping[str, Sequence[Section]]) -> Canon:
    """The canon of a bible.

    Args:
        documents: path to its sections, in order.
    """
    reader = _Reader()
    for path, sections in documents.items():
        stem = path.rpartition("/")[2].rpartition(".")[0]
        for section in sections:
            reader.section(path, section, stem)
    return reader.canon()


@dataclass(frozen=True, slots=True)
class _Here:
    """Where a point stands.

    Attributes:
        about: the name in the section's title, "" for none.
        chapter: the number in the section's title, 0 for none.
        places: whether the section speaks of places.
    """

    path: str
    slug: str
    category: Category
    about: str
    chapter: int
    places: bool

    @property
    def kind(self) -> NameKind:
        """What a name that is introduced here names."""
        if self.category in {"who", "knows", "voice"}:
            return "person"
        return "place" if self.places else "other"


_NAMING = frozenset({"who", "watch", "knows", "voice"})
"""Categories in which a title or a label in bold introduces a name."""


def _here(path: str, section: Section, stem: str) -> _Here:
    titles = section.heading.titles
    category = said.category_of(titles, stem)
    around = (*titles[:-1], stem.replace("-", " "))
    above = said.category_of(titles[:-1], stem)
    about = ""
    name = said.bare_name(titles[-1]) if titles else ""
    if titles and above in _NAMING and said.is_name(name):
        own = said.category_of((name,))
        # "Will Story" among the characters is a person; "Minor characters" is not.
        if own == "notes" or (above == "who" == said.category_of(titles[:-1]) and own != "who"):
            about, category = name, above
    chapter = next((n for n, _ in saying.chapters_in(titles[-1])), 0) if titles else 0
    places = said.PLACES.search(" ".join(titles if not about else around)) is not None
    return _Here(path, section.slug, category, about, chapter, places)


class _Reader:
    """Collects the canon section by section."""

    def __init__(self) -> None:
        self._names: dict[str, Name] = {}
        self._secrets: list[Secret] = []
        self._knowledge: list[Knowledge] = []
        self._told: list[Told] = []
        self._units: dict[str, int] = {}
        self._last = ("", "", 0, "")  # the name that the block began with

    def canon(self) -> Canon:
        """What was collected, each once."""
        return Canon(
            tuple(self._names.values()),
            tuple(dict.fromkeys(self._secrets)),
            tuple(dict.fromkeys(self._knowledge)),
            tuple(self._told),
        )

    def section(self, path: str, section: Section, stem: str) -> None:
        """Adds a section."""
        here = _here(path, section, stem)
        if here.about:
            self._name(here.about, here)
        points = [point for point in points_of(section) if point.ordinals]
        if here.category == "reveals" and self._one_secret(here, section, points):
            return
        for point in points:
            self._point(here, point)

    def _one_secret(self, here: _Here, section: Section, points: Sequence[Point]) -> bool:
        """A section that is one secret, with fields below the statement in its title."""
        if _tells_several(points):
            return False
        known: list[str] = []
        words: list[str] = []
        to, truth, fields, plain = 0, "", 0, ""
        for point in points:
            fields += 1
            if said.KNOWN_TO.match(point.label):
                known += said.listed(point.value)
            elif said.GIVES_AWAY.match(point.label):
                words += said.quoted_or_listed(point.value)
            elif said.UNTIL.match(point.label) and (number := saying.chapter_in(point.value)):
                to = number
            elif said.TRUTH.match(point.label):
                truth = truth or point.value
            elif number := _only_until(point):
                to = to or number
            else:
                fields -= 1
                plain = plain or _plainly(point)
        if not fields:
            return False
        to = to or next((number for point in points if (number := saying.until(point.text))), 0)
        title = section.heading.title
        about = saying.statement(truth or (title if saying.is_sentence(title) else plain or title))
        unit = f"{here.path}#{here.slug}"
        self._secrets.append(Secret(about, unit, to, tuple(known), tuple(words)))
        for point in points:
            self._add("reveals", here, point, self._unit(here, point))
        return True

    def _unit(self, here: _Here, point: Point) -> str:
        """The unit of a point; of several in one item each has a number of its own."""
        unit = f"{here.path}#{here.slug}@{ordinal_label(point.ordinals)}"
        self._units[unit] = number = self._units.get(unit, 0) + 1
        return unit if number == 1 else f"{unit}.{number}"

    # --- points -------------------------------------------------------------------------

    def _point(self, here: _Here, point: Point) -> None:
        about = self._about(here, point)
        unit = self._unit(here, point)
        self._forbidden(point, about, unit)
        label = point.label or point.under
        category = here.category
        if point.fields:
            category = self._row(here, point, unit)
        elif said.KNOWS.match(label) or said.KNOWS_NOT.match(label):
            category = "knows"
        elif said.VOICE.match(label):
            category = "voice"
        elif category == "reveals" or (
            saying.is_secret(point.text) and not any(knowledge_in(point, about, category))
        ):
            category = "reveals"
            self._secret(point, unit, listed=here.category == "reveals")
        if not point.fields and category != "reveals":
            self._known(here, point, category, about, unit)
            category = self._told_in_prose(point, category, about)
        self._add(category, here, point, unit, about)

    def _about(self, here: _Here, point: Point) -> str:
        """Whom or what a point is about: a name before the rest, or its section's."""
        label = said.bare_name(point.label.strip('"“”'))
        if here.about and said.ALIASES.match(label):
            self._alias(here.about, said.quoted_or_listed(_allowed(point.value)))
        named = bool(label) and said.is_name(label) and not is_field(label)
        if named and here.category in _NAMING and (not here.about or here.places):
            self._name(label, here)
            self._last = (here.path, here.slug, point.block, label)
        *where, name = self._last
        about = name if where == [here.path, here.slug, point.block] and named else here.about
        if not about and not point.label and where == [here.path, here.slug, point.block]:
            about = name  # a further sentence of the paragraph
        called = _CALLED.search(point.value) if about else None
        if called:
            self._alias(about, said.quoted_or_listed(called[1]))
        return about

    def _told_in_prose(self, point: Point, category: Category, about: str) -> Category:
        """What a sentence is about where its section is about much else, too."""
        if category not in {"notes", "timeline", "who"} or point.label:
            return category
        if any(knowledge_in(point, about, category)):
            return "knows"
        if category == "who" or said.YEAR.match(point.text):
            return category
        found = next((c for c, pattern in said.IN_PROSE if pattern.search(point.text)), category)
        if found == category and any(saying.chapters_in(point.text)):
            return "timeline"
        return found

    def _known(self, here: _Here, point: Point, category: Category, about: str, unit: str) -> None:
        for who, knows, what in knowledge_in(point, about, category):
            person = about if who in _PRONOUNS else who
            if person and said.is_name(person) and category in {"notes", "timeline", "knows"}:
                self._name(person, replace(here, category="who"))
            if person:
                self._knows(person, knows, what, unit)

    def _knows(self, who: str, knows: bool, what: str, unit: str) -> None:
        since, to = saying.span(what)
        plain = saying.statement(what)
        if plain.strip("-–—").lower() not in _NOTHING:
            known = Knowledge(
                who, plain, unit, knows, since if knows else 0, 0 if knows else to or since
            )
            self._knowledge.append(known)

    def _row(self, here: _Here, point: Point, unit: str) -> Category:
        """A row of a table: its columns say what they hold."""
        fields = {title.lower(): cell for title, cell in point.fields}
        if here.category == "reveals" or any(t.startswith(("secret", "reveal")) for t in fields):
            self._secret_row(point, fields, unit)
            return "reveals"
        if here.category == "knows" and self._matrix(point, unit):
            return "knows"
        who = next((cell for title, cell in fields.items() if said.WHOSE.match(title)), "")
        if here.category in _NAMING and said.is_name(who):
            places = any(title.startswith(("place", "location")) for title in fields)
            self._name(who, replace(here, category="watch", places=True) if places else here)
        for title, cell in fields.items():
            if cell:
                self._cell(fields, who, title, cell, unit)
        return here.category

    def _matrix(self, point: Point, unit: str) -> bool:
        """A row of a table with a column for everybody: what, and whether each of them knows it."""
        about, *cells = point.fields
        if not cells or not all(said.is_name(who) for who, _ in cells):
            return False
        if said.WHOSE.match(about[0]) or any(is_field(who) for who, _ in cells):
            return False
        for who, cell in cells:
            knows = said.YES.match(cell) is not None
            if knows or said.NO.match(cell):
                since, to = saying.span(cell)
                plain = saying.statement(about[1])
                until = 0 if knows else to or since
                known = Knowledge(who, plain, unit, knows, since if knows else 0, until)
                self._knowledge.append(known)
        return True

    def _cell(self, fields: Mapping[str, str], who: str, title: str, cell: str, unit: str) -> None:
        if said.WRONG.match(title) and not said.KNOWS_NOT.match(title):
            right = who or next((c for t, c in fields.items() if said.RIGHT.match(t)), "")
            self._wrong(right or next(iter(fields.values())), said.quoted_or_listed(cell), unit)
        elif who and said.ALIASES.match(title) and cell != who:
            self._alias(who, said.quoted_or_listed(cell))
        elif who and (said.KNOWS_NOT.match(title) or said.KNOWS.match(title)):
            for what in re.split(r";|<br\s{0,3}/?>", cell):
                self._knows(who, not said.KNOWS_NOT.match(title), what, unit)

    # --- secrets ------------------------------------------------------------------------

    def _secret_row(self, point: Point, fields: Mapping[str, str], unit: str) -> None:
        about = next(
            (cell for title, cell in fields.items() if said.TRUTH.match(title)), point.label
        )
        to = 0
        known: tuple[str, ...] = ()
        words: tuple[str, ...] = ()
        for title, cell in fields.items():
            if cell == about:
                continue
            if said.KNOWN_TO.match(title):
                known = tuple(said.listed(cell))
            elif said.GIVES_AWAY.match(title):
                words = tuple(said.quoted_or_listed(cell))
            elif said.UNTIL.match(title):
                to = saying.chapter_in(cell) or to
        self._secrets.append(Secret(saying.statement(about), unit, to, known, words))

    def _secret(self, point: Point, unit: str, *, listed: bool) -> None:
        text = point.text
        to = saying.until(text) or (saying.span(text)[0] if listed else 0)
        by, away = saying.KNOWN_BY.search(text), saying.AWAY.search(text)
        known = tuple(said.listed(by[1])) if by else ()
        words = tuple(said.quoted_or_listed(away[1])) if away else ()
        about = saying.statement(text)
        # A sentence about the list itself is no secret: it has neither chapter nor name.
        if about and (to or known or (listed and _names_somebody(about))):
            self._secrets.append(Secret(about, unit, to, known, words))

    # --- names --------------------------------------------------------------------------

    def _name(self, name: str, here: _Here) -> None:
        bare = said.bare_name(name)
        if any(bare in (*said.name_parts(n), *known.aliases) for n, known in self._names.items()):
            return  # a part of a name that is known
        known = self._names.get(bare)
        if known is not None and known.kind == "other":
            self._names[bare] = replace(known, kind=here.kind)
        self._names.setdefault(bare, Name(bare, here.kind, f"{here.path}#{here.slug}"))

    def _alias(self, name: str, aliases: Iterable[str]) -> None:
        known = self._names.get(name)
        if known:
            more = [alias for alias in aliases if alias[:1].isalpha() and alias != name]
            merged = tuple(dict.fromkeys((*known.aliases, *more)))
            self._names[name] = replace(known, aliases=merged)

    def _forbidden(self, point: Point, about: str, unit: str) -> None:
        """Forms that a point forbids: "Maerlyn, never Merlin", `never "Mrs Castane"`."""
        for match in _NOT_SPELLED.finditer(point.text):
            right, wrong = (match[name].strip(_QUOTES) for name in ("right", "wrong"))
            right = _SPELLED.sub("", right).strip(_QUOTES)
            if right != wrong and said.is_name(wrong):
                more = _ALSO_NOT.findall(point.text[match.end() :].partition(")")[0])
                self._wrong(right, [wrong, *(form.strip(_QUOTES) for form in more)], unit)
        known = {form for name in self._names.values() for form in name.wrong}
        for sentence in re.split(r"(?<=[.!?])\s", point.text):
            for match in _NEVER_CALLED.finditer(sentence):
                wrong = match["wrong"]
                if said.is_name(wrong) and wrong not in known:
                    right = about or point.label or _nearest(sentence, wrong)
                    self._wrong(right, [wrong], unit)

    def _wrong(self, name: str, wrong: Iterable[str], unit: str) -> None:
        known = self._names.get(name) or next(
            (
                each
                for each in self._names.values()
                if name in each.aliases or name in said.name_parts(each.name)
            ),
            Name(name, "other", unit.rpartition("@")[0]),
        )
        forms = {known.name, *known.aliases}
        more = [form for form in wrong if form not in forms]
        merged = tuple(dict.fromkeys((*known.wrong, *more)))
        if known.name:
            self._names[known.name] = replace(known, wrong=merged)

    def _add(
        self, category: Category, here: _Here, point: Point, unit: str, about: str = ""
    ) -> None:
        at = here.chapter
        if not at and not (point.fields and category in {"who", "knows"}):
            hows = {"who": {"since"}}.get(category, {"since", ""})
            at = next((number for number, how in saying.chapters_in(point.text) if how in hows), 0)
        self._told.append(Told(category, here.path, here.slug, point, unit, about, at))


_PRONOUNS = frozenset({"He", "She", "They"})
_LEAST_WORDS = 3
_NOTHING = frozenset({"", "nothing", "none", "everything", "all", "n/a", "?"})
_CALLED = re.compile(
    r"\b(?:also (?:called|known as)|called|known as|a\.?k\.?a\.?|nick-?named|goes by|alias)\b"
    r"[ \t:]{0,3}([^.;()]{2,80})",
    re.IGNORECASE,
)
_FORM = r"[\"“'‘]?(?:(?:St|Dr|Mrs?)\. )?[A-ZÀ-Þ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]*){0,3}[\"”'’]?"
_QUOTES = "\"“”'‘’"
_SPELLED = re.compile(r"\A(?:Spell(?:ed|ing)?|Spelt|Written|Write|Always|Called|Use|Name)\s+")
_NOT_SPELLED = re.compile(
    rf"(?P<right>{_FORM})(?: \([^()]{{0,60}}\))?[,;]? ?\(?(?:is |always |and |but )?(?:never|not)"
    rf"(?: called| spelled| written| as| the)?:? (?P<wrong>{_FORM})"
)
_ALSO_NOT = re.compile(rf",? (?:not|nor|or|never) ({_FORM})")
_NEVER_CALLED = re.compile(
    r"(?:\b(?:never|not)(?: called| spelled| written| as)?:? [\"“]|\((?:never|not) )"
    r"(?P<wrong>[A-ZÀ-Þ][^\"“”()]{1,40})[\"”)]"
)


def _plainly(point: Point) -> str:
    """What a point without a label states, "" for less than a sentence."""
    stated = "" if point.label else saying.statement(point.text)
    return stated if len(stated.split()) >= _LEAST_WORDS else ""


def _only_until(point: Point) -> int:
    """The chapter of a point that says nothing else: "Secret until chapter 8"; else 0."""
    return 0 if point.label or _plainly(point) else saying.until(point.text)


def _allowed(text: str) -> str:
    """A list of forms of a name up to those that are forbidden."""
    return re.split(r"[,;]?\s(?:never|not|but not)\b", text, maxsplit=1)[0]


def _nearest(text: str, wrong: str) -> str:
    """The word with a capital in a sentence that looks most like a wrong form."""
    words = [word for word in re.findall(r"(?<![\w'’])[A-ZÀ-Þ][\w'’-]+", text) if word != wrong]
    return min(words, key=lambda word: said.edits(word.lower(), wrong.lower()), default="")


def _names_somebody(text: str) -> bool:
    return re.search(r"(?<=[\w,;] )[A-ZÀ-Þ]\w+|[A-ZÀ-Þ]\w+['’]s\b", text) is not None


def _tells_several(points: Sequence[Point]) -> bool:
    """Whether several points tell a secret of their own, each with its chapter."""
    own = [p for p in points if not said.UNTIL.match(p.label) and saying.until(p.text)]
    return len(own) > 1
