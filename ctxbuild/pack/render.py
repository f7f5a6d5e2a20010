"""Blocks to what a model reads: Markdown (lean or full headers) and XML, unbreakable by contents.

Overhead is paid per block, so neighbours of one file share a header, and what is
one line each shares one list. No number, total, digest or score stands in a lean
text: nothing in it shifts when something unrelated changes.

Every piece begins with a character after a line feed at which the encodings
split, so that the tokens of pieces add up to the tokens of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from ctxbuild.model import Block
from ctxbuild.source.paths import shown

LINE_FORMS = frozenset({"summary", "name"})
"""Forms that are one line each and stand in a list."""

PACKET_TITLES = {
    "voice": "Voice, point of view and tone",
    "watch": "Watch-outs",
    "reveals": "Not to be revealed yet",
    "who": "Who is who",
    "knows": "Who knows what",
    "timeline": "Timeline",
    "promises": "Promises",
    "do-not": "Do not",
    "access": "Auth and security",
    "endpoints": "Endpoints",
    "errors": "Errors and limits",
    "constraints": "Constraints",
    "facts": "Facts",
    "procedures": "Procedures",
    "definitions": "Definitions",
    "examples": "Examples",
    "formatting": "Formatting",
    "provenance": "Provenance",
}
"""Sections of a packet, in their order; the entries of a source stand under its short id."""

SESSION_TITLES = {
    "task": "Task",
    "findings": "Findings",
    "notes": "Notes",
    "note": "Session so far",
    "turns": "Turns",
    "restated": "Task, once more",
}
"""Sections of a session and of its memory, in their order."""

SECTIONS_AS_PROSE: frozenset[str] = frozenset({*PACKET_TITLES, *SESSION_TITLES})
"""Sections whose blocks stand below one another without a fence; their texts bring their own."""

_LIST_TITLES = {
    "": "Files",
    "indirect": "Indirect dependencies",
    "names": "Also in dependencies",
    "open": "Open",
    "hunks": "Changes left out",
    "changes": "Changed files",
    "history": "History",
    "neighbours": "Beside the changes",
}
_PART_TITLES = {
    "hydrated": "In work",
    "hunks": "Changes",
    "used": "Used definitions",
    "dependents": "Dependents",
    "tests": "Tests",
    "candidates": "Candidates",
    "found": "Found",
    "entry": "Focus",
    **PACKET_TITLES,
    **SESSION_TITLES,
}
_COMMENT = {"python": "#", "diff": "#"}


def title(target: str) -> str:
    """The first line of a pack."""
    return f"# {target}\n"


def list_header(section: str) -> str:
    """What stands above a list of one-liners."""
    return f"\n## {_LIST_TITLES.get(section, section)}\n\n"


def parts_header(section: str) -> str:
    """What stands above parts of files: one fence holds those of a whole section."""
    return f"\n## {_PART_TITLES.get(section, section)}\n\n"


def source_header(section: str, source: str) -> str:
    """What stands above the entries of one source in a section of a packet, "" if nothing does."""
    return f"### {shown(source)}\n" if section in PACKET_TITLES else ""


def path_line(path: str, language: str) -> str:
    """What stands above the parts of one file, inside the fence."""
    return f"{comment(language)} {shown(path)}\n"


def comment(language: str) -> str:
    """What begins a comment."""
    return _COMMENT.get(language, "//")


def file_header(path: str, form: str) -> str:
    """What stands above a whole file."""
    return f"\n## {shown(path)}\n\n" if form == "full" else f"\n## {shown(path)} ({form})\n\n"


def fence_for(text: str) -> str:
    """A fence longer than any run of backticks in the text."""
    if "```" not in text:
        return "```"
    longest = max(len(run) for run in re.findall(r"`{3,}", text))
    return "`" * (longest + 1)


def wrap(language: str, text: str) -> tuple[str, str]:
    """The lines before and after a fenced text."""
    fence = fence_for(text)
    return f"{fence}{language}\n", f"{fence}\n"


def groups(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Runs of blocks that share a header, in order."""
    for _, run in groupby(blocks, key=group_key):
        yield list(run)


def group_key(block: Block) -> tuple[str, str, str, str]:
    """Blocks with equal keys stand under one header: layer, section, path or language, kind."""
    if block.form in LINE_FORMS:
        return (block.layer, block.section, "", "list")
    if block.section in SECTIONS_AS_PROSE:
        return (block.layer, block.section, "", "prose")
    if block.symbol:
        return (block.layer, block.section, block.language, "parts")
    return (block.layer, block.section, block.path, block.form)


def rendering(form: str, target: str, blocks: Sequence[Block], headers: str = "lean") -> str:
    """The pack in a format: "md", "xml" or "json"."""
    if form == "xml":
        return xml(target, blocks)
    if form == "json":
        return json_text(target, blocks)
    return markdown(target, blocks, headers)


def markdown(target: str, blocks: Sequence[Block], headers: str = "lean") -> str:
    """The pack as Markdown.

    Args:
        target: its name, the title.
        blocks: in layout order.
        headers: "lean", or "full" for a header per block with number, path,
            symbol, lines, method and score.
    """
    return title(target) + body(blocks, headers)


def body(blocks: Sequence[Block], headers: str = "lean", first: int = 1) -> str:
    """Blocks below the title, or some of them that share no header with others.

    Args:
        blocks: in layout order.
        headers: as for `markdown`.
        first: number of the first block, where headers have one.
    """
    if headers == "full":
        return "".join(_full(number, block) for number, block in enumerate(blocks, first))
    return "".join(_group(run) for run in groups(blocks))


def _group(run: list[Block]) -> str:
    _, section, _, kind = group_key(run[0])
    if kind == "list":
        return list_header(section) + "".join(block.text for block in run)
    if kind == "prose":
        return parts_header(section) + "".join(_prose(run))
    if kind == "parts":
        header = parts_header(section)
        text = "".join(_parts(run))
    else:
        header = file_header(run[0].path, kind)
        text = run[0].text
    before, after = wrap(run[0].language, text)
    return header + before + text + after


def _prose(run: list[Block]) -> Iterator[str]:
    source = ("", "")
    for block in run:
        if source != (block.path, block.symbol):
            source = (block.path, block.symbol)
            yield source_header(block.section, block.symbol)
        yield block.text


def _parts(run: list[Block]) -> Iterator[str]:
    path = None
    for block in run:
        if block.path != path:
            path = block.path
            yield path_line(path, block.language)
        yield block.text


def _full(number: int, block: Block) -> str:
    name = f" :: {block.symbol}" if block.symbol else ""
    method = block.reasons[0].kind if block.reasons else block.form
    lines = f" (lines {block.lines[0]}-{block.lines[1]})" if block.lines else ""
    rest = f"[{method}, score: {block.score:.4f}]"
    head = f"\n## {number}. {shown(block.path)}{name}{lines} {rest}\n\n"
    if block.section in SECTIONS_AS_PROSE:
        return head + block.text
    before, after = wrap(block.language, block.text)
    return head + before + block.text + after


_Table = dict[str, str | int | None]
_XML: _Table = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_XML_ATTRIBUTE: _Table = {**_XML, '"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
# XML 1.0 has no way to write these characters, escaped or not.
_NOT_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def _escape(text: str, table: _Table) -> str:
    return re.sub(_NOT_XML, "\N{REPLACEMENT CHARACTER}", text).translate(str.maketrans(table))


def xml(target: str, blocks: Sequence[Block]) -> str:
    """The pack as XML: `<pack>` of `<file path form>`, `<list>` of one-liners and `<text>`."""
    return "".join(_xml_lines(target, blocks))


def _by_source(run: Sequence[Block]) -> Iterator[tuple[str, str]]:
    """Short id of a source and what a section of a packet has of it."""
    for (_, source), same in groupby(run, key=lambda block: (block.path, block.symbol)):
        yield source, "".join(block.text for block in same)


_TAGS = {"list": "list", "prose": "text"}


def _xml_lines(target: str, blocks: Sequence[Block]) -> Iterator[str]:
    yield f'<pack target="{_escape(target, _XML_ATTRIBUTE)}">\n'
    for run in groups(blocks):
        kind = group_key(run[0])[3]
        if run[0].section in PACKET_TITLES:
            yield f'<packet section="{run[0].section}">\n'
            for source, text in _by_source(run):
                name = _escape(source, _XML_ATTRIBUTE)
                yield f'<source id="{name}">\n{_escape(text, _XML)}</source>\n'
            yield "</packet>\n"
            continue
        if kind in _TAGS:
            text = _escape("".join(block.text for block in run), _XML)
            yield f'<{_TAGS[kind]} section="{run[0].section}">\n{text}</{_TAGS[kind]}>\n'
            continue
        for path, parts in groupby(run, key=lambda block: block.path):
            each = list(parts)
            text = _escape("".join(block.text for block in each), _XML)
            form = "parts" if each[0].symbol else each[0].form
            yield f'<file path="{_escape(path, _XML_ATTRIBUTE)}" form="{form}">\n{text}</file>\n'
    yield "</pack>\n"


def json_text(target: str, blocks: Sequence[Block]) -> str:
    """The pack as JSON for a model: parts in order, each with its path, form and text."""
    import orjson

    parts: list[dict[str, str]] = []
    for run in groups(blocks):
        kind = group_key(run[0])[3]
        if run[0].section in PACKET_TITLES:
            parts += [
                {"section": run[0].section, "source": source, "text": text}
                for source, text in _by_source(run)
            ]
            continue
        if kind in {"list", "prose"}:
            name = "list" if kind == "list" else "section"
            parts.append({name: run[0].section, "text": "".join(b.text for b in run)})
            continue
        for path, same in groupby(run, key=lambda block: block.path):
            each = list(same)
            form = "parts" if each[0].symbol else each[0].form
            parts.append({"path": path, "form": form, "text": "".join(b.text for b in each)})
    data = {"target": target, "parts": parts}
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
