"""Plan a logged build again, offline: byte for byte as it was, or with one thing changed.

BUILD is a name that `ctxbuild log` shows, the first digits of it, or a target for its
last build. With --swap or --set it shows what the change makes of the pack.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from ctxbuild.cli.console import Console
from ctxbuild.cli.project import find_ctxfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ctxbuild.serve.replaying import Replay


def arguments(parser: ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("build", metavar="BUILD", help="a logged build, or a target's last one")
    parser.add_argument(
        "--swap",
        metavar="LAYER=FILE",
        action="append",
        default=[],
        help="with the layer's content from a text, or from a NAME.pack.json's layer of that name",
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="with one variable set: budget, reserve, headers, layout, formats, layers, "
        "LAYER.budget, LAYER.pin, LAYER.priority, LAYER.position or LAYER.form",
    )
    parser.add_argument("--text", action="store_true", help="print the pack that comes out")
    parser.add_argument("--out", metavar="DIR", help="write the files that come out to DIR")
    parser.add_argument("--json", action="store_true", help="print what came out as JSON")


def run(args: Namespace, console: Console) -> int:
    """Runs the command."""
    from pathlib import Path

    from ctxbuild.cli import differences
    from ctxbuild.serve.replaying import replay, write

    found = replay(find_ctxfile(args), args.build, args.swap, args.set, args.directory)
    outcome = found.changed or found.again
    if args.out:
        for path in write(outcome.files, Path(args.directory, args.out)):
            console.note(f"wrote {os.path.relpath(path, args.directory)}")
    if args.json:
        from ctxbuild.cli.data import to_json

        console.result(to_json(_data(found)))
    elif args.text:
        console.result_bytes(outcome.pack.text.encode())
    elif found.difference is not None:
        console.result(_identity(found) + differences.as_text(found.difference, console.paint))
    else:
        console.result(_identity(found))
    if found.identical:
        return 0
    console.warn("it was built by another version of ctxbuild's code, or the log is damaged")
    return 1


def _identity(found: Replay) -> str:
    build, pack = found.build, found.again.pack
    files = len(found.again.files)
    what = f"{build.target} {build.build}: {pack.tokens:,} tokens, {len(pack.blocks)} blocks"
    if found.identical:
        return f"{what}, {files} files byte for byte as built\n"
    return f"{what}, not as built: {', '.join(found.differing)}\n"


def _data(found: Replay) -> dict[str, Any]:
    from ctxbuild.cli import differences

    pack = (found.changed or found.again).pack
    data: dict[str, Any] = {
        "schema": "ctxbuild.replay/1",
        "build": found.build.data(),
        "identical": found.identical,
        "differing": list(found.differing),
        "digest": pack.digest,
        "tokens": pack.tokens,
        "order": [block.unit for block in pack.blocks],
    }
    if found.difference is not None:
        data["order_before"] = [block.unit for block in found.again.pack.blocks]
        data["difference"] = differences.as_data(found.difference)
    return data
