"""Documents in memory as a `docs` layer sees them, and the packet that comes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ctxbuild.facts.documents import read
from ctxbuild.graph.documents import Outline, navigate, related
from ctxbuild.model import Proposal
from ctxbuild.pack import render
from ctxbuild.pack.budget import Fitted, Limits, Style, fit
from ctxbuild.pack.documents import Outlined
from ctxbuild.pack.packets import matches
from ctxbuild.pack.tokens import counter
from ctxbuild.select import docs
from ctxbuild.select.realm.signs import signs_of
from ctxbuild.source.ctxfile import Layer

TOKENIZER = "o200k_base"
DEFAULTS = {
    "task": None,
    "profile": "plain",
    "policy": "rules",
    "precedence": (),
    "steps": 200,
}


class Papers:
    """Files by path; what is asked of them is noted."""

    def __init__(self, files: dict[str, str], model: Any = None) -> None:
        self.files = files
        self.read = {path: read(path, text.encode()) for path, text in files.items()}
        self.documents = self
        self.model = model
        self.asked: list[tuple[str, ...]] = []

    def matching(self, pattern: str) -> tuple[str, ...]:
        from fnmatch import fnmatch

        return tuple(sorted(path for path in self.files if fnmatch(path, pattern)))

    def outline(self, path: str) -> Any:
        document = self.read[path]
        headings = tuple(section.heading for section in document.sections)
        return Outlined(
            document.format, document.title, document.front, headings, document.problems
        )

    def section(self, path: str, slug: str) -> Any:
        self.asked.append(("section", path, slug))
        return self.read[path].section(slug)

    def navigation(self, patterns: tuple[str, ...], precedence: tuple[str, ...] = ()) -> Any:
        paths = [path for pattern in patterns for path in self.matching(pattern)]
        said = {path: related(self.read[path]) for path in paths}
        order = [self.matching(pattern) for pattern in precedence]
        whole = {path: self.outline(path) for path in paths}
        outlines = {path: Outline(o.title, o.front, o.headings) for path, o in whole.items()}
        return navigate(outlines, said, order, self.files.__contains__)

    def counted(self, path: str, aspects: Any) -> Any:
        return matches(self.read[path].sections, aspects)

    def signs(self, path: str) -> Any:
        sections = self.read[path].sections
        return {section.slug: signs for section in sections if (signs := signs_of(section))}

    def bulk(self, path: str) -> int:
        return len(self.files[path]).bit_length()

    def tokens(self, path: str) -> int:
        self.asked.append(("tokens", path))
        return counter(TOKENIZER)([self.files[path]])[0]

    def outside(self, kind: str, argument: str) -> bytes:
        self.asked.append(("outside", kind))
        return b""


@dataclass(frozen=True)
class Packet:
    proposal: Proposal
    fitted: Fitted
    text: str

    @property
    def tokens(self) -> int:
        return self.fitted.tokens

    @property
    def sources(self) -> list[str]:
        """The sections that something is shown of."""
        return [b.unit for b in self.fitted.blocks if b.section == "provenance"]


def packet(
    files: dict[str, str],
    *,
    budget: int = 4000,
    model: Any = None,
    pin: bool = False,
    **options: Any,
) -> Packet:
    """The packet of all files."""
    view = Papers(files, model)
    values = tuple({**DEFAULTS, **options}.items())
    layer = Layer("docs", "docs", ("*",), pin=pin, options=values)
    proposal = docs.propose(view, layer)
    limits = Limits(budget, 0, {"docs": proposal.most - 3} if proposal.most else {})
    style = Style("auth", ("docs",), {})
    fitted = fit(proposal.candidates, view, counter(TOKENIZER), limits, style)
    return Packet(proposal, fitted, render.markdown("auth", fitted.blocks))
