"""The pack that a target prefers to look like, read from where it was written."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxbuild.source.ctxfile import Target

_PARTS = ("layer", "section", "path", "symbol", "form", "unit", "digest")


def previous(root: str, target: Target) -> bytes:
    """What of the pack at a target's `prefer` its layout depends on.

    Returns:
        A JSON list: the pack's digest, then a row per block (layer, section, path,
        symbol, form, unit, digest). b"" where the target prefers nothing or there is no
        such file; a JSON text that says why where it cannot be used.
    """
    import json

    if not target.prefer:
        return b""
    try:
        with open(os.path.join(root, target.prefer), "rb") as file:
            raw = json.loads(file.read())
        if raw["target"] != target.name:
            return json.dumps(f"is a pack of target {raw['target']!r}").encode()
        rows = [[block[part] or "" for part in _PARTS] for block in raw["blocks"]]
        return json.dumps([raw["digest"], *rows]).encode()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        what = error.strerror if isinstance(error, OSError) else "is not a pack"
        return json.dumps(str(what)).encode()
