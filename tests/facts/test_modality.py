"""Which words of a sentence bind, and how."""

from __future__ import annotations

import pytest

from ctxbuild.facts.modality import keywords, only_capitals, strongest
from ctxbuild.facts.sentences import mask


def found(text: str, *, capitals: bool = False) -> list[tuple[str, str]]:
    return [(each.modality, each.word) for each in keywords(text, mask(text), capitals=capitals)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Clients MUST retry.", [("MUST", "MUST")]),
        ("Clients MUST NOT retry.", [("MUST NOT", "MUST NOT")]),
        ("Clients MUST **not** retry.", [("MUST NOT", "MUST not")]),
        ("It SHALL be sent and SHALL NOT be kept.", [("MUST", "SHALL"), ("MUST NOT", "SHALL NOT")]),
        ("It is NOT RECOMMENDED.", [("SHOULD NOT", "NOT RECOMMENDED")]),
        ("A nonce is RECOMMENDED.", [("SHOULD", "RECOMMENDED")]),
        ("A body is OPTIONAL.", [("MAY", "OPTIONAL")]),
        ("Never log a token.", [("MUST NOT", "Never")]),
        ("It should never be logged.", [("SHOULD NOT", "should never")]),
        ("You must always log in.", [("MUST", "must always")]),
        ("Always log in.", [("MUST", "Always")]),
        ("It is not always there.", []),
        ("Do not share keys.", [("MUST NOT", "Do not")]),
        ("If it leaks, don't reuse it.", [("MUST NOT", "don't")]),
        ("Most clients do not retry.", []),
        ("A key is required.", [("MUST", "required")]),
        ("A key is not required.", [("MAY", "not required")]),
        ("A key is not optional.", [("MUST", "not optional")]),
        (
            "Sharing is forbidden; lending is not allowed.",
            [
                ("MUST NOT", "forbidden"),
                ("MUST NOT", "not allowed"),
            ],
        ),
        ("Sharing is allowed.", [("MAY", "allowed")]),
        ("Allowed values are a and b.", []),
        ("You may not share it.", [("MUST NOT", "You may not")]),
        ("Packets may not arrive.", [("MAY", "may not")]),
        ("Keys may not be shared.", [("MUST NOT", "may not be shared")]),
        ("A client may not send two keys.", [("MUST NOT", "may not")]),
        ("Clients may not see it yet.", [("MAY", "may not")]),
        ("A name may not exceed 64 bytes.", [("MUST NOT", "may not exceed")]),
        ("No request may exceed 1 MB.", [("MUST NOT", "may")]),
        ("No client shall connect twice.", [("MUST NOT", "shall")]),
        ("No endpoint SHALL answer.", [("MUST NOT", "SHALL")]),
        ("Nobody should know it.", [("SHOULD NOT", "should")]),
        ("Neither keys nor tokens may be logged.", [("MUST NOT", "may")]),
        ("At no time may a key be shared.", [("MUST NOT", "may")]),
        ("No key is needed but clients must log in.", [("MUST", "must")]),
        ("No longer must clients sign.", [("MUST", "must")]),
        ("There must be no spaces.", [("MUST", "must")]),
        ("Clients must neither log nor store keys.", [("MUST NOT", "must neither")]),
        ("Callers are required not to poll.", [("MUST NOT", "required not to")]),
        ("It is recommended not to poll.", [("SHOULD NOT", "recommended not to")]),
        ("We do not recommend polling.", [("SHOULD NOT", "do not recommend")]),
        ("Callers are advised against polling.", [("SHOULD NOT", "advised against")]),
        ("Refrain from polling.", [("SHOULD NOT", "Refrain from")]),
        ("All API requests require a key.", [("MUST", "require")]),
        ("All requests do not require a key.", []),
        ("All it requires is patience.", []),
        ("Use `a` instead of `b`.", [("MUST", "Use")]),
        ("Use `a` for lists.", []),
        ("Only admins may delete users.", [("MAY", "may")]),
        ("You need to sign it.", [("MUST", "need to")]),
        ("If you need to cancel, call.", []),
        ("You do not need to sign it.", [("MAY", "not need to")]),
        ("You don't need to sign it.", [("MAY", "don't need to")]),
        ("We recommend TLS; avoid SSL.", [("SHOULD", "We recommend"), ("SHOULD NOT", "avoid")]),
        ("Avoid retries.", [("SHOULD NOT", "Avoid")]),
        ("Ensure that it is signed.", [("MUST", "Ensure")]),
        ("On 5 May 2020 it was May 3.", []),
        ("May be empty.", [("MAY", "May")]),
        ("A must-have and an always-on.", []),
        ("Should I use it?", []),
        ('The key words "MUST", "MUST NOT" and "MAY" are used.', []),
        ("The word `MUST` is code.", []),
    ],
)
def test_a_sentence_binds_by_its_words(text, expected):
    assert found(text) == expected


def test_in_a_document_of_capitals_nothing_else_counts():
    said = "to be interpreted when, and\n  only when, they appear in all capitals"
    assert (only_capitals(said), only_capitals("in capitals")) == (True, False)
    assert found("It must never fail but SHOULD log.", capitals=True) == [("SHOULD", "SHOULD")]


def test_the_most_binding_word_names_the_modality():
    text = "You MAY read it but MUST NOT write it and should ask."
    assert strongest(keywords(text, mask(text), capitals=False)) == "MUST NOT"
    assert strongest(()) == ""
