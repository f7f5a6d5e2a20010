"""Every error that ctxbuild raises on purpose, as one tree.

CtxbuildError                     base: a message (what, where) and a hint (what to do)
├── UsageError                    the request is wrong: exit code 2
│   ├── CtxfileError              the ctxfile is wrong, with its line
│   ├── UnknownTarget             no target of that name
│   └── EntryError                an entry or file pattern matches nothing
├── BudgetError                   what is pinned does not fit
├── SourceError                   a source cannot be read as it must be
│   └── SourceChanged             it changed while it was being read: scan again
├── RevisionError                 a revision, or what belongs to it, is not in the repository
├── StoreError                    the cache cannot be used, or an output cannot be written
├── ModelError                    a model cannot be asked, or its answer cannot be used
└── CheckFailed                   a check said no: exit code 1
"""

from __future__ import annotations


class CtxbuildError(Exception):
    """An expected failure.

    Args:
        message: one line that says what is wrong and where.
        hint: one line that says what to do about it, or "".
    """

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}: {self.hint}" if self.hint else self.message


class UsageError(CtxbuildError):
    """The command line or the call is wrong."""


class CtxfileError(UsageError):
    """The ctxfile is wrong; the message begins with `file:line:`."""


class UnknownTarget(UsageError):
    """The ctxfile has no target of that name."""


class EntryError(UsageError):
    """A path, glob or `path::symbol` of a layer matches nothing."""


class BudgetError(CtxbuildError):
    """What is pinned needs more tokens than the budget allows."""


class SourceError(CtxbuildError):
    """A source file, directory or revision cannot be read."""


class SourceChanged(SourceError):
    """A file no longer is what the snapshot says: the caller scans again.

    Args:
        path: the file, relative to the root.
    """

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: changed while it was being read", "build again")
        self.path = path


class RevisionError(CtxbuildError):
    """A revision, or an object that belongs to it, is not in the repository."""


class StoreError(CtxbuildError):
    """The cache or an output cannot be written or read."""


class ModelError(CtxbuildError):
    """A model's endpoint is missing, cannot be reached, refuses, or answers in no usable form."""


class CheckFailed(CtxbuildError):
    """A check that the user asked for said no."""

    exit_code = 1
