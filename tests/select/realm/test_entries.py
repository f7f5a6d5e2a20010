"""Items of a section put together to the entries of a packet."""

from __future__ import annotations

from ctxbuild.facts.documents import read
from ctxbuild.select.realm.entries import entries


def made(text, slug="s", chosen=None):
    section = read("a.md", f"# S\n\n{text}\n".encode()).section(slug)
    return [(e.kind, e.modality, e.rendered) for e in entries(section, chosen)]


def test_a_binding_sentence_stands_alone_and_the_rest_of_its_paragraph_together():
    assert made("Keys are long. You must keep them secret. They expire. They can be renewed.") == [
        ("fact", "", "1,3-4. Keys are long. They expire. They can be renewed.\n"),
        ("constraint", "MUST", "2. [MUST] You must keep them secret.\n"),
    ]


def test_a_keyword_in_capitals_is_not_said_twice():
    assert made("Clients MUST NOT retry.") == [
        ("constraint", "MUST NOT", "1. Clients MUST NOT retry.\n")
    ]


def test_a_lead_that_binds_is_part_of_every_point_and_stands_nowhere_else():
    assert made("A client MUST:\n\n- send a key\n- use TLS") == [
        ("constraint", "MUST", "2. A client MUST: send a key\n"),
        ("constraint", "MUST", "3. A client MUST: use TLS\n"),
    ]


def test_points_of_a_list_stand_as_they_are_written_under_what_introduces_them():
    assert made("The plans are:\n\n* free\n* paid\n  every month") == [
        ("fact", "", "2-3.\nThe plans are:\n* free\n* paid\n  every month\n")
    ]


def test_a_binding_point_is_taken_out_of_its_list():
    assert made("- store keys\n- never log keys\n- rotate keys") == [
        ("fact", "", "1,3.\n- store keys\n- rotate keys\n"),
        ("constraint", "MUST NOT", "2. [MUST NOT] never log keys\n"),
    ]


def test_steps_stay_whole():
    text = "1. Get a key.\n2. You must store it.\n3. Send it."
    assert [each for each in made(text) if each[0] == "procedure"] == [
        ("procedure", "", f"1.\n{text}\n")
    ]


def test_code_stands_in_its_own_fence_with_what_introduces_it():
    assert made("Send it:\n\n```http\nGET /a\n```") == [
        ("example", "", "2.\nSend it:\n```http\nGET /a\n```\n")
    ]


def test_rows_of_a_table_share_its_header():
    assert made("| code | means |\n|---|---|\n| 200 | fine |\n| 404 | missing |") == [
        ("fact", "", "1-2.\n| code | means |\n|---|---|\n| 200 | fine |\n| 404 | missing |\n")
    ]


def test_single_items_are_chosen_by_their_ordinals():
    assert made("- store keys\n- never log keys\n- rotate keys", chosen=frozenset({3})) == [
        ("fact", "", "3. - rotate keys\n")
    ]


def test_no_entries_where_there_is_nothing():
    assert made("## Below") == []


def test_what_binds_in_a_row_says_of_what_and_the_row_stays():
    header = "| Field | Type | Rule |\n|---|---|---|"
    rows = (
        "| sku | text | Must be unique. Never reuse it. |\n"
        "| tag | text | optional |\n| note | Keep short. |\n"
    )
    assert made(f"{header}\n{rows}") == [
        ("fact", "", f"1,4,6.\n{header}\n{rows}"),
        ("constraint", "MUST", "2. [MUST] sku: Must be unique.\n"),
        ("constraint", "MUST NOT", "3. [MUST NOT] sku: Never reuse it.\n"),
        ("constraint", "MAY", "5. [MAY] tag: optional\n"),
    ]


def test_a_row_that_its_rule_says_whole_is_not_said_twice():
    assert made("| Code | Rule |\n|---|---|\n| 400 | Do not retry. |") == [
        ("constraint", "MUST NOT", "2. [MUST NOT] 400: Do not retry.\n")
    ]


def test_a_lead_that_binds_is_kept_where_its_points_bind_by_themselves():
    assert made("All of these must hold:\n\n- It must be new.\n- It should be short.") == [
        ("constraint", "MUST", "1. [MUST] All of these must hold:\n"),
        ("constraint", "MUST", "2. [MUST] It must be new.\n"),
        ("constraint", "SHOULD", "3. [SHOULD] It should be short.\n"),
    ]
