"""`python -m ctxbuild` is the `ctxbuild` command."""

import os
import sys

# `-m` puts the current directory first on the path. It is somebody's repository: its
# `typing.py` or `django/` must not be taken for a library of ours.
_HERE = os.getcwd()
if sys.path[:1] in ([""], [_HERE]) and os.path.dirname(os.path.dirname(__file__)) != _HERE:
    del sys.path[0]

from ctxbuild.cli.main import entry  # noqa: E402  # after the path is right

if __name__ == "__main__":
    entry()
