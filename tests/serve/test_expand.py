"""A unit in full with its surroundings: what is shown, and that a limit is a limit."""

from __future__ import annotations

import pytest

from ctxbuild.errors import UsageError
from ctxbuild.pack.tokens import counter
from ctxbuild.serve.expand import LEAST_TOKENS, expand, within
from ctxbuild.serve.lookup import ask
from ctxbuild.serve.toolbox import split

count = counter("o200k_base")
LONG = "class Long:\n    size: int = 0\n" + "".join(
    f"\n    def method_{n}(self) -> int:\n        value = {n}\n        return value + self.size\n"
    for n in range(60)
)


def expanded(project, unit, limit=4_000):
    return ask(project.session(), lambda desk: expand(desk, unit, limit, count))


def test_a_file_comes_whole_with_what_its_definitions_use(built):
    found = expanded(built, "shop/app.py")
    assert found.form == "full"
    assert (built.root / "shop/app.py").read_text() in found.text
    assert found.uses == (
        "shop/prices.py::total",
        "shop/store.py::Store",
        "shop/store.py::Store.save",
        "shop/store.py::Store.size",
    )
    assert found.used_by == ()


def test_who_uses_it_in_its_own_file_counts(built):
    built.put("shop/one.py", "def low():\n    return 1\n\n\ndef high():\n    return low()\n")
    assert expanded(built, "shop/one.py::low").used_by == ("shop/one.py::high",)
    assert expanded(built, "shop/one.py::high").uses == ("shop/one.py::low",)


@pytest.mark.parametrize("limit", [LEAST_TOKENS, 137, 200, 350, 500, 1_000, 4_000])
@pytest.mark.parametrize("unit", ["shop/long.py", "shop/long.py::Long", "shop/store.py::Store"])
def test_the_text_stays_within_every_limit(built, unit, limit):
    built.put("shop/long.py", LONG)
    found = expanded(built, unit, limit)
    assert found.tokens == count([found.text])[0] <= limit


def test_a_class_that_is_too_long_is_shown_as_a_skeleton(built):
    built.put("shop/long.py", LONG)
    found = expanded(built, "shop/long.py::Long", 1_000)
    assert found.form == "skeleton"
    assert "def method_59(self) -> int: ..." in found.text
    assert "value = 59" not in found.text
    cut = expanded(built, "shop/long.py::Long", 200)
    assert cut.form == "cut"
    assert cut.text.startswith("# shop/long.py::Long (lines 1-242, cut)\n")


def test_what_finds_no_room_is_counted(built):
    full = expanded(built, "shop/app.py")
    short = expanded(built, "shop/app.py", 160)
    assert len(short.uses) + short.left_out["uses"] == len(full.uses)
    assert f"Left out for the limit: {short.left_out['uses']} more in `uses`." in short.text


def test_a_fence_in_the_text_does_not_end_it(built):
    built.put("shop/fence.py", 'TEXT = """\n```\n"""\n')
    assert "````python\n" in expanded(built, "shop/fence.py").text


def test_too_low_a_limit_is_refused(built):
    with pytest.raises(UsageError, match="99 tokens are too few"):
        expanded(built, "shop/app.py", 99)


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("a/b.py", "a/b.py"),
        ("./a//b.py", "a/b.py"),
        ("a/../b.py", "b.py"),
        ("/root/of/it/a.py", "a.py"),
        ("..a/b.py", "..a/b.py"),
    ],
)
def test_a_path_is_taken_however_it_is_written(path, inside):
    assert within("/root/of/it", path) == inside


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "/etc/passwd", "/root/of", "a\0b"])
def test_a_path_that_leads_out_is_refused(path):
    with pytest.raises(UsageError, match="lies outside the project"):
        within("/root/of/it", path)


def test_parts_are_the_whole_and_each_within_the_limit():
    text = "".join(f"line {n} {'word ' * (n % 17)}\n" for n in range(200)) + "x" * 3_000
    for limit in (20, 57, 100, 1_000):
        parts = split(text, limit, count)
        assert "".join(parts) == text
        assert all(tokens <= limit for tokens in count(parts))
