"""Documents of every format, whole: sections, slugs, places, links, items."""

from __future__ import annotations

from textwrap import dedent

import pytest

from ctxbuild.facts.document import Document
from ctxbuild.facts.documents import read
from ctxbuild.facts.slugs import Slugs


def document(text: str, path: str = "guide.md") -> Document:
    return read(path, dedent(text).lstrip("\n").encode())


def outline(found: Document) -> list[tuple[str, str, int, str]]:
    return [
        (each.slug, each.title, each.heading.level, each.heading.parent) for each in found.sections
    ]


def items(found: Document) -> list[tuple[str, str, str]]:
    return [(each.kind, each.modality, each.text) for s in found.sections for each in s.items]


def links(found: Document) -> list[tuple[str, str, str]]:
    return [(each.target, each.text, each.kind) for s in found.sections for each in s.links]


# --- headings -----------------------------------------------------------------------------


def test_slugs_follow_githubs_rules_also_where_a_number_is_taken():
    slugs = Slugs()
    titles = ["Limits", "Limits-1", "Limits", "Limits", "API: `GET /x` & more!", "Ünder_score", ""]
    assert [slugs.take(title) for title in titles] == [
        "limits", "limits-1", "limits-2", "limits-3", "api-get-x--more", "ünder_score", "-1",
    ]  # fmt: skip


def test_headings_make_sections_with_their_own_text_and_places():
    found = document(
        """
        ---
        title: The Guide
        tags: [a, "b"]
        ---

        Before.

        # One #

        First.

        Two *words*
        -----------
        Second.

        ### Deep {#deep-id}
        # One
        """
    )
    assert outline(found) == [
        ("", "", 0, ""),
        ("one", "One", 1, ""),
        ("two-words", "Two words", 2, "one"),
        ("deep", "Deep", 3, "two-words"),
        ("one-1", "One", 1, ""),
    ]
    assert found.places == ((6, 6), (8, 10), (12, 14), (16, 16), (17, 17))
    assert found.sections[2].text == "Two *words*\n-----------\nSecond."
    assert found.sections[3].heading.titles == ("One", "Two words", "Deep")
    assert found.sections[3].heading.anchors == ("deep-id",)
    assert (found.title, found.meta("tags")) == ("The Guide", ("a", "b"))


def test_a_section_that_moves_stays_equal():
    text = "# A\n\nOne.\n\n# B\n\nYou must [go](#a).\n"
    before, after = document(text), document(text.replace("One.", "One.\n\nMore."))
    assert before.section("b") == after.section("b")
    item = after.sections[1].items[0]
    assert (before.lines_of(item), after.lines_of(item)) == ((7, 7), (9, 9))


def test_front_matter_is_read_flat_in_yaml_and_toml_and_a_rule_is_none():
    yaml = (
        "---\nPrecedence: 3 # high\nsee_also:\n  - a.md\n  - b.md\nnested:\n  key: x\n---\nText.\n"
    )
    assert document(yaml).front == (("precedence", ("3",)), ("see_also", ("a.md", "b.md")))
    toml = '+++\ntitle = "T"\ndepends_on = ["a.md"]\ndraft = true\n[deep]\nx = 1\n+++\nText.\n'
    assert document(toml).front == (
        ("title", ("T",)), ("depends_on", ("a.md",)), ("draft", ("true",)),
    )  # fmt: skip
    assert items(document("---\n\nText.\n\n---\n")) == [("fact", "", "Text.")]


# --- Markdown -----------------------------------------------------------------------------


def test_every_kind_of_link_and_anchor_is_noted():
    found = document(
        """
        # A
        See [one](b.md#x), [two][ref], <https://c.example>, ![img](d.png)
        and {{stream-id}}, {{!RFC2119}}, [[Page#Part|shown]], {ref}`label`.
        <a id="here"></a> <a href="e.md">html</a>

        {: #marked}

        [ref]: f.md
        """
    )
    assert sorted(links(found)) == [
        ("#label", "label", "cross-reference"),
        ("#stream-id", "stream-id", "cross-reference"),
        ("Page#Part", "shown", "cross-reference"),
        ("RFC2119", "RFC2119", "cross-reference"),
        ("b.md#x", "one", "link"),
        ("d.png", "img", "image"),
        ("e.md", "", "link"),
        ("f.md", "two", "link"),
        ("https://c.example", "https://c.example", "auto"),
    ]
    assert [(each.target, each.line) for each in found.sections[0].links][-1] == ("e.md", 3)
    assert found.sections[0].heading.anchors == ("marked", "here")


def test_blocks_are_told_apart():
    found = document(
        """
        # A

        > [!WARNING]
        > Never do it.

        !!! note "Mind"
            You must look.

        :::tip
        Prefer tea.
        :::

        > A quote.

        - item

        1. one
        2. two

        ```py title="x"
        code
        ```

        | A | B |
        |---|---|
        | 1 | 2 |

        Term

        : What it is.

        <div>Text.</div>

        ---
        """
    )
    assert [(each.kind, each.info) for each in found.sections[0].blocks] == [
        ("admonition", "warning"),
        ("admonition", "note"),
        ("admonition", "tip"),
        ("quote", ""),
        ("list", ""),
        ("steps", ""),
        ("code", "py"),
        ("table", ""),
        ("definitions", ""),
        ("html", ""),
        ("rule", ""),
    ]
    assert items(found) == [
        ("constraint", "MUST NOT", "Never do it."),
        ("fact", "", "Mind"),
        ("constraint", "MUST", "You must look."),
        ("constraint", "SHOULD", "Prefer tea."),
        ("fact", "", "A quote."),
        ("fact", "", "item"),
        ("procedure", "", "1. one\n2. two"),
        ("example", "", "code"),
        ("fact", "", "| 1 | 2 |"),
        ("definition", "", "Term\n\n: What it is."),
        ("fact", "", "Text."),
    ]


def test_headings_in_html_are_sections_and_those_in_quotations_only_anchors():
    found = document('<h2 id="x">Raw</h2>\n\n> # Inner\n\nText.\n\n# Inner\n')
    assert outline(found) == [("raw", "Raw", 2, ""), ("inner-1", "Inner", 1, "")]
    assert found.sections[0].heading.anchors == ("x", "inner")


def test_mdx_has_no_indented_code_and_its_modules_and_comments_are_no_text():
    text = (
        'import X from "./x"\nexport const a = 1\n\n# A\n\n{/* You must not see this. */}\n\n'
        "<Tabs>\n    <Tab>You must log in.</Tab>\n</Tabs>\n\n    Indented, you may.\n"
    )
    assert items(document(text, "a.mdx")) == [
        ("constraint", "MUST", "You must log in."),
        ("constraint", "MAY", "Indented, you may."),
    ]


# --- items --------------------------------------------------------------------------------


def test_a_list_carries_what_introduces_it_to_the_first_sentence_of_its_items():
    found = document(
        """
        A client MUST NOT:

        - send a key. Keys are secret.
        - retry, but it MAY wait
        - forward:
            - cookies

        Afterwards it stops.
        """
    )
    kept = [(i.kind, i.modality, i.text, i.lead) for s in found.sections for i in s.items]
    lead = "A client MUST NOT:"
    assert kept == [
        ("constraint", "MUST NOT", lead, ""),
        ("constraint", "MUST NOT", "send a key.", lead),
        ("fact", "", "Keys are secret.", ""),
        ("constraint", "MAY", "retry, but it MAY wait", lead),
        ("constraint", "MUST NOT", "forward:", lead),
        ("constraint", "MUST NOT", "cookies", "forward:"),
        ("fact", "", "Afterwards it stops.", ""),
    ]
    carried = found.sections[0].items[1]
    assert [(k.modality, k.word, k.at) for k in carried.keywords] == [("MUST NOT", "MUST NOT", -1)]


def test_a_sentence_that_binds_is_an_item_of_its_own_wherever_it_stands():
    found = document(
        """
        # Setup

        To log in:

        1. Get a key. You must not share it.
        2. Send it.

        | Field | Rule |
        |-------|------|
        | name  | Required. It should be short. |
        | age   | a number |

        Key
        : A secret. It must rotate.
        """
    )
    kept = [
        (i.ordinal, i.block, i.kind, i.modality, i.text, i.lead, i.term)
        for i in found.sections[0].items
    ]
    steps = "1. Get a key. You must not share it.\n2. Send it."
    header = "| Field | Rule |"
    assert kept == [
        (1, 0, "fact", "", "To log in:", "", ""),
        (2, 1, "procedure", "", steps, "To log in:", ""),
        (3, 1, "constraint", "MUST NOT", "You must not share it.", "To log in:", ""),
        (4, 2, "fact", "", "| name  | Required. It should be short. |", header, ""),
        (5, 2, "constraint", "MUST", "Required.", "name", ""),
        (6, 2, "constraint", "SHOULD", "It should be short.", "name", ""),
        (7, 2, "fact", "", "| age   | a number |", header, ""),
        (8, 3, "definition", "", "Key\n: A secret. It must rotate.", "", "Key"),
        (9, 3, "constraint", "MUST", "It must rotate.", "Key", ""),
    ]


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("**Pack**: what a model reads.", "Pack"),
        ("`limit` — how many.", "limit"),
        ("- **limit** (integer): how many.", "limit"),
        ('"Pack" means an artifact.', "Pack"),
        ("The term pack is defined as an artifact.", "pack"),
        ("Pack refers to an artifact.", "Pack"),
        ("# Pack\n\nPack is an artifact.", "Pack"),
    ],
)
def test_a_definition_names_its_term(text, term):
    found = [(i.kind, i.term) for s in document(text).sections for i in s.items]
    assert found == [("definition", term)]


@pytest.mark.parametrize(
    "text", ["A pack is large.", "https://a.example is it.", "*Very* nice.", "See **this** one."]
)
def test_what_defines_nothing_is_a_fact(text):
    assert [kind for kind, _, _ in items(document(text))] == ["fact"]


def test_what_says_how_to_write_is_marked_as_formatting():
    found = document("Dates are ISO 8601.\n\nNames must be in camelCase.\n\n# Style\n\nBe brief.\n")
    kept = [(i.kind, i.topic, i.text) for s in found.sections for i in s.items]
    assert kept == [
        ("formatting", "formatting", "Dates are ISO 8601."),
        ("constraint", "formatting", "Names must be in camelCase."),
        ("formatting", "formatting", "Be brief."),
    ]


def test_code_is_kept_whole_and_binds_nothing():
    found = document('Send this:\n\n```json\n{\n  "a": "MUST"\n}\n```\n')
    assert [(i.kind, i.text, i.lead, i.language) for i in found.sections[0].items] == [
        ("fact", "Send this:", "", ""),
        ("example", '{\n  "a": "MUST"\n}', "Send this:", "json"),
    ]


def test_lines_that_are_entries_are_items_of_their_own():
    found = document("You must send:\n\nThe key\nA date\n\nUse the key of the\nAPI.\n")
    kept = [(i.text, i.modality, i.lead, i.lines) for s in found.sections for i in s.items]
    assert kept == [
        ("You must send:", "MUST", "", (0, 0)),
        ("The key", "MUST", "You must send:", (2, 2)),
        ("A date", "MUST", "You must send:", (3, 3)),
        ("Use the key of the API.", "", "", (5, 6)),
    ]


def test_the_style_of_an_rfc_is_understood():
    found = document(
        """
        ---
        title: "A Protocol"
        author:
          -
            name: Nobody
        --- abstract

        It is short.

        --- middle

        # Frames {#frames}

        The key words "MUST" and "MAY" are to be interpreted as described
        when, and only when, they appear in all capitals, as shown here.

        A frame MUST be
        acknowledged; see {{acks}}.  It must not hurt.

        ~~~
        MUST in code
        ~~~
        {: #figure title="A frame"}

        --- back
        """
    )
    assert found.title == "A Protocol"
    assert outline(found) == [("", "", 0, ""), ("frames", "Frames", 1, "")]
    assert [each for each in items(found) if each[0] == "constraint"] == [
        ("constraint", "MUST", "A frame MUST be acknowledged; see {{acks}}.")
    ]
    assert found.sections[1].heading.anchors == ("frames", "figure")


def test_sentences_that_relate_sections_are_cues():
    found = document(
        """
        # A
        See also [b](b.md). This page overrides the Old Rules. It depends on [c](c.md).

        ## See also
        - [d](d.md)

        ## Prerequisites
        [e](e.md)
        """
    )
    assert [(c.kind, c.targets) for s in found.sections for c in s.cues] == [
        ("see-also", ("b.md",)),
        ("overrides", ()),
        ("depends-on", ("c.md",)),
        ("see-also", ("d.md",)),
        ("depends-on", ("e.md",)),
    ]


# --- other formats ------------------------------------------------------------------------


def test_restructured_text_is_read_and_reaches_nothing_outside(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("You must not read this.\n")
    found = document(
        f"""
        :precedence: 3

        .. _top:

        =====
        Guide
        =====

        You must read :ref:`limits` and `this <b.rst>`_.

        .. note:: Never share keys.

        .. versionadded:: 2
           It should work.

        .. include:: {secret}
        .. raw:: html
           :file: {secret}

        .. _limits:

        Limits
        ------

        Clients MUST:

        - send a key

        #. first
        #. second

        .. code-block:: python

           print("must")

        ===== =====
        Name  Rule
        ===== =====
        rate  never
        ===== =====
        """,
        "guide.rst",
    )
    assert found.meta("precedence") == ("3",)
    assert outline(found) == [("guide", "Guide", 1, ""), ("limits", "Limits", 2, "guide")]
    assert links(found) == [
        ("#limits", "limits", "cross-reference"), ("b.rst", "this", "link"),
    ]  # fmt: skip
    assert found.sections[1].heading.anchors == ("limits",)
    assert items(found) == [
        ("constraint", "MUST", "You must read :ref:`limits` and `this <b.rst>`_."),
        ("constraint", "MUST NOT", "Never share keys."),
        ("constraint", "SHOULD", "2 It should work."),
        ("constraint", "MUST", "Clients MUST:"),
        ("constraint", "MUST", "send a key"),
        ("procedure", "", "#. first\n#. second"),
        ("example", "", 'print("must")'),
        ("fact", "", "| rate | never |"),
        ("constraint", "MUST NOT", "never"),
    ]


def test_html_is_read_without_its_tags():
    found = document(
        """
        <!doctype html><title>The API</title>
        <nav>You must not see this.</nav>
        <h1 id="top">Guide</h1>
        <p>You must
        log in; see <a href="b.html#x">b</a>.
        <ul><li>never <code>a. B</code><li>always</ul>
        <ol><li>one<li>two</ol>
        <pre><code class="language-sh">a &lt; b
        </code></pre>
        <table><tr><th>Name<th>Rule<tr><td>rate<td>optional</table>
        <dl><dt>Key<dd>A secret.</dl>
        <script>You must not run.</script>
        """,
        "guide.html",
    )
    assert (found.title, outline(found)) == ("The API", [("guide", "Guide", 1, "")])
    assert links(found) == [("b.html#x", "b", "link")]
    assert items(found) == [
        ("constraint", "MUST", "You must log in; see b."),
        ("constraint", "MUST NOT", "never `a. B`"),
        ("constraint", "MUST", "always"),
        ("procedure", "", "1. one\n2. two"),
        ("example", "", "a < b"),
        ("fact", "", "| rate | optional |"),
        ("constraint", "MAY", "optional"),
        ("definition", "", "Key: A secret."),
    ]
    assert found.sections[0].text.startswith("# Guide\n\nYou must log in; see b.\n\n- never")


def test_asciidoc_is_read_by_outline():
    found = document(
        """
        = Guide
        :precedence: 2

        You must read <<limits,the limits>> and xref:b.adoc#x[b].

        [[limits]]
        == Limits

        NOTE: Never share keys.

        [WARNING]
        ====
        Do not do that.
        ====

        [source,python]
        ----
        must()
        ----

        * one
        +
        and more

        . first
        . second

        Key:: A secret.

        |===
        |Name |Rule

        |rate |optional
        |===
        """,
        "guide.adoc",
    )
    assert found.meta("precedence") == ("2",)
    assert outline(found) == [("guide", "Guide", 1, ""), ("limits", "Limits", 2, "guide")]
    assert found.sections[1].heading.anchors == ("limits",)
    assert links(found) == [
        ("#limits", "the limits", "cross-reference"), ("b.adoc#x", "b", "link"),
    ]  # fmt: skip
    assert items(found) == [
        ("constraint", "MUST", "You must read <<limits,the limits>> and xref:b.adoc#x[b]."),
        ("constraint", "MUST NOT", "Never share keys."),
        ("constraint", "MUST NOT", "Do not do that."),
        ("example", "", "must()"),
        ("fact", "", "one"),
        ("fact", "", "and more"),
        ("procedure", "", ". first\n. second"),
        ("definition", "", "Key:: A secret."),
        ("fact", "", "| rate | optional |"),
        ("constraint", "MAY", "optional"),
    ]


def test_plain_text_is_read_by_outline():
    found = document(
        """
        GUIDE

        You must read it.

        1.  Introduction

           o  never here

        1.1.  Details

        Under
        -----

        1. one
        2. two

        Somebody                 [Page 3]
        """,
        "guide.txt",
    )
    assert outline(found) == [
        ("guide", "GUIDE", 1, ""),
        ("1-introduction", "1. Introduction", 1, ""),
        ("11-details", "1.1. Details", 2, "1-introduction"),
        ("under", "Under", 2, "1-introduction"),
    ]
    assert items(found) == [
        ("constraint", "MUST", "You must read it."),
        ("constraint", "MUST NOT", "never here"),
        ("procedure", "", "1. one\n2. two"),
    ]


def test_blocks_of_html_that_share_a_line_stay_apart_and_keep_their_line():
    found = document(
        """
        <h1>API</h1><p>Intro.</p><h2>Keys</h2><p>Keep them.</p><p>Never share.</p><h2>Limits</h2>
        <p>Sixty.</p><ul><li>a</li></ul><pre>x
        y</pre><p>After.</p><h3>More</h3>Loose.
        """,
        "one.html",
    )
    said = [(s.slug, [(b.kind, b.text) for b in s.blocks]) for s in found.sections]
    assert said == [
        ("api", [("paragraph", "Intro.")]),
        ("keys", [("paragraph", "Keep them."), ("paragraph", "Never share.")]),
        ("limits", [("paragraph", "Sixty."), ("list", "- a"), ("code", "```\nx\ny\n```"),
                    ("paragraph", "After.")]),
        ("more", [("paragraph", "Loose.")]),
    ]  # fmt: skip
    assert found.places == ((1, 1), (1, 1), (1, 3), (3, 3))
    assert [item.lines for item in found.sections[2].items] == [(1, 1), (1, 1), (1, 2), (2, 2)]


def test_rows_of_an_asciidoc_table_may_go_over_several_lines():
    found = document(
        """
        = Codes

        |===
        |Code |Meaning

        |413
        |Too large. It must
        be split.

        |415
        |Unknown
        |===

        [%header,cols="1,2*"]
        |===
        |A |B |C
        |a
        |b |c
        |===

        |===
        |left
        |right

        |a
        |b
        |===
        """,
        "codes.adoc",
    )
    assert [(i.text, i.lead) for i in found.sections[0].items if i.kind == "fact"] == [
        ("| 413 | Too large. It must be split. |", "| Code | Meaning |"),
        ("| 415 | Unknown |", "| Code | Meaning |"),
        ("| a | b | c |", "| A | B | C |"),
        ("| left | right |", ""),
        ("| a | b |", ""),
    ]


def test_tags_of_components_are_no_text_in_mdx_and_lead_where_they_say():
    found = document(
        """
        # A

        <Callout type="warning">Never log keys.</Callout>

        <Steps>
        1. Get `<Key>`
        2. Send it
        </Steps>

        <Card href="/b">More</Card>
        """,
        "a.mdx",
    )
    assert items(found) == [
        ("constraint", "MUST NOT", "Never log keys."),
        ("procedure", "", "1. Get `<Key>`\n2. Send it"),
        ("fact", "", "More"),
    ]
    assert links(found) == [("/b", "", "link")]


def test_a_directive_that_names_an_endpoint_keeps_its_method():
    text = "A\n=\n\n.. http:post:: /files\n\n   Sends a file.\n"
    assert items(document(text, "a.rst")) == [
        ("fact", "", "POST /files"), ("fact", "", "Sends a file."),
    ]  # fmt: skip


def test_a_short_no_forbids_where_the_title_promises_rules():
    text = (
        "# A\n\n## House rules\n\n- No emojis.\n- No results found.\n\n## Codes\n\n- No retries.\n"
    )
    assert items(document(text, "a.md")) == [
        ("constraint", "MUST NOT", "No emojis."),
        ("fact", "", "No results found."),
        ("fact", "", "No retries."),
    ]
