"""Has a model answer a question from a pack, so that accuracy can be measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ctxbuild.errors import ModelError
from ctxbuild.source.model_client import DEFAULT_URL, Endpoint, ModelClient, endpoint
from ctxbuild.stores.answers import FileAnswers

_RULES = (
    "Answer the question from the context alone. Name the files and definitions that the "
    "answer rests on. Where the context does not tell, say that it does not."
)


def answerer(url: str, model: str, cache: Path) -> Callable[[str, str], str]:
    """What asks a model at temperature 0 and remembers its answers.

    Args:
        url: of an OpenAI-compatible endpoint; "" for what the environment says.
        model: its name; "" for what the environment says.
        cache: the cache directory, where answers are kept.

    Raises:
        ModelError: no model is named.
    """
    known = endpoint()
    name = model or (known.name if known else "")
    if not name:
        raise ModelError("no model is named", "add --model, or set OPENAI_MODEL")
    where = Endpoint(
        (url or (known.url if known else DEFAULT_URL)).rstrip("/"),
        name,
        known.key if known else _key(),
    )
    client = ModelClient(where, FileAnswers(cache / "models"))

    def say(question: str, pack: str) -> str:
        return client.say([("system", _RULES), ("user", f"{pack}\n---\n\nQuestion: {question}")])

    return say


def _key() -> str:
    import os

    return os.environ.get("CTXBUILD_MODEL_KEY") or os.environ.get("OPENAI_API_KEY") or ""
