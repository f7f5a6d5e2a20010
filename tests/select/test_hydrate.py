"""What a session says it will modify, and what its calls name, rises to full."""

from __future__ import annotations

import time

import pytest

from ctxbuild.facts.transcript import Record, Turn
from ctxbuild.model import Candidate, Outline, Proposal, Reason, Rung, Symbol
from ctxbuild.select.hydrate import Hint, hints, raised, units
from ctxbuild.source.ctxfile import Layer


def says(text, number=1, role="assistant"):
    return Turn(number, role, (Record("text", text),))


def calls(tool, number=1, **arguments):
    return Turn(number, "assistant", (Record("call", tool=tool, arguments=(*arguments.items(),)),))


def named(*turns, **options):
    return [(hint.name, hint.why) for hint in hints(turns, **options)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I need to modify shop/store.py to fix this.", ["shop/store.py"]),
        ("I'll update `Store.save()` in shop/store.py next.", ["Store.save", "shop/store.py"]),
        ("Let me now edit shop/store.py::Store.load.", ["shop/store.py::Store.load"]),
        ("We should also refactor parse_args and `main`.", ["main", "parse_args"]),
        ("shop/store.py looks fine to me.", []),
        ("I will run the tests in tests/test_store.py.", []),
        ("I'll fix the bug now.", []),
    ],
)
def test_words_that_announce_a_change_are_found(text, names):
    assert named(says(text)) == [(name, "modify") for name in names]


def test_calls_name_files_and_symbols():
    assert named(calls("Read", file_path="/w/shop/store.py", limit="20")) == [
        ("/w/shop/store.py", "named")
    ]
    assert named(calls("show", unit="a.py::f", why="x/y.py")) == [("a.py::f", "named")]
    assert named(calls("Bash", command="sed -n 1,9p shop/disk.py | head; ls")) == [
        ("shop/disk.py", "named")
    ]


def test_only_the_last_turns_of_the_assistant_count_and_the_latest_come_first():
    turns = [
        says("I will modify old.py", 1),
        says("I will modify a.py", 2),
        says("I will modify user.py", 3, "user"),
        calls("Read", 4, path="b.py"),
    ]
    assert named(*turns, recent=3) == [("b.py", "named"), ("a.py", "modify")]


def test_a_hostile_text_is_searched_in_linear_time():
    started = time.perf_counter()
    for text in ("will " * 40_000, "I'll edit " + "a." * 50_000, "let me now now " * 9_000):
        hints([says(text), calls("Bash", command=text)])
    assert time.perf_counter() - started < 5


class Repository:
    """Files as their symbols."""

    def __init__(self, **files):
        self.files = {path.replace("__", "/") + ".py": names for path, names in files.items()}

    def exists(self, path):
        return path in self.files

    def outline(self, path):
        return Outline("python", tuple((name, "function") for name in self.files.get(path, ())))

    def definers(self, name):
        return tuple(
            (path, known)
            for path, names in self.files.items()
            for known in names
            if known.rpartition(".")[2] == name
        )

    def symbol(self, _path, name):
        return (Symbol(name, "class", f"class {name}:"),)

    def body(self, _path, name):
        return f"def {name.rpartition('.')[2]}(self):\n    return 1\n"


SHOP = Repository(
    shop__store=("Store", "Store.save", "unique"), shop__disk=("Disk", "Disk.save"), setup=()
)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("shop/store.py", "shop/store.py"),
        ("/home/me/project/shop/store.py", "shop/store.py"),
        ("./shop\\store.py", "shop/store.py"),
        ("shop/store.py::Store.save", "shop/store.py::Store.save"),
        ("shop/store.py::Nothing", "shop/store.py"),
        ("Store.save", "shop/store.py::Store.save"),
        ("self.unique", "shop/store.py::unique"),
        ("save", None),  # several are defined
        ("../store.py", None),
        ("nowhere.py", None),
    ],
)
def test_a_name_means_one_unit_or_none(name, unit):
    assert list(units(SHOP, [Hint(name, "named", 1)])) == ([unit] if unit else [])


def test_a_path_that_only_says_where_a_method_stands_is_not_meant_itself():
    said = [Hint("Store.save", "modify", 3), Hint("shop/store.py", "modify", 3)]
    assert list(units(SHOP, said)) == ["shop/store.py::Store.save"]
    read = [Hint("Store.save", "modify", 3), Hint("shop/store.py", "named", 3)]
    assert list(units(SHOP, read)) == ["shop/store.py"]


def test_what_a_layer_shows_rises_in_its_place_and_the_rest_goes_to_the_layer_that_hydrates():
    ladder = (Rung("name", "", 4, 1.0), Rung("full", "", 5, 2.0))
    listed = Candidate("setup.py", "setup.py", "", "files", "", 0, ladder, 0.5, (Reason("listed"),))
    lesser = Candidate(
        "shop/store.py::Store.save", "shop/store.py", "Store.save", "entry", "used", 1,
        (Rung("skeleton", "none", 1),), 0.5, (Reason("call"),),
    )  # fmt: skip
    layers = (
        Layer("entry", "entry", ("a.py",)),
        Layer("files", "files", ("setup.py",), hydrate=True),
    )
    proposals = {"entry": Proposal((lesser,)), "files": Proposal((listed,))}
    meant = units(SHOP, [Hint("setup.py", "named", 2), Hint("Store.save", "modify", 2)])
    found = raised(SHOP, layers, proposals, meant)
    assert found["entry"].candidates == ()
    method, file = found["files"].candidates
    assert (method.unit, method.section, method.ladder[-1].form) == (
        lesser.unit,
        "hydrated",
        "full",
    )
    assert method.ladder[-1].text == ("class Store:\n    def save(self):\n        return 1\n")
    assert method.reasons == (Reason("hydrated", detail="modify in turn 2"),)
    assert [(r.phase, r.worth) for r in file.ladder] == [(0, 10.0), (0, 20.0)]
    assert [r.kind for r in file.reasons] == ["hydrated", "listed"]
    assert raised(SHOP, layers[:1], proposals, meant) == proposals
