"""A story bible's canon: who there is, who knows what and since when, what is still a secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ctxbuild.select.realm.canon_words import Category
from ctxbuild.select.realm.points import Point

NameKind = Literal["person", "place", "other"]


@dataclass(frozen=True, slots=True)
class Name:
    """A name of the canon.

    Attributes:
        unit: the section that introduces it.
        aliases: what else it is called, whole; its own words alone are not among them.
        wrong: spellings and forms that the bible forbids.
    """

    name: str
    kind: NameKind
    unit: str
    aliases: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Secret:
    """What must not be told yet.

    Attributes:
        until: the chapter in which it may be told; 0 where the bible names none.
        known_to: who knows it, as the bible writes them.
        words: what gives it away by itself.
    """

    statement: str
    unit: str
    until: int = 0
    known_to: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What somebody knows, or does not.

    Attributes:
        since: from which chapter on they know it; 0 where the bible does not say.
        until: of what they do not know: until which chapter; 0 where it does not say.
    """

    who: str
    statement: str
    unit: str
    knows: bool
    since: int = 0
    until: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """A point of the bible with what it is about.

    Attributes:
        unit: with the ordinals, as it is cited.
        about: the person or place that its section or label names, "" for none.
        chapter: in which it happens or from which it holds; 0 where it does not say.
    """

    category: Category
    path: str
    slug: str
    point: Point
    unit: str
    about: str = ""
    chapter: int = 0


@dataclass(frozen=True, slots=True)
class Canon:
    """All that could be read out of a bible."""

    names: tuple[Name, ...] = ()
    secrets: tuple[Secret, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    told: tuple[Told, ...] = ()


def ordinal_label(ordinals: Sequence[int]) -> str:
    """Ordinals as they are cited: `3`, or `3-5`."""
    return str(ordinals[0]) if len(ordinals) == 1 else f"{ordinals[0]}-{ordinals[-1]}"
