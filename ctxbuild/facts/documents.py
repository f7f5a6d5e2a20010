"""One document's bytes become its facts: pure, deterministic, and never an exception."""

from __future__ import annotations

from ctxbuild.facts.decode import LIMIT, PARSED, decode
from ctxbuild.facts.document import Document
from ctxbuild.facts.pieces import Parsed
from ctxbuild.facts.sections import assemble
from ctxbuild.model import Problem

FORMATS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".mkd": "markdown",
    ".mdx": "mdx",
    ".rst": "rst",
    ".rest": "rst",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".asc": "asciidoc",
}
"""Ending of a file's name to the format of the document; what is not listed is plain text."""


def format_of(path: str) -> str:
    """The format of a document by the ending of its name."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return FORMATS.get(name[dot:].lower(), "text") if dot >= 0 else "text"


def read(path: str, data: bytes) -> Document:
    """All facts of one document.

    Args:
        path: its path; only the ending of the name counts.
        data: its bytes. Over `decode.PARSED` bytes it is read by outline only, over
            `decode.LIMIT` not at all.
    """
    return extract(format_of(path), data)


def extract(form: str, data: bytes) -> Document:
    """`read`, where the format is known."""
    shown = "markdown" if form == "mdx" else form
    if len(data) > LIMIT:
        problem = Problem("too-large", f"{len(data):,} bytes: over {LIMIT:,} nothing is read")
        return Document(shown, problems=(problem,))
    text, problems = decode(data)
    if len(data) > PARSED:
        problem = Problem("too-large", f"{len(data):,} bytes: over {PARSED:,} read by outline")
        problems, form = (*problems, problem), "text"
    try:
        parsed = _parse(form, text)
    except Exception as error:  # noqa: BLE001 - whatever a parser's fault, the build goes on
        problem = Problem("syntax", f"{shown}: {type(error).__name__}: read by outline")
        problems = (*problems, problem)
        parsed = None
    else:
        if parsed is None:
            problem = Problem("too-large", f"{shown}: too much markup: read by outline")
            problems = (*problems, problem)
    if parsed is None:
        from ctxbuild.facts import asciidoc

        parsed = asciidoc.parse(text, plain=True)
    parsed.problems[:0] = problems
    parsed.format = shown
    return assemble(parsed, text)


def _parse(form: str, text: str) -> Parsed | None:
    """What the format's parser says, None if it would take too long."""
    match form:
        case "markdown" | "mdx":
            from ctxbuild.facts import markdown

            return markdown.parse(text, mdx=form == "mdx")
        case "rst":
            from ctxbuild.facts import rst

            return rst.parse(text)
        case "html":
            from ctxbuild.facts import html

            return html.parse(text)
        case _:
            from ctxbuild.facts import asciidoc

            return asciidoc.parse(text, plain=form != "asciidoc")
