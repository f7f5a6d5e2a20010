"""What an edit of a document reaches: who read the section, and nobody else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from hashlib import sha256

import pytest

from ctxbuild.engine.database import Context, Database
from ctxbuild.engine.events import Event, Ran
from ctxbuild.engine.query import Facet, Query, Result
from ctxbuild.facts import language_of
from ctxbuild.facts.documents import read
from ctxbuild.pack.asker import Asker
from ctxbuild.pack.questions import Questions

GUIDE = """\
# Guide

Start here; see [limits](#limits) and [later](more.md#later).

## Keys

You must not share a key.

## Limits

A page has 20 items.
"""


class Tree:
    """A snapshot made of a dict."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(self.files))

    def has(self, path: str) -> bool:
        return path in self.files

    def has_dir(self, path: str) -> bool:
        return any(each.startswith(f"{path}/") for each in self.files)

    def digest(self, path: str) -> bytes | None:
        return sha256(self.read(path)).digest() if path in self.files else None

    def read(self, path: str) -> bytes:
        return self.files[path].encode()


class Memory:
    """A value store."""

    def __init__(self) -> None:
        self.held: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        return self.held.get(key)

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        return {key: self.held[key] for key in keys if key in self.held}

    def put_many(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        self.held.update(items)


class Desk:
    """Asks one question of documents, as a plan would, and says what ran for it."""

    def __init__(self) -> None:
        self.files = {"guide.md": GUIDE}
        self.events: list[Event] = []
        self.question: Callable[[Asker], object] = lambda _: None
        stages = ("facts", "resolve", "plan", "documents", "navigation")
        self.questions = Questions(
            Tree(self.files), dict.fromkeys(stages, "1"), language_of, "o200k_base"
        )
        self.reader = Query("reader", "1", self._read)
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.database = Database(
            self.connection,
            Memory(),
            (*self.questions.declared, self.reader),
            "1",
            on_event=self.events.append,
        )
        self.database.apply(())

    def _read(self, ctx: Context, key: str) -> Result:
        return Result({"": repr(self.question(Asker(self.questions, ctx))).encode()})

    def ask(self) -> tuple[str, list[str]]:
        """The answer, and the stages that ran for it."""
        self.events.clear()
        answer = self.database.get(Facet(self.reader, "", lambda p: p[""].decode()), "x")
        ran = [str(e.node) for e in self.events if isinstance(e, Ran)]
        # Projections are left out of run lists.
        return answer, [each for each in ran if not each.startswith("navigation(")]

    def edit(self, path: str, text: str) -> None:
        self.files[path] = text
        inputs = self.questions
        self.database.apply([(inputs.file, path), *((inputs.glob, p) for p in ("*.md", path))])
        self.database.settle()


@pytest.fixture
def desk():
    made = Desk()
    yield made
    made.connection.close()


def keys(asker: Asker) -> object:
    section = asker.documents.section("guide.md", "keys")
    return section and section.text


def test_the_engine_says_what_the_document_says(desk):
    desk.question = lambda asker: asker.document("guide.md")
    assert desk.ask()[0] == repr(read("guide.md", GUIDE.encode()))


def test_an_edit_inside_another_section_runs_the_document_alone(desk):
    desk.question = keys
    assert desk.ask()[1] == ["document(guide.md)", "reader(x)"]
    desk.edit("guide.md", GUIDE.replace("Start here", "Begin\nhere").replace("20", "50"))
    assert desk.ask()[1] == ["document(guide.md)"]
    desk.edit("guide.md", GUIDE.replace("not share", "never share"))
    answer, ran = desk.ask()
    assert (ran, "never share" in answer) == (["document(guide.md)", "reader(x)"], True)


def test_headings_are_left_alone_by_every_edit_of_text(desk):
    desk.question = lambda asker: asker.documents.outline("guide.md").headings
    desk.ask()
    desk.edit("guide.md", GUIDE.replace("20", "50"))
    assert desk.ask()[1] == ["document(guide.md)"]
    desk.edit("guide.md", GUIDE + "\n## New\n")
    assert desk.ask()[1] == ["document(guide.md)", "reader(x)"]


def test_a_section_that_is_missing_is_a_dependency(desk):
    desk.question = lambda asker: asker.documents.section("guide.md", "new") is not None
    assert desk.ask()[0] == "False"
    desk.edit("guide.md", GUIDE + "\n## New\n")
    assert desk.ask() == ("True", ["document(guide.md)", "reader(x)"])


def test_a_document_that_does_not_exist_has_empty_answers(desk):
    desk.question = lambda asker: (
        asker.documents.outline("no.md"),
        asker.document("no.md").sections,
    )
    answer, _ = desk.ask()
    assert answer == "(Outlined(format='', title='', front=(), headings=(), problems=()), ())"


def test_a_link_to_nothing_is_noticed_when_it_leads_somewhere(desk):
    def question(asker: Asker) -> object:
        found = asker.documents.navigation(("*.md",))
        return (
            [each.target for each in found.missing],
            tuple(edge.target for edge in found.edges if edge.kind == "link"),
        )

    desk.question = question
    assert desk.ask()[0] == "(['more.md#later'], (('guide.md', 'limits'),))"
    desk.edit("more.md", "# More\n")
    assert desk.ask()[0] == "(['more.md#later'], (('guide.md', 'limits'),))"
    desk.edit("more.md", "# More\n\n## Later\n")
    answer, ran = desk.ask()
    assert answer == "([], (('guide.md', 'limits'), ('more.md', 'later')))"
    assert ran == ["document(more.md)", "reader(x)"]


def test_precedence_names_documents_by_pattern(desk):
    desk.edit("more.md", "# More\n")
    desk.question = lambda asker: asker.documents.navigation(("*.md",), ("more.md", "*.md")).order
    assert desk.ask()[0] == "(('guide.md', 1), ('more.md', 0))"
