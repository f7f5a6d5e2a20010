"""What a packet is made for: a plain task, or an API, of which the same is asked each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctxbuild.facts.document import RANKS
from ctxbuild.select.realm.entries import Entry
from ctxbuild.select.realm.packet import Chosen, Placing, placing
from ctxbuild.select.realm.query import Aspect, aspects, single
from ctxbuild.select.realm.signs import ENDPOINT

ACCESS, ERRORS, ENDPOINTS = "access", "errors", "endpoints"

_ASKED = {
    ACCESS: (
        "authentication",
        "authorization",
        "API keys",
        "OAuth access tokens",
        "security",
        "permissions and scopes",
        "verify signatures",
    ),
    ERRORS: (
        "error handling",
        "error codes",
        "status codes",
        "rate limits",
        "retries",
        "idempotency",
        "pagination",
    ),
}
"""What a client of any API must know, besides the endpoints themselves."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What is asked of the documents.

    Attributes:
        name: "plain" or "api".
        question: in words, for a model.
        aspects: what sections are compared with; () for all of them.
    """

    name: str
    question: str
    aspects: tuple[Aspect, ...]

    @property
    def wants_signs(self) -> bool:
        """Whether endpoints and prohibitions are wanted wherever they stand."""
        return self.name == "api"

    @property
    def has_task(self) -> bool:
        """Whether something is asked besides what the profile asks."""
        return any(not aspect.name for aspect in self.aspects)

    def placing(self, chosen: Chosen, entry: Entry) -> Placing:
        """Where an entry of a section stands, and when it is bought."""
        usual = placing(entry, chosen.score)
        return _in_api(chosen, entry, usual) if self.name == "api" else usual


def profile_of(name: str, task: str) -> Profile:
    """The profile of a name, for a task."""
    asked = aspects(task) if task.strip() else ()
    if name != "api":
        return Profile(name, task, asked)
    question = (
        f"{task}\n" if task.strip() else ""
    ) + "What must a client of this API know: access and security, endpoints, errors and limits?"
    own = [single(text, category) for category, texts in _ASKED.items() for text in texts]
    return Profile(name, question, (*asked, *own))


def _in_api(chosen: Chosen, entry: Entry, usual: Placing) -> Placing:
    if entry.modality in {"MUST NOT", "SHOULD NOT"}:
        return Placing("do-not", 0, usual.worth)
    part = chosen.part
    if entry.kind == "example":
        return Placing("examples", 2 if part != ENDPOINTS else 4, usual.worth)
    if part not in {ACCESS, ERRORS, ENDPOINTS}:
        return Placing(usual.section, max(usual.phase, 0 if _binds(entry) else 3), usual.worth)
    if _binds(entry):
        return Placing(part, 0, usual.worth)
    if part == ENDPOINTS:
        return Placing(part, 1 if ENDPOINT.search(entry.text) else 3, usual.worth)
    return Placing(part, 1, usual.worth)


def _binds(entry: Entry) -> bool:
    return entry.kind == "constraint" and RANKS[entry.modality] <= RANKS["MUST"]


def part_of(name: str, signs: Sequence[str]) -> str:
    """The part of an API that a section belongs to: that of its best aspect, else endpoints."""
    return name or (ENDPOINTS if "endpoint" in signs else "")
