"""A scene's text held against its story bible: planted breaks are found, clean text is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxbuild.compare.lint import Output, run
from ctxbuild.compare.lint_names import edits, is_near
from ctxbuild.compare.lint_scene import canon_rules, statement_of
from tests.select.realm.papers import packet

HERE = Path(__file__).parent
BIBLE = {p.name: p.read_text() for p in sorted((HERE.parent / "select/realm/bible").iterdir())}
TASK = "Chapter 2: Dunstan Weir reads the warrant against Mara in the Three Herrings"


def rules(task=TASK, bible=BIBLE):
    record = packet(bible, profile="scene", task=task).proposal.record
    return canon_rules(record["canon"])


RULES = rules()


def found(text, made=RULES):
    report = run("scene", made, [Output("scene.md", text)])
    return [d.message for d in report.diagnostics]


def test_every_planted_break_is_found_at_its_place():
    text = (HERE / "scenes/broken.md").read_text()
    report = run("scene", RULES, [Output("scene.md", text)])
    assert [(d.line, d.column, d.message) for d in report.diagnostics] == [
        (5, 49, "'Ven': the name is spelled 'Venn'"),
        (5, 103, "'Halcion': the name is spelled 'Halcyon'"),
        (9, 42, "reveals before chapter 7: Ivo Sarn is Mara's brother"),
        (11, 1, "reveals before chapter 6: Lady Castane paid for the wreck"),
        (13, 1, "Mara Venn cannot know before chapter 3: where the ledger is hidden"),
        (15, 1, "reveals before chapter 4: Pell saw the murder of Old Brandt"),
        (17, 1, "'Mrs Castane': the name is spelled 'Lady Oriel Castane'"),
        (17, 28, "'Tarn Holm': the name is spelled 'Tarnholm'"),
        (17, 39, "reveals before chapter 5: Emeric Thole forged the harbour seal"),
    ]


def test_a_clean_scene_has_no_break():
    assert found((HERE / "scenes/clean.md").read_text()) == []


def test_the_bibles_own_chapters_are_clean_in_their_time():
    for number in (1, 2, 3):
        made = rules(f"chapter {number}: Mara")
        told = BIBLE[f"chapter-{number}.md"]
        assert found(told, made) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Ivo was her brother. Mara knew nothing of it.",
        "Mara Venn had a brother, and he kept the light: Ivo Sarn was her brother.",
        "She did not know that Ivo was Mara's brother.",
        '"You are Mara\'s brother," the nun told Ivo.',
        "He was only her half-brother, people said.",
        "It was Lady Castane who had paid for the wreck.",
        "The wreck had been paid for by Lady Castane.",
        "Thole forged the seal of the harbour court.",
        "The forger of the harbour seal was Judge Thole.",
        "Pell had seen the murder of Brandt from the ferry.",
    ],
)
def test_a_secret_told_early_is_found_however_it_is_told(sentence):
    text = "Mara Venn and Ivo Sarn met on the stairs.\n\nMara stopped. " + sentence
    assert any("before chapter" in message for message in found(text)), sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "Ivo looked at Mara as a brother might.",
        "Ivo was not her brother.",
        "Was Ivo her brother?",
        "Tobias had no brother. Ivo laughed.",
        "Somebody had paid for the wreck.",
        "Lady Castane paid for the wine.",
        "The seal of the harbour lay on the table; Thole yawned.",
        "Pell rowed. There had been a murder, they said.",
        "The bell on the mole was silent.",
    ],
)
def test_a_hint_is_no_reveal(sentence):
    assert found(f"Mara Venn sat in the Three Herrings. {sentence}") == []


@pytest.mark.parametrize(
    "text",
    [
        "Mara knew where the ledger was hidden.",
        'Mara smiled. "I know where the ledger is hidden," said Mara.',
        '"The ledger is hidden behind the stove," Captain Venn whispered.',
        "Mara waited by the door. She knew where the ledger was hidden.",
    ],
)
def test_knowledge_that_somebody_cannot_have_yet_is_found(text):
    assert found(text) == ["Mara Venn cannot know before chapter 3: where the ledger is hidden"]


@pytest.mark.parametrize(
    "text",
    [
        "Mara did not know where the ledger was hidden.",
        "Mara wondered where the ledger might be hidden?",
        "The ledger was hidden behind the stove. Mara slept above it.",
        '"The ledger is hidden," said Ivo. Mara heard nothing.',
    ],
)
def test_what_somebody_does_not_know_may_be_told_of_others(text):
    assert found(text) == []


def test_what_may_be_told_in_the_chapter_is_no_break():
    made = rules("chapter 7: Mara and Ivo")
    assert found("Ivo was Mara's brother. Lady Castane paid for the wreck.", made) == []
    assert found("Mara knew where the ledger was hidden.", made) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("They met Tobais Quill there.", "Tobais"),
        ("They met Tobias Quil there.", "Quil"),
        ("At the door stood Ysold Marr.", "Ysold"),
        ("He went to Tarnhalm by boat.", "Tarnhalm"),
        ("It was Corwin Lath's saw.", "Corwin"),
        ("Lath nodded. Corvyn said nothing. Old Corvyn!", "Corvyn"),
        ("He sailed on the Halcyone.", "Halcyone"),
    ],
)
def test_a_name_spelled_nearly_right_is_found(text, wrong):
    assert any(message.startswith(f"'{wrong}': ") for message in found(text))


@pytest.mark.parametrize(
    "text",
    [
        "Brandy was poured. Quills lay about. A quill broke.",
        "Weird, he said. The weir was low. Marry me, he said.",
        "The Venns and the Brandts were out. Venn's boat.",
        "Pella was a town in the north. March came.",
        "Corn was dear. Corvids sat on the mole.",
    ],
)
def test_ordinary_words_and_plurals_are_no_misspelled_names(text):
    assert found(text) == []


def test_a_word_that_several_share_calls_none_of_them():
    people = [
        {"name": "Ann Reed", "kind": "person", "aliases": []},
        {"name": "Bo Reed", "kind": "person", "aliases": []},
    ]
    from ctxbuild.compare.lint_scene import people_of

    first, second = people_of(people)
    assert not first.stands_in("Reed came.")
    assert second.stands_in("Bo came.")


def test_what_is_too_little_to_be_recognised_is_not_checkable():
    assert not statement_of("everything", []).can_be_told
    made = rules(bible={"a.md": "# Secrets\n\n## It\n\n- Reveal: chapter 9\n"}, task="chapter 1")
    assert [rule.checks for rule in made] == [()]


def test_letters_away():
    assert [edits("venn", "ven"), edits("brandt", "brantd"), edits("a", "b"), edits("", "ab")] == [
        1, 1, 1, 2,
    ]  # fmt: skip
    assert not is_near("Brandts", "Brandt")
    assert is_near("Halcion", "Halcyon")


def test_code_is_no_prose():
    assert run("s", RULES, [Output("a.py", "name = 'Halcion'\n", "python")]).diagnostics == ()


OTHER = {
    "cast.md": "**Jonas Hale** — inspector. Jonas learns in chapter 6 that the keeper is alive.\n\n"
    "**Mirren Tait** — the keeper's daughter.\n",
    "canon.md": "# Spoilers\n\n- The keeper, Alasdair Tait, is alive and hiding in the sea cave. "
    "(Revealed in chapter 6.)\n- Jonas's wife died on the *Petrel*. [ch. 7]\n\n"
    "# Rules of the voice\n\nFirst person, present tense. Never write similes about the sea.\n",
}


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ('"The keeper is alive," says Mirren.', 1),
        ("Alasdair is alive, hiding in the sea cave.", 1),
        ("My wife died on the *Petrel*.", 1),
        ('"The keeper drowned," says Mirren Tait.', 0),
        ("Mirren is alive in the cave of the night.", 0),
        ("My wife loved the sea. The Petrel rides at anchor.", 0),
        ("I say nothing of my wife.", 0),
    ],
)
def test_half_a_secret_a_namesake_and_a_narrator_are_told_apart(text, messages):
    assert len(found(text, rules("chapter 3: Jonas", OTHER))) == messages


def test_a_sentence_beside_the_one_that_forbids_forbids_nothing():
    from ctxbuild.compare.lint_derive import derive

    text = "First person, present tense. Never use exclamation marks."
    (check,) = derive(text, "MUST NOT")
    assert check.message == "an exclamation mark"


@pytest.mark.parametrize(
    ("sentence", "breaks"),
    [
        ("Ilse came in. He wondered who had burned the mill.", 0),
        ("Ilse came in. He did not know who had burned the mill.", 0),
        ("Ilse came in. He asked whether she had burned the mill.", 0),
        ("Ilse came in. She had burned the mill.", 1),
        ("He knew that Ilse had burned the mill.", 1),
    ],
)
def test_a_question_that_is_told_reveals_nothing(sentence, breaks):
    bible = (
        "# Cast\n\n- **Ilse**: a smuggler\n\n# Secrets\n\n"
        "- Ilse burned the mill. Not before chapter 8.\n"
    )
    made = rules("chapter 3: Ilse on the quay", {"bible.md": bible})
    assert len(found(sentence, made)) == breaks
