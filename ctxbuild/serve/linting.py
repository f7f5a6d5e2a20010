"""Outputs held against the packet of a target, or against one that was written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxbuild.compare import lint
from ctxbuild.compare.artifact import Artifact, parse
from ctxbuild.compare.lint_outputs import outputs_of
from ctxbuild.compare.lint_rules import is_packet, own_rules, rules_of
from ctxbuild.errors import ModelError, UsageError

if TYPE_CHECKING:
    from ctxbuild.compare.lint import Report, Rule
    from ctxbuild.serve.session import Session
    from ctxbuild.source.ctxfile import Ctxfile

_NO_PACKET = "name a target with a `docs` layer, or a NAME.pack.json of one"


def packet_of(
    text: str,
    directory: str,
    ctxfile: Callable[[], Ctxfile],
    opened: Callable[[Ctxfile], Session],
) -> tuple[str, list[Rule]]:
    """The name of a packet and its rules.

    Args:
        text: a target, or the path of a NAME.pack.json.
        directory: what a path is relative to.
        ctxfile: gives the project when it is needed.
        opened: opens a session of it.

    Raises:
        UsageError: it is neither, or no packet.
        CtxbuildError: the target cannot be built.
    """
    if text.endswith(".json"):
        artifact, plan = _written(os.path.join(directory, text), text)
        return artifact.head.target, _rules(artifact, plan, text)
    project = ctxfile()
    target = project.target(text)
    files = opened(project).artifact(text)[2]
    artifact = parse(files[f"{text}.pack.json"], text)
    declared = own_rules(target.rules, os.path.basename(project.path))
    if not is_packet(artifact) and declared:
        return text, declared
    return text, [*_rules(artifact, files[f"{text}.plan.json"], text), *declared]


def _written(path: str, name: str) -> tuple[Artifact, bytes]:
    try:
        with open(path, "rb") as file:
            artifact = parse(file.read(), name)
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}", _NO_PACKET) from error
    plan = f"{path.removesuffix('.pack.json')}.plan.json"
    try:
        with open(plan, "rb") as file:
            return artifact, file.read()
    except OSError:
        return artifact, b""


def _rules(artifact: Artifact, plan: bytes, name: str) -> list[Rule]:
    if not is_packet(artifact) and not any(_records(plan)):
        raise UsageError(f"{name}: holds no packet", _NO_PACKET)
    canon = [record["canon"] for record in _records(plan) if "canon" in record]
    own = rules_of(artifact)
    if not canon:
        return own
    from ctxbuild.compare.lint_scene import canon_rules, is_covered

    return [
        *(rule for rule in own if rule.checks or not any(is_covered(rule, each) for each in canon)),
        *(rule for each in canon for rule in canon_rules(each)),
    ]


def _records(plan: bytes) -> list[dict[str, Any]]:
    import json

    try:
        layers = json.loads(plan).get("layers", {}) if plan else {}
    except (ValueError, AttributeError):
        return []
    return [record for record in layers.values() if isinstance(record, dict)]


def check(
    packet: str,
    rules: Sequence[Rule],
    named: Sequence[str],
    directory: str,
    standard_input: bytes | None,
    *,
    model: Any = None,
) -> Report:
    """Holds outputs against rules.

    Args:
        named: files, directories, or "-".
        standard_input: its content where "-" is named.
        model: judges what no check decides; None for nobody.

    Raises:
        UsageError: an output cannot be read.
    """
    outputs = outputs_of(named, directory, standard_input)
    report = lint.run(packet, rules, outputs)
    if model is None or not report.unchecked or not outputs:
        return report
    from ctxbuild.compare.lint_judge import judge

    try:
        judged = judge(model, report.unchecked, outputs)
    except ModelError as error:
        return replace(report, warnings=(f"no model judged the rest: {error}",))
    return replace(
        report,
        diagnostics=lint.in_order([*report.diagnostics, *judged]),
        judged=tuple(rule.id for rule in report.unchecked),
    )
