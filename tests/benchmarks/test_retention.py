"""The retention benchmark on a repository of three commits."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks import corpus
from benchmarks.retention import BUDGETS, first_parents, follow, rows_of, touched_by
from ctxbuild.compare.prices import price_of

APP = "from shop.cart import total\n\n\ndef main():\n    return total([1])\n"
CART = "def total(prices: list[int]) -> int:\n    return sum(prices)\n"


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "shop").mkdir()
    for files in (
        {"shop/__init__.py": "", "shop/app.py": APP, "shop/cart.py": CART},
        {"shop/other.py": "x = 1\n"},
        {"shop/cart.py": CART.replace("-> int", "-> float")},
    ):
        for path, text in files.items():
            (tmp_path / path).write_text(text)
        corpus.commit(tmp_path)
    return tmp_path


def test_a_commit_that_touches_nothing_leaves_the_pack_and_one_that_does_breaks_it(repository):
    trails = follow(repository, ["shop/app.py"], 2, price_of(""))
    assert set(trails) == {(how, budget) for how in ("stable", "prefer") for budget in BUDGETS}
    trail = trails["stable", BUDGETS[0]]
    assert (trail.steps, trail.same, trail.untouched, trail.kept) == (2, 1, 1, 1)
    assert trail.broken == {("used", "skeleton", "changed"): 1}
    (retained,) = trail.retained
    assert 0 < retained < 1
    assert all(bill.fresh > 0 for bill in trail.bills.values())
    rows = list(rows_of("shop", trails))
    stable, prefer, costs = 2 + 2 + 2 + 1 + 1, 2 + 1, 2 * 4
    assert len(rows) == len(BUDGETS) * (stable + prefer + costs)
    shares = [row for row in rows if row.unit == ""]
    assert all(0 <= row.value <= 1 for row in shares)


def test_the_commits_are_those_of_the_main_line_oldest_first(repository):
    revisions = first_parents(repository, 1)
    subjects = ["git", "-C", str(repository), "log", "--format=%H", "-2"]
    expected = subprocess.run(subjects, capture_output=True, text=True, check=True).stdout.split()
    assert revisions == expected[::-1]
    assert "shop/cart.py" in touched_by(repository, revisions[-1])
