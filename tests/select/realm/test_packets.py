"""Packets of documents: what a task gets, under which budget, and where it comes from."""

from __future__ import annotations

import json

import pytest

from tests.select.realm.papers import Papers, packet

MANUAL = """\
# Parcel API

Everything about parcels.

## Access

All requests need a key.

### API keys

Keys are made on the dashboard. Send yours in a header:

```
X-Parcel-Key: YOUR_KEY
```

- Never put a key into a URL
- Rotate keys every month

See [limits](#limits) for what a key may do.

### Sessions

Browsers use sessions instead.

## Limits

A plan allows 100 requests a minute, more for a paid key.

## Parcels

### List parcels

**GET** `/parcels`

Gives a paginated list.

### Send a parcel

**POST** `/parcels`

| field | meaning |
|---|---|
| weight | in grams |
| to | an address |

## Pagination

Lists come in pages.

### Cursors

1. Send `cursor` from the last page.
2. Stop when `next` is null.

## Errors

Errors have a code. Clients MUST NOT retry a 400.
"""

OTHERS = "\n".join(
    f"## Topic {n}\n\nParcel matters of kind {n} are described at length in this place.\n"
    for n in range(40)
)


def test_a_task_gets_the_sections_that_answer_it_whole():
    found = packet({"manual.md": MANUAL + OTHERS}, task="how do I authenticate with an API key?")
    assert (
        found.text
        == """\
# auth

## Constraints

### api-keys
4. [MUST NOT] Never put a key into a URL
6. [MAY] See [limits](#limits) for what a key may do.

## Facts

### api-keys
1. Keys are made on the dashboard.
5. - Rotate keys every month

## Examples

### api-keys
3.
Send yours in a header:
```
X-Parcel-Key: YOUR_KEY
```

## Provenance

### manual.md
- api-keys: Access > API keys
"""
    )


def test_another_task_gets_others():
    found = packet({"manual.md": MANUAL + OTHERS}, task="how pagination works")
    assert found.sources == ["manual.md#pagination", "manual.md#cursors"]


def test_only_sections_that_were_kept_are_read():
    view = Papers({"manual.md": MANUAL + OTHERS})
    from ctxbuild.select import docs
    from ctxbuild.source.ctxfile import Layer
    from tests.select.realm.papers import DEFAULTS

    options = tuple({**DEFAULTS, "task": "how pagination works"}.items())
    docs.propose(view, Layer("docs", "docs", ("*",), options=options))
    assert [asked for asked in view.asked if asked[0] == "section"] == [
        ("section", "manual.md", "pagination"),
        ("section", "manual.md", "cursors"),
    ]


def test_every_step_of_the_loop_is_recorded():
    record = packet({"manual.md": MANUAL + OTHERS}, task="how pagination works").proposal.record
    assert record["policy"] == "rules"
    assert record["stopped"] in {"enough", "exhausted"}
    assert record["steps"][1] == {
        "read": "manual.md#pagination",
        "expand": ["manual.md#cursors"],
        "analyze": "keep: pagin (0.86)",
        "monitor": "go on: 2 left that may matter",
    }
    json.dumps(record)


def test_what_was_judged_and_not_kept_is_refused_with_the_reason():
    refused = packet(
        {"manual.md": MANUAL + OTHERS}, task="how do I authenticate with an API key?"
    ).proposal.refused
    assert [(r.unit, r.why, r.detail) for r in refused] == [
        ("manual.md#parcel-api", "not-relevant", "none of the words"),
        ("manual.md#access", "not-relevant", "key (0.18)"),
    ]


def test_no_task_compiles_everything():
    proposal = packet({"manual.md": MANUAL}).proposal
    assert proposal.record["policy"] == "everything"
    assert proposal.refused == ()
    offered = "".join(rung.text for c in proposal.candidates for rung in c.ladder)
    for words in ("Stop when `next` is null.", "paginated list", "X-Parcel-Key", "in grams"):
        assert words in offered


def test_a_packet_never_has_more_tokens_than_its_document():
    view = Papers({"manual.md": MANUAL})
    found = packet({"manual.md": MANUAL})
    assert found.proposal.most == view.tokens("manual.md")
    assert found.tokens <= view.tokens("manual.md")
    assert "Never put a key into a URL" in found.text
    assert "Clients MUST NOT retry a 400." in found.text


def test_what_binds_in_a_document_of_a_few_lines_is_not_lost_to_headings():
    found = packet({"a.md": "# A\n\nUse a key.\n\n## B\n\nYou must not.\n"})
    assert "You must not." in found.text


def test_of_a_long_document_no_exact_count_is_asked_for():
    view = Papers({"manual.md": MANUAL + OTHERS})
    from ctxbuild.select import docs
    from ctxbuild.source.ctxfile import Layer
    from tests.select.realm.papers import DEFAULTS

    options = tuple({**DEFAULTS, "task": "how pagination works"}.items())
    proposal = docs.propose(view, Layer("docs", "docs", ("*",), options=options))
    assert proposal.most is None
    assert not [asked for asked in view.asked if asked[0] == "tokens"]


def test_what_binds_outlives_everything_else_in_a_small_budget():
    text = MANUAL.replace("Keys are made", "Keys are always yours. " + "Long story here. " * 30)
    found = packet({"manual.md": text + OTHERS}, task="API keys", budget=60)
    assert "Never put a key into a URL" in found.text
    assert "Long story" not in found.text
    assert found.tokens <= 60


@pytest.mark.parametrize("budget", range(20, 400, 37))
def test_no_budget_is_exceeded_and_no_entry_stands_without_its_source(budget):
    found = packet({"manual.md": MANUAL + OTHERS}, task="API keys and pagination", budget=budget)
    assert found.tokens <= budget
    shown = {b.unit.rpartition("@")[0] for b in found.fitted.blocks if "@" in b.unit}
    assert shown == set(found.sources)


def test_sources_of_several_documents_are_told_apart_by_the_ends_of_their_paths():
    files = {
        "v1/guide.md": "# Guide\n\n## Keys\n\nKeys of version one.\n",
        "v2/guide.md": "# Guide\n\n## Keys\n\nKeys of version two.\n",
        "faq.md": "# Questions\n\n## Lost keys\n\nAsk for a new key.\n",
    }
    found = packet(files, task="keys")
    provenance = found.text.partition("## Provenance\n\n")[2].splitlines()
    assert provenance == [
        "### faq.md",
        "- faq#lost-keys: Lost keys",
        "### v1/guide.md",
        "- v1/guide#keys: Keys",
        "### v2/guide.md",
        "- v2/guide#keys: Keys",
    ]


def test_a_task_that_nothing_answers_is_said():
    found = packet({"manual.md": MANUAL}, task="volcanoes")
    assert found.text == "# auth\n"
    assert found.proposal.warnings == (
        "layer 'docs': nothing in its documents matches 'volcanoes'",
    )


def test_an_item_is_found_in_a_section_that_as_a_whole_says_little():
    text = (
        MANUAL
        + OTHERS
        + (
            "\n## Odds and ends\n\n"
            + "".join(f"- Nothing of note about thing {n} at all\n" for n in range(30))
            + "- Archived parcels must not be rerouted\n"
        )
    )
    found = packet({"manual.md": text}, task="reroute archived parcels")
    assert "[MUST NOT] Archived parcels must not be rerouted" in found.text
    assert "Nothing of note" not in found.text


def test_what_a_kept_section_links_to_is_kept_at_the_second_look():
    found = packet({"manual.md": MANUAL + OTHERS}, task="what may a paid API key do?")
    assert "manual.md#limits" in found.sources


def test_an_overruled_item_is_left_out_with_what_overrules_it():
    files = {
        "base.md": "# Base\n\n## Retries\n\nClients MUST retry failed requests.\n",
        "team.md": "# Team\n\n## Retries\n\nClients MUST NOT retry failed requests.\n",
    }
    found = packet(files, task="retries", precedence=("team.md", "base.md"))
    assert "Clients MUST NOT retry" in found.text
    assert "Clients MUST retry" not in found.text
    (refused,) = [r for r in found.proposal.refused if r.why == "overruled"]
    assert refused.unit == "base.md#retries@1"
    assert refused.detail == "team.md#retries@1: precedence"


def test_a_contradiction_among_equals_is_reported_and_both_are_shown():
    files = {
        "base.md": "# Base\n\n## Retries\n\nClients MUST retry failed requests.\n",
        "team.md": "# Team\n\n## Retries\n\nClients MUST NOT retry failed requests.\n",
    }
    found = packet(files, task="retries")
    (warning,) = found.proposal.warnings
    assert warning.startswith("CONFLICTING: base.md#retries@1 and team.md#retries@1 say the")
    assert "Clients MUST retry" in found.text
    assert "Clients MUST NOT retry" in found.text


def test_what_is_pinned_is_pinned():
    found = packet({"manual.md": MANUAL + OTHERS}, task="pagination", pin=True)
    items = [c for c in found.proposal.candidates if "@" in c.unit]
    assert items
    assert all(c.pinned for c in items)


def test_few_steps_are_kept_to_and_the_record_says_so():
    found = packet({"manual.md": MANUAL + OTHERS}, task="API keys and pagination", steps=2)
    assert found.proposal.record["stopped"] == "steps"


# --- an API's packet --------------------------------------------------------------------


def test_the_packet_of_an_api_has_access_endpoints_errors_examples_and_what_not_to_do():
    found = packet({"manual.md": MANUAL}, profile="api")
    titles = [line for line in found.text.splitlines() if line.startswith("## ")]
    assert titles[:5] == [
        "## Do not",
        "## Auth and security",
        "## Endpoints",
        "## Errors and limits",
        "## Examples",
    ]
    forbidden = found.text.partition("## Do not\n\n")[2].partition("\n## ")[0]
    assert forbidden == (
        "### api-keys\n4. [MUST NOT] Never put a key into a URL\n"
        "### errors\n2. Clients MUST NOT retry a 400.\n"
    )
    assert "1. **POST** `/parcels`\n" in found.text


def test_with_a_task_the_packet_of_an_api_has_only_its_endpoints():
    found = packet({"manual.md": MANUAL + OTHERS}, profile="api", task="send a parcel")
    assert "**POST** `/parcels`" in found.text
    assert "**GET** `/parcels`" not in found.text
    assert "Never put a key into a URL" in found.text


RULES = "# Guide\n\n## Rules\n\n" + "".join(f"- Never use `f{n}`.\n" for n in range(40))


def test_rules_are_complete_also_where_a_document_is_nothing_else():
    found = packet({"guide.md": RULES})
    assert [n for n in range(40) if f"`f{n}`" not in found.text] == []


def test_a_link_of_what_is_shown_that_leads_to_nothing_is_warned_of():
    text = MANUAL.replace("[limits](#limits)", "[limits](#limit), [b](b.md) and [c](/c)")
    found = packet({"manual.md": text + OTHERS}, task="how do I authenticate with an API key?")
    assert found.proposal.warnings == (
        "manual.md#api-keys: its link '#limit' leads to nothing",
        "manual.md#api-keys: its link 'b.md' leads to nothing",
    )
    other = packet({"manual.md": text + OTHERS}, task="how pagination works")
    assert other.proposal.warnings == ()


@pytest.mark.parametrize("task", ["parcel versioning", "API versioning"])
def test_a_word_that_stands_over_everything_is_no_answer(task):
    found = packet({"manual.md": MANUAL + OTHERS}, task=task)
    assert found.sources == []
    assert found.proposal.warnings == (f"layer 'docs': nothing in its documents matches {task!r}",)


def test_an_endpoint_is_one_whatever_its_text_speaks_of_besides():
    text = MANUAL.replace("Gives a paginated list.", "Gives a list with status codes, or an error.")
    found = packet({"manual.md": text + OTHERS}, profile="api")
    sections = {c.unit.partition("#")[2]: c.section for c in found.proposal.candidates}
    assert sections["list-parcels@1"] == "endpoints"
    assert sections["errors@1"] == "errors"


WORDED = """\
- [Auth](#auth)
- [Pages](#pages)

# Ledger API

Figures for everyone.

## Auth

Send a token with every call.

## Entries

| query | meaning |
|---|---|
| cursor | where the next page begins |

## Limits

The rate limit is 60 calls a minute.

## Changes

A request is sent by post.
"""


@pytest.mark.parametrize(
    ("task", "source"),
    [
        ("how to authenticate with an API key", "auth"),
        ("how do I log in", "auth"),
        ("how pagination works", "entries"),
        ("what if I send too many requests", "limits"),
    ],
)
def test_a_task_in_other_words_finds_its_section_and_no_table_of_contents(task, source):
    assert packet({"a.md": WORDED}, task=task).sources == [f"a.md#{source}"]
