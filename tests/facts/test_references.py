"""References: maximal chains, each with its scope and kind."""

from textwrap import dedent

import pytest

from ctxbuild.facts import extract


def references_of(source: str) -> list[tuple[str, str, str]]:
    facts = extract(dedent(source).encode(), "python")
    return [(each.chain, each.scope, each.kind) for each in facts.references]


def chains_of(source: str) -> list[str]:
    return [chain for chain, _scope, _kind in references_of(source)]


@pytest.mark.parametrize(
    ("source", "chains"),
    [
        ("self.db.connect().cursor", ["self.db.connect().cursor"]),
        ("a.b(c.d(e), key=f)[g].h", ["a.b()[].h", "c.d()", "e", "f", "g"]),
        ('"x".join(names)', ['".join()', "names"]),
        ("[1].append(x)", ["?.append()", "x"]),
        ("super().save()", ["super().save()"]),
        ("(await a.b()).c", ["a.b().c"]),
        ("((a)).b", ["a.b"]),
        ("(a or b).c", ["?.c", "a", "b"]),
        ("a\\\n  .b \\\n  .c()", ["a.b.c()"]),
        ("(\n  a\n  # why. not\n  .b\n)", ["a.b"]),
        ("f'{a.b!r:>{c}} {d()}'", ["a.b", "c", "d()"]),
        ("[x.y for x in z if w]", ["x.y", "z", "w"]),
        ("lambda q: q.r", ["q.r"]),
        ("naïve.café()", ["naïve.café()"]),
        ("f(name=1)", ["f()"]),
        ("'a' 'b'.c", ['".c']),
        ("x[1:y]", ["x[]", "y"]),
    ],
)
def test_chains(source, chains):
    assert chains_of(source + "\n") == chains


def test_kinds_and_scopes():
    assert references_of(
        """\
        @register("x")
        class A(Base[T], other.Mixin):
            field: "models.Field[Choice]" = make()
            @staticmethod
            def f(a: int = LIMIT, *, b: Optional["A"] = None) -> list[Result]:
                if isinstance(a, (Foo, bar.Baz)):
                    obj.attr = a
                try:
                    work()
                except (OSError, err.Mine) as error:
                    print(error)
                return A
        match x:
            case Point(y=1) | geo.Circle():
                pass
            case Color.RED:
                pass
        """
    ) == [
        ("register()", "A", "decorator"),
        ("Base[]", "A", "base"),
        ("T", "A", "read"),
        ("other.Mixin", "A", "base"),
        ("models.Field[]", "A", "annotation"),
        ("Choice", "A", "annotation"),
        ("make()", "A", "call"),
        ("staticmethod", "A.f", "decorator"),
        ("int", "A.f", "annotation"),
        ("LIMIT", "A.f", "read"),
        ("Optional[]", "A.f", "annotation"),
        ("A", "A.f", "annotation"),
        ("list[]", "A.f", "annotation"),
        ("Result", "A.f", "annotation"),
        ("isinstance()", "A.f", "call"),
        ("Foo", "A.f", "guard"),
        ("bar.Baz", "A.f", "guard"),
        ("obj.attr", "A.f", "write"),
        ("work()", "A.f", "call"),
        ("OSError", "A.f", "guard"),
        ("err.Mine", "A.f", "guard"),
        ("print()", "A.f", "call"),
        ("A", "A.f", "read"),
        ("x", "", "read"),
        ("Point", "", "guard"),
        ("geo.Circle", "", "guard"),
        ("Color.RED", "", "read"),
    ]


def test_text_in_annotations_is_read_as_types_but_literals_are_not():
    assert chains_of(
        """\
        a: "Foo | None"
        b: Literal["x", "y"]
        c: Annotated[Bar, "doc"]
        d = cast("pkg.Baz", e)
        def f(g: Callable[["One"], "Two"]): ...
        h = "Not"
        """
    ) == [
        *["Foo", "Literal[]", "Annotated[]", "Bar", "cast()", "pkg.Baz", "e"],
        *["Callable[]", "One", "Two"],
    ]


def test_local_names_alone_are_left_out_and_their_attributes_are_kept():
    assert chains_of(
        """\
        def f(a, b=1):
            c = a
            global d
            d = c
            from lazy import g
            for i in b:
                print(i, a.x, c.y(), d, e, g)
            def inner():
                return a, c, inner
            class Hidden:
                def set(self): return set(), Hidden.x
            return inner().z
        """
    ) == ["print()", "a.x", "c.y()", "d", "e", "g", "set()"]


def test_lines_of_references():
    facts = extract(b"a(\n  b,\n  c.d,\n)\n", "python")
    assert facts.lines.references == (1, 2, 3)
