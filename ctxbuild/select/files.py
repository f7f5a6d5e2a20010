"""`files` layers: the files that patterns name, each stepping down a form where it must."""

from __future__ import annotations

from typing import Protocol

from ctxbuild.errors import EntryError
from ctxbuild.model import Candidate, FormName, Outline, Reason, Rung

FORMS: tuple[FormName, ...] = ("name", "summary", "skeleton", "full")
_WORTH = {"name": 1.0, "summary": 2.0, "skeleton": 6.0, "full": 10.0}


class Globs(Protocol):
    """What matches a pattern."""

    def matching(self, pattern: str) -> tuple[str, ...]:
        """The selected files that a pattern matches, sorted."""


class Files(Globs, Protocol):
    """What this layer asks."""

    def outline(self, path: str) -> Outline:
        """The names of a file in source order."""


def matched(files: Globs, patterns: tuple[str, ...], what: str) -> dict[str, str]:
    """Path to the first pattern that names it; a pattern with `!` takes paths away again.

    Raises:
        EntryError: a pattern matches no selected file.
    """
    found: dict[str, str] = {}
    for pattern in patterns:
        if pattern.startswith("!"):
            for path in files.matching(pattern[1:]):
                found.pop(path, None)
            continue
        paths = files.matching(pattern)
        if not paths:
            raise EntryError(
                f"{what}: {pattern!r} matches no file",
                "correct the pattern, or see `ctxbuild doctor` for what is left out and why",
            )
        for path in paths:
            found.setdefault(path, pattern)
    return found


def candidates(
    files: Files,
    layer: str,
    patterns: tuple[str, ...],
    form: FormName | None = None,
    *,
    pinned: bool = False,
) -> list[Candidate]:
    """One candidate per matched file.

    Args:
        form: the best form a file may have; None for the full text.
        pinned: the files may neither be trimmed nor dropped.

    Raises:
        EntryError: a pattern matches no selected file.
    """
    best = form or "full"
    return [
        Candidate(
            unit=path,
            path=path,
            symbol="",
            layer=layer,
            section="",
            order=0,
            ladder=ladder(best, parsed=bool(files.outline(path).language)),
            score=1.0,
            reasons=(Reason("listed", detail=pattern),),
            pinned=pinned,
        )
        for path, pattern in sorted(matched(files, patterns, f"layer {layer!r}").items())
    ]


def ladder(best: FormName, *, parsed: bool, phase: int = 0) -> tuple[Rung, ...]:
    """The rungs of a whole file up to a form; text that is not parsed has no skeleton."""
    forms = FORMS[: FORMS.index(best) + 1] if best in FORMS else FORMS
    return tuple(
        Rung(form, phase=phase, worth=_WORTH[form])
        for form in forms
        if parsed or form != "skeleton" or best == "skeleton"
    )
