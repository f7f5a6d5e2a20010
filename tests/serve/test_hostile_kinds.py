"""Hostile documents and sessions in every kind of layer: the exact count stays in the budget."""

from __future__ import annotations

import json
import re
import shutil
import time
from xml.etree import ElementTree as ET

import pytest

from ctxbuild.pack.tokens import counter
from tests.serve import kinds
from tests.serve.conftest import ProjectOnDisk

COUNT = counter("o200k_base")

DOCUMENTS = {
    "fences": b"# Save\n\n````md\n```py\n~~~\nsave value to disk\n~~~\n```\n````\n" * 60,
    "cjk": "# \u4fdd\u5b58 save\n\n\u503c\u5fc5\u987b\u4fdd\u5b58 save value\u3002".encode() * 400,
    "line": b"You must save the value to disk. " * 1_500,
    "nul": b"# Save\n\nYou must save\0 the value to disk.\n" * 20,
    "crlf": b"# Save\r\n\r\nYou must save the value.\r\n- a: b\r\n" * 40,
    "cr": b"# Save\r\rYou must save the value.\r" * 20,
    "empty": b"",
    "mark": b"\xef\xbb\xbf# Save\n\nYou must save the value to disk.\n",
    "bytes": b"\xff\xfe\x80 You must save the value\n# S\n" * 20,
    "quotes": b">" * 5_000 + b" save value\n",
    "lists": b"".join(b"  " * n + b"- save value\n" for n in range(200)),
    "heads": b"".join(b"#" * (n % 7) + b" save %d value\n\nmust\n" % n for n in range(300)),
    "stars": b"*save _value " * 3_000,
    "ticks": b"`" * 20_000,
    "table": b"| save | value |\n|---|---|\n" + b"| must | disk |\n" * 400,
    "ends": "save\u2028value\x85must\x0b\x0cdisk\u2029\n".encode() * 30,
}
LARGE = {
    "large-cjk": "# \u4fdd\u5b58 save\n\n\u503c\u5fc5\u987b\u4fdd\u5b58 value\u3002".encode()
    * 4_500,
    "large-line": b"save value to disk " * 55_000,
    "large-run": b"a" * 1_000_000,
    "large-heads": b"".join(b"#" * (n % 7) + b" save %d\n\nmust\n" % n for n in range(3_000)),
    "large-table": b"| save | value |\n|---|---|\n" + b"| must | disk |\n" * 5_000,
    "large-brackets": b"[" * 50_000 + b"](save)" * 100,
    "large-list": b"- You must save the value to disk\n" * 5_000,
}


def said(*contents, role="user"):
    return b"".join(json.dumps({"role": role, "content": c}).encode() + b"\n" for c in contents)


NESTED = b'{"a":' * 400 + b"1" + b"}" * 400
SESSIONS = {
    "surrogates": b'{"role":"user","content":"save \\ud800 value"}\n' * 3
    + said("x", role="assistant"),
    "deep": b'{"role":"user","content":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n" + said("x"),
    "nested": said("go")
    + b'{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":'
    + NESTED
    + b'}]}\n{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}\n',
    "long": said("save") + said("z" * 1_000_000, role="assistant") + said("done") * 5,
    "nul": b'{"role":"user","content":"a\\u0000b"}\n\0\0\0\n' + said("x"),
    "fences": said("````\n```\n~~~\nsave\n## Turns\n") * 30,
    "cjk": (said("\u4fdd\u5b58" * 20) + said("\u4e16\u754c" * 400, role="assistant")) * 10,
    "many": (said("q") + said("a", role="assistant")) * 300,
    "empty": b"",
    "crlf": (said("a\r\nb") + said("a\rb", role="assistant")).replace(b"\n", b"\r\n") * 10,
    "mark": b"\xef\xbb\xbf" + said("a"),
    "odd": b'null\n1\n"x"\n[]\n{}\n{"role":5,"content":{}}\n{"role":"user","content":[1,null]}\n'
    b'{"type":"user","message":"x"}\n{"role":"user","content":"x","time":1'
    + b"0" * 5_000
    + b"}\n"
    + said("save"),
}

TARGETS = {
    "files": 'files = ["docs/**"]\n',
    "question": 'question = "Where must a value be saved to disk?"\n',
    "docs": 'docs = ["docs/**"]\ntask = "save the value to disk"\n',
    "api": 'docs = ["docs/**"]\npreset = "api"\n',
    "scene": 'docs = ["docs/**"]\npreset = "scene"\n',
    "diff": 'diff = "HEAD"\nneighbours = true\nhistory = 1\n',
    "transcript": 'transcript = "session.jsonl"\nthreshold = 500\nrecent = 2\n',
    "recall": 'transcript = "session.jsonl"\nabout = "save the value"\n',
    "memory": 'memory = "NOTES.md"\n',
    "noted": 'memory = "NOTES.md"\nabout = "save the value"\n',
    "agent": (
        'preset = "agent"\nmemory = "NOTES.md"\ntranscript = "session.jsonl"\n'
        '[[targets.agent.layers]]\nname = "q"\nquestion = "save value"\n'
        '[[targets.agent.layers]]\nname = "d"\ndocs = "docs/**"\n'
    ),
}
STYLES = (
    (200, "lean", "edges", False),
    (1_000, "full", "stable", False),
    (4_000, "lean", "score", True),
    (16_000, "full", "edges", True),
)
"""Budget, headers, layout, and whether an earlier pack is preferred."""


def declare(project, budget, headers, layout, prefer):
    text = "version = 1\n"
    for name, keys in TARGETS.items():
        text += f'[targets.{name}]\nbudget = {budget}\nheaders = "{headers}"\n'
        text += f'layout = "{layout}"\nformats = ["md", "xml", "json"]\n'
        text += f'prefer = "old/{name}.pack.json"\n' if prefer else ""
        text += keys
    project.put("ctxfile.toml", text)


def start(tmp_path, documents, session):
    """A repository in which these documents and this session have just come."""
    project = ProjectOnDisk(tmp_path / "root")
    project.put(".gitignore", ".ctxbuild/\nold/\n")
    project.put("docs/guide.md", "# Guide\n\nYou must save the value to disk. See [x](x.md).\n")
    project.put("shop.py", 'def save(value):\n    """Saves a value to disk."""\n')
    for name in documents:
        project.put(f"docs/{name}.md", "# Old\n\nSave.\n")
    kinds.git(project, "init", "-q", ".")
    kinds.git(project, "add", "-A")
    kinds.git(project, "commit", "-qm", "first")
    for number, (name, data) in enumerate(documents.items()):
        project.put(f"docs/{name}.md", data)
        project.put(f"docs/{name}{('.rst', '.adoc', '.html', '.py', '.txt')[number % 5]}", data)
    project.put("session.jsonl", session)
    notes = b"\n".join(data[:2_000] for data in documents.values())
    finding = b"\n- shop.py: found the value is saved twice; severity high\n"
    project.put("NOTES.md", notes + finding)
    return project


def check(project, styles=STYLES):
    """Builds in styles; each text has its exact count, in the budget, in well-formed files."""
    for style in styles:
        declare(project, *style)
        result = project.build()
        outputs = project.outputs()
        for target in result.targets:
            if target.status == "failed":
                # The task and what is durable of a session are pinned.
                assert re.search("what is pinned needs", target.error), target.error
                assert target.name in {"transcript", "agent"}
                continue
            text = outputs[f"{target.name}.md"].decode()
            assert COUNT([text]) == [target.tokens], (target.name, style)
            assert target.tokens <= target.budget - target.reserve
            json.loads(outputs[f"{target.name}.json"])
            ET.fromstring(outputs[f"{target.name}.xml"].decode())
        assert project.ran() == [] if not result.failed else project.build().ran == ()
        shutil.copytree(project.root / ".ctxbuild/packs", project.root / "old", dirs_exist_ok=True)


SMALL = {name: data[:1_500] for name, data in DOCUMENTS.items()}


def test_hostile_documents_stay_in_the_budget_in_every_kind_of_layer(tmp_path):
    project = start(tmp_path, SMALL, SESSIONS["nested"])
    check(project, [STYLES[0], STYLES[2]])
    check(project, [STYLES[1]])
    assert project.outputs() == kinds.clean_outputs(project)


@pytest.mark.slow
def test_longer_hostile_documents_stay_in_the_budget_in_every_kind_of_layer(tmp_path):
    project = start(tmp_path, DOCUMENTS, SESSIONS["nested"])
    check(project)
    declare(project, 4_000, "full", "score", prefer=False)
    project.build()
    assert project.outputs() == kinds.clean_outputs(project)


@pytest.mark.parametrize("name", sorted(SESSIONS))
def test_a_hostile_session_stays_in_the_budget(tmp_path, name):
    project = ProjectOnDisk(tmp_path / "root")
    project.put("session.jsonl", SESSIONS[name])
    for budget in (200, 4_000):
        chosen = {key: TARGETS[key] for key in ("transcript", "recall")}
        text = "".join(f"[targets.{k}]\nbudget = {budget}\n{keys}" for k, keys in chosen.items())
        project.put("ctxfile.toml", f"version = 1\n{text}")
        for target in project.build().targets:
            if target.status == "failed":
                assert "what is pinned needs" in target.error
                continue
            assert COUNT([project.pack(target.name)]) == [target.tokens]
            assert target.tokens <= budget


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_large_hostile_document_stays_in_the_budget_and_takes_no_minute(tmp_path, name):
    project = start(tmp_path, {name: LARGE[name]}, SESSIONS["fences"])
    started = time.perf_counter()
    check(project)
    assert time.perf_counter() - started < 60


@pytest.mark.parametrize("headers", ["lean", "full"])
def test_the_lines_in_full_headers_of_a_packet_are_counted_and_follow_what_moves(tmp_path, headers):
    project = ProjectOnDisk(tmp_path / "root")
    project.put("docs/a.md", "# Keys\n\n" + "Never print a key. Renew keys daily.\n\n" * 30)
    project.put(
        "ctxfile.toml",
        f'version = 1\n[targets.d]\ndocs = "docs/**"\nheaders = "{headers}"\nbudget = 900\n',
    )
    first = project.build().targets[0]
    assert COUNT([project.pack("d")]) == [first.tokens]
    assert ("(lines 3-3)" in project.pack("d")) == (headers == "full")
    project.put("docs/a.md", "\n\n" + (project.root / "docs/a.md").read_text())
    moved = project.build().targets[0]
    assert COUNT([project.pack("d")]) == [moved.tokens]
    assert ("(lines 5-5)" in project.pack("d")) == (headers == "full")
    assert (moved.digest == first.digest) == (headers == "lean")
    assert project.outputs() == kinds.clean_outputs(project)
