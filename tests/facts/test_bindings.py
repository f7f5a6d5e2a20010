"""Bindings and flows: what names may be."""

from textwrap import dedent

from ctxbuild.facts import extract
from ctxbuild.model import Binding, Facts, Flow


def facts_of(source: str) -> Facts:
    return extract(dedent(source).encode(), "python")


def test_every_way_to_bind_a_name():
    facts = facts_of(
        """\
        top = Thing()
        def f(self, a: int, b=1, c=None, *args: str, **kw):
            d = e = make(a).get
            g: Foo = None
            h, (i, *j) = pair()
            k, m = One(), two
            if (n := await load()):
                pass
            with open(x) as o, lock:
                pass
            for p, q in items.all():
                pass
            [r for r in rows]
            s = t if u else (v or w())
            if isinstance(a, Foo | bar.Baz):
                pass
            try:
                pass
            except (E1, E2) as error:
                pass
            match a:
                case Point(x=px) as whole:
                    pass
            z = lambda y: y
            global glob
            glob = 1
        """
    )
    assert facts.bindings == (
        Binding("top", ("Thing()",)),
        Binding("a", (), "int", "f", "param"),
        Binding("b", (), "", "f", "param"),
        Binding("c", (), "", "f", "param"),
        Binding("args", (), "str", "f", "param"),
        Binding("d", ("make().get",), "", "f"),
        Binding("e", ("make().get",), "", "f"),
        Binding("g", (), "Foo", "f"),
        Binding("h", ("pair()[]",), "", "f"),
        Binding("i", ("pair()[][]",), "", "f"),
        Binding("j", ("pair()[]",), "", "f"),
        Binding("k", ("One()",), "", "f"),
        Binding("m", ("two",), "", "f"),
        Binding("n", ("load()",), "", "f"),
        Binding("o", ("open()",), "", "f", "with"),
        Binding("p", ("items.all()[][]",), "", "f", "for"),
        Binding("q", ("items.all()[][]",), "", "f", "for"),
        Binding("r", ("rows[]",), "", "f", "for"),
        Binding("s", ("t", "v", "w()"), "", "f"),
        Binding("a", ("Foo", "bar.Baz"), "", "f", "guard"),
        Binding("error", ("E1", "E2"), "", "f", "except"),
        Binding("px", (), "", "f", "match"),
        Binding("whole", ("Point",), "", "f", "match"),
        Binding("z", (), "", "f"),
        Binding("y", (), "", "f", "param"),
        Binding("glob", (), "", ""),
    )


def test_attributes_of_self_are_bound_and_flow_into_the_class():
    facts = facts_of(
        """\
        class A:
            default = Thing()
            def __init__(this, db: Db):
                this.db = db
                this.cache: dict[str, int] = {}
                other.x = 1
                def later():
                    this.db = Other()
            def reset(self):
                self.db, self.n = Fresh(), count()
                return self.db
        """
    )
    assert [each for each in facts.bindings if each.target.startswith("self.")] == [
        Binding("self.db", ("db",), "", "A.__init__"),
        Binding("self.cache", (), "dict[str, int]", "A.__init__"),
        Binding("self.db", ("Other()",), "", "A.__init__.later"),
        Binding("self.db", ("Fresh()",), "", "A.reset"),
        Binding("self.n", ("count()",), "", "A.reset"),
    ]
    assert facts.flows == (
        (
            "A",
            Flow(
                attributes=(
                    ("db", ("db", "Other()"), "A.__init__", ""),
                    ("cache", (), "A.__init__", "dict[str, int]"),
                    ("db", ("Fresh()",), "A.reset", ""),
                    ("n", ("count()",), "A.reset", ""),
                )
            ),
        ),
        ("A.reset", Flow(returns=("self.db",))),
        ("A.default", Flow(values=("Thing()",))),
    )


def test_what_functions_return_and_yield():
    facts = facts_of(
        """\
        def f(x):
            if x:
                return Foo(x)
            elif y:
                return None or bar.baz
            def inner():
                return Inner
            return "text"
        def g():
            yield One()
            yield from many()
        x = f
        x = g()
        """
    )
    assert facts.flows == (
        ("f", Flow(returns=("Foo()", "bar.baz", '"'))),
        ("f.inner", Flow(returns=("Inner",))),
        ("g", Flow(returns=("*One()", "many()"))),
        ("x", Flow(values=("f", "g()"))),
    )
