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

_LIST_TITLES = {
    "": "Files",
    "indirect": "Indirect dependencies",
    "names": "Also in dependencies",
    "open": "Open",
}
_PART_TITLES = {
    "used": "Used definitions",
    "dependents": "Dependents",
    "tests": "Tests",
    "candidates": "Candidates",
    "entry": "Focus",
}
_COMMENT = {"python": "#"}


def title(target: str) -> str:
    """The first line of a pack."""
    return f"# {target}\n"


def list_header(section: str) -> str:
    """What stands above a list of one-liners."""
    return f"\n## {_LIST_TITLES.get(section, section)}\n\n"


def parts_header(section: str) -> str:
    """What stands above parts of files: one fence holds those of a whole section."""
    return f"\n## {_PART_TITLES.get(section, section)}\n\n"


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
    if kind == "parts":
        header = parts_header(section)
        text = "".join(_parts(run))
    else:
        header = file_header(run[0].path, kind)
        text = run[0].text
    before, after = wrap(run[0].language, text)
    return header + before + text + after


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
    head = f"\n## {number}. {shown(block.path)}{name} [{method}, score: {block.score:.4f}]\n\n"
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
    """The pack as XML: `<pack>` of `<file path form>`, and `<list>` for one-liners."""
    return "".join(_xml_lines(target, blocks))


def _xml_lines(target: str, blocks: Sequence[Block]) -> Iterator[str]:
    yield f'<pack target="{_escape(target, _XML_ATTRIBUTE)}">\n'
    for run in groups(blocks):
        if group_key(run[0])[3] == "list":
            text = _escape("".join(block.text for block in run), _XML)
            yield f'<list section="{run[0].section}">\n{text}</list>\n'
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
        if group_key(run[0])[3] == "list":
            parts.append({"list": run[0].section, "text": "".join(b.text for b in run)})
            continue
        for path, same in groupby(run, key=lambda block: block.path):
            each = list(same)
            form = "parts" if each[0].symbol else each[0].form
            parts.append({"path": path, "form": form, "text": "".join(b.text for b in each)})
    data = {"target": target, "parts": parts}
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
