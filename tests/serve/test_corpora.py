"""Packs of two real packages: budgets hold by another tokenizer's count, and all is explained."""

from __future__ import annotations

import json

import pytest

from benchmarks import corpus
from ctxbuild.serve.lookup import Desk
from ctxbuild.serve.session import Session
from ctxbuild.serve.why import why
from ctxbuild.source import ctxfile

ENTRIES = {
    "flask": ["src/flask/app.py", "src/flask/helpers.py", "src/flask/cli.py::ScriptInfo"],
    "django": [
        "django/http/response.py",
        "django/db/models/query.py",
        "django/contrib/admin/options.py",
        "django/core/handlers/base.py::BaseHandler",
    ],
}
BUDGETS = (1_000, 8_000, 64_000)


def declared(entries):
    targets = [
        f'[targets.t{number}-{budget}]\nentry = ["{entry}"]\nbudget = {budget}\n'
        for number, entry in enumerate(entries)
        for budget in BUDGETS
    ]
    return "version = 1\n" + "".join(targets)


@pytest.mark.corpus
@pytest.mark.parametrize("name", ENTRIES)
def test_packs_of_a_real_package_keep_their_budgets_and_are_explained(name, tmp_path, oracle):
    files = {"ctxfile.toml": declared(ENTRIES[name])}
    tree = corpus.working_copy(corpus.source(name), tmp_path / name, files)
    project = ctxfile.load(tree / "ctxfile.toml")
    last = project.targets[-1]
    result = Session(project).build()
    assert not result.failed
    assert Session(project).build().ran == ()
    for target in result.targets:
        packs = tree / ".ctxbuild" / "packs"
        text = (packs / f"{target.name}.md").read_text()
        count = len(oracle["o200k_base"].encode_ordinary(text))
        assert count == target.tokens <= target.budget
        pack = json.loads((packs / f"{target.name}.pack.json").read_text())
        plan = json.loads((packs / f"{target.name}.plan.json").read_text())
        verdicts = {each["unit"]: each["verdict"] for each in plan["candidates"]}
        kept = {unit for unit, verdict in verdicts.items() if verdict != "dropped"}
        assert len(verdicts) == len(plan["candidates"])
        assert {block["unit"] for block in pack["blocks"]} == kept
    with Session(project).asking() as workspace:
        desk = Desk(workspace)
        units = [block["unit"] for block in pack["blocks"]]
        answers = [why(desk, last, unit, str(tree)) for unit in units[:200]]
    assert all(answer.findings and answer.findings[0].reasons for answer in answers)
