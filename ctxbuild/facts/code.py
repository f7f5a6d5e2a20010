"""Bytes to facts: one parse, one query run, then pure steps over what was captured."""

from __future__ import annotations

import gc
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ctxbuild.facts.decode import LIMIT, PARSED, decode
from ctxbuild.model import Facts, Lines, Outline, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxbuild.facts.languages import Grammar

_SUMMARY = 120  # characters
_SENTENCE = re.compile(r"[.!?](?=\s|\Z)")
_MARKDOWN_HEADING = re.compile(r"#{1,6}[ \t]+")


def extract(data: bytes, language: str | None) -> Facts:
    """All facts of one file.

    Args:
        data: the file's bytes.
        language: what `language_of` said; None for text that is not parsed.

    Returns:
        The facts. Whatever the bytes are, nothing is raised; what is wrong with them is
        in `problems`. A file over `decode.PARSED` bytes is kept as text; of one over
        `decode.LIMIT` bytes nothing is kept but the outline's summary. In a file with
        syntax errors, what is well-formed around them is there; definitions whose own
        header is broken are left out with their members, so that every signature and
        the skeleton parse.
    """
    if len(data) > LIMIT:
        head, problems = decode(data[:4096].replace(b"\0", b""))
        problem = Problem("too-large", f"{len(data):,} bytes: over {LIMIT:,} nothing is read")
        outline = Outline(language or "", summary=_text_summary(head))
        total = data.count(b"\n") + (not data.endswith(b"\n"))
        return Facts(outline, lines=Lines(total=total), problems=(problem,))
    text, problems = decode(data)
    if language is not None and len(data) > PARSED:
        problem = Problem("too-large", f"{len(data):,} bytes: over {PARSED:,} kept as text")
        return _text_only(text, language, (*problems, problem))
    if language is not None:
        from ctxbuild.facts.languages import grammar

        loaded = grammar(language)
        if loaded is not None:
            with _without_collection():
                return _extract(text, loaded, problems)
    return _text_only(text, language or "", problems)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the garbage collector.

    A query run makes very many short-lived objects and no cycles; the collector
    would walk them again and again, which doubles the time of a large file.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _text_only(text: str, language: str, problems: tuple[Problem, ...]) -> Facts:
    outline = Outline(language, summary=_text_summary(text[:4096]))
    return Facts(outline, text=text, lines=Lines(total=_count_lines(text)), problems=problems)


def _extract(text: str, grammar: Grammar, problems: tuple[Problem, ...]) -> Facts:
    from ctxbuild.facts.bindings import Binder
    from ctxbuild.facts.capture import Captures, Source, first_error, parse
    from ctxbuild.facts.chains import find_chains
    from ctxbuild.facts.exports import find_exported
    from ctxbuild.facts.flows import find_flows
    from ctxbuild.facts.imports import find_imports
    from ctxbuild.facts.references import find_references
    from ctxbuild.facts.scopes import Scopes
    from ctxbuild.facts.skeleton import render_file
    from ctxbuild.facts.symbols import SymbolReader
    from ctxbuild.facts.values import Values

    source = Source(text)
    name = grammar.language.name
    tree, problem = parse(source, grammar)
    if tree is None:
        found = (problem,) if problem else ()
        return _text_only(text, name, problems + found)
    root = tree.root_node
    captures = Captures(root, grammar)
    scopes = Scopes(captures, source)
    chains = find_chains(captures, source, grammar.language)
    values = Values(source, chains, grammar)
    bound = Binder(captures, source, scopes, values, grammar).read()
    imports, dynamic = find_imports(captures, source, scopes, chains, bound.named, grammar.language)
    reader = SymbolReader(captures, source, scopes, chains, grammar)
    broken = first_error(root)
    entries = reader.read(bound, broken is not None)
    references, reference_lines = find_references(chains, bound, values.tested, scopes, source)
    definitions = tuple(entry.symbol for entry in entries)
    docstring = reader.module_docstring()
    if broken is not None:
        line = source.line(broken.start_byte)
        problems += (Problem("syntax", f"line {line}: does not parse"),)
    if scopes.too_deep:
        problems += (Problem("too-deep", "definitions nest too deeply: inner ones left out"),)
    return Facts(
        outline=Outline(
            name,
            tuple((symbol.name, symbol.kind) for symbol in definitions),
            find_exported(captures, source, chains, grammar.language, scopes),
            _docstring_summary(docstring),
            tuple(sorted(dynamic)),
        ),
        imports=tuple(item for _start, item in imports),
        definitions=definitions,
        flows=find_flows(values, bound, captures, scopes),
        references=references,
        bindings=tuple(binding for _start, binding in bound.bindings),
        bodies=tuple(entry.body for entry in entries),
        skeleton=render_file(docstring, definitions),
        text=text,
        lines=Lines(
            tuple(entry.span for entry in entries),
            tuple(source.line(start) for start, _item in imports),
            reference_lines,
            _count_lines(text),
        ),
        problems=problems,
    )


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") if text else 0)


def _docstring_summary(literal: str) -> str:
    """The first sentence of a docstring, on one line."""
    from ctxbuild.facts.skeleton import literal_content

    paragraph = literal_content(literal[:4096] if len(literal) < 4096 else literal).strip()
    paragraph = paragraph[:1024].partition("\n\n")[0]
    paragraph = " ".join(paragraph.replace("\\\n", " ").split())
    found = _SENTENCE.search(paragraph)
    return _clipped(paragraph[: found.end()] if found else paragraph)


def _text_summary(text: str) -> str:
    """The first Markdown heading or else the first line that is not empty."""
    first = ""
    for line in text.split("\n"):
        stripped = " ".join(line.split())
        if not stripped:
            continue
        heading = _MARKDOWN_HEADING.match(stripped)
        if heading:
            return _clipped(stripped[heading.end() :].rstrip("# ") or stripped)
        first = first or stripped
    return _clipped(first)


def _clipped(text: str) -> str:
    return text if len(text) <= _SUMMARY else text[: _SUMMARY - 3].rstrip() + "..."
