"""A story bible read as canon, and the packet of a scene out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxbuild.facts.documents import read
from ctxbuild.select.realm.bible import canon_of
from ctxbuild.select.realm.canon import Knowledge, Name, Secret
from ctxbuild.select.realm.canon_said import chapter_in, chapters_in, statement
from ctxbuild.select.realm.canon_words import category_of, is_name, name_parts
from ctxbuild.select.realm.scene import scene_of
from tests.select.realm.papers import packet

BIBLE = {
    path.name: path.read_text() for path in sorted((Path(__file__).parent / "bible").iterdir())
}


def canon(**files):
    named = {f"{name}.md": text for name, text in files.items()}
    return canon_of({path: read(path, text.encode()).sections for path, text in named.items()})


WHOLE = canon_of({path: read(path, text.encode()).sections for path, text in BIBLE.items()})


# --- the words of a bible -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("titles", "category"),
    [
        (("Cast",), "who"),
        (("Dramatis personae", "Hamlet"), "who"),
        (("Who knows what",), "knows"),
        (("What must not be revealed yet",), "reveals"),
        (("Plot twists",), "reveals"),
        (("Open threads",), "promises"),
        (("Setups and payoffs",), "promises"),
        (("Point of view",), "voice"),
        (("Style guide",), "voice"),
        (("Geography",), "watch"),
        (("Names and titles",), "watch"),
        (("Chronology",), "timeline"),
        (("Chapter 3: The fire",), "timeline"),
        (("Odds and ends",), "notes"),
    ],
)
def test_a_title_says_what_a_section_is_about(titles, category):
    assert category_of(titles) == category


def test_a_files_name_says_it_where_no_title_does():
    assert category_of(("Book one",), "story-timeline") == "timeline"


@pytest.mark.parametrize(
    ("text", "chapters"),
    [
        ("(ch. 3)", [(3, "since")]),
        ("until chapter seven", [(7, "until")]),
        ("Not before Chapter IV.", [(4, "until")]),
        ("revealed in chapter 12", [(12, "until")]),
        ("dead since chapter 2", [(2, "since")]),
        ("learns it in chapter 5", [(5, "until")]),
        ("the third chapter", [(3, "")]),
        ("after scene 4", [(4, "since")]),
        ("nothing here", []),
    ],
)
def test_chapters_are_read_however_they_are_written(text, chapters):
    assert list(chapters_in(text)) == chapters


def test_a_cell_that_is_a_number_is_a_chapter():
    assert [chapter_in(text) for text in ("7", "ch 7", "seven", "soon")] == [7, 7, 7, 0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("that Ivo is her brother (until chapter 7)", "Ivo is her brother"),
        ("Do not reveal before chapter 4 that Pell saw it.", "Pell saw it"),
        ("Emeric forged the seal. Not before chapter 5. Known to Ivo.", "Emeric forged the seal"),
        ("The bell lies under the mole (revealed in chapter 3).", "The bell lies under the mole"),
        ("Nobody but Ivo knows that the lamp was put out until chapter 6", "the lamp was put out"),
        ("Ann killed the mayor; revealed in ch. 9", "Ann killed the mayor"),
        ("Until chapter 8 readers must not learn that the king is dead.", "the king is dead"),
    ],
)
def test_a_statement_is_what_is_left_without_when_and_to_whom(text, said):
    assert statement(text) == said


def test_names_and_what_is_none():
    assert [
        t for t in ("Mara Venn", "Duke of Aal", "Role", "harbour pilot", "Born:") if is_name(t)
    ] == [
        "Mara Venn",
        "Duke of Aal",
        "Role",
    ]
    assert name_parts("Lady Oriel Castane") == ("Oriel", "Castane")


# --- canon --------------------------------------------------------------------------------


def test_characters_places_and_things_are_named_with_their_other_and_wrong_forms():
    names = {name.name: (name.kind, name.aliases, name.wrong) for name in WHOLE.names}
    assert names["Mara Venn"] == ("person", ("the Pilot", "Captain Venn"), ())
    assert names["Lady Oriel Castane"] == ("person", ("Lady Castane", "Oriel"), ("Mrs Castane",))
    assert names["Pell Harrow"] == ("person", (), ())
    assert names["Kessel Lane"] == ("place", (), ())
    assert names["Halcyon"] == ("other", (), ("Halcion",))
    assert sum(kind == "person" for kind, _, _ in names.values()) == 12


def test_secrets_have_their_chapter_and_who_knows_them():
    assert WHOLE.secrets == (
        Secret(
            "Ivo Sarn is Mara's brother",
            "secrets.md#ivo-sarn-is-maras-brother",
            7,
            ("Ivo Sarn", "Sister Ansgard"),
            ("half-brother", "our mother"),
        ),
        Secret(
            "Lady Castane paid for the wreck",
            "secrets.md#lady-castane-paid-for-the-wreck",
            6,
            ("Lady Castane", "Emeric Thole"),
        ),
        Secret(
            "Emeric Thole forged the harbour seal",
            "secrets.md#more@1-3",
            5,
            ("Ivo", "Lady Castane"),
        ),
        Secret("Pell saw the murder of Old Brandt", "secrets.md#more@4", 4),
        Secret("The bell lies under the eastern mole", "secrets.md#more@5", 3),
    )


def test_knowledge_has_who_since_and_until():
    about_mara = [each for each in WHOLE.knowledge if each.who == "Mara Venn"]
    unit = "characters.md#mara-venn"
    assert about_mara == [
        Knowledge("Mara Venn", "the light was put out on purpose", f"{unit}@4", True, 1),
        Knowledge("Mara Venn", "where the ledger is hidden", f"{unit}@4", True, 3),
        Knowledge("Mara Venn", "Ivo Sarn is her brother", f"{unit}@5", False, 0, 7),
        Knowledge("Mara Venn", "who paid for the wreck", f"{unit}@5", False),
    ]


def test_a_bible_may_be_written_in_other_shapes():
    found = canon(
        cast="# Cast\n\n- **Ann Reed** (also called Nan): the cook. Ann does not know that the "
        "well is poisoned until chapter 3.\n- **Bo Lark**: the groom.\n",
        knowledge="# Who knows what\n\n- **Bo Lark**: knows that the well is poisoned; does not "
        "know that Ann wrote the letter (until chapter 4)\n",
        twists="# Twists\n\n| Secret | Known to | Reveal |\n|---|---|---|\n"
        "| The mayor poisoned the well | Bo Lark | 5 |\n",
        spelling="# Spelling\n\n| Right | Wrong |\n|---|---|\n| Lark | Larke, Larc |\n",
    )
    assert found.names == (
        Name("Ann Reed", "person", "cast.md#cast", ("Nan",)),
        Name("Bo Lark", "person", "cast.md#cast", (), ("Larke", "Larc")),
    )
    assert found.secrets == (
        Secret("The mayor poisoned the well", "twists.md#twists@1", 5, ("Bo Lark",)),
    )
    assert [(k.who, k.statement, k.knows, k.until) for k in found.knowledge] == [
        ("Ann", "the well is poisoned", False, 3),
        ("Bo Lark", "the well is poisoned", True, 0),
        ("Bo Lark", "Ann wrote the letter", False, 4),
    ]


def test_prose_without_any_of_it_gives_an_empty_canon():
    assert canon(notes="# Notes\n\nIt rains a lot.\n").names == ()


# --- the scene ----------------------------------------------------------------------------


def test_the_task_says_the_chapter_and_who_is_there():
    scene = scene_of("Chapter 2: Weir reads the warrant against Captain Venn", WHOLE)
    assert (scene.chapter, scene.present) == (2, ("Mara Venn", "Dunstan Weir"))


def test_without_a_name_in_the_task_the_chapter_says_who_is_there():
    scene = scene_of("write chapter one", WHOLE)
    assert scene.chapter == 1
    assert scene.present == ("Mara Venn", "Ivo Sarn", "Pell Harrow", "Halcyon", "The Eastern Mole")


def scene(task="chapter 2: Mara hears the warrant", **options):
    return packet(BIBLE, profile="scene", task=task, **options)


def part(text, title):
    return text.partition(f"## {title}\n\n")[2].partition("\n## ")[0]


def test_a_scene_packet_has_the_parts_that_a_writer_needs():
    text = scene().text
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Voice, point of view and tone",
        "## Watch-outs",
        "## Not to be revealed yet",
        "## Who is who",
        "## Who knows what",
        "## Timeline",
        "## Promises",
        "## Provenance",
    ]
    assert "Wants: her licence back" in part(text, "Who is who")
    assert "Does not know: that Ivo Sarn is her brother (until chapter 7)" in part(
        text, "Who knows what"
    )
    assert "- characters#mara-venn: Mara Venn" in part(text, "Provenance")


def test_what_may_be_told_now_is_no_secret_any_more_and_what_comes_later_is_left_out():
    early, late = scene("chapter 2: Mara"), scene("chapter 7: Mara")
    bell = "The bell lies under the eastern mole"
    assert bell in part(early.text, "Not to be revealed yet")
    assert bell in part(late.text, "Timeline")
    assert "The ledger turns up" not in early.text
    assert "The ledger turns up" in late.text
    later = {(r.unit, r.detail) for r in early.proposal.refused if r.why == "later"}
    assert ("timeline.md#timeline@4", "3") in later


def test_secrets_and_rules_of_voice_outlive_the_rest_in_a_small_budget():
    text = scene(budget=420).text
    assert "Ivo Sarn is Mara's brother" in text
    assert 'Do not use the word "suddenly".' in text
    assert "Kessel Lane" not in text


def test_who_is_not_in_the_scene_comes_last():
    text = scene(budget=900).text
    assert "Harbour pilot, thirty-four." in text
    assert "Hanneke" not in part(text, "Who is who")
    assert "Hanneke" in part(scene().text, "Who is who")


def test_the_canon_stands_in_the_record_for_the_linter():
    record = scene().proposal.record
    assert record["chapter"] == 2
    assert {secret["until"] for secret in record["canon"]["secrets"]} == {3, 4, 5, 6, 7}
    assert "ledger" in {
        w.lower() for each in record["canon"]["ignorance"] for w in each["statement"].split()
    }


def test_documents_without_canon_are_said():
    found = packet({"a.md": "# A\n"}, profile="scene", task="chapter 1")
    assert found.proposal.warnings == ("layer 'docs': its documents hold no canon",)


def test_names_with_more_behind_them_and_a_namesake_and_a_table_with_a_column_for_everybody():
    found = canon(
        bible="""\
# Characters

### Elena Marchetti (protagonist)
- **Knows:** The orchard is dying. Dr. Voss lied about the deed.

### Dr. Henrik Voss, physician

He keeps bees. Goes by "Rik". He knows that the spring is poisoned.

# Who knows what

| Fact | Elena | Voss |
|---|---|---|
| Her father is alive | no (until Ch. 7) | yes |

# Secrets

1. **Elena's father is alive** — reveal: Ch. 7
2. Voss poisoned the spring. Hold back until chapter five.

# Spelling

Sant'Agata (not Santa Agata, not St. Agatha). Tait without an e at the end (never Taite).
"""
    )
    assert [(n.name, n.kind, n.aliases, n.wrong) for n in found.names] == [
        ("Elena Marchetti", "person", (), ()),
        ("Dr. Henrik Voss", "person", ("Rik",), ()),
        ("Sant'Agata", "other", (), ("Santa Agata", "St. Agatha")),
        ("Tait", "other", (), ("Taite",)),
    ]
    assert [(k.who, k.statement, k.knows, k.until) for k in found.knowledge] == [
        ("Elena Marchetti", "The orchard is dying", True, 0),
        ("Elena Marchetti", "Dr. Voss lied about the deed", True, 0),
        ("Dr. Henrik Voss", "the spring is poisoned", True, 0),
        ("Elena", "Her father is alive", False, 7),
        ("Voss", "Her father is alive", True, 0),
    ]
    assert [(s.statement, s.until, s.unit) for s in found.secrets] == [
        ("Elena's father is alive", 7, "bible.md#secrets@1"),
        ("Voss poisoned the spring", 5, "bible.md#secrets@1.2"),
    ]


def test_a_secret_whose_title_asks_or_names_it_says_what_stands_below():
    found = canon(
        bible="# Cast\n\n## Ilse\n\n## Teo\n\n# Secrets\n\n## Who burned the mill\n\n"
        "- Ilse burned the mill.\n- Secret until chapter 8\n\n## The father\n\n"
        "- Teo is Ilse's father.\n- Reveal: chapter 6\n\n"
        "## Teo forged the seal\n\n- Reveal: ch. 4\n"
    )
    assert [(secret.statement, secret.until) for secret in found.secrets] == [
        ("Ilse burned the mill", 8),
        ("Teo is Ilse's father", 6),
        ("Teo forged the seal", 4),
    ]


def test_how_a_name_is_spelled_is_read_without_the_word_that_says_so():
    found = canon(
        places='# Places\n\n- **Port Halden**: a port. Spelled Halden, never Haldan or "Else".\n'
    )
    assert [(name.name, name.wrong) for name in found.names] == [
        ("Port Halden", ("Haldan", "Else"))
    ]


PROSE = """
# Canon notes

The story follows Wen, a clockmaker. Wen does not know that Dov is the duke's son until chapter 7.
The town is Brennick (never Brenick). In chapter 1 the clock stops.
Narration is in third person limited. Wen has promised the mayor a running clock.
"""


def test_a_bible_in_prose_is_sorted_sentence_by_sentence():
    found = packet({"canon.md": PROSE}, profile="scene", task="chapter 4: Wen opens the clock")
    assert found.text.partition("## Provenance")[0] == (
        "# auth\n\n## Voice, point of view and tone\n\n### canon-notes\n"
        "5. Narration is in third person limited.\n\n"
        "## Watch-outs\n\n### canon-notes\n3. The town is Brennick (never Brenick).\n\n"
        "## Who knows what\n\n### canon-notes\n"
        "2. Wen does not know that Dov is the duke's son until chapter 7.\n\n"
        "## Timeline\n\n### canon-notes\n4. In chapter 1 the clock stops.\n\n"
        "## Promises\n\n### canon-notes\n6. Wen has promised the mayor a running clock.\n\n"
        "## Facts\n\n### canon-notes\n1. The story follows Wen, a clockmaker.\n\n"
    )
