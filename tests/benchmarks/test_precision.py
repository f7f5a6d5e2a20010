"""How recall and precision are counted, without any oracle."""

from __future__ import annotations

import pytest

from benchmarks.oracle import OUTSIDE, Answer, gold
from benchmarks.peers import recall
from benchmarks.precision import BUDGETS, Fill, Measured, precision, rows, sizes, table
from benchmarks.signatures import Signatures

SOURCE = '''\
import os


@decorated(
    1,
)
class Store(Base, metaclass=Meta):  # a comment
    """A store."""

    def save(self, mode: Mode) -> None: ...

    if os.name:
        async def load(
            self,
            key: str,
        ):
            # nothing
            def inner(): ...
            return inner


def total(*, prices): return sum(prices)


class Mode(Enum):
    READ = 1
'''


@pytest.fixture
def signatures(tmp_path):
    (tmp_path / "a.py").write_text(SOURCE)
    return Signatures(tmp_path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Store", "@decorated(\n    1,\n)\nclass Store(Base, metaclass=Meta):  # a comment"),
        ("Store.save", "def save(self, mode: Mode) -> None:"),
        ("Store.load", "async def load(\n    self,\n    key: str,\n):"),
        ("total", "def total(*, prices):"),
        ("Store.load.inner", ""),
        ("missing", ""),
    ],
)
def test_a_signature_is_decorators_and_header(signatures, name, expected):
    assert signatures.of("a.py", name) == expected


def test_a_listing_names_each_path_once(signatures):
    listed = signatures.listing([("a.py", "total"), ("a.py", "Store.save")])
    assert listed == "a.py\ndef save(self, mode: Mode) -> None:\ndef total(*, prices):\n"


def test_a_type_counts_as_named_if_another_signature_names_it(signatures):
    units = {("a.py", "Mode"), ("a.py", "Store.save"), ("a.py", "total")}
    assert signatures.named(units) == {("a.py", "Mode")}
    assert signatures.named(units - {("a.py", "Store.save")}) == set()


def test_what_does_not_parse_has_no_signatures(tmp_path):
    (tmp_path / "a.py").write_text("def f(:\n")
    assert Signatures(tmp_path).of("a.py", "f") == ""


def test_gold_is_what_the_repository_defines_outside_the_entry():
    said = [
        Answer(1, 0, "f", called=False, goes_to=(("b.py", "f", "function"),)),
        Answer(2, 0, "g", called=False, goes_to=(("a.py", "g", "function"),)),
        Answer(3, 0, "h", called=False, goes_to=((OUTSIDE, "h", "function"),)),
        Answer(4, 0, "x", called=False, goes_to=(("b.py", "x", "statement"),)),
        Answer(5, 2, "C", called=True, goes_to=(("b.py", "C", "class"), ("c.py", "C", "class"))),
    ]
    assert gold(said, "a.py") == {("b.py", "f"), ("b.py", "C"), ("c.py", "C")}


def test_other_tools_are_counted_by_header_lines_below_a_path(signatures):
    text = "a.py:\n⋮\n│class Store(Base):\n│    def save(self):\n\nb.py:\n│def total():\n"
    units = [("a.py", "Store"), ("a.py", "Store.save"), ("a.py", "total"), ("a.py", "Mode")]
    assert recall(text, units, signatures) == 0.5


def measured(recalls, precise, **fields):
    fills = {
        budget: Fill(100 * n, value, value, precise)
        for n, (budget, value) in enumerate(zip(BUDGETS, recalls, strict=True), 1)
    }
    values = {"used": ("b.py::f",), "bound": 10, "resolved": 10, "answered": 8, "wrong": ()}
    values |= {"sources": 1000, "skeletons": 400, "fills": fills, **fields}
    return Measured(fields.pop("corpus", "one"), "a.py", **values)


def test_sums_are_means_over_entries():
    both = [measured((0.5, 1, 1, 1), 0.5), measured((1, 1, 1, 1), None, wrong=("a.py:1 f",))]
    found = {row.what: row for row in rows(both)}
    missed = found["missed of the attainable recall at 1,000 tokens"]
    assert (missed.value, missed.met) == (0.25, False)
    assert found["missed of the attainable recall at 2,000 tokens"].met
    assert precision(both, 2_000) == 0.5
    assert found["attribute calls that jedi resolves otherwise"].value == 1 / 20


def test_sizes_are_taken_at_the_smallest_budget_that_recalls_enough():
    both = [measured((0.5, 1, 1, 1), 1), measured((1, 1, 1, 1), 1), measured((0, 0, 0, 0), 1)]
    assert sizes(both) == pytest.approx((150, 0.15, 0.375))
    assert sizes(both[2:]) is None


def test_the_table_has_a_line_per_corpus_and_one_for_all():
    lines = table([measured((1, 1, 1, 1), 1)]).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["one", "all"]
