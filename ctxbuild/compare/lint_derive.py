"""A rule in words to the checks that decide it, where its words say enough.

What is derived errs on the side of silence: a prohibition with a condition that no
check understands is left to people (or a model), and listed as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctxbuild.compare.lint import Check
from ctxbuild.compare.lint_checks import (
    EVERYWHERE,
    Edge,
    Forbidden,
    Format,
    Required,
    RequiredFields,
    RequiredSection,
    Scope,
    words_pattern,
)
from ctxbuild.compare.lint_known import known_checks
from ctxbuild.facts.words import words

_SPAN = re.compile(
    r"(?P<ticks>`+)(?P<code>[^`]{1,200})(?P=ticks)|[\"“](?P<said>[^\"“”\n]{1,120})[\"”]"
)
_NOT = re.compile(
    r"\b(?:must(?:\*\*|__)? ?(?:\*\*|__)?not|must never|mustn['’]t|shall not|should not"
    r"|shouldn['’]t"
    r"|should never|may not|can ?not|can['’]t|never|do not|don['’]t|does not|avoid"
    r"|refrain from|no)\b",
    re.IGNORECASE,
)
_BANNED = re.compile(
    r"\b(?:(?:is|are|be)(?: strictly)? (?:forbidden|prohibited|banned|disallowed"
    r"|not (?:allowed|permitted|accepted))"
    r"|(?:must not|must never|shall not|should not|may not|never|cannot)"
    r"(?: ever)? (?:be (?:used|called|imported|included|present|written|added|said|mentioned"
    r"|named|sent|emitted|returned|logged)|appear|occur))\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\s*(?:\w+ly\s+)?(?:ever\s+)?(?P<verb>us(?:e|ing)|call(?:ing)?|import(?:ing)?|invok(?:e|ing)"
    r"|includ(?:e|ing)|writ(?:e|ing)|contain(?:ing)?|add(?:ing)?|emit(?:ting)?|return(?:ing)?"
    r"|print(?:ing)?|say(?:ing)?|mention(?:ing)?|rais(?:e|ing)|throw(?:ing)?|catch(?:ing)?"
    r"|rely(?:ing)? on|depend(?:ing)? on|referenc(?:e|ing)|instantiat(?:e|ing)|output(?:ting)?"
    r"|install(?:ing)?|start with|begin with|end with|open with|close with|have|put|send"
    r"|commit(?:ting)?|leav(?:e|ing)|spell(?:ing)?|refer to|name)\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|in place of|,? ?(?:and )?never|,? not|over)\s+"
    r"(?:the (?:word|term|name)s? |calling |using |a |an |any )?(?P<rest>(?:`|\"|“).{1,300})",
    re.IGNORECASE,
)
_STOPS = re.compile(
    r"[;:—]|\.\s|\binstead\b|\buse\b|\bbut\b|\brather\b|\bprefer\b|, which\b", re.IGNORECASE
)
_NO_CONDITION = re.compile(
    r"\s*(?:in|within|from|to|for|on|at|by|under|anywhere|directly|ever)?\s*"
    r"(?:(?:the|any|your|our|its|all|new|this|production|client|application|generated) )*"
    r"(?:output|outputs|code|codebase|repository|project|file|files|text|texts|prose|response"
    r"|responses|answer|answers|document|documents|documentation|body|result|results|reason"
    r"|circumstances|all|anywhere|directly|ever|module|modules|implementation|functions?"
    r"|copy|story|scene|chapter|draft|manuscript|dialogue|narration)?"
    r"(?:,? (?:please|at all|ever|anywhere|directly|anymore|any more))?\s*[.!]*\s*",
    re.IGNORECASE,
)
_IN_LANGUAGE = re.compile(
    r"\s*in (?:\w+ )?(?P<language>python|javascript|typescript|java|go|rust|ruby|php"
    r"|c\+\+|c#|kotlin"
    r"|swift|shell|sql|css|html|yaml|json|markdown|prose)(?: (?:code|files?|modules?"
    r"|scripts?))?[.!]*\s*",
    re.IGNORECASE,
)
_IN_PATH = re.compile(
    r"\s*(?:in|inside|under|below|within) (?:files? (?:in|under) )?`(?P<path>[^`]{1,100})`[.!]*\s*",
    re.IGNORECASE,
)
_NAMES = {"c++": "cpp", "c#": "csharp", "markdown": "prose"}
_FILLER = re.compile(
    r"[\s,]*(?:(?:the|a|an|any|either|word|words|term|terms|phrase|phrases|function|functions|method"
    r"|methods|statement|statements|keyword|keywords|module|modules|package|packages|library"
    r"|libraries|class|classes|header|headers|field|fields|parameter|parameters|tag|tags|name|names"
    r"|call|calls|variable|or|and|nor|of|to|as|like|such as|e\.g\.|called|named|attribute"
    r"|attributes|property|properties|element|elements|operator|title|titles|comment|comments"
    r"|marker|markers|character|characters|them|it|him|her)[\s,]+)*",
    re.IGNORECASE,
)


def derive(text: str, modality: str) -> tuple[Check, ...]:
    """The checks of one rule.

    Args:
        text: of the item, one sentence or a few.
        modality: as the item has it.
    """
    text = " ".join(text.split())[:4_000]
    found: list[Check] = []
    for sentence in _SENTENCES.split(text):
        found += _of_sentence(sentence, modality)
    return tuple(dict.fromkeys(found))


_SENTENCES = re.compile(r"(?<=[.!?])\s(?=[A-ZÀ-Þ\"“`*])")


def _of_sentence(text: str, modality: str) -> Iterator[Check]:
    if modality in {"MUST NOT", "SHOULD NOT"}:
        yield from _prohibitions(text)
        if not _NOT.search(text) and not _BANNED.search(text):
            return  # a sentence beside the one that forbids
    if modality in {"MUST", "SHOULD"}:
        yield from _requirements(text)
    if modality and modality != "MAY":
        yield from _alternatives(text)
        yield from known_checks(text, modality)


# --- what must not be -------------------------------------------------------------------


def _prohibitions(text: str) -> Iterator[Check]:
    for negation in _NOT.finditer(text):
        verb = _VERB.match(text, negation.end())
        at = verb.end() if verb else negation.end()
        if verb is None and negation[0].lower() not in {"no", "avoid", "never", "refrain from"}:
            continue
        spans, rest = _spans_at(text, at)
        if not spans:
            continue
        said = verb["verb"].lower() if verb else ""
        scope = _scope_of(rest)
        if scope is None:
            continue
        if said.endswith(" with"):
            first = not said.startswith(("end", "close"))
            yield Edge(tuple(s for s, _ in spans), first, allowed=False, scope=scope)
            continue
        yield from _forbidden(spans, scope, _named_before(text, negation.start()))
    yield from _banned(text)


def _banned(text: str) -> Iterator[Check]:
    """What is named before a verdict in the passive: "`eval` is forbidden"."""
    for verdict in _BANNED.finditer(text):
        head = text[: verdict.start()]
        spans = _spans(head)
        scope = _scope_of(text[verdict.end() :])
        if spans and scope is not None and _is_list(head, spans):
            yield from _forbidden([(s, code) for s, code, _, _ in spans], scope)


def _is_list(head: str, spans: list[tuple[str, bool, int, int]]) -> bool:
    """Whether nothing but a list of marked words stands before the verdict."""
    at = 0
    for place, (_, _, start, end) in enumerate(spans):
        gap = f"{head[at:start]} " if place else f" {head[:start].lstrip('-* ')} "
        if not _FILLER.fullmatch(gap.replace(",", " , ").replace("  ", " ")) and gap.strip():
            return False
        at = end
    return len(head[at:].split()) <= 2


def _alternatives(text: str) -> Iterator[Check]:
    """What another word replaces: "use `a` instead of `b`", "“Mr Hale”, never “Mister Hale”"."""
    for match in _INSTEAD.finditer(text):
        before = text[: match.start()]
        if not _SPAN.search(before) and "instead" not in match[0] and "rather" not in match[0]:
            continue
        spans, rest = _spans_at(text, match.start("rest"))
        scope = _scope_of(rest)
        if spans and scope is not None:
            yield from _forbidden(spans, scope, _named_before(text, match.start()))


def _named_before(text: str, at: int) -> frozenset[str]:
    """The marked words before a place, in small letters."""
    return frozenset(said.casefold() for said, *_ in _spans(text[:at]))


def _forbidden(
    spans: list[tuple[str, bool]], scope: Scope, wanted: frozenset[str] = frozenset()
) -> Iterator[Check]:
    """The marked words in any case, but for code and for what is only to be spelled otherwise."""
    exact = [span for span, is_code in spans if is_code or span.casefold() in wanted]
    said = [span for span, is_code in spans if not is_code and span.casefold() not in wanted]
    for group, fold in ((exact, False), (said, True)):
        pattern = words_pattern(group, fold=fold)
        if pattern is not None:
            yield Forbidden(pattern, "{0!r} is not allowed", scope)


# --- what must be -----------------------------------------------------------------------

_MUST = re.compile(
    r"\b(?:must|shall|should|has to|have to|needs? to|is required to|are required to)\b"
    r"(?:\s+(?:also|always|both|each|all|either))*\s+(?P<verb>include|contain|have|carry|mention"
    r"|provide|specify|set|send|state|list|define|declare|start with|begin with|open with|end with"
    r"|close with|be (?:valid|well-formed|formatted as|written in|written as|returned as|in))\b",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"\b(?:sections?|headings?|chapters?)\b(?: (?:titled|called|named|for|on))?\s*"
    r"|\s*(?:section|heading)s?\b",
    re.IGNORECASE,
)
_FORMAT = re.compile(
    r"\s*(?:a |an )?(?:valid |well-formed )?(?P<name>json|toml|xml)\b(?! (?:object"
    r"|array) (?:with|containing))",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"\b(?:outputs?|responses?|answers?|results?|replies|reply|files?|documents?|texts?|reports?"
    r"|scenes?|chapters?|code|modules?|drafts?|you|it)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|where|while|after|before|until|once)\b", re.IGNORECASE
)


_FIELDS = re.compile(
    r"\A(?:\[[A-Z ]+\] )?[*_]{0,2}(?:required|mandatory) "
    r"(?:fields?|parameters?|keys?|propert(?:y|ies))[*_]{0,2}:?[*_]{0,2} (?P<list>[^.]{2,300})",
    re.IGNORECASE,
)


def _fields(text: str) -> Iterator[Check]:
    """What "Required fields: name, price" lists."""
    match = _FIELDS.match(text)
    named = re.split(r",| and ", match["list"]) if match else []
    fields = tuple(name.strip(" `*\"'") for name in named)
    if len(fields) > 1 and all(re.fullmatch(r"[A-Za-z_][\w-]*", name) for name in fields):
        yield RequiredFields(fields)


def _requirements(text: str) -> Iterator[Check]:
    yield from _fields(text)
    for must in _MUST.finditer(text):
        subject, rest = text[: must.start()], text[must.end() :]
        verb = must["verb"].lower()
        if verb.startswith("be "):
            form = _FORMAT.match(rest)
            if form and _WHOLE.search(subject):
                yield Format(form["name"].lower())
            continue
        spans, after = _spans_at(text, must.end())
        if not spans:
            continue
        if verb.endswith(" with"):
            if _WHOLE.search(subject) and not _CONDITION.search(text):
                first = not verb.startswith(("end", "close"))
                yield Edge(tuple(span for span, _ in spans), first)
            continue
        if _is_section(text, must.end(), after):
            yield from (RequiredSection(span) for span, _ in spans)
            continue
        yield _required(subject, spans, text, after)


def _is_section(text: str, at: int, after: str) -> bool:
    span = _SPAN.search(text, at)
    between = text[at : span.start()] if span else ""
    return bool(_SECTION.search(between) or _SECTION.match(after))


def _required(subject: str, spans: list[tuple[str, bool]], text: str, after: str) -> Required:
    """Marked words must stand in what is about the subject."""
    patterns, names = [], []
    for span, is_code in spans:
        pattern = words_pattern([span], fold=not is_code, anywhere=True)
        if pattern is not None:
            patterns.append(pattern)
            names.append(span)
    conditional = _CONDITION.search(text) is not None
    about = _about(subject)
    if conditional:
        about += _about(_CONDITION.split(text, maxsplit=1)[-1].partition(",")[0])
    any_of = (
        re.search(r"\b(?:or|either|one of)\b", text[len(subject) :].removesuffix(after)) is not None
    )
    return Required(
        tuple(patterns),
        tuple(names),
        any_of=any_of,
        about=tuple(dict.fromkeys(about)),
        level="warning" if conditional else None,
    )


_EVERY = frozenset(
    [
        "every",
        "all",
        "each",
        "client",
        "server",
        "output",
        "response",
        "answer",
        "text",
        "file",
        "document",
        "implementation",
        "code",
        "caller",
        "applic",
        "user",
        "api",
        "system",
    ]
)


def _about(text: str) -> list[tuple[str, ...]]:
    """Roots of what a subject is about; nothing for a subject that is everything."""
    plain = _SPAN.sub(" ", text)
    found = [word for word in dict.fromkeys(words(plain)) if word not in _EVERY]
    return [tuple(found)] if found else []


# --- marked words -----------------------------------------------------------------------


def _spans(text: str) -> list[tuple[str, bool, int, int]]:
    """Marked words: (text, whether it is code, start, end)."""
    return [
        ((m["code"] or m["said"]).strip(" ,."), m["code"] is not None, m.start(), m.end())
        for m in _SPAN.finditer(text)
    ]


def _spans_at(text: str, at: int) -> tuple[list[tuple[str, bool]], str]:
    """The marked words of a list that begins at a place, and what follows it."""
    found: list[tuple[str, bool]] = []
    end = at
    while True:
        filler = _FILLER.match(text, end)
        start = filler.end() if filler else end
        span = _SPAN.match(text, start)
        if span is None:
            break
        found.append(((span["code"] or span["said"]).strip(" ,"), span["code"] is not None))
        end = span.end()
    return found, text[end:]


def _scope_of(rest: str) -> Scope | None:
    """What a prohibition is limited to by what follows it; None for a condition nobody knows."""
    stop = _STOPS.search(rest)
    clause = rest[: stop.start()] if stop else rest
    clause = clause.lstrip(",)* ").rstrip("(* ")
    clause = re.sub(
        r"\A(?:function|method|statement|keyword|module|header|field|tag|operator|call|class"
        r"|package|library|parameter|attribute|element|property|command|flag|word|term|phrase"
        r"|name|title|comment|character|marker|spelling)(?:s|es)?\b",
        "",
        clause,
        flags=re.IGNORECASE,
    )
    if _NO_CONDITION.fullmatch(clause):
        return EVERYWHERE
    if match := _IN_LANGUAGE.fullmatch(clause):
        language = match["language"].lower()
        return Scope(languages=(_NAMES.get(language, language),))
    if match := _IN_PATH.fullmatch(clause):
        path = match["path"].rstrip("/")
        return Scope(paths=(path, f"{path}/*", f"*/{path}", f"*/{path}/*"))
    return None
