"""Definitions: names, kinds, signatures, docstrings, spans, bodies."""

from textwrap import dedent

from ctxbuild.facts import extract
from ctxbuild.model import Facts, Param, Symbol


def facts_of(source: str) -> Facts:
    return extract(dedent(source).encode(), "python")


def names_of(source: str) -> list[tuple[str, str]]:
    return list(facts_of(source).outline.symbols)


def test_a_function_has_its_whole_header_and_docstring():
    source = '''\
    @cache
    @app.route(
        "/x:(y)",  # where
    )
    async def view(
        a, /,
        b: "Foo" = lambda: 1,  # (
        *args: int,
        c=")",
        **kw,
    ) -> dict[str, "Foo"]:  # after
        # before
        """First.

        Second.
        """
        return a
    '''
    facts = facts_of(source)
    assert facts.definitions == (
        Symbol(
            "view",
            "function",
            dedent(source).partition("  # after")[0],
            '"""First.\n\nSecond.\n"""',
            ("cache", 'app.route(\n    "/x:(y)",  # where\n)'),
            (),
            (
                Param("a"),
                Param("b", '"Foo"', default=True),
                Param("*args", "int"),
                Param("c", default=True),
                Param("**kw"),
            ),
            'dict[str, "Foo"]',
        ),
    )
    assert facts.bodies == (dedent(source).rstrip("\n"),)
    assert facts.lines.symbols == ((1, 17, 0, len(dedent(source)) - 1),)


def test_class_members_are_symbols_and_what_is_inside_functions_is_not():
    assert names_of(
        """\
        class A(B, metaclass=M):
            x = 1
            y: int
            z: int = 2
            a, b = 1, 2
            class Inner:
                def deep(self): pass
            def method(self):
                self.attribute = 1
                local = 2
                def nested(): pass
                class Hidden:
                    def lost(self): pass
            @property
            def p(self): ...
            @p.setter
            def p(self, value): ...
            @functools.cached_property
            def q(self): ...
        """
    ) == [
        ("A", "class"),
        ("A.x", "attribute"),
        ("A.y", "attribute"),
        ("A.z", "attribute"),
        ("A.a", "attribute"),
        ("A.b", "attribute"),
        ("A.Inner", "class"),
        ("A.Inner.deep", "method"),
        ("A.method", "method"),
        ("A.p", "property"),
        ("A.p", "property"),
        ("A.q", "property"),
    ]


def test_definitions_under_conditions_and_overloads_repeat_in_order():
    assert names_of(
        """\
        if TYPE_CHECKING:
            LIMIT = 1
        elif sys.version_info > (3, 12):
            def f(): pass
        else:
            def f(): pass
        try:
            import json
            loads = json.loads
        except ImportError:
            def loads(text): pass
        with lock:
            for name in names:
                _CACHE = {}
        @overload
        def g(a: int) -> int: ...
        @overload
        def g(a: str) -> str: ...
        def g(a): return a
        """
    ) == [
        ("LIMIT", "constant"),
        ("f", "function"),
        ("f", "function"),
        ("loads", "variable"),
        ("loads", "function"),
        ("_CACHE", "constant"),
        ("g", "function"),
        ("g", "function"),
        ("g", "function"),
    ]


def test_one_liners_end_where_their_statement_ends():
    facts = facts_of("def f(): pass; x = 1\nclass A: y = 1; z = 2\na = 1; b = 2\n")
    assert [(each.name, each.signature) for each in facts.definitions] == [
        ("f", "def f():"),
        ("A", "class A:"),
        ("A.y", "y = 1"),
        ("A.z", "z = 2"),
        ("a", "a = 1"),
        ("b", "b = 2"),
    ]
    assert facts.bodies == (
        "def f(): pass; x = 1",
        "class A: y = 1; z = 2",
        "y = 1",
        "z = 2",
        "a = 1",
        "b = 2",
    )


def test_long_values_are_left_out_but_the_callee_stays():
    long = "x" * 120
    facts = facts_of(
        f"""\
        NAMES: list[str] = [
            "a",
        ]
        field = models.CharField(
            max_length=1,
        )
        A = B = "{long}"
        chosen = first().second("{long}")
        """
    )
    assert [each.signature for each in facts.definitions] == [
        "NAMES: list[str] = ...",
        "field = models.CharField(...)",
        "A = ...",
        "B = ...",
        "chosen = ...",
    ]


def test_new_syntax_of_type_parameters_and_aliases():
    facts = facts_of(
        """\
        type Pair[T] = tuple[T, T]
        class Box[T: (int, str), *Ts](Base[T]): ...
        def first[T](items: list[T]) -> T: ...
        """
    )
    assert [(each.name, each.kind, each.signature) for each in facts.definitions] == [
        ("Pair", "variable", "type Pair[T] = tuple[T, T]"),
        ("Box", "class", "class Box[T: (int, str), *Ts](Base[T]):"),
        ("first", "function", "def first[T](items: list[T]) -> T:"),
    ]
    assert facts.definitions[1].bases == ("Base[T]",)
    assert facts.problems == ()


def test_bases_leave_keyword_arguments_out():
    (symbol,) = facts_of("class A(B, c.D[int], *rest, metaclass=M, **kw): ...\n").definitions
    assert symbol.bases == ("B", "c.D[int]", "*rest")


def test_tabs_are_dedented_and_comments_at_the_end_do_not_belong_to_a_definition():
    facts = facts_of("class A:\n\tdef f(self):\n\t\tif x:\n\t\t\tpass\n\t\t# end\n\n\tz = 1\n")
    assert facts.bodies[1] == "def f(self):\n\tif x:\n\t\tpass"
    assert facts.lines.symbols[1][:2] == (2, 4)


def test_what_looks_like_a_docstring_is_none():
    facts = facts_of('def f():\n    f"no"\ndef g():\n    b"no"\ndef h():\n    x = 1\n    "no"\n')
    assert [each.docstring for each in facts.definitions] == ["", "", ""]


def test_spans_count_bytes_and_lines_count_from_one():
    facts = facts_of("é = 'ü'\n\nx = 1\n")
    assert facts.lines.symbols == ((1, 1, 0, 9), (3, 3, 11, 16))
    assert facts.lines.total == 3


def test_moving_code_changes_lines_and_nothing_else_of_a_symbol():
    source = "import a\n\ndef f(x):\n    return a.b(x)\n"
    before, after = facts_of(source), facts_of("# one\n# two\n" + source)
    assert before.lines != after.lines
    for part in ("outline", "imports", "definitions", "flows", "references", "bindings", "bodies"):
        assert getattr(before, part) == getattr(after, part)


def test_the_outline_tells_exports_and_summary():
    facts = facts_of(
        '''\
        """Does this. And that.

        More.
        """
        __all__ = ["a", 'b']  # c
        __all__ += ("d",)
        __all__.append("e")
        __all__.extend(["f"])
        '''
    )
    assert facts.outline.exported == ("a", "b", "d", "e", "f")
    assert facts.outline.summary == "Does this."


def test_computed_exports_are_unknown():
    assert facts_of("__all__ = ['a'] + other.__all__\n").outline.exported is None
    assert facts_of("__all__ = ['a']\n__all__ += other\n").outline.exported is None
    assert facts_of("x = 1\n").outline.exported is None
    assert facts_of("__all__ = []\n").outline.exported == ()
