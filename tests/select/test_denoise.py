"""What of the evidence is kept, and what is said of the rest."""

from __future__ import annotations

from ctxbuild.model import Refusal
from ctxbuild.select.retrieval.denoise import Settings, denoise, likeness, shingles_of
from ctxbuild.select.retrieval.model import Cut, Evidence, Hit

BODY = "def save(self, key, value):\n    self.disk.put(key, value)\n    self.count += 1\n"


def evidence(unit, rank, text="", *, cut=None, tokens=0):
    """A unit with a text of its own unless one is given."""
    path, _, symbol = unit.partition("::")
    hit = Hit(unit, path, symbol, "function", rank, rank)
    text = (
        text or f"def {symbol or 'x'}{rank}(a{rank}, b{rank}): return a{rank} + {rank} * b{rank}\n"
    )
    return Evidence(hit, text, tokens or len(text), cut)


def units(found):
    return [each.hit.unit for each in found.kept]


def test_the_best_scored_copy_stays_whichever_came_first():
    worse, better = evidence("old.py::save", 5, BODY), evidence("new.py::save", 2, BODY)
    found = denoise([worse, better])
    assert units(found) == ["new.py::save"]
    assert found.refused == (Refusal("old.py::save", "near-duplicate", 0.9385, (), "new.py::save"),)


def test_near_duplicates_are_one_although_they_differ_in_space_case_and_a_word():
    other = BODY.replace("    ", "\t").replace("Self", "self").replace("count", "total")
    long = "".join(f"    log({n}, key)\n" for n in range(20))
    found = denoise([evidence("a.py::f", 1, BODY + long), evidence("b.py::f", 2, other + long)])
    assert units(found) == ["a.py::f"]


def test_texts_that_only_share_words_are_two():
    other = "def load(self, key):\n    value = self.disk.get(key)\n    return value\n"
    found = denoise([evidence("a.py::save", 1, BODY), evidence("a.py::load", 2, other)])
    assert units(found) == ["a.py::save", "a.py::load"]
    assert found.refused == ()


def test_of_one_unit_in_two_forms_the_fuller_one_stays_at_the_better_score():
    cut = Cut("def save(self):\n    ...\n", ((1, 1),), 8)
    found = denoise(
        [evidence("a.py::f", 1, BODY, cut=cut, tokens=30), evidence("a.py::f", 3, BODY, tokens=30)]
    )
    assert [(e.hit.rank, e.cut) for e in found.kept] == [(1, None)]
    assert [(r.unit, r.why) for r in found.refused] == [("a.py::f", "near-duplicate")]


def test_among_equal_copies_at_one_rank_the_fuller_one_stays():
    cut = Cut("...\n", ((1, 1),), 1)
    found = denoise([evidence("a.py::f", 1, BODY, cut=cut), evidence("b.py::f", 1, BODY)])
    assert units(found) == ["b.py::f"]


def test_what_scores_too_low_beside_the_best_is_left_out_with_the_limit():
    found = denoise([evidence(f"a{n}.py::f", n) for n in (1, 20, 200)], Settings(threshold=0.3))
    assert units(found) == ["a1.py::f", "a20.py::f"]
    assert found.refused == (Refusal("a200.py::f", "below-threshold", 0.2346, (), "0.30"),)


def test_the_cap_is_hard_and_says_so():
    found = denoise([evidence(f"a{n}.py::f", n) for n in range(1, 5)], Settings(cap=2))
    assert units(found) == ["a1.py::f", "a2.py::f"]
    assert [(r.unit, r.why, r.detail) for r in found.refused] == [
        ("a3.py::f", "cap", "2"),
        ("a4.py::f", "cap", "2"),
    ]


def test_further_units_of_one_file_make_room_for_other_files():
    ranked = ["a.py::f", "a.py::g", "a.py::h", "b.py::i"]
    given = [evidence(unit, rank) for rank, unit in enumerate(ranked, 1)]
    found = denoise(given, Settings(cap=3, per_file=2))
    assert units(found) == ["a.py::f", "a.py::g", "b.py::i"]


def test_nothing_is_lost_and_nothing_depends_on_the_order_given():
    given = [
        evidence(f"a{n % 7}.py::f{n % 11}", n, BODY if n % 3 == 0 else "") for n in range(1, 40)
    ]
    settings = Settings(0.2, 12, 2)
    found, again = denoise(given, settings), denoise(given[::-1], settings)
    assert found == again
    told = {*units(found), *(refusal.unit for refusal in found.refused)}
    assert told == {each.hit.unit for each in given}


def test_nothing_comes_of_nothing():
    assert denoise([]) == ((), ())


def test_empty_texts_are_no_copies_of_each_other():
    assert likeness(shingles_of(""), shingles_of("")) == 0.0


def test_text_without_spaces_is_compared_character_by_character():
    one, other = "退款将在七天内完成并通知客户", "退款将在九天内完成并通知客户"
    assert 0.2 < likeness(shingles_of(one * 1), shingles_of(other)) < 1.0


def test_a_text_that_only_repeats_the_question_is_no_answer():
    question = "How is a refund paid?"
    text = f'[targets.refunds]\nquestion = "{question.upper()}"\n'
    given = [evidence("ctxfile.toml", 1, text), evidence("a.py::refund", 2)]
    found = denoise(given, Settings(question=question))
    assert units(found) == ["a.py::refund"]
    assert found.refused == (Refusal("ctxfile.toml", "asks-the-same", 1.0, (), ""),)


def test_a_word_or_two_may_stand_anywhere():
    given = [evidence("a.py::refund", 1, "def refund(): ...\n")]
    assert units(denoise(given, Settings(question="refund"))) == ["a.py::refund"]
