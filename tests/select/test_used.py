"""Of a dependency only what the entry uses, each definition under its class header."""

STORE = '''
    """Keeps things."""

    from shop.disk import Disk, Format, Mode


    class Base:
        def size(self) -> int:
            return 0

        def unused(self) -> int:
            return 1


    class Store(Base):
        """A store of values. It lives
        on disk.

        More about it.
        """

        disk: Disk
        form: Format = None
        plain = 3

        def __init__(self, path: str, mode: Mode | None = None) -> None:
            self.disk = Disk(path)

        def save(self, key: str, value: int) -> None:
            """Saves a value."""
            self.disk.put(key, value)

        def load(self, key: str) -> int:
            return self.disk.get(key)


    def open_store(path: str) -> Store:
        return Store(path)


    def unused(a: int) -> int:
        return a
'''
DISK = """
    class Mode: ...


    class Format: ...


    class Disk:
        def put(self, key: str, value: int) -> None: ...

        def get(self, key: str) -> int:
            return 1
"""
APP = '''
    """The application."""

    from shop.store import Store


    def main():
        store = Store("x")
        store.save("total", store.size())
'''
FILES = {"shop/__init__.py": "", "shop/store.py": STORE, "shop/disk.py": DISK, "shop/app.py": APP}

USED = '''\
# shop/store.py
class Base:
    def size(self) -> int: ...
class Store(Base):
    """A store of values. It lives
    on disk.

    More about it.
    """
    disk: Disk
    form: Format = None
    def __init__(self, path: str, mode: Mode | None = None) -> None: ...
    def save(self, key: str, value: int) -> None:
        """Saves a value."""
'''


def test_a_class_is_shown_with_its_fields_its_constructor_and_the_members_that_are_used(
    repository,
):
    repository.write(FILES)
    shown = repository.pack("shop/app.py").section("Used definitions")
    assert shown == USED.replace("\n\n", "\n")


def test_a_constructor_that_is_not_called_is_not_shown(repository):
    app = "from shop.store import Store\n\ndef main(store: Store):\n    store.load('x')\n"
    repository.write({**FILES, "shop/app.py": app})
    shown = repository.pack("shop/app.py", docstrings="none").section("Used definitions")
    assert shown == (
        "# shop/store.py\nclass Store(Base):\n    disk: Disk\n    form: Format = None\n"
        "    def load(self, key: str) -> int: ...\n"
    )


def test_an_inherited_member_stands_under_the_base_that_defines_it(repository):
    app = "from shop.store import open_store\n\ndef main():\n    open_store('x').size()\n"
    repository.write({**FILES, "shop/app.py": app})
    built = repository.pack("shop/app.py", docstrings="none")
    assert built.section("Used definitions") == (
        "# shop/store.py\nclass Base:\n    def size(self) -> int: ...\n"
        "def open_store(path: str) -> Store: ...\n"
    )
    assert built.kinds("shop/store.py::Base") == ["encloses"]


def test_types_in_shown_signatures_are_named_with_their_places(repository):
    repository.write(FILES)
    built = repository.pack("shop/app.py")
    assert built.section("Also in dependencies").splitlines() == [
        "- shop/disk.py::Mode",
        "- shop/disk.py::Format",
        "- shop/disk.py::Disk",
        "- shop/store.py: open_store, unused",
    ]
    assert built.kinds("shop/disk.py::Mode") == ["named-by"]


def test_a_type_is_not_named_when_nothing_that_is_shown_names_it(repository):
    many = "".join(f"    def method_{n}(self, value: Other{n}) -> None: ...\n" for n in range(40))
    types = "".join(f"class Other{n}: ...\n" for n in range(40))
    calls = "".join(f"    wide.method_{n}(None)\n" for n in range(40))
    repository.write(
        {
            "types_.py": types,
            "wide.py": f"from types_ import *\n\nclass Wide:\n{many}",
            "app.py": f"from wide import Wide\n\ndef main(wide: Wide):\n{calls}",
        }
    )
    built = repository.pack("app.py", budget=700)
    kept = {unit for unit, verdict in built.verdicts.items() if verdict.verdict != "dropped"}
    shown = {n for n in range(40) if f"wide.py::Wide.method_{n}" in kept}
    assert 0 < len(shown) < 40
    for n in range(40):
        verdict = built.verdicts[f"types_.py::Other{n}"]
        if verdict.verdict != "dropped":
            assert n in shown
        else:
            assert verdict.why == ("budget" if n in shown else "not-named")


def test_a_statement_that_binds_several_names_is_shown_once(repository):
    repository.write(
        {
            "flags.py": "A, B, C = range(3)\n",
            "app.py": "from flags import A, C\n\ndef main():\n    return A + C\n",
        }
    )
    built = repository.pack("app.py")
    assert built.section("Used definitions") == "# flags.py\nA, B, C = range(3)\n"
    assert built.verdicts["flags.py::C"].verdict == "kept"


def test_a_definition_found_by_its_name_alone_is_marked(repository):
    repository.write(
        {
            "store.py": "class Store:\n    def archive(self, key): ...\n",
            "app.py": "def main(store):\n    store.archive(1)\n",
        }
    )
    built = repository.pack("app.py")
    assert built.section("Used definitions") == (
        "# store.py\nclass Store:\n    # [BY-NAME]\n    def archive(self, key): ...\n"
    )
    assert "archive = store.py::Store.archive [BY-NAME]" in built.section("Open")


TWO = {
    "store.py": (
        "class Disk:\n    def archive(self, key): ...\n\n\n"
        "class Tape:\n    def archive(self, key, slot=0): ...\n"
    ),
    "app.py": "def main(store):\n    store.archive(1)\n",
}


def test_what_may_be_meant_is_shown_from_what_is_left_over_and_marked(repository):
    repository.write(TWO)
    built = repository.pack("app.py")
    assert built.section("Used definitions") == (
        "# store.py\n"
        "class Disk:\n    # [AMBIGUOUS 2]\n    def archive(self, key): ...\n"
        "class Tape:\n    # [AMBIGUOUS 2]\n    def archive(self, key, slot=0): ...\n"
    )
    assert built.section("Open") == "- app.py: archive [AMBIGUOUS 2]\n"


def test_what_may_be_meant_does_not_take_the_place_of_what_is_certain(repository):
    doc = '"""' + "Many words about nothing. " * 12 + '"""'
    repository.write(
        {
            **TWO,
            "sure.py": f"def sure():\n    {doc}\n",
            "app.py": (
                "from sure import sure\n\ndef main(store):\n    sure()\n    store.archive(1)\n"
            ),
        }
    )
    seen = set()
    for budget in range(36, 200, 4):
        text = repository.pack("app.py", budget=budget).text
        seen.add(("Many words" in text, "def archive" in text))
    assert seen == {(False, False), (True, False), (True, True)}


def test_too_many_that_may_be_meant_are_only_counted(repository):
    classes = "".join(f"class C{n}:\n    def archive(self): ...\n" for n in range(4))
    repository.write({**TWO, "store.py": classes})
    built = repository.pack("app.py")
    assert built.section("Used definitions") == ""
    assert built.section("Open") == "- app.py: archive [AMBIGUOUS 4]\n"


def test_docstrings_none_shows_signatures_alone(repository):
    repository.write(FILES)
    shown = repository.pack("shop/app.py", docstrings="none").section("Used definitions")
    assert '"""' not in shown
    assert "def save(self, key: str, value: int) -> None: ..." in shown


def test_docstrings_first_shows_first_sentences(repository):
    repository.write(FILES)
    shown = repository.pack("shop/app.py", docstrings="first").section("Used definitions")
    assert shown.count('"""') == 4
    assert '    """A store of values."""\n' in shown


def test_docstrings_full_shows_them_whole_or_not_at_all(repository):
    repository.write(FILES)
    whole = repository.pack("shop/app.py", docstrings="full")
    assert "More about it." in whole.section("Used definitions")
    for budget in range(120, 330, 15):
        shown = repository.pack("shop/app.py", budget=budget, docstrings="full").text
        assert ("A store of values." in shown) == ("More about it." in shown)


def test_docstrings_auto_climbs_with_the_budget(repository):
    repository.write(FILES)
    texts = [repository.pack("shop/app.py", budget=b).text for b in range(90, 330, 5)]
    parts = ("def save", "A store of values", "More about it")
    climbed = [tuple(part in text for part in parts) for text in texts]
    assert climbed == sorted(climbed)
    assert climbed[-1] == (True, True, True)
    assert (True, False, False) in climbed


def test_bodies_are_bought_only_where_they_are_asked_for(repository):
    repository.write(FILES)
    assert "self.disk.put" not in repository.pack("shop/app.py").text
    shown = repository.pack("shop/app.py", bodies=True).section("Used definitions")
    assert (
        "    def save(self, key: str, value: int) -> None:\n"
        '        """Saves a value."""\n'
        "        self.disk.put(key, value)\n"
    ) in shown


def test_signatures_come_before_docstrings(repository):
    names = [f"function_{n}" for n in range(12)]
    repository.write(
        {
            "lib.py": "".join(f'def {n}():\n    """Some words about {n}."""\n' for n in names),
            "app.py": f"from lib import {', '.join(names)}\n\nprint({', '.join(names)})\n",
        }
    )
    budget = repository.pack("app.py", docstrings="none").plan.tokens
    shown = repository.pack("app.py", budget=budget).section("Used definitions")
    assert shown.count("def ") == 12
