"""Checks the tables of a ctxfile against the table of keys, and names the line of a mistake."""

from __future__ import annotations

from typing import Any

from ctxbuild.errors import CtxfileError
from ctxbuild.source.schema import LAYER, MAX_TOKENS, NAME_PATTERN, TARGET, Key

Path = tuple[str | int, ...]

NAME_HINT = "use letters, digits, '_', '-' and '.'"


def suggestion(word: str, words: list[str]) -> str:
    """`, did you mean 'x'?` for a word that is nearly one of `words`, else ""."""
    import difflib

    close = difflib.get_close_matches(word, words, 1)
    return f", did you mean {close[0]!r}?" if close else ""


def is_name(text: str) -> bool:
    """Whether it can be the name of a target or layer."""
    import re

    return re.search(NAME_PATTERN, text) is not None and not text.endswith("\n")


class Checker:
    """Checks values; knows the file only to name lines.

    Args:
        text: the whole ctxfile.
        name: the file, as messages name it.
    """

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name

    def fail(self, path: Path, message: str, hint: str = "") -> CtxfileError:
        """An error at the line of `path`, or of what holds it."""
        from ctxbuild.source import locate

        lines = locate.lines(self._text.removeprefix("\ufeff"))
        while path and path not in lines:
            path = path[:-1]
        return CtxfileError(f"{self._name}:{lines.get(path, 1)}: {message}", hint)

    def keys(
        self,
        raw: dict[str, Any],
        keys: tuple[Key, ...],
        path: Path,
        where: str,
    ) -> None:
        """Refuse keys that the table does not know.

        Raises:
            CtxfileError: with a suggestion, or where the key belongs.
        """
        known = [key.name for key in keys]
        for name in raw:
            if name in known:
                continue
            if keys is TARGET and name in {key.name for key in LAYER}:
                message = f"key {name!r} belongs to a layer, not to {where}"
                raise self.fail((*path, name), message, "write the layer as a table of its own")
            near = suggestion(name, known)
            hint = "" if near else "known keys: " + ", ".join(known)
            raise self.fail((*path, name), f"unknown key {name!r} in {where}{near}", hint)

    def values(
        self,
        raw: dict[str, Any],
        keys: tuple[Key, ...],
        path: Path,
        where: str,
    ) -> dict[str, Any]:
        """The values of all keys, checked, defaults filled in."""
        self.keys(raw, keys, path, where)
        found = {}
        for key in keys:
            if key.name in raw:
                found[key.name] = self._value(key, raw[key.name], (*path, key.name), where)
            else:
                found[key.name] = key.default
        return found

    def _value(self, key: Key, value: Any, path: Path, where: str) -> Any:
        what = f"key {key.name!r} in {where}"
        if key.kind in {"tokens", "count"}:
            return self._number(key, value, path, what)
        if key.kind == "share":
            if type(value) not in {int, float} or not 0 <= value <= 1:
                raise self.fail(path, f"{what} must be a number from 0 to 1, not {shown(value)}")
            return float(value)
        if key.kind == "flag":
            if not isinstance(value, bool):
                raise self.fail(path, f"{what} must be true or false, not {shown(value)}")
            return value
        if key.kind in {"texts", "choices"}:
            return self._texts(key, value, path, what)
        if key.kind in {"rules", "layers"}:
            return self._list(key, value, path, what)
        return self._words(key, value, path, what)

    def _list(self, key: Key, value: Any, path: Path, what: str) -> Any:
        if key.kind == "rules":
            if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
                raise self.fail(path, f"{what} must be a list of tables", f"write [[…{key.name}]]")
            return tuple(value)
        if not isinstance(value, list) or not value:
            raise self.fail(path, f"{what} must be a list of at least one table")
        return value

    def _words(self, key: Key, value: Any, path: Path, what: str) -> str:
        if not isinstance(value, str) or not value or "\0" in value:
            raise self.fail(path, f"{what} must be a text that is not empty, not {shown(value)}")
        if key.kind == "choice" and value not in key.choices:
            raise self._no_choice(key, value, path, what)
        if key.name == "name" and not is_name(value):
            raise self.fail(path, f"{what} cannot be {value!r}", NAME_HINT)
        return value

    def _number(self, key: Key, value: Any, path: Path, what: str) -> int:
        unit = " of tokens" if key.kind == "tokens" else ""
        if type(value) is not int:
            raise self.fail(path, f"{what} must be a whole number{unit}, not {shown(value)}")
        if not key.least <= value <= MAX_TOKENS:
            bound = f"at least {key.least}" if value < key.least else f"at most {MAX_TOKENS}"
            raise self.fail(path, f"{what} must be {bound}, not {value}")
        return value

    def _texts(self, key: Key, value: Any, path: Path, what: str) -> tuple[str, ...]:
        texts = [value] if isinstance(value, str) and key.single else value
        if not isinstance(texts, list):
            raise self.fail(path, f"{what} must be a list of texts, not {shown(value)}")
        if not texts and key.default != ():
            raise self.fail(path, f"{what} is empty", "list at least one")
        for index, text in enumerate(texts):
            if not isinstance(text, str) or not text or "\0" in text:
                message = f"{what} must hold texts that are not empty, not {shown(text)}"
                raise self.fail((*path, index), message)
            if key.kind == "choices" and text not in key.choices:
                raise self._no_choice(key, text, (*path, index), what)
        if key.kind == "choices" and len(set(texts)) < len(texts):
            raise self.fail(path, f"{what} names one twice")
        return tuple(texts)

    def _no_choice(self, key: Key, value: str, path: Path, what: str) -> CtxfileError:
        near = suggestion(value, list(key.choices))
        hint = "" if near else "one of " + ", ".join(key.choices)
        return self.fail(path, f"{what} cannot be {value!r}{near}", hint)

    def pattern(self, pattern: str, path: Path, key: str) -> None:
        """A pattern stays below the root."""
        drive = len(pattern) > 2 and pattern[1] == ":" and pattern[2] in "\\/"
        if pattern.startswith("/") or drive:
            message = f"{pattern!r} in {key!r} is absolute"
            raise self.fail(path, message, "write it relative to the ctxfile")
        if ".." in pattern.replace("\\", "/").split("/"):
            message = f"{pattern!r} in {key!r} leads out of the ctxfile's directory"
            raise self.fail(path, message, "move the ctxfile up")
        if not pattern:
            raise self.fail(path, f"an empty pattern in {key!r}")


def shown(value: Any) -> str:
    """A value as TOML would show it, shortened."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
