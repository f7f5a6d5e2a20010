"""Packs of small repositories that are given as texts."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from ctxbuild.model import Plan, Verdict
from ctxbuild.serve.session import Session
from ctxbuild.source import ctxfile


class Built:
    """A built target."""

    def __init__(self, text: str, plan: Plan) -> None:
        self.text = text
        self.plan = plan
        self.verdicts: dict[str, Verdict] = {v.unit: v for v in plan.verdicts}

    def section(self, title: str) -> str:
        """What stands under a title, without fences and blank lines; "" if there is none."""
        _, found, rest = self.text.partition(f"\n## {title}\n")
        lines = rest.partition("\n## ")[0].splitlines()
        kept = [line for line in lines if line.strip() and not line.startswith("```")]
        return "\n".join(kept) + "\n" if found and kept else ""

    def kinds(self, unit: str) -> list[str]:
        """The kinds of the reasons for a unit."""
        return [reason.kind for reason in self.verdicts[unit].reasons]


class Repository:
    """Files below a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, files: dict[str, str]) -> None:
        """Write files; their texts are dedented."""
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(dedent(text))

    def pack(self, *entry: str, budget: int = 4000, **keys: object) -> Built:
        """The pack of a target with these entries, and its plan."""
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        lines += [f"entry = {json.dumps(entry)}", f"budget = {budget}"]
        (self.root / "ctxfile.toml").write_text(
            "\n".join(["version = 1", "[targets.app]", *lines, ""])
        )
        session = Session(ctxfile.load(self.root / "ctxfile.toml"), workers=1)
        pack, plan, _ = session.artifact("app")
        assert pack.tokens <= budget
        return Built(pack.text, plan)


@pytest.fixture
def repository(tmp_path):
    """An empty repository."""
    return Repository(tmp_path)
