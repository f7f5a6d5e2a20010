"""How sections lead into each other, who outranks whom, and what contradicts."""

from __future__ import annotations

from textwrap import dedent

import pytest

from ctxbuild.facts.document import Document
from ctxbuild.facts.documents import read
from ctxbuild.graph.documents import Navigation, Outline, navigate, related
from ctxbuild.graph.documents_conflicts import Judged, Placed, judge


def documents(files: dict[str, str]) -> dict[str, Document]:
    return {path: read(path, dedent(text).lstrip("\n").encode()) for path, text in files.items()}


def navigation(
    files: dict[str, str], precedence: tuple[tuple[str, ...], ...] = (), others=()
) -> Navigation:
    found = documents(files)
    return navigate(
        {
            path: Outline(each.title, each.front, tuple(s.heading for s in each.sections))
            for path, each in found.items()
        },
        {path: related(each) for path, each in found.items()},
        precedence,
        lambda path: path in others,
    )


def edges(found: Navigation, *kinds: str) -> list[tuple[str, str, str]]:
    return [
        (edge.kind, "#".join(edge.source), "#".join(edge.target))
        for edge in found.edges
        if edge.kind in kinds
    ]


def judged(files: dict[str, str], precedence: tuple[tuple[str, ...], ...] = ()) -> Judged:
    found = documents(files)
    items = [
        Placed(path, item)
        for path, each in found.items()
        for s in each.sections
        for item in s.items
    ]
    return judge(items, navigation(files, precedence))


# --- edges --------------------------------------------------------------------------------


def test_sections_contain_and_link_across_files():
    found = navigation(
        {
            "docs/a.md": """
                # Top
                [b](b.md) [part](sub/c.md#part-two) [up](../README.md) [own](#deep)
                ## Deep
                [site](/docs/b) [raw](b.html#b) [out](https://x.example) [code](../x.py)
                """,
            "docs/b.md": "# B\n",
            "docs/sub/c.md": "# C\n## Part *two*\n[[B]] [[a#Deep]]\n",
            "README.md": "# Readme\n[docs](docs/sub/)\n",
            "docs/sub/index.md": "# Index\n",
        },
        others=("x.py",),
    )
    assert edges(found, "contains")[:2] == [
        ("contains", "docs/a.md#", "docs/a.md#top"),
        ("contains", "docs/a.md#top", "docs/a.md#deep"),
    ]
    assert edges(found, "link") == [
        ("link", "docs/a.md#top", "docs/b.md#"),
        ("link", "docs/a.md#top", "docs/sub/c.md#part-two"),
        ("link", "docs/a.md#top", "README.md#"),
        ("link", "docs/a.md#top", "docs/a.md#deep"),
        ("link", "docs/a.md#deep", "docs/b.md#"),
        ("link", "docs/a.md#deep", "docs/b.md#b"),
        ("link", "docs/sub/c.md#part-two", "docs/b.md#"),
        ("link", "docs/sub/c.md#part-two", "docs/a.md#deep"),
        ("link", "README.md#readme", "docs/sub/index.md#"),
    ]
    assert found.missing == ()


def test_a_link_to_nothing_is_kept_with_what_it_would_lead_to():
    files = {"a.md": "# A\n[x](b.md#new) [y](#new) [z](gone.md)\n", "b.md": "# B\n"}
    assert [(each.target, each.path, each.slug) for each in navigation(files).missing] == [
        ("b.md#new", "b.md", "new"),
        ("#new", "a.md", "new"),
        ("gone.md", "gone.md", ""),
    ]
    files["b.md"] += "## New\n"
    assert ("link", "a.md#a", "b.md#new") in edges(navigation(files), "link")


def test_labels_lead_from_one_document_to_another_if_one_has_them():
    files = {"a.rst": "A\n=\n\nSee :ref:`limits`.\n", "b.rst": ".. _limits:\n\nB\n=\n"}
    assert edges(navigation(files), "link") == [("link", "a.rst#a", "b.rst#b")]


def test_sentences_titles_and_front_matter_relate_sections():
    found = navigation(
        {
            "a.md": """
                ---
                depends_on: b.md
                ---
                # A
                See also [B](b.md#b). This page supersedes [the old one](old.md).
                The Style Guide takes precedence over the Old Rules.
                The section "Tokens" is overridden by this section.
                ## Style Guide
                ## Old Rules
                ## Tokens
                ## See also
                [B](b.md)
                """,
            "b.md": "# B\n",
            "old.md": "# Old\n",
        }
    )
    assert edges(found, "see-also", "depends-on", "supersedes", "overrides") == [
        ("depends-on", "a.md#", "b.md#"),
        ("see-also", "a.md#a", "b.md#b"),
        ("supersedes", "a.md#a", "old.md#"),
        ("overrides", "a.md#style-guide", "a.md#old-rules"),
        ("overrides", "a.md#a", "a.md#tokens"),
        ("see-also", "a.md#see-also", "b.md#"),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "A frame overrides the tokens of its stream.",
        "Settings are superseded by transport parameters.",
        "Keys are replaced by newer keys; see [Tokens](#tokens).",
    ],
)
def test_prose_that_happens_to_have_the_verb_relates_nothing(sentence):
    files = {"a.md": f"# A\n{sentence}\n## Tokens\n## Keys\n## Settings\n"}
    assert edges(navigation(files), "supersedes", "overrides") == []


# --- contradictions -----------------------------------------------------------------------

LAW = "# Law\nClients MUST send the `Date` header.\n"
HABIT = "# Habit\nClients must not send a `Date` header.\n"


def texts(found: Judged) -> list[str]:
    return [each.item.text for each in found.kept]


def test_equals_that_contradict_are_reported_and_both_kept():
    found = judged({"a.md": LAW, "b.md": HABIT})
    assert len(found.kept) == 2
    assert [
        (each.kind, each.about, each.first.path, each.second.path) for each in found.conflicts
    ] == [("modality", "client send date header", "a.md", "b.md")]


@pytest.mark.parametrize(
    ("files", "precedence", "rule"),
    [
        ({"a.md": HABIT, "b.md": LAW}, (("b.md",), ("a.md",)), "precedence"),
        ({"a.md": HABIT, "b.md": LAW}, (("b.md",),), "precedence"),
        ({"a.md": HABIT, "b.md": "---\nprecedence: 2\n---\n" + LAW}, (), "precedence"),
        ({"a.md": HABIT, "b.md": "---\noverrides: a.md\n---\n" + LAW}, (), "overrides"),
        (
            {"a.md": HABIT, "b.md": LAW + "\nThis page overrides [habits](a.md).\n"},
            (("a.md",),),
            "This page overrides [habits](a.md).",
        ),
    ],
)
def test_the_higher_of_two_stands(files, precedence, rule):
    found = judged(files, precedence)
    assert found.conflicts == ()
    assert [
        (each.placed.path, each.by and each.by.path, each.why, each.rule)
        for each in found.overruled
    ] == [("a.md", "b.md", "overruled", rule)]


def test_all_items_of_a_superseded_section_fall_while_the_newer_is_there():
    old = "# Old\nUse XML.\n"
    new = "# New\nThis page supersedes [it](old.md).\n"
    found = judged({"new.md": new, "old.md": old})
    assert [(each.placed.item.text, each.why) for each in found.overruled] == [
        ("Use XML.", "superseded")
    ]
    alone = documents({"old.md": old})["old.md"].sections[0].items
    kept = judge(
        [Placed("old.md", item) for item in alone], navigation({"new.md": new, "old.md": old})
    )
    assert [each.item.text for each in kept.kept] == ["Use XML."]


@pytest.mark.parametrize(
    ("first", "second", "about"),
    [
        ("The page size is 20 items.", "Page size: 50 items", "page size item"),
        ("MAX_RETRIES = 3", "`MAX_RETRIES` is 5.", "max_retries"),
        ("Mara is 34 years old.", "Mara is 35 years old.", "mara years old"),
        (
            "| Name | Default |\n|--|--|\n| MAX_AGE | 60 s |",
            "| Name | Default |\n|--|--|\n| MAX_AGE | 90 s |",
            "max_age default",
        ),
    ],
)
def test_two_values_of_one_constant_contradict(first, second, about):
    found = judged({"a.md": f"# A\n\n{first}\n", "b.md": f"# B\n\n{second}\n"})
    assert [(each.kind, each.about) for each in found.conflicts] == [("value", about)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Clients MUST send it before login.", "Clients MUST NOT send it after login."),
        ("Clients MUST send it.", "Servers MUST NOT send it."),
        ("Clients MUST send it.", "Clients SHOULD send it."),
        ("The limit is 20.", "The limit is 50."),
        ("The page size is 20 items.", "The page size is 20 items."),
        ("The timeout is 3 seconds.", "The timeout is at most 9 seconds."),
        ("If the bit is 1, it is there.", "If the bit is 0, it is not."),
    ],
)
def test_what_only_looks_alike_is_no_contradiction(first, second):
    found = judged({"a.md": f"# A\n\n{first}\n", "b.md": f"# B\n\n{second}\n"})
    assert (found.conflicts, found.overruled) == ((), ())
