"""On which line a key of a TOML text stands; imported only when an error names one.

The text has already been parsed, so that this reader may assume valid TOML and
only has to find where keys and values begin and end.
"""

from __future__ import annotations

Path = tuple[str | int, ...]

_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def lines(text: str) -> dict[Path, int]:
    """The line, from 1, of every table, key and array item, by its path.

    Items of arrays, arrays of tables included, count from 0 in a path.
    """
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found: dict[Path, int] = {}
        self._arrays: dict[Path, int] = {}  # arrays of tables: how many tables so far

    def read(self) -> dict[Path, int]:
        base: Path = ()
        while True:
            self._skip("\n")
            if self._at >= len(self._text):
                return self._found
            if self._text.startswith("[[", self._at):
                base = self._header(2)
            elif self._peek() == "[":
                base = self._header(1)
            else:
                self._pair(base)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, newline: str = "") -> None:
        """Skip blanks and comments, and line ends if asked to."""
        while True:
            char = self._peek()
            if char == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif char and char in " \t\r" + newline:
                self._at += 1
            else:
                return

    def _note(self, path: Path, start: int) -> None:
        self._found.setdefault(path, self._text.count("\n", 0, start) + 1)

    def _header(self, brackets: int) -> Path:
        start = self._at
        self._at += brackets
        keys = self._keys()
        self._at += brackets
        path: Path = ()
        for position, key in enumerate(keys):
            path = (*path, key)
            last = position == len(keys) - 1
            if last and brackets == 2:
                self._note(path, start)
                self._arrays[path] = self._arrays.get(path, 0) + 1
            if path in self._arrays:
                path = (*path, self._arrays[path] - 1)
            self._note(path, start)
        return path

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip()
            keys.append(self._key())
            self._skip()
            if self._peek() != ".":
                return keys
            self._at += 1

    def _key(self) -> str:
        start = self._at
        if self._peek() in {'"', "'"}:
            self._string()
            return _unquote(self._text[start : self._at])
        while self._peek() in _BARE and self._at < len(self._text):
            self._at += 1
        if self._at == start:
            self._at += 1  # not TOML: go on rather than stand still
        return self._text[start : self._at]

    def _pair(self, base: Path) -> None:
        start = self._at
        path = base
        for key in self._keys():
            path = (*path, key)
            self._note(path, start)
        self._at += 1  # the equals sign
        self._skip()
        self._value(path)

    def _value(self, path: Path) -> None:
        char = self._peek()
        if char in {'"', "'"} and char:
            self._string()
        elif char == "[":
            self._array(path)
        elif char == "{":
            self._inline(path)
        else:
            self._at += char == "}"  # not TOML: go on rather than stand still
            while self._at < len(self._text) and self._peek() not in ",]}\n#":
                self._at += 1

    def _string(self) -> None:
        quote = self._peek()
        if self._text.startswith(quote * 3, self._at):
            self._at = self._end(quote * 3, self._at + 3)
            while self._peek() == quote:  # quotes just before the closing ones
                self._at += 1
        else:
            self._at = self._end(quote, self._at + 1)

    def _end(self, closing: str, at: int) -> int:
        while at < len(self._text) and not self._text.startswith(closing, at):
            at += 2 if self._text[at] == "\\" and closing[0] == '"' else 1
        return at + len(closing)

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        while True:
            self._skip("\n,")
            if self._peek() in {"]", ""}:
                self._at += 1
                return
            self._note((*path, index), self._at)
            self._value((*path, index))
            index += 1

    def _inline(self, path: Path) -> None:
        self._at += 1
        while True:
            self._skip("\n,")
            if self._peek() in {"}", ""}:
                self._at += 1
                return
            self._pair(path)


def _unquote(text: str) -> str:
    """The value of a quoted key."""
    import tomllib

    try:
        return str(next(iter(tomllib.loads(f"{text} = 0"))))
    except tomllib.TOMLDecodeError:
        return text[1:-1]
