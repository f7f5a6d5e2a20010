"""The least that cold facts can cost: parse every Python file and count its tokens, no more.

python -m benchmarks.floor DIRECTORY [PROCESSES]
"""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

BATCH = 250  # files; as many as a build hands to a process at once


def work(paths: list[Path]) -> tuple[int, int]:
    """Read, parse and count these files; their bytes and tokens."""
    import toktok
    import tree_sitter
    import tree_sitter_python

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
    size = tokens = 0
    for path in paths:
        data = path.read_bytes()
        parser.parse(data)
        text = data.decode("utf-8", "replace")
        tokens += sum(toktok.batch_count([text], "o200k_base", threads=1))
        size += len(data)
    return size, tokens


def main(directory: str, processes: str = "1") -> None:
    """Do the work in that many processes and print how much it was."""
    paths = sorted(Path(directory).rglob("*.py"))
    batches = [paths[start : start + BATCH] for start in range(0, len(paths), BATCH)]
    if processes == "1":
        done = [work(batch) for batch in batches]
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(int(processes), mp_context=context) as pool:
            done = list(pool.map(work, batches))
    print(len(paths), sum(size for size, _ in done), sum(tokens for _, tokens in done))


if __name__ == "__main__":
    main(*sys.argv[1:])
