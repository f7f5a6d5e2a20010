"""Texts to vectors: by a model2vec model on this machine, or at an OpenAI-compatible endpoint.

Which one stands in the environment, never in a ctxfile: CTXBUILD_EMBEDDINGS_MODEL is
a model2vec directory or the name of a model that was downloaded before; without it
CTXBUILD_EMBEDDINGS_NAME is a model at CTXBUILD_EMBEDDINGS_URL, with the key
CTXBUILD_EMBEDDINGS_KEY (or where one of these two is missing OPENAI_BASE_URL and
OPENAI_API_KEY). Nothing is ever downloaded. The optional packages `model2vec` and
`openai` are imported with the first text that no cache knows the vector of.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ctxbuild.errors import ModelError
from ctxbuild.source.model_client import (
    DEFAULT_URL,
    Endpoint,
    accepts,
    client_of,
    seconds_of,
)

if TYPE_CHECKING:
    from model2vec import StaticModel

_PREFIX = "CTXBUILD_EMBEDDINGS"
_FILES = ("model.safetensors", "tokenizer.json", "config.json")
"""What a model2vec directory's vectors depend on."""

_SUBFOLDERS = ("", "0_StaticEmbedding")
"""Where these files stand: sentence-transformers saves such models one level down."""


class Embedder(Protocol):
    """Gives vectors whose angles say how alike texts are.

    Attributes:
        name: identifies the model, so that two of one name give the same vectors.
        label: the same for people, without paths and addresses.
    """

    @property
    def name(self) -> str:
        """Identifies the model."""

    @property
    def label(self) -> str:
        """What the model is called."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector per text, all of one length, none of them normalised.

        Raises:
            ModelError: there are none.
        """


def configured(root: str, environ: Mapping[str, str] | None = None) -> Embedder | None:
    """The embedder that the environment names; None where it names none.

    Args:
        root: the ctxfile's directory, which a relative path of a model is relative to.
        environ: variables; the process's own by default.

    Raises:
        ModelError: what it names is no model.
    """
    values = os.environ if environ is None else environ
    local = values.get(f"{_PREFIX}_MODEL")
    if local:
        return LocalEmbedder(_directory(root, local), local)
    where = _endpoint(values)
    return EndpointEmbedder(where) if where else None


def identity(root: str, environ: Mapping[str, str] | None = None) -> bytes:
    """What vectors depend on besides texts: the endpoint without its key, or a model's files.

    As an outside input it makes what was found by vectors depend on which they were.
    The files go in by their stats, as this is asked at every look. Empty where none is named.
    """
    values = os.environ if environ is None else environ
    local = values.get(f"{_PREFIX}_MODEL")
    if local:
        try:
            files = _model_files(_directory(root, local))
        except ModelError:
            return f"{local}\nmissing".encode()
        stats = [os.stat(path) for path in files]
        return "\n".join([local, *(f"{st.st_size} {st.st_mtime_ns}" for st in stats)]).encode()
    try:
        where = _endpoint(values)
    except ModelError as error:
        return f"{error}".encode()
    return f"{where.url}\n{where.name}".encode() if where else b""


def is_up(environ: Mapping[str, str] | None = None) -> bool:
    """Whether what the environment names could answer now: asked after it did not."""
    from importlib.util import find_spec

    values = os.environ if environ is None else environ
    if values.get(f"{_PREFIX}_MODEL"):
        return find_spec("model2vec") is not None
    try:
        where = _endpoint(values)
    except ModelError:
        return False
    return where is not None and find_spec("openai") is not None and accepts(where.url)


def _endpoint(values: Mapping[str, str]) -> Endpoint | None:
    url, name = values.get(f"{_PREFIX}_URL"), values.get(f"{_PREFIX}_NAME")
    if not name:
        if url:
            raise ModelError(f"{_PREFIX}_URL is set, but no model", f"set {_PREFIX}_NAME")
        return None
    url = url or values.get("OPENAI_BASE_URL") or DEFAULT_URL
    key = values.get(f"{_PREFIX}_KEY") or values.get("OPENAI_API_KEY") or ""
    seconds = seconds_of(values.get(f"{_PREFIX}_TIMEOUT"), f"{_PREFIX}_TIMEOUT")
    return Endpoint(url.rstrip("/"), name, key, seconds, _PREFIX)


class EndpointEmbedder:
    """Asks an endpoint.

    Args:
        where: the endpoint.
    """

    def __init__(self, where: Endpoint) -> None:
        self._where = where

    @property
    def name(self) -> str:
        """The address and the model's name."""
        return f"{self._where.url}\n{self._where.name}"

    @property
    def label(self) -> str:
        """The model's name."""
        return self._where.name

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector per text.

        Raises:
            ModelError: the endpoint cannot be reached, refuses, takes too long, or does
                not answer with one vector per text.
        """
        with client_of(self._where) as client:
            answer: Any = client.embeddings.create(
                model=self._where.name, input=list(texts), encoding_format="float"
            )
            by_place = {each.index: each.embedding for each in answer.data}
            if sorted(by_place) != list(range(len(texts))):
                raise ValueError(f"{len(by_place)} vectors for {len(texts)} texts")
            return [list(map(float, by_place[place])) for place in range(len(texts))]


class LocalEmbedder:
    """A model2vec model in a directory.

    Args:
        directory: holds the model's files.
        said: how the user named it.
    """

    def __init__(self, directory: Path, said: str) -> None:
        self._directory = directory
        self._label = Path(said).name
        self._name = ""
        self._model: StaticModel | None = None

    @property
    def name(self) -> str:
        """The digest of the model's files: another place of the same model has the same name."""
        if not self._name:
            from hashlib import sha256

            hasher = sha256()
            for path in _model_files(self._directory):
                data = path.read_bytes()
                hasher.update(b"%d\n" % len(data) + data)
            self._name = f"model2vec\n{hasher.hexdigest()}"
        return self._name

    @property
    def label(self) -> str:
        """The last part of its name."""
        return self._label

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector per text.

        Raises:
            ModelError: the package is missing, or the directory holds no such model.
        """
        if self._model is None:
            self._model = _load(self._directory)
        vectors = self._model.encode(list(texts), use_multiprocessing=False)
        return [[float(number) for number in vector] for vector in vectors]


def _load(directory: Path) -> StaticModel:
    try:
        from model2vec import StaticModel
    except ImportError as error:
        hint = "install it: pip install 'ctxbuild[vectors]'"
        raise ModelError("a local embedding needs the package `model2vec`", hint) from error
    try:
        return StaticModel.from_pretrained(directory, force_download=False)
    except Exception as error:
        message = f"{_PREFIX}_MODEL: {directory.name} cannot be loaded: {error}"
        raise ModelError(message.partition("\n")[0], "name a model2vec model") from error


def _directory(root: str, said: str) -> Path:
    """The directory of a model: as named, or where an earlier download put it."""
    place = Path(root, os.path.expanduser(said))
    if place.is_dir():
        return place
    found = _downloaded(said)
    if found is None:
        message = f"{_PREFIX}_MODEL: {said}: no such directory, and not downloaded"
        raise ModelError(message, "ctxbuild downloads nothing: fetch the model, name its directory")
    return found


def _downloaded(said: str) -> Path | None:
    """The newest copy of a model in the local cache of its hub; found without that hub's code."""
    from re import fullmatch

    if not fullmatch(r"[\w.-]+/[\w.-]+", said):
        return None
    home = os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface")
    hub = os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")
    base = Path(hub, f"models--{said.replace('/', '--')}")
    try:
        commit = (base / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    snapshot = base / "snapshots" / commit
    return snapshot if commit and snapshot.is_dir() else None


def _model_files(directory: Path) -> list[Path]:
    for folder in _SUBFOLDERS:
        found = [directory / folder / name for name in _FILES]
        found = [path for path in found if path.is_file()]
        if found and found[0].name == _FILES[0]:
            return found
    message = f"{_PREFIX}_MODEL: {directory.name} holds no {_FILES[0]}"
    raise ModelError(message, "name a model2vec model")
