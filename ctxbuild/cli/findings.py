"""What a lint found: as text for people, as JSON, as SARIF 2.1.0, as annotations of GitHub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ctxbuild.cli.ci import annotation
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.compare.lint import Diagnostic, Level, Report, Rule, Source

LEVELS: tuple[Level, ...] = ("error", "warning", "note")
Paint = Callable[[str, str], str]

_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_text(report: Report, paint: Paint) -> str:
    """Diagnostics by place, then what no rule could decide, then the sum."""
    return "".join(f"{line}\n" for line in _lines(report, paint))


def _lines(report: Report, paint: Paint) -> Iterator[str]:
    texts = {rule.id: rule.text for rule in report.rules}
    for each in report.diagnostics:
        place = f"{shown(each.path)}:{each.line}:{each.column}"
        by = " (a model's judgement)" if each.by == "model" else ""
        yield f"{place}: {paint(each.level, _COLORS[each.level])}: {shown(each.message)}{by}"
        yield f"    rule: {_short(texts[each.rule])}"
        yield f"    from: {shown(_where(each.source))}"
    left = [rule for rule in report.unchecked if rule.id not in report.judged]
    if left:
        yield f"not checkable by rule: {len(left)}"
        yield from (f"    {shown(_where(rule.source))}: {_short(rule.text)}" for rule in left)
    yield _sum(report)


def _sum(report: Report) -> str:
    counts = [
        f"{count} {level}{'' if count == 1 else 's'}"
        for level in LEVELS
        if (count := report.count(level))
    ]
    judged = f", {len(report.judged)} judged by a model" if report.judged else ""
    checked = f"{len(report.checked)} of {len(report.rules)} rules checked{judged}"
    outputs = f"{len(report.outputs)} output{'' if len(report.outputs) == 1 else 's'}"
    return f"{report.packet}: {', '.join(counts) or 'no break'} in {outputs}; {checked}"


def _short(text: str) -> str:
    flat = shown(" ".join(text.split()))
    return flat if len(flat) <= 160 else flat[:157] + "..."


def _where(source: Source) -> str:
    if not source.lines:
        return str(source)
    first, last = source.lines
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    return f"{source} ({lines})"


def as_data(report: Report) -> dict[str, Any]:
    """As plain data for JSON."""
    rules = {rule.id: rule for rule in report.rules}
    return {
        "schema": "ctxbuild.lint/1",
        "packet": report.packet,
        "outputs": list(report.outputs),
        "errors": report.count("error"),
        "warnings": report.count("warning"),
        "notes": report.count("note"),
        "diagnostics": [_diagnostic(each, rules) for each in report.diagnostics],
        "checked": list(report.checked),
        "judged": list(report.judged),
        "not_checkable": [_rule(rule) for rule in report.unchecked],
        "problems": list(report.warnings),
    }


def _diagnostic(each: Diagnostic, rules: dict[str, Rule]) -> dict[str, Any]:
    rule = rules[each.rule]
    data = {key: value for key, value in asdict(each).items() if key != "source"}
    return {**data, "text": rule.text, "modality": rule.modality, "source": _source(each.source)}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule.id,
        "text": rule.text,
        "modality": rule.modality,
        "level": rule.level,
        "source": _source(rule.source),
    }


def _source(source: Source) -> dict[str, Any]:
    return {
        "path": source.path,
        "section": source.section,
        "ordinal": source.ordinal,
        "lines": list(source.lines) if source.lines else None,
    }


# --- GitHub -----------------------------------------------------------------------------


def as_annotations(report: Report) -> str:
    """One workflow command per diagnostic."""
    levels = {"error": "error", "warning": "warning", "note": "notice"}
    texts = {rule.id: rule.text for rule in report.rules}
    rows = []
    for each in report.diagnostics:
        message = f"{each.message}\n{_short(texts[each.rule])}\n{_where(each.source)}"
        row = annotation(levels[each.level], message, each.path, each.rule)
        lines = f"line={each.line},endLine={each.end_line}"
        place = f"{lines},col={each.column},endColumn={each.end_column}"
        head, mark, rest = row.partition(",title=")
        rows.append(f"{head},{place}{mark}{rest}\n")
    return "".join(rows)


# --- SARIF ------------------------------------------------------------------------------


def as_sarif(report: Report, version: str) -> dict[str, Any]:
    """A log of one run (OASIS, Static Analysis Results Interchange Format 2.1.0).

    What no check decides is among the rules, and named in a notification.
    """
    places = {rule.id: place for place, rule in enumerate(report.rules)}
    unjudged = [rule for rule in report.unchecked if rule.id not in report.judged]
    notes = [
        {
            "level": "note",
            "message": {"text": f"Not checkable by rule: {rule.text}"},
            "associatedRule": {"id": rule.id, "index": places[rule.id]},
        }
        for rule in unjudged
    ]
    notes += [{"level": "warning", "message": {"text": text}} for text in report.warnings]
    driver = {
        "name": "ctxbuild",
        "version": version,
        "semanticVersion": version,
        "rules": [_sarif_rule(rule) for rule in report.rules],
    }
    invocation: dict[str, Any] = {"executionSuccessful": True}
    if notes:
        invocation["toolExecutionNotifications"] = notes
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "invocations": [invocation],
                "results": [_sarif_result(each, places) for each in report.diagnostics],
            }
        ],
    }


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": _short(rule.text) or rule.id},
        "fullDescription": {"text": rule.text or rule.id},
        "help": {"text": _where(rule.source)},
        "defaultConfiguration": {"level": rule.level},
        "properties": {"modality": rule.modality, "checkable": bool(rule.checks)},
    }


def _sarif_result(each: Diagnostic, places: dict[str, int]) -> dict[str, Any]:
    region: dict[str, int] = {
        "startLine": each.line,
        "startColumn": each.column,
        "endLine": each.end_line,
        "endColumn": each.end_column,
    }
    source: dict[str, Any] = {"artifactLocation": {"uri": _uri(each.source.path)}}
    if each.source.lines:
        source["region"] = {"startLine": each.source.lines[0], "endLine": each.source.lines[1]}
    return {
        "ruleId": each.rule,
        "ruleIndex": places[each.rule],
        "level": each.level,
        "message": {"text": each.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(each.path)},
                    "region": region,
                }
            }
        ],
        "relatedLocations": [
            {
                "id": 1,
                "physicalLocation": source,
                "message": {"text": f"the rule: {_where(each.source)}"},
            }
        ],
        "properties": {"by": each.by},
    }


def _uri(path: str) -> str:
    from urllib.parse import quote

    if path == "-":
        return "stdin"
    plain = path.replace("\\", "/")
    return quote(plain) if not plain.startswith("/") else f"file://{quote(plain)}"
