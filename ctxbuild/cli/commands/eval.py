"""Measure how well packs answer questions, against gold and against plainer retrieval."""

from __future__ import annotations

import os
from pathlib import Path

from ctxbuild.cli import render
from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile, has_ctxfile, waiting_note
from ctxbuild.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from ctxbuild.compare.evaluate import Summary
    from ctxbuild.serve.evaluation import Evaluation, Say
    from ctxbuild.source.ctxfile import Ctxfile


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "questions", metavar="QUESTIONS", help="a JSONL file of questions with gold"
    )
    parser.add_argument(
        "--budgets", metavar="N,N", default="2000,4000,8000", help="tokens, with commas between"
    )
    parser.add_argument(
        "--tiers", metavar="N,N", default="1,2,3,4", help="1 chunks, 2 syntax, 3 hybrid, 4 compiled"
    )
    parser.add_argument("--rows", metavar="FILE", help="write a row per answer as JSONL")
    parser.add_argument("--plot", metavar="FILE", help="draw recall against tokens as SVG")
    parser.add_argument(
        "--vectors",
        choices=("auto", "off"),
        default="auto",
        help="off leaves out the vectors of the embedder that the environment names",
    )
    parser.add_argument("--json", action="store_true", help="print rows and summaries as JSON")
    parser.add_argument(
        "--answer", action="store_true", help="have a model answer, and grade what is expected"
    )
    parser.add_argument("--url", metavar="URL", help="with --answer: an OpenAI-compatible endpoint")
    parser.add_argument("--model", metavar="MODEL", help="with --answer: the model's name")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.compare.evaluate import TIERS
    from ctxbuild.compare.questionset import read_questions
    from ctxbuild.serve.evaluation import evaluate

    if args.jobs < 0:
        raise UsageError(f"-j {args.jobs}: is negative", "give the number of processes")
    budgets = _numbers(args.budgets, "--budgets")
    tiers = _numbers(args.tiers, "--tiers")
    unknown = [tier for tier in tiers if tier not in TIERS]
    if unknown:
        raise UsageError(f"--tiers: there is no tier {unknown[0]}", "there are 1, 2, 3 and 4")
    path = Path(args.directory, args.questions)
    questions = read_questions(_text(path), args.questions)
    ctxfile = _without(_project(args), path)
    found = evaluate(
        ctxfile,
        questions,
        budgets,
        tiers,
        say=_say(args, ctxfile),
        vectors=args.vectors,
        options={"workers": args.jobs, "on_wait": waiting_note(console)},
    )
    for warning in found.warnings:
        console.warn(warning)
    _write(args, found)
    console.result(_json(found) if args.json else _tables(found))
    return 0


def _without(ctxfile: Ctxfile, path: Path) -> Ctxfile:
    """The project without the file of questions, which would answer each of them best."""
    import re

    inside = os.path.relpath(path.absolute(), ctxfile.root).replace(os.sep, "/")
    if inside.startswith("../") or os.path.isabs(inside):
        return ctxfile
    pattern = "/" + re.sub(r"([\\*?\[\]!#])", r"\\\1", inside)
    project = ctxfile.project
    return ctxfile._replace(project=project._replace(exclude=(*project.exclude, pattern)))


def _numbers(text: str, flag: str) -> tuple[int, ...]:
    parts = [part.strip().replace("_", "") for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise UsageError(f"{flag} {text}: must be positive numbers with commas between")
    return tuple(sorted({int(part) for part in parts}))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8", "save it as UTF-8") from error


def _project(args: Namespace) -> Ctxfile:
    from ctxbuild.cli.adhoc import without_ctxfile

    return find_ctxfile(args) if has_ctxfile(args) else without_ctxfile(args.directory)


def _say(args: Namespace, ctxfile: Ctxfile) -> Say | None:
    """What asks a model, None if none is to be asked."""
    if not args.answer:
        for flag in ("url", "model"):
            if getattr(args, flag):
                raise UsageError(f"--{flag} goes with --answer", "add --answer")
        return None
    from ctxbuild.serve.answering import answerer

    cache = Path(ctxfile.root, ctxfile.project.cache)
    return answerer(args.url or "", args.model or "", cache)


def _write(args: Namespace, found: Evaluation) -> None:
    import json

    from ctxbuild.compare.evaluate import row_data
    from ctxbuild.stores.atomic import write_if_changed

    if args.rows:
        lines = (json.dumps(row_data(row, found.run, found.commit)) for row in found.rows)
        text = "".join(f"{line}\n" for line in lines)
        write_if_changed(Path(args.directory, args.rows), text.encode())
    if args.plot:
        write_if_changed(Path(args.directory, args.plot), _plot(found).encode())


def _plot(found: Evaluation) -> str:
    from ctxbuild.compare.evaluate import TIERS, recall_of, summarise
    from ctxbuild.compare.plot import Line, svg

    overall = [each for each in summarise(found.rows) if not each.category]
    lines = [
        Line(
            f"{tier}: {TIERS[tier]}",
            tuple((s.tokens, recall_of(s.measures)) for s in overall if s.tier == tier),
        )
        for tier in sorted({each.tier for each in overall})
    ]
    return svg("Recall of gold against tokens", "tokens used, mean", "recall", lines)


def _json(found: Evaluation) -> str:
    from ctxbuild.cli.data import to_json
    from ctxbuild.compare.evaluate import claims, plateau, row_data, summarise

    summaries = summarise(found.rows)
    return to_json(
        {
            "run_id": found.run,
            "repository_commit": found.commit,
            "embedder": found.embedder,
            "rows": [row_data(row, found.run, found.commit) for row in found.rows],
            "summaries": [{**s._asdict(), "measures": s.measures._asdict()} for s in summaries],
            "equal_recall": [{**c._asdict(), "ratio": c.ratio} for c in claims(summaries)],
            "plateau": plateau(summaries),
            "warnings": list(found.warnings),
        }
    )


def _tables(found: Evaluation) -> str:
    from ctxbuild.compare.evaluate import claims, plateau, summarise

    summaries = summarise(found.rows)
    parts = []
    for category in dict.fromkeys(each.category for each in summaries):
        some = [each for each in summaries if each.category == category]
        title = f"{category or 'all'}: {some[0].questions} questions"
        parts.append(f"{title}\n{_table(some)}")
    lines = [
        f"tier 4 finds as much as tier {c.tier} within {c.budget:,} ({c.recall:.2f}) with "
        f"{c.needed:,.0f} tokens, {c.ratio:.2f} of what that one needs"
        for c in claims(summaries)
    ]
    level = plateau(summaries)
    if level:
        lines.append(f"tier 4 hardly gains beyond {level:,} tokens")
    if found.embedder:
        lines.append(f"tiers 1, 3 and 4 also rank by vectors of {found.embedder}")
    return "\n".join(parts) + ("\n" + "\n".join(lines) + "\n" if lines else "")


def _table(summaries: Sequence[Summary]) -> str:
    with_answers = any(each.correct is not None for each in summaries)
    head = ("tier", "budget", "tokens", "file", "symbol", "whole", "line", "of files", "of lines")
    rows = [(*head, "rot", "ms", *(("right",) if with_answers else ()))]
    for each in summaries:
        m = each.measures
        shares = (
            m.file_recall,
            m.symbol_recall,
            m.whole,
            m.line_recall,
            m.file_precision,
            m.line_precision,
        )
        rows.append(
            (
                str(each.tier),
                f"{each.budget:,}",
                f"{each.tokens:,.0f}",
                *map(_share, shares),
                f"{each.rot:.1f}",
                f"{each.seconds * 1000:.0f}",
                *((_share(each.correct),) if with_answers else ()),
            )
        )
    return render.table(rows, frozenset(range(len(rows[0]))))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
