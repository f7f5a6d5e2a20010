from __future__ import annotations

from ctxbuild.facts.parts import Part, parts_of

TEXT = '''class Cart(
    Base,
):
    """Things."""

    def add(self, name):
        total = call(
            name,
        )
        if total and (
            name
        ):
            for each in name:
                self.put(each)
        else:
            log(name)
            raise Error
        return 1; done = 2
'''


def lines(parts):
    return [(part.first, part.last, part.kind) for part in parts]


def test_a_definition_is_its_header_and_statements_that_are_whole():
    assert lines(parts_of(TEXT, "python", 1, 18)) == [
        (1, 3, "header"),
        (4, 4, "leaf"),
        (6, 6, "header"),
        (7, 9, "leaf"),
        (10, 12, "header"),
        (13, 14, "leaf"),
        (15, 15, "header"),
        (16, 16, "leaf"),
        (17, 17, "leaf"),
        (18, 18, "leaf"),
    ]


def test_a_part_knows_the_headers_above_it():
    parts = parts_of(TEXT, "python", 1, 18)
    above = {part.first: [parts[place].first for place in part.above] for part in parts}
    assert above[4] == [1]
    assert above[13] == [1, 6, 10]
    assert above[16] == [1, 6, 10, 15]


def test_headers_of_what_encloses_the_lines_come_first():
    parts = parts_of(TEXT, "python", 6, 9)
    assert parts == (
        Part(1, 3, (), "header"),
        Part(6, 6, (0,), "header"),
        Part(7, 9, (0, 1)),
    )


def test_text_that_is_not_parsed_has_lines_without_the_blank_ones():
    assert lines(parts_of("a\n\nb\nc\n", "", 1, 3)) == [(1, 1, "leaf"), (3, 3, "leaf")]


def test_code_that_nests_without_end_is_no_recursion_without_end():
    deep = "".join(f"{' ' * n}if x:\n" for n in range(90)) + " " * 90 + "y\n"
    parts = parts_of(deep, "python", 1, 91)
    assert (parts[0].first, parts[-1].last) == (1, 91)
