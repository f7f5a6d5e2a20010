"""Renderings that contents cannot break out of."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from ctxbuild.model import Block, Reason
from ctxbuild.pack import render


def block(text, path="a.py", symbol="f", form="skeleton", section="used", language="python"):
    return Block(
        f"{path}::{symbol}", path, symbol, form, "entry", section, language, text, 0, "", 0.5, ()
    )


def lines(texts):
    return st.lists(texts, max_size=6).map(lambda rows: "".join(f"{row}\n" for row in rows))


HOSTILE = lines(
    st.one_of(
        st.text(alphabet="`~<>&\"'#] \t", max_size=12),
        st.sampled_from(
            ["```", "````python", "</file>", "]]>", "<!--", "## Open", "&amp;", "\x00"]
        ),
    )
)


@given(HOSTILE, HOSTILE)
def test_no_contents_close_a_fence(first, second):
    text = render.markdown("t", [block(first), block(second, symbol="g")])
    opening = text.removeprefix("# t\n\n## Used definitions\n\n").partition("\n")[0]
    fence = opening.removesuffix("python")
    assert set(fence) == {"`"}
    rows = text.split("\n")
    closing = [number for number, row in enumerate(rows) if row.strip(" \t") == fence]
    assert closing == [len(rows) - 2]
    assert first in text
    assert second in text


@given(HOSTILE, st.text(max_size=8))
def test_xml_is_well_formed_and_gives_the_contents_back(text, path):
    made = render.xml('t<&">', [block(text, path=path or "a")])
    root = ET.fromstring(made)
    allowed = "".join(c if c in "\t\n" or c >= " " else "\N{REPLACEMENT CHARACTER}" for c in text)
    assert root.find("file").text == f"\n{allowed}"


@given(HOSTILE, st.text(max_size=8))
def test_json_gives_the_contents_back(text, path):
    made = json.loads(render.json_text("t", [block(text, path=path or "a")]))
    assert made["parts"] == [{"path": path or "a", "form": "parts", "text": text}]


def test_parts_of_several_files_share_one_fence():
    blocks = [
        block("def f(): ...\n"),
        block("def g(): ...\n", symbol="g"),
        block("x\n", path="b.py"),
    ]
    assert render.markdown("t", blocks) == (
        "# t\n\n## Used definitions\n\n```python\n"
        "# a.py\ndef f(): ...\ndef g(): ...\n# b.py\nx\n```\n"
    )


def test_parts_in_another_language_have_a_fence_of_their_own():
    blocks = [block("x\n"), block("y\n", path="b.ts", language="typescript")]
    assert render.markdown("t", blocks) == (
        "# t\n\n## Used definitions\n\n```python\n# a.py\nx\n```\n"
        "\n## Used definitions\n\n```typescript\n// b.ts\ny\n```\n"
    )


def test_one_liners_share_a_list():
    blocks = [
        block("- a.py\n", symbol="", form="name", section="indirect"),
        block("- b.py: b\n", path="b.py", symbol="", form="summary", section="indirect"),
    ]
    assert render.markdown("t", blocks) == "# t\n\n## Indirect dependencies\n\n- a.py\n- b.py: b\n"


def test_full_headers_have_number_path_symbol_method_and_score():
    reasons = (Reason("call", "app.py"),)
    made = Block(
        "a.py::f", "a.py", "f", "skeleton", "e", "used", "python", "x\n", 1, "", 0.83, reasons
    )
    assert render.markdown("t", [made], "full") == (
        "# t\n\n## 1. a.py :: f [call, score: 0.8300]\n\n```python\nx\n```\n"
    )


def test_a_path_with_control_characters_stays_on_its_line():
    text = render.markdown("t", [block("x\n", path="a\nb\x1b.py", symbol="")])
    assert text == "# t\n\n## a\\nb\\x1b.py (skeleton)\n\n```python\nx\n```\n"
