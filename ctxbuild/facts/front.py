"""Front matter: the flat keys of a YAML or TOML head, without a YAML library.

A YAML parser is a dependency with features (anchors, tags) that only a hostile head
uses; what navigation needs are plain values and lists of them. Anything deeper is
left out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any, NamedTuple

_KEY = re.compile(r"([A-Za-z_][\w .-]{0,60}?)\s{0,9}:(?:\s+(.*))?\Z")
_ITEM = re.compile(r"\s{0,20}-(?:\s+(.*))?\Z")
_LONGEST = 2000  # lines of a head; a rule at the top of a long document begins none


class Front(NamedTuple):
    """The head of a document.

    Attributes:
        values: key in small letters to its values.
        after: the first line, from 0, that no longer belongs to it.
    """

    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    after: int = 0


def read(rows: Sequence[str]) -> Front:
    """The front matter at the top of a document; an empty one if there is none."""
    if not rows or rows[0].rstrip() not in ("---", "+++"):
        return Front()
    mark = rows[0].rstrip()
    for at in range(1, min(len(rows), _LONGEST)):
        row = rows[at].rstrip()
        if row == mark or (mark == "---" and (row == "..." or row.startswith("--- "))):
            body = rows[1:at]
            # `--- abstract` ends the head of an RFC and begins its first part.
            after = at if row.startswith("--- ") else at + 1
            if mark == "+++":
                return Front(_toml(body), after)
            values = _yaml(body)
            # Between two rules without a key stands text.
            return Front(values, after) if values or not "".join(body).strip() else Front()
    return Front()


def _toml(rows: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    try:
        table = tomllib.loads("\n".join(rows))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return ()
    return tuple((key.lower(), found) for key, value in table.items() if (found := _texts(value)))


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(text for each in value if not isinstance(each, list) for text in _texts(each))
    if isinstance(value, dict):
        return ()
    return (str(value).lower() if isinstance(value, bool) else str(value),)


def _yaml(rows: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    key = ""
    for row in rows:
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        if row[0] not in " -\t":
            matched = _KEY.match(row)
            key = matched[1].lower() if matched else ""
            if matched:
                found[key] = _values((matched[2] or "").strip())
            continue
        item = _ITEM.match(row)
        if key and item and item[1] and not _KEY.match(item[1]):
            found[key].append(_plain(item[1].strip()))
        elif key and not item and found[key] and found[key][0] in ("|", ">", "|-", ">-"):
            found[key].append(row.strip())
    return tuple((key, _folded(values)) for key, values in found.items() if values)


def _folded(values: list[str]) -> tuple[str, ...]:
    """A text over several lines as one value."""
    if values[0] in ("|", ">", "|-", ">-"):
        return (" ".join(values[1:]),)
    return tuple(values)


def _values(text: str) -> list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [plain for each in text[1:-1].split(",") if (plain := _plain(each.strip()))]
    if text.startswith("{"):
        return []
    return [_plain(text)] if text else []


def _plain(text: str) -> str:
    """A scalar without its quotes or the comment behind it."""
    if text[:1] in "\"'" and text[:1]:
        end = text.find(text[0], 1)
        return text[1:end] if end > 0 else text
    return re.split(r"\s#", text, maxsplit=1)[0].strip()
