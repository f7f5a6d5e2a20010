"""Whatever the bytes are: no exception, the same facts again, consistent facts."""

from pathlib import Path

import msgspec
import tree_sitter
from hypothesis import given, settings
from hypothesis import strategies as st

import ctxbuild.facts
from ctxbuild.facts import extract
from ctxbuild.facts.languages import grammar
from ctxbuild.model import Facts

SOURCES = [path.read_bytes() for path in sorted(Path(ctxbuild.facts.__file__).parent.glob("*.py"))]
FRAGMENTS = [
    *[b"def f(", b"class A:\n", b"    ", b"\t", b"'''", b'"', b"(", b")", b"\\\n", b"\r", b"\0"],
    *[b"\xff", "é".encode(), b"async ", b"match x:\n  case A() as b:\n", b"@a\n", b"type X = ("],
    *[
        b"import a.",
        b"from . import (",
        b"isinstance(x, (",
        b"with a as (b, c):",
        b"= yield ",
        b":=",
    ],
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A real source with slices deleted, doubled, and strange fragments put in."""
    source = draw(st.sampled_from(SOURCES))
    start = draw(st.integers(0, len(source)))
    data = source[start : start + draw(st.integers(0, 3000))]
    for _ in range(draw(st.integers(0, 6))):
        first = draw(st.integers(0, len(data)))
        last = draw(st.integers(first, min(len(data), first + 60)))
        middle = draw(st.sampled_from([b"", data[first:last] * 2, *FRAGMENTS]))
        data = data[:first] + middle + data[last:]
    return data


def check(data: bytes) -> None:
    facts = extract(data, "python")
    assert facts == extract(data, "python")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(facts), type=Facts) == facts
    symbols = len(facts.outline.symbols)
    assert symbols == len(facts.definitions) == len(facts.bodies) == len(facts.lines.symbols)
    assert len(facts.imports) == len(facts.lines.imports)
    assert len(facts.references) == len(facts.lines.references)
    for lines in (facts.lines.imports, facts.lines.references):
        assert all(1 <= line <= max(facts.lines.total, 1) for line in lines)
    loaded = grammar("python")
    assert loaded is not None
    tree = tree_sitter.Parser(loaded.parser).parse(facts.skeleton.encode())
    assert not tree.root_node.has_error, facts.skeleton


@given(st.binary(max_size=300))
def test_random_bytes_give_facts(data):
    check(data)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map(b"".join))
def test_random_fragments_give_facts(data):
    check(data)


@settings(max_examples=150, deadline=None)
@given(mutated())
def test_mutations_of_real_sources_give_facts(data):
    check(data)
