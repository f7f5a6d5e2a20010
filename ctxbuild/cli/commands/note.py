"""Add a finding to the notes file: merged with the same finding, other text left as it is.

A finding is 'PATH: found X; severity Y; suggest Z'; the last two may be left out.
The file's digest is remembered, so that the finding is marked when the file changes.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile, has_ctxfile
from ctxbuild.source.paths import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctxbuild.facts.notes import Finding


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("action", choices=("add",), help="add a finding")
    parser.add_argument("finding", metavar="FINDING", help="'PATH: found X; severity Y; suggest Z'")
    parser.add_argument(
        "--to", metavar="FILE", help="the notes file (default: the one that memory layers read)"
    )
    parser.add_argument("--json", action="store_true", help="print what became of it as JSON")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from ctxbuild.serve.noting import note_add, notes_file

    ctxfile = find_ctxfile(args) if has_ctxfile(args) else None
    root = ctxfile.root if ctxfile is not None else args.directory
    added = note_add(root, notes_file(ctxfile, args.to), args.finding)
    if not added.finding.digest:
        console.warn(f"{shown(added.finding.path)}: no such file; nothing tells when it changes")
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json({"file": added.path, "new": added.new, **_data(added.finding)}))
        return 0
    verb = "added to" if added.new else "merged in"
    console.result(f"{verb} {shown(added.path)}: {shown(added.finding.text)}")
    return 0


def _data(finding: Finding) -> dict[str, object]:
    from dataclasses import asdict

    data = asdict(finding)
    del data["line"]
    return data
