"""What models answered, one file per question, in the cache directory."""

from __future__ import annotations

from pathlib import Path

from ctxbuild.errors import StoreError
from ctxbuild.stores.atomic import write_if_changed


class FileAnswers:
    """Answers as files named by the question's key.

    Args:
        directory: made with the first answer; `models` in the cache directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, key: str) -> str | None:
        """The answer kept under a key, None if there is none or it cannot be read."""
        try:
            return (self._directory / key[:2] / f"{key}.txt").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def put(self, key: str, answer: str) -> None:
        """Keeps an answer; where the cache cannot be written it is asked for again next time."""
        try:
            write_if_changed(self._directory / key[:2] / f"{key}.txt", answer.encode())
        except StoreError:
            return
