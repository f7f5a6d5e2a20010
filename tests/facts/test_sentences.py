"""Where sentences end, and what in a text is no prose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.facts.sentences import join, mask, split


def sentences(text: str) -> list[str]:
    joined = join(text)
    return [joined.text[start:end] for start, end in split(mask(joined.text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("See e.g. the docs, i.e. these. Next.", ["See e.g. the docs, i.e. these.", "Next."]),
        ("Dr. Smith and J. Doe left. Bye.", ["Dr. Smith and J. Doe left.", "Bye."]),
        ("Take plan B. Then go.", ["Take plan B.", "Then go."]),
        ("Use 1.2.3 of `a. B` now. Stop.", ["Use 1.2.3 of `a. B` now.", "Stop."]),
        ("In the U.S. It is late.", ["In the U.S.", "It is late."]),
        ("Keys, tokens, etc. are secret. Yes.", ["Keys, tokens, etc. are secret.", "Yes."]),
        ("Keys, tokens, etc. Nothing else.", ["Keys, tokens, etc.", "Nothing else."]),
        ("See Fig. 3 and No. 4. Done.", ["See Fig. 3 and No. 4.", "Done."]),
        ("1. The first. 2. The second.", ["1. The first.", "2. The second."]),
        ('He said "Stop." Then left.', ['He said "Stop."', "Then left."]),
        ("**Never.** Not here (or there.) Ever.", ["**Never.**", "Not here (or there.)", "Ever."]),
        ("Read [it](http://a.b/c.d). Then [x][a. B] too.", None),
        ("Go to https://a.example/x.y. Now.", ["Go to https://a.example/x.y.", "Now."]),
        ("It is sent. max_ack_delay is 3.", ["It is sent.", "max_ack_delay is 3."]),
        ("Wait... what? Really.", ["Wait... what?", "Really."]),
        ("終わり。次です。", ["終わり。", "次です。"]),
        ("A line that is\n  wrapped\nthrice. Next\none.", None),
    ],
)
def test_a_text_falls_into_its_sentences(text, found):
    expected = found or {
        "R": ["Read [it](http://a.b/c.d).", "Then [x][a. B] too."],
        "A": ["A line that is wrapped thrice.", "Next one."],
    }.get(text[0])
    assert sentences(text) == expected


def test_a_wrapped_text_remembers_its_lines():
    joined = join("one two\n   three\n\nfour")
    assert joined.text == "one two three four"
    assert [joined.line(joined.text.index(word)) for word in joined.text.split()] == [0, 0, 1, 3]


def test_a_mask_hides_what_is_no_prose_and_keeps_every_place():
    text = "a *b* `c. d` [e](f.g \"h. i\") <b x='1. 2'> https://j.k/l. m_n"
    hidden = mask(text).replace("\x01", "*").replace("\x02", "#")
    assert hidden == "a *b* ###### [e############# ############ #############. m_n"


@given(st.text(alphabet="aB.!?`*_[](){}<>\"' \n1:/|-", max_size=200))
def test_no_character_of_a_text_is_lost(text):
    joined = join(text)
    spans = split(mask(joined.text))
    assert len(mask(joined.text)) == len(joined.text)
    rest = "".join(
        joined.text[end:start]
        for end, start in zip(
            [0, *(end for _, end in spans)],
            [*(start for start, _ in spans), len(joined.text)],
            strict=True,
        )
    )
    assert rest.strip() == ""
