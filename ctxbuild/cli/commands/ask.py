"""Print what answers a question: a pack within a budget, found for it and not written anywhere."""

from __future__ import annotations

from ctxbuild.cli.adhoc import asking
from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile, has_ctxfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ctxbuild.model import Pack
    from ctxbuild.serve.session import Session


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("question", metavar="QUESTION", help="in words; `-` reads it from stdin")
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="most tokens (default: 4000)")
    parser.add_argument(
        "--format",
        choices=("md", "xml", "json", "evidence"),
        default="md",
        help="json is the artifact; evidence lists chunks, provenance and warnings as JSON",
    )
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument(
        "--headers", choices=("lean", "full"), default="lean", help="how much a block's header says"
    )
    parser.add_argument(
        "--rank", action="store_true", help="print the ranked units instead of a pack"
    )
    parser.add_argument(
        "--vectors",
        choices=("auto", "off"),
        default="auto",
        help="off leaves out the vectors of the embedder that the environment names",
    )
    parser.add_argument("--plan", action="store_true", help="every candidate and its verdict")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.cli.progress import Progress
    from ctxbuild.cli.project import open_session, say_warnings

    base = find_ctxfile(args) if has_ctxfile(args) else None
    question = _question(args.question)
    ctxfile = asking(args.directory, question, args.budget, base, args.headers, args.vectors)
    progress = Progress(console)
    session = open_session(ctxfile, args, console, progress.on_event)
    if args.rank:
        with progress:
            text = _ranked(session, question, args.vectors, as_json=args.json)
        say_warnings(console, session)
        console.result(text)
        return 0
    name = ctxfile.targets[0].name
    with progress:
        pack, _, files = session.artifact(name)
    say_warnings(console, session, pack.warnings, name)
    form = "json" if args.json else args.format
    console.result_bytes(_printed(form, pack, files, plan=args.plan))
    return 0


def _question(text: str) -> str:
    import sys

    from ctxbuild.errors import UsageError

    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not text.strip() or "\0" in text:
        raise UsageError("the question is empty", "write it in words")
    return text


def _printed(form: str, pack: Pack, files: dict[str, bytes], *, plan: bool) -> bytes:
    name = pack.target
    if plan:
        return files[f"{name}.plan.json"]
    if form == "json":
        return files[f"{name}.pack.json"]
    if form == "evidence":
        from ctxbuild.compare.evidence import evidence_text

        return evidence_text(files, name).encode()
    if form == "md":
        return files[f"{name}.md"]
    from ctxbuild.pack.render import rendering

    return rendering(form, name, pack.blocks).encode()


def _ranked(session: Session, question: str, vectors: str, *, as_json: bool) -> str:
    from ctxbuild.cli import render
    from ctxbuild.cli.data import to_json
    from ctxbuild.serve.ranking import ranked

    found = ranked(session, question, vectors=vectors)
    session.warnings.extend(found.warnings)
    if as_json:
        return to_json(found)
    rows = [("rank", "file", "found by", "unit")]
    rows += [
        (
            str(hit.rank),
            str(hit.file_rank),
            ", ".join(f"{method} {rank}" for method, rank in hit.methods),
            hit.unit,
        )
        for hit in found.hits
    ]
    return render.table(rows, frozenset({0, 1}))
