"""Whatever a repository holds, the graph ends, repeats itself, and names only what exists."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.graph import chain, reach, uses

PATHS = ("a.py", "b.py", "p/__init__.py", "p/c.py", "p/q/d.py", "src/p/e.py")
MODULES = ("a", "b", "p", "p.c", "p.q.d", "p.e", ".", ".c", "..b", "outside")
NAMES = ("x", "y", "A", "B", "f", "c")

names = st.sampled_from(NAMES)
chains = st.builds(
    lambda head, links: head + "".join(links),
    names,
    st.lists(st.sampled_from((".x", ".f", ".A", "()", "[0]")), max_size=4),
)
statements = st.one_of(
    st.builds("from {} import {}".format, st.sampled_from(MODULES), names),
    st.builds("from {} import *".format, st.sampled_from(MODULES)),
    st.builds("import {}".format, st.sampled_from(("a", "b", "p.c", "p.q.d", "outside"))),
    st.builds("{} = {}".format, names, chains),
    st.builds("{}: '{}' = {}".format, names, names, chains),
    st.builds("for {} in {}: {}".format, names, chains, chains),
    st.builds("with {} as {}: {}".format, chains, names, chains),
    st.builds("def {}({}: {}) -> {}: return {}".format, names, names, names, names, chains),
    st.builds("def {}({}):\n    {}\n    return {}".format, names, names, chains, chains),
    st.builds(
        "class {}({}):\n    x = {}\n    def f(self): self.y = {}; return self.{}".format,
        names,
        names,
        chains,
        chains,
        names,
    ),
    chains,
)
files = st.lists(statements, max_size=7).map(lambda lines: "\n".join([*lines, ""]))
repositories = st.dictionaries(st.sampled_from(PATHS), files, min_size=1)


@given(repositories)
def test_uses_and_reach_end_repeat_and_name_what_exists(tree, repository):
    view = tree(repository)
    again = tree(dict(sorted(repository.items(), reverse=True)))
    for path in sorted(repository):
        found = uses(view, path)
        assert found == uses(again, path)
        for use in found.used:
            assert view.symbol(use.path, use.name) if use.name else view.exists(use.path)
            assert use.references or use.imports
            assert all(each < len(view.references(path)) for each in use.references)
            assert all(each < len(view.imports(path)) for each in use.imports)
        reached = reach(view, (path,))
        assert reached == reach(again, (path,))
        for each in (*reached.direct, *reached.indirect):
            links = chain(view, (path,), each.path)
            assert links[0].path == path
            assert links[-1].target == each.path


@given(repositories, st.sampled_from(PATHS))
def test_an_edit_to_a_file_that_was_not_asked_about_changes_nothing(tree, repository, edited):
    path = min(repository)
    view = tree(repository)
    before = uses(view, path)
    if any(edited in question for question in view.asked):
        return
    if edited not in repository:
        return
    other = tree({**repository, edited: "# nothing\n"})
    if any(view.definers(name) != other.definers(name) for name in NAMES):
        return
    assert uses(other, path) == before
