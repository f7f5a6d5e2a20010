"""A bug of ours becomes a log that can be pasted into a report."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback


def report(error: BaseException) -> str:
    """Writes the log of an unexpected exception.

    Returns:
        Path of the log.
    """
    from ctxbuild import __version__

    lines = [
        f"ctxbuild {__version__}, Python {platform.python_version()}, {platform.platform()}\n",
        f"command: {sys.argv!r}\n",
        *traceback.format_exception(error),
    ]
    with tempfile.NamedTemporaryFile(
        "w", prefix="ctxbuild-", suffix=".log", delete=False, encoding="utf-8", errors="replace"
    ) as log:
        log.writelines(lines)
    return log.name
