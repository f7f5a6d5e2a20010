"""What the GitHub Action does: build, summary, annotations, and the packs' diff as one comment.

`python -m ctxbuild.cli.ci` reads its settings from the environment, so that no
input is ever part of a command line:

CTXBUILD_DIRECTORY, CTXBUILD_FILE   where the ctxfile is
CTXBUILD_TARGETS                    targets, separated by blanks; all by default
CTXBUILD_BASE, CTXBUILD_BASE_NAME   the commit to compare with, and what to call it
CTXBUILD_CHECK                      "true": packs that are committed must be right
CTXBUILD_CACHE                      an exported cache, taken if it is there and written anew
CTXBUILD_OUTPUT                     directory for the bundle, the packs and the comment
CTXBUILD_PULL_REQUEST               number of the pull request to comment on
GITHUB_STEP_SUMMARY, GITHUB_OUTPUT, GITHUB_REPOSITORY   as GitHub sets them
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ctxbuild.cli import render
from ctxbuild.errors import CtxbuildError, UsageError
from ctxbuild.source import ctxfile as ctxfiles
from ctxbuild.source.paths import shown

if TYPE_CHECKING:
    from ctxbuild.compare.diff import Difference
    from ctxbuild.serve.results import BuildResult, TargetResult
    from ctxbuild.source.ctxfile import Ctxfile

MARK = "<!-- ctxbuild: packs of this pull request -->"
_MOST_CHARACTERS = 60_000  # GitHub refuses comments of more than 65,536
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Settings:
    """The environment, read."""

    directory: str
    file: str
    targets: tuple[str, ...]
    base: str
    base_name: str
    check: bool
    cache: Path | None
    output: Path
    pull_request: str
    repository: str
    summary: Path | None
    outputs: Path | None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Settings:
        """The settings in an environment.

        Raises:
            UsageError: one of them makes no sense.
        """

        def get(name: str, default: str = "") -> str:
            return environment.get(name, "").strip() or default

        def path(name: str) -> Path | None:
            return Path(get(name)) if get(name) else None

        check = get("CTXBUILD_CHECK", "false").lower()
        if check not in ("true", "false"):
            raise UsageError(f"CTXBUILD_CHECK {check!r}: is neither 'true' nor 'false'")
        number = get("CTXBUILD_PULL_REQUEST")
        if number and not number.isdigit():
            raise UsageError(f"CTXBUILD_PULL_REQUEST {number!r}: is no number")
        base = get("CTXBUILD_BASE")
        return cls(
            directory=get("CTXBUILD_DIRECTORY", "."),
            file=get("CTXBUILD_FILE"),
            targets=tuple(get("CTXBUILD_TARGETS").split()),
            base=base,
            base_name=get("CTXBUILD_BASE_NAME", base),
            check=check == "true",
            cache=path("CTXBUILD_CACHE"),
            output=path("CTXBUILD_OUTPUT") or Path("ctxbuild-packs"),
            pull_request=number,
            repository=get("GITHUB_REPOSITORY"),
            summary=path("GITHUB_STEP_SUMMARY"),
            outputs=path("GITHUB_OUTPUT"),
        )


Say = Callable[[str], None]


def main(environment: Mapping[str, str], say: Say) -> int:
    """Runs the action.

    Args:
        environment: see the module.
        say: takes lines for the job's log, workflow commands among them.

    Returns:
        The exit code: 1 where a check says no, 2 where a target cannot be built.
    """
    try:
        return _run(Settings.of(environment), say)
    except CtxbuildError as error:
        say(annotation("error", str(error)))
        return error.exit_code


def _run(settings: Settings, say: Say) -> int:
    from ctxbuild.serve.session import Session

    ctxfile = _ctxfile(settings)
    _import(settings, ctxfile, say)
    wrong = _check(settings, ctxfile, say) if settings.check else 0
    result = Session(ctxfile).build(settings.targets)
    for line in findings(ctxfile, result):
        say(line)
    differences = _differences(settings, ctxfile, result, say) if settings.base else {}
    table = table_of(result, differences, settings.base_name)
    if settings.summary:
        with open(settings.summary, "a", encoding="utf-8") as file:
            file.write(f"### Packs\n\n{table}")
    comment = comment_of(table, differences, settings.base_name)
    _publish(settings, ctxfile, result, comment)
    if settings.pull_request and settings.base:
        _post(settings, comment, say)
    return 2 if result.failed else wrong


def _ctxfile(settings: Settings) -> Ctxfile:
    if settings.file:
        return ctxfiles.load(os.path.join(settings.directory, settings.file))
    found = ctxfiles.find(settings.directory)
    if found is None:
        raise UsageError(f"{settings.directory}: no ctxfile.toml here or above")
    return ctxfiles.load(found)


def _import(settings: Settings, ctxfile: Ctxfile, say: Say) -> None:
    """A cache that cannot be used costs time, not the job."""
    from ctxbuild.serve import transfer

    if settings.cache and settings.cache.is_file():
        try:
            transfer.load(ctxfile, settings.cache)
        except CtxbuildError as error:
            say(annotation("warning", str(error)))


def _check(settings: Settings, ctxfile: Ctxfile, say: Say) -> int:
    from ctxbuild.serve.check import check, rehearsal

    with rehearsal(ctxfile) as session:
        checked = check(session, ctxfile, settings.targets)
    problems = [problem for each in checked for problem in each.problems]
    for problem in problems:
        if problem.kind != "failed":  # the build tells that again
            root = f"{ctxfile.root}{os.sep}"
            place = problem.path.removeprefix(root)
            say(annotation("error", problem.message.replace(root, ""), place, "pack"))
    return 1 if problems else 0


# --- annotations ----------------------------------------------------------------------------


def annotation(level: str, message: str, path: str = "", title: str = "") -> str:
    """A workflow command that GitHub shows beside the file."""
    places = {"file": path, "title": title}
    fields = ",".join(f"{key}={_field(value)}" for key, value in places.items() if value)
    return f"::{level}{f' {fields}' if fields else ''}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _field(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def findings(ctxfile: Ctxfile, result: BuildResult) -> Iterable[str]:
    """Annotations of a build: targets that failed, files that a pack shows despite a problem."""
    file = os.path.relpath(ctxfile.path, ctxfile.root) if ctxfile.path else ""
    for line in result.warnings:
        yield annotation("warning", line)
    for target in result.targets:
        if target.error:
            yield annotation("error", target.error, file, f"pack {target.name}")
        for line in target.warnings:
            path, _, about = line.partition(": ")
            yield annotation("warning", about or line, path if about else "", f"pack {target.name}")


# --- against the base -----------------------------------------------------------------------


def _differences(
    settings: Settings, ctxfile: Ctxfile, result: BuildResult, say: Say
) -> dict[str, Difference | None]:
    """By target what changed since the base; None where the base has no such pack."""
    from ctxbuild.compare.artifact import parse
    from ctxbuild.compare.diff import difference
    from ctxbuild.serve.past import PastSession
    from ctxbuild.serve.session import Session

    try:
        past = PastSession(ctxfile, settings.base)
    except CtxbuildError as error:
        say(annotation("warning", f"no diff: {error}"))
        return {}
    found: dict[str, Difference | None] = {}
    for target in result.targets:
        if target.error:
            continue
        name = f"{target.name}.pack.json"
        now = parse(Session(ctxfile).artifact(target.name)[2][name], name)
        try:
            before = parse(past.artifact(target.name)[2][name], name)
        except CtxbuildError:
            found[target.name] = None
            continue
        found[target.name] = difference(before, now)
    return found


def table_of(result: BuildResult, differences: Mapping[str, Difference | None], base: str) -> str:
    """A row per target, as Markdown."""
    head = ["pack", "status", "tokens / budget", "saved"]
    lines = ["---", "---", "---:", "---:"]
    if differences:
        head.append(f"against {_code(base)}")
        lines.append("---")
    rows = [head, lines]
    rows += [_row(target, differences)[: len(head)] for target in result.targets]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(target: TargetResult, differences: Mapping[str, Difference | None]) -> list[str]:
    room = f"{target.budget:,}" + (f" - {target.reserve:,}" if target.reserve else "")
    if target.error:
        return [_code(target.name), "failed", f"- / {room}", "-", "-"]
    tokens = f"{target.tokens:,} / {room}"
    cells = [_code(target.name), "ok", tokens, render.saved(target)]
    change = differences.get(target.name)
    if change is None:
        return [*cells, "new" if target.name in differences else "-"]
    if not change.differs:
        return [*cells, "same"]
    gained = change.after.tokens - change.before.tokens
    count = sum(each.kind != "reasons" for each in change.changes)
    return [*cells, f"{gained:+,} tokens, {count} {'block' if count == 1 else 'blocks'}"]


def _code(text: str) -> str:
    return f"`{shown(text).replace('|', chr(92) + '|').replace('`', chr(39))}`"


def comment_of(table: str, differences: Mapping[str, Difference | None], base: str) -> str:
    """The comment: the table, and each diff folded away as far as GitHub's limit allows."""
    from ctxbuild.cli.differences import as_markdown

    text = f"{MARK}\n### Packs\n\n{table}"
    changed = {name: each for name, each in differences.items() if each and each.differs}
    if differences and not changed:
        return f"{text}\nNo pack reads differently than on {_code(base)}.\n"
    for name, each in changed.items():
        title = _code(name).strip("`")
        part = f"\n<details><summary>{title}</summary>\n\n{as_markdown(each)}\n</details>\n"
        if len(text) + len(part) > _MOST_CHARACTERS:
            text += f"\n{_code(name)} changes too much to be shown here.\n"
        else:
            text += part
    return text


# --- what is left behind --------------------------------------------------------------------


def _publish(settings: Settings, ctxfile: Ctxfile, result: BuildResult, comment: str) -> None:
    from ctxbuild.serve import bundles, transfer
    from ctxbuild.serve.session import Session

    output = settings.output
    (output / "packs").mkdir(parents=True, exist_ok=True)
    (output / "comment.md").write_text(comment, encoding="utf-8")
    good = [target for target in result.targets if not target.error]
    for target in good:
        for path in target.outputs:
            shutil.copyfile(path, output / "packs" / os.path.basename(path))
    if good:
        bundle = output / "packs.ctxbundle"
        bundles.make(Session(ctxfile), bundle, [target.name for target in good])
    if settings.cache:
        transfer.export(ctxfile, settings.cache)
    if settings.outputs:
        with open(settings.outputs, "a", encoding="utf-8") as file:
            file.write(f"directory={output}\n")


def _post(settings: Settings, comment: str, say: Say) -> None:
    """Updates the comment of an earlier run, or makes one; without leave to do so it warns."""
    comments = f"repos/{settings.repository}/issues/{settings.pull_request}/comments"
    try:
        found = _gh(
            "--paginate", comments, "--jq", f'.[] | select(.body | startswith("{MARK}")) | .id'
        )
        known = found.split()
        if known:
            one = f"repos/{settings.repository}/issues/comments/{known[0]}"
            _gh("--method", "PATCH", one, "--field", "body=@-", text=comment)
        else:
            _gh("--method", "POST", comments, "--field", "body=@-", text=comment)
    except (OSError, subprocess.SubprocessError) as error:
        reason = getattr(error, "stderr", "") or str(error)
        say(annotation("warning", f"the comment could not be written: {reason.strip()}"))


def _gh(*arguments: str, text: str = "") -> str:
    done = subprocess.run(
        ["gh", "api", *arguments],
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=_SECONDS,
        check=True,
    )
    return done.stdout


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(os.environ, _say))
