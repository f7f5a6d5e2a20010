"""From candidates to blocks: the exact budget, layers one after another, and every verdict."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbuild.errors import BudgetError
from ctxbuild.model import Candidate, Lines, Outline, Reason, Rung, Symbol
from ctxbuild.pack import render
from ctxbuild.pack.budget import Limits, Style, fit
from ctxbuild.pack.tokens import counter
from ctxbuild.select.files import ladder
from ctxbuild.select.phases import ON_DEMAND

COUNT = counter("o200k_base")
WHOLE = ladder("full", parsed=True)
BARE = (Rung("skeleton", "none", 1),)


class Repository:
    """Files as texts; every top-level `def` is a symbol."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def text(self, path):
        return self.files[path]

    def skeleton(self, path):
        return "".join(f"{row} ...\n" for row in self.files[path].split("\n") if row[:4] == "def ")

    def outline(self, _path):
        return Outline("python", (("f", "function"),), summary="A file.")

    def symbol(self, _path, name):
        kind = "class" if name[0].isupper() else "function"
        head = "class" if kind == "class" else "def"
        last = name.rpartition(".")[2]
        return (Symbol(name, kind, f"{head} {last}{'' if kind == 'class' else '()'}:"),)

    def lines(self, _path):
        return Lines()

    def body(self, _path, name):
        return f"def {name}():\n    return 1\n"


def whole(path, layer="files", **fields):
    return Candidate(path, path, "", layer, "", 0, WHOLE, 1.0, (Reason("listed"),), **fields)


def part(path, name, layer="entry", rungs=BARE, **fields):
    unit, reasons = f"{path}::{name}", (Reason("call"),)
    return Candidate(unit, path, name, layer, "used", 0, rungs, 1.0, reasons, **fields)


def fitted(
    files: dict[str, str],
    candidates: Sequence[Candidate],
    budget: int = 10_000,
    layers: dict[str, int] | None = None,
    **style: object,
):
    names = tuple(dict.fromkeys(each.layer for each in candidates))
    limits = Limits(budget, 0, layers or {})
    languages = dict.fromkeys(files, "python")
    return fit(candidates, Repository(files), COUNT, limits, Style("t", names, languages, **style))


TEXTS = st.lists(
    st.sampled_from(
        ["def f():", "    return 1", "```", "x = 'é\U0001f600'", "", "</file>", "# words, words"]
    ),
    max_size=20,
).map("\n".join)


@settings(max_examples=60)
@given(
    st.dictionaries(st.sampled_from(["a.py", "b/c.py", "d.py"]), TEXTS, min_size=1),
    st.integers(5, 250),
    st.sampled_from([("md",), ("xml",), ("md", "xml", "json")]),
    st.sampled_from(["lean", "full"]),
)
def test_no_rendering_has_more_tokens_than_the_budget(files, budget, formats, headers):
    candidates = [whole(path) for path in files]
    candidates += [part(path, f"f{n}") for path in files for n in range(5)]
    try:
        found = fitted(files, candidates, budget, formats=formats, headers=headers)
    except BudgetError:
        assert budget < 40
        return
    for form in formats:
        text = render.rendering(form, "t", found.blocks, headers)
        assert COUNT([text])[0] <= budget
    assert found.tokens == COUNT([render.rendering(formats[0], "t", found.blocks, headers)])[0]
    assert len(found.verdicts) == len(candidates)


def test_a_unit_that_a_later_layer_proposes_again_is_shown_once():
    found = fitted({"a.py": "x = 1\n"}, [whole("a.py", "first"), whole("a.py", "second")])
    assert [block.layer for block in found.blocks] == ["first"]
    verdicts = [(v.layer, v.verdict, v.why) for v in found.verdicts]
    assert verdicts == [("first", "kept", ""), ("second", "dropped", "duplicate")]


def test_parts_of_a_file_that_an_earlier_layer_shows_in_full_are_not_shown_again():
    files = {"a.py": "def f():\n    pass\n", "b.py": ""}
    candidates = [whole("a.py"), part("a.py", "f"), part("b.py", "g")]
    found = fitted(files, candidates)
    assert [block.unit for block in found.blocks] == ["a.py", "b.py::g"]
    assert [v.why for v in found.verdicts] == ["", "duplicate", ""]


def test_parts_of_a_file_that_is_only_a_skeleton_are_shown():
    files = {"a.py": "def f():\n" + "    some(words)\n" * 99}
    found = fitted(files, [whole("a.py"), part("a.py", "f", rungs=(*BARE, Rung("full")))], 80)
    assert [(block.unit, block.form) for block in found.blocks] == [
        ("a.py", "skeleton"),
        ("a.py::f", "full"),
    ]


def test_a_layer_keeps_its_own_budget_and_leaves_the_rest_to_later_ones():
    files = {f"{n}.py": "x = 1\n" * 20 for n in "abcd"}
    candidates = [whole(f"{n}.py", "first" if n in "ab" else "second") for n in "abcd"]
    found = fitted(files, candidates, layers={"first": 120})
    forms = {block.unit: block.form for block in found.blocks}
    assert forms["c.py"] == forms["d.py"] == "full"
    assert sorted((forms["a.py"], forms["b.py"])) != ["full", "full"]
    assert {v.why for v in found.verdicts} == {"", "layer-budget"}


def test_what_is_pinned_in_a_later_layer_keeps_its_place_from_earlier_ones():
    files = {"a.py": "word " * 200, "b.py": "word " * 100}
    candidates = [whole("a.py", "first"), whole("b.py", "second", pinned=True)]
    found = fitted(files, candidates, 150)
    assert {block.unit: block.form for block in found.blocks}["b.py"] == "full"


def test_pins_that_exceed_the_budget_are_named_with_the_excess():
    with pytest.raises(BudgetError, match=r"what is pinned needs \d+ tokens, \d+ more .* a.py"):
        fitted({"a.py": "word " * 200}, [whole("a.py", pinned=True)], 50)


def test_a_budget_that_holds_no_title_is_refused():
    with pytest.raises(BudgetError, match="nothing fits into 1 tokens"):
        fitted({"a.py": ""}, [whole("a.py")], 1)


def test_every_verdict_says_why():
    files = {"a.py": ""}
    candidates = [
        part("a.py", "f"),
        part("a.py", "C", rungs=(Rung("skeleton", "none", ON_DEMAND),)),
        part("a.py", "C.m", rungs=(Rung("full", "", 2),), parent="a.py::C"),
        part("a.py", "T", rungs=(Rung("name", "", 3),), only_with=("a.py::C.m",)),
    ]
    small, enough = fitted(files, candidates, 24), fitted(files, candidates, 100)
    assert [v.why for v in small.verdicts] == ["", "no-member", "budget", "not-named"]
    assert [v.verdict for v in enough.verdicts] == ["kept"] * 4
