"""Texts to vectors: which embedder the environment names, and what goes wrong with it."""

from __future__ import annotations

import os
import sys

import pytest

from ctxbuild.errors import ModelError
from ctxbuild.source import outside
from ctxbuild.source.embeddings import EndpointEmbedder, LocalEmbedder, configured, identity, is_up
from ctxbuild.source.model_client import Endpoint
from tests.embeddingserver import vector

ENDPOINT = {
    "CTXBUILD_EMBEDDINGS_URL": "http://127.0.0.1:9/v1/",
    "CTXBUILD_EMBEDDINGS_NAME": "meanings",
    "CTXBUILD_EMBEDDINGS_KEY": "sesame-open",
}


def error_of(call, *arguments):
    with pytest.raises(ModelError) as caught:
        call(*arguments)
    return caught.value


# --- the environment ------------------------------------------------------------------------


def test_without_variables_there_is_no_embedder(tmp_path):
    assert configured(str(tmp_path), {}) is None
    assert identity(str(tmp_path), {}) == b""
    assert not is_up({})


def test_an_endpoint_is_known_by_address_and_name_and_never_by_its_key(tmp_path):
    embedder = configured(str(tmp_path), ENDPOINT)
    assert (embedder.name, embedder.label) == ("http://127.0.0.1:9/v1\nmeanings", "meanings")
    assert identity(str(tmp_path), ENDPOINT) == b"http://127.0.0.1:9/v1\nmeanings"


def test_what_is_missing_comes_from_the_usual_variables(tmp_path):
    usual = {"OPENAI_BASE_URL": "http://h/v1", "OPENAI_API_KEY": "k", "OPENAI_MODEL": "chat"}
    named = {**usual, "CTXBUILD_EMBEDDINGS_NAME": "meanings"}
    assert configured("", named)._where == Endpoint(
        "http://h/v1", "meanings", "k", settings="CTXBUILD_EMBEDDINGS"
    )
    assert configured("", usual) is None  # a model that chats is none that embeds


def test_an_address_without_a_model_and_a_limit_that_is_none_are_errors():
    error = error_of(configured, "", {"CTXBUILD_EMBEDDINGS_URL": "http://h/v1"})
    assert str(error) == (
        "CTXBUILD_EMBEDDINGS_URL is set, but no model: set CTXBUILD_EMBEDDINGS_NAME"
    )
    error = error_of(configured, "", {**ENDPOINT, "CTXBUILD_EMBEDDINGS_TIMEOUT": "soon"})
    assert error.message == "CTXBUILD_EMBEDDINGS_TIMEOUT: 'soon' is no number of seconds"
    assert identity("", {"CTXBUILD_EMBEDDINGS_URL": "http://h/v1"}).startswith(b"CTXBUILD_")


def test_as_an_outside_input_it_is_empty_until_a_variable_is_set(monkeypatch):
    key = outside.key_of("embedder", "")
    assert outside.state("", key) == b""
    for name, value in ENDPOINT.items():
        monkeypatch.setenv(name, value)
    assert outside.state("", key) == b"http://127.0.0.1:9/v1\nmeanings"
    assert outside.state("", outside.key_of("embedder-up", "")) == b""


# --- an endpoint ----------------------------------------------------------------------------


def embed(texts):
    return configured("").embed(texts)


def test_vectors_come_in_the_order_of_the_texts(embedding_server):
    assert embed(["save it", "load it"]) == [vector("save it"), vector("load it")]
    assert embedding_server.asked == [["save it", "load it"]]
    assert embedding_server.keys == ["Bearer sesame-open"]
    assert is_up()


def test_a_server_that_is_away_refuses_or_says_nonsense_is_an_error_without_the_key(
    embedding_server, monkeypatch
):
    url = embedding_server.url
    embedding_server.lost = 1
    assert error_of(embed, ["a", "b"]).message == (
        f"{url} does not speak the protocol: 1 vectors for 2 texts"
    )
    for raw in (b"[]", b"{}", b"<html>", b'{"data": [{"index": 0, "embedding": "x"}]}'):
        embedding_server.raw = raw
        assert error_of(embed, ["a"]).message.startswith(f"{url} does not speak the protocol")
    embedding_server.raw, embedding_server.status = None, 401
    refused = error_of(embed, ["a"])
    assert refused.message.startswith(f"meanings at {url} refuses (401)")
    assert refused.hint == "correct CTXBUILD_EMBEDDINGS_KEY"
    embedding_server.status, embedding_server.delay = 200, 0.6
    monkeypatch.setenv("CTXBUILD_EMBEDDINGS_TIMEOUT", "0.1")
    slow = error_of(embed, ["a"])
    assert str(slow) == (
        f"meanings at {url} gave no answer in 0.1 s: raise CTXBUILD_EMBEDDINGS_TIMEOUT"
    )
    monkeypatch.setenv("CTXBUILD_EMBEDDINGS_URL", ENDPOINT["CTXBUILD_EMBEDDINGS_URL"])
    away = error_of(embed, ["a"])
    assert away.message.startswith("http://127.0.0.1:9/v1 cannot be reached")
    assert "sesame" not in f"{refused}{slow}{away}"


def test_without_its_package_an_endpoint_cannot_be_asked(embedding_server, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    assert error_of(embed, ["a"]).hint == "install it: pip install 'ctxbuild[model]'"


# --- a model on this machine ----------------------------------------------------------------


@pytest.fixture
def model(tmp_path):
    """A directory that looks like a model from outside."""
    folder = tmp_path / "small-model"
    folder.mkdir()
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        (folder / name).write_bytes(name.encode())
    return folder


def local(said):
    return {"CTXBUILD_EMBEDDINGS_MODEL": str(said), **ENDPOINT}


def test_a_local_model_comes_before_an_endpoint_and_is_known_by_its_content(model, tmp_path):
    embedder = configured(str(tmp_path), local("small-model"))
    assert isinstance(embedder, LocalEmbedder)
    assert embedder.label == "small-model"
    elsewhere = tmp_path / "elsewhere"
    os.rename(model, elsewhere)
    assert LocalEmbedder(elsewhere, "x").name == configured("", local(elsewhere)).name
    before = configured("", local(elsewhere)).name
    seen = identity("", local(elsewhere))
    (elsewhere / "model.safetensors").write_bytes(b"other weights")
    assert configured("", local(elsewhere)).name != before
    assert identity("", local(elsewhere)) != seen


def test_a_model_that_is_not_there_is_not_fetched(tmp_path):
    error = error_of(configured, str(tmp_path), local("somebody/small-model"))
    assert str(error) == (
        "CTXBUILD_EMBEDDINGS_MODEL: somebody/small-model: no such directory, and not downloaded: "
        "ctxbuild downloads nothing: fetch the model, name its directory"
    )
    assert identity("", local("somebody/small-model")) == b"somebody/small-model\nmissing"


def test_a_model_that_was_downloaded_before_is_found_by_its_name(model, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    base = tmp_path / "hub" / "models--somebody--small-model"
    (base / "refs").mkdir(parents=True)
    (base / "refs" / "main").write_text("abc")
    (base / "snapshots").mkdir()
    os.rename(model, base / "snapshots" / "abc")
    embedder = configured("", local("somebody/small-model"))
    assert embedder.label == "small-model"
    assert embedder.name.startswith("model2vec\n")


def test_a_directory_that_holds_no_model_is_said_so(tmp_path):
    error = error_of(lambda: configured("", local(tmp_path)).name)
    assert error.message.endswith("holds no model.safetensors")


def test_without_its_package_or_with_broken_files_a_local_model_is_an_error(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "model2vec", None)
    assert error_of(LocalEmbedder(model, "m").embed, ["a"]).hint == (
        "install it: pip install 'ctxbuild[vectors]'"
    )


def test_a_real_local_model_embeds_and_one_with_broken_files_is_an_error(tmp_path, model):
    model2vec = pytest.importorskip("model2vec")
    import numpy as np
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"save": 0, "load": 1, "[UNK]": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    vectors = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="float32")
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(tmp_path / "tiny")
    embedder = configured("", local(tmp_path / "tiny"))
    assert embedder.embed(["save", "load load", "save load"]) == [
        [1, 0, 0],
        [0, 1, 0],
        [0.5, 0.5, 0],
    ]
    broken = error_of(LocalEmbedder(model, "m").embed, ["a"])
    assert broken.message.startswith("CTXBUILD_EMBEDDINGS_MODEL: small-model cannot be loaded")


def test_both_kinds_are_embedders():
    from ctxbuild.source.embeddings import Embedder

    members = {name for name in vars(Embedder) if not name.startswith("_")}
    assert members == {"name", "label", "embed"}
    for kind in (EndpointEmbedder, LocalEmbedder):
        assert members <= set(dir(kind))
