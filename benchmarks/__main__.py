"""`python -m benchmarks [NAME…] [--json FILE]`: run benchmarks and print their tables.

`python -m benchmarks localisation FILE.jsonl --repositories DIR` is one of its own: it
needs questions with gold and a checkout for each. So are `transcripts DIR` and
`locomo FILE`, which need sessions and dialogues, `packets DIR`, which needs manuals,
`documents FILE…`, which needs documents and statements about them, and `reviews REPOSITORY`,
which takes large commits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from benchmarks import build, precision, question, retention, watch
from benchmarks.corpus import CorpusError
from benchmarks.measure import ProgramFailed
from benchmarks.table import Row, render, write_json

BENCHMARKS: dict[str, Callable[[], Iterable[Row]]] = {
    "build": build.benchmark,
    "precision": precision.benchmark,
    "question": question.benchmark,
    "retention": retention.benchmark,
    "watch": watch.benchmark,
}

OWN = {
    "localisation": "localisation",
    "documents": "documents",
    "reviews": "reviews",
    "transcripts": "transcripts",
    "locomo": "transcripts",
    "packets": "packets",
}
"""Benchmarks that need something from outside: name to the module that takes their arguments."""


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks, or all.

    Returns:
        0, or 1 when one of them could not be run. A goal that is missed is no failure:
        benchmarks tell, they do not gate.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in OWN:
        return _own(arguments)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    results: dict[str, list[Row]] = {}
    failed = False
    for name in options.names or BENCHMARKS:
        rows = results.setdefault(name, [])
        try:
            for row in BENCHMARKS[name]():
                rows.append(row)
                ratio = "" if row.ratio is None else f", ratio {row.ratio:.2f}"
                print(f"{name}: {row.what}: {row.value:.3g} {row.unit}{ratio}", file=sys.stderr)
        except (CorpusError, ProgramFailed) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = True
        print(render(name, rows))
    if options.json:
        write_json(options.json, results)
    return 1 if failed else 0


def _own(arguments: list[str]) -> int:
    module = import_module(f"benchmarks.{OWN[arguments[0]]}")
    whole = OWN[arguments[0]] == "transcripts"  # it tells its two by their names
    code: int = module.main(arguments if whole else arguments[1:])
    return code


if __name__ == "__main__":
    sys.exit(main())
