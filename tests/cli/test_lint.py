"""`ctxbuild lint`: exit codes and what is printed in every format."""

from __future__ import annotations

import io
import json

import jsonschema
import pytest

from tests.chatserver import Reply

GUIDE = """\
# Guide

## Keys

Never use `eval`. Do not surprise people. Keys are long.
"""
CTXFILE = """\
version = 1

[targets.rules]
docs = ["docs/*.md"]
task = "keys"

[[targets.rules.rules]]
name = "no-todo"
pattern = 'TODO'
level = "warning"
message = "finish it"

[targets.code]
files = ["docs/guide.md"]
"""


@pytest.fixture
def manual(empty):
    return empty.write(
        {
            "ctxfile.toml": CTXFILE,
            "docs/guide.md": GUIDE,
            "out/bad.py": "x = 1  # TODO\ny = eval(x)\n",
            "out/good.py": "x = 1\n",
        }
    )


def test_a_broken_rule_ends_with_1_and_names_rule_source_and_place(manual):
    found = manual("lint", "out/bad.py", "--packet", "rules")
    assert (found.code, found.err) == (1, "")
    assert (
        found.out
        == """\
out/bad.py:1:10: warning: finish it
    rule: finish it
    from: ctxfile.toml, targets.rules.rules, no-todo
out/bad.py:2:5: error: 'eval' is not allowed
    rule: Never use `eval`.
    from: docs/guide.md, Keys, 1 (line 5)
not checkable by rule: 1
    docs/guide.md, Keys, 2 (line 5): Do not surprise people.
rules: 1 error, 1 warning in 1 output; 2 of 3 rules checked
"""
    )


def test_an_output_that_keeps_to_the_rules_ends_with_0(manual):
    found = manual("lint", "out/good.py", "--packet", "rules")
    assert found.code == 0
    assert found.out.splitlines()[-1] == "rules: no break in 1 output; 2 of 3 rules checked"


def test_a_directory_and_standard_input_are_outputs_too(manual, monkeypatch):
    assert manual("lint", "out", "--packet", "rules").code == 1
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"eval(1)\n")))
    found = manual("lint", "-", "--packet", "rules")
    assert found.out.startswith("-:1:1: error: 'eval' is not allowed\n")


def test_a_packet_that_was_written_serves_as_well(manual):
    manual("build")
    (manual.root / "docs/guide.md").unlink()
    written = ".ctxbuild/packs/rules.pack.json"
    found = manual("lint", "out/bad.py", "--packet", written)
    assert found.code == 1
    assert "docs/guide.md, Keys, 1 (line 5)" in found.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out/gone.py", "--packet", "rules"], "out/gone.py: cannot be read"),
        (["out/bad.py", "--packet", "rulez"], "did you mean 'rules'"),
        (["out/bad.py", "--packet", "code"], "code: holds no packet"),
        (["out/bad.py", "--packet", "none.pack.json"], "none.pack.json: cannot be read"),
        (["out/bad.py"], "--packet"),
    ],
)
def test_bad_input_ends_with_2(manual, arguments, message):
    found = manual("lint", *arguments)
    assert found.code == 2
    assert message in found.err


def test_json_has_every_diagnostic_and_what_was_not_checked(manual):
    data = manual("lint", "out/bad.py", "--packet", "rules", "--format", "json").data
    assert (data["schema"], data["errors"], data["warnings"]) == ("ctxbuild.lint/1", 1, 1)
    assert data["diagnostics"][1] == {
        "rule": "docs/guide.md#keys@1",
        "level": "error",
        "message": "'eval' is not allowed",
        "path": "out/bad.py",
        "line": 2,
        "column": 5,
        "end_line": 2,
        "end_column": 9,
        "by": "rule",
        "text": "Never use `eval`.",
        "modality": "MUST NOT",
        "source": {"path": "docs/guide.md", "section": "Keys", "ordinal": "1", "lines": [5, 5]},
    }
    assert [each["text"] for each in data["not_checkable"]] == ["Do not surprise people."]


def test_annotations_of_github_name_file_line_and_column(manual):
    out = manual("lint", "out/bad.py", "--packet", "rules", "--format", "github").out
    assert out == (
        "::warning file=out/bad.py,line=1,endLine=1,col=10,endColumn=14,title=rules/no-todo::"
        "finish it%0Afinish it%0Actxfile.toml, targets.rules.rules, no-todo\n"
        "::error file=out/bad.py,line=2,endLine=2,col=5,endColumn=9,title=docs/guide.md#keys@1::"
        "'eval' is not allowed%0ANever use `eval`.%0Adocs/guide.md, Keys, 1 (line 5)\n"
    )


# What of SARIF 2.1.0 is used, as its schema has it.
_TEXT = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}},
}
_REGION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        name: {"type": "integer", "minimum": 1}
        for name in ("startLine", "startColumn", "endLine", "endColumn")
    },
}
_LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "id": {"type": "integer", "minimum": -1},
        "message": _TEXT,
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "properties": {"uri": {"type": "string", "format": "uri-reference"}},
                    "additionalProperties": False,
                },
                "region": _REGION,
            },
        },
    },
    "additionalProperties": False,
}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "properties": {
                                                "id": {"type": "string"},
                                                "shortDescription": _TEXT,
                                                "fullDescription": _TEXT,
                                                "help": _TEXT,
                                                "defaultConfiguration": {
                                                    "properties": {"level": _LEVEL}
                                                },
                                                "properties": {"type": "object"},
                                            },
                                            "additionalProperties": False,
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["message"],
                                        "properties": {
                                            "level": _LEVEL,
                                            "message": _TEXT,
                                            "associatedRule": {
                                                "type": "object",
                                                "properties": {
                                                    "id": {"type": "string"},
                                                    "index": {"type": "integer", "minimum": -1},
                                                },
                                            },
                                        },
                                        "additionalProperties": False,
                                    },
                                },
                            },
                            "additionalProperties": False,
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": -1},
                                "level": _LEVEL,
                                "message": _TEXT,
                                "locations": {"type": "array", "items": _LOCATION},
                                "relatedLocations": {"type": "array", "items": _LOCATION},
                                "properties": {"type": "object"},
                            },
                            "additionalProperties": False,
                        },
                    },
                },
            },
        },
    },
}


def test_sarif_is_valid_and_its_results_point_at_their_rules(manual):
    log = manual("lint", "out/bad.py", "--packet", "rules", "--format", "sarif").data
    jsonschema.validate(log, SARIF)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    related = run["results"][1]["relatedLocations"][0]["physicalLocation"]
    assert related == {
        "artifactLocation": {"uri": "docs/guide.md"},
        "region": {"startLine": 5, "endLine": 5},
    }
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["message"]["text"] for note in notes] == [
        "Not checkable by rule: Do not surprise people."
    ]


def test_with_a_model_the_rest_is_judged(manual, chat_server):
    chat_server.replies = [
        Reply({"breaks": [{"rule": 1, "quote": "x = 1", "why": "it surprises people"}]})
    ]
    found = manual("lint", "out/good.py", "--packet", "rules", "--model")
    assert found.code == 1
    assert (
        found.out
        == """\
out/good.py:1:1: error: it surprises people (a model's judgement)
    rule: Do not surprise people.
    from: docs/guide.md, Keys, 2 (line 5)
rules: 1 error in 1 output; 2 of 3 rules checked, 1 judged by a model
"""
    )


def test_a_model_that_is_away_is_said_and_the_rules_count(manual, chat_server):
    chat_server.replies = [Reply("no", 500)]
    found = manual("lint", "out/good.py", "--packet", "rules", "--model")
    assert found.code == 0
    assert "no model judged the rest: small at" in found.err
    assert "not checkable by rule: 1" in found.out


def test_a_scene_is_held_against_its_bible(empty):
    empty.write(
        {
            "ctxfile.toml": 'version = 1\n[targets.scene]\npreset = "scene"\ndocs = "bible/*.md"\n'
            'task = "chapter 2: Ann"\n',
            "bible/cast.md": "# Cast\n\n- **Ann Reed**: the cook.\n- **Bo Lark**: the groom.\n",
            "bible/secrets.md": "# Secrets\n\n- Bo poisoned the well. Not before chapter 5.\n",
            "early.md": "Ann Read wept. Bo had poisoned the well.\n",
            "fine.md": "Ann Reed wept. Bo drank from the well.\n",
        }
    )
    found = empty("lint", "early.md", "--packet", "scene")
    assert found.code == 1
    assert [line for line in found.out.splitlines() if "error:" in line] == [
        "early.md:1:5: error: 'Read': the name is spelled 'Reed'",
        "early.md:1:16: error: reveals before chapter 5: Bo poisoned the well",
    ]
    assert empty("lint", "fine.md", "--packet", "scene").code == 0
    assert json.loads(empty.bytes_of("show", "scene", "--json"))["target"] == "scene"
