"""What rules often say without marking a word: keys in code, plain HTTP, lengths, emoji, tabs.

Each row reads a rule and gives checks, or nothing. The shapes that are searched for
are narrow: a placeholder such as YOUR_API_KEY is no secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ctxbuild.compare.lint import Check
from ctxbuild.compare.lint_checks import Forbidden, Longest, Scope

_HIDDEN = r"(?:secrets?|api[ -]?keys?|keys?|passwords?|tokens?|credentials?)"
_EXPOSE = (
    r"(?:hard-?cod\w+|embed\w*|commit\w*|expos\w+|includ\w+|stor\w+|put|check\w* in|plac\w+"
    r"|publish\w*|leak\w*|shar\w+|bak\w+)"
)
_LOGGED = r"(?:log|logs|logged|logging|print|prints|printed|printing|trac\w+)"

_RULE_SECRET = re.compile(
    rf"\b{_EXPOSE}\b[^.]{{0,60}}\b{_HIDDEN}\b|\b{_HIDDEN}\b[^.]{{0,40}}\b{_EXPOSE}\b", re.IGNORECASE
)
_RULE_LOG = re.compile(
    rf"\b{_LOGGED}\b[^.]{{0,60}}\b{_HIDDEN}\b|\b{_HIDDEN}\b[^.]{{0,40}}\b{_LOGGED}\b", re.IGNORECASE
)
_RULE_QUERY = re.compile(
    rf"\b{_HIDDEN}\b[^.]{{0,80}}\b(?:query|urls?|uris?)\b|\b(?:query|urls?)\b[^.]{{0,80}}\b{_HIDDEN}\b",
    re.IGNORECASE,
)
_RULE_HTTPS = re.compile(
    r"\b(?:use|over|via|through|only|require\w*|using) https\b"
    r"|\bhttps\b[^.]{0,20}\b(?:only|required)\b",
    re.IGNORECASE,
)
_RULE_HTTP = re.compile(
    r"\b(?:plain|unencrypted|bare|insecure) http\b|\bhttp\b(?!s)[^.]{0,30}\burls?\b", re.IGNORECASE
)

_PLACEHOLDER = (
    r"(?!(?:your|my|the|some|an?|test|example|dummy|fake|xxx+|\.\.\.|<|\{|\$|%|\*|change|replace"
    r"|insert|todo|placeholder|redacted)[^\"'\s]*)"
)
_NAME = r"(?:(?:api|auth|access|private)[_-]?key|secret|token|passw(?:or)?d|credential)"
_SUFFIX = r"(?:[_-]?(?:value|string|str|prod|live|key|default|\d{1,3}))?"
_GIVEN = r"[\"']?\]?\s{0,4}(?::\s{0,4}\w{1,20}\s{0,4})?[:=]\s{0,4}[rbfu]?[\"'`]"
_HARD_CODED = re.compile(
    # A value of letters alone is the name of something, unless it is a password.
    rf"(?<![\w.-])[\w.-]{{0,40}}{_NAME}{_SUFFIX}{_GIVEN}"
    rf"{_PLACEHOLDER}(?![a-z_.:/ -]{{1,200}}[\"'`])[A-Za-z0-9+/_.=-]{{8,200}}[\"'`]"
    rf"|(?<![\w.-])[\w.-]{{0,40}}passw(?:or)?d{_GIVEN}{_PLACEHOLDER}[^\s\"'`]{{6,200}}[\"'`]"
    rf"|\b(?:Bearer|Basic)\s{{1,4}}{_PLACEHOLDER}[A-Za-z0-9+/_.=-]{{16,400}}"
    r"|\b(?:sk|pk|rk)_(?:live|prod)_[A-Za-z0-9]{8,100}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,80}"
    r"|-----BEGIN (?:[A-Z]{2,10} )?PRIVATE KEY-----",
    re.IGNORECASE,
)
_LOGS = re.compile(
    r"\b(?:log(?:ger|ging)?|console|print(?:f|ln)?|echo|puts|fmt|syslog)\b(?:\.\w{1,20})?\s{0,4}\("
    rf"[^\n)]{{0,200}}\b\w{{0,20}}{_NAME}",
    re.IGNORECASE,
)
_IN_QUERY = re.compile(rf"[?&][\w-]{{0,20}}(?:{_NAME}|key)[\w-]{{0,20}}=", re.IGNORECASE)
_PLAIN_HTTP = re.compile(
    r"\bhttp://(?!localhost|127\.|0\.0\.0\.0|\[::1\]|www\.w3\.org|schemas?\.|xmlns|purl\.org"
    r"|json-schema\.org)[\w.-]{1,250}",
    re.IGNORECASE,
)


def _secrets(text: str, modality: str) -> Iterator[Check]:
    if "NOT" not in modality:
        return
    if _RULE_QUERY.search(text):
        yield Forbidden(_IN_QUERY, "a secret stands in a URL: {0!r}", mentions=True)
    elif _RULE_LOG.search(text):
        yield Forbidden(_LOGS, "a secret is logged: {0!r}")
    elif _RULE_SECRET.search(text):
        yield Forbidden(_HARD_CODED, "a secret is written out: {0!r}", mentions=True)


def _https(text: str, modality: str) -> Iterator[Check]:
    positive = "NOT" not in modality and _RULE_HTTPS.search(text)
    negative = "NOT" in modality and _RULE_HTTP.search(text)
    if positive or negative:
        yield Forbidden(_PLAIN_HTTP, "plain HTTP: {0!r}")


# --- shapes with a name -----------------------------------------------------------------

_CODE = Scope()
_PROSE = Scope(languages=("prose",))

_SHAPES: tuple[tuple[re.Pattern[str], re.Pattern[str], str, Scope], ...] = tuple(
    (re.compile(rule, re.IGNORECASE), re.compile(shape, flags), message, scope)
    for rule, shape, flags, message, scope in (
        (
            r"\b(?:emojis?|emoticons?)\b",
            "[\U0001f300-\U0001faff\U00002600-\U000027bf\U0001f000-\U0001f2ff]",
            0,
            "an emoji: {0}",
            _CODE,
        ),
        (
            r"\bexclamation (?:marks?|points?)\b",
            r"(?<=[\w\"'’”)])!+(?![=\w(\[])",
            0,
            "an exclamation mark",
            _PROSE,
        ),
        (r"\bem[- ]dash(?:es)?\b", "—", 0, "an em dash", _CODE),
        (r"\b(?:semicolons?)\b", r"(?<=[\w\"'’”)]);", 0, "a semicolon", _PROSE),
        (
            r"\btrailing (?:white ?space|spaces?|blanks?)\b",
            r"[ \t]+$",
            re.MULTILINE,
            "blanks at the end of the line",
            _CODE,
        ),
        (
            r"\btabs?\b(?! (?:key|order|bar|view|panel|title|index))",
            r"^ *\t+",
            re.MULTILINE,
            "a tab",
            _CODE,
        ),
        (r"\bbare except\b", r"^\s*except\s*:", re.MULTILINE, "a bare except", _CODE),
        (
            r"\b(?:wildcard|star) imports?\b",
            r"^\s*from\s+[\w.]{1,200}\s+import\s+\*",
            re.MULTILINE,
            "a wildcard import: {0!r}",
            _CODE,
        ),
        (r"\bprint (?:statements?|calls?)\b", r"(?<![\w.])print[ \t]?\(", 0, "a print call", _CODE),
        (r"\bto-?dos?\b", r"\bTODO\b", 0, "a TODO", _CODE),
        (
            r"\bfirst person\b",
            r"\b(?:I|I['’]m|I['’]ve|we|We|my|My|our|Our|me|us|mine|ours)\b",
            0,
            "the first person: {0!r}",
            _PROSE,
        ),
        (
            r"\bsecond person\b",
            r"\b(?:you|your|yours|yourself)\b",
            re.IGNORECASE,
            "the second person: {0!r}",
            _PROSE,
        ),
        (
            r"\bcontractions?\b",
            r"\b\w{1,20}(?:n['’]t|['’](?:re|ve|ll|d|m))\b",
            re.IGNORECASE,
            "a contraction: {0!r}",
            _PROSE,
        ),
        (r"\binline styles?\b", r"\bstyle\s?=\s?[\"']", re.IGNORECASE, "an inline style", _CODE),
        (
            r"\b(?:raw|inline|embedded) html\b|\bhtml tags?\b",
            r"</?[a-z][a-z0-9]{0,10}(?:\s[^<>\n]{0,200})?>",
            re.IGNORECASE,
            "HTML: {0!r}",
            _PROSE,
        ),
    )
)
_USED = re.compile(
    r"\b(?:use|uses|used|using|contain\w*|includ\w+|add\w*|leave|write|writ\w+|allow\w*|have|has|in)\b"
    r"|\bno\b|\bnever\b|\bavoid\b|\bforbidden\b|\bprohibited\b",
    re.IGNORECASE,
)
_NARRATED = re.compile(r"\b(?:narrat\w+|outside (?:of )?(?:dialogue|quotes))\b", re.IGNORECASE)
_ABOUT_OTHERS = re.compile(r"\b(?:if|when|unless|except|more than|outside|only)\b", re.IGNORECASE)


def _shapes(text: str, modality: str) -> Iterator[Check]:
    plain = text.replace("bare except", "bare")
    if "NOT" not in modality or not _USED.search(text) or _ABOUT_OTHERS.search(plain):
        return
    narrated = _NARRATED.search(text) is not None
    for rule, shape, message, scope in _SHAPES:
        if rule.search(text):
            # Whoever is quoted speaks in the first person, whatever person the text is in.
            quoted = not narrated and "person" not in message
            yield Forbidden(shape, message, scope, mentions=True, quoted=quoted)


# --- lengths ----------------------------------------------------------------------------

_UNIT = r"(?P<of>characters?|chars?|columns?|words?|sentences?|lines?|paragraphs?)"
_AT_MOST = re.compile(
    r"\b(?:at most|no more than|not more than|no longer than|not be longer than|not exceed"
    r"|never exceed|exceed|up to|maximum(?: length)?(?: of| is|:)?|max(?:imum)?"
    r"|limited to|longer than"
    r"|more than|within|(?P<below>under|fewer than|less than|below|shorter than))\s+"
    rf"(?P<number>\d{{1,7}})\s*-?{_UNIT}\b",
    re.IGNORECASE,
)
_AT_LEAST = re.compile(
    rf"\b(?:at least|no fewer than|no less than|minimum(?: of)?"
    rf"|not fewer than)\s+(?P<number>\d{{1,7}})\s*-?{_UNIT}\b",
    re.IGNORECASE,
)
_WHAT: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("line", re.compile(r"\blines?\b(?! of)", re.IGNORECASE)),
    ("sentence", re.compile(r"\bsentences?\b", re.IGNORECASE)),
    ("paragraph", re.compile(r"\bparagraphs?\b", re.IGNORECASE)),
    ("title", re.compile(r"\b(?:titles?|headings?|headlines?)\b", re.IGNORECASE)),
    (
        "text",
        re.compile(
            r"\b(?:outputs?|responses?|answers?|texts?|documents?|files?|scenes?|chapters?|reply"
            r"|replies|reports?|it|posts?|drafts?|messages?|whole)\b",
            re.IGNORECASE,
        ),
    ),
)
_PART = re.compile(
    r"\b(?:summar(?:y|ies)|abstract|introduction|conclusion|description)\b", re.IGNORECASE
)
_IN_PART = re.compile(
    r"\s+(?:in|for|per|of) (?:the |an? |each |every )?([\w -]{1,40})", re.IGNORECASE
)
_OF = {"char": "characters", "column": "characters"}


def _lengths(text: str, modality: str) -> Iterator[Check]:
    negated = "NOT" in modality
    for match in _AT_MOST.finditer(text):
        phrase = match[0].lower()
        bounds_above = not phrase.startswith(("longer than", "more than", "exceed"))
        if negated == bounds_above and not re.match(r"not|never|no ", phrase):
            continue
        yield from _bound(text, match, most=int(match["number"]) - bool(match["below"]))
    for match in _AT_LEAST.finditer(text):
        if not negated:
            yield from _bound(text, match, least=int(match["number"]))


def _bound(text: str, match: re.Match[str], least: int = 0, most: int = 0) -> Iterator[Check]:
    of = match["of"].lower().rstrip("s")
    place = _IN_PART.match(text, match.end())
    subject = place[1] if place else text[: match.start()]
    unit = next((name for name, pattern in _WHAT if pattern.search(subject)), "")
    part = _PART.search(subject) if unit in {"", "text"} else None
    if part or (unit and unit != of):
        section = part[0].lower().removesuffix("ies").removesuffix("y") if part else ""
        yield Longest(unit or "text", _OF.get(of, f"{of}s"), least, most, section)


_ROWS: tuple[Callable[[str, str], Iterator[Check]], ...] = (_secrets, _https, _shapes, _lengths)


def known_checks(text: str, modality: str) -> Iterator[Check]:
    """The checks of what the rows recognise in a rule.

    Args:
        text: on one line.
        modality: of the rule, not "MAY".
    """
    for row in _ROWS:
        yield from row(text, modality)
