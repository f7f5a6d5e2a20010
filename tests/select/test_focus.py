"""A symbol in focus: in full, its file around it, and only what it needs."""

import pytest

from ctxbuild.errors import EntryError

FILES = {
    "app.py": '''
        """The application."""

        from prices import total, unused
        from store import Store

        LIMIT = 10


        class App:
            """Serves requests."""

            def __init__(self, path: str) -> None:
                self.store = Store(path)

            def dispatch(self, request: str) -> int:
                """Answers one request."""
                self.store.save(total([1, 2]))
                return self.check(LIMIT)

            def check(self, value: int) -> int:
                """Is it right?"""
                return unused(value)


        def main() -> None:
            App("x").dispatch("y")
    ''',
    "store.py": "class Store:\n    def save(self, value): ...\n    def load(self): ...\n",
    "prices.py": "def total(prices): ...\ndef unused(value): ...\n",
}

FOCUS = '''\
# app.py
LIMIT = 10
class App:
    """Serves requests."""
    def __init__(self, path: str) -> None: ...
    def dispatch(self, request: str) -> int:
        """Answers one request."""
        self.store.save(total([1, 2]))
        return self.check(LIMIT)
    def check(self, value: int) -> int:
        """Is it right?"""
def main() -> None: ...
'''


def test_a_method_in_focus_stands_in_full_in_the_skeleton_of_its_file(repository):
    repository.write(FILES)
    assert repository.pack("app.py::App.dispatch").section("Focus") == FOCUS


def test_only_what_the_focus_needs_is_shown_of_other_files(repository):
    repository.write(FILES)
    assert repository.pack("app.py::App.dispatch").section("Used definitions") == (
        "# prices.py\ndef total(prices): ...\n"
        "# store.py\nclass Store:\n    def save(self, value): ...\n"
    )


def test_what_the_focus_needs_of_its_own_file_comes_before_the_rest(repository):
    repository.write(FILES)
    least = repository.pack("app.py::App.dispatch", docstrings="none")
    for budget in range(120, least.plan.tokens):
        built = repository.pack("app.py::App.dispatch", budget=budget, docstrings="none")
        focus = built.section("Focus")
        if "def main" in focus or "def __init__" in focus:
            assert "def check" in focus
            break
    else:
        pytest.fail("no budget showed anything around the focus")


def test_a_class_in_focus_stands_in_full(repository):
    repository.write(FILES)
    focus = repository.pack("app.py::App").section("Focus")
    assert "        return unused(value)\n" in focus
    assert focus.endswith("def main() -> None: ...\n")
    assert focus.count("def dispatch") == 1


def test_a_focus_inside_another_is_part_of_it(repository):
    repository.write(FILES)
    both = repository.pack("app.py::App.dispatch", "app.py::App").section("Focus")
    assert both == repository.pack("app.py::App").section("Focus")


def test_a_file_that_is_an_entry_as_a_whole_has_no_focus(repository):
    repository.write(FILES)
    built = repository.pack("app.py", "app.py::App.dispatch")
    assert built.section("Focus") == ""
    assert "def main() -> None:\n    App" in built.text


def test_an_unknown_symbol_is_named_with_what_was_probably_meant(repository):
    repository.write(FILES)
    with pytest.raises(EntryError, match=r"no symbol 'App.dispach'") as caught:
        repository.pack("app.py::App.dispach")
    assert "app.py::App.dispatch" in str(caught.value.hint)
