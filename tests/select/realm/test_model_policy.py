"""The policy of a model, over the real protocol, against a server on this machine."""

from __future__ import annotations

import pytest

from ctxbuild.errors import ModelError
from ctxbuild.source.model_client import Endpoint, ModelClient
from tests.chatserver import Reply
from tests.select.realm.papers import packet
from tests.select.realm.test_packets import MANUAL

TASK = "how do I authenticate with an API key?"


def last(asked):
    return asked["messages"][-1]["content"]


def librarian(wanted, enough=2):
    """Answers like a careful model: picks titles on the way to what is wanted, keeps that."""

    def answer(asked):
        form = asked["response_format"]["json_schema"]["name"]
        text = last(asked)
        if form == "choice":
            lines = text.partition("can be read:\n")[2].splitlines()
            for line in lines:
                number, _, title = line.partition(". ")
                if any(word in title for word in (*wanted, "Parcel API (", "Access (")):
                    return {"number": int(number)}
            return {"number": 0}
        if "Does the task need this section?" in text:
            title = text.partition("\n\nSection ")[2].partition(":\n")[0]
            return {"yes": any(title.endswith(word) for word in wanted), "why": "it is about keys"}
        kept = text.partition("Kept so far:\n")[2].partition("\n\n")[0]
        return {"yes": kept.count("- ") >= enough, "why": "counted"}

    return answer


def test_a_model_reads_judges_and_stops(chat_server):
    chat_server.answer = librarian(["API keys", "Limits"])
    found = packet({"manual.md": MANUAL}, task=TASK, policy="model", model=ModelClient())
    assert found.sources == ["manual.md#api-keys", "manual.md#limits"]
    record = found.proposal.record
    assert record["policy"] == "model"
    assert record["stopped"] == "enough"
    assert [step["read"] for step in record["steps"] if "read" in step] == [
        "manual.md#parcel-api",
        "manual.md#access",
        "manual.md#limits",
        "manual.md#api-keys",
    ]
    assert record["steps"][3]["analyze"] == "keep: it is about keys"
    assert found.proposal.warnings == ()


def test_the_same_documents_ask_the_same_questions(chat_server):
    chat_server.answer = librarian(["API keys"], enough=1)
    first = packet({"manual.md": MANUAL}, task=TASK, policy="model", model=ModelClient())
    asked = list(chat_server.asked)
    second = packet({"manual.md": MANUAL}, task=TASK, policy="model", model=ModelClient())
    assert chat_server.asked[len(asked) :] == asked
    assert first.text == second.text


def test_a_number_that_is_none_of_the_list_is_refused_and_does_no_harm(chat_server):
    careful = librarian(["API keys"], enough=1)
    wrong = iter([7, 99])

    def answer(asked):
        if asked["response_format"]["json_schema"]["name"] == "choice":
            number = next(wrong, None)
            if number is not None:
                return {"number": number}
        return careful(asked)

    chat_server.answer = answer
    found = packet({"manual.md": MANUAL}, task=TASK, policy="model", model=ModelClient())
    assert [step.get("refused") for step in found.proposal.record["steps"][:2]] == [
        "not visible",
        "not visible",
    ]
    assert found.sources == ["manual.md#api-keys"]


def test_a_section_without_text_of_its_own_is_no_question(chat_server):
    chat_server.answer = librarian(["API keys", "Parcels"], enough=1)
    packet({"manual.md": MANUAL}, task=TASK, policy="model", model=ModelClient())
    sections = [last(asked) for asked in chat_server.asked if "need this section" in last(asked)]
    assert not [text for text in sections if "Section manual.md: Parcel API > Parcels (" in text]


def rules_instead(**options):
    return packet({"manual.md": MANUAL}, task=TASK, **options)


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (Reply("no such model", 404), "refuses (404)"),
        (Reply("I'd read the second one."), "does not answer in the form asked for"),
        (Reply(raw=b"<html>"), "does not speak the protocol"),
        (Reply(""), "answers nothing"),
    ],
)
def test_a_model_that_fails_is_replaced_by_rules_and_that_is_said(chat_server, reply, complaint):
    chat_server.replies = [reply]
    found = rules_instead(policy="model", model=ModelClient())
    (warning,) = found.proposal.warnings
    assert warning.startswith("layer 'docs': ")
    assert complaint in warning
    assert "its sections were chosen by rules instead" in warning
    assert found.text == rules_instead().text
    assert found.proposal.record["policy"] == "rules"


def test_a_model_that_is_away_or_slow_is_replaced_by_rules(chat_server):
    chat_server.replies = [Reply("late", delay=0.3)]
    away = ModelClient(Endpoint("http://127.0.0.1:9/v1", "small"))
    slow = ModelClient(Endpoint(chat_server.url, "small", timeout=0.05))
    for model, complaint in ((away, "cannot be reached"), (slow, "gave no answer in 0.05 s")):
        found = rules_instead(policy="model", model=model)
        assert complaint in found.proposal.warnings[0]
        assert found.text == rules_instead().text


def test_without_a_model_named_rules_decide_and_say_what_to_set():
    found = rules_instead(policy="model", model=ModelClient())
    assert "no model is configured: set CTXBUILD_MODEL_URL" in found.proposal.warnings[0]


def test_an_error_in_the_middle_falls_back_as_a_whole(chat_server):
    careful = librarian(["API keys"])

    def answer(asked):
        return careful(asked) if len(chat_server.asked) < 4 else Reply("overloaded", 503)

    chat_server.answer = answer
    found = rules_instead(policy="model", model=ModelClient())
    assert "refuses (503)" in found.proposal.warnings[0]
    assert found.text == rules_instead().text


def test_rules_ask_no_model():
    class Never:
        def ask(self, *_):
            raise ModelError("it was asked")

    assert rules_instead(model=Never()).proposal.warnings == ()
