"""Who uses the entry, and which tests reach it: as slices around the places of use."""

import pytest

from ctxbuild.select.conventions import is_test

FILES = {
    "shop/__init__.py": "",
    "shop/store.py": """
        class Store:
            def save(self, key: str) -> None: ...


        def open_store() -> Store:
            return Store()
    """,
    "shop/app.py": """
        from shop.store import Store, open_store


        class App:
            def __init__(self) -> None:
                self.store = Store()

            def run(self, keys: list[str]) -> None:
                self.count = 0
                self.number = 1
                for key in keys:
                    self.count += 1
                    if key:
                        self.store.save(
                            key,
                        )
                print("done")

            def idle(self) -> None:
                pass
    """,
    "shop/cli.py": """
        from shop.app import App


        def main() -> None:
            App().run([])
    """,
    "shop/other.py": "def nothing() -> None: ...\n",
    "tests/test_store.py": """
        from shop.store import open_store


        def test_saving():
            with open_store() as store:
                assert store


        def test_nothing():
            assert True
    """,
}

APP = """\
# shop/app.py
class App:
    def __init__(self) -> None:
        self.store = Store()
    def run(self, keys: list[str]) -> None:
        ...
        for key in keys:
            ...
            if key:
                self.store.save(
                    key,
                )
"""
CLI = """\
# shop/cli.py
def main() -> None:
    App().run([])
"""
TESTS = """\
# tests/test_store.py
def test_saving():
    with open_store() as store:
"""


def test_dependents_are_not_shown_unless_they_are_asked_for(repository):
    repository.write(FILES)
    built = repository.pack("shop/store.py")
    assert built.section("Dependents") == built.section("Tests") == ""
    assert not any("app.py" in unit for unit in built.verdicts)


def test_a_dependent_is_a_slice_under_the_headers_that_enclose_it(repository):
    repository.write(FILES)
    assert repository.pack("shop/store.py", dependents=1).section("Dependents") == APP


def test_more_steps_show_who_uses_the_dependents(repository):
    repository.write(FILES)
    assert repository.pack("shop/store.py", dependents=2).section("Dependents") == APP + CLI


def test_tests_that_reach_the_entry_are_a_section_of_their_own(repository):
    repository.write(FILES)
    built = repository.pack("shop/store.py", tests=True)
    assert built.section("Tests") == TESTS
    assert built.section("Dependents") == ""


def test_a_focus_has_only_the_dependents_of_its_symbol(repository):
    repository.write(FILES)
    built = repository.pack("shop/store.py::Store.save", dependents=1, tests=True)
    assert "self.store.save(" in built.section("Dependents")
    assert "__init__" not in built.section("Dependents")
    assert built.section("Tests") == ""


def test_what_is_both_a_dependency_and_a_dependent_is_shown_as_both(repository):
    repository.write(
        {
            "a.py": "import b\n\ndef one():\n    return b.two()\n",
            "b.py": "import a\n\ndef two():\n    return a.one()\n",
        }
    )
    built = repository.pack("a.py", dependents=1)
    assert built.section("Used definitions") == "# b.py\ndef two(): ...\n"
    assert built.section("Dependents") == "# b.py\ndef two():\n    return a.one()\n"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/conftest.py", True),
        ("pkg/test_app.py", True),
        ("pkg/app_test.py", True),
        ("django/contrib/auth/tests.py", True),
        ("pkg/testing/tools.py", True),
        ("pkg/contest.py", False),
        ("pkg/latest/app.py", False),
        ("testimony.py", False),
    ],
)
def test_tests_are_known_by_the_conventions_of_their_runners(path, expected):
    assert is_test(path) is expected
