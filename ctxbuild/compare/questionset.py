"""A set of questions with gold, read from JSONL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ctxbuild.errors import UsageError

_WHERE = "each line is {id, question, category, gold: [path or path::symbol, ...]}"


class Gold(NamedTuple):
    """What a good answer rests on: a file, a symbol of it, or lines of it."""

    path: str
    symbol: str = ""
    lines: tuple[int, int] | None = None

    def __str__(self) -> str:
        lines = f":{self.lines[0]}-{self.lines[1]}" if self.lines else ""
        return self.path + (f"::{self.symbol}" if self.symbol else lines)


class Question(NamedTuple):
    """One question of a set.

    Attributes:
        expect: texts that a right answer contains, in any case; () if nobody said.
    """

    id: str
    question: str
    category: str = ""
    gold: tuple[Gold, ...] = ()
    expect: tuple[str, ...] = ()


def read_questions(text: str, name: str) -> tuple[Question, ...]:
    """The questions of a JSONL file.

    Args:
        text: one JSON object a line; blank lines are passed over.
        name: of the file, for messages.

    Raises:
        UsageError: a line is no question, or an id comes twice.
    """
    found: dict[str, Question] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        question = _question(_object(line, where), where)
        if question.id in found:
            raise UsageError(f"{where}: the id {question.id!r} was there before", "make ids unique")
        found[question.id] = question
    if not found:
        raise UsageError(f"{name}: holds no question", _WHERE)
    return tuple(found.values())


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: is not JSON: {error}", _WHERE) from error
    if not isinstance(data, dict):
        raise UsageError(f"{where}: is no object", _WHERE)
    return data


def _question(data: Mapping[str, Any], where: str) -> Question:
    for key in ("id", "question"):
        if not isinstance(data.get(key), str) or not data[key].strip():
            raise UsageError(f"{where}: {key!r} must be a text that is not empty", _WHERE)
    gold = data.get("gold")
    if not isinstance(gold, list) or not gold:
        raise UsageError(f"{where}: 'gold' must be a list that is not empty", _WHERE)
    expect = data.get("expect", [])
    if not isinstance(expect, list) or not all(isinstance(each, str) for each in expect):
        raise UsageError(f"{where}: 'expect' must be a list of texts", _WHERE)
    category = data.get("category", "")
    items = tuple(dict.fromkeys(each for item in gold for each in _gold(item, where)))
    return Question(data["id"], data["question"], str(category), items, tuple(expect))


def _gold(item: Any, where: str) -> Iterator[Gold]:
    """A gold item: `path`, `path::symbol`, `path:10-20`, or an object with these parts."""
    if isinstance(item, str) and item:
        yield _written(item, where)
        return
    path = item.get("path", item.get("file")) if isinstance(item, dict) else None
    if not isinstance(path, str) or not path:
        raise UsageError(f"{where}: {item!r} in 'gold' names no path", _WHERE)
    symbols = item.get("symbols", [item["symbol"]] if item.get("symbol") else [])
    for symbol in symbols:
        # Some sets write `path:symbol`.
        yield Gold(path, str(symbol).removeprefix(f"{path}:").removeprefix(":"))
    if item.get("lines"):
        yield Gold(path, "", _lines(item["lines"], where))
    elif not symbols:
        yield Gold(path)


def _written(item: str, where: str) -> Gold:
    path, mark, symbol = item.partition("::")
    if mark:
        return Gold(path, symbol)
    path, mark, lines = item.rpartition(":")
    if mark and lines.replace("-", "").isdigit():
        first, _, last = lines.partition("-")
        return Gold(path, "", _lines([first, last or first], where))
    return Gold(item)


def _lines(given: Any, where: str) -> tuple[int, int]:
    try:
        first, last = (int(each) for each in given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: {given!r} are no first and last line", _WHERE) from error
    if not 1 <= first <= last:
        raise UsageError(f"{where}: {given!r} are no first and last line", _WHERE)
    return first, last
