"""Packs as parts of requests, checked against the providers' own types."""

from __future__ import annotations

from typing import get_args

import pytest

from ctxbuild.model import Block
from ctxbuild.pack.messages import PROVIDERS, Provider, parts, request
from ctxbuild.pack.render import markdown


def block(
    unit: str, layer: str = "entry", section: str = "used", form="skeleton", text=""
) -> Block:
    path, _, symbol = unit.partition("::")
    text = text or f"def {symbol}(): ...\n" * 20
    return Block(unit, path, symbol, form, layer, section, "python", text, 9, "", 0.5, ())


def count(texts):
    return [len(text) for text in texts]


ONE = [
    block("a.py::A"),
    block("b.py::B"),
    block("app.py", section="entry", form="full"),
    block("c.py", section="names", form="name", text="- c.py\n"),
]
MANY = [block(f"{name}.py", name, "", "full") for name in "abcdef"]


@pytest.mark.parametrize("headers", ["lean", "full"])
@pytest.mark.parametrize("blocks", [[], ONE, MANY, ONE + MANY])
def test_the_parts_joined_are_the_pack(blocks, headers):
    pieces = parts("app", blocks, headers, count)
    assert "".join(piece.text for piece in pieces) == markdown("app", blocks, headers)


def test_a_mark_ends_each_layer():
    pieces = parts("app", MANY[:3], "lean", count)
    assert [(piece.layer, piece.marked) for piece in pieces] == [
        ("a", True),
        ("b", True),
        ("c", True),
    ]


def test_of_many_layers_the_last_four_are_marked():
    pieces = parts("app", MANY, "lean", count)
    assert [piece.layer for piece in pieces if piece.marked] == ["c", "d", "e", "f"]


def test_inside_a_single_layer_the_entry_stands_between_marks():
    pieces = parts("app", ONE, "lean", count)
    assert [piece.marked for piece in pieces] == [True, True, True]
    assert pieces[1].text.startswith("\n## app.py\n")
    assert pieces[2].text == "\n## Also in dependencies\n\n- c.py\n"


def test_no_mark_closes_less_than_the_model_caches():
    whole = len(markdown("app", MANY, "lean"))
    assert not any(piece.marked for piece in parts("app", MANY, "lean", count, smallest=whole + 1))
    least = parts("app", MANY, "lean", count, smallest=whole)
    assert [piece.marked for piece in least] == [False] * 5 + [True]


def test_a_provider_that_takes_no_marks_gets_none():
    pieces = parts("app", ONE, "lean", count, most=0)
    assert [piece.marked for piece in pieces] == [False]


def test_at_most_four_marks_are_set_whatever_the_pack():
    for size in range(len(ONE + MANY)):
        pieces = parts("app", (MANY + ONE)[:size], "lean", count)
        assert sum(piece.marked for piece in pieces) <= 4


def test_the_providers_are_those_of_the_type():
    assert get_args(Provider) == PROVIDERS


def test_anthropic_takes_the_parts():
    anthropic = pytest.importorskip("anthropic.types")
    pydantic = pytest.importorskip("pydantic")
    made = request("anthropic", "app", parts("app", MANY, "lean", count))
    checked = pydantic.TypeAdapter(
        list[anthropic.TextBlockParam], config={"extra": "forbid"}
    ).validate_python(made["system"], strict=True)
    assert [dict(each) for each in checked] == made["system"]
    marks = [each["cache_control"] for each in made["system"] if "cache_control" in each]
    assert marks == [{"type": "ephemeral"}] * 4


def test_openai_takes_the_parts():
    chat = pytest.importorskip("openai.types.chat")
    pydantic = pytest.importorskip("pydantic")
    made = request("openai", "app", parts("app", MANY, "lean", count))
    (message,) = made["messages"]
    adapter = pydantic.TypeAdapter(chat.ChatCompletionDeveloperMessageParam)
    assert adapter.validate_python(message)["role"] == "developer"
    part = pydantic.TypeAdapter(chat.ChatCompletionContentPartTextParam)
    assert [dict(part.validate_python(each)) for each in message["content"]] == message["content"]
    assert made["prompt_cache_key"] == "ctxbuild:app"


def test_gemini_takes_the_parts():
    types = pytest.importorskip("google.genai.types")
    made = request("gemini", "app", parts("app", MANY, "lean", count, most=0))
    config = types.GenerateContentConfig(**made)
    text = "".join(part.text for part in config.system_instruction.parts)
    assert text == markdown("app", MANY, "lean")
