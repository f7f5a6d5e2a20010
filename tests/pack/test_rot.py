"""Which signs tell that evidence has gone bad."""

from __future__ import annotations

import time

import pytest

from ctxbuild.pack.rot import Chunk, Thresholds, find_rot, is_fresh


def chunk(unit, tokens=10, score=1.0, text="", **fields):
    path, _, symbol = unit.partition("::")
    return Chunk(unit, path, symbol, text, tokens, score, **fields)


def kinds(chunks, tokens=100, budget=1000, **options):
    return [rot.kind for rot in find_rot(chunks, tokens, budget, **options)]


def test_sound_evidence_shows_nothing():
    assert find_rot([chunk("a.py::f"), chunk("b.py::g", score=0.5)], 100, 1000) == ()


def test_a_pack_that_fills_its_budget_is_oversized():
    found = find_rot([], 901, 1000)
    assert [str(rot) for rot in found] == [
        "OVERSIZED: 901 of 1,000 tokens, more than 0.9 of the budget"
    ]
    assert kinds([], 900, 1000) == []


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_of_nothing_divides_nothing(budget):
    assert kinds([chunk("a.py::f")], 10, budget) == ["OVERSIZED"]
    assert kinds([], 0, 0) == []


def test_evidence_far_below_the_best_is_noise():
    found = find_rot([chunk("a.py::f"), chunk("b.py::g", score=0.29)], 100, 1000)
    assert [(rot.kind, rot.units, rot.value, rot.limit) for rot in found] == [
        ("NOISE", ("b.py::g",), 0.29, 0.3)
    ]


def test_scores_of_zero_are_no_noise():
    assert kinds([chunk("a.py::f", score=0.0), chunk("b.py::g", score=0.0)]) == []


def test_more_than_two_chunks_of_a_file_are_duplication():
    assert kinds([chunk(f"a.py::f{n}") for n in range(2)]) == []
    chunks = [chunk(f"{path}.py::f{n}") for path in "ab" for n in range(3)]
    assert [str(rot) for rot in find_rot([*chunks, chunk("c.py::f")], 100, 1000)] == [
        "DUPLICATION: a.py (3), b.py (3): more than 2 chunks of one file"
    ]


def test_the_methods_of_a_class_are_one_chunk():
    assert kinds([chunk(f"a.py::C.f{n}") for n in range(5)]) == []


def test_a_chunk_that_takes_most_of_a_pack_dominates_it():
    assert kinds([chunk("a.py::f", 61), chunk("b.py::g", 10)]) == ["DOMINATION"]
    assert kinds([chunk("a.py::f", 60), chunk("b.py::g", 10)]) == []


def test_one_chunk_alone_dominates_nothing():
    assert kinds([chunk("a.py::f", 100)]) == []


def test_evidence_for_an_earlier_version_or_another_question_is_stale():
    found = find_rot(
        [
            chunk("a.py::f", fresh=False),
            chunk("b.py::g", question="Who pays?"),
            chunk("c.py::h", question="Who ships?"),
        ],
        100,
        1000,
        question="Who ships?",
    )
    assert [str(rot) for rot in found] == [
        "STALE: a.py::f: the source has changed since",
        "STALE: b.py::g: was found for another question",
    ]


def test_two_versions_of_a_function_are_in_conflict():
    old = "def pay(order):\n    check(order)\n    return charge(order.total, retry=True)\n"
    new = old.replace("retry=True", "retry=False")
    found = find_rot([chunk("a.py::pay", text=old), chunk("b.py::pay", text=new)], 100, 1000)
    assert [str(rot) for rot in found] == ["CONFLICTING: two versions of pay: a.py::pay, b.py::pay"]
    assert kinds([chunk("a.py::pay", text=old), chunk("b.py::pay", text=old)]) == []


def test_functions_that_share_only_a_name_are_not_in_conflict():
    one = "def main():\n    run(sys.argv)\n"
    other = "def main():\n    server = Server(port=80)\n    server.forever()\n"
    assert kinds([chunk("a.py::main", text=one), chunk("b.py::main", text=other)]) == []


def test_constants_with_two_values_are_in_conflict():
    found = find_rot(
        [
            chunk("a.py", text="TIMEOUT = 30  # seconds\nNAME = 'x'\n"),
            chunk("b.py", text="TIMEOUT: int = 60\nNAME = 'x'\n"),
        ],
        100,
        1000,
    )
    assert [str(rot) for rot in found] == [
        "CONFLICTING: TIMEOUT has the values 30 and 60: a.py, b.py"
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Clients MUST send a token.", "Clients MUST NOT send a token."),
        ("Requests always use the pool.", "Requests never use the pool."),
        ("A call must end in 30 seconds.", "A call must end in 60 seconds."),
        ("Clients must\nsend a token.", "- Clients must not send a token."),
    ],
)
def test_rules_that_contradict_each_other_are_in_conflict(one, other):
    assert kinds([chunk("a.md#x", text=one), chunk("b.md#y", text=other)]) == ["CONFLICTING"]
    assert kinds([chunk("a.md#x", text=one), chunk("b.md#y", text=one)]) == []


def test_what_stands_around_the_evidence_is_no_evidence():
    around = [chunk(f"a.py::f{n}", form="skeleton", score=0.01) for n in range(9)]
    assert kinds([chunk("b.py::g"), *around]) == []


def test_thresholds_are_those_given():
    chunks = [chunk("a.py::f", 50), chunk("a.py::g", 10, 0.5)]
    strict = Thresholds(oversized=0.05, noise=0.6, duplication=1, domination=0.4)
    assert kinds(chunks, thresholds=strict) == ["OVERSIZED", "NOISE", "DUPLICATION", "DOMINATION"]


def test_a_text_is_fresh_while_its_lines_stand_in_the_file_in_order():
    source = "def f():\n    a = 1\n    b = 2\n    return a\n"
    assert is_fresh("def f():\n    ...\n    return a\n", source)
    assert is_fresh("    def f():\n        a = 1\n", source)
    assert not is_fresh("def f():\n    a = 2\n", source)
    assert not is_fresh("    b = 2\n    a = 1\n", source)
    assert not is_fresh("def f():\n", "")


@pytest.mark.parametrize(
    "hostile",
    [
        "A" * 300000,
        "MUST " * 60000,
        "\n" * 300000,
        "A = " * 90000,
        "- \t" * 90000,
        "x.y" * 90000,
        "A=1\n" * 90000,
        "const " * 60000,
        "'" * 300000,
        "must 1.1.1 " * 30000,
    ],
)
def test_hostile_texts_take_linear_time(hostile):
    started = time.perf_counter()
    find_rot([chunk("a.md#x", text=hostile), chunk("b.md#y", text=hostile + "!")], 100, 1000)
    assert time.perf_counter() - started < 5
