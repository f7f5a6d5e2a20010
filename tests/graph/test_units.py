"""One file to its units and their words."""

from __future__ import annotations

from ctxbuild.facts import extract
from ctxbuild.graph.units import Unit, units_of

SOURCE = b'''"""Money."""

import os

RATE = 3


class Till(Box):
    """Holds coins."""

    depth = 2

    def open(self, key):
        """Opens the lid."""

        def turn(lock):
            return lock.spin()

        return turn(key)

    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        self.width = value


def close(till):
    till.shut()
'''


def units(data: bytes, language: str | None) -> dict[str, Unit]:
    facts = extract(data, language)
    found = units_of(facts.text, facts.outline, facts.lines, facts.definitions, facts.references)
    assert len({unit.name for unit in found}) == len(found)
    return {unit.name: unit for unit in found}


def test_a_file_is_its_rest_its_classes_and_its_functions() -> None:
    found = units(SOURCE, "python")
    assert [(u.name, u.kind, u.lines) for u in found.values()] == [
        ("", "module", (1, 31)),
        ("Till", "class", (8, 27)),
        ("Till.open", "function", (13, 19)),
        ("Till.size", "function", (21, 27)),
        ("close", "function", (30, 31)),
    ]


def test_units_are_disjoint_so_that_no_word_counts_twice() -> None:
    found = units(SOURCE, "python")
    holding = {
        word: [n for n, u in found.items() if word in " ".join(u.fields).split()]
        for word in ("rate", "depth", "spin", "width", "shut", "lid", "coin")
    }
    assert holding == {
        "rate": [""],
        "depth": ["Till"],
        "spin": ["Till.open"],
        "width": ["Till.size"],
        "shut": ["close"],
        "lid": ["Till.open"],
        "coin": ["Till"],
    }


def test_the_words_of_a_function_stand_in_the_fields_of_its_parts() -> None:
    name, signature, docstring, body = units(SOURCE, "python")["Till.open"].fields
    assert name == "till open turn"
    assert signature == "open key"
    assert docstring == "open lid"
    assert body == "turn lock lock spin turn key"


def test_a_function_knows_what_it_and_what_is_nested_in_it_use() -> None:
    assert units(SOURCE, "python")["Till.size"].uses == (
        "property",
        "self",
        "setter",
        "size",
        "width",
    )


def test_a_text_is_split_at_its_headings() -> None:
    text = b"# One\n\nalpha\n\nTwo\n===\n\nbeta\n"
    found = units(text, None)
    assert [(u.name, u.kind, u.lines) for u in found.values()] == [
        ("One", "heading", (1, 4)),
        ("Two", "heading", (5, 9)),
    ]


def test_a_long_text_without_headings_is_split_into_windows_at_empty_lines() -> None:
    text = ("\n".join(f"word{n}" for n in range(50)) + "\n\n").encode() * 3
    found = units(text, None)
    assert {u.kind for u in found.values()} == {"window"}
    assert all(last - first < 60 for first, last in (u.lines for u in found.values()))
    assert next(u.lines[0] for u in found.values()) == 1


def test_two_headings_of_one_name_are_two_units() -> None:
    found = units(b"# A\n\nx\n\n# A\n\ny\n", None)
    assert list(found) == ["A", "A-2"]


def test_a_file_that_does_not_parse_is_still_found_by_its_words() -> None:
    (unit,) = units(b"((((( broken zebra", "python").values()
    assert (unit.kind, "zebra" in unit.fields[3]) == ("module", True)
