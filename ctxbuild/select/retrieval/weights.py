"""The numbers of retrieval, in one place; docs/questions.md says how they were found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """What search and fusion weigh.

    Attributes:
        fields: of a word by the field of the unit it stands in (`graph.units.FIELDS`).
        k1, b: saturation and length normalisation of BM25 for units.
        file_k1, file_b: the same for whole files.
        question: exponent on a word's weight in the question.
        terms: most words of the question that are searched for.
        rows: most postings that are read for a question, rare words first.
        in_file, in_path: what the file's own score, and words of its path, add to a unit's.
        module, klass: what a module's rest and a class's rest are worth beside a function.
        test, document, support: what files that are tests, documents, or examples,
            scripts and migrations are worth, unless the question asks for them.
        vendored: what copies of other projects are worth.
        sure: exponent on how sure a name's meaning is, by which its rank counts.
        prefix: what a word of the index that begins like a word of the question is worth.
        k: the constant of reciprocal-rank fusion.
        lexical, names, frames, messages, graph, vector: of the rankings of units.
        alike: units of the ranking by vectors, in which otherwise every unit stands.
        file_lexical, file_paths, file_frames, file_words: of the rankings of files: by all
            their words, as named, as named by traces, by the words of their paths.
        decay: of the units of one file, from the best one on, when they make up its score.
        members: what a named class gives each of its members.
        callers: what a step from a definition to a user is worth beside one to what it uses.
        seeds: units from which the graph is walked.
        file: what the file's rank adds to the fused score of its units.
    """

    fields: tuple[float, float, float, float] = (3.0, 1.5, 0.8, 1.0)
    k1: float = 1.2
    b: float = 0.2
    file_k1: float = 2.5
    file_b: float = 0.6
    question: float = 0.7
    terms: int = 60
    rows: int = 60_000
    in_file: float = 0.225
    in_path: float = 0.5
    module: float = 0.3
    klass: float = 0.6
    test: float = 0.35
    document: float = 0.25
    support: float = 0.4
    vendored: float = 0.4
    sure: float = 0.25
    prefix: float = 0.4
    k: float = 5.0
    lexical: float = 1.0
    names: float = 1.0
    frames: float = 1.3
    messages: float = 1.1
    graph: float = 0.4
    vector: float = 0.25
    alike: int = 200
    file_lexical: float = 0.6
    file_paths: float = 0.5
    file_frames: float = 0.5
    file_words: float = 0.3
    decay: float = 0.5
    members: float = 0.05
    callers: float = 0.8
    seeds: int = 8
    file: float = 0.75


WEIGHTS = Weights()
