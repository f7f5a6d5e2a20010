"""`ctxbuild doctor` and `ctxbuild schema`."""

from __future__ import annotations

from ctxbuild.source.schema import generate

LEFT_OUT = """\
path        reason   detail
.gitignore  hidden
built       ignored  .gitignore:1: built/
"""


def checks(outcome):
    return {check["name"]: (check["status"], check["text"]) for check in outcome.data["checks"]}


def test_all_is_well_and_nothing_was_made(shop):
    outcome = shop("doctor")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert all(line.startswith("ok    ") for line in lines)
    assert lines[-5:] == [
        "ok    ctxfile      ROOT/ctxfile.toml: app, notes",
        "ok    tokenizer    o200k_base by toktok",
        "ok    cache        ROOT/.ctxbuild: made by the next build",
        "ok    files        7 selected in ROOT",
        "ok    left out     1 hidden, 1 ignored",
    ]
    assert not (shop.root / ".ctxbuild").exists()


def test_json_holds_the_checks(shop):
    found = checks(shop("doctor", "--json"))
    assert found["tokenizer"] == ("ok", "o200k_base by toktok")
    assert found["parser"][0] == "ok"


def test_everything_that_is_left_out_is_listed_with_its_reason(shop):
    assert shop("doctor", "--left-out").out == LEFT_OUT
    assert shop("doctor", "--left-out", "--json").data["left_out"] == [
        {"path": ".gitignore", "reason": "hidden", "detail": ""},
        {"path": "built", "reason": "ignored", "detail": ".gitignore:1: built/"},
    ]


def test_what_keeps_builds_from_working_is_a_failure(shop):
    shop.edit("ctxfile.toml", "version = 1\n", 'version = 1\n[project]\ntokenizer = "none"\n')
    outcome = shop("doctor")
    assert outcome.code == 1
    assert "fail  tokenizer    unknown tokenizer 'none': use one of " in outcome.out
    shop.edit("ctxfile.toml", "version = 1", "version = 7")
    found = checks(shop("doctor", "--json"))
    assert found["ctxfile"] == (
        "fail",
        f"{shop.root}/ctxfile.toml:1: version 7 is newer than this ctxbuild, which reads 1",
    )


def test_what_only_hinders_is_a_warning(empty):
    outcome = empty("doctor")
    assert outcome.code == 0
    assert "warn  ctxfile      none here or above: run `ctxbuild init`\n" in outcome.out
    assert (
        "warn  files        none selected in ROOT: see `ctxbuild doctor --left-out`\n"
        in outcome.out
    )


def test_the_schema_is_the_generated_one(empty):
    assert empty("schema").data == generate()
    assert empty("schema").out.endswith("}\n")
