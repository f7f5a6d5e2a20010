"""Likeness by vectors: what is embedded, kept and compared."""

from __future__ import annotations

import math
import random
import struct
import sys
from fractions import Fraction

import pytest

from ctxbuild.errors import ModelError
from ctxbuild.graph.passages import LONGEST, digest_of
from ctxbuild.select.retrieval import vectors as module
from ctxbuild.select.retrieval.vectors import BATCH, Vectors, packed
from ctxbuild.stores.vectors import FileVectors
from tests.embeddingserver import vector


class Fake:
    """An embedder in this process."""

    def __init__(self, name="fake", give=vector):
        self.name = self.label = name
        self.give = give
        self.asked = []

    def embed(self, texts):
        self.asked.append(list(texts))
        return [self.give(text) for text in texts]


TEXTS = ["load it", "save it", "nothing", "save it", "the price"]


def test_texts_are_ordered_by_their_meaning_and_equal_ones_by_place():
    assert Vectors(Fake(), FileVectors(None)).nearest("keep it", TEXTS) == [1, 3, 2, 0, 4]


def test_only_what_has_no_vector_yet_is_embedded_and_equal_texts_once():
    embedder = Fake()
    vectors = Vectors(embedder, FileVectors(None))
    vectors.nearest("keep it", TEXTS)
    assert embedder.asked == [["keep it"], ["load it", "save it", "nothing", "the price"]]
    vectors.nearest("keep it", [*TEXTS, "new"])
    assert embedder.asked[2:] == [["new"]]


def test_vectors_of_another_embedder_are_none_of_this_one():
    store = FileVectors(None)
    Vectors(Fake(), store).nearest("keep it", ["save it"])
    other = Fake("other")
    Vectors(other, store).nearest("keep it", ["save it"])
    assert other.asked == [["keep it"], ["save it"]]


def test_batches_are_bounded_and_what_was_embedded_before_a_failure_is_kept():
    store = FileVectors(None)
    embedder = Fake()

    def fails(texts):
        if len(embedder.asked) == 2:
            raise ModelError("away")
        return Fake.embed(embedder, texts)

    embedder.embed = fails
    texts = [f"text {number}" for number in range(BATCH + 5)]
    with pytest.raises(ModelError):
        Vectors(embedder, store).nearest("q", texts)
    again = Fake()
    Vectors(again, store).nearest("q", texts)
    assert [len(request) for request in again.asked] == [5]


def test_texts_are_cut_to_what_models_read():
    embedder = Fake()
    Vectors(embedder, FileVectors(None)).nearest("q" * 9_999, ["t" * 9_999])
    assert [[len(text) for text in request] for request in embedder.asked] == [[LONGEST]] * 2


@pytest.mark.parametrize(
    "give",
    [
        lambda text: [],
        lambda text: [float("nan")],
        lambda text: [math.inf],
        lambda text: [1.0] * (1 + len(text)),
    ],
)
def test_what_is_no_vector_is_an_error(give):
    with pytest.raises(ModelError, match=r"fake gives"):
        Vectors(Fake(give=give), FileVectors(None)).nearest("q", ["a", "bcd"])


def test_kept_vectors_of_another_length_are_made_again():
    store = FileVectors(None)
    store.put_many("fake", [(digest_of("save it"), packed([1.0, 2.0]))])
    embedder = Fake()
    Vectors(embedder, store).nearest("keep it", ["save it"])
    assert embedder.asked == [["keep it"], ["save it"]]


def test_a_vector_is_kept_at_length_1_in_half_precision():
    assert struct.unpack("<2e", packed([3.0, 4.0])) == pytest.approx((0.6, 0.8), abs=3e-4)
    assert packed([0.0, 0.0]) == bytes(4)
    assert packed([3e300, 4e300]) == packed([3.0, 4.0])


def test_likeness_is_exact_so_that_no_order_of_additions_matters():
    dice = random.Random(1)
    one, *many = (packed([dice.gauss(0, 1) for _ in range(768)]) for _ in range(20))
    read = struct.Struct("<768e").unpack
    exact = [
        sum(Fraction(a) * Fraction(b) for a, b in zip(read(one), read(each), strict=True))
        for each in many
    ]
    assert [Fraction(found) for found in module._plain_dots(one, many)] == exact


def test_likeness_is_the_same_with_and_without_numpy(monkeypatch):
    np = pytest.importorskip("numpy")
    dice = random.Random(2)
    one, *many = (packed([dice.gauss(0, 1) for _ in range(256)]) for _ in range(5_000))
    assert list(module._fast_dots(np.frombuffer, one, many)) == list(module._plain_dots(one, many))


def test_without_numpy_likeness_is_found_all_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    found = Vectors(Fake(), FileVectors(None)).nearest("keep it", TEXTS)
    assert found == [1, 3, 2, 0, 4]
