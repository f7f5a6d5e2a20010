"""Stack traces in a question: Python (also pytest's and IPython's), JavaScript, Java and Go.

Every pattern is matched against one line of bounded length, and none repeats a
part that may match what follows it, so that reading is linear in the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctxbuild.select.retrieval.model import Frame

_PATTERNS = tuple(
    (needle, re.compile(pattern))
    for needle, pattern in (
        # File "/a/b.py", line 12, in f
        ('File "', r'File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>[\w.<>]+))?'),
        # File ~/a/b.py:12, in C.f(self, x)   and   File ~/a/b.py:12
        ("File ", r"File (?P<path>[^\s:]+\.\w+):(?P<line>\d+)(?:, in (?P<name>[\w.<>]+))?"),
        # [a/b.py](file:///a/b.py) in f(x)
        (") in ", r"\[(?P<path>[^\]\s]+\.\w+)\]\([^)\s]*\) in (?P<name>[\w.<>]+)(?P<line>)"),
        # ~/a/b.py in f(self, key)
        (
            " in ",
            r"(?P<path>[^\s:()]*[/\\][^\s:()]*\.\w+) in (?P<name>[\w.<>]+)\((?P<line>)",
        ),
        # a/b.py:12: in f
        (": in ", r"(?P<path>[^\s:()]+\.\w+):(?P<line>\d+): in (?P<name>[\w.<>]+)"),
        # a/b.py:12: ValueError      a/b.py:12: UserWarning: ...
        *(
            (end, rf"(?P<path>[^\s:()]+\.\w+):(?P<line>\d+): (?P<name>)\w*{end}\b")
            for end in ("Error", "Exception", "Warning")
        ),
        # at C.f (/a/b.js:12:7)
        (
            "at ",
            r"at (?:async )?(?P<name>[\w.$<>]+) \((?P<path>[^\s()]+?):(?P<line>\d+):\d+\)",
        ),
        # at /a/b.js:12:7
        ("at ", r"at (?P<name>)(?P<path>[^\s()]+?):(?P<line>\d+):\d+$"),
        # at org.pkg.C.f(C.java:12)
        ("at ", r"at (?P<name>[\w.$<>]+)\((?P<path>[\w$-]+\.\w+):(?P<line>\d+)\)"),
        # /a/b.go:12 +0x1d
        ("+0x", r"(?P<path>[^\s:()]+\.go):(?P<line>\d+) \+0x(?P<name>)"),
    )
)
_GO_FUNCTION = re.compile(r"(?P<name>[\w./*()-]+)\(.*\)$")
_TRACE_START = re.compile(r"Traceback \(most recent call last\)|^goroutine \d+|Traceback$")
_LONGEST = 600


def frame_in(row: str) -> Frame | None:
    """The frame that a line states, if it does."""
    text = row.strip()[:_LONGEST]
    for needle, pattern in _PATTERNS:
        found = pattern.search(text) if needle in text else None
        if found:
            name = found["name"] or ""
            path = found["path"].replace("\\", "/")
            return Frame(path, int((found["line"] or "0")[:9]), "" if name[:1] == "<" else name)
    return None


def starts_trace(row: str) -> bool:
    """Whether a line begins a new stack trace."""
    return bool(_TRACE_START.search(row[:_LONGEST]))


def frames_in(rows: Sequence[str], stated: Sequence[Frame | None]) -> Iterator[Frame]:
    """Every frame with its depth: 1 for the innermost of its trace.

    Python's traces end with the innermost frame, those of the others begin with it.

    Args:
        rows: the lines.
        stated: what `frame_in` says of each.
    """
    for trace in _traces(rows, stated):
        innermost_last = not any(rows[place].lstrip().startswith("at ") for place, _ in trace)
        innermost_last = innermost_last and not any(f.path.endswith(".go") for _, f in trace)
        ordered = trace[::-1] if innermost_last else trace
        for depth, (_, frame) in enumerate(ordered, 1):
            yield Frame(frame.path, frame.line, frame.name, depth)


def _traces(rows: Sequence[str], stated: Sequence[Frame | None]) -> list[list[tuple[int, Frame]]]:
    traces: list[list[tuple[int, Frame]]] = [[]]
    for place, (row, frame) in enumerate(zip(rows, stated, strict=True)):
        if starts_trace(row):
            traces.append([])
        if frame is None:
            continue
        if not frame.name and frame.path.endswith(".go") and place:
            above = _GO_FUNCTION.match(rows[place - 1].strip()[:_LONGEST])
            name = above["name"].rpartition(".")[2] if above else ""
            traces[-1].append((place, Frame(frame.path, frame.line, name.strip("(*)"))))
        else:
            traces[-1].append((place, frame))
    return [trace for trace in traces if trace]
