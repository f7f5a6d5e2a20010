"""What a pack must state, and how far a session has moved: pure, and by the letter."""

from __future__ import annotations

from ctxbuild.compare.drift import Movement, Wanted, missing, movement, task

TASK = task("Review the parser.\n\n  Does `read_head` lose bytes?\n", "TASK.md")


def test_a_task_is_stated_when_each_of_its_lines_is():
    assert TASK.rows == ("Review the parser.", "Does `read_head` lose bytes?")
    text = "> Review the parser.\n    Does `read_head` lose bytes?\n"
    assert missing(text, [TASK]) == ()
    assert missing("Review the parser.", [TASK]) == ((TASK, ("Does `read_head` lose bytes?",)),)


def test_a_path_is_named_only_where_no_longer_one_is():
    wanted = Wanted("file", "a/b.py", "diff", ("a/b.py",))
    for text in ("## a/b.py\n", "`a/b.py`", "in a/b.py.", "- a/b.py::C", "(a/b.py)"):
        assert missing(text, [wanted]) == (), text
    for text in ("xa/b.py", "c/a/b.py", "a/b.pyi", "a/b.py-old", "a/b", ""):
        assert missing(text, [wanted]) == ((wanted, ("a/b.py",)),), text
    assert missing("c/a/b.py, then a/b.py", [wanted]) == ()


def test_a_session_that_stays_with_its_task_has_not_moved():
    turns = ["the parser reads", "read_head of the parser", "parser again", "bytes of read_head"]
    found = movement("Review the parser: read_head loses bytes", turns, 2)
    assert found == Movement(terms=7, turns=4, window=2, first=0.4164, last=0.5649, gone=())
    assert found.moved == 0.0


def test_a_session_that_leaves_its_task_has_moved_and_says_which_words_are_gone():
    turns = ["read_head of the parser", "bytes", "the colour of the button", "css"]
    found = movement("Review the parser: read_head loses bytes", turns, 2)
    assert found is not None
    assert (found.last, found.moved) == (0.0, 1.0)
    assert found.gone == ("byte", "head", "parser", "read", "read_head")


def test_a_rare_word_weighs_more_than_one_that_every_turn_uses():
    common = ["test it", "test it", "test it", "test frobnicate", "test it", "test it"]
    rare = movement("test frobnicate", common, 3)
    assert rare is not None
    assert rare.first < rare.last == 1.0
    assert rare.first < 0.5


def test_windows_never_overlap_and_one_turn_tells_nothing():
    assert movement("task", [], 6) is None
    assert movement("task", ["one"], 6) is None
    found = movement("task", ["task", "other", "other"], 6)
    assert found is not None
    assert (found.window, found.first, found.last) == (1, 1.0, 0.0)


def test_a_task_of_function_words_alone_has_no_terms():
    found = movement("is it so", ["a", "b"], 1)
    assert found == Movement(terms=0, turns=2, window=1, first=0.0, last=0.0, gone=())
    assert found.moved == 0.0
