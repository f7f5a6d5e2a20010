"""Questions to a model, over the real protocol, against a server on this machine."""

from __future__ import annotations

import json

import msgspec
import pytest

from ctxbuild.errors import ModelError
from ctxbuild.source.model_client import (
    Endpoint,
    ModelClient,
    endpoint,
    identity,
    is_up,
    unfenced,
)
from tests.chatserver import Reply


class Choice(msgspec.Struct, forbid_unknown_fields=True):
    keep: list[int]
    why: str = ""


class Kept:
    """Answers in memory."""

    def __init__(self):
        self.kept = {}

    def get(self, key):
        return self.kept.get(key)

    def put(self, key, answer):
        self.kept[key] = answer


ASKED = [("system", "You choose."), ("user", "Which?")]


def test_a_structured_answer_is_asked_for_at_temperature_0_with_its_schema(chat_server):
    chat_server.replies = [Reply({"keep": [1, 2], "why": "both"})]
    assert ModelClient().ask(ASKED, Choice, "choice") == Choice([1, 2], "both")
    assert chat_server.asked == [
        {
            "model": "small",
            "messages": [
                {"role": "system", "content": "You choose."},
                {"role": "user", "content": "Which?"},
            ],
            "temperature": 0,
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "choice",
                    "strict": True,
                    "schema": {
                        "$ref": "#/$defs/Choice",
                        "$defs": {
                            "Choice": {
                                "title": "Choice",
                                "type": "object",
                                "properties": {
                                    "keep": {"type": "array", "items": {"type": "integer"}},
                                    "why": {"type": "string"},
                                },
                                "required": ["keep", "why"],
                                "additionalProperties": False,
                            }
                        },
                    },
                },
            },
        }
    ]
    assert chat_server.keys == ["Bearer sesame-open"]


def test_the_same_question_is_asked_once(chat_server):
    chat_server.replies = [Reply({"keep": []})]
    kept = Kept()
    for _ in range(3):
        assert ModelClient(None, kept).ask(ASKED, Choice) == Choice([])
    assert len(chat_server.asked) == 1
    ModelClient(None, kept).ask([*ASKED, ("user", "Really?")], Choice)
    assert len(chat_server.asked) == 2


def test_another_model_is_another_question(chat_server):
    chat_server.replies = [Reply("yes")]
    kept = Kept()
    ModelClient(Endpoint(chat_server.url, "small"), kept).say(ASKED)
    ModelClient(Endpoint(chat_server.url, "large"), kept).say(ASKED)
    assert [asked["model"] for asked in chat_server.asked] == ["small", "large"]


def test_a_fence_around_the_answer_is_taken_off(chat_server):
    chat_server.replies = [Reply('```json\n{"keep": [3]}\n```')]
    assert ModelClient().ask(ASKED, Choice) == Choice([3])
    assert unfenced("```\n{}\n```") == "{}"
    assert unfenced(' {"a": "```"} ') == '{"a": "```"}'


def test_an_answer_that_does_not_fit_is_sent_back_once(chat_server):
    chat_server.replies = [Reply('{"keep": "all"}'), Reply({"keep": [4]})]
    assert ModelClient().ask(ASKED, Choice) == Choice([4])
    assert chat_server.asked[1]["messages"][2:] == [
        {"role": "assistant", "content": '{"keep": "all"}'},
        {
            "role": "user",
            "content": "That is not the JSON that was asked for (Expected `array`, got `str` - "
            "at `$.keep`). Answer with it alone.",
        },
    ]


@pytest.mark.parametrize(
    "content", ["I would keep the first one.", '{"keep": [1], "mood": 3}', "[1", '{"keep": ["a"]}']
)
def test_answers_in_no_usable_form_are_an_error(chat_server, content):
    chat_server.replies = [Reply(content)]
    with pytest.raises(ModelError, match=r"small at .* does not answer in the form asked for: "):
        ModelClient().ask(ASKED, Choice)
    assert len(chat_server.asked) == 2


def test_an_empty_answer_is_an_error(chat_server):
    chat_server.replies = [Reply("  ")]
    with pytest.raises(ModelError, match="answers nothing"):
        ModelClient().say(ASKED)


@pytest.mark.parametrize("raw", [b"<html>hello</html>", b"{}", b'{"choices": []}', b"null", b"[]"])
def test_a_server_that_speaks_something_else_is_an_error(chat_server, raw):
    chat_server.replies = [Reply(raw=raw)]
    with pytest.raises(ModelError, match=r"does not speak the protocol|answers nothing"):
        ModelClient().say(ASKED)


def test_a_server_that_is_away_is_an_error(chat_server):
    away = Endpoint("http://127.0.0.1:9/v1", "small")
    with pytest.raises(ModelError, match=r"http://127.0.0.1:9/v1 cannot be reached: .*start it"):
        ModelClient(away).say(ASKED)


def test_a_server_that_takes_too_long_is_an_error(chat_server):
    chat_server.replies = [Reply("late", delay=0.5)]
    slow = Endpoint(chat_server.url, "small", timeout=0.05)
    with pytest.raises(ModelError, match=r"gave no answer in 0.05 s: raise CTXBUILD_MODEL_TIMEOUT"):
        ModelClient(slow).say(ASKED)


def test_a_refusal_is_an_error_that_does_not_show_the_key(chat_server):
    chat_server.replies = [Reply("wrong key sesame-open", status=401)]
    with pytest.raises(ModelError) as caught:
        ModelClient().say(ASKED)
    assert "refuses (401)" in str(caught.value)
    assert "sesame-open" not in str(caught.value)
    assert "sesame-open" not in repr(endpoint())
    assert caught.value.hint == "correct CTXBUILD_MODEL_KEY"


def test_what_an_endpoint_does_not_know_is_left_out(chat_server):
    def answer(asked):
        form = asked.get("response_format", {}).get("type")
        if form == "json_schema":
            return Reply("response_format json_schema is not supported", status=400)
        if "temperature" in asked:
            return Reply("'temperature' does not support 0 with this model", status=400)
        return {"keep": [7]}

    chat_server.answer = answer
    assert ModelClient().ask(ASKED, Choice) == Choice([7])
    last = chat_server.asked[-1]
    assert last["response_format"] == {"type": "json_object"}
    assert "temperature" not in last
    assert "Answer with JSON alone that fits this JSON Schema:" in last["messages"][-1]["content"]


def test_another_bad_request_is_an_error(chat_server):
    chat_server.replies = [Reply("the prompt is too long", status=400)]
    with pytest.raises(ModelError, match=r"refuses \(400\): .*too long"):
        ModelClient().say(ASKED)
    assert len(chat_server.asked) == 1


def test_the_environment_names_the_endpoint():
    assert endpoint({}) is None
    assert identity({}) == b""
    named = {"OPENAI_MODEL": "m", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://a/v1/"}
    assert endpoint(named) == Endpoint("http://a/v1", "m", "k")
    own = {**named, "CTXBUILD_MODEL_URL": "http://b", "CTXBUILD_MODEL_TIMEOUT": "2.5"}
    assert endpoint(own) == Endpoint("http://b", "m", "k", 2.5)
    assert identity(own) == b"http://b\nm"
    assert endpoint({"OPENAI_MODEL": "m"}) == Endpoint("https://api.openai.com/v1", "m")
    for wrong in ("soon", "-1", "nan"):
        with pytest.raises(ModelError, match="is no number of seconds"):
            endpoint({**named, "CTXBUILD_MODEL_TIMEOUT": wrong})


def test_without_an_endpoint_the_error_says_what_to_set(monkeypatch):
    with pytest.raises(ModelError, match="no model is configured: set CTXBUILD_MODEL_URL"):
        ModelClient().say(ASKED)


def test_without_the_package_the_error_says_what_to_install(chat_server, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ModelError, match=r"needs the package `openai`: install it: pip install"):
        ModelClient().say(ASKED)


def test_an_answer_with_characters_that_are_none_is_kept(chat_server):
    chat_server.replies = [
        Reply(raw=json.dumps({"choices": [{"message": {"content": "a\ud800b"}}]}).encode())
    ]
    assert ModelClient().say(ASKED) == "a?b"


def test_whether_something_listens_is_asked_with_patience(chat_server):
    assert is_up()
    assert not is_up({"OPENAI_MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1:9"})
    assert not is_up({})
    assert not is_up({"OPENAI_MODEL": "m", "OPENAI_BASE_URL": "http://[broken"})
