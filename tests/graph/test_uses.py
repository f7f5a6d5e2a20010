"""What a file uses: types of chains, names looked up, and what stays open."""

from __future__ import annotations

from textwrap import dedent

import pytest

from ctxbuild.graph import types_in, uses
from ctxbuild.graph.uses import Open, Use

LIBRARY = """
    from __future__ import annotations
    import contextlib
    import dataclasses
    import enum
    import functools
    import typing as t
    from collections.abc import Iterable, Iterator
    from contextvars import ContextVar
    from typing import Generic, NamedTuple, Self, TypeVar

    class Cursor:
        def fetch(self): ...

    class Base:
        def save(self) -> None: ...
        def me(self) -> Self: ...
        def same(self):
            return self
        @property
        def cursor(self) -> Cursor: ...
        @functools.cached_property
        def slow_cursor(self):
            return Cursor()

    class Store(Base):
        size: int = 0
        main_cursor: Cursor
        shared = Cursor()
        def __init__(self, cursor: Cursor):
            self.given = cursor
            self.noted: Cursor | None = None
        def prepare(self):
            self.prepared = Cursor()
        def __enter__(self) -> Store: ...
        def __exit__(self, *a): ...
        def __iter__(self) -> Iterator[Cursor]: ...
        def __call__(self) -> Cursor: ...
        def __getitem__(self, key) -> Cursor: ...
        @classmethod
        def load(cls) -> Store: ...
        @classmethod
        def build(cls):
            return cls()
        @staticmethod
        def other() -> Cursor: ...
        def save(self) -> None:
            super().save()

    @dataclasses.dataclass
    class Config:
        store: Store
        stores: list[Store]
        table: dict[str, Store]
        maybe: t.Optional["Store"] = None

    class Point(NamedTuple):
        store: Store

    class Color(enum.Enum):
        RED = 1
        def paint(self): ...

    def connect() -> Store: ...
    def inferred():
        store = Store(Cursor())
        return store
    def both(flag) -> Store | Cursor: ...
    def kind() -> type[Store]: ...
    def all_stores() -> Iterable[Store]: ...
    def pairs() -> dict[str, Store]: ...
    def generated():
        yield Store(Cursor())
    @contextlib.contextmanager
    def opened():
        yield Store(Cursor())
    @functools.lru_cache(maxsize=None)
    def cached() -> Store: ...
    def wraps(f):
        @functools.wraps(f)
        def inner(*a): ...
        return inner
    @wraps
    def wrapped() -> Store: ...
    async def later() -> Store: ...
    T = TypeVar("T", bound=Base)
    def passed(x: T) -> T: ...
    Stores = list[Store]
    def aliased() -> Stores: ...
    class Box(Generic[T]):
        def store(self) -> Store: ...
    default = Store(Cursor())
    annotated: Store = make()
    Alias = Store
    V = TypeVar("V")
    class Holder(Generic[V]):
        def held(self) -> V: ...
        def all(self) -> list[V]: ...
    class StoreHolder(Holder[Store]): ...
    class Table(dict[str, Store]): ...
    class Lazy:
        def __get__(self, instance, owner) -> Store: ...
    class WithLazy:
        store = Lazy()
    current: ContextVar[Store] = ContextVar("current")
    def documented(x):
        '''Give a store.

        :param Store x: a store
        :rtype: Store
        '''
    Callback = t.Callable[[int], Store]
    def callback() -> Callback: ...
    def nothing() -> None: ...
"""


def used(tree, source, library=LIBRARY):
    """Names of the library that the source uses, without mere imports and classes passed by."""
    files = {"main.py": source, "lib.py": library}
    found = uses(tree(files), "main.py").used
    return [use.name for use in found if use.path == "lib.py" and use.kinds != ("import",)]


@pytest.mark.parametrize(
    "body",
    [
        "x = Store(c)\nx.save()",
        "Store(c).save()",
        "connect().save()",
        "x = connect()\ny = x\ny.save()",
        "inferred().save()",
        "both(1).save()",
        "cached().save()",
        "wrapped().save()",
        "kind()().save()",
        "Store.load().save()",
        "Store.build().save()",
        "Store(c).me().save()",
        "Store(c).same().save()",
        "Alias(c).save()",
        "default.save()",
        "annotated.save()",
        "for x in all_stores():\n    x.save()",
        "for x in generated():\n    x.save()",
        "for k, x in pairs().items():\n    x.save()",
        "for x in pairs().values():\n    x.save()",
        "pairs()['a'].save()",
        "pairs().get('a').save()",
        "[x.save() for x in all_stores()]",
        "for x in aliased():\n    x.save()",
        "with connect() as x:\n    x.save()",
        "with opened() as x:\n    x.save()",
        "async def f():\n    (await later()).save()",
        "async def f():\n    x = await later()\n    x.save()",
        "def f(x: Store): x.save()",
        "def f(x: 'Store'): x.save()",
        "def f(x: Store | None = None): x.save()",
        "def f(x: t.Optional[Store]): x.save()",
        "def f(*x: Store): x[0].save()",
        "def f(**x: Store): x['a'].save()",
        "def f(x: type[Store]): x(c).save()",
        "def f(x: list[Store]): x[0].save()",
        "def f(x: list[Store]): x.pop().save()",
        "def f(x):\n    if isinstance(x, Store): x.save()",
        "def f(x):\n    if isinstance(x, (int, Store)): x.save()",
        "def f(x: Config): x.store.save()",
        "def f(x: Config): x.stores[0].save()",
        "def f(x: Config): x.table['a'].save()",
        "def f(x: Config): x.maybe.save()",
        "def f(x: Point): x.store.save()",
        "def f(x: Box[int]): x.store().save()",
        "def f(x):\n    match x:\n        case Store() as y: y.save()",
        "class A:\n    def __init__(self): self.s = Store(c)\n    def f(self): self.s.save()",
        "class A:\n    s: Store\n    def f(self): self.s.save()",
        "class A:\n    def g(self) -> Store: ...\n    def f(self): self.g().save()",
        "class A(Store):\n    def f(self): self.save()",
        "class A(Store):\n    def f(self): super().save()",
        "class A(Store):\n    @classmethod\n    def f(cls): cls.load().save()",
        "def f(x):\n    def g(y: Store): y.save()",
        "if (x := connect()): x.save()",
        "a, b = connect(), 1\na.save()",
        "callback()(1).save()",
        "def f(x: Holder[Store]): x.held().save()",
        "def f(x: Holder[Store]): x.all()[0].save()",
        "StoreHolder().held().save()",
        "Table()['a'].save()",
        "Table().get('a').save()",
        "for x in Table().values(): x.save()",
        "WithLazy().store.save()",
        "current.get().save()",
        "documented(1).save()",
        "def f(x):\n    ':type x: lib.Store'\n    x.save()",
        "def f():\n    from lib import connect as k\n    k().save()",
    ],
)
def test_save_finds_the_class_that_defines_it(tree, body):
    source = f"import typing as t\nfrom lib import *\nimport lib\n{body}\n"
    assert "Store.save" in used(tree, source)


@pytest.mark.parametrize(
    "body",
    [
        "Store(c).cursor.fetch()",
        "Store(c).slow_cursor.fetch()",
        "Store(c).main_cursor.fetch()",
        "Store(c).shared.fetch()",
        "Store(c).given.fetch()",
        "Store(c).noted.fetch()",
        "Store(c).prepared.fetch()",
        "for x in Store(c): x.fetch()",
        "Store(c)().fetch()",
        "Store(c)['a'].fetch()",
        "Store.other().fetch()",
        "Store.load().me().cursor.fetch()",
        "import lib as l\nl.default.cursor.fetch()",
        "class A:\n    def f(self):\n        self.x = connect()\n        self.x.cursor.fetch()",
        "class A(Store):\n    def f(self): self.cursor.fetch()",
    ],
)
def test_fetch_is_found_through_attributes_properties_and_calls(tree, body):
    source = f"from lib import *\n{body}\n"
    assert "Cursor.fetch" in used(tree, source)


@pytest.mark.parametrize(
    "body",
    [
        "passed(Store(c)).save()",
        "def f(x: T): x.save()",
        "Base().save()",
        "class A(Base):\n    def f(self): self.save()",
        "class A(Base): ...\nA().save()",
    ],
)
def test_an_inherited_method_is_that_of_the_base(tree, body):
    found = used(tree, f"from lib import *\n{body}\n")
    assert "Base.save" in found
    assert "Store.save" not in found


def test_a_member_of_an_enumeration_is_an_instance(tree):
    assert "Color.paint" in used(tree, "from lib import Color\nColor.RED.paint()")
    assert "Color.paint" in used(tree, "from lib import Color\nfor c in Color: c.paint()")
    assert "Color.paint" in used(tree, "from lib import Color\nColor['RED'].paint()")


@pytest.mark.parametrize(
    "body",
    [
        '"a".save()',
        "import os\nos.save()",
        "import os\nos.path.join('a').save()",
        "def f(x: str): x.save()",
        "def f(x: dict[str, int]): x.save()",
        "def f(x: list): x.save()",
        "open('x').save()",
        "class A(Outside):\n    def f(self): self.save()",
        "len.save()",
    ],
)
def test_what_is_external_is_not_ours(tree, body):
    source = f"from outside import Outside\n{body}\n"
    found = uses(tree({"main.py": source, "lib.py": LIBRARY}), "main.py")
    assert [use for use in found.used if use.path == "lib.py"] == []
    assert (found.unresolved, found.ambiguous) == ((), ())


def test_a_whole_answer(tree):
    files = {
        "main.py": """
            import os
            from lib import Store
            from lib import gone
            from . import nothing
            store = Store()
            store.save()
            def f(x):
                x.fetch_row()
                x.save()
                x.append(1)
                x.never()
                x.startswith(1)
            os.getcwd()
        """,
        "lib.py": """
            class Store:
                def save(self): ...
            class Other:
                def save(self): ...
                def append(self): ...
                def fetch_row(self): ...
        """,
    }
    found = uses(tree(files), "main.py")
    assert (
        found.used
        == (
            Use("lib.py", "Other.fetch_row", ("call",), (2,), (), certain=False),
            Use("lib.py", "Store", ("call", "import"), (0,), (1,)),
            Use("lib.py", "Store.save", ("call",), (1,)),
            Use("main.py", "store", ("part",), (1,)),
        )
        or found.used == ()
    )
    assert found.external == ("os",)
    assert [(each.name, each.candidates) for each in found.unresolved] == [
        (".nothing", ()),
        ("lib.gone", ()),
        ("never", ()),
    ]
    assert [(each.name, each.candidates) for each in found.ambiguous] == [
        ("append", (("lib.py", "Other.append"),)),
        ("save", (("lib.py", "Other.save"), ("lib.py", "Store.save"))),
    ]


def test_what_a_class_overrides_is_used_by_the_reference_to_its_base(tree):
    files = {
        "main.py": "from lib import A\nclass B(A):\n    def f(self): ...\n    def g(self): ...",
        "lib.py": "class Root:\n    def f(self): ...\nclass A(Root): ...",
    }
    found = [use for use in uses(tree(files), "main.py").used if use.name != "A"]
    assert found == [Use("lib.py", "Root.f", ("override",), (0,))]


def test_a_property_of_a_base_is_used_where_it_is_set(tree):
    library = """
        class A:
            @property
            def x(self): ...
            @x.setter
            def x(self, value): ...
    """
    found = used(tree, "from lib import A\nclass B(A):\n    def f(self): self.x = 1", library)
    assert "A.x" in found


def test_a_name_that_objects_of_python_have_too_is_never_taken_by_name(tree):
    files = {"main.py": "def f(x): x.append(1)", "lib.py": "class A:\n    def append(self): ..."}
    found = uses(tree(files), "main.py")
    assert found.used == ()
    assert found.ambiguous == (Open("append", (("lib.py", "A.append"),), (0,), common=True),)


def test_focus_counts_only_what_stands_inside(tree):
    files = {
        "main.py": """
            from lib import a, b, c, d
            class K(c):
                @d
                def f(self):
                    a()
                def g(self):
                    b()
        """,
        "lib.py": "def a(): ...\ndef b(): ...\nclass c: ...\ndef d(f): ...",
    }
    view = tree(files)
    names = [use.name for use in uses(view, "main.py", ("K.f",)).used]
    assert names == ["a", "d"]
    names = [use.name for use in uses(view, "main.py", ("K",)).used if use.path == "lib.py"]
    assert names == ["a", "b", "c", "d"]


def test_a_missing_attribute_of_our_module_is_unresolved_and_not_looked_up(tree):
    files = {
        "main.py": "import lib\nlib.save()",
        "lib.py": "x = 1",
        "o.py": "class A:\n  def save(self): ...",
    }
    found = uses(tree(files), "main.py")
    assert found.unresolved == (Open("lib.py::save", (), (0,)),)
    assert [(use.path, use.name) for use in found.used] == [("lib.py", "")]


def test_dynamic_attributes_are_named(tree):
    files = {
        "main.py": "from lib import odd, K\nodd()\nK().anything()",
        "lib.py": "def __getattr__(n): ...\nclass K:\n    def __getattr__(self, n): ...",
    }
    found = uses(tree(files), "main.py")
    assert found.dynamic == ("anything", "lib.odd")
    assert (found.unresolved, found.ambiguous) == ((), ())


def test_recursion_in_types_ends(tree):
    source = """
        def a(): return b()
        def b(): return a()
        class K:
            def __init__(self): self.x = self.x.x
            def f(self): return self.f().f()
        x = x.y
        A = list["A"]
        def g(x: A): x[0][0].never()
        K().x.x.never()
        a().never()
        x.never()
        x = x()
    """
    found = uses(tree({"main.py": source}), "main.py")
    assert [each.name for each in found.unresolved] == ["never"]


def test_long_chains_and_many_bindings_end(tree):
    source = "class A:\n    def n(self): return self\nx = A()\n"
    source += "x" + ".n()" * 3000 + "\n"
    source += "".join(f"v{i} = v{i + 1}.n()\n" for i in range(800)) + "v800 = A()\nv0.n()\n"
    names = {use.name for use in uses(tree({"main.py": source}), "main.py").used}
    assert {"A", "A.n"} <= names


def test_deep_code_is_no_recursion_error(tree):
    source = "class C0:\n    def m(self): return self.n\n"
    for number in range(1, 300):
        source += f"class C{number}(C{number - 1}):\n    def m(self): return super().m()\n"
        source += f"def f{number}(): return f{number + 1}().m() or C{number}()\n"
        source += f"A{number} = list['A{number + 1} | C{number}']\n"
    source += "f1().m().m()\ndef g(x: A1): x[0][0][0].m()\nC299().m()\n"
    names = {use.name for use in uses(tree({"main.py": source}), "main.py").used}
    assert {"C299", "C299.m", "f1", "A1"} <= names


def test_code_that_branches_without_end_is_cut_short(tree):
    source = "".join(
        f"def f{number}(a):\n"
        + "".join(
            f"    if a: return f{(number * 7 + other) % 20}().x{other}\n" for other in range(6)
        )
        for number in range(20)
    )
    source += "".join(f"f{number}().never()\n" for number in range(20))
    found = uses(tree({"main.py": source}), "main.py")
    assert [each.name for each in found.unresolved] == ["never"]


def test_the_types_of_a_signature_are_found_in_its_own_module(tree):
    files = {
        "lib.py": """
            from types_here import A as Z, B, deco
            from outside import Far
            import types_here as th
            class K(B[int]):
                @deco(1)
                def f(self, x: "Z | None", *y: th.C, z: Far = 1) -> dict[str, "list[K]"]: ...
        """,
        "types_here.py": "class A: ...\nclass B: ...\nclass C: ...\ndef deco(n): ...",
    }
    view = tree(files)
    (symbol,) = view.symbol("lib.py", "K.f")
    assert types_in(view, "lib.py", symbol) == (
        ("types_here.py", "deco"),
        ("types_here.py", "A"),
        ("types_here.py", "C"),
        ("lib.py", "K"),
    )
    (symbol,) = view.symbol("lib.py", "K")
    assert types_in(view, "lib.py", symbol) == (("types_here.py", "B"),)


def test_a_body_that_is_not_needed_is_not_asked_for(tree):
    view = tree({"main.py": "from lib import connect\nconnect().save()", "lib.py": LIBRARY})
    uses(view, "main.py")
    assert not {each for each in view.asked if each[:2] == ("bindings", "lib.py")}
    assert ("references", "lib.py") not in view.asked
    assert ("outline", "lib.py") not in view.asked


def test_the_same_file_gives_the_same_answer_in_every_order_of_asking(tree):
    files = {"main.py": dedent(LIBRARY) + "default.cursor.fetch()\n", "lib.py": LIBRARY}
    assert uses(tree(files), "main.py") == uses(tree(dict(reversed(files.items()))), "main.py")
