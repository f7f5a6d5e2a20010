"""Documents against gold: no sentence that binds is lost, and statements find their sections.

    python -m benchmarks documents rfc9000.md rfc9114.md … HTTP3Error.hs TransportError.hs

Documents are Markdown as the IETF's authors write it. A file with another ending holds
statements as h3spec has them: `"MUST send X if Y [Transport 4.1]"` names a document by
a word of its title and a section by its number.

Of each document the sentences with a keyword in capitals are counted twice: as items,
and by a reading of the raw lines that shares no code with the parser. Each statement is
the task of a `docs` layer over all documents; what counts is the place of its section
among those that the loop keeps, whether the packet shows it, and the packet's tokens.
Beside it stand whole sections ranked by BM25.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import ctxbuild
from benchmarks import bm25
from benchmarks.table import Row, render, write_json
from ctxbuild.facts.document import Document
from ctxbuild.facts.documents import read
from ctxbuild.pack.tokens import counter
from ctxbuild.serve.session import Session

BUDGETS = (1_000, 2_000)
TOKENIZER = "o200k_base"

_KEYWORD = re.compile(
    r"\b(MUST NOT|MUST|SHALL NOT|SHALL|SHOULD NOT|SHOULD|REQUIRED|NOT RECOMMENDED|RECOMMENDED"
    r"|MAY|OPTIONAL)\b"
)
_FENCE = re.compile(r"\s*(~{3,}|`{3,})")
_ITEM = re.compile(r"(?:[*+:-]|\d+\.)\s+")
_STATEMENT = re.compile(r'"([^"\n]{10,300}?)\s*\[([\w/ ]+?) ([\d.]+(?: and [\d.]+)*)\]"')
_COMMENT = re.compile(r"\{-.*?-\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement with the sections that make it.

    Attributes:
        gold: (path, slug) of each; without those that the document does not have.
    """

    text: str
    gold: tuple[tuple[str, str], ...]


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark and prints its tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks documents")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args(arguments)
    texts = {path.name: path.read_text("utf-8") for path in options.files}
    manuals = {name: text for name, text in texts.items() if name.endswith(".md")}
    results = {"keywords": list(keyword_rows(manuals))}
    print(render("keywords", results["keywords"]))
    given = [text for name, text in texts.items() if name not in manuals]
    if given:
        found = [each for text in given for each in statements(text, manuals)]
        results["statements"] = list(statement_rows(found, manuals))
        print(render("statements", results["statements"]))
    if options.json:
        write_json(options.json, results)
    return 0


# --- sentences that bind --------------------------------------------------------------------


def keyword_rows(manuals: Mapping[str, str]) -> Iterator[Row]:
    """How many sentences with a keyword a document has, by items and by its raw lines."""
    for name, text in manuals.items():
        ours = Counter(binding(read(name, text.encode())))
        theirs = Counter(raw_sentences(text))
        same = sum((ours & theirs).values())
        lost = [words for words, _ in (theirs - ours)]
        inside = [
            words for words in lost if any(words.startswith(other) for other, _ in ours - theirs)
        ]
        yield Row(
            f"{name}: sentences with a keyword",
            sum(ours.values()),
            "",
            "raw lines",
            sum(ours.values()) / max(1, sum(theirs.values())),
            note=f"{same} equal in words and modality, {len(inside)} cut further, "
            f"{len(lost) - len(inside)} lost",
            right=len(lost) == len(inside),
        )


def binding(document: Document) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The words and keywords of every item with a keyword of its own."""
    for section in document.sections:
        for item in section.items:
            if item.kind == "constraint" and any(each.at >= 0 for each in item.keywords):
                yield item.text, tuple(each.word for each in item.keywords)


def raw_sentences(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The words and keywords of every sentence with one, from the lines of the source."""
    for paragraph in _paragraphs(text):
        safe = re.sub(r"\b(?:e\.g|i\.e)\.", lambda found: found[0].replace(".", "\0"), paragraph)
        for sentence in re.split(r"(?<=[.!?])[\"')]*\s+(?=[\"'(`{*]*[A-Z0-9])", safe):
            words = " ".join(sentence.split()).replace("\0", ".")
            found = _KEYWORD.findall(words)
            if found and '"MUST"' not in words:  # the sentence that introduces the keywords
                yield words, tuple(found)


def _paragraphs(text: str) -> Iterator[str]:
    body = text[text.find("\n--- middle") + 1 :]
    lines: list[str] = []
    fence = ""
    for line in (*body.split("\n"), ""):
        marked = _FENCE.match(line)
        row = line.strip()
        apart = not row or bool(fence or marked) or row.startswith(("#", "{:", "|", "---"))
        item = _ITEM.match(row)
        if (apart or item) and lines:
            yield " ".join(lines)
            lines = []
        if marked and (not fence or marked[1].startswith(fence)):
            fence = "" if fence else marked[1]
        if not apart:
            lines.append(row[item.end() :] if item else row)


# --- statements -----------------------------------------------------------------------------


def statements(text: str, manuals: Mapping[str, str]) -> Iterator[Statement]:
    """The statements of a file, each with its sections in the documents."""
    titles = {name: read(name, manual.encode()).title for name, manual in manuals.items()}
    numbers = {name: numbered(name, manual) for name, manual in manuals.items()}
    for words, tag, places in _STATEMENT.findall(_COMMENT.sub("", text)):
        name = _named(tag, titles)
        if name:
            known = numbers[name]
            gold = [(name, known[each]) for each in places.split(" and ") if each in known]
            yield Statement(words, tuple(gold))


def _named(tag: str, titles: Mapping[str, str]) -> str:
    """The document whose title begins with a word, or else the one whose title has it."""
    starts = [name for name, title in titles.items() if title.startswith(tag)]
    inside = [name for name, title in titles.items() if tag in title.replace("/", " / ").split()]
    within = [name for name, title in titles.items() if re.search(rf"\b{re.escape(tag)}\b", title)]
    return next(iter((*starts, *inside, *within)), "")


def numbered(name: str, text: str) -> dict[str, str]:
    """Number of a section, as the published document counts, to its slug."""
    document = read(name, text.encode())
    rows = text.split("\n")
    back = next((at for at, row in enumerate(rows, 1) if row.startswith("--- back")), len(rows))
    count: list[int] = []
    appendix = False
    found = {}
    for section, (first, _) in zip(document.sections, document.places, strict=True):
        level = section.heading.level
        if not level:
            continue
        if first > back and not appendix:
            appendix, count = True, []
        count = [*count, *[0] * level][:level]
        count[-1] += 1
        head = chr(64 + count[0]) if appendix else str(count[0])
        found[".".join((head, *map(str, count[1:])))] = section.slug
    return found


def statement_rows(found: Sequence[Statement], manuals: Mapping[str, str]) -> Iterator[Row]:
    """Recall of sections and tokens, by packets and by ranked sections."""
    judged = [each for each in found if each.gold]
    note = f"{len(judged)} statements; {len(found) - len(judged)} name a section that is not there"
    count = counter(TOKENIZER)
    whole = sum(count(list(manuals.values())))
    yield Row("documents", whole, "tokens", note=note)
    for budget in BUDGETS:
        places, shown, tokens = packets(judged, manuals, budget)
        what = f"packets of {budget:,} tokens"
        yield Row(f"{what}: section recall@1", share(places, 1), "")
        yield Row(f"{what}: section recall@5", share(places, 5), "")
        yield Row(f"{what}: section is shown", mean(shown), "")
        yield Row(
            f"{what}: tokens, mean", mean(tokens), "tokens", "documents", mean(tokens) / whole
        )
    documents = {name: read(name, text.encode()) for name, text in manuals.items()}
    every = [(name, terms) for name, each in documents.items() for terms in bm25.terms_of(each)]
    texts = {(n, s.slug): s.text for n, each in documents.items() for s in each.sections}
    orders = [[(r.path, r.slug) for r in bm25.rank(each.text, every)] for each in judged]
    places = [_place(order, each.gold) for order, each in zip(orders, judged, strict=True)]
    for most in (1, 5):
        sizes = [sum(count([texts[unit] for unit in order[:most]])) for order in orders]
        yield Row(f"BM25: section recall@{most}", share(places, most), "")
        tokens_note = f"the first {most} sections whole"
        yield Row(
            f"BM25: tokens of the first {most}, mean",
            mean(sizes),
            "tokens",
            "documents",
            mean(sizes) / whole,
            note=tokens_note,
        )


def share(places: Sequence[int], most: int) -> float:
    """The share of places, from 1, that are among the first; 0 is nowhere."""
    return sum(0 < place <= most for place in places) / max(1, len(places))


def _place(order: Sequence[tuple[str, str]], gold: Sequence[tuple[str, str]]) -> int:
    return min((order.index(each) + 1 for each in gold if each in order), default=0)


def packets(
    judged: Sequence[Statement], manuals: Mapping[str, str], budget: int
) -> tuple[list[int], list[bool], list[int]]:
    """Builds one packet per statement with the product.

    Returns:
        Per statement: the place of its section among those kept, whether the packet
        shows anything of it, the packet's tokens.
    """
    declared = ['version = 1\n[project]\ninclude = ["*.md"]\n']
    for number, each in enumerate(judged):
        declared.append(
            f'[targets.s{number}]\ndocs = ["*.md"]\ntask = {json.dumps(each.text)}\n'
            f"budget = {budget}\n"
        )
    places, shown, tokens = [], [], []
    with tempfile.TemporaryDirectory(prefix="ctxbuild-documents-") as place:
        for name, text in manuals.items():
            Path(place, name).write_text(text, "utf-8")
        Path(place, "ctxfile.toml").write_text("\n".join(declared), "utf-8")
        project = ctxbuild.load(place)
        Session(project.ctxfile).build(list(project.targets))
        for number, each in enumerate(judged):
            out = Path(place, ".ctxbuild", "packs", f"s{number}")
            plan = json.loads(out.with_suffix(".plan.json").read_bytes())
            pack = json.loads(out.with_suffix(".pack.json").read_bytes())
            steps = next(iter(plan["layers"].values()))["steps"]
            kept = [step["read"] for step in steps if step.get("analyze", "").startswith("keep")]
            units = {block["unit"].partition("@")[0] for block in pack["blocks"]}
            gold = ["#".join(unit) for unit in each.gold]
            places.append(min((kept.index(unit) + 1 for unit in gold if unit in kept), default=0))
            shown.append(any(unit in units for unit in gold))
            tokens.append(pack["tokens"])
    return places, shown, tokens
