"""An assembly as parts that outlive the tree it was made from: what a replay plans again.

A record holds what the layers proposed, with the text of every form, and nothing of
the repository besides. Texts are cut into parts at places that depend on the names of
units alone, so that two records share the parts in which nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from ctxbuild.errors import UsageError
from ctxbuild.model import Block, Candidate, Lines, Outline, Pack, Problem, Proposal, Reason, Rung
from ctxbuild.pack.codec import decode, encode
from ctxbuild.pack.layout import Place
from ctxbuild.pack.planning import Gathered, Planned
from ctxbuild.pack.render import PACKET_TITLES
from ctxbuild.source.ctxfile import Target

if TYPE_CHECKING:
    from ctxbuild.pack.artifact import LinesOf
    from ctxbuild.pack.fit import Offer

SCHEMA = "ctxbuild.assembly/1"

_CUT = 16
"""One unit in so many ends a part."""

_FULL = 1 << 16
"""Characters after which a part ends in any case."""

Put = Callable[[bytes], str]
"""Keeps a part; gives the name under which it is found again."""

Get = Callable[[str], bytes]
"""A part by its name; raises UsageError if it is gone."""


@dataclass(frozen=True, slots=True)
class Spots:
    """Where things stand in one file, as far as an artifact asked.

    Attributes:
        symbols: (qualified name, first line, last line).
        imports, references: lines by ordinal, as far as the last one that is needed; 0 else.
    """

    symbols: tuple[tuple[str, int, int], ...] = ()
    imports: tuple[int, ...] = ()
    references: tuple[int, ...] = ()
    total: int = 0


@dataclass(frozen=True, slots=True)
class Stands:
    """Where everything stands that an artifact says lines of.

    Attributes:
        files: (path, its spots).
        blocks: (unit, first and last line) of blocks that say so only in the artifact.
    """

    files: tuple[tuple[str, Spots], ...] = ()
    blocks: tuple[tuple[str, tuple[int, int]], ...] = ()


@dataclass(frozen=True, slots=True)
class LayerPart:
    """Where the parts of one layer are found.

    Attributes:
        proposal: name of the part with what it proposes, its texts left out.
        texts: names of the parts with the texts, in order.
    """

    name: str
    proposal: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """What a record begins with; everything else it names."""

    schema: str
    tokenizer: str
    target: Target
    layers: tuple[LayerPart, ...]
    languages: tuple[tuple[str, str], ...]
    before: tuple[Place, ...] | None
    complaint: str
    problems: tuple[tuple[str, tuple[Problem, ...]], ...]
    spots: str


@dataclass(frozen=True, slots=True)
class Assembly:
    """A recorded assembly, read back: every rung has its text."""

    tokenizer: str
    gathered: Gathered
    problems: tuple[tuple[str, tuple[Problem, ...]], ...]
    stands: Stands

    def lines_of(self, path: str) -> tuple[Outline, Lines]:
        """Where things stand in a file, as far as that is recorded."""
        return _lines(dict(self.stands.files).get(path, Spots()))

    def placed(self, pack: Pack) -> Pack:
        """A pack with the lines that only the artifact says."""
        lines = dict(self.stands.blocks)
        blocks = (
            replace(block, lines=lines[block.unit]) if block.unit in lines else block
            for block in pack.blocks
        )
        return replace(pack, blocks=tuple(blocks)) if lines else pack


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record that was written.

    Attributes:
        head: the name of its first part.
        inputs: SHA-256 of all that it holds, in hexadecimal.
    """

    head: str
    inputs: str


# --- writing ----------------------------------------------------------------------------


def record(
    made: Planned, tokenizer: str, lines_of: LinesOf, put: Put, placed: Iterable[Block] = ()
) -> Recorded:
    """Writes all that a plan was made of, part by part.

    Args:
        made: the plan, and what it was made of.
        tokenizer: name of the encoding.
        lines_of: where things stand.
        put: keeps a part.
        placed: the blocks as the artifact has them; those that got their lines there only.
    """
    gathered = made.gathered
    told: list[bytes] = []

    def kept(part: bytes) -> str:
        told.append(sha256(part).digest())
        return put(part)

    offers = {each.candidate.unit: each for each in made.fitted.offers}
    layers = []
    for name, proposal in gathered.proposals:
        split = [_split(each, offers.get(each.unit)) for each in proposal.candidates]
        texts = tuple(kept(part) for part in _text_parts(split))
        bare = replace(proposal, candidates=tuple(candidate for candidate, _ in split))
        layers.append(LayerPart(name, kept(encode(bare)), texts))
    lines = {block.unit: block.lines for block in made.fitted.blocks}
    later = tuple(
        (block.unit, block.lines)
        for block in placed
        if block.lines and block.lines != lines.get(block.unit)
    )
    spots = Stands(_spots(made, lines_of, dict(later)), later)
    head = Head(
        SCHEMA,
        tokenizer,
        gathered.target._replace(rules=()),
        tuple(layers),
        gathered.languages,
        gathered.before,
        gathered.complaint,
        tuple((path, found) for path, found in made.problems if found),
        put(encode(spots)),
    )
    # Where things stand is no input: code that moves makes no other assembly.
    plain = replace(head, spots="", layers=())
    inputs = sha256(b"".join([*told, encode(plain)])).hexdigest()
    return Recorded(put(encode(head)), inputs)


_Texts = list[tuple[str, str | None]]
"""Per rung its text, and the one where no member of it is shown if that is another one."""


def _split(candidate: Candidate, offer: Offer | None) -> tuple[Candidate, _Texts]:
    """A candidate without the texts of its rungs, and the texts."""
    if offer is not None and offer.candidate is candidate:
        hollow = dict(offer.hollow) if offer.hollow else {}
        texts: _Texts = [
            (text, hollow.get(rung)) for rung, text in zip(offer.ladder, offer.texts, strict=True)
        ]
        return _bare(candidate, offer.ladder), texts
    # An earlier layer proposes it too, and its texts were never asked for here.
    known = {}
    if offer is not None:
        known = {(r.form, r.docstring): t for r, t in zip(offer.ladder, offer.texts, strict=True)}
    found = [(r, r.text or known.get((r.form, r.docstring))) for r in candidate.ladder]
    there = [(rung, text) for rung, text in found if text is not None]
    ladder = tuple(rung for rung, _ in there)
    return _bare(candidate, ladder), [(text, None) for _, text in there]


def _bare(candidate: Candidate, ladder: tuple[Rung, ...]) -> Candidate:
    """A candidate with these rungs, without their texts."""
    if any(rung.text is not None for rung in ladder):
        ladder = tuple(replace(rung, text=None, hollow=None) for rung in ladder)
    return candidate if ladder == candidate.ladder else replace(candidate, ladder=ladder)


def _text_parts(split: Iterable[tuple[Candidate, _Texts]]) -> Iterator[bytes]:
    """The texts of all rungs in order; a part ends where a unit's name says so."""
    part: _Texts = []
    size = 0
    for candidate, texts in split:
        part += texts
        size += sum(len(text) for text, _ in texts)
        ends = sha256(candidate.unit.encode("utf-8", "surrogatepass")).digest()[0] % _CUT == 0
        if part and (ends or size >= _FULL):
            yield encode(part)
            part, size = [], 0
    if part:
        yield encode(part)


def _spots(
    made: Planned, lines_of: LinesOf, later: Mapping[str, tuple[int, int]]
) -> tuple[tuple[str, Spots], ...]:
    """Where things stand in the files that the artifact says lines of, and no others."""
    symbols: dict[str, set[str]] = {}
    ordinals: dict[tuple[str, str], int] = {}
    for anchor in _anchors(made):
        if anchor is not None:
            path, kind, ordinal = anchor
            ordinals[path, kind] = max(ordinals.get((path, kind), 0), ordinal)
    for _, proposal in made.gathered.proposals:
        for each in proposal.candidates:
            symbols.setdefault(each.path, set()).add(each.symbol)
    paths = {path for path, _ in ordinals}
    paths |= {
        block.path
        for block in made.fitted.blocks
        if not block.lines and block.unit not in later and block.section not in PACKET_TITLES
    }
    found = []
    for path in sorted(paths):
        outline, stands = lines_of(path)
        wanted = symbols.get(path, set())
        spots: dict[str, list[int]] = {}
        for (name, _), spot in zip(outline.symbols, stands.symbols, strict=True):
            if name in wanted:
                spots.setdefault(name, [spot[0], 0])[1] = spot[1]
        imports, references = (
            tuple(table[: ordinals[path, kind] + 1]) if (path, kind) in ordinals else ()
            for kind, table in (("import", stands.imports), ("reference", stands.references))
        )
        where = tuple((name, first, last) for name, (first, last) in spots.items())
        found.append((path, Spots(where, imports, references, stands.total)))
    return tuple(found)


def _anchors(made: Planned) -> Iterator[tuple[str, str, int] | None]:
    for _, proposal in made.gathered.proposals:
        causes: list[tuple[Reason, ...]] = [each.reasons for each in proposal.candidates]
        causes += [each.reasons for each in proposal.refused]
        yield from (reason.anchor for reasons in causes for reason in reasons)
    yield from (each.anchor for each in made.plan.open_names)


# --- reading ----------------------------------------------------------------------------


def names_in(head: bytes) -> tuple[str, ...]:
    """The names of the parts that a record's first part names.

    Raises:
        UsageError: it is damaged, or of another version.
    """
    read = _head(head)
    parts = (name for layer in read.layers for name in (layer.proposal, *layer.texts))
    return (*parts, read.spots)


def restored(head: bytes, get: Get) -> Assembly:
    """A recorded assembly.

    Args:
        head: its first part.
        get: gives the others.

    Raises:
        UsageError: a part is gone or damaged, or the record is of another version.
    """
    read = _head(head)
    try:
        stands = decode(get(read.spots), Stands)
        proposals = tuple((layer.name, _proposal(layer, get)) for layer in read.layers)
    except ValueError as error:
        raise _damaged(str(error)) from error
    gathered = Gathered(read.target, proposals, read.languages, read.before, read.complaint)
    return Assembly(read.tokenizer, gathered, read.problems, stands)


def _head(data: bytes) -> Head:
    """Raises UsageError."""
    try:
        schema = decode(data, dict)["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(str(error)) from error
    if schema != SCHEMA:
        raise UsageError(
            f"the record has the schema {schema!r}, this ctxbuild reads {SCHEMA!r}",
            "replay it with the ctxbuild that recorded it, or build again",
        )
    try:
        head: Head = decode(data, Head)
    except ValueError as error:
        raise UsageError(
            f"the record was written by another version of ctxbuild ({error})",
            "replay it with the ctxbuild that recorded it, or build again",
        ) from error
    return head


def _damaged(what: str) -> UsageError:
    return UsageError(f"the record is damaged: {what}", "build again: that records it anew")


def _proposal(layer: LayerPart, get: Get) -> Proposal:
    """Raises UsageError, ValueError."""
    proposal: Proposal = decode(get(layer.proposal), Proposal)
    pairs = [
        pair for name in layer.texts for pair in decode(get(name), list[tuple[str, str | None]])
    ]
    texts = iter(pairs)
    if len(pairs) != sum(len(each.ladder) for each in proposal.candidates):
        message = f"layer {layer.name!r} has another number of texts than of forms"
        raise ValueError(message)
    candidates = []
    for each in proposal.candidates:
        ladder = []
        for rung in each.ladder:
            text, hollow = next(texts)
            ladder.append(replace(rung, text=text, hollow=hollow))
        candidates.append(replace(each, ladder=tuple(ladder)))
    return replace(proposal, candidates=tuple(candidates))


def _lines(spots: Spots) -> tuple[Outline, Lines]:
    """As `artifact.LinesOf` gives them."""
    outline = Outline("", tuple((name, "function") for name, _, _ in spots.symbols))
    symbols = tuple((first, last, 0, 0) for _, first, last in spots.symbols)
    return outline, Lines(symbols, spots.imports, spots.references, spots.total)
