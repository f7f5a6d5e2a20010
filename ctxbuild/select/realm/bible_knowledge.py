"""What a point of a bible says of knowledge: who knows something, or does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctxbuild.select.realm import canon_words as said
from ctxbuild.select.realm.canon_words import Category
from ctxbuild.select.realm.points import Point


def is_field(label: str) -> bool:
    """Whether a label says what kind of thing follows, so that it is no name."""
    patterns = (said.ALIASES, said.KNOWS, said.KNOWS_NOT, said.VOICE, said.UNTIL, said.KNOWN_TO)
    more = (said.GIVES_AWAY, said.TRUTH)
    return label.lower() in said.FIELDS or any(p.match(label) for p in (*patterns, *more))


_WHO_KNOWS = re.compile(
    r"(?<!but )(?<!except )(?<!only )\b(?!Nobody|No one|Readers?\b"
    r"|The reader)(?P<who>[A-ZÀ-Þ][\w'’-]*(?: (?:[A-ZÀ-Þ][\w'’-]*|of|the|de|von|van)){0,4}) "
    r"(?:(?P<no>does not (?:yet )?know|doesn['’]t (?:yet )?know|must not (?:know|learn)|is unaware"
    r"|has no idea|cannot know|never learns?|knows nothing)"
    r"|knows|has known|learn(?:ed|s)|found out|finds out|is aware)\b(?: yet)?"
    r"(?: (?:only )?(?P<when>in (?:chapter|ch\.|scene) ?\w{1,12}))?,? ?"
    r"(?P<what>(?:that|of|about|who|where|why|how|what|whether)\b[^.;]{3,300})"
)
_CLAUSE = re.compile(
    r"(?P<no>\b(?:does not (?:yet )?know|doesn['’]t (?:yet )?know|must not (?:know|learn)"
    r"|unaware)\b)"
    r"|\bknows?\b",
    re.IGNORECASE,
)


def knowledge_in(point: Point, about: str, category: Category) -> Iterator[tuple[str, bool, str]]:
    """(who, whether they know it, what) of everything that a point says of knowledge."""
    label = point.label or point.under
    for knows, pattern in ((False, said.KNOWS_NOT), (True, said.KNOWS)):
        if about and pattern.match(label):
            value = point.value if point.label else point.text
            yield from ((about, knows, part) for part in said.parts_of(value))
            return
    if category == "knows" and said.is_name(point.label) and not is_field(point.label):
        # `**Mara**: knows that ...; does not know that ...`; without a verb it is known.
        for part in said.parts_of(point.value):
            verb = _CLAUSE.search(part)
            what = part[verb.end() :] if verb else part
            if what.strip(" .,:"):
                yield point.label, not (verb and verb["no"]), what
        return
    for match in _WHO_KNOWS.finditer(point.text):
        when = f" ({match['when']})" if match["when"] else ""
        yield match["who"], match["no"] is None, match["what"] + when
