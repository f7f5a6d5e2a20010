"""A notes file in Markdown: findings, one a line, among whatever else people write there.

A finding is a list entry `- path: found X; severity Y; suggest Z`. The digest that
the file had when it was noted stands in an HTML comment at the end of the line:
it moves with the line when somebody sorts the file by hand, is not shown when the
file is rendered, and needs no second file that could be lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ctxbuild.model import Problem

_FINDING = re.compile(r"\s{0,8}[-*+] (?P<path>[^\s:][^:\n]{0,400}?): [Ff]ound (?P<rest>\S.*)")
_DIGEST = re.compile(r"\s*<!--\s*sha256:([0-9a-f]{8,64})\s*-->\s*$")
_PART = re.compile(r";\s*(severity|suggest)\s+", re.IGNORECASE)
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found in a file.

    Attributes:
        path: of the file, relative to the root.
        digest: first digits of the SHA-256 that the file had, or "".
        line: where it stands in the notes, from 1; 0 if nowhere yet.
    """

    path: str
    found: str
    severity: str = ""
    suggest: str = ""
    digest: str = ""
    line: int = 0

    @property
    def text(self) -> str:
        """As it stands behind the dash."""
        severity = f"; severity {self.severity}" if self.severity else ""
        suggest = f"; suggest {self.suggest}" if self.suggest else ""
        return f"{self.path}: found {self.found}{severity}{suggest}"

    @property
    def key(self) -> str:
        """Equal for two notes of one finding: path and words, however they are written."""
        words = re.findall(r"[^\W_]+", self.found.lower())
        return f"{self.path}\0{' '.join(words)}"

    @property
    def row(self) -> str:
        """The whole line."""
        remembered = f" <!-- sha256:{self.digest} -->" if self.digest else ""
        return f"- {self.text}{remembered}"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Other text: a paragraph or list entry under a heading; `line` is where it begins."""

    text: str
    heading: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Notes:
    """A notes file."""

    findings: tuple[Finding, ...] = ()
    paragraphs: tuple[Paragraph, ...] = ()
    problems: tuple[Problem, ...] = ()


def finding_of(row: str) -> Finding | None:
    """The finding in a line, with or without its dash; None if there is none."""
    row = row if row.lstrip()[:2] in {"- ", "* ", "+ "} else f"- {row.strip()}"
    remembered = _DIGEST.search(row[-100:])
    digest = remembered[1] if remembered else ""
    if remembered:
        row = row[: row.rfind("<!--")].rstrip()
    match = _FINDING.fullmatch(row.rstrip())
    if match is None:
        return None
    parts = _PART.split(match["rest"])
    given = dict(zip((name.lower() for name in parts[1::2]), parts[2::2], strict=True))
    path = match["path"].strip().strip("`")
    found, severity, suggest = parts[0], given.get("severity", ""), given.get("suggest", "")
    if not path or not found.strip():
        return None
    return Finding(path, found.strip(), severity.strip(), suggest.strip(), digest)


def read_notes(data: bytes) -> Notes:
    """What a notes file says; nothing is raised."""
    problems: list[Problem] = []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        problems.append(Problem("encoding", "is not UTF-8; what is not is shown as \ufffd"))
    findings: list[Finding] = []
    paragraphs: list[Paragraph] = []
    heading, start = "", 0
    rows: list[str] = []
    lines = [*text.replace("\r\n", "\n").split("\n"), ""]
    for number, (row, fenced) in enumerate(zip(lines, _fenced(lines), strict=True), 1):
        finding = None if fenced else finding_of(row) if row.lstrip()[:1] in "-*+" else None
        head = not fenced and row.startswith("#")
        ends = not fenced and (not row.strip() or finding is not None or head)
        if ends or (rows and not fenced and row[:2] in {"- ", "* ", "+ "}):
            if rows:
                paragraphs.append(Paragraph("\n".join(rows), heading, start))
            rows = []
        if finding:
            findings.append(replace(finding, line=number))
        elif head:
            heading = row.lstrip("# ").strip()
        elif row.strip() or (fenced and rows):
            start = start if rows else number
            rows.append(row)
    if rows:
        paragraphs.append(Paragraph("\n".join(rows), heading, start))
    return Notes(tuple(findings), tuple(paragraphs), tuple(problems))


def add(text: str, finding: Finding) -> tuple[str, bool]:
    """A notes file with one more finding, every other line as it was.

    A finding that stands there already is brought up to date in its place: what the
    new one says of severity, suggestion and digest holds, what it does not say stays.
    Further lines of the same finding go.

    Args:
        text: of the file, "" for a new one.
        finding: what to note.

    Returns:
        The new text, and whether the finding was new.
    """
    feed = "\r\n" if "\r\n" in text else "\n"
    rows = text.split(feed) if text else ["# Notes", "", "## Findings", ""]
    found = _findings_in(rows)
    known = [at for at, each in found.items() if each.key == finding.key]
    if known:
        old = found[known[0]]
        merged = replace(
            finding,
            found=old.found,
            severity=finding.severity or old.severity,
            suggest=finding.suggest or old.suggest,
            digest=finding.digest or old.digest,
        )
        rows[known[0]] = _margin(rows[known[0]]) + merged.row
        kept = [row for at, row in enumerate(rows) if at not in known[1:]]
        return feed.join(kept), False
    rows.insert(_place(rows, found), finding.row)
    whole = feed.join(rows)
    return whole if whole.endswith(feed) else whole + feed, True


def remembered(digest: str) -> str:
    """As much of a file's digest as a note remembers."""
    return digest[:_DIGITS]


def _findings_in(rows: list[str]) -> dict[int, Finding]:
    """Row to the finding that it is; what stands in a fence is none."""
    found: dict[int, Finding] = {}
    for at, (row, fenced) in enumerate(zip(rows, _fenced(rows), strict=True)):
        if not fenced and row.strip() and row.lstrip()[0] in "-*+":
            finding = finding_of(row)
            if finding:
                found[at] = finding
    return found


def _fenced(rows: list[str]) -> list[bool]:
    """Whether each row stands in a fence or opens one; what is never closed opens nothing."""
    marks = [at for at, row in enumerate(rows) if row.lstrip().startswith("```")]
    inside = [False] * len(rows)
    for first, last in zip(marks[::2], marks[1::2], strict=False):
        inside[first:last] = [True] * (last - first)
    return inside


def _margin(row: str) -> str:
    return row[: len(row) - len(row.lstrip())]


def _place(rows: list[str], found: dict[int, Finding]) -> int:
    """Behind the last finding; else below a heading that says so; else at the end."""
    if found:
        return max(found) + 1
    for at, row in enumerate(rows):
        if row.startswith("#") and row.lstrip("# ").strip().lower() == "findings":
            blank = at + 1 < len(rows) and not rows[at + 1].strip()
            return at + 2 if blank else at + 1
    end = len(rows)
    while end and not rows[end - 1].strip():
        end -= 1
    rows[end:] = ["", "## Findings", "", *rows[end:]] if end else ["## Findings", "", ""]
    return end + 3 if end else 2
