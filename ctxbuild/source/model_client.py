"""Questions to a language model at an OpenAI-compatible endpoint: structured answers, remembered.

The optional package `openai` speaks the protocol; it is imported with the first
question that nothing remembers. Which endpoint, which model and which key stand in
the environment, never in a ctxfile: CTXBUILD_MODEL_URL, CTXBUILD_MODEL_NAME and
CTXBUILD_MODEL_KEY, or where one of them is missing OPENAI_BASE_URL, OPENAI_MODEL
and OPENAI_API_KEY. Questions are asked at temperature 0, and an answer is kept
under a digest of all that was asked, so that the same question is asked once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ctxbuild.errors import ModelError

if TYPE_CHECKING:
    from openai import OpenAI

T = TypeVar("T")

Message = tuple[str, str]
"""Role ("system", "user" or "assistant") and text."""

DEFAULT_URL = "https://api.openai.com/v1"
DEFAULT_TIMEOUT = 60.0
_SETTINGS = ("URL", "NAME", "KEY", "TIMEOUT")
_NO_ENDPOINT = "set CTXBUILD_MODEL_URL and CTXBUILD_MODEL_NAME (and _KEY where it wants one)"
_RETRIES = 1
_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model answers.

    Attributes:
        url: the base, as in `http://127.0.0.1:8080/v1`.
        name: of the model.
        key: sent as the bearer's token; never shown, never kept.
        timeout: seconds for one answer.
        settings: what the variables begin with that name it.
    """

    url: str
    name: str
    key: str = field(default="", repr=False)
    timeout: float = DEFAULT_TIMEOUT
    settings: str = "CTXBUILD_MODEL"


class Answers(Protocol):
    """Keeps answers by key."""

    def get(self, key: str) -> str | None:
        """The answer kept under a key, None if there is none."""

    def put(self, key: str, answer: str) -> None:
        """Keeps an answer."""


def endpoint(environ: Mapping[str, str] | None = None) -> Endpoint | None:
    """The endpoint that the environment names; None where it names no model.

    Args:
        environ: variables; the process's own by default.

    Raises:
        ModelError: the timeout is no number of seconds.
    """
    values = os.environ if environ is None else environ
    url = values.get("CTXBUILD_MODEL_URL") or values.get("OPENAI_BASE_URL") or DEFAULT_URL
    name = values.get("CTXBUILD_MODEL_NAME") or values.get("OPENAI_MODEL")
    key = values.get("CTXBUILD_MODEL_KEY") or values.get("OPENAI_API_KEY") or ""
    if not name:
        return None
    variable = "CTXBUILD_MODEL_TIMEOUT"
    return Endpoint(url.rstrip("/"), name, key, seconds_of(values.get(variable), variable))


def identity(environ: Mapping[str, str] | None = None) -> bytes:
    """What answers depend on besides the question: the endpoint without its key.

    As an outside input it makes a plan that a model decided depend on which model
    it was. Empty where there is none.
    """
    try:
        found = endpoint(environ)
    except ModelError:
        return b""
    return f"{found.url}\n{found.name}".encode() if found else b""


def is_up(environ: Mapping[str, str] | None = None, patience: float = 1.0) -> bool:
    """Whether something accepts a connection where the environment's endpoint is.

    Args:
        patience: seconds to wait for it.
    """
    try:
        found = endpoint(environ)
    except ModelError:
        return False
    return found is not None and accepts(found.url, patience)


def accepts(url: str, patience: float = 1.0) -> bool:
    """Whether something accepts a connection where a URL says.

    Args:
        patience: seconds to wait for it.
    """
    import socket
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), patience):
            return True
    except (OSError, ValueError):
        return False


def seconds_of(text: str | None, variable: str) -> float:
    """A time limit that a variable holds; the default for None or "".

    Raises:
        ModelError: it is no number of seconds.
    """
    if not text:
        return DEFAULT_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86_400:
        message = f"{variable}: {text!r} is no number of seconds"
        raise ModelError(message, "write a number above 0")
    return seconds


class ModelClient:
    """Asks one endpoint.

    Args:
        where: the endpoint; None for what the environment names when the first question is asked.
        answers: keeps answers between runs; None to ask every time.
    """

    def __init__(self, where: Endpoint | None = None, answers: Answers | None = None) -> None:
        self._where = where
        self._answers = answers

    def ask(self, messages: Sequence[Message], answer: type[T], name: str = "answer") -> T:
        """A structured answer.

        Args:
            messages: the conversation so far.
            answer: a `msgspec.Struct` with `forbid_unknown_fields=True`, or a dataclass:
                its JSON Schema goes with the question and the answer is checked
                against it. An answer that does not fit is sent back once.
            name: what the schema is called.

        Raises:
            ModelError: there is no endpoint, it cannot be reached, refuses, takes too
                long, or does not answer in the form asked for.
        """
        import msgspec

        schema = {"name": name, "strict": True, "schema": schema_of(answer)}
        asked, problem = tuple(messages), ""
        for _ in range(2):
            text = self._text(asked, schema)
            try:
                return msgspec.json.decode(unfenced(text), type=answer)
            except (msgspec.DecodeError, msgspec.ValidationError) as error:
                problem = f"{error}"
            back = f"That is not the JSON that was asked for ({problem}). Answer with it alone."
            asked = (*asked, ("assistant", text), ("user", back))
        where = self._endpoint()
        raise ModelError(
            f"{where.name} at {where.url} does not answer in the form asked for: {problem}",
            'take a model that can answer in JSON, or `policy = "rules"`',
        )

    def say(self, messages: Sequence[Message]) -> str:
        """An answer in words.

        Raises:
            ModelError: as `ask`, or the answer is empty.
        """
        return self._text(tuple(messages), None)

    def _endpoint(self) -> Endpoint:
        found = self._where or endpoint()
        if found is None:
            raise ModelError("no model is configured", _NO_ENDPOINT)
        return found

    def _text(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> str:
        where = self._endpoint()
        key = question_key(where, messages, schema)
        kept = self._answers.get(key) if self._answers else None
        if kept is not None:
            return kept
        text = _asked(where, messages, schema)
        if self._answers:
            self._answers.put(key, text)
        return text


def question_key(
    where: Endpoint, messages: Sequence[Message], schema: Mapping[str, Any] | None
) -> str:
    """What an answer is kept under: SHA-256 of endpoint, model, messages and schema."""
    import json
    from hashlib import sha256

    asked = [_VERSION, where.url, where.name, [list(message) for message in messages], schema]
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def schema_of(answer: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a type, every object closed and every field required."""
    import msgspec

    schema = msgspec.json.schema(answer)
    for each in schema.get("$defs", {}).values():
        if each.get("type") == "object" and "properties" in each:
            each["additionalProperties"] = False
            each["required"] = list(each["properties"])
            for field_schema in each["properties"].values():
                field_schema.pop("default", None)
    return schema


def unfenced(text: str) -> str:
    """An answer without the code fence that many models put around JSON."""
    text = text.strip()
    if not text.startswith("```"):
        return text
    inner = text.partition("\n")[2].rstrip()
    return inner.removesuffix("```").strip()


# --- the protocol -----------------------------------------------------------------------


def _asked(where: Endpoint, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> str:
    with client_of(where) as client:
        return _tried(client, where, messages, schema)


@contextmanager
def client_of(where: Endpoint) -> Iterator[OpenAI]:
    """A client of an endpoint; what goes wrong while it is used is said in our words.

    Raises:
        ModelError: the package is missing, or the endpoint cannot be reached, refuses,
            takes too long, or does not speak the protocol.
    """
    try:
        import openai
    except ImportError as error:
        hint = "install it: pip install 'ctxbuild[model]'"
        raise ModelError("asking a model needs the package `openai`", hint) from error
    try:
        client = openai.OpenAI(
            base_url=where.url,
            api_key=where.key or "none",
            timeout=where.timeout,
            max_retries=_RETRIES,
            # A proxy for the outside world does not lead to a server on this machine.
            http_client=openai.DefaultHttpxClient(trust_env=not _is_here(where.url)),
        )
        with client:
            yield client
    except openai.APITimeoutError as error:
        message = f"{where.name} at {where.url} gave no answer in {where.timeout:g} s"
        raise ModelError(message, f"raise {where.settings}_TIMEOUT") from error
    except openai.APIConnectionError as error:
        message = f"{where.url} cannot be reached: {error.__cause__ or error}"
        raise ModelError(_without_key(message, where), "start it, or correct the URL") from error
    except openai.APIStatusError as error:
        message = f"{where.name} at {where.url} refuses ({error.status_code}): {error.message}"
        raise ModelError(_without_key(message, where), _hint(error.status_code, where)) from error
    except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
        message = f"{where.url} does not speak the protocol: {error}"
        raise ModelError(_without_key(message, where), "name an OpenAI-compatible URL") from error


def _is_here(url: str) -> bool:
    """Whether a URL names this machine."""
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _tried(
    client: OpenAI, where: Endpoint, messages: Sequence[Message], schema: Mapping[str, Any] | None
) -> str:
    """Asks; what an endpoint refuses because it does not know it is left out step by step."""
    from openai import BadRequestError, UnprocessableEntityError

    extras: dict[str, Any] = {"temperature": 0}
    forms: list[dict[str, Any]] = [{"type": "json_object"}]
    if schema is not None:
        extras["response_format"] = {"type": "json_schema", "json_schema": schema}
    while True:
        try:
            return _once(client, where, messages, schema, extras)
        except (BadRequestError, UnprocessableEntityError) as error:
            refused = _refused(f"{error.message} {error.param}", extras)
            if not refused:
                raise
            del extras[refused]
            if refused == "response_format" and forms:
                extras[refused] = forms.pop()


def _refused(message: str, extras: Mapping[str, Any]) -> str:
    """Which of the extras a refusal is about, "" if about none."""
    about = message.lower()
    if "temperature" in about and "temperature" in extras:
        return "temperature"
    words = ("response_format", "json_schema", "json_object", "schema", "structured", "grammar")
    if any(word in about for word in words) and "response_format" in extras:
        return "response_format"
    return ""


def _once(
    client: OpenAI,
    where: Endpoint,
    messages: Sequence[Message],
    schema: Mapping[str, Any] | None,
    extras: Mapping[str, Any],
) -> str:
    import json

    sent = [{"role": role, "content": text} for role, text in messages]
    if schema is not None and extras.get("response_format", {}).get("type") != "json_schema":
        form = json.dumps(schema["schema"], sort_keys=True)
        sent[-1]["content"] += f"\n\nAnswer with JSON alone that fits this JSON Schema:\n{form}"
    done: Any = client.chat.completions.create(
        model=where.name,
        messages=sent,  # type: ignore[arg-type]  # roles are texts here
        **extras,
    )
    choice = done.choices[0] if done.choices else None
    text = choice.message.content if choice else None
    if not text or not text.strip():
        refusal = getattr(choice.message, "refusal", None) if choice else None
        raise ModelError(
            f"{where.name} at {where.url} answers nothing" + (f": {refusal}" if refusal else ""),
            "ask another model",
        )
    return str(text).encode(errors="replace").decode()


def _hint(status: int, where: Endpoint) -> str:
    hints = {
        401: f"correct {where.settings}_KEY",
        403: f"correct {where.settings}_KEY",
        404: f"correct {where.settings}_URL or {where.settings}_NAME",
        429: "try again later",
    }
    return hints.get(status, "see the endpoint's own log")


def _without_key(message: str, where: Endpoint) -> str:
    return message.replace(where.key, "…") if where.key else message
