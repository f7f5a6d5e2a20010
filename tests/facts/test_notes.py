"""A notes file: findings among other text, added, merged, read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.facts.notes import Finding, Notes, Paragraph, add, finding_of, read_notes

TEXT = """Some words.

## Findings

- a.py: found an off-by-one; severity high; suggest use <= <!-- sha256:0123456789abcdef -->
  * b.py: found nothing

## Plan

- think
- act
  twice

```md
- c.py: found in a fence
```
"""


def test_findings_and_other_text_are_told_apart():
    assert read_notes(TEXT.encode()) == Notes(
        (
            Finding("a.py", "an off-by-one", "high", "use <=", "0123456789abcdef", 5),
            Finding("b.py", "nothing", line=6),
        ),
        (
            Paragraph("Some words.", "", 1),
            Paragraph("- think", "Plan", 10),
            Paragraph("- act\n  twice", "Plan", 11),
            Paragraph("```md\n- c.py: found in a fence\n```", "Plan", 14),
        ),
    )


@pytest.mark.parametrize(
    "row",
    [
        "a.py: found X; severity Y; suggest Z",
        "- `a.py`: found X; Severity Y;  suggest Z",
        "* a.py: found X; suggest Z; severity Y",
        "- a.py: Found X; Severity Y; Suggest Z",
    ],
)
def test_a_finding_however_it_is_written(row):
    assert finding_of(row) == Finding("a.py", "X", "Y", "Z")


@pytest.mark.parametrize("row", ["", "-", "- found X", "- a.py: X", "- a.py: found ", "# a: found"])
def test_what_is_no_finding(row):
    assert finding_of(row) is None or row.startswith("#")


def test_a_finding_goes_behind_the_last_one_and_the_rest_stays():
    after, new = add(TEXT, Finding("d.py", "a leak", "low"))
    assert new
    more = "found nothing\n- d.py: found a leak; severity low\n"
    assert after == TEXT.replace("found nothing\n", more)


def test_the_same_finding_is_merged_in_its_place_and_its_repeats_go():
    text = TEXT.replace("## Plan", "- b.py: found Nothing!\n\n## Plan")
    after, new = add(text, Finding("b.py", "Nothing.", suggest="go on", digest="ff" * 8))
    assert not new
    whole = "  - b.py: found nothing; suggest go on <!-- sha256:ffffffffffffffff -->"
    expected = TEXT.replace("  * b.py: found nothing", whole)
    assert after == expected.replace("\n\n## Plan", "\n\n\n## Plan")


def test_a_new_file_begins_with_headings():
    assert add("", Finding("a.py", "X")) == ("# Notes\n\n## Findings\n\n- a.py: found X\n", True)


def test_a_file_without_findings_gets_a_section_for_them():
    after, _ = add("Hand-written.\r\n", Finding("a.py", "X"))
    assert after == "Hand-written.\r\n\r\n## Findings\r\n\r\n- a.py: found X\r\n"


WORDS = st.text("abc \t", min_size=1).map(str.strip).filter(bool)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=6), st.text("ab-#`\n: ", max_size=60))
def test_what_is_added_is_read_and_adding_it_again_changes_nothing(found, text):
    for path, what, severity in found:
        finding = Finding(path, what, severity)
        text, _ = add(text, finding)
        assert add(text, finding) == (text, False)
    keys = {finding.key for finding in read_notes(text.encode()).findings}
    fenced = "```" in text
    assert fenced or {Finding(path, what).key for path, what, _ in found} <= keys


def test_bytes_that_are_no_text_are_reported():
    assert read_notes(b"\xff\xfe\n").problems[0].kind == "encoding"
